//! What a query must and must not find.

use loom_index::text::LexicalIndex;
use tempfile::TempDir;

use crate::corpus::{Numbers, Version, flush, found, index_of};

/// Runs `check` on an index in memory and on the same one written to disk.
fn in_memory_and_on_disk(texts: &[&str], check: impl Fn(&LexicalIndex)) {
    let folder = TempDir::new().expect("a folder for the test");
    let mut index = index_of(folder.path(), texts);
    check(&index);
    flush(&mut index, texts.len() as u64);
    check(&index);
    let (index, watermark) = LexicalIndex::open(folder.path()).expect("what was written opens");
    assert_eq!(watermark.0, texts.len() as u64);
    check(&index);
}

#[test]
fn a_query_is_text_and_never_syntax() {
    let texts = ["usb-c adapter in the box", "foo 12 wiki.example.org", "what AND how OR why unclosed"];
    in_memory_and_on_disk(&texts, |index| {
        assert_eq!(found(index, "a:(^"), [0; 0]);
        assert_eq!(found(index, "(foo:>12)"), [2]);
        assert_eq!(found(index, "AND OR :( "), [0; 0], "stop words and no operators");
        assert_eq!(found(index, "\"unclosed"), [3]);
        assert_eq!(found(index, "usb-c adapter\"\""), [1]);
        assert_eq!(found(index, "https://wiki.example.org"), [2]);
        assert_eq!(found(index, "-foo +adapter"), found(index, "foo adapter"), "signs mean nothing");
        for nothing in [">>>", "+ 2", "-", "*", "text:*", "[a TO b]", "a\\", "^2", "~", "\u{0}"] {
            index.search(nothing, 10, None).expect("any text is a query");
        }
        assert_eq!(found(index, &"(".repeat(8000)), [0; 0]);
        assert_eq!(found(index, &format!("{} adapter", "(".repeat(8000))), [1]);
    });
}

#[test]
fn queries_without_words_find_nothing() {
    in_memory_and_on_disk(&["the cat is on the mat", "🦀 … !"], |index| {
        for query in ["the", "to be or not to be", "is on", "...", "?!,;", "🦀", " \t\n", ""] {
            assert_eq!(found(index, query), [0; 0], "{query:?}");
        }
        assert_eq!(found(index, "the cat"), [1]);
    });
}

#[test]
fn identifiers_are_found_whole_and_in_parts() {
    let texts = [
        "call atomic_write_json to store it",
        "call atomicWriteJson to store it",
        "see atomic-write.json to store it",
        "released 1.0.21 of it",
        "the unit RS32 of it",
        "released 1.0.2 of 21 units",
        "the unit RS 32 of it",
        "table orders_daily of it",
    ];
    in_memory_and_on_disk(&texts, |index| {
        for (query, first) in [
            ("atomic_write_json", 1),
            ("atomicWriteJson", 2),
            ("atomic-write.json", 3),
            ("1.0.21", 4),
            ("RS32", 5),
            ("rs32", 5),
            ("orders_daily", 8),
            ("ORDERS_DAILY", 8),
        ] {
            assert_eq!(found(index, query).first(), Some(&first), "{query}");
        }
        for query in ["atomic write json", "write", "writing"] {
            let mut hits = found(index, query);
            hits.sort_unstable();
            assert_eq!(hits, [1, 2, 3], "{query}");
        }
        assert_eq!(found(index, "daily order"), [8]);
    });
}

#[test]
fn text_without_spaces_is_found_by_any_piece() {
    let texts =
        ["分布式数据库的事务处理", "今天天气很好", "検索エンジンを作る", "데이터베이스를 만든다", "ฐานข้อมูลแบบกระจาย"];
    in_memory_and_on_disk(&texts, |index| {
        for query in ["库", "数据", "数据库的", "分布式数据库", "事务"] {
            assert_eq!(found(index, query), [1], "{query}");
        }
        for (query, first) in [("エンジン", 3), ("検索", 3), ("데이터", 4), ("데이터베이스", 4), ("ข้อมูล", 5)]
        {
            assert_eq!(found(index, query).first(), Some(&first), "{query}");
        }
    });
    let texts = ["数据库 replication works", "数据库", "replication of nothing", "天气"];
    in_memory_and_on_disk(&texts, |index| {
        let hits = found(index, "数据库 replication");
        assert_eq!(hits[0], 1);
        assert_eq!(hits.len(), 3, "one half is enough, lower");
    });
}

