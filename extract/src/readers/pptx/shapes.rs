//! The shapes of a slide and where they stand.

use crate::contract::Refusal;
use crate::readers::Bounds;
use crate::readers::office::{Bullet, Continued, Element, Grid, GridCell, Line, Node, Xml, described, text_body};

use super::masters::Layout;

/// Shapes whose tops are this close, in EMU (914,400 an inch), stand in one row.
const ROW_EMU: f64 = 150_000.0;

/// A slide.
#[derive(Default)]
pub struct Slide {
    pub is_hidden: bool,
    /// The text of its title, possibly empty.
    pub title: String,
    shapes: Vec<Placed>,
}

/// A shape's content and place.
pub struct Placed {
    left: f64,
    top: f64,
    pub content: Content,
    /// The shapes of a group, in the group's place.
    inside: Vec<Placed>,
}

/// What a shape holds.
pub enum Content {
    /// Paragraphs.
    Text(Vec<Line>),
    /// A table.
    Table(Grid),
    /// What stands at the foot or head of every slide, a date among it.
    Footer(String),
    /// A picture: what it is said to show, and its part's name.
    Picture { said: String, id: String },
    /// A chart by its part's name.
    Chart(String),
    /// A diagram by the name of the part with its text.
    Diagram(String),
}

/// How the places inside a group become places on the slide.
#[derive(Clone, Copy)]
struct Transform {
    scale: (f64, f64),
    shift: (f64, f64),
}

/// What a shape says of itself before its content.
#[derive(Default)]
struct Head {
    placeholder: Option<Placeholder>,
    said: String,
    place: Option<(f64, f64)>,
}

/// The part of a layout that a shape fills.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Placeholder {
    pub kind: String,
    pub index: String,
}

impl Placeholder {
    /// Reads it from its element.
    pub fn of(element: &Element<'_>) -> Self {
        let value = |name| element.attribute(name).unwrap_or_default().into_owned();
        Self { kind: value("type"), index: value("idx") }
    }

    /// Whether it is the slide's title.
    pub fn is_title(&self) -> bool {
        matches!(self.kind.as_str(), "title" | "ctrTitle")
    }
}

impl Slide {
    /// Reads a slide's part.
    pub fn read(text: &str, layout: &Layout, bounds: &Bounds) -> Result<Self, Refusal> {
        let mut xml = Xml::new(text, "a slide", bounds);
        let is_hidden = xml.root()?.attribute("show").is_some_and(|show| matches!(show.as_ref(), "0" | "false"));
        let mut slide = Self { is_hidden, ..Self::default() };
        let mut shapes = Vec::new();
        while let Some(element) = xml.child(1)? {
            if element.name() == "cSld" {
                while let Some(element) = xml.child(2)? {
                    if element.name() == "spTree" {
                        slide.tree(&mut xml, layout, Transform::NONE, &mut shapes)?;
                    }
                }
            }
        }
        slide.shapes = shapes;
        Ok(slide)
    }

    /// Its shapes from top to bottom, those of a row from left to right, groups together.
    pub fn in_order(self) -> Vec<Placed> {
        let mut all = Vec::new();
        ordered(self.shapes, &mut all);
        all
    }

    /// Reads the shapes of a group, or of the slide.
    fn tree(
        &mut self,
        xml: &mut Xml<'_>,
        layout: &Layout,
        transform: Transform,
        shapes: &mut Vec<Placed>,
    ) -> Result<(), Refusal> {
        let depth = xml.depth();
        while let Some(element) = xml.child(depth)? {
            self.member(&element, xml, layout, transform, shapes)?;
        }
        Ok(())
    }

