//! Files that are written here by hand.

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use proptest::prelude::*;

use super::read;
use crate::contract::{
    Artifact, ArtifactLimits, BlockKind, BoundingBox, CONTRACT_VERSION, Locator, Refusal, RefusalCode, Request, check, lost,
};
use crate::readers::{Bounds, Context, NoOcr, Ocr, OcrFailure, OcrParagraph, OcrText, PathLauncher, Program, ProgramOcr};

/// A file of pages of 300 by 400 points, with fonts `F` (plain), `B` (bold) and `C` (of one width). `extra` is added to each
/// page, `catalog` to the catalog, `objects` are numbered from 20.
#[derive(Default)]
struct Written<'a> {
    pages: Vec<String>,
    extra: &'a str,
    catalog: &'a str,
    objects: Vec<String>,
}

impl Written<'_> {
    fn of(pages: &[&str]) -> Self {
        Self { pages: pages.iter().map(|page| (*page).to_owned()).collect(), ..Self::default() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut objects: Vec<(usize, String)> = vec![
            (1, format!("<< /Type /Catalog /Pages 2 0 R {} >>", self.catalog)),
            (3, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".into()),
            (4, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>".into()),
            (5, "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>".into()),
        ];
        let mut kids = String::new();
        for (at, page) in self.pages.iter().enumerate() {
            let number = 100 + at * 2;
            let _ = write!(kids, "{number} 0 R ");
            let fonts = "/Resources << /Font << /F 3 0 R /B 4 0 R /C 5 0 R >> /XObject << /I 20 0 R >> >>";
            let contents = number + 1;
            objects.push((
                number,
                format!("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 400] {fonts} /Contents {contents} 0 R {} >>", self.extra),
            ));
            objects.push((contents, format!("<< /Length {} >>\nstream\n{page}\nendstream", page.len())));
        }
        objects.push((2, format!("<< /Type /Pages /Count {} /Kids [{kids}] >>", self.pages.len())));
        objects.extend(self.objects.iter().enumerate().map(|(at, object)| (20 + at, object.clone())));
        objects.sort_by_key(|(number, _)| *number);
        let mut bytes = b"%PDF-1.7\n".to_vec();
        let mut table = String::new();
        for (number, object) in &objects {
            let _ = write!(table, "{number} 1\n{:010} 00000 n \n", bytes.len());
            let _ = write!(bytes, "{number} 0 obj\n{object}\nendobj\n");
        }
        let start = bytes.len();
        let _ = write!(bytes, "xref\n0 1\n0000000000 65535 f \n{table}trailer\n<< /Size 400 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n");
        bytes
    }
}

/// Lines of text, each at a place: x, y from the bottom, font and size, text.
fn lines(lines: &[(f32, f32, &str, &str)]) -> String {
    let line = |(x, y, font, text): &(f32, f32, &str, &str)| format!("BT /{font} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n");
    lines.iter().map(line).collect()
}

fn read_with(bytes: &[u8], bounds: Bounds, ocr: &dyn Ocr) -> Result<Artifact, Refusal> {
    let mut artifact = read(bytes, &Request::default(), &Context { bounds, ocr })?;
    (artifact.contract, artifact.format) = (CONTRACT_VERSION, "pdf".into());
    check(&mut artifact, "pdf", &ArtifactLimits::default()).expect("what is read keeps to the contract");
    Ok(artifact)
}

fn read_whole(bytes: &[u8]) -> Artifact {
    read_with(bytes, Bounds::within(Duration::from_mins(1)), &NoOcr).expect("the file is read")
}

/// The blocks of a file: kind, level and text, tables as their rows.
fn blocks(written: &Written<'_>) -> Vec<String> {
    let artifact = read_whole(&written.bytes());
    let table = |at: u32| {
        let table = &artifact.tables[at as usize];
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let rows = table.rows.iter().map(|row| row.1.iter().map(|cell| cell.shown()).collect::<Vec<_>>().join("|"));
        std::iter::once(names.join("|")).chain(rows).collect::<Vec<_>>().join(" / ")
    };
    artifact
        .blocks
        .iter()
        .map(|block| match (block.kind, block.table) {
            (_, Some(at)) => format!("table: {}", table(at)),
            (BlockKind::Heading, _) => format!("h{}: {}", block.level, block.text),
            (BlockKind::Paragraph, _) => block.text.clone(),
            (kind, _) => format!("{}: {}", kind.name(), block.text),
        })
        .collect()
}

const COLUMNS: [(f32, f32, &str, &str); 4] = [
    (20.0, 300.0, "F 10", "The council read the yearly"),
    (20.0, 286.0, "F 10", "report and"),
    (170.0, 300.0, "F 10", "accepted the plan for the"),
    (170.0, 286.0, "F 10", "next year."),
];

#[test]
fn two_columns_are_read_one_after_the_other() {
    let page = lines(&COLUMNS);
    assert_eq!(blocks(&Written::of(&[&page])).join(" "), "The council read the yearly report and accepted the plan for the next year.");
}

#[test]
fn the_same_places_in_a_ruled_table_are_read_by_rows() {
    let rules = "15 310 m 290 310 l S 15 296 m 290 296 l S 15 282 m 290 282 l S 15 310 m 15 282 l S 160 310 m 160 282 l S 290 310 m 290 282 l S\n";
    let page = lines(&COLUMNS) + rules;
    assert_eq!(
        blocks(&Written::of(&[&page])),
        ["table: The council read the yearly|accepted the plan for the / report and|next year."]
    );
}

#[test]
fn headings_come_from_size_weight_and_bookmarks() {
    let page = lines(&[
        (20.0, 370.0, "F 20", "The Whole"),
        (20.0, 340.0, "F 14", "A Part"),
        (20.0, 320.0, "F 10", "Words of running text that fill the line of the page and"),
        (20.0, 308.0, "F 10", "go on in the next one."),
        (20.0, 284.0, "B 10", "A bold name"),
        (20.0, 270.0, "F 10", "More of running text."),
        (20.0, 246.0, "F 10", "Named by a bookmark"),
        (20.0, 222.0, "F 10", "The last text."),
    ]);
    let outline = "<< /First 21 0 R >>".to_owned();
    // The second bookmark names the first as its next one: a circle.
    let one = "<< /Title (Named by a  bookmark) /Next 22 0 R >>".to_owned();
    let two = "<< /Title <FEFF0041> /Next 21 0 R >>".to_owned();
    let plain = Written::of(&[&page]);
    let text = "Words of running text that fill the line of the page and go on in the next one.";
    assert_eq!(
        blocks(&plain),
        ["h1: The Whole", "h2: A Part", text, "h3: A bold name", "More of running text.", "Named by a bookmark", "The last text."]
    );
    let marked = Written { catalog: "/Outlines 20 0 R", objects: vec![outline, one, two], ..Written::of(&[&page]) };
    assert!(blocks(&marked).contains(&"h1: Named by a bookmark".to_owned()));
}

#[test]
fn hyphens_at_line_ends_go_unless_the_word_has_them() {
    let page = lines(&[
        (20.0, 300.0, "F 10", "A well-known fact of the econ-"),
        (20.0, 288.0, "F 10", "omy is that a state is well-"),
        (20.0, 276.0, "F 10", "known, and soft\\255ness is soft\\255"),
        (20.0, 264.0, "F 10", "ness of the North-"),
        (20.0, 252.0, "F 10", "South line."),
    ]);
    assert_eq!(
        blocks(&Written::of(&[&page])),
        ["A well-known fact of the economy is that a state is well-known, and softness is softness of the North-South line."]
    );
}

#[test]
fn letters_drawn_twice_are_one_and_spaced_letters_are_words() {
    let twice = "BT /F 10 Tf 1 0 0 1 20 300 Tm (full bottle) Tj 1 0 0 1 20.4 300 Tm (full bottle) Tj ET\n";
    let spaced = "BT /F 10 Tf 3 Tc 1 0 0 1 20 270 Tm (WIDE LETTERS) Tj ET\n";
    assert_eq!(blocks(&Written::of(&[&(twice.to_owned() + spaced)])), ["full bottle", "WIDE LETTERS"]);
}

#[test]
fn pages_and_words_that_are_turned_read_as_they_are_seen_and_have_a_box_there() {
    let turned = "BT /F 10 Tf 0 1 -1 0 100 50 Tm (Up the page) Tj ET\n";
    let artifact = read_whole(&Written { extra: "/Rotate 90", ..Written::of(&[turned]) }.bytes());
    assert_eq!(artifact.blocks[0].text, "Up the page");
    let Some(Locator::Pages { start: 1, end: 1, bbox: Some(BoundingBox(sides)) }) = artifact.blocks[0].locator else {
        panic!("a place on page 1: {:?}", artifact.blocks[0].locator);
    };
    // Seen turned by a quarter: 100 from the left of the file's page is 100 from the top, 50 from its foot 50 from the left.
    assert!((sides[0] - 50.0).abs() < 0.5 && (sides[1] - 92.2).abs() < 0.5 && sides[2] > 95.0, "{sides:?}");
    let mixed = lines(&[(20.0, 300.0, "F 10", "Most of the words are level on this page.")]) + turned;
    assert_eq!(blocks(&Written::of(&[&mixed])), ["Most of the words are level on this page.", "Up the page"]);
}

#[test]
fn running_heads_and_page_numbers_go_from_several_pages_and_stay_on_one() {
    let page = |number: u32| {
        lines(&[
            (20.0, 380.0, "F 8", "Yearly report"),
            (20.0, 300.0, "F 10", &format!("The text of page {number} stands here, between the others.")),
            (140.0, 20.0, "F 8", &number.to_string()),
        ])
    };
    let pages = [page(1), page(2), page(3)];
    let pages: Vec<&str> = pages.iter().map(String::as_str).collect();
    let found = blocks(&Written::of(&pages));
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found.iter().all(|block| block.starts_with("The text of page")));
    assert_eq!(blocks(&Written::of(&pages[..1])).len(), 3);
}

#[test]
fn a_sentence_goes_on_over_the_end_of_a_page() {
    let first = lines(&[(20.0, 314.0, "F 10", "A sentence that is long enough to be"), (20.0, 300.0, "F 10", "on two pages of the file that")]);
    let second = lines(&[(20.0, 330.0, "F 10", "goes on here.")]);
    let artifact = read_whole(&Written::of(&[&first, &second]).bytes());
    assert_eq!(artifact.blocks[0].text, "A sentence that is long enough to be on two pages of the file that goes on here.");
    assert_eq!(artifact.blocks[0].locator, Some(Locator::Pages { start: 1, end: 2, bbox: None }));
}

#[test]
fn lists_code_and_captions_are_told_apart() {
    let page = lines(&[
        (20.0, 380.0, "F 10", "A text in front of the list is here, so that there is some."),
        (20.0, 360.0, "F 10", "\\225 the first item"),
        (20.0, 348.0, "F 10", "\\225 the second item"),
        (20.0, 336.0, "F 10", "1. a numbered item"),
        (20.0, 310.0, "C 9", "fn main\\(\\) {"),
        (30.8, 299.0, "C 9", "run\\(\\);"),
        (20.0, 288.0, "C 9", "}"),
        (20.0, 260.0, "F 10", "Figure 3: What was measured."),
    ]);
    assert_eq!(
        blocks(&Written::of(&[&page]))[1..],
        [
            "list_item: the first item",
            "list_item: the second item",
            "list_item: 1. a numbered item",
            "code: fn main() {\n  run();\n}",
            "caption: Figure 3: What was measured.",
        ]
    );
}

#[test]
fn cells_over_several_columns_name_them_and_numbers_are_typed() {
    // Lines at 300, 286, 272, 258 and 244; the upper two header cells over columns 2 and 3.
    let across: String = [300, 286, 272, 258, 244].iter().map(|y| format!("20 {y} m 260 {y} l S\n")).collect();
    let down = "20 300 m 20 244 l S 100 300 m 100 244 l S 180 286 m 180 244 l S 260 300 m 260 244 l S\n";
    let words = lines(&[
        (110.0, 290.0, "B 9", "Sales"),
        (25.0, 276.0, "B 9", "Region"),
        (105.0, 276.0, "B 9", "2024"),
        (185.0, 276.0, "B 9", "2025"),
        (25.0, 262.0, "F 9", "North"),
        (105.0, 262.0, "F 9", "1,204.50"),
        (185.0, 262.0, "F 9", "12"),
        (25.0, 248.0, "F 9", "South"),
        (105.0, 248.0, "F 9", "7"),
        (185.0, 248.0, "F 9", "-3"),
    ]);
    let written = Written::of(&[&(across + down + &words)]);
    assert_eq!(blocks(&written), ["table: Region|Sales / 2024|Sales / 2025 / North|1,204.50|12 / South|7|-3"]);
    let artifact = read_whole(&written.bytes());
    assert_eq!(artifact.tables[0].columns[1].column_type, crate::contract::CellType::Number);
    let Some(Locator::Pages { bbox: Some(BoundingBox(sides)), .. }) = artifact.blocks[0].locator else { panic!("a box") };
    assert_eq!(sides, [20.0, 100.0, 260.0, 156.0]);
}

#[test]
fn numbers_in_aligned_columns_are_a_table_without_lines() {
    let mut all = vec![(20.0, 350.0, "F 10", "What was sold in the shops of the town in the last year:")];
    for (at, row) in [["Item", "Pieces", "Price"], ["Apples", "12", "3.50"], ["Pears", "7", "2.25"], ["Plums", "120", "0.99"]].iter().enumerate() {
        let y = 320.0 - at as f32 * 14.0;
        all.extend([(20.0, y, "F 10", row[0]), (120.0, y, "F 10", row[1]), (200.0, y, "F 10", row[2])]);
    }
    let found = blocks(&Written::of(&[&lines(&all)]));
    assert_eq!(found[1], "table: Item|Pieces|Price / Apples|12|3.50 / Pears|7|2.25 / Plums|120|0.99");
}

#[test]
fn the_numbers_of_numbered_lines_are_no_words() {
    let mut all: Vec<(f32, f32, &str, String)> = Vec::new();
    for at in 1..=12 {
        let y = 380.0 - at as f32 * 20.0;
        all.push((if at < 10 { 25.6 } else { 20.0 }, y, "F 10", at.to_string()));
        all.push((60.0, y, "F 10", "Q. What was said then, and by whom, in court?".into()));
    }
    let all: Vec<(f32, f32, &str, &str)> = all.iter().map(|(x, y, font, text)| (*x, *y, *font, text.as_str())).collect();
    let text = blocks(&Written::of(&[&lines(&all)])).join(" ");
    assert!(text.contains("Q. What was said") && !text.contains(|char: char| char.is_ascii_digit()), "{text}");
}

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
        let paragraph = OcrParagraph { text: format!("Words of page {number}"), bbox: BoundingBox([1.0, 2.0, 3.0, 4.0]) };
        Ok(OcrText { paragraphs: vec![paragraph], confidence: self.0 })
    }

    fn picture(&self, _: &[u8]) -> Result<OcrText, OcrFailure> {
        Err(OcrFailure::Unavailable)
    }
}

