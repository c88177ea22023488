//! `knowledge.add`, `knowledge.upsert` and `knowledge.bulk_add`.

use expect_test::expect;

use crate::harness::check;

#[test]
fn add_stores_and_replaces() {
    check(
        r##"
knowledge.add {"source_uri": "a", "content": "# One\n\nfirst\n\n# Two\n\nsecond", "title": "T"}
knowledge.add {"source_uri": "a", "content": "third"}
knowledge.search {"query": "first second third", "search_mode": "lexical", "top_k": 1, "namespace_scope": "this"}
namespace.list {}
"##,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":2,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"doc_id":"#02","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"results":[{"namespace":"local","source_uri":"a","doc_id":"#02","revision":2,"format":"","title":"","tags":[],"chunk_idx":0,"content":"third","section":"","section_path":[],"similarity":null,"lexical_score":0.28768208622932434,"score":0.28768208622932434,"keys_matched":[],"noise":false,"siblings_folded":0,"block_type":"","locator":{"kind":"lines","start":1,"end":1,"char_start":0,"char_end":5},"span":null,"session_id":"","source_class":"asserted","agent":"","ingested_at":"2026-01-01T00:00:00.000Z"}],"reranked_by":"","embedding_model":"loom-static-256","namespaces_skipped":[],"stale_dropped":0}
            {"namespaces":[{"namespace":"local","kind":"memory","visibility":"private","title":"","owner":"","parent":null,"created_at":"2026-01-01T00:00:00.000Z","deleted_at":null,"documents":1,"chunks":1,"versions":2,"embedding_model":"loom-static-256","reembedding":null}],"next_cursor":null}
        "##]],
    );
}

#[test]
fn upsert_counts_what_it_retires_and_names_duplicates() {
    check(
        r##"
knowledge.upsert {"source_uri": "a", "content": "# One\n\nsame\n\n# Two\n\nother", "title": "T"}
knowledge.upsert {"source_uri": "b", "content": "# One\n\nsame\n\n# Two\n\nother", "title": "T"}
# Another title: no duplicate document, but its chunks stand elsewhere.
knowledge.upsert {"source_uri": "c", "content": "# One\n\nsame\n\n# Two\n\nother"}
knowledge.upsert {"source_uri": "d", "content": "# One\n\nsame\n\n# Three\n\nnew"}
# Itself is no duplicate, and neither is what was deleted.
knowledge.bulk_delete {"source_uris": ["b", "c", "d"]}
knowledge.upsert {"source_uri": "a", "content": "# One\n\nsame\n\n# Two\n\nother", "title": "T"}
# Another namespace is none of its business.
knowledge.upsert {"namespace": "else", "source_uri": "z", "content": "# One\n\nsame\n\n# Two\n\nother", "title": "T"}
"##,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":2,"chunks_superseded":0,"embedding_model":"loom-static-256","embedding_dim":256,"duplicate_of_uri":"","duplicate_chunk_count":0,"namespace":"local","source_uri":"a"}
            {"doc_id":"#02","chunks_created":2,"chunks_superseded":0,"embedding_model":"loom-static-256","embedding_dim":256,"duplicate_of_uri":"a","duplicate_chunk_count":2,"namespace":"local","source_uri":"b"}
            {"doc_id":"#03","chunks_created":2,"chunks_superseded":0,"embedding_model":"loom-static-256","embedding_dim":256,"duplicate_of_uri":"","duplicate_chunk_count":2,"namespace":"local","source_uri":"c"}
            {"doc_id":"#04","chunks_created":2,"chunks_superseded":0,"embedding_model":"loom-static-256","embedding_dim":256,"duplicate_of_uri":"","duplicate_chunk_count":1,"namespace":"local","source_uri":"d"}
            {"deleted":[{"source_uri":"b","deleted":true,"chunks_tombstoned":2},{"source_uri":"c","deleted":true,"chunks_tombstoned":2},{"source_uri":"d","deleted":true,"chunks_tombstoned":2}],"total_chunks_tombstoned":6}
            {"doc_id":"#06","chunks_created":2,"chunks_superseded":2,"embedding_model":"loom-static-256","embedding_dim":256,"duplicate_of_uri":"","duplicate_chunk_count":0,"namespace":"local","source_uri":"a"}
            {"doc_id":"#07","chunks_created":2,"chunks_superseded":0,"embedding_model":"loom-static-256","embedding_dim":256,"duplicate_of_uri":"","duplicate_chunk_count":0,"namespace":"else","source_uri":"z"}
        "##]],
    );
}

