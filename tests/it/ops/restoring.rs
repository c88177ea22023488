//! `knowledge.restore`: every reason.

use expect_test::expect;

use crate::harness::check;

#[test]
fn a_deleted_document_comes_back_as_it_was() {
    check(
        r##"
knowledge.add {"source_uri": "a", "content": "# x\n\n1\n\n# y\n\n2"}
knowledge.add {"source_uri": "a", "content": "# x\n\n3\n\n# y\n\n4"}
knowledge.restore {"source_uri": "a"}
knowledge.delete {"source_uri": "a"}
knowledge.restore {"source_uri": "a", "if_revision": 1}
knowledge.restore {"source_uri": "a", "if_revision": 2}
knowledge.restore {"source_uri": "a", "if_revision": 1}
knowledge.search {"query": "3", "search_mode": "lexical", "top_k": 1, "namespace_scope": "this"}
knowledge.restore {"source_uri": "never"}
knowledge.restore {"source_uri": "never", "if_revision": 3}
"##,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":2,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"doc_id":"#02","chunks_created":2,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"restored":false,"reason":"live","doc_id":"#02","revision":2,"chunks_restored":0,"original":"none"}
            {"deleted":true,"chunks_tombstoned":2}
            {"restored":false,"reason":"revision_mismatch","doc_id":"#02","revision":2,"chunks_restored":0,"original":"none"}
            {"restored":true,"reason":"","doc_id":"#02","revision":2,"chunks_restored":2,"original":"none"}
            {"restored":false,"reason":"live","doc_id":"#02","revision":2,"chunks_restored":0,"original":"none"}
            {"results":[{"namespace":"local","source_uri":"a","doc_id":"#02","revision":2,"format":"","title":"","tags":[],"chunk_idx":0,"content":"# x\n\n3","section":"x","section_path":["x"],"similarity":null,"lexical_score":0.6931471824645996,"score":0.6931471824645996,"keys_matched":[],"noise":false,"siblings_folded":0,"block_type":"","locator":{"kind":"lines","start":1,"end":3,"char_start":0,"char_end":6},"span":null,"session_id":"","source_class":"asserted","agent":"","ingested_at":"2026-01-01T00:00:00.000Z"}],"reranked_by":"","embedding_model":"loom-static-256","namespaces_skipped":[],"stale_dropped":0}
            {"restored":false,"reason":"not_found","doc_id":"","revision":null,"chunks_restored":0,"original":"none"}
            {"restored":false,"reason":"not_found","doc_id":"","revision":null,"chunks_restored":0,"original":"none"}
        "##]],
    );
}

#[test]
fn what_cannot_be_restored_says_why() {
    check(
        r#"
knowledge.add {"source_uri": "empty", "content": ""}
knowledge.delete {"source_uri": "empty"}
knowledge.restore {"source_uri": "empty"}
knowledge.add {"source_uri": "a", "content": "one"}
knowledge.delete {"source_uri": "a"}
# 89 days to the millisecond, and one more.
advance 7689600000
knowledge.restore {"source_uri": "a"}
knowledge.delete {"source_uri": "a"}
advance 7689600001
knowledge.restore {"source_uri": "a"}
knowledge.restore {"source_uri": "a", "if_revision": 2}
# A write after the delete is the next revision, and what it replaced is no longer restorable.
knowledge.add {"source_uri": "a", "content": "two"}
knowledge.restore {"source_uri": "a"}
"#,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":0,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"empty"}
            {"deleted":true,"chunks_tombstoned":0}
            {"restored":false,"reason":"not_restorable","doc_id":"#01","revision":1,"chunks_restored":0,"original":"none"}
            {"doc_id":"#04","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"deleted":true,"chunks_tombstoned":1}
            {"restored":true,"reason":"","doc_id":"#04","revision":1,"chunks_restored":1,"original":"none"}
            {"deleted":true,"chunks_tombstoned":1}
            {"restored":false,"reason":"expired","doc_id":"#04","revision":1,"chunks_restored":0,"original":"none"}
            {"restored":false,"reason":"revision_mismatch","doc_id":"#04","revision":1,"chunks_restored":0,"original":"none"}
            {"doc_id":"#0a","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"restored":false,"reason":"live","doc_id":"#0a","revision":2,"chunks_restored":0,"original":"none"}
        "##]],
    );
}

#[test]
fn an_original_comes_back_with_its_document() {
    check(
        r#"
knowledge.add {"source_uri": "a", "content": "one", "original_bytes_b64": "aGVsbG8=", "original_filename": "a.txt"}
knowledge.delete {"source_uri": "a"}
knowledge.restore {"source_uri": "a"}
knowledge.list {"fields": ["has_original", "original_filename", "original_bytes"]}
"#,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"deleted":true,"chunks_tombstoned":1}
            {"restored":true,"reason":"","doc_id":"#01","revision":1,"chunks_restored":1,"original":"kept"}
            {"rows":[{"has_original":true,"original_filename":"a.txt","original_bytes":5}],"next_cursor":null}
        "##]],
    );
}
