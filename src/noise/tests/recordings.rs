//! Notes that a tool writes from a recording.

use super::{check, noise};

const TITLE: &str = "Search sync - 2025/11/20 14:00 CET - Notes by Recorder";

const NOTES: &str = "# Notes

Nov 20, 2025

## Search sync

Invited Ana Bo

Attachments [Search sync](https://example.com/1)

Meeting records [Transcript](https://example.com/2)

### Summary

The graphs look fine, and the cache is a third smaller.

### Details

- **Cache:** Ana explained that keys are hashed.

### Cache size

Smaller by a third.

### Open questions

- How many replicas?

### Suggested next steps

- [ ] Ana will send the graphs.

*You should review the notes to make sure they're accurate.*

# Transcript

Nov 20, 2025

## Search sync - Transcript

### 00:00:00

**Ana:** Shall we start?

### 00:01:10

**Bo:** We'll enable the flag on Monday.

### Transcription ended after 00:31:02

*This transcript was computer generated and might contain errors.*
";

#[test]
fn summary_and_topics_stay_and_the_frame_does_not() {
    let frame = [
        "Notes",
        "Search sync",
        "Open questions",
        "Suggested next steps",
        "Transcript",
        "Search sync - Transcript",
        "00:00:00",
        "Transcription ended after 00:31:02",
    ];
    assert_eq!(noise(TITLE, NOTES), frame);
    let without_clock = noise("Search sync - 2025/11/20 - Notes by Recorder", NOTES);
    assert!(without_clock.contains(&"Summary".to_owned()), "notes of a person, dated: {without_clock:?}");
    assert_eq!(noise("Search guide", NOTES), ["Open questions"]);
}

#[test]
fn titles_of_recordings() {
    let text = "# Summary\n\nFine graphs.\n\n# Next steps\n\n- Ana: graphs\n";
    for title in [
        TITLE,
        "Search sync 2025-11-20 2:00 PM - transcript",
        "Transcript: Ana and Bo, Nov 20, 2025 at 14:00",
        "Search sync - 2025_11_20 14_00 CET - Notes by Recorder",
        // A person's notes, signed and with a clock time.
        "Search sync 2025-11-20 14:00 - notes by Ana",
        // The transcript of a meeting about what is never notes.
        "Release plan sync - 2025/11/20 14:00 CET - Transcript",
        "Incident 2025-11-20 14:00 transcript",
    ] {
        assert_eq!(noise(title, text), ["Next steps"], "{title}");
    }
    for title in [
        "Search sync - 2025/11/20 14:00 CET",
        "Search sync - 2025/11/20 - notes by Ana",
        "Search status 2025-11-20 14:00 - notes by Ana",
    ] {
        assert_eq!(noise(title, text), ["Summary", "Next steps"], "{title}");
    }
    for title in [
        "Search design sync - 2025/11/20 14:00 CET - Notes by Recorder",
        "Release plan 2025-11-20 14:00 - notes by Ana",
        "Caches 2025-11-20 14:00 - notes by Ana",
        "Release plan sync 2025-11-20 - Transcript",
        "Transcript formats",
        "Search sync - Notes by Recorder",
    ] {
        assert_eq!(noise(title, text), [""; 0], "{title}");
    }
}

#[test]
fn the_frame_of_a_recording() {
    for heading in [
        "Transcript",
        "Full transcript",
        "00:03:12",
        "14:05",
        "[00:03:12] Ana",
        "14:05 - 14:10",
        "Action items",
        "Attendees",
    ] {
        let text = format!("# {heading}\n\nAna: the graphs are fine.\n");
        assert_eq!(noise(TITLE, &text), [heading], "{heading}");
        let text = format!("# {heading}\n\nAna: fine. We decided to shard.\n");
        assert_eq!(noise(TITLE, &text), [""; 0], "{heading}");
    }
    for heading in ["Summary", "Where the transcript is kept", "14:05 Cache size", "Actions of the gateway", "Notes"] {
        let text = format!("# {heading}\n\nAna: the graphs are fine.\n");
        assert_eq!(noise(TITLE, &text), [""; 0], "{heading}");
    }
    check(
        &[
            (TITLE, "Invited: Ana, Bo\nWhen: 2025-11-20 14:00\n"),
            (TITLE, "Attendees:\n\n- Ana Silva\n- Bo\n"),
            (TITLE, "# Summary of the tool\n\n*This text was automatically generated.*\n"),
            ("Search sync 2025-11-20 14:00 - Transcript", "Ana: fine.\n\nBo: yes.\n"),
            ("", "# Search sync 2025-11-20 14:00 - Transcript\n\nAna: fine.\n"),
        ],
        &[
            (TITLE, "The graphs look fine.\n"),
            (TITLE, "Invited: Ana, Bo\n\nThe graphs look fine.\n"),
            (TITLE, "# Open questions\n\n- How many replicas? Two.\n"),
            ("Search sync 2025-11-20 14:00 - Transcript", "# Cache\n\nA third smaller.\n"),
            ("", "# Search sync 2025-11-20 14:00 - Transcript\n\n## Summary\n\nA third smaller.\n"),
        ],
    );
}
