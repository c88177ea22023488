//! Which titles name meeting notes and status reports.

use super::{check, noise};

const BODY: &str = "Ana showed the new graphs. Bo is on leave.";

/// Checks titles over a text that no other rule says anything of.
#[track_caller]
fn check_titles(notes: &[&str], others: &[&str]) {
    let noisy: Vec<(&str, &str)> = notes.iter().map(|title| (*title, BODY)).collect();
    let kept: Vec<(&str, &str)> = others.iter().map(|title| (*title, BODY)).collect();
    check(&noisy, &kept);
}

#[test]
fn a_meeting_or_progress_word_and_a_date_after_it() {
    check_titles(
        &[
            "Search team sync 2025-11-20",
            "Kitchen meeting 2025-11-20",
            "Billing standup (2025-11-20)",
            "Billing stand-up, 2025-11-20",
            "PARSER STATUS 2025-11-20",
            "Index progress: 2025-11-20",
            "Storage weekly - 2025-11-20",
            "Sync with the Lisbon office 2025-11-20",
            "1:1 Ana / Bo - 2025-11-20",
            "Tuesday retro on Tue 2025-11-20",
            "search-team-sync-2025-11-20",
            "Board minutes of 2025-11-20",
            "Storage sync 2025-11-20: replicas",
            "Storage sync 2025-11-20 14:00",
        ],
        &[
            "Search team sync",
            "2025-11-20",
            "Sync engine 2025-11-20",
            "Status codes 2025-11-20",
            "Call center handbook 2025-11-20",
            "Meeting room booking 2025-11-20",
            "Asynchronous queues 2025-11-20",
            "1:1 mapping of tables 2025-11-20",
            "Security update 2025-11-20",
            "Notes 2025-11-20",
            "Storage sync 2025",
            "Storage sync 3.4.26",
            "",
        ],
    );
}

#[test]
fn notes_minutes_update_or_report_may_follow_the_word() {
    check_titles(
        &[
            "Search sync notes 2025-11-20",
            "Board meeting minutes, 2025-11-20",
            "Parser progress update 2025-11-20",
            "Weekly report 2025-11-20",
            "Status report for 2025-11-20",
        ],
        &[
            "Search sync protocol 2025-11-20",
            "Meeting guidelines 2025-11-20",
            "Progress bars 2025-11-20",
            "Weekly sales figures 2025-11-20",
        ],
    );
}

#[test]
fn dates_have_these_forms() {
    check_titles(
        &[
            "Storage sync 2025-11-20",
            "Storage sync 2025/11/20",
            "Storage sync 11/20/25",
            "Storage sync 20/11/2025",
            "Storage sync November 20",
            "Storage sync Nov. 20th, 2025",
            "Storage sync 20 November",
            "Storage sync 20th of Nov 2025",
            "Storage sync May 4",
        ],
        &[
            "Storage sync 2025-13-20",
            "Storage sync 2025-11-32",
            "Storage sync 13/13/25",
            "Storage sync 11/20",
            "Storage sync November 2025",
            "Storage sync November 32",
            "Storage sync 20 Novembers",
            "Storage sync 2025-11-20-1",
            "Storage sync 1.2025-11-20",
            "Storage sync 99",
            "Storage sync may fail",
        ],
    );
}

#[test]
fn a_week_is_as_good_as_a_date() {
    check_titles(
        &[
            "Indexer status - week 12",
            "Indexer status, wk 12",
            "Indexer status W12",
            "Indexer progress 2025-W12",
            "Indexer status report (week of March 17)",
            "Weekly update, week ending 2025-03-21",
        ],
        &[
            "Indexer status - week 54",
            "Indexer status - weekend",
            "Indexer status of the week",
            "Week 12",
            "Indexer status - sprint 12",
            "Onboarding week 2",
        ],
    );
}

