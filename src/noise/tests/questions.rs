//! Open questions, and a deck's last slide.

use super::{check, noise};

#[track_caller]
fn check_headings(open: &[&str], others: &[&str]) {
    let text = |heading: &str| format!("# {heading}\n\n- How many replicas?\n- Who pays?\n");
    for heading in open {
        assert_eq!(noise("Shards", &text(heading)).len(), 1, "{heading}");
    }
    for heading in others {
        assert_eq!(noise("Shards", &text(heading)), [""; 0], "{heading}");
    }
}

#[test]
fn headings_that_announce_open_questions() {
    check_headings(
        &[
            "Open questions",
            "OPEN QUESTIONS:",
            "3. Open Questions [optional]",
            "Unresolved questions",
            "Challenges and open questions",
            "Questions for reviewers",
            "Questions for the team",
            "Questions still open",
            "Remaining question",
        ],
        &[
            "Questions it answers",
            "Questions",
            "Questions?",
            "Frequently asked questions",
            "Open questions, answered",
            "Resolved open questions",
            "Open issues",
            "Questions to ask in an interview",
            "Opening questions",
            "The question of openness",
        ],
    );
}

#[test]
fn only_questions_without_answers() {
    let text = |body: &str| format!("# Open questions\n\n{body}\n");
    for body in [
        "- How many replicas?\n- Should we shard\n  by tenant?",
        "1. How many replicas? (Ana)\n2. Who pays? TBD",
        "These are still open:\n\n* [ ] **How many replicas?**\n* [Who pays?](https://example.com/a?b=c)",
        "How many replicas? Who pays?",
        "- How many replicas? Needs input from Ana.\n- Who pays? Open since May.\n- Who knows? Owner: Bo",
        "- Who pays? Ana to check.\n- How do we count them, e.g. by shard?\n- How do we name the shards i.e. their files",
        "We run two today. Is that enough?",
        "- How the replicas are paid\n- Whether to shard",
        "None of these questions is settled, they are open.\n\n- Who pays?",
        "- Who pays?\n  - Or does nobody pay?\n\nTo be decided.",
    ] {
        assert_eq!(noise("Shards", &text(body)), ["Open questions"], "{body}");
    }
    for body in [
        "",
        "None.",
        "- How many replicas? Two.",
        "- How many replicas?\n  - Two are enough for the load of today.",
        "Q: How many replicas?\n\nA: Two",
        "- [x] How many replicas?",
        "- ~~How many replicas?~~",
        "- How many replicas? (see the manual)",
        "- How many replicas? => two",
        "The number of replicas is a matter of money.",
        "When a replica fails, another takes over.",
        "Who pays?\n\n```sh\npay --all\n```",
        "| Question | Answer |\n|---|---|\n| Who pays? | Ana |",
    ] {
        assert_eq!(noise("Shards", &text(body)), [""; 0], "{body}");
    }
}

#[test]
fn questions_may_be_headings() {
    let text = "# Shards\n\nTen.\n\n## Open questions\n\n### Who pays?\n\nAsked on Monday.\n\n### How many replicas?\n\n\
                Two may be enough, as the load is low.\n\n### Answered\n\n- Since when?\n\n## Cost\n\n- Who pays?\n";
    assert_eq!(noise("Shards", text), ["Who pays?"]);
    assert_eq!(noise("Shards", "# Open questions\n\n## Shards\n\n- By tenant?\n"), [""; 0]);
}

#[test]
fn a_deck_closes_with_questions() {
    check(
        &[
            ("Shards", "# Slide 1: Shards\n\nTen.\n\n# Slide 2: Questions?\n"),
            ("", "# Slide 1\n\nTen.\n\n# Slide 2: Thank you! Any questions?\n\nana@example.com\n"),
            ("Q3", "# Slide 1: Cost\n\nTen.\n\n# Slide 2: Q&A\n\n> Notes: leave it up\n"),
        ],
        &[
            ("Shards", "# Slide 1: Questions?\n\n# Slide 2: Shards\n\nTen.\n"),
            ("Shards", "# Shards\n\nTen.\n\n# Questions?\n"),
            ("Shards", "# Intro\n\nTen.\n\n# Slide 2: Questions?\n"),
            ("Shards", "# Slide 1: Questions?\n"),
            ("Shards", "# Slide 1: Cost\n\nTen.\n\n# Slide 2: Questions we were asked\n\nWho pays?\n"),
            ("", &format!("# Slide 1: Cost\n\nTen.\n\n# Slide 2: Questions?\n\n{}\n", "Replicas cost. ".repeat(20))),
        ],
    );
}
