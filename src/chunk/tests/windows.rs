//! Where windows start and end.

use super::{settings, span, texts};
use crate::chunk::{Cut, TABLE_HEADER_BYTES_MAX, cut};

fn shared(cut: &Cut) -> Vec<u64> {
    cut.pieces.windows(2).map(|pair| pair[0].place.char_end.saturating_sub(pair[1].place.char_start)).collect()
}

#[test]
fn a_text_without_borders_is_stepped_through() {
    let text = "x".repeat(5000);
    let cut = cut(&text, settings(1500, 1200));
    let places: Vec<_> = cut.pieces.iter().map(|piece| (piece.place.char_start, piece.place.char_end)).collect();
    assert_eq!(places, [(0, 1500), (1200, 2700), (2400, 3900), (3600, 5000)]);
}

#[test]
fn what_fits_is_one_window() {
    let text = format!("{}\n\n", "é".repeat(1500));
    assert_eq!(cut(&text, settings(1500, 1200)).pieces.len(), 1);
    let longer = format!("{}\n\né", "é".repeat(1500));
    assert_eq!(cut(&longer, settings(1500, 1500)).pieces.len(), 2);
}

#[test]
fn windows_stop_at_the_best_border_near() {
    let paragraph = format!("{}end.\n\n", "Some words here. ".repeat(5));
    let text = paragraph.repeat(20);
    let whole = cut(&text, settings(500, 400));
    assert!(texts(&text, &whole).iter().all(|piece| piece.ends_with("end.") && piece.starts_with("Some")));
    let sentences = "Seven words are in this one sentence. ".repeat(50);
    let whole = cut(&sentences, settings(500, 400));
    assert!(texts(&sentences, &whole).iter().all(|piece| piece.ends_with("sentence.") && piece.starts_with("Seven")));
    let words = "word ".repeat(1000);
    let whole = cut(&words, settings(500, 400));
    assert!(texts(&words, &whole).iter().all(|piece| piece.ends_with("word") && piece.starts_with("word")));
    assert!(shared(&whole).iter().all(|shared| (50..=200).contains(shared)));
    let chinese = "我们在这里写一句话。".repeat(100);
    let whole = cut(&chinese, settings(98, 80));
    assert!(texts(&chinese, &whole).iter().all(|piece| piece.ends_with('。') && piece.starts_with('我')));
}

#[test]
fn without_overlap_windows_touch() {
    let text = "Some words here. ".repeat(500);
    let cut = cut(&text, settings(300, 300));
    assert_eq!(shared(&cut).iter().sum::<u64>(), 0);
    assert!(texts(&text, &cut).iter().all(|piece| piece.ends_with("here.")));
}

#[test]
fn rows_stay_whole_and_repeat_their_header() {
    let row = format!("| {} | {} |\n", "c".repeat(25), "d".repeat(27));
    assert_eq!(row.len(), 60);
    for caption in ["Numbers:\n\n", "Numbers:\n"] {
        let text = format!("{caption}| Name | Value |\n|---|---|\n{}\nAfter.\n", row.repeat(400));
        let cut = cut(&text, settings(1500, 1200));
        assert!(cut.pieces.len() > 15);
        for (at, piece) in cut.pieces.iter().enumerate() {
            let passage = &text[span(piece)];
            assert!(passage.ends_with('|') || passage.ends_with("After."), "{passage:?}");
            assert!(passage.starts_with(if at == 0 { "Numbers" } else { "| c" }), "{passage:?}");
            let header = (at > 0).then_some("| Name | Value |\n|---|---|");
            assert_eq!(piece.table_header.as_deref(), header);
        }
    }
}

#[test]
fn long_rows_move_to_the_next_window() {
    let long = format!("| {} | x |\n", "word ".repeat(50));
    let short = "| a | b |\n";
    let text = format!("|h|i|\n|-|-|\n{}", format!("{short}{long}{short}{short}").repeat(20));
    for (size, stride) in [(300, 240), (280, 280), (600, 500), (900, 100)] {
        let cut = cut(&text, settings(size, stride));
        for passage in texts(&text, &cut) {
            let rows: Vec<&str> = passage.lines().collect();
            assert!(rows.iter().all(|row| text.lines().any(|line| line.trim_end() == *row)), "{passage:?}");
        }
    }
}

#[test]
fn a_table_header_is_bounded() {
    let header = format!("|{}|\n|-|\n", "é".repeat(5000));
    let text = format!("{header}{}", "|a|\n".repeat(1000));
    let cut = cut(&text, settings(500, 400));
    let last = cut.pieces.last().and_then(|piece| piece.table_header.as_deref()).expect("it is inside the table");
    assert!(last.len() <= TABLE_HEADER_BYTES_MAX && last.len() > TABLE_HEADER_BYTES_MAX - 3);
}

#[test]
fn code_is_cut_between_its_lines_or_not_at_all() {
    let code = "```sh\nmake all && make install\n\nmake clean\n```\n";
    let text = format!("{}\n\n{code}\n{}", "Some words here. ".repeat(20), "Some words here. ".repeat(20));
    let whole = cut(&text, settings(380, 300));
    assert!(texts(&text, &whole).iter().any(|piece| piece.contains(code.trim_end())));
    assert!(texts(&text, &whole).iter().all(|piece| piece.contains("```sh") == piece.contains("clean\n```")));
    let long = format!("```\n{}```\n", "let some_name = another_name(1, 2);\n".repeat(100));
    for passage in texts(&long, &cut(&long, settings(500, 400))) {
        assert!(passage.ends_with(';') || passage.ends_with("```"), "{passage:?}");
        assert!(passage.starts_with("let") || passage.starts_with("```"), "{passage:?}");
    }
}

#[test]
fn long_lines_are_cut_within_the_size() {
    let json = format!("{{{}}}", "\"key\":[1,2,3],".repeat(22_000));
    let whole = cut(&json, settings(1500, 1200));
    assert!((250..=300).contains(&whole.pieces.len()), "{}", whole.pieces.len());
    assert!(texts(&json, &whole).iter().all(|piece| piece.chars().count() <= 1500));
    let url = format!("See https://example.org/{} there\n", "a/b-c".repeat(40));
    let urls = url.repeat(60);
    assert!(texts(&urls, &cut(&urls, settings(1500, 1200))).iter().all(|piece| piece.chars().count() <= 1500));
}

#[test]
fn graphemes_stay_whole() {
    let family = "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466}";
    let text = format!("{}{family}{}", "a".repeat(4095), "b".repeat(200));
    for (size, stride) in [(4096, 4000), (4096, 4096), (4096, 1)] {
        let whole = cut(&text, settings(size, stride));
        for piece in &whole.pieces {
            let passage = &text[span(piece)];
            assert!(!passage.contains('\u{200D}') || passage.contains(family), "{size} {stride}");
            assert_eq!(passage.chars().count() as u64, piece.place.char_end - piece.place.char_start);
        }
    }
    let marks = format!("a{}b", "\u{301}".repeat(10_000));
    assert!(texts(&marks, &cut(&marks, settings(500, 400))).iter().all(|piece| piece.chars().count() <= 500));
}

#[test]
fn blank_stretches_make_no_windows() {
    let text = format!("# A\n{}text\n{}more", "\n".repeat(10_000), " ".repeat(10_000));
    assert_eq!(texts(&text, &cut(&text, settings(500, 400))), ["# A", "text", "more"]);
}