#[test]
fn a_date_first_needs_the_meeting_last() {
    check_titles(
        &[
            "2025-11-20 Search sync",
            "2025-11-20 - Meeting notes",
            "20 November: board meeting minutes",
            "Thu 2025-11-20 standup",
            "2025-11-20 Parser status report",
            "2025-11-20 Search sync - notes by Ana",
        ],
        &[
            "2025-11-20 Sync protocol",
            "2025-11-20 Meeting rooms of the new office",
            "2025-11-20 Outlook",
            "November 2025 board meeting",
            "Week 12 of the standup challenge",
        ],
    );
}

#[test]
fn a_date_heads_each_meeting() {
    let minutes = "About this page.\n\n## Who comes\n\nAna, Bo.\n\n## Nov 13, 2025\n\nGraphs.\n\n### Demo\n\nBo showed \
                   it.\n\n## Nov 20\n\nMore graphs.\n";
    let dated = ["Nov 13, 2025", "Demo", "Nov 20"];
    assert_eq!(noise("Search team sync", minutes), dated);
    assert_eq!(noise("Meeting notes", minutes), dated);
    assert_eq!(noise("Standup log", minutes), dated);
    assert_eq!(noise("Weekly search sync (running notes)", minutes), dated);
    assert_eq!(noise("", &format!("# Search standup\n\n{minutes}")), dated);
    assert_eq!(noise("1:1 Ana and Bo", "# 2025-11-20\n\nGraphs.\n"), ["2025-11-20"]);
    assert_eq!(noise("Team meeting", "# 20 Nov | Team meeting\n\nGraphs.\n"), ["20 Nov | Team meeting"]);
    assert_eq!(noise("Team meeting", "# 11/20\n\nGraphs.\n"), ["11/20"]);
    for title in ["Search team", "Sync engine", "Status", "Release meeting", "Call center", "Meeting rooms"] {
        assert_eq!(noise(title, minutes), [""; 0], "{title}");
    }
    for text in [
        "# Rules\n\n## History\n\n### 2025-11-20\n\nFirst edition.\n",
        "# 2025-11-20 changed the rule of three\n\nNow two.\n",
        "# November\n\nGraphs.\n",
        "# 11/20 of the budget\n\nSpent.\n",
    ] {
        assert_eq!(noise("Team meeting", text), [""; 0], "{text}");
    }
}

#[test]
fn the_first_heading_names_a_document_without_a_title() {
    check(
        &[
            ("", "# Search sync 2025-11-20\n\nGraphs.\n"),
            (" ", "Before.\n\n## Board minutes, Nov 20\n\nGraphs.\n"),
            ("", "Search sync 2025-11-20\n===\n\nGraphs.\n"),
        ],
        &[
            ("Graphs", "# Search sync 2025-11-20\n\nGraphs.\n"),
            ("", "# Graphs\n\n## Search sync 2025-11-20\n\nGraphs.\n"),
            ("", "Search sync 2025-11-20\n\nGraphs.\n"),
        ],
    );
}

#[test]
fn lasting_documents_are_never_notes() {
    check_titles(
        &["Designers' sync 2025-11-20", "Planning meeting 2025-11-20", "Released Gin standup 2025-11-20"],
        &[
            "Search sync design 2025-11-20",
            "Sync Plan status 2025-11-20",
            "Release status 2025-11-20",
            "Release notes 2025-11-20",
            "Postgres migration sync 2025-11-20",
            "Incident call 2025-11-20",
            "2025-11-20 Incident meeting",
            "Post-mortem meeting 2025-11-20",
            "Search RFC meeting 2025-11-20",
        ],
    );
}

#[test]
fn notes_are_noise_with_their_bookkeeping() {
    let text = "Room 3.\n\n# Attendees\n\nAna, Bo\n\n# Agenda\n\n- decide on the cache\n\n# Cache\n\nWe looked at the \
                graphs.\n\n# Disk\n\nDecision: buy two more.\n\n# Action items\n\n- [ ] Ana will send the graphs\n";
    let noisy = ["", "Attendees", "Agenda", "Cache", "Action items"];
    assert_eq!(noise("Search sync 2025-11-20", text), noisy);
    assert_eq!(noise("Search status - week 47", text), noisy);
    assert_eq!(noise("Search handbook", text), [""; 0]);
    assert_eq!(noise("Search sync design 2025-11-20", text), [""; 0]);
}
