//! `knowledge.update_metadata`.

use expect_test::expect;

use crate::harness::check;

#[test]
fn an_edit_changes_what_it_names() {
    check(
        r#"
knowledge.add {"source_uri": "a", "content": "one", "title": "T", "description": "D", "tags": ["x"]}
knowledge.update_metadata {"source_uri": "a"}
knowledge.update_metadata {"source_uri": "a", "title": "New", "description": null}
knowledge.update_metadata {"source_uri": "a", "description": "", "tags": []}
knowledge.update_metadata {"source_uri": "a", "tags": []}
knowledge.list {"fields": ["title", "description", "tags", "revision", "ingested_at"]}
knowledge.update_metadata {"source_uri": "b", "title": "New"}
knowledge.delete {"source_uri": "a"}
knowledge.update_metadata {"source_uri": "a", "title": "New"}
"#,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"updated":false,"title":"T","description":"D","tags":["x"],"chunks_reindexed":0}
            {"updated":true,"title":"New","description":"D","tags":["x"],"chunks_reindexed":0}
            {"updated":true,"title":"New","description":"","tags":[],"chunks_reindexed":0}
            {"updated":false,"title":"New","description":"","tags":[],"chunks_reindexed":0}
            {"rows":[{"title":"New","description":"","tags":[],"revision":1,"ingested_at":"2026-01-01T00:00:00.000Z"}],"next_cursor":null}
            {"error":{"code":"NOT_FOUND","message":"dev/local has no live document \"b\": add it, or restore it","retryable":false,"field":"source_uri"}}
            {"deleted":true,"chunks_tombstoned":1}
            {"error":{"code":"NOT_FOUND","message":"dev/local has no live document \"a\": add it, or restore it","retryable":false,"field":"source_uri"}}
        "##]],
    );
}

#[test]
fn chunks_keep_their_context_until_they_are_written_again() {
    check(
        r##"
knowledge.add {"source_uri": "a", "content": "# Part\n\none", "title": "Lantern"}
knowledge.update_metadata {"source_uri": "a", "title": "Compass"}
knowledge.search {"query": "lantern", "search_mode": "lexical", "namespace_scope": "this"}
knowledge.search {"query": "compass", "search_mode": "lexical", "namespace_scope": "this"}
knowledge.update_metadata {"source_uri": "a", "reindex": true}
knowledge.search {"query": "lantern", "search_mode": "lexical", "namespace_scope": "this"}
knowledge.search {"query": "compass", "search_mode": "lexical", "namespace_scope": "this"}
"##,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"updated":true,"title":"Compass","description":"","tags":[],"chunks_reindexed":0}
            {"results":[{"namespace":"local","source_uri":"a","doc_id":"#01","revision":1,"format":"","title":"Compass","tags":[],"chunk_idx":0,"content":"# Part\n\none","section":"Part","section_path":["Part"],"similarity":null,"lexical_score":0.28768208622932434,"score":0.28768208622932434,"keys_matched":[],"noise":false,"siblings_folded":0,"block_type":"","locator":{"kind":"lines","start":1,"end":3,"char_start":0,"char_end":11},"span":null,"session_id":"","source_class":"asserted","agent":"","ingested_at":"2026-01-01T00:00:00.000Z"}],"reranked_by":"","embedding_model":"loom-static-256","namespaces_skipped":[],"stale_dropped":0}
            {"results":[],"reranked_by":"","embedding_model":"loom-static-256","namespaces_skipped":[],"stale_dropped":0}
            {"updated":false,"title":"Compass","description":"","tags":[],"chunks_reindexed":1}
            {"results":[],"reranked_by":"","embedding_model":"loom-static-256","namespaces_skipped":[],"stale_dropped":0}
            {"results":[{"namespace":"local","source_uri":"a","doc_id":"#03","revision":2,"format":"","title":"Compass","tags":[],"chunk_idx":0,"content":"# Part\n\none","section":"Part","section_path":["Part"],"similarity":null,"lexical_score":0.28768208622932434,"score":0.28768208622932434,"keys_matched":[],"noise":false,"siblings_folded":0,"block_type":"","locator":{"kind":"lines","start":1,"end":3,"char_start":0,"char_end":11},"span":null,"session_id":"","source_class":"asserted","agent":"","ingested_at":"2026-01-01T00:00:00.000Z"}],"reranked_by":"","embedding_model":"loom-static-256","namespaces_skipped":[],"stale_dropped":0}
        "##]],
    );
}
