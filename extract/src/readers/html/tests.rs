use std::time::Duration;

use expect_test::{Expect, expect};

use crate::contract::{Artifact, CONTRACT_VERSION, RefusalCode, Request, lost};
use crate::readers::Bounds;
use crate::readers::testing::{listed, read_as, read_within, survives};

fn check(source: &str, expected: &Expect) {
    expected.assert_eq(&listed(&read_as("html", source.as_bytes()).expect("HTML")));
}

#[test]
fn running_text() {
    check(
        "<title>A &amp; B</title><style>p{}</style><body>loose <b>text</b>\n here<p>a<br>b&nbsp;c soft&shy;hyphen</p>\
         <h2>Two <code>x</code></h2><div>H<sub>2</sub>O <a href=x>link</a> <img alt='a picture'></div><script>no()</script>\
         <p hidden>no</p><p style='color:red; display: none'>no</p><noscript>no</noscript><template>no</template>\
         <blockquote><p>said</p></blockquote><pre class='language-sh'><code>  ls\n\n  cd</code>\n</pre>\
         <figure><img alt=''><figcaption>Figure 1</figcaption></figure><ruby>漢<rt>kan</rt></ruby>",
        &expect![[r"
            heading1: A & B
            paragraph: loose text here
            paragraph: a\nb c softhyphen
            heading2: Two x
            paragraph: H2O link a picture
            quote: said
            code(sh):   ls\n\n  cd
            caption: Figure 1
            paragraph: 漢
        "]],
    );
}

#[test]
fn lists() {
    check(
        "<h1>L</h1><ul><li>one<ul><li>inner</li></ul>after</li><li><p>two</p><p>more</p></li></ul><ol start=3><li>three\
         <li value=7>seven<li>eight</ol><dl><dt>Term<dd>Meaning</dl><p>• drawn</p><table><tr><td>•</td><td>in a table</td></tr></table>",
        &expect![[r"
            heading1: L
            list_item1: one
            list_item2: inner
            paragraph: after
            list_item1: two
            paragraph: more
            list_item1: 3. three
            list_item1: 7. seven
            list_item1: 8. eight
            list_item1: Term
            list_item2: Meaning
            list_item1: drawn
            list_item1: in a table
        "]],
    );
}

#[test]
fn tables() {
    check(
        "<h1>T</h1><table><caption>Sales</caption><thead><tr><th rowspan=2>Region<th colspan=2>2026<tr><th>Q1<th>Q2</thead>\
         <tr><td rowspan=2>North<td>1,200<td>7<tr><td>1,300<td>8<tr><td><ul><li>a<li>b</ul><td>900\
         <td><table><tr><td>x<td>y</table></table>",
        &expect![[r"
            heading1: T
            caption: Sales
            table: 
              Region | 2026 / Q1 | 2026 / Q2
              3 North | 1,200 | 7
              4 North | 1,300 | 8
              5 - a\n- b | 900 | x y
        "]],
    );
    check(
        "<h1>T</h1><table><tr><td>Item<td colspan=2>2026<td><tr><td>Sales<td>$<td>1,200<td>)<tr><td>Loss<td>$<td>(30<td>)</table>",
        &expect![[r"
            heading1: T
            table: 
               |  | 
              1 Item | 2026 | 2026
              2 Sales | $ | 1,200)
              3 Loss | $ | (30)
        "]],
    );
    check(
        "<h1>T</h1><table><tr><td><h2>Part</h2>left</td><td>right</td></tr></table><table><tr><td>alone</table>\
         <table role=presentation><tr><td>a<td>b<tr><td>c<td>d</table><table><tr><td>1<td>2<tr><td>3<td>4</table>",
        &expect![[r"
            heading1: T
            heading2: Part
            paragraph: left right
            paragraph: alone
            paragraph: a b
            paragraph: c d
            table: 
               | 
              1 1 | 2
              2 3 | 4
        "]],
    );
}

#[test]
fn menus_are_left_out_where_the_page_says_what_its_content_is() {
    check(
        "<title>Site</title><header>logo</header><nav>menu</nav><main><nav>crumbs</nav><article><header><h1>Post</h1></header>\
         the text of the post itself</article></main><footer>imprint</footer>",
        &expect![[r"
            heading1: Post
            paragraph: the text of the post itself
        "]],
    );
    check(
        "<title>Site</title><header>logo</header><nav>menu</nav><article>the first of two articles</article><aside>ads</aside>\
         <article>and the second of them</article>",
        &expect![[r"
            heading1: Site
            paragraph: the first of two articles
            paragraph: and the second of them
        "]],
    );
    check(
        "<title>Site</title><header>logo</header><nav>menu</nav><p>text</p><footer>imprint</footer>",
        &expect![[r"
        heading1: Site
        paragraph: logo
        paragraph: text
        paragraph: imprint
    "]],
    );
    check(
        "<nav>only a menu</nav>",
        &expect![[r"
        paragraph: only a menu
    "]],
    );
}

#[test]
fn frames_bring_their_page() {
    check(
        "<p>outside</p><iframe srcdoc='<table><tr><th>a<th>b<tr><td>1<td>2</table>'></iframe><p>after</p>",
        &expect![[r"
        paragraph: outside
        table: 
          a | b
          2 1 | 2
        paragraph: after
    "]],
    );
}

#[test]
fn the_markup_names_the_encoding() {
    let page = b"<html><head><meta http-equiv=Content-Type content='text/html; charset=koi8-r'></head><p>\xD4";
    let artifact = read_as("html", page).expect("a page");
    assert_eq!(artifact.blocks[0].text, "т");
    assert!(artifact.warnings.is_empty());
    let page = "<meta charset=iso-8859-6><p>é".as_bytes();
    assert_eq!(read_as("html", page).expect("a page").blocks[0].text, "é");
}

#[test]
fn what_has_no_text_or_multiplies_is_refused() {
    let refused = |source: &[u8]| read_as("html", source).map(|_| ()).map_err(|refusal| refusal.code);
    assert_eq!(refused(b"<html><body><script>x</script></body></html>"), Err(RefusalCode::NoText));
    assert_eq!(refused("<div>".repeat(100_000).as_bytes()), Err(RefusalCode::ResourceLimit));
    let spans = format!("<table>{}</table>", "<tr><td colspan=1000 rowspan=65000>x".repeat(3000));
    assert_eq!(refused(spans.as_bytes()), Ok(()));
    let formats = (0..20_000).map(|number| format!("<font size={number}><p>x")).collect::<Vec<_>>().concat();
    assert_eq!(refused(formats.as_bytes()), Err(RefusalCode::ResourceLimit));
}

#[test]
fn spans_take_the_room_that_there_is() {
    let within = |html: &str, cells: usize| {
        let bounds = Bounds { cells, ..Bounds::within(Duration::from_mins(1)) };
        let request = Request { format: "html".into(), contract: CONTRACT_VERSION, ..Request::default() };
        read_within(&request, html.as_bytes(), bounds).expect("HTML")
    };
    let count = |artifact: &Artifact| artifact.tables.iter().map(|table| table.rows.len() * table.columns.len()).sum();
    // Every row is written in nine bytes and has a thousand cells.
    let spanned = format!("<table><tr><td rowspan=0 colspan=1000>w<td>x{}</table>", "<tr><td>y".repeat(5_000));
    // One wide row makes all of them wide.
    let late = format!("<table>{}<tr>{}</table>", "<tr><td>a<td>b".repeat(1_000), "<td>c".repeat(900));
    let framed = format!("<iframe srcdoc='{spanned}'></iframe>").repeat(3);
    for html in [&spanned, &late, &framed] {
        let artifact = within(html, 20_000);
        let cells: usize = count(&artifact);
        assert!((1..=20_000).contains(&cells), "{cells} cells of {}", &html[..60]);
        assert_eq!(artifact.coverage.lost, [lost::TABLES]);
    }
    // Words are repeated in the cells they span as long as all of that is little.
    let words = format!("<table><tr><td rowspan=0 colspan=1000>{}{}</table>", "w".repeat(400), "<tr>".repeat(100));
    assert!(within(&words, 1_000_000).text_bytes() < 9 << 20);
    let many = "<table><tr><td>a<td>b<tr><td>c<td>d</table>".repeat(10_001);
    let artifact = read_as("html", many.as_bytes()).expect("HTML");
    assert_eq!((artifact.tables.len(), artifact.coverage.lost.as_slice()), (10_000, &[lost::TABLES.to_owned()][..]));
}

#[test]
fn items_in_cells_are_numbered() {
    check(
        "<table><tr><th>a<td><ol><li>one<ul><li>in</ul><li>two</ol><ol><li>again</ol></table>",
        &expect![[r"
            table: 
               | 
              1 a | 1. one\n- in\n2. two\n1. again
        "]],
    );
}

#[test]
fn damage_is_survived() {
    survives(
        "html",
        "<title>é</title><h1>a</h1><ul><li>b<table><tr><td rowspan=2 colspan=3>c<th>d</table><iframe srcdoc='&lt;p>e'></ul><pre>f"
            .as_bytes(),
    );
}
