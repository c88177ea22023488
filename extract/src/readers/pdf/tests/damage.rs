//! Scans, damage and files that mean harm.

use super::*;

/// What reads of each page that it is there.
struct Pages(f32);

impl Ocr for Pages {
    fn is_available(&self) -> bool {
        true
    }

    fn page(&self, number: u32) -> Result<OcrText, OcrFailure> {
        if number == 3 {
            return Err(OcrFailure::Failed("page 3".into()));
        }
        let paragraph =
            OcrParagraph { text: format!("Words of page {number}"), bbox: BoundingBox([1.0, 2.0, 3.0, 4.0]) };
        Ok(OcrText { paragraphs: vec![paragraph], confidence: self.0 })
    }

    fn picture(&self, _: &[u8]) -> Result<OcrText, OcrFailure> {
        Err(OcrFailure::Unavailable)
    }
}

fn scanned() -> Vec<u8> {
    let image = "<< /Type /XObject /Subtype /Image /Width 1 /Height 1 /ColorSpace /DeviceGray /BitsPerComponent 8 /Length 1 >>\nstream\nx\nendstream";
    let text = lines(&[(20.0, 300.0, "F 10", "A page that has its words.")]);
    Written { objects: vec![image.into()], ..Written::of(&[PICTURE, &text, PICTURE]) }.bytes()
}

#[test]
fn pages_that_are_pictures_are_read_by_ocr_and_lost_without() {
    let artifact = read_with(&scanned(), Bounds::within(Duration::from_mins(1)), &Pages(50.0)).expect("a file");
    let texts: Vec<&str> = artifact.blocks.iter().map(|block| block.text.as_str()).collect();
    assert_eq!(texts, ["Words of page 1", "A page that has its words."]);
    assert_eq!((artifact.coverage.extracted, artifact.coverage.failed), (2, 1));
    assert_eq!(
        (artifact.coverage.lost.as_slice(), artifact.warnings.len()),
        ([lost::OCR_TEXT.to_owned()].as_slice(), 2)
    );
    let without = read_whole(&scanned());
    assert_eq!((without.blocks.len(), without.coverage.extracted, without.coverage.failed), (1, 1, 2));
    assert_eq!(without.coverage.lost, [lost::OCR_TEXT]);
}

#[test]
fn what_cannot_be_read_is_refused_by_its_kind() {
    let good = Written::of(&[&lines(&COLUMNS)]).bytes();
    let locked = String::from_utf8_lossy(&good).replace(
        "/Root 1 0 R",
        &format!(
            "/Root 1 0 R /ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >>",
            "5A".repeat(32)
        ),
    );
    let empty = Written::of(&["", ""]).bytes();
    let circle = String::from_utf8_lossy(&good)
        .replace("/Kids [100 0 R ]", "/Kids [2 0 R 2 0 R]")
        .replace("/Type /Page ", "/Type /None ")
        .replace("/Contents", "/Nothing");
    for (bytes, code, word) in [
        (&b""[..], RefusalCode::Corrupt, "empty"),
        (b"%PDF-1.7\n%%EOF", RefusalCode::Corrupt, "damaged"),
        (b"PK\x03\x04 a zip archive", RefusalCode::FormatMismatch, "no PDF"),
        (locked.as_bytes(), RefusalCode::Corrupt, "password"),
        (circle.as_bytes(), RefusalCode::Corrupt, "damaged"),
        (&empty, RefusalCode::NoText, "no text"),
    ] {
        let refusal = read_with(bytes, Bounds::within(Duration::from_mins(1)), &NoOcr).expect_err("it is refused");
        assert_eq!(refusal.code, code, "{refusal}");
        assert!(refusal.message.contains(word), "{refusal}");
    }
}

#[test]
fn streams_that_unpack_to_too_much_are_refused_before_they_are_unpacked() {
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(&vec![b' '; 3_000_000]).expect("it is packed in memory");
    let packed = encoder.finish().expect("it is packed in memory");
    let mut bytes = b"%PDF-1.7\n1 0 obj\n<< /Filter /FlateDecode >>\nstream\n".to_vec();
    bytes.extend_from_slice(&packed);
    bytes.extend_from_slice(b"\nendstream\nendobj\n");
    let within = |inflated_bytes| {
        let bounds = Bounds { inflated_bytes, ..Bounds::within(Duration::from_mins(1)) };
        read_with(&bytes, bounds, &NoOcr).map_err(|refusal| refusal.code)
    };
    assert_eq!(within(2_000_000), Err(RefusalCode::ResourceLimit));
    assert_eq!(within(20_000_000), Err(RefusalCode::Corrupt));
}

#[test]
fn forms_that_draw_forms_many_times_over_end() {
    let form = |number: usize| {
        let calls = "/A Do ".repeat(50);
        format!(
            "<< /Type /XObject /Subtype /Form /BBox [0 0 300 400] /Resources << /XObject << /A {number} 0 R >> >> /Length {} >>\nstream\n{calls}\nendstream",
            calls.len()
        )
    };
    let page = "/I Do ".to_owned() + &lines(&[(20.0, 300.0, "F 10", "never reached")]);
    let chain = (21..30).map(form).collect();
    let artifact = read_with(
        &Written { objects: chain, ..Written::of(&[&page]) }.bytes(),
        Bounds::within(Duration::from_mins(1)),
        &NoOcr,
    );
    assert_eq!(artifact.expect("a file").coverage.lost, [lost::TEXT]);
    let circle = Written { objects: vec![form(21), form(20)], ..Written::of(&[&page]) };
    assert_eq!(blocks(&circle), ["never reached"]);
}

#[test]
fn a_file_without_its_table_of_objects_is_mended() {
    let bytes = Written::of(&[&lines(&COLUMNS)]).bytes();
    let cut = bytes.windows(4).rposition(|window| window == b"xref").expect("it has one") - 5;
    assert_eq!(read_whole(&bytes[..cut]).blocks.len(), read_whole(&bytes).blocks.len());
}

#[test]
fn a_file_cut_anywhere_is_read_in_part_or_refused() {
    let bytes = Written::of(&[&lines(&COLUMNS)]).bytes();
    for end in 0..bytes.len() {
        let _ = read_with(&bytes[..end], Bounds::within(Duration::from_mins(1)), &NoOcr);
    }
}

proptest! {
    #[test]
    fn damage_never_breaks_the_contract(places in proptest::collection::vec((any::<u16>(), any::<u8>()), 1..6)) {
        let rules = "15 310 m 290 310 l S 15 296 m 290 296 l S 15 282 m 290 282 l S 15 310 m 15 282 l S 160 310 m 160 282 l S\n";
        let mut bytes = Written::of(&[&(lines(&COLUMNS) + rules), PICTURE]).bytes();
        let length = bytes.len();
        for (at, to) in places {
            bytes[usize::from(at) % length] = to;
        }
        let _ = read_with(&bytes, Bounds::within(Duration::from_secs(20)), &NoOcr);
    }
}
