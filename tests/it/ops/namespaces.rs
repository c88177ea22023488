//! `namespace.list`.

use expect_test::expect;

use crate::harness::check;

#[test]
fn namespaces_are_listed_with_their_totals() {
    check(
        r##"
namespace.list {}
knowledge.add {"namespace": "b", "source_uri": "a", "content": "one"}
advance 1000
knowledge.add {"namespace": "a", "source_uri": "a", "content": "# x\n\n1\n\n# y\n\n2"}
knowledge.add {"namespace": "a", "source_uri": "a", "content": "# x\n\n1"}
knowledge.add {"org": "other", "namespace": "c", "source_uri": "a", "content": "one"}
knowledge.delete {"namespace": "b", "source_uri": "a"}
knowledge.delete {"namespace": "never", "source_uri": "a"}
namespace.list {}
namespace.list {"org": "other"}
namespace.list {"org": "nobody"}
namespace.list {"org": "not a name"}
"##,
        &expect![[r##"
            {"namespaces":[],"next_cursor":null}
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"b","source_uri":"a"}
            {"doc_id":"#02","chunks_created":2,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"a","source_uri":"a"}
            {"doc_id":"#03","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"a","source_uri":"a"}
            {"doc_id":"#04","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"c","source_uri":"a"}
            {"deleted":true,"chunks_tombstoned":1}
            {"deleted":false,"chunks_tombstoned":0}
            {"namespaces":[{"namespace":"a","kind":"memory","visibility":"private","title":"","owner":"","parent":null,"created_at":"2026-01-01T00:00:01.000Z","deleted_at":null,"documents":1,"chunks":1,"versions":2,"embedding_model":"loom-static-256","reembedding":null},{"namespace":"b","kind":"memory","visibility":"private","title":"","owner":"","parent":null,"created_at":"2026-01-01T00:00:00.000Z","deleted_at":null,"documents":0,"chunks":0,"versions":1,"embedding_model":"loom-static-256","reembedding":null}],"next_cursor":null}
            {"namespaces":[{"namespace":"c","kind":"memory","visibility":"private","title":"","owner":"","parent":null,"created_at":"2026-01-01T00:00:01.000Z","deleted_at":null,"documents":1,"chunks":1,"versions":1,"embedding_model":"loom-static-256","reembedding":null}],"next_cursor":null}
            {"namespaces":[],"next_cursor":null}
            {"error":{"code":"VALIDATION_FAILED","message":"org must be 1 to 128 letters, digits, dots, dashes or underscores, the first a letter or digit","retryable":false,"field":"org"}}
        "##]],
    );
}
