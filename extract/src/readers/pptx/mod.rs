//! Presentations: a section for each slide, in the order they are shown, with its speaker's notes.

use std::collections::HashMap;

use crate::contract::{Artifact, BlockKind, Coverage, CoverageUnit, Locator, Refusal, RefusalCode, Request, lost};
use crate::readers::Context;
use crate::readers::office::{Node, Output, Package, Pictures, Relation, Xml, chart, diagram, targets};

mod masters;
mod shapes;
#[cfg(test)]
mod tests;
mod write;

use masters::Masters;
use shapes::{Content, Placed, Slide};

const WHAT: &str = "a presentation";
/// The most slides that are read.
const SLIDES_MAX: usize = 10_000;
/// How many hidden slides a warning names.
const HIDDEN_NAMED_MAX: usize = 20;

/// The state of reading one presentation.
struct Deck<'a> {
    package: &'a Package<'a>,
    context: &'a Context<'a>,
    masters: Masters,
    /// Footers that were added, each once.
    footers: Vec<String>,
    pictures: Pictures,
    comments: u64,
    hidden: Vec<usize>,
    /// Slides with nothing on them but pictures.
    only_pictures: Vec<usize>,
    has_content: bool,
}

/// Reads a presentation.
///
/// # Errors
/// [`RefusalCode::FormatMismatch`], [`RefusalCode::Corrupt`] (of an encrypted one too), [`RefusalCode::NoText`],
/// [`RefusalCode::ResourceLimit`] and [`RefusalCode::Timeout`].
pub fn read(bytes: &[u8], _: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let package = Package::open(bytes, WHAT, &context.bounds)?;
    let main = package.main("ppt/presentation.xml", WHAT)?;
    let slides = slides(&package, &main)?;
    let coverage = Coverage::complete(CoverageUnit::Slides, slides.len() as u64);
    let mut output = Output::new(&context.bounds, coverage);
    let mut deck = Deck {
        package: &package,
        context,
        masters: Masters::default(),
        footers: Vec::new(),
        pictures: Pictures::default(),
        comments: 0,
        hidden: Vec::new(),
        only_pictures: Vec::new(),
        has_content: false,
    };
    for (at, part) in slides.iter().enumerate() {
        deck.slide(at + 1, part, &mut output)?;
    }
    deck.warn(&mut output);
    if deck.has_content { output.finish("loom-pptx") } else { Err(crate::readers::no_text()) }
}

/// The parts of the slides in the order they are shown.
fn slides(package: &Package<'_>, main: &str) -> Result<Vec<String>, Refusal> {
    let relations = package.relations(main)?;
    let parts_by_id = targets(&relations);
    let text = package.required(main)?;
    let mut xml = Xml::new(&text, "the presentation", package.bounds);
    if xml.root()?.name() != "presentation" {
        let message = format!("the file is another kind of office file, not {WHAT}");
        return Err(Refusal::new(RefusalCode::FormatMismatch, message));
    }
    let mut parts = Vec::new();
    while let Some(element) = xml.child(1)? {
        if element.name() != "sldIdLst" {
            continue;
        }
        while let Some(element) = xml.child(2)? {
            let id = element.foreign("id").unwrap_or_default();
            if parts.len() == SLIDES_MAX {
                let message = format!("the presentation has more than {SLIDES_MAX} slides");
                return Err(Refusal::new(RefusalCode::ResourceLimit, message));
            }
            parts.extend(parts_by_id.get(id.as_ref()).map(|part| (*part).to_owned()));
        }
    }
    Ok(parts)
}

