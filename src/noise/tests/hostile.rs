//! Text that nobody would write.

use proptest::prelude::*;

use super::noise;

#[test]
fn odd_characters_do_no_harm() {
    for text in [
        "# Open questions\n\n- \u{130}\u{130}?\u{301}\n- ](](](\n- ://://\n- '\u{2019}'\n",
        "# \u{1f4dd} Open questions\n\n\u{202e}?\n\u{feff}\n",
        "#\t\u{a0}Open questions\r\r- ?\r- ??!?\r",
        "# Open questions\n\n[](((((((\n1.\n1)\n>>>\n**\n[x]\n[x",
        "# Open questions\n\n99999999999999999999. 99999999999999999999-9-9 25:61 0/0/00\n",
    ] {
        for title in ["", "Sync 2025-11-20", "Sync \u{130} 2025-11-20 14:00 - transcript", "\u{2019}'s 1:1 / - 11/"] {
            noise(title, text);
        }
    }
}

#[test]
fn one_long_line_is_read_in_parts() {
    let long = format!("{}\n", "graphs and [more](x ".repeat(100_000));
    assert_eq!(noise("Sync 2025-11-20", &long), [""]);
    assert_eq!(noise("Sync 2025-11-20", &format!("{long}\nWe agreed on graphs.")), [""; 0]);
    assert_eq!(noise("Guide", &format!("# Open questions\n\n{}", "why? ".repeat(100_000))), ["Open questions"]);
    noise("Sync 2025-11-20", &"1:1-".repeat(100_000));
    noise(&"1:1 / ".repeat(2_000), "x");
}

proptest! {
    #[test]
    fn any_text_has_a_label_for_each_piece(
        title in "(Sync|1:1|Status|Transcript|notes by|[0-9:/ -]{1,8}|\\PC{0,4}| ){0,8}",
        text in "((# |- |> )?(Open questions|Transcript|0:00|Agreed:|will be|\\PC{0,6}|\\?|\n){0,4}\n){0,12}",
    ) {
        noise(&title, &text);
    }
}