const PICTURE: &str = "q 250 0 0 300 20 50 cm /I Do Q";

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
    assert_eq!((artifact.coverage.lost.as_slice(), artifact.warnings.len()), ([lost::OCR_TEXT.to_owned()].as_slice(), 2));
    let without = read_whole(&scanned());
    assert_eq!((without.blocks.len(), without.coverage.extracted, without.coverage.failed), (1, 1, 2));
    assert_eq!(without.coverage.lost, [lost::OCR_TEXT]);
}

#[test]
fn a_text_layer_under_a_picture_is_its_text() {
    let hidden = format!("{PICTURE} BT 3 Tr /F 10 Tf 1 0 0 1 20 300 Tm (Hidden words) Tj ET");
    let shown = format!("{hidden} BT 0 Tr /F 10 Tf 1 0 0 1 20 100 Tm (A caption of many words is seen) Tj ET");
    assert_eq!(blocks(&Written::of(&[&hidden])), ["Hidden words"]);
    assert_eq!(blocks(&Written::of(&[&shown])), ["A caption of many words is seen"]);
}

#[test]
fn what_stands_for_drawn_characters_goes_before_them() {
    let page = "/Span << /ActualText (office) >> BDC BT /F 10 Tf 1 0 0 1 20 300 Tm (of) Tj ( ce) Tj ET EMC";
    assert_eq!(blocks(&Written::of(&[page])), ["office"]);
}