impl Deck<'_> {
    fn slide(&mut self, number: usize, part: &str, output: &mut Output<'_>) -> Result<(), Refusal> {
        output.locator = Some(Locator::Slides { start: number as u64, end: number as u64 });
        let Some(text) = self.package.text(part)? else {
            output.coverage.extracted -= 1;
            output.coverage.failed += 1;
            output.warn("a slide that the presentation lists is not in the file".into());
            return Ok(());
        };
        let relations = self.package.relations(part)?;
        let parts = targets(&relations);
        let layout = relations.iter().find(|relation| relation.kind == "slideLayout").map(|found| found.target.clone());
        let styles = self.masters.layout(self.package, layout.as_deref().unwrap_or_default())?;
        let slide = Slide::read(&text, &styles, self.package.bounds)?;
        if slide.is_hidden {
            self.hidden.push(number);
        }
        let title = slide.title.trim();
        let has_title = !title.is_empty();
        let heading = if has_title { title.to_owned() } else { format!("Slide {number}") };
        output.push(BlockKind::Heading, 1, &heading)?;
        let before = output.len();
        let mut pictures = Vec::new();
        let mut picture_count = 0;
        for placed in slide.in_order() {
            picture_count += usize::from(matches!(placed.content, Content::Picture { .. }));
            self.content(placed, &parts, &mut pictures, output)?;
        }
        let is_blank = !has_title && output.len() == before;
        let unread = self.pictures.unread;
        self.pictures.add(self.package, &pictures, self.context.ocr, output)?;
        if is_blank && picture_count > 0 && (self.pictures.unread > unread || output.len() == before) {
            self.only_pictures.push(number);
        }
        self.beside(&relations, output)?;
        self.has_content |= has_title || output.len() > before;
        output.locator = None;
        Ok(())
    }

    /// Adds what one shape holds.
    fn content(
        &mut self,
        placed: Placed,
        parts: &HashMap<&str, &str>,
        pictures: &mut Vec<String>,
        output: &mut Output<'_>,
    ) -> Result<(), Refusal> {
        let part = |id: &str| parts.get(id).copied();
        match placed.content {
            Content::Text(lines) => write::lines(lines, output)?,
            Content::Table(grid) => output.push_grid(String::new(), grid)?,
            Content::Footer(text) => {
                if text.chars().any(char::is_alphabetic) && !self.footers.contains(&text) {
                    output.push(BlockKind::Margin, 0, &text)?;
                    self.footers.push(text);
                }
            }
            Content::Picture { said, id } => {
                output.push(BlockKind::Caption, 0, &said)?;
                pictures.extend(part(&id).filter(|part| !part.is_empty()).map(str::to_owned));
            }
            Content::Chart(id) => {
                let read = part(&id).map(|part| chart(self.package, part)).transpose()?.flatten();
                if let Some((title, grid)) = read {
                    output.push(BlockKind::Caption, 0, &title)?;
                    output.push_grid(title, grid)?;
                }
            }
            Content::Diagram(id) => {
                for text in part(&id).map(|part| diagram(self.package, part)).transpose()?.unwrap_or_default() {
                    output.push(BlockKind::ListItem, 1, &text)?;
                }
            }
        }
        Ok(())
    }

    /// Adds the speaker's notes, and counts comments.
    fn beside(&mut self, relations: &[Relation], output: &mut Output<'_>) -> Result<(), Refusal> {
        for relation in relations {
            match relation.kind.as_str() {
                "notesSlide" => {
                    let Some(text) = self.package.text(&relation.target)? else { continue };
                    output.push(BlockKind::Note, 0, &shapes::notes(&text, self.package.bounds)?)?;
                }
                "comments" => {
                    let Some(text) = self.package.text(&relation.target)? else { continue };
                    let mut xml = Xml::new(&text, "the part of comments", self.package.bounds);
                    loop {
                        match xml.next()? {
                            Node::Start(element) => self.comments += u64::from(element.name() == "cm"),
                            Node::Eof => break,
                            Node::End | Node::Text(_) => {}
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    fn warn(&self, output: &mut Output<'_>) {
        let listed = |slides: &[usize]| {
            let named: Vec<String> = slides.iter().take(HIDDEN_NAMED_MAX).map(ToString::to_string).collect();
            let more = slides.len().saturating_sub(HIDDEN_NAMED_MAX);
            named.join(", ") + &if more > 0 { format!(" and {more} more") } else { String::new() }
        };
        self.pictures.tell(output);
        if !self.hidden.is_empty() {
            output.warn(format!("hidden slides were read too: {}", listed(&self.hidden)));
        }
        if !self.only_pictures.is_empty() {
            output.warn(format!("slides with nothing but pictures were not read: {}", listed(&self.only_pictures)));
            // A picture now and then is an ornament; where half of the slides are pictures, words are on them.
            if self.only_pictures.len() as u64 * 2 >= output.coverage.total {
                output.coverage.lose(lost::IMAGES);
            }
        }
        output.warn_count(self.comments, "1 comment was left out", "{} comments were left out");
        if self.package.archive.duplicates > 0 {
            output.warn("parts of the file have the same name: the last of each was read".into());
        }
    }
}
