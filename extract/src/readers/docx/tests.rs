use expect_test::{Expect, expect};

use crate::contract::{BlockKind, RefusalCode};
use crate::readers::office::testing::{relations, zip_texts};
use crate::readers::testing::{read_as, survives, told};

/// A document of that body, with further parts and the main part's relations to them.
fn docx(body: &str, parts: &[(&str, &str, &str)]) -> Vec<u8> {
    let document = format!(
        "<w:document xmlns:w='w' xmlns:r='r' xmlns:mc='mc' xmlns:wp='wp' xmlns:v='v' xmlns:m='m' xmlns:w14='w14'>\
         <w:body>{body}</w:body></w:document>"
    );
    let related: Vec<(&str, &str, &str)> = parts.iter().map(|(id, kind, _)| (*id, *kind, *id)).collect();
    let related = relations(&related);
    let names: Vec<String> = parts.iter().map(|(id, ..)| format!("word/{id}")).collect();
    let mut all = vec![("word/document.xml", document.as_str()), ("word/_rels/document.xml.rels", &related)];
    all.extend(names.iter().zip(parts).map(|(name, (.., text))| (name.as_str(), *text)));
    zip_texts(&all)
}

/// Holds what is read of a body against what is expected, and then the warnings.
fn check(body: &str, parts: &[(&str, &str, &str)], expected: &Expect) {
    let artifact = read_as("docx", &docx(body, parts)).expect("it is a document");
    expected.assert_eq(&told(&artifact));
}