#[test]
fn tesseract_reads_a_page_where_it_is_installed() {
    use crate::readers::Launcher as _;
    if !Program::ALL.iter().all(|program| PathLauncher.finds(*program)) {
        eprintln!("skipped: pdftoppm and tesseract are not installed");
        return;
    }
    let file = Written::of(&[&lines(&[(20.0, 300.0, "F 24", "Seven brown foxes"), (20.0, 250.0, "F 24", "jump over a fence")])]).bytes();
    let ocr = ProgramOcr::new(&PathLauncher, &file, "eng", Duration::from_mins(2));
    let page = ocr.page(1).expect("the programs read it");
    let text: Vec<&str> = page.paragraphs.iter().map(|paragraph| paragraph.text.as_str()).collect();
    assert_eq!(text.join(" "), "Seven brown foxes jump over a fence");
    let BoundingBox([left, top, ..]) = page.paragraphs[0].bbox;
    assert!((left - 21.0).abs() < 4.0 && (top - 82.0).abs() < 8.0, "{left} {top}");
    assert!(page.confidence > 80.0);
    assert!(matches!(ocr.page(2), Err(OcrFailure::Failed(_))));
    let hurried = ProgramOcr::new(&PathLauncher, &file, "eng", Duration::ZERO);
    assert!(!hurried.is_available());
}

