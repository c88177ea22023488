//! The text of a paragraph.

use crate::contract::{BlockKind, Refusal};
use crate::readers::office::{Element, Node, Xml, chart, described, diagram, equation, symbol};

use super::body::{Item, Paragraph, Walk};
use super::styles::Properties;

/// The longest instruction of a field that is kept, in bytes.
const INSTRUCTION_BYTES_MAX: usize = 256;
/// How many fields may stand in one another.
const FIELDS_MAX: usize = 64;

/// A field: an instruction, and what the program last made of it.
#[derive(Default)]
pub struct Field {
    instruction: String,
    has_result: bool,
}

impl Field {
    /// Takes what follows as the field's result.
    pub fn end_instruction(&mut self) {
        self.has_result = true;
    }

    /// Whether what stands in the field now is shown and is not the number of a page.
    fn is_shown(&self) -> bool {
        self.has_result && !is_page_number(&self.instruction)
    }
}

fn is_page_number(instruction: &str) -> bool {
    let name = instruction.split_whitespace().next().unwrap_or_default();
    ["PAGE", "NUMPAGES", "SECTIONPAGES"].iter().any(|page| name.eq_ignore_ascii_case(page))
}

impl Walk<'_> {
    /// Reads what stands in a paragraph, or in an element inside it that only groups, to its end.
    pub fn inline(&mut self, xml: &mut Xml<'_>, paragraph: &mut Paragraph) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            self.inline_element(xml, &element, paragraph)?;
        }
        Ok(())
    }

    fn inline_element(
        &mut self,
        xml: &mut Xml<'_>,
        element: &Element<'_>,
        paragraph: &mut Paragraph,
    ) -> Result<(), Refusal> {
        match element.name() {
            "pPr" => self.properties(xml, paragraph)?,
            "r" => self.run(xml, paragraph)?,
            "hyperlink" | "smartTag" | "customXml" | "sdt" | "sdtContent" | "dir" | "bdo" | "rubyBase" => {
                self.inline(xml, paragraph)?;
            }
            "fldSimple" if element.attribute("instr").is_some_and(|instruction| is_page_number(&instruction)) => {}
            "fldSimple" => self.inline(xml, paragraph)?,
            "ins" => {
                self.changes.inserted += 1;
                self.inline(xml, paragraph)?;
            }
            "moveTo" => {
                self.changes.moved += 1;
                self.inline(xml, paragraph)?;
            }
            "del" => self.changes.deleted += 1,
            "oMath" | "oMathPara" => {
                let text = equation(xml)?;
                paragraph.text.push_str(text.trim());
            }
            "AlternateContent" => self.alternatives(xml, paragraph, Self::inline)?,
            _ => {}
        }
        Ok(())
    }

    /// Reads a paragraph's properties, and its section's where it ends one.
    fn properties(&mut self, xml: &mut Xml<'_>, paragraph: &mut Paragraph) -> Result<(), Refusal> {
        paragraph.properties = Properties::read(xml)?;
        for id in &paragraph.properties.margins {
            self.margin(id);
        }
        Ok(())
    }

    /// Reads the first alternative that has anything to say.
    fn alternatives(
        &mut self,
        xml: &mut Xml<'_>,
        paragraph: &mut Paragraph,
        read: fn(&mut Self, &mut Xml<'_>, &mut Paragraph) -> Result<(), Refusal>,
    ) -> Result<(), Refusal> {
        let depth = xml.depth();
        let said = |paragraph: &Paragraph| (paragraph.text.len(), paragraph.after.len());
        let before = said(paragraph);
        while let Some(element) = xml.child(depth)? {
            if said(paragraph) == before && matches!(element.name(), "Choice" | "Fallback") {
                read(self, xml, paragraph)?;
            }
        }
        Ok(())
    }

    fn run(&mut self, xml: &mut Xml<'_>, paragraph: &mut Paragraph) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "rPr" => {
                    if self.is_hidden(xml)? {
                        return self.pass_hidden(xml, depth);
                    }
                }
                "fldChar" => self.field(xml, &element, paragraph)?,
                "instrText" => {
                    let text = xml.text()?;
                    if let Some(field) = self.fields.last_mut()
                        && field.instruction.len() + text.len() <= INSTRUCTION_BYTES_MAX
                    {
                        field.instruction.push_str(&text);
                    }
                }
                "AlternateContent" => self.alternatives(xml, paragraph, Self::run)?,
                _ if !self.fields.iter().all(Field::is_shown) => {}
                "ruby" => self.inline(xml, paragraph)?,
                "footnoteReference" => self.note("footnote", &element, paragraph),
                "endnoteReference" => self.note("endnote", &element, paragraph),
                "drawing" | "pict" | "object" => self.graphics(xml, paragraph)?,
                _ => character(xml, &element, &mut paragraph.text)?,
            }
        }
        Ok(())
    }

    /// Passes over the rest of a hidden run. Fields that begin or end in it do so all the same.
    fn pass_hidden(&mut self, xml: &mut Xml<'_>, depth: usize) -> Result<(), Refusal> {
        let mut unseen = Paragraph::default();
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "fldChar" => self.field(xml, &element, &mut unseen)?,
                "t" => self.changes.hidden += 1,
                _ => {}
            }
        }
        Ok(())
    }

    fn is_hidden(&self, xml: &mut Xml<'_>) -> Result<bool, Refusal> {
        let depth = xml.depth();
        let (mut by_style, mut own) = (false, None);
        while let Some(element) = xml.child(depth)? {
            match element.name() {
                "rStyle" => by_style = element.attribute("val").is_some_and(|style| self.styles.hides(&style)),
                "vanish" => own = Some(element.is_on()),
                _ => {}
            }
        }
        Ok(own.unwrap_or(by_style))
    }

    /// A field begins, has its result next, or ends. A check box is a field that begins with its state.
    fn field(&mut self, xml: &mut Xml<'_>, element: &Element<'_>, paragraph: &mut Paragraph) -> Result<(), Refusal> {
        match element.attribute("fldCharType").as_deref() {
            Some("begin") => {
                if let Some(is_checked) = check_box(xml)? {
                    paragraph.text.push_str(if is_checked { "☒ " } else { "☐ " });
                }
                if self.fields.len() < FIELDS_MAX {
                    self.fields.push(Field::default());
                }
            }
            Some("separate") => self.fields.iter_mut().rev().take(1).for_each(Field::end_instruction),
            Some("end") => {
                self.fields.pop();
            }
            _ => {}
        }
        Ok(())
    }

    fn note(&mut self, kind: &'static str, element: &Element<'_>, paragraph: &mut Paragraph) {
        let id = element.attribute("id").unwrap_or_default();
        if let Some((number, text)) = self.notes.take(kind, &id) {
            let sign = format!("[{number}]");
            paragraph.text.push_str(&sign);
            paragraph.after.push(Item::Block(BlockKind::Note, 0, format!("{sign} {text}")));
        }
    }

    /// Reads text boxes and what pictures are said to show, at any depth.
    fn graphics(&mut self, xml: &mut Xml<'_>, paragraph: &mut Paragraph) -> Result<(), Refusal> {
        let depth = xml.depth();
        loop {
            match xml.next()? {
                Node::Start(element) => match element.name() {
                    "txbxContent" => {
                        // What a box holds is no part of a field that is around it.
                        let fields = std::mem::take(&mut self.fields);
                        self.items(xml, &mut paragraph.after)?;
                        self.fields = fields;
                    }
                    "AlternateContent" => self.alternatives(xml, paragraph, Self::graphics)?,
                    "docPr" => {
                        let said = element.attribute("descr").unwrap_or_default();
                        paragraph.after.push(Item::Block(BlockKind::Caption, 0, described(&said).to_owned()));
                    }
                    "blip" => self.picture(element.foreign("embed").as_deref()),
                    "imagedata" => self.picture(element.foreign("id").as_deref()),
                    "chart" => self.chart(element.foreign("id").as_deref(), paragraph)?,
                    "relIds" => self.diagram(element.foreign("dm").as_deref(), paragraph)?,
                    _ => {}
                },
                Node::End if xml.depth() < depth => return Ok(()),
                Node::Eof => return Ok(()),
                Node::End | Node::Text(_) => {}
            }
        }
    }

    fn picture(&mut self, id: Option<&str>) {
        let part = self.unused(id);
        self.pictures.extend(part);
    }

    /// Adds a chart's title and values.
    fn chart(&mut self, id: Option<&str>, paragraph: &mut Paragraph) -> Result<(), Refusal> {
        let Some(part) = self.unused(id) else { return Ok(()) };
        if let Some((title, grid)) = chart(self.package, &part)? {
            paragraph.after.push(Item::Block(BlockKind::Caption, 0, title));
            paragraph.after.push(Item::Table(grid));
        }
        Ok(())
    }

    /// Adds the texts of a diagram's shapes.
    fn diagram(&mut self, id: Option<&str>, paragraph: &mut Paragraph) -> Result<(), Refusal> {
        let Some(part) = self.unused(id) else { return Ok(()) };
        let texts = diagram(self.package, &part)?;
        paragraph.after.extend(texts.into_iter().map(|text| Item::Block(BlockKind::ListItem, 1, text)));
        Ok(())
    }

    /// The part of that name, the first time that it is asked for.
    fn unused(&mut self, id: Option<&str>) -> Option<String> {
        let part = self.relations.get(id?)?.target.clone();
        (!part.is_empty() && self.used_parts.insert(part.clone())).then_some(part)
    }
}