#[test]
fn a_bulk_is_written_whole_or_not_at_all() {
    check(
        r##"
knowledge.bulk_add {"entries": [{"source_uri": "a", "content": "one"}, {"source_uri": "b", "content": "# x\n\n1\n\n# y\n\n2", "tags": ["t"]}], "agent": "scribe", "session_id": "s1", "source_class": "derived"}
knowledge.list {"fields": ["source_uri", "agent", "session_id", "source_class", "tags", "actor", "revision"]}
knowledge.bulk_add {"entries": [{"source_uri": "c", "content": "one"}, {"source_uri": "a", "content": "1"}, {"source_uri": "a", "content": "2"}]}
knowledge.bulk_add {"entries": [{"source_uri": "c", "content": "one"}, {"source_uri": "", "content": "1"}]}
knowledge.bulk_add {"entries": []}
knowledge.bulk_add {"entries": [{"source_uri": "a", "content": "again"}]}
knowledge.list {"include_superseded": true, "fields": ["source_uri", "revision", "superseded"]}
"##,
        &expect![[r##"
            {"written":[{"source_uri":"a","doc_id":"#01","chunks_created":1},{"source_uri":"b","doc_id":"#02","chunks_created":2}],"embedding_model":"loom-static-256","embedding_dim":256}
            {"rows":[{"source_uri":"b","tags":["t"],"revision":1,"agent":"scribe","session_id":"s1","source_class":"derived","actor":"user:local"},{"source_uri":"a","tags":[],"revision":1,"agent":"scribe","session_id":"s1","source_class":"derived","actor":"user:local"}],"next_cursor":null}
            {"error":{"code":"VALIDATION_FAILED","message":"entries[2].source_uri repeats entries[1].source_uri: name each source once; nothing was written","retryable":false,"field":"entries[2].source_uri"}}
            {"error":{"code":"VALIDATION_FAILED","message":"entries[1].source_uri must have 1 to 2048 characters; it has 0","retryable":false,"field":"entries[1].source_uri"}}
            {"error":{"code":"VALIDATION_FAILED","message":"entries must have 1 to 500 items; it has 0","retryable":false,"field":"entries"}}
            {"written":[{"source_uri":"a","doc_id":"#04","chunks_created":1}],"embedding_model":"loom-static-256","embedding_dim":256}
            {"rows":[{"source_uri":"a","revision":2,"superseded":false},{"source_uri":"b","revision":1,"superseded":false},{"source_uri":"a","revision":1,"superseded":true}],"next_cursor":null}
        "##]],
    );
}

#[test]
fn the_same_text_again_keeps_its_author_class() {
    check(
        r#"
knowledge.add {"source_uri": "a", "content": "one", "source_class": "external"}
knowledge.add {"source_uri": "a", "content": "one", "title": "kept class"}
knowledge.get {"source_uri": "a"}
knowledge.list {"fields": ["revision", "source_class", "title"]}
knowledge.add {"source_uri": "a", "content": "two"}
knowledge.list {"fields": ["revision", "source_class", "title"]}
"#,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"doc_id":"#02","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"found":true,"source_uri":"a","title":"kept class","description":"","content":"one","tags":[],"metadata":{},"ingested_at":"2026-01-01T00:00:00.000Z","superseded":false,"doc_id":"#02","revision":2,"format":null,"parser":null,"coverage":null}
            {"rows":[{"title":"kept class","revision":2,"source_class":"external"}],"next_cursor":null}
            {"doc_id":"#03","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"rows":[{"title":"","revision":3,"source_class":"asserted"}],"next_cursor":null}
        "##]],
    );
}

#[test]
fn unknown_fields_are_served_and_named() {
    check(
        r#"
knowledge.add {"source_uri": "a", "content": "one", "colour": "red", "org": "", "namespace": null}
knowledge.bulk_add {"entries": [{"source_uri": "b", "content": "x", "agent": "y"}], "nope": {"deep": 1}}
knowledge.get {"source_uri": "zzz", "user_id": "u", "agent": "x"}
"#,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a","ignored_args":["colour"]}
            {"written":[{"source_uri":"b","doc_id":"#02","chunks_created":1}],"embedding_model":"loom-static-256","embedding_dim":256,"ignored_args":["entries[0].agent","nope"]}
            {"found":false,"source_uri":"zzz","title":null,"description":null,"content":null,"tags":null,"metadata":null,"ingested_at":null,"superseded":null,"doc_id":null,"revision":null,"format":null,"parser":null,"coverage":null,"ignored_args":["user_id"]}
        "##]],
    );
}
