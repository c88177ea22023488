//! `knowledge.outline`.

use expect_test::expect;

use crate::harness::check;

#[test]
fn an_outline_lists_sections_and_reads_one() {
    check(
        r#"
knowledge.add {"source_uri": "a", "title": "Guide", "content": "Before.\n\n# One\n\nFirst.\n\n## Deep\n\nBelow.\n\n# Two\n\nLast."}
knowledge.outline {"source_uri": "a"}
knowledge.outline {"source_uri": "a", "section_path": ["One"]}
knowledge.outline {"source_uri": "a", "section_path": ["One"], "include_children": false}
knowledge.outline {"source_uri": "a", "section_path": ["One", "Deep"]}
knowledge.outline {"source_uri": "a", "section_path": ["Deep"]}
knowledge.outline {"source_uri": "a", "section_path": ["one"]}
"#,
        &expect![[r###"
            {"doc_id":"#01","chunks_created":4,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"found":true,"source_uri":"a","title":"Guide","structured":true,"chunk_count":4,"sections":[{"path":["One"],"title":"One","depth":1,"chunk_idxs":[1],"chars":15},{"path":["One","Deep"],"title":"Deep","depth":2,"chunk_idxs":[2],"chars":17},{"path":["Two"],"title":"Two","depth":1,"chunk_idxs":[3],"chars":12}],"section_content":null,"section_chunk_idxs":[]}
            {"found":true,"source_uri":"a","title":"Guide","structured":true,"chunk_count":4,"sections":[{"path":["One"],"title":"One","depth":1,"chunk_idxs":[1],"chars":15},{"path":["One","Deep"],"title":"Deep","depth":2,"chunk_idxs":[2],"chars":17},{"path":["Two"],"title":"Two","depth":1,"chunk_idxs":[3],"chars":12}],"section_content":"# One\n\nFirst.\n\n## Deep\n\nBelow.","section_chunk_idxs":[1,2]}
            {"found":true,"source_uri":"a","title":"Guide","structured":true,"chunk_count":4,"sections":[{"path":["One"],"title":"One","depth":1,"chunk_idxs":[1],"chars":15},{"path":["One","Deep"],"title":"Deep","depth":2,"chunk_idxs":[2],"chars":17},{"path":["Two"],"title":"Two","depth":1,"chunk_idxs":[3],"chars":12}],"section_content":"# One\n\nFirst.","section_chunk_idxs":[1]}
            {"found":true,"source_uri":"a","title":"Guide","structured":true,"chunk_count":4,"sections":[{"path":["One"],"title":"One","depth":1,"chunk_idxs":[1],"chars":15},{"path":["One","Deep"],"title":"Deep","depth":2,"chunk_idxs":[2],"chars":17},{"path":["Two"],"title":"Two","depth":1,"chunk_idxs":[3],"chars":12}],"section_content":"## Deep\n\nBelow.","section_chunk_idxs":[2]}
            {"found":true,"source_uri":"a","title":"Guide","structured":true,"chunk_count":4,"sections":[{"path":["One"],"title":"One","depth":1,"chunk_idxs":[1],"chars":15},{"path":["One","Deep"],"title":"Deep","depth":2,"chunk_idxs":[2],"chars":17},{"path":["Two"],"title":"Two","depth":1,"chunk_idxs":[3],"chars":12}],"section_content":null,"section_chunk_idxs":[]}
            {"found":true,"source_uri":"a","title":"Guide","structured":true,"chunk_count":4,"sections":[{"path":["One"],"title":"One","depth":1,"chunk_idxs":[1],"chars":15},{"path":["One","Deep"],"title":"Deep","depth":2,"chunk_idxs":[2],"chars":17},{"path":["Two"],"title":"Two","depth":1,"chunk_idxs":[3],"chars":12}],"section_content":null,"section_chunk_idxs":[]}
        "###]],
    );
}

#[test]
fn a_document_without_headings_and_none_at_all() {
    check(
        r#"
knowledge.add {"source_uri": "a", "content": "Plain text."}
knowledge.outline {"source_uri": "a"}
knowledge.outline {"source_uri": "a", "section_path": ["Plain"]}
knowledge.outline {"source_uri": "b"}
knowledge.delete {"source_uri": "a"}
knowledge.outline {"source_uri": "a"}
"#,
        &expect![[r##"
            {"doc_id":"#01","chunks_created":1,"embedding_model":"loom-static-256","embedding_dim":256,"namespace":"local","source_uri":"a"}
            {"found":true,"source_uri":"a","title":"","structured":false,"chunk_count":1,"sections":[],"section_content":null,"section_chunk_idxs":[]}
            {"found":true,"source_uri":"a","title":"","structured":false,"chunk_count":1,"sections":[],"section_content":null,"section_chunk_idxs":[]}
            {"found":false,"source_uri":"b","title":"","structured":false,"chunk_count":0,"sections":[],"section_content":null,"section_chunk_idxs":[]}
            {"deleted":true,"chunks_tombstoned":1}
            {"found":false,"source_uri":"a","title":"","structured":false,"chunk_count":0,"sections":[],"section_content":null,"section_chunk_idxs":[]}
        "##]],
    );
}