fn p(properties: &str, text: &str) -> String {
    format!("<w:p><w:pPr>{properties}</w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

fn tc(properties: &str, text: &str) -> String {
    format!("<w:tc><w:tcPr>{properties}</w:tcPr>{}</w:tc>", p("", text))
}

const STYLES: &str = "<w:styles xmlns:w='w'>\
    <w:style w:styleId='berschrift1'><w:name w:val='heading 1'/><w:pPr><w:outlineLvl w:val='0'/></w:pPr></w:style>\
    <w:style w:styleId='Own'><w:name w:val='Own'/><w:basedOn w:val='berschrift1'/><w:pPr><w:outlineLvl w:val='2'/>\
    </w:pPr></w:style>\
    <w:style w:styleId='Loop'><w:name w:val='Loop'/><w:basedOn w:val='Loop'/></w:style>\
    <w:style w:styleId='T'><w:name w:val='Title'/></w:style>\
    <w:style w:styleId='TocHead'><w:name w:val='TOC Heading'/><w:basedOn w:val='berschrift1'/>\
    <w:pPr><w:outlineLvl w:val='9'/></w:pPr></w:style>\
    <w:style w:styleId='Bullets'><w:name w:val='List Bullet'/><w:pPr><w:numPr><w:numId w:val='2'/></w:numPr></w:pPr>\
    </w:style>\
    <w:style w:styleId='Src'><w:name w:val='Source Code'/></w:style>\
    <w:style w:styleId='Q'><w:name w:val='Quote'/></w:style>\
    <w:style w:styleId='Secret' w:type='character'><w:rPr><w:vanish/></w:rPr></w:style></w:styles>";

#[test]
fn headings_are_known_by_style_and_by_outline_level_alone() {
    let body = p("<w:pStyle w:val='T'/>", "The title")
        + &p("<w:pStyle w:val='berschrift1'/>", "By name")
        + &p("<w:pStyle w:val='Own'/>", "By the style it is based on, lower")
        + &p("<w:outlineLvl w:val='1'/>", "By its outline level alone")
        + &p("<w:pStyle w:val='berschrift1'/><w:outlineLvl w:val='9'/>", "Not one")
        + &p("<w:pStyle w:val='TocHead'/>", "Contents")
        + &p("<w:pStyle w:val='Heading4'/>", "Built in")
        + &p("<w:pStyle w:val='Loop'/>", "A loop of styles")
        + &p("<w:pStyle w:val='Q'/>", "Said another")
        + &p("<w:pStyle w:val='Src'/>", "let a = 1;")
        + &p("<w:pStyle w:val='Src'/>", "  let b = 2;");
    check(
        &body,
        &[("styles.xml", "styles", STYLES)],
        &expect![[r"
        heading1: The title
        heading1: By name
        heading3: By the style it is based on, lower
        heading2: By its outline level alone
        paragraph: Not one
        paragraph: Contents
        heading4: Built in
        paragraph: A loop of styles
        quote: Said another
        code: let a = 1;\n  let b = 2;
    "]],
    );
}

const LISTS: &str = "<w:numbering xmlns:w='w'><w:abstractNum w:abstractNumId='7'>\
    <w:lvl w:ilvl='0'><w:start w:val='1'/><w:numFmt w:val='decimal'/><w:lvlText w:val='%1.'/></w:lvl>\
    <w:lvl w:ilvl='1'><w:start w:val='1'/><w:numFmt w:val='lowerLetter'/><w:lvlText w:val='%1.%2)'/></w:lvl>\
    <w:lvl w:ilvl='2'><w:start w:val='4'/><w:numFmt w:val='upperRoman'/><w:lvlText w:val='(%3)'/></w:lvl></w:abstractNum>\
    <w:abstractNum w:abstractNumId='8'><w:lvl w:ilvl='0'><w:numFmt w:val='bullet'/><w:lvlText w:val='o'/></w:lvl>\
    </w:abstractNum>\
    <w:num w:numId='1'><w:abstractNumId w:val='7'/></w:num><w:num w:numId='2'><w:abstractNumId w:val='8'/></w:num>\
    <w:num w:numId='3'><w:abstractNumId w:val='7'/><w:lvlOverride w:ilvl='0'><w:startOverride w:val='5'/>\
    </w:lvlOverride></w:num></w:numbering>";

#[test]
fn lists_count_nest_and_restart() {
    let item = |list: u8, level: u8, text: &str| {
        p(&format!("<w:numPr><w:ilvl w:val='{level}'/><w:numId w:val='{list}'/></w:numPr>"), text)
    };
    let body = item(1, 0, "one")
        + &item(1, 1, "one a")
        + &item(1, 1, "one b")
        + &item(1, 2, "four")
        + &item(1, 0, "two")
        + &p("", "between")
        + &item(1, 1, "two a")
        + &item(3, 0, "five, by an override")
        + &item(3, 0, "six")
        + &item(2, 0, "a bullet")
        + &p("<w:pStyle w:val='Bullets'/>", "a bullet by style")
        + &p("<w:pStyle w:val='Bullets'/><w:numPr><w:numId w:val='0'/></w:numPr>", "none after all")
        + &item(9, 0, "of no list");
    let parts = [("styles.xml", "styles", STYLES), ("numbering.xml", "numbering", LISTS)];
    check(
        &body,
        &parts,
        &expect![[r"
        list_item1: 1. one
        list_item2: 1.a) one a
        list_item2: 1.b) one b
        list_item3: (IV) four
        list_item1: 2. two
        paragraph: between
        list_item2: 2.a) two a
        list_item1: 5. five, by an override
        list_item1: 6. six
        list_item1: a bullet
        list_item1: a bullet by style
        paragraph: none after all
        paragraph: of no list
    "]],
    );
}

#[test]
fn tables_keep_their_columns_whatever_spans_them() {
    let row = |cells: &str| format!("<w:tr>{cells}</w:tr>");
    let table = |rows: &str| format!("<w:tbl><w:tblPr><w:tblLook w:val='0420'/></w:tblPr>{rows}</w:tbl>");
    let body = table(
        &(row(&(tc("", "Name") + &tc("", "Size") + &tc("", "Note")))
            + &row(&(tc("<w:gridSpan w:val='2'/>", "both") + &tc("", "10.5")))
            + &row(&(tc("<w:vMerge w:val='restart'/>", "down") + &tc("", "2") + &tc("", "7")))
            + &row(&(tc("<w:vMerge/>", "") + &tc("", "4") + &tc("", "8")))
            + &format!("<w:tr><w:trPr><w:gridBefore w:val='1'/></w:trPr>{}</w:tr>", tc("", "late"))),
    ) + &table(&row(&tc("", "a frame")))
        + &table(
            &(format!("<w:tr><w:trPr><w:tblHeader/></w:trPr>{}</w:tr>", tc("<w:gridSpan w:val='2'/>", "Year"))
                + &format!("<w:tr><w:trPr><w:tblHeader/></w:trPr>{}</w:tr>", tc("", "from") + &tc("", "to"))
                + &row(&(tc("", "1990") + &tc("", "2001")))),
        );
    check(
        &body,
        &[],
        &expect![[r"
        table: 
          Name | Size | Note
          2 both | both | 10.5
          3 down | 2 | 7
          4 down | 4 | 8
          5  | late | 
        paragraph: a frame
        table: 
          Year / from | Year / to
          3 1990 | 2001
    "]],
    );
}

#[test]
fn a_cell_holds_lists_and_tables_as_lines() {
    let inner = format!(
        "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
        tc("", "a"),
        tc("", "b"),
        tc("", "c"),
        tc("", "d")
    );
    let item = p("<w:numPr><w:ilvl w:val='0'/><w:numId w:val='1'/></w:numPr>", "item");
    let body = format!(
        "<w:tbl><w:tr>{}<w:tc>{item}{item}</w:tc></w:tr><w:tr>{}<w:tc>{inner}<w:p/></w:tc></w:tr></w:tbl>",
        tc("", "x"),
        tc("", "y")
    );
    check(
        &body,
        &[("numbering.xml", "numbering", LISTS)],
        &expect![[r"
        table: 
          x | 1. item 2. item
          2 y | a, b\nc, d
    "]],
    );
}

#[test]
fn tracked_changes_are_accepted_and_told() {
    let run = |text: &str| format!("<w:r><w:t xml:space='preserve'>{text}</w:t></w:r>");
    let deleted = "<w:del><w:r><w:delText>five</w:delText></w:r></w:del>";
    let joined = "<w:pPr><w:rPr><w:del/></w:rPr></w:pPr>";
    let body = format!("<w:p>{}<w:ins>{}</w:ins>{deleted}{}</w:p>", run("There are "), run("seven"), run(" of them."))
        + &format!("<w:p>{joined}{}</w:p><w:p>{}</w:p>", run("One paragraph "), run("of two."))
        + &format!("<w:p>{}<w:moveFrom>{}</w:moveFrom></w:p>", run("Here was: "), run("moved"))
        + &format!("<w:p>{}<w:moveTo>{}</w:moveTo></w:p>", run("Here is: "), run("moved"))
        + &format!(
            "<w:tbl><w:tr>{}{}</w:tr><w:tr><w:trPr><w:del/></w:trPr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
            tc("", "Kept"),
            tc("", "B"),
            tc("", "gone"),
            tc("", "gone too"),
            tc("", "c"),
            tc("<w:cellDel/>", "gone as well")
        );
    check(
        &body,
        &[],
        &expect![[r"
        paragraph: There are seven of them.
        paragraph: One paragraph of two.
        paragraph: Here was:
        paragraph: Here is: moved
        table: 
          Kept | B
          2 c | 
        ! tracked changes were taken as accepted: 1 insertion kept, 3 deletions left out, 1 moved part read where it was moved to
    "]],
    );
}

#[test]
fn what_broke_others_is_read() {
    let body = p("<w:outlineLvl w:val='0'/>", "Findings")
        + "<w:p><w:r><w:t xml:space='preserve'>The count is </w:t></w:r><w:ins><w:r><w:t>seven</w:t></w:r></w:ins>\
           <w:del><w:r><w:delText>five</w:delText></w:r></w:del><w:commentRangeStart w:id='0'/><w:r><w:t>.</w:t></w:r>\
           <w:r><w:commentReference w:id='0'/></w:r></w:p>"
        + &p("", "Read me twice.")
        + "<w:p><w:r><mc:AlternateContent><mc:Choice Requires='wps'><w:drawing><wps:txbx><w:txbxContent>\
           <w:p><w:r><w:t>Read me twice.</w:t></w:r></w:p></w:txbxContent></wps:txbx></w:drawing></mc:Choice>\
           <mc:Fallback><w:pict><v:textbox><w:txbxContent><w:p><w:r><w:t>Read me twice.</w:t></w:r></w:p>\
           </w:txbxContent></v:textbox></w:pict></mc:Fallback></mc:AlternateContent></w:r></w:p>"
        + &format!(
            "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}</w:tr></w:tbl>",
            tc("", "Left"),
            tc("", "Right"),
            tc("<w:gridSpan w:val='2'/>", "across")
        )
        + "<w:sectPr><w:headerReference r:id='header1.xml'/><w:footerReference r:id='footer1.xml'/>\
           <w:headerReference r:id='header1.xml'/></w:sectPr>";
    let parts = [
        ("header1.xml", "header", "<w:hdr xmlns:w='w'><w:p><w:r><w:t>Annual report</w:t></w:r></w:p></w:hdr>"),
        (
            "footer1.xml",
            "footer",
            "<w:ftr xmlns:w='w'><w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText> PAGE </w:instrText>\
             </w:r><w:r><w:fldChar w:fldCharType='separate'/></w:r><w:r><w:t>12</w:t></w:r>\
             <w:r><w:fldChar w:fldCharType='end'/></w:r></w:p></w:ftr>",
        ),
        ("comments.xml", "comments", "<w:comments xmlns:w='w'><w:comment w:id='0'><w:p/></w:comment></w:comments>"),
    ];
    check(
        &body,
        &parts,
        &expect![[r"
            heading1: Findings
            paragraph: The count is seven.
            paragraph: Read me twice.
            paragraph: Read me twice.
            table: 
              Left | Right
              2 across | across
            margin: Annual report
            ! tracked changes were taken as accepted: 1 insertion kept, 1 deletion left out, 0 moved parts read where it was moved to
            ! 1 comment was left out
        "]],
    );
}

#[test]
fn notes_stand_after_what_they_belong_to() {
    let body = "<w:p><w:r><w:t>Text</w:t></w:r><w:r><w:footnoteReference w:id='2'/></w:r><w:r><w:t> goes on</w:t></w:r>\
        <w:r><w:endnoteReference w:id='2'/></w:r></w:p><w:p><w:r><w:t>Again</w:t><w:footnoteReference w:id='2'/></w:r></w:p>";
    let note = |kind: &str, text: &str| {
        format!(
            "<w:{kind}s xmlns:w='w'><w:{kind} w:type='separator' w:id='0'><w:p/></w:{kind}><w:{kind} w:id='2'>{}</w:{kind}>\
             </w:{kind}s>",
            p("", text)
        )
    };
    let (foot, end) = (note("footnote", "At the foot."), note("endnote", "At the end."));
    check(
        body,
        &[("f.xml", "footnotes", &foot), ("e.xml", "endnotes", &end)],
        &expect![[r"
        paragraph: Text[1] goes on[2]
        note: [1] At the foot.
        note: [2] At the end.
        paragraph: Again
    "]],
    );
}

#[test]
fn characters_fields_and_controls() {
    let body = "<w:p><w:r><w:t>a</w:t><w:tab/><w:t>b</w:t><w:br/><w:t>c</w:t><w:noBreakHyphen/><w:t>d</w:t><w:softHyphen/>\
        <w:sym w:font='Wingdings' w:char='F0FE'/></w:r></w:p>\
        <w:p><w:hyperlink r:id='x'><w:r><w:t>a link</w:t></w:r></w:hyperlink><w:fldSimple w:instr=' DATE '><w:r><w:t> today\
        </w:t></w:r></w:fldSimple></w:p>\
        <w:p><w:r><w:fldChar w:fldCharType='begin'/></w:r><w:r><w:instrText>HYPERLINK x</w:instrText></w:r>\
        <w:r><w:fldChar w:fldCharType='separate'/></w:r><w:r><w:t>shown</w:t></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r></w:p>\
        <w:p><w:r><w:fldChar w:fldCharType='begin'/><w:t>never ended</w:t></w:r></w:p><w:p><w:r><w:t>text again</w:t></w:r></w:p>\
        <w:p><w:sdt><w:sdtPr><w14:checkbox/></w:sdtPr><w:sdtContent><w:r><w:t>☒</w:t></w:r></w:sdtContent></w:sdt>\
        <w:r><w:t> done</w:t></w:r></w:p>\
        <w:p><w:r><w:fldChar w:fldCharType='begin'><w:ffData><w:checkBox><w:default w:val='0'/><w:checked/></w:checkBox></w:ffData>\
        </w:fldChar></w:r><w:r><w:fldChar w:fldCharType='end'/></w:r><w:r><w:t>old box</w:t></w:r></w:p>\
        <w:sdt><w:sdtContent><w:sdt><w:sdtContent><w:p><w:r><w:t>nested control</w:t></w:r></w:p></w:sdtContent></w:sdt>\
        </w:sdtContent></w:sdt>\
        <w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:rPr><w:rStyle w:val='Secret'/></w:rPr><w:t>hidden by style\
        </w:t></w:r><w:r><w:rPr><w:rStyle w:val='Secret'/><w:vanish w:val='0'/></w:rPr><w:t>shown after all</w:t></w:r></w:p>\
        <w:p><w:r><w:ruby><w:rt><w:r><w:t>kan</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>漢</w:t></w:r></w:rubyBase></w:ruby></w:r></w:p>\
        <w:p><w:r><w:drawing><wp:inline><wp:docPr descr='A graph of rain'/></wp:inline></w:drawing></w:r></w:p>";
    check(
        body,
        &[("styles.xml", "styles", STYLES)],
        &expect![[r"
        paragraph: a	b\nc-d☑
        paragraph: a link today
        paragraph: shown
        paragraph: text again
        paragraph: ☒ done
        paragraph: ☒ old box
        paragraph: nested control
        paragraph: shown after all
        paragraph: 漢
        caption: A graph of rain
        ! 2 pieces of hidden text were left out
    "]],
    );
}

#[test]
fn equations_are_latex() {
    let r = |text: &str| format!("<m:r><m:t>{text}</m:t></m:r>");
    let body = format!(
        "<w:p><w:r><w:t xml:space='preserve'>Let </w:t></w:r><m:oMath>{}<m:f><m:num>{}</m:num><m:den>{}</m:den></m:f></m:oMath></w:p>\
         <w:p><m:oMathPara><m:oMath><m:nary><m:naryPr><m:chr m:val='∑'/></m:naryPr><m:sub>{}</m:sub><m:sup>{}</m:sup><m:e>\
         <m:sSup><m:e>{}</m:e><m:sup>{}</m:sup></m:sSup></m:e></m:nary></m:oMath></m:oMathPara></w:p>\
         <w:p><m:oMath><m:rad><m:deg/><m:e>{}</m:e></m:rad><m:d><m:dPr><m:begChr m:val='['/><m:endChr m:val=']'/></m:dPr>\
         <m:e>{}</m:e></m:d></m:oMath></w:p>\
         <w:p><m:oMath><m:func><m:fName><m:limLow><m:e>{}</m:e><m:lim>{}</m:lim></m:limLow></m:fName><m:e>{}</m:e></m:func>\
         <m:func><m:fName>{}</m:fName><m:e>{}</m:e></m:func><m:f><m:fPr><m:type m:val='noBar'/></m:fPr>\
         <m:num>{}</m:num><m:den>{}</m:den></m:f><m:acc><m:accPr><m:chr m:val='\u{20D7}'/></m:accPr><m:e>{}</m:e></m:acc>\
         <m:groupChr><m:groupChrPr><m:chr m:val='⏞'/></m:groupChrPr><m:e>{}</m:e></m:groupChr></m:oMath></w:p>",
        r("x="),
        r("a+b"),
        r("2"),
        r("n=1"),
        r("∞"),
        r("x"),
        r("2"),
        r("y"),
        r("z"),
        r("argmax"),
        r("ε≤1"),
        r("x"),
        r("cos"),
        r("2πx"),
        r("n"),
        r("k"),
        r("v"),
        r("a{b")
    );
    check(
        &body,
        &[],
        &expect![[r"
        paragraph: Let x=\frac{a+b}{2}
        paragraph: \sum_{n=1}^{\infty}x^{2}
        paragraph: \sqrt{y}\left[z\right]
        paragraph: \operatorname{argmax}_{\varepsilon \leq 1}x\cos2\pi x\genfrac{}{}{0pt}{}{n}{k}\vec{v}\overbrace{a\{b}
    "]],
    );
}

#[test]
fn charts_and_diagrams_are_read_where_they_stand() {
    let drawn = |inner: &str| format!("<w:p><w:r><w:drawing><a:graphic>{inner}</a:graphic></w:drawing></w:r></w:p>");
    let body = p("", "Before")
        + &drawn("<c:chart r:id='chart1.xml'/>")
        + &drawn("<dgm:relIds r:dm='data1.xml'/>")
        + &drawn("<c:chart r:id='chart1.xml'/>");
    let chart = "<c:chartSpace><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Rain</a:t></a:r></a:p></c:rich></c:tx></c:title>\
        <c:plotArea><c:ser><c:tx><c:v>Berlin</c:v></c:tx><c:cat><c:pt idx='0'><c:v>May</c:v></c:pt></c:cat>\
        <c:val><c:pt idx='0'><c:v>54</c:v></c:pt></c:val></c:ser></c:plotArea></c:chart></c:chartSpace>";
    let diagram = "<dgm:dataModel><dgm:ptLst><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst></dgm:dataModel>";
    check(
        &body,
        &[("chart1.xml", "chart", chart), ("data1.xml", "diagramData", diagram)],
        &expect![[r"
        paragraph: Before
        caption: Rain
        table: 
           | Berlin
          2 May | 54
        list_item1: Plan
    "]],
    );
}

#[test]
fn embedded_pages_stand_where_they_are_named() {
    let body = "<w:p><w:r><w:t>Before</w:t></w:r></w:p><w:altChunk r:id='a.html'/><w:altChunk r:id='a.html'/><w:altChunk r:id='b.mht'/>";
    let page =
        "<html><body><h2>Inside</h2><p>Words</p><table><tr><th>A</th></tr><tr><td>1</td></tr></table></body></html>";
    check(
        body,
        &[("a.html", "aFChunk", page), ("b.mht", "aFChunk", "x")],
        &expect![[r"
        paragraph: Before
        heading2: Inside
        paragraph: Words
        table: 
          A
          2 1
        ! 1 embedded documents were left out
    "]],
    );
}

#[test]
fn a_document_without_text_is_refused_and_a_damaged_one_too() {
    let code = |bytes: &[u8]| read_as("docx", bytes).expect_err("it is refused").code;
    assert_eq!(code(&docx("<w:p/><w:tbl><w:tr><w:tc><w:p/></w:tc></w:tr></w:tbl>", &[])), RefusalCode::NoText);
    assert_eq!(code(&docx("<w:p>", &[])), RefusalCode::Corrupt);
    let sound = docx(&p("<w:pStyle w:val='T'/>", "Sound"), &[("styles.xml", "styles", STYLES)]);
    survives("docx", &sound);
    let read = read_as("docx", &sound).expect("it is sound");
    assert_eq!(read.blocks[0].kind, BlockKind::Heading);
}
