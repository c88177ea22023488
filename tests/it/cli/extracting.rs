//! `loom add` of files that are no plain text.

use super::sample;

#[test]
fn what_is_no_plain_text_is_extracted() {
    let loom = sample();
    loom.write("docs/prices.csv", "part,price\nM8 bolt,0.12\nM10 nut,0.20\n");
    loom.write("docs/page.html", "<title>Pumps</title><h1>Priming</h1><p>Fill the housing first.</p>");
    loom.write("docs/broken.pdf", "%PDF-1.7");
    let ran = loom.run(["add", "docs"]);
    assert_eq!(ran.status, 1, "a file that should have been stored is not: {ran:?}");
    assert!(ran.out.starts_with("added 4, failed 1 "), "{}", ran.out);
    assert!(ran.out.contains("  failed: docs/broken.pdf: corrupt: "), "{}", ran.out);
    let hits = loom.json(["search", "what does an M10 nut cost"]);
    assert_eq!(hits["results"][0]["source_uri"], loom.uri("docs/prices.csv"), "{hits}");

    loom.write("docs/page.html", "<title>Pumps</title><h1>Priming</h1><p>Fill the housing with oil.</p>");
    let again = loom.json(["add", "docs/prices.csv", "docs/page.html"]);
    assert_eq!((&again["replaced"], &again["unchanged"]), (&1.into(), &1.into()));
    assert_eq!(loom.json(["get", "docs/page.html"])["revision"], 2);
}
