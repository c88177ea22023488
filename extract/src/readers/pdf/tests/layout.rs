//! What a page's words become.

use super::*;

#[test]
fn two_columns_are_read_one_after_the_other() {
    let page = lines(&COLUMNS);
    assert_eq!(
        blocks(&Written::of(&[&page])).join(" "),
        "The council read the yearly report and accepted the plan for the next year."
    );
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
        [
            "h1: The Whole",
            "h2: A Part",
            text,
            "h3: A bold name",
            "More of running text.",
            "Named by a bookmark",
            "The last text."
        ]
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
        [
            "A well-known fact of the economy is that a state is well-known, and softness is softness of the North-South line."
        ]
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
    let first = lines(&[
        (20.0, 314.0, "F 10", "A sentence that is long enough to be"),
        (20.0, 300.0, "F 10", "on two pages of the file that"),
    ]);
    let second = lines(&[(20.0, 330.0, "F 10", "goes on here.")]);
    let artifact = read_whole(&Written::of(&[&first, &second]).bytes());
    assert_eq!(
        artifact.blocks[0].text,
        "A sentence that is long enough to be on two pages of the file that goes on here."
    );
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
    let across = [300, 286, 272, 258, 244].map(|y| format!("20 {y} m 260 {y} l S\n")).concat();
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
    let Some(Locator::Pages { bbox: Some(BoundingBox(sides)), .. }) = artifact.blocks[0].locator else {
        panic!("a box")
    };
    let off = sides.iter().zip([20.0, 100.0, 260.0, 156.0]).map(|(side, expected)| (side - expected).abs());
    assert!(off.fold(0.0, f32::max) < 0.1, "{sides:?}");
}

#[test]
fn numbers_in_aligned_columns_are_a_table_without_lines() {
    let mut all = vec![(20.0, 350.0, "F 10", "What was sold in the shops of the town in the last year:")];
    for (at, row) in
        [["Item", "Pieces", "Price"], ["Apples", "12", "3.50"], ["Pears", "7", "2.25"], ["Plums", "120", "0.99"]]
            .iter()
            .enumerate()
    {
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
    let all: Vec<(f32, f32, &str, &str)> =
        all.iter().map(|(x, y, font, text)| (*x, *y, *font, text.as_str())).collect();
    let text = blocks(&Written::of(&[&lines(&all)])).join(" ");
    assert!(text.contains("Q. What was said") && !text.contains(|char: char| char.is_ascii_digit()), "{text}");
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
