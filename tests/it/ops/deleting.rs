//! `knowledge.delete` and `knowledge.bulk_delete`.

use expect_test::expect;

use crate::harness::check;

#[test]
fn a_delete_counts_the_chunks_it_retires() {
    check(
        r##"
knowledge.add {"source_uri": "a", "content": "# x\n\n1\n\n# y\n\n2"}
knowledge.delete {"source_uri": "a"}
knowledge.delete {"source_uri": "a"}
knowledge.delete {"source_uri": "never"}
knowledge.add {"source_uri": "empty", "content": ""}
knowledge.delete {"source_uri": "empty"}
knowledge.search {"query": "x y", "namespace_scope": "this"}
namespace.list {}
"##,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":2,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"deleted":true,"chunks_tombstoned":2}
            {"deleted":false,"chunks_tombstoned":0}
            {"deleted":false,"chunks_tombstoned":0}
            {"doc_id":"#05","chunks_created":0,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"empty"}
            {"deleted":true,"chunks_tombstoned":0}
            {"results":[],"reranked_by":"","embedding_model":"loom-static-256","namespaces_skipped":[],"stale_dropped":0}
            {"namespaces":[{"namespace":"local","kind":"memory","visibility":"private","title":"","owner":"","parent":null,"created_at":"2026-01-01T00:00:00.000Z","deleted_at":null,"documents":0,"chunks":0,"versions":2,"embedding_model":"loom-static-256","reembedding":null}],"next_cursor":null}
        "##]],
    );
}

#[test]
fn a_bulk_delete_counts_an_address_named_twice_once() {
    check(
        r##"
knowledge.bulk_add {"entries": [{"source_uri": "a", "content": "# x\n\n1\n\n# y\n\n2"}, {"source_uri": "b", "content": "3"}, {"source_uri": "c", "content": "4"}]}
knowledge.bulk_delete {"source_uris": ["a", "never", "b", "a"]}
knowledge.bulk_delete {"source_uris": ["a", "c"]}
knowledge.bulk_delete {"source_uris": []}
knowledge.bulk_delete {"source_uris": ["x", ""]}
"##,
        &expect![[r##"
            {"written":[{"source_uri":"a","doc_id":"#01","chunks_created":2},{"source_uri":"b","doc_id":"#02","chunks_created":1},{"source_uri":"c","doc_id":"#03","chunks_created":1}],"embedding_model":"loom-static-256","embedding_dim":256}
            {"deleted":[{"source_uri":"a","deleted":true,"chunks_tombstoned":2},{"source_uri":"never","deleted":false,"chunks_tombstoned":0},{"source_uri":"b","deleted":true,"chunks_tombstoned":1},{"source_uri":"a","deleted":true,"chunks_tombstoned":2}],"total_chunks_tombstoned":3}
            {"deleted":[{"source_uri":"a","deleted":false,"chunks_tombstoned":0},{"source_uri":"c","deleted":true,"chunks_tombstoned":1}],"total_chunks_tombstoned":1}
            {"error":{"code":"VALIDATION_FAILED","message":"source_uris must have 1 to 500 items; it has 0","retryable":false,"field":"source_uris"}}
            {"error":{"code":"VALIDATION_FAILED","message":"source_uris[1] must have 1 to 2048 characters; it has 0","retryable":false,"field":"source_uris[1]"}}
        "##]],
    );
}
