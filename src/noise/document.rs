//! A document's sections, each with what the headings above it make of it.

use std::ops::Range;

use super::titles::{Genre, dates_a_meeting, genre};
use super::{decisions, headings, language, questions, recordings};
use crate::chunk::{Cut, Piece};

/// For each piece of `cut`, which is `text` cut, whether its section is noise.
///
/// `title` is the document's; a blank one is replaced by the first heading.
pub fn labels(title: &str, text: &str, cut: &Cut) -> Vec<bool> {
    let first_heading = || cut.sections.first().and_then(|section| section.path.last()).map_or("", String::as_str);
    let title = if title.trim().is_empty() { first_heading() } else { title };
    let document = Document { title, genre: genre(title), closing_slide: closing_slide(cut) };
    let mut labels = Vec::with_capacity(cut.pieces.len());
    let before_headings = cut.sections.first().map_or(cut.pieces.len(), |section| pieces_of(section.chunks).start);
    let preamble = Section {
        at: None,
        heading: None,
        own: own_text(text, &cut.pieces[..before_headings]),
        under: Under::default(),
    };
    let is_noise = document.is_noise(&preamble);
    labels.resize(before_headings, is_noise);
    let mut above: Vec<Under> = Vec::new();
    for (at, section) in cut.sections.iter().enumerate() {
        let heading = section.path.last().map_or("", String::as_str);
        above.truncate(section.path.len().saturating_sub(1));
        let is_top = above.is_empty() || above.len() == 1 && cut.sections[0].path == section.path[..1];
        let under = document.under(heading, above.last().copied().unwrap_or_default(), is_top);
        above.push(under);
        let pieces = &cut.pieces[pieces_of(section.chunks)];
        let section = Section { at: Some(at), heading: Some(heading), own: own_text(text, pieces), under };
        labels.resize(labels.len() + pieces.len(), document.is_noise(&section));
    }
    labels
}

struct Document<'a> {
    title: &'a str,
    genre: Genre,
    /// The index of the section that is the last slide of a deck and invites questions.
    closing_slide: Option<usize>,
}

struct Section<'a> {
    /// Its index; `None` before the first heading.
    at: Option<usize>,
    heading: Option<&'a str>,
    /// Its own text, heading included.
    own: &'a str,
    under: Under,
}

/// What a heading and those above it say of the section.
#[derive(Clone, Copy, Default)]
struct Under {
    questions: Questions,
    /// A meeting's date is among them.
    is_meeting: bool,
    /// A recording's transcript or template is.
    is_frame: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum Questions {
    #[default]
    None,
    /// The heading itself announces open questions.
    Announced,
    /// One above it does.
    Among,
}

impl Section<'_> {
    /// The text below the heading's first line.
    fn body(&self) -> &str {
        match self.heading {
            Some(_) => self.own.split_once(['\n', '\r']).map_or("", |(_, body)| body),
            None => self.own,
        }
    }
}

impl Document<'_> {
    fn under(&self, heading: &str, above: Under, is_top: bool) -> Under {
        let questions = if above.questions != Questions::None {
            if headings::answers_questions(heading) { Questions::None } else { Questions::Among }
        } else if headings::opens_questions(heading) {
            Questions::Announced
        } else {
            Questions::None
        };
        let is_meeting = above.is_meeting || self.genre == Genre::Meetings && is_top && dates_a_meeting(heading);
        let is_frame = above.is_frame
            || match self.genre {
                // The title of a transcript is over its summary too.
                Genre::Recording { is_transcript } => {
                    headings::frames_recording(heading)
                        && !(is_transcript && recordings::names_recording(heading, self.title))
                }
                Genre::Other | Genre::Notes | Genre::Meetings => false,
            };
        Under { questions, is_meeting, is_frame }
    }

    fn is_noise(&self, section: &Section<'_>) -> bool {
        self.is_suspect(section) && !decisions::records_decision(section.heading, section.body())
    }

    fn is_suspect(&self, section: &Section<'_>) -> bool {
        let by_genre = match self.genre {
            Genre::Other => false,
            Genre::Notes => true,
            Genre::Meetings => section.under.is_meeting,
            Genre::Recording { is_transcript } => {
                section.under.is_frame
                    || recordings::is_template(section.heading, self.title, section.body(), is_transcript)
            }
        };
        by_genre && !language::is_foreign(section.body())
            || section.at.is_some() && section.at == self.closing_slide
            || lists_open_questions(section)
    }
}

fn lists_open_questions(section: &Section<'_>) -> bool {
    let item = match section.under.questions {
        Questions::None => return false,
        Questions::Announced => None,
        Questions::Among => section.heading,
    };
    questions::lists_unanswered(item, section.body())
}

/// The last section of a document of slides, when it invites questions and says little else.
fn closing_slide(cut: &Cut) -> Option<usize> {
    const BODY_CHARS_MAX: u64 = 240;
    let last = cut.sections.last()?;
    let [title] = last.path.as_slice() else { return None };
    let closes = last.chars <= BODY_CHARS_MAX && headings::slide(title).is_some_and(headings::invites_questions);
    let is_deck =
        || cut.sections.len() > 1 && cut.sections.iter().all(|section| headings::slide(&section.path[0]).is_some());
    (closes && is_deck()).then(|| cut.sections.len() - 1)
}

fn pieces_of((start, end): (u32, u32)) -> Range<usize> {
    start as usize..end as usize
}

/// The text that pieces of one section cover.
fn own_text<'a>(text: &'a str, pieces: &[Piece]) -> &'a str {
    let (Some(first), Some(last)) = (pieces.first(), pieces.last()) else { return "" };
    let range = usize::try_from(first.place.byte_start).ok().zip(usize::try_from(last.place.byte_end).ok());
    range.and_then(|(start, end)| text.get(start..end)).expect("pieces are slices of the text")
}
