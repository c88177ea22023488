use expect_test::{Expect, expect};

use crate::contract::{Artifact, Locator, RefusalCode, lost};
use crate::readers::office::testing::{relations, zip_texts};
use crate::readers::testing::{read_as, survives, told};

/// Slides in the order of their files, shown in the order of `order`.
fn pptx(slides: &[&str], order: &[usize], parts: &[(&str, &str)]) -> Vec<u8> {
    let ids: Vec<String> = order.iter().map(|at| format!("<p:sldId id='{}' r:id='s{at}'/>", 256 + at)).collect();
    let ids = ids.concat();
    let deck = format!("<p:presentation xmlns:r='r'><p:sldIdLst>{ids}</p:sldIdLst></p:presentation>");
    let names: Vec<(String, String, String)> = (0..slides.len())
        .map(|at| (format!("s{at}"), format!("slides/slide{at}.xml"), format!("ppt/slides/slide{at}.xml")))
        .collect();
    let related: Vec<(&str, &str, &str)> =
        names.iter().map(|(id, target, _)| (id.as_str(), "slide", target.as_str())).collect();
    let related = relations(&related);
    let mut all = vec![("ppt/presentation.xml", deck.as_str()), ("ppt/_rels/presentation.xml.rels", related.as_str())];
    let texts: Vec<String> = slides
        .iter()
        .map(|shapes| {
            let show = if shapes.starts_with("hidden") { " show='0'" } else { "" };
            let shapes = shapes.trim_start_matches("hidden");
            format!("<p:sld xmlns:r='r'{show}><p:cSld><p:spTree><p:grpSpPr/>{shapes}</p:spTree></p:cSld></p:sld>")
        })
        .collect();
    all.extend(names.iter().zip(&texts).map(|((.., name), text)| (name.as_str(), text.as_str())));
    all.extend(parts.iter().copied());
    zip_texts(&all)
}

fn check(artifact: &Artifact, expected: &Expect) {
    expected.assert_eq(&told(artifact));
}

/// A shape at a place, with paragraphs given as XML.
fn shape(placeholder: &str, place: (u32, u32), paragraphs: &str) -> String {
    format!(
        "<p:sp><p:nvSpPr><p:cNvPr/><p:nvPr>{placeholder}</p:nvPr></p:nvSpPr><p:spPr><a:xfrm><a:off x='{}' y='{}'/></a:xfrm>\
         </p:spPr><p:txBody>{paragraphs}</p:txBody></p:sp>",
        place.0, place.1
    )
}

fn line(properties: &str, words: &str) -> String {
    format!("<a:p>{properties}<a:r><a:t>{words}</a:t></a:r></a:p>")
}

