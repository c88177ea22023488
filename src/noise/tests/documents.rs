//! How labels meet pieces, and what stays content when nothing is sure.

use super::{check, noise};
use crate::chunk::{ChunkSettings, cut};
use crate::noise::labels;

#[test]
fn all_pieces_of_a_section_have_its_label() {
    let long = "Ana talked about graphs. ".repeat(400);
    let text = format!("# Cache\n\n{long}\n\n# Disk\n\n{long}\n\nAgreed: two disks.\n");
    let cut = cut(&text, ChunkSettings::default());
    let labels = labels("Search sync 2025-11-20", &text, &cut);
    assert!(cut.pieces.len() > 4);
    for (piece, noise) in cut.pieces.iter().zip(labels) {
        assert_eq!(noise, piece.section_path == ["Cache"]);
    }
}

#[test]
fn front_matter_is_no_section() {
    let text = "---\ntitle: x\n---\n\n# Search sync 2025-11-20\n\nGraphs.\n";
    assert_eq!(noise("", text), ["Search sync 2025-11-20"]);
    assert_eq!(noise("x", text), [""; 0]);
    assert_eq!(noise("Search sync 2025-11-20", ""), [""; 0]);
}

#[test]
fn what_is_unsure_is_content() {
    check(
        &[],
        &[
            ("Notes", "# 2025-11-20\n\nGraphs.\n"),
            ("Journal 2025-11-20", "Graphs.\n"),
            ("Meeting notes", "Ana, Bo: graphs.\n"),
            ("How to run a meeting", "# Agenda\n\nWrite it.\n\n# Action items\n\n- one each\n"),
            ("Retrospective formats", "# Next steps\n\n- try them\n"),
        ],
    );
}

#[test]
fn other_languages_keep_their_sections() {
    check(
        &[
            ("Storage sync 2025-11-20", "# \u{4f1a}\u{8bae}\n\nAna showed the graphs.\n"),
            ("Storage sync 2025-11-20", "Ana Jos\u{e9} de la Cruz showed the graphs, and that was all of it.\n"),
            ("Storage sync 2025-11-20", "# Attendees\n\nAna de la Torre, Zo\u{eb}, J\u{fc}rgen, \u{141}ukasz\n"),
        ],
        &[
            ("Storage sync 2025-11-20", "\u{6211}\u{4eec}\u{51b3}\u{5b9a}\u{4e86}\u{3002}\n"),
            ("Storage sync 2025-11-20", "\u{420}\u{435}\u{448}\u{438}\u{43b}\u{438}: \u{434}\u{432}\u{430}.\n"),
            ("Storage sync 2025-11-20", "Wir haben beschlossen, den Cache nicht zu nutzen.\n"),
            ("Storage sync 2025-11-20", "Se acord\u{f3} que los datos se quedan con el equipo.\n"),
            ("Reuni\u{f3}n de equipo 2025-11-20", "# Asistentes\n\nAna, Bo\n"),
            ("Teambesprechung 20.11.2025", "# Offene Fragen\n\n- Wie viele Replikate?\n"),
            ("\u{8b70}\u{4e8b}\u{9332} 2025-11-20", "# \u{672a}\u{89e3}\u{6c7a}\n\n- \u{8ab0}\u{ff1f}\n"),
        ],
    );
}
