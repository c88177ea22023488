//! What records a decision.

use super::check;

#[track_caller]
fn check_texts(decided: &[&str], undecided: &[&str]) {
    let titled = |text| ("Search sync 2025-11-20", text);
    let decided: Vec<_> = decided.iter().copied().map(titled).collect();
    let undecided: Vec<_> = undecided.iter().copied().map(titled).collect();
    check(&undecided, &decided);
}

#[test]
fn a_label_in_front_of_a_decision() {
    check_texts(
        &[
            "Agreed: two replicas, a third costs too much.",
            "- **Decision:** two replicas",
            "- **Agreed** two replicas",
            "* [Decision] two replicas",
            "Outcome - two replicas",
            "Final decision: two replicas",
            "Decision: deferred to the next version",
            "Agreed: open the port",
            "Decision:\n\n- two replicas",
            "Decision:\ntwo replicas",
            "Graphs.\nAgreed: two replicas.",
            "# Decisions\n\n- two replicas",
            "# What we decided\n\nTwo replicas.",
            "# Decisions\n\nOwner:\n\n- two replicas",
            "| Topic | Result |\n|---|---|\n| Replicas | Agreed: two |",
        ],
        &[
            "Decision: TBD",
            "Decision:\n\nAction items:\n\n- Ana: graphs",
            "Decisions: none",
            "Decision: open",
            "Decision: not yet",
            "Agreed:",
            "Decision needed: replicas",
            "Open decision: replicas",
            "Decision maker: Ana",
            "Approved by: ",
            "Decision: who would know?",
            "# Decisions\n\nNone.",
            "# Decisions\n\n",
            "# Decisions needed\n\n- replicas",
            "# Pending decisions\n\n- replicas",
        ],
    );
}

#[test]
fn a_sentence_that_tells_of_one() {
    check_texts(
        &[
            "We decided to run two replicas.",
            "After some talk everyone agreed that two replicas are enough.",
            "It was agreed not to shard.",
            "The board approved the budget.",
            "In May we agreed on two replicas.",
            "With no objections we settled on two replicas.",
            "The team chose RocksDB over LevelDB.",
            "We went with two replicas.",
            "Sharding was ruled out.",
            "Two replicas have been chosen.",
            "If load grows, we have agreed to shard.",
            "From now on each change needs a test.",
            "We\u{2019}ve decided: two replicas.",
            "The decision was to shard.",
        ],
        &[
            "Have we decided on replicas?",
            "We have not decided on replicas.",
            "We haven't agreed on replicas yet.",
            "Nobody agreed.",
            "To be decided: replicas.",
            "No decision was made.",
            "Ana wants to know whether we agreed on replicas.",
            "Bo disagreed. Still undecided.",
            "Replicas cannot be agreed without Cy.",
            "We agreed to discuss replicas next week.",
            "We need a decision to order disks.",
            "The decision is pending.",
            "Agenda: decide on replicas.",
        ],
    );
}

#[test]
fn a_stated_plan() {
    check_texts(
        &[
            "The plan is to shard by tenant.",
            "We'll enable the flag on Monday.",
            "We\u{2019}ll also drop the old table.",
            "We will not shard.",
            "We won't shard this year.",
            "We're going to shard by tenant.",
            "We plan to shard by tenant.",
            "The old table will be removed in June.",
            "The gateway will refuse unsigned tokens.",
            "Let's shard by tenant.",
            "We are dropping the old table.",
            "We're moving to two replicas.",
            "Plan: shard by tenant.",
            "Rollout planned for June.",
        ],
        &[
            "Is the plan to shard?",
            "There is no plan to shard.",
            "The plan is unclear.",
            "We'll discuss shards next week.",
            "We will see.",
            "Let's meet on Monday.",
            "We'll follow up with Ana.",
            "The next meeting will be on Monday.",
            "Shards will be discussed on Monday.",
            "Ana explained how we will shard.",
            "Ana will send the graphs.",
            "We would shard if we could.",
            "We are looking at graphs.",
            "We're not moving shards, are we?",
        ],
    );
}

#[test]
fn a_decision_is_content_wherever_it_is() {
    check(
        &[
            ("Handbook", "# Open questions\n\n- How many replicas?\n"),
            ("", "# Slide 1: Shards\n\nTen.\n\n# Slide 2: Questions?\n"),
            ("Search sync 2025-11-20", "# Action items\n\n- Ana: graphs\n"),
        ],
        &[
            ("Handbook", "# Open questions\n\n- How many replicas?\n\nAgreed: two.\n"),
            ("", "# Slide 1: Shards\n\nTen.\n\n# Slide 2: Questions?\n\nDecision: ten shards.\n"),
            ("Search sync 2025-11-20", "# Action items\n\n- we'll buy two disks\n"),
        ],
    );
}