#[test]
fn slides_are_sections_in_the_order_they_are_shown() {
    let first = shape("<p:ph type='title'/>", (0, 0), &(line("", "The") + &line("", "plan")));
    let second = format!("hidden{}", shape("", (0, 0), &line("", "Unseen words")));
    let artifact = read_as("pptx", &pptx(&[&second, &first], &[1, 0], &[])).expect("it is a presentation");
    check(
        &artifact,
        &expect![[r"
        heading1: The plan
        heading1: Slide 2
        paragraph: Unseen words
        ! hidden slides were read too: 2
    "]],
    );
    assert_eq!(artifact.blocks[0].locator, Some(Locator::Slides { start: 1, end: 1 }));
    assert_eq!(artifact.coverage.total, 2);
}

#[test]
fn shapes_are_read_from_top_to_bottom_and_left_to_right_groups_together() {
    let inner = |place, words| shape("", place, &line("", words));
    // The group stands at the right, though its shapes count from the left of their own.
    let group = format!(
        "<p:grpSp><p:grpSpPr><a:xfrm><a:off x='6000000' y='1000000'/><a:ext cx='2000' cy='2000'/><a:chOff x='0' y='0'/>\
         <a:chExt cx='1000' cy='1000'/></a:xfrm></p:grpSpPr>{}{}</p:grpSp>",
        inner((0, 900_000), "third") + "<mc:AlternateContent><mc:Choice>",
        inner((10, 0), "second") + "</mc:Choice></mc:AlternateContent>",
    );
    let shapes = inner((0, 5_000_000), "fifth")
        + &group
        + &inner((5_000_000, 3_500_000), "fourth")
        + &inner((100, 1_050_000), "first")
        + "<mc:AlternateContent><mc:Choice>"
        + &inner((0, 6_000_000), "sixth")
        + "</mc:Choice><mc:Fallback>"
        + &inner((0, 6_000_000), "sixth")
        + "</mc:Fallback></mc:AlternateContent>";
    check(
        &read_as("pptx", &pptx(&[&shapes], &[0], &[])).expect("it is a presentation"),
        &expect![[r"
        heading1: Slide 1
        paragraph: first
        paragraph: second
        paragraph: third
        paragraph: fourth
        paragraph: fifth
        paragraph: sixth
    "]],
    );
}

#[test]
fn bullets_come_from_the_paragraph_the_layout_or_the_master() {
    let body = shape(
        "<p:ph idx='1'/>",
        (0, 100),
        &(line("", "bulleted by the master")
            + &line("<a:pPr lvl='1'/>", "nested")
            + &line("<a:pPr><a:buNone/></a:pPr>", "not bulleted")
            + &line("<a:pPr><a:buAutoNum type='alphaLcParenR' startAt='2'/></a:pPr>", "numbered")
            + &line("<a:pPr><a:buAutoNum type='alphaLcParenR' startAt='2'/></a:pPr>", "numbered on")),
    ) + &shape("<p:ph type='body' idx='2'/>", (0, 2_000_000), &line("", "plain by the layout"))
        + &shape(
            "",
            (0, 3_000_000),
            &(line("", "a box") + "<a:p><a:r><a:t>two</a:t></a:r><a:br/><a:r><a:t>lines</a:t></a:r></a:p>"),
        )
        + &shape("<p:ph type='sldNum' idx='9'/>", (0, 9), &line("", "7"))
        + &shape("<p:ph type='ftr' idx='8'/>", (0, 4_000_000), &line("", "Confidential"))
        + &shape("<p:ph type='dt' idx='7'/>", (0, 4_000_000), &line("", "1/2/2026"))
        + &shape("<p:ph type='dt' idx='6'/>", (0, 4_000_000), &line("", "Board of May"));
    let to_layout = relations(&[("l", "slideLayout", "../slideLayouts/l.xml")]);
    let to_master = relations(&[("m", "slideMaster", "../slideMasters/m.xml")]);
    let parts = [
        ("ppt/slides/_rels/slide0.xml.rels", to_layout.as_str()),
        ("ppt/slides/_rels/slide1.xml.rels", to_layout.as_str()),
        ("ppt/slideLayouts/_rels/l.xml.rels", to_master.as_str()),
        (
            "ppt/slideLayouts/l.xml",
            "<p:sldLayout><p:sp><p:nvPr><p:ph type='body' idx='2'/></p:nvPr><p:txBody><a:lstStyle><a:lvl1pPr><a:buNone/>\
             </a:lvl1pPr></a:lstStyle></p:txBody></p:sp></p:sldLayout>",
        ),
        (
            "ppt/slideMasters/m.xml",
            "<p:sldMaster><p:sp><p:nvPr><p:ph type='body' idx='1'/></p:nvPr></p:sp><p:txStyles><p:bodyStyle>\
             <a:lvl1pPr><a:buChar char='•'/></a:lvl1pPr><a:lvl2pPr><a:buChar char='-'/></a:lvl2pPr></p:bodyStyle></p:txStyles>\
             </p:sldMaster>",
        ),
    ];
    check(
        &read_as("pptx", &pptx(&[&body, &body], &[0, 1], &parts)).expect("it is a presentation"),
        &expect![[r"
            heading1: Slide 1
            list_item1: bulleted by the master
            list_item2: nested
            paragraph: not bulleted
            list_item1: b) numbered
            list_item1: c) numbered on
            paragraph: plain by the layout
            paragraph: a box
            paragraph: two\nlines
            margin: Confidential
            margin: Board of May
            heading1: Slide 2
            list_item1: bulleted by the master
            list_item2: nested
            paragraph: not bulleted
            list_item1: b) numbered
            list_item1: c) numbered on
            paragraph: plain by the layout
            paragraph: a box
            paragraph: two\nlines
        "]],
    );
}

const CHART: &str = "<c:chartSpace><c:chart><c:title><c:tx><c:rich><a:p><a:r><a:t>Rain</a:t></a:r></a:p></c:rich></c:tx></c:title><c:plotArea>\
    <c:barChart><c:ser><c:tx><c:strRef><c:strCache><c:pt idx='0'><c:v>Berlin</c:v></c:pt></c:strCache></c:strRef></c:tx>\
    <c:cat><c:strRef><c:strCache><c:pt idx='0'><c:v>May</c:v></c:pt><c:pt idx='1'><c:v>June</c:v></c:pt></c:strCache>\
    </c:strRef></c:cat><c:val><c:numRef><c:numCache><c:ptCount val='4000000000'/><c:pt idx='0'><c:v>54</c:v></c:pt>\
    <c:pt idx='1'><c:v>60.5</c:v></c:pt></c:numCache></c:numRef></c:val></c:ser></c:barChart>\
    <c:valAx><c:title><c:tx><c:rich><a:p><a:r><a:t>mm</a:t></a:r></a:p></c:rich></c:tx></c:title></c:valAx></c:plotArea>\
    </c:chart></c:chartSpace>";

#[test]
fn tables_charts_diagrams_notes_and_pictures() {
    let frame = |content: &str| {
        format!("<p:graphicFrame><a:graphic><a:graphicData>{content}</a:graphicData></a:graphic></p:graphicFrame>")
    };
    let cell =
        |attributes: &str, words: &str| format!("<a:tc {attributes}><a:txBody>{}</a:txBody></a:tc>", line("", words));
    let table = format!(
        "<a:tbl><a:tblPr firstRow='1'/><a:tr>{}{}</a:tr><a:tr>{}{}</a:tr><a:tr>{}{}</a:tr></a:tbl>",
        cell("", "Name"),
        cell("", "Size"),
        cell("gridSpan='2'", "both"),
        cell("hMerge='1'", ""),
        cell("rowSpan='2'", "a"),
        cell("", "1.5")
    );
    let shapes = frame(&table)
        + &frame("<c:chart r:id='c'/>")
        + &frame("<dgm:relIds r:dm='d'/>")
        + "<p:pic><p:nvPicPr><p:cNvPr descr='A duck'/></p:nvPicPr><p:blipFill><a:blip r:embed='p'/></p:blipFill></p:pic>";
    let only = "<p:pic><p:nvPicPr><p:cNvPr/></p:nvPicPr><p:blipFill><a:blip r:embed='p'/></p:blipFill></p:pic>";
    let rels = relations(&[
        ("c", "chart", "../charts/c.xml"),
        ("d", "diagramData", "../diagrams/d.xml"),
        ("n", "notesSlide", "../notesSlides/n.xml"),
        ("k", "comments", "../comments/k.xml"),
        ("p", "image", "../media/p.png"),
    ]);
    let parts = [
        ("ppt/slides/_rels/slide0.xml.rels", rels.as_str()),
        ("ppt/slides/_rels/slide1.xml.rels", rels.as_str()),
        ("ppt/charts/c.xml", CHART),
        (
            "ppt/diagrams/d.xml",
            "<dgm:dataModel><dgm:ptLst><dgm:pt type='doc'><dgm:t><a:p/></dgm:t></dgm:pt><dgm:pt><dgm:t><a:p><a:r><a:t>Plan</a:t></a:r></a:p>\
             </dgm:t></dgm:pt><dgm:pt type='parTrans'><dgm:t><a:p><a:r><a:t>no</a:t></a:r></a:p></dgm:t></dgm:pt></dgm:ptLst>\
             </dgm:dataModel>",
        ),
        (
            "ppt/notesSlides/n.xml",
            "<p:notes><p:sp><p:ph type='sldNum'/><p:txBody><a:p><a:r><a:t>1</a:t></a:r></a:p></p:txBody></p:sp><p:sp><p:ph type='body'/>\
             <p:txBody><a:p><a:r><a:t>Say this.</a:t></a:r></a:p></p:txBody></p:sp></p:notes>",
        ),
        ("ppt/comments/k.xml", "<p:cmLst><p:cm><p:text>Hm</p:text></p:cm></p:cmLst>"),
        ("ppt/media/p.png", "no picture"),
    ];
    let artifact = read_as("pptx", &pptx(&[&shapes, only], &[0, 1], &parts)).expect("it is a presentation");
    check(
        &artifact,
        &expect![[r"
        heading1: Slide 1
        table: 
          Name | Size
          2 both | both
          3 a | 1.5
        caption: Rain
        table: 
           | Berlin
          2 May | 54
          3 June | 60.5
        list_item1: Plan
        caption: A duck
        note: Say this.
        heading1: Slide 2
        note: Say this.
        ! slides with nothing but pictures were not read: 2
        ! 2 comments were left out
    "]],
    );
    assert_eq!(artifact.coverage.lost, [lost::IMAGES]);
}

#[test]
fn presentations_without_text_are_refused_and_damaged_ones_too() {
    let code = |bytes: &[u8]| read_as("pptx", bytes).expect_err("it is refused").code;
    assert_eq!(code(&pptx(&[""], &[0], &[])), RefusalCode::NoText);
    let sound = pptx(&[&shape("", (0, 0), &line("", "Sound"))], &[0, 0, 7], &[]);
    survives("pptx", &sound);
}