#[test]
fn what_stands_late_or_is_long_is_found() {
    let filler = "lorem ipsum dolor sit amet ".repeat(300);
    let late = format!("{filler} zebra");
    let hash = format!("{:0>60}", "7c4a8d09ca3762af61e59520943dc26494f8941b");
    let hashed = format!("{filler} {hash} {filler}");
    let line = format!("{}needle", "x".repeat(300_000));
    in_memory_and_on_disk(&[&late, &hashed, &line, &filler], |index| {
        assert_eq!(found(index, "zebra"), [1]);
        assert_eq!(found(index, &hash), [2]);
        assert_eq!(found(index, &hash.to_uppercase()), [2]);
        assert_eq!(found(index, &line), [3]);
    });
}

#[test]
fn an_index_knows_nothing_of_another() {
    let folder = TempDir::new().expect("a folder for the test");
    let (small, big) = (folder.path().join("small"), folder.path().join("big"));
    let texts = ["wax seal", "wax candle of wax", "seal pup and seal"];
    let mut alone = index_of(&small, &texts);
    let before = alone.search("wax seal", 10, None).expect("a search works");
    let (mut other, _) = LexicalIndex::open(&big).expect("a new folder opens");
    let mut numbers = Numbers::new(1);
    for seq in 1..500 {
        Version::new(seq, &[&format!("wax {}", numbers.prose(20))]).add_to(&mut other);
    }
    flush(&mut other, 500);
    assert_eq!(alone.search("wax seal", 10, None).expect("a search works"), before);
    flush(&mut alone, 3);
    assert_eq!(alone.search("wax seal", 10, None).expect("a search works"), before);
}

#[test]
fn an_index_without_chunks_answers() {
    let folder = TempDir::new().expect("a folder for the test");
    let (mut index, watermark) = LexicalIndex::open(&folder.path().join("none")).expect("a missing folder is empty");
    assert_eq!(watermark.0, 0);
    assert_eq!(found(&index, "anything"), [0; 0]);
    assert!(index.freeze(watermark).is_none(), "there is nothing to write");
    let version = Version::new(1, &["some words", "more words"]);
    version.add_to(&mut index);
    flush(&mut index, 1);
    version.remove_from(&mut index);
    assert_eq!(found(&index, "words"), [0; 0]);
    flush(&mut index, 2);
    assert_eq!(found(&index, "words"), [0; 0]);
    assert_eq!(index.statistics().segments, 0, "a segment of dead chunks goes");
    let (index, watermark) = LexicalIndex::open(&folder.path().join("none")).expect("what was written opens");
    assert_eq!((watermark.0, index.statistics().chunks), (2, 0));
}

#[test]
fn equals_come_by_chunk_id_and_the_last_place_is_decided_by_it() {
    let texts = ["same words here"; 30];
    in_memory_and_on_disk(&texts, |index| {
        assert_eq!(found(index, "same words"), (1..=10).collect::<Vec<u64>>());
    });
}

#[test]
fn context_counts_like_text() {
    let folder = TempDir::new().expect("a folder for the test");
    let (mut index, _) = LexicalIndex::open(folder.path()).expect("a new folder opens");
    let mut version = Version::new(1, &["", "zebra"]);
    "zebra".clone_into(&mut version.chunks[0].1);
    version.add_to(&mut index);
    let hits = index.search("zebra", 10, None).expect("a search works");
    assert_eq!(hits.len(), 2);
    assert_eq!(hits[0].score.to_bits(), hits[1].score.to_bits());
}
