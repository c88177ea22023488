use super::*;

fn options(encoding: &str) -> Options {
    Options { encoding: encoding.to_owned(), ..Options::default() }
}

fn read(bytes: &[u8], encoding: &str) -> Result<String, RefusalCode> {
    match decode(bytes, &options(encoding), None, Guess::Allowed) {
        Ok(decoded) => Ok(decoded.text.into_owned()),
        Err(refusal) => Err(refusal.code),
    }
}

fn utf16(text: &str, unit: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(unit).collect()
}

fn utf32(text: &str, unit: fn(u32) -> [u8; 4]) -> Vec<u8> {
    text.chars().flat_map(|c| unit(u32::from(c))).collect()
}

#[test]
fn marks_and_zero_bytes_name_the_wide_schemes() {
    let text = "Qty: 7 crates, 3 barrels \u{2013} caf\u{e9}\n";
    for (marked, bytes) in [
        (text.to_owned(), text.as_bytes().to_vec()),
        (format!("\u{feff}{text}"), format!("\u{feff}{text}").into_bytes()),
    ] {
        assert_eq!(read(&bytes, "").as_deref(), Ok(text));
        assert_eq!(read(&utf16(&marked, u16::to_le_bytes), "").as_deref(), Ok(text));
        assert_eq!(read(&utf16(&marked, u16::to_be_bytes), "").as_deref(), Ok(text));
        assert_eq!(read(&utf32(&marked, u32::to_le_bytes), "").as_deref(), Ok(text));
        assert_eq!(read(&utf32(&marked, u32::to_be_bytes), "").as_deref(), Ok(text));
    }
}

#[test]
fn the_whole_file_decides() {
    let text = format!("{}caf\u{e9}", "a".repeat(5000));
    assert_eq!(read(text.as_bytes(), "").as_deref(), Ok(text.as_str()));
}

#[test]
fn shift_jis_that_could_be_anything_is_refused_by_the_options_name() {
    for bytes in [&b"\x81\x5C"[..], b"a \x81\x5C b", b"value\x81\x5C\r\n"] {
        let refusal = decode(bytes, &options(""), None, Guess::Allowed).expect_err("nothing speaks for Shift_JIS");
        assert_eq!(refusal.code, RefusalCode::Encoding, "{bytes:?}");
        assert!(refusal.message.contains("options.encoding"), "{}", refusal.message);
    }
    assert_eq!(read(b"\x81\x5C", "shift_jis").as_deref(), Ok("\u{2015}"));
}

#[test]
fn a_guess_that_reads_like_text_is_taken_and_told() {
    for (label, text) in [
        ("windows-1252", "Die Größe der Kästen übertrifft, was wir für möglich hielten."),
        ("windows-1251", "Совет прочитал годовой отчёт и принял план на следующий год."),
        ("koi8-r", "Совет прочитал годовой отчёт и принял план на следующий год."),
        ("shift_jis", "名前,年齢,住所\r\n佐藤太郎,30,東京\r\n三木英子,25,大阪\r\n"),
        ("euc-kr", "이사회는 연례 보고서를 읽고 다음 해의 계획을 승인했다."),
        ("windows-1254", "Şirketin yıllık raporu görüşüldü ve gelecek yılın planı onaylandı; ığışçö."),
    ] {
        let encoding = Encoding::for_label(label.as_bytes()).expect("a label of the standard");
        let (bytes, _, lossy) = encoding.encode(text);
        assert!(!lossy, "{label}");
        let decoded = decode(&bytes, &options(""), None, Guess::Allowed).expect(label);
        assert_eq!(decoded.text, text, "{label}");
        assert!(decoded.warning.expect(label).contains("options.encoding"));
        let refusal = decode(&bytes, &options(""), None, Guess::Never).expect_err("no guess is allowed");
        assert_eq!(refusal.code, RefusalCode::Encoding);
    }
}

#[test]
fn labels_are_those_of_the_standard() {
    assert_eq!(read(b"caf\xE9", "latin1").as_deref(), Ok("caf\u{e9}"));
    assert_eq!(read(b"caf\xE9", "Windows-1252 ").as_deref(), Ok("caf\u{e9}"));
    assert_eq!(read(b"caf\xE9", "utf-8"), Err(RefusalCode::Encoding));
    assert_eq!(read(b"cafe", "utf8mb4"), Err(RefusalCode::InvalidOption));
    assert_eq!(read(b"cafe", "iso-2022-kr"), Err(RefusalCode::InvalidOption));
    assert_eq!(read(b"\xEF\xBB\xBFa", "utf-8").as_deref(), Ok("a"));
}

#[test]
fn what_the_file_says_inside_goes_after_utf8_and_before_a_guess() {
    let of = |bytes: &[u8], declared| {
        decode(bytes, &options(""), Some(declared), Guess::Allowed).map(|decoded| decoded.text.into_owned())
    };
    assert_eq!(of("caf\u{e9}".as_bytes(), "iso-8859-6").as_deref(), Ok("caf\u{e9}"));
    assert_eq!(of(b"\xD4", "koi8-r").as_deref(), Ok("т"));
    assert_eq!(of(b"caf\xE9", "no such label").as_deref(), Ok("caf\u{e9}"));
}

#[test]
fn what_is_no_text_is_told() {
    let noise: Vec<u8> = (0..=255).cycle().take(4096).collect();
    for bytes in
        [&b"%PDF-1.7\n"[..], b"PK\x03\x04rest", b"\x89PNG\r\n\x1a\n", b"{\\rtf1 a}", &noise, b"\x01\x02\x03abc"]
    {
        assert_eq!(read(bytes, ""), Err(RefusalCode::FormatMismatch));
    }
    assert_eq!(read(b"%PDF-1.7\n", "latin1"), Err(RefusalCode::FormatMismatch));
    assert_eq!(
        read(b"a single \0 among many words of a text", "").as_deref(),
        Ok("a single \0 among many words of a text")
    );
}

proptest::proptest! {
    #[test]
    fn any_bytes_end_in_text_or_a_refusal(bytes: Vec<u8>, cut in 0_usize..64) {
        let cut = cut.min(bytes.len());
        let _ = read(&bytes, "");
        let _ = read(&bytes[cut..], "shift_jis");
        let _ = read(&bytes[cut..], "utf-32be");
    }
}