#[test]
fn what_cannot_be_read_is_refused_by_its_kind() {
    let good = Written::of(&[&lines(&COLUMNS)]).bytes();
    let locked = String::from_utf8_lossy(&good).replace(
        "/Root 1 0 R",
        &format!("/Root 1 0 R /ID [<00><00>] /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <{0}> /U <{0}> >>", "5A".repeat(32)),
    );
    let empty = Written::of(&["", ""]).bytes();
    let circle = String::from_utf8_lossy(&good).replace("/Kids [100 0 R ]", "/Kids [2 0 R 2 0 R]").replace("/Type /Page ", "/Type /None ").replace("/Contents", "/Nothing");
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
    let mut packer = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::best());
    packer.write_all(&vec![b' '; 3_000_000]).expect("it is packed in memory");
    let packed = packer.finish().expect("it is packed in memory");
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
fn forms_that_draw_forms_without_end_end() {
    let form = |number: usize| {
        let calls = "/A Do ".repeat(50);
        format!(
            "<< /Type /XObject /Subtype /Form /BBox [0 0 300 400] /Resources << /XObject << /A {number} 0 R >> >> /Length {} >>\nstream\n{calls}\nendstream",
            calls.len()
        )
    };
    let page = "/I Do ".to_owned() + &lines(&[(20.0, 300.0, "F 10", "never reached")]);
    let written = Written { objects: vec![form(21), form(20)], ..Written::of(&[&page]) };
    let artifact = read_with(&written.bytes(), Bounds::within(Duration::from_mins(1)), &NoOcr).expect("a file");
    assert_eq!(artifact.coverage.lost, [lost::TEXT]);
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