/// What one element of a run adds to the text.
fn character(xml: &mut Xml<'_>, element: &Element<'_>, text: &mut String) -> Result<(), Refusal> {
    match element.name() {
        "t" => text.push_str(&xml.text()?),
        "tab" | "ptab" => text.push('\t'),
        "br" | "cr" => text.push('\n'),
        "noBreakHyphen" => text.push('-'),
        "sym" => {
            let code = element.attribute("char").and_then(|code| u32::from_str_radix(&code, 16).ok());
            let font = element.attribute("font").unwrap_or_default();
            text.extend(code.and_then(|code| symbol(&font, code)));
        }
        _ => {}
    }
    Ok(())
}

/// The state of the check box that a field begins with, if it is one.
fn check_box(xml: &mut Xml<'_>) -> Result<Option<bool>, Refusal> {
    let depth = xml.depth();
    let mut state = None;
    let mut is_decided = false;
    loop {
        match xml.next()? {
            Node::Start(element) => match element.name() {
                "checkBox" => state = state.or(Some(false)),
                "default" if !is_decided => state = state.map(|_| element.is_on()),
                "checked" => {
                    is_decided = true;
                    state = state.map(|_| element.is_on());
                }
                _ => {}
            },
            Node::End if xml.depth() < depth => return Ok(state),
            Node::Eof => return Ok(state),
            Node::End | Node::Text(_) => {}
        }
    }
}
