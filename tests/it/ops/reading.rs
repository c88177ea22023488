//! `knowledge.get`.

use expect_test::expect;

use crate::harness::check;

#[test]
fn get_reads_the_live_version_and_a_deleted_one_on_request() {
    check(
        r#"
knowledge.get {"source_uri": "a"}
knowledge.add {"source_uri": "a", "content": "one", "title": "T", "description": "D", "tags": [" Ops ", "ops", "x"], "metadata": {"n": 1.50, "deep": {"list": [null, true]}}}
advance 1000
knowledge.add {"source_uri": "a", "content": "two"}
knowledge.get {"source_uri": "a"}
knowledge.get {"source_uri": "a", "include_superseded": true}
knowledge.delete {"source_uri": "a"}
knowledge.get {"source_uri": "a"}
knowledge.get {"source_uri": "a", "include_superseded": true}
knowledge.get {"source_uri": "never", "include_superseded": true}
knowledge.get {"source_uri": "A"}
"#,
        &expect![[r##"
            {"found":false,"source_uri":"a","title":null,"description":null,"content":null,"tags":null,"metadata":null,"ingested_at":null,"superseded":null,"doc_id":null,"revision":null,"format":null,"parser":null,"coverage":null}
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"doc_id":"#02","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"found":true,"source_uri":"a","title":"","description":"","content":"two","tags":[],"metadata":{},"ingested_at":"2026-01-01T00:00:01.000Z","superseded":false,"doc_id":"#02","revision":2,"format":null,"parser":null,"coverage":null}
            {"found":true,"source_uri":"a","title":"","description":"","content":"two","tags":[],"metadata":{},"ingested_at":"2026-01-01T00:00:01.000Z","superseded":false,"doc_id":"#02","revision":2,"format":null,"parser":null,"coverage":null}
            {"deleted":true,"chunks_tombstoned":1}
            {"found":false,"source_uri":"a","title":null,"description":null,"content":null,"tags":null,"metadata":null,"ingested_at":null,"superseded":null,"doc_id":null,"revision":null,"format":null,"parser":null,"coverage":null}
            {"found":true,"source_uri":"a","title":"","description":"","content":"two","tags":[],"metadata":{},"ingested_at":"2026-01-01T00:00:01.000Z","superseded":true,"doc_id":"#02","revision":2,"format":null,"parser":null,"coverage":null}
            {"found":false,"source_uri":"never","title":null,"description":null,"content":null,"tags":null,"metadata":null,"ingested_at":null,"superseded":null,"doc_id":null,"revision":null,"format":null,"parser":null,"coverage":null}
            {"found":false,"source_uri":"A","title":null,"description":null,"content":null,"tags":null,"metadata":null,"ingested_at":null,"superseded":null,"doc_id":null,"revision":null,"format":null,"parser":null,"coverage":null}
        "##]],
    );
}