    /// Reads an element of a group, or of the slide: a shape, a group, or the first of several that says anything.
    fn member(
        &mut self,
        element: &Element<'_>,
        xml: &mut Xml<'_>,
        layout: &Layout,
        transform: Transform,
        shapes: &mut Vec<Placed>,
    ) -> Result<(), Refusal> {
        match element.name() {
            "grpSp" => self.group(xml, layout, transform, shapes)?,
            "sp" | "cxnSp" | "pic" | "graphicFrame" => self.shape(xml, layout, transform, shapes)?,
            "AlternateContent" => {
                let (depth, before) = (xml.depth(), shapes.len());
                while let Some(element) = xml.child(depth)? {
                    if shapes.len() == before && matches!(element.name(), "Choice" | "Fallback") {
                        self.tree(xml, layout, transform, shapes)?;
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn group(
        &mut self,
        xml: &mut Xml<'_>,
        layout: &Layout,
        transform: Transform,
        shapes: &mut Vec<Placed>,
    ) -> Result<(), Refusal> {
        let depth = xml.depth();
        let mut inner = transform;
        let mut inside = Vec::new();
        while let Some(element) = xml.child(depth)? {
            if element.name() == "grpSpPr" {
                inner = transform.of_group(xml)?;
            } else {
                self.member(&element, xml, layout, inner, &mut inside)?;
            }
        }
        let least = |of: fn(&Placed) -> f64| inside.iter().map(of).fold(f64::INFINITY, f64::min);
        let (left, top) = (least(|shape| shape.left), least(|shape| shape.top));
        if !inside.is_empty() {
            shapes.push(Placed { left, top, content: Content::Text(Vec::new()), inside });
        }
        Ok(())
    }

    fn shape(
        &mut self,
        xml: &mut Xml<'_>,
        layout: &Layout,
        transform: Transform,
        shapes: &mut Vec<Placed>,
    ) -> Result<(), Refusal> {
        let depth = xml.depth();
        let mut head = Head::default();
        let mut contents = Vec::new();
        loop {
            match xml.next()? {
                Node::Start(element) => head.take(xml, &element, &mut contents)?,
                Node::End if xml.depth() < depth => break,
                Node::Eof => break,
                Node::End | Node::Text(_) => {}
            }
        }
        let placeholder = head.placeholder.unwrap_or_default();
        if placeholder.is_title() && self.title.trim().is_empty() {
            let mut texts = Vec::new();
            for content in contents {
                if let Content::Text(lines) = content {
                    texts.extend(lines.into_iter().map(|line| line.text));
                }
            }
            self.title = texts.join(" ");
            return Ok(());
        }
        let place = head.place.map(|place| transform.apply(place)).or_else(|| layout.place(&placeholder));
        let (left, top) = place.unwrap_or_default();
        for content in contents {
            let content = match content {
                Content::Text(_) if placeholder.kind == "sldNum" => continue,
                Content::Text(lines) if matches!(placeholder.kind.as_str(), "ftr" | "hdr" | "dt") => {
                    Content::Footer(lines.into_iter().map(|line| line.text).collect::<Vec<_>>().join("\n"))
                }
                Content::Text(lines) => Content::Text(layout.bulleted(&placeholder, lines)),
                Content::Picture { id, .. } => Content::Picture { said: head.said.clone(), id },
                other @ (Content::Table(_) | Content::Footer(_) | Content::Chart(_) | Content::Diagram(_)) => other,
            };
            shapes.push(Placed { left, top, content, inside: Vec::new() });
        }
        Ok(())
    }
}

impl Head {
    fn take(&mut self, xml: &mut Xml<'_>, element: &Element<'_>, contents: &mut Vec<Content>) -> Result<(), Refusal> {
        let id = |name| element.foreign(name).unwrap_or_default().into_owned();
        match element.name() {
            "cNvPr" if self.said.is_empty() => {
                described(&element.attribute("descr").unwrap_or_default()).clone_into(&mut self.said);
            }
            "ph" => self.placeholder = Some(Placeholder::of(element)),
            "off" if self.place.is_none() => {
                self.place = Some((element.number("x").unwrap_or(0.0), element.number("y").unwrap_or(0.0)));
            }
            "txBody" | "txbxContent" => contents.push(Content::Text(text_body(xml)?)),
            "tbl" => contents.push(Content::Table(table(xml)?)),
            "chart" => contents.push(Content::Chart(id("id"))),
            "relIds" => contents.push(Content::Diagram(id("dm"))),
            "blip" if !contents.iter().any(|content| matches!(content, Content::Picture { .. })) => {
                contents.push(Content::Picture { said: String::new(), id: id("embed") });
            }
            _ => {}
        }
        Ok(())
    }
}

impl Transform {
    const NONE: Self = Self { scale: (1.0, 1.0), shift: (0.0, 0.0) };

    fn apply(self, (x, y): (f64, f64)) -> (f64, f64) {
        (x * self.scale.0 + self.shift.0, y * self.scale.1 + self.shift.1)
    }

    /// That of the shapes inside a group, whose properties have just begun.
    fn of_group(self, xml: &mut Xml<'_>) -> Result<Self, Refusal> {
        let depth = xml.depth();
        let (mut off, mut ext, mut child_off, mut child_ext) = ((0.0, 0.0), (0.0, 0.0), (0.0, 0.0), (0.0, 0.0));
        loop {
            match xml.next()? {
                Node::Start(element) => {
                    let pair = |x, y| (element.number(x).unwrap_or(0.0), element.number(y).unwrap_or(0.0));
                    match element.name() {
                        "off" => off = pair("x", "y"),
                        "ext" => ext = pair("cx", "cy"),
                        "chOff" => child_off = pair("x", "y"),
                        "chExt" => child_ext = pair("cx", "cy"),
                        _ => {}
                    }
                }
                Node::End if xml.depth() < depth => break,
                Node::Eof => break,
                Node::End | Node::Text(_) => {}
            }
        }
        let ratio = |whole: f64, part: f64| if part > 0.0 && whole > 0.0 { whole / part } else { 1.0 };
        let scale = (ratio(ext.0, child_ext.0), ratio(ext.1, child_ext.1));
        let start = self.apply((off.0 - child_off.0 * scale.0, off.1 - child_off.1 * scale.1));
        Ok(Self { scale: (self.scale.0 * scale.0, self.scale.1 * scale.1), shift: start })
    }
}

/// Puts shapes in the order they are read.
fn ordered(mut shapes: Vec<Placed>, all: &mut Vec<Placed>) {
    shapes.sort_by(|one, other| one.top.total_cmp(&other.top));
    let mut shapes = shapes.into_iter().peekable();
    while let Some(first) = shapes.next() {
        let limit = first.top + ROW_EMU;
        let mut row = vec![first];
        while let Some(next) = shapes.next_if(|next| next.top < limit) {
            row.push(next);
        }
        row.sort_by(|one, other| one.left.total_cmp(&other.left));
        for mut shape in row {
            let inside = std::mem::take(&mut shape.inside);
            if inside.is_empty() {
                all.push(shape);
            } else {
                ordered(inside, all);
            }
        }
    }
}

/// Reads a table. Cells that another covers are in the file, empty.
fn table(xml: &mut Xml<'_>) -> Result<Grid, Refusal> {
    let depth = xml.depth();
    let mut grid = Grid::default();
    while let Some(element) = xml.child(depth)? {
        match element.name() {
            "tblPr" => {
                grid.has_styled_first_row =
                    element.attribute("firstRow").is_some_and(|on| matches!(on.as_ref(), "1" | "true"));
            }
            "tr" => {
                let mut row = Vec::new();
                while let Some(element) = xml.child(depth + 1)? {
                    if element.name() == "tc" {
                        let is_on =
                            |name| element.attribute(name).is_some_and(|on| matches!(on.as_ref(), "1" | "true"));
                        let continues = if is_on("hMerge") {
                            Some(Continued::Left)
                        } else {
                            is_on("vMerge").then_some(Continued::Above)
                        };
                        row.push(GridCell { text: cell(xml)?, columns: 1, continues });
                    }
                }
                grid.push(row);
            }
            _ => {}
        }
    }
    Ok(grid)
}

fn cell(xml: &mut Xml<'_>) -> Result<String, Refusal> {
    let depth = xml.depth();
    let mut texts = Vec::new();
    while let Some(element) = xml.child(depth)? {
        if element.name() == "txBody" {
            texts.extend(text_body(xml)?.into_iter().map(|line| line.text).filter(|text| !text.trim().is_empty()));
        }
    }
    Ok(texts.join("\n"))
}

/// The text of a slide's notes.
pub fn notes(text: &str, bounds: &Bounds) -> Result<String, Refusal> {
    let mut xml = Xml::new(text, "the notes of a slide", bounds);
    let mut texts = Vec::new();
    let mut placeholder = Placeholder::default();
    loop {
        match xml.next()? {
            Node::Start(element) => match element.name() {
                "sp" => placeholder = Placeholder::default(),
                "ph" => placeholder = Placeholder::of(&element),
                "txBody" => {
                    let lines = text_body(&mut xml)?;
                    // The others repeat the slide's number, date, header and footer.
                    if matches!(placeholder.kind.as_str(), "body" | "") {
                        texts.extend(lines.into_iter().map(|line| line.text).filter(|text| !text.trim().is_empty()));
                    }
                }
                _ => {}
            },
            Node::Eof => return Ok(texts.join("\n")),
            Node::End | Node::Text(_) => {}
        }
    }
}

/// What a level of a style says of bullets; the styles of a master and a layout are kept so.
pub type Bullets = [Option<Bullet>; 9];
