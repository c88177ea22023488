//! Subtitles, `WebVTT` and `SubRip`: what was said, without the clock.

use super::decode::{Decoded, Guess, decode};
use super::spans::{Places, lines};
use super::{Context, no_text, parser};
use crate::contract::{Artifact, Block, BlockKind, Coverage, CoverageUnit, Locator, Refusal, Request};

/// A paragraph that is longer ends with the next cue that ends a sentence.
const PARAGRAPH_BYTES: usize = 600;
/// A paragraph is never longer, except by one cue.
const PARAGRAPH_BYTES_MAX: usize = 2000;

/// Reads subtitles: cues one after the other as paragraphs, a new one for each speaker.
///
/// # Errors
/// Those of decoding, and [`crate::contract::RefusalCode::NoText`] where nobody says a word.
pub fn read(bytes: &[u8], request: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let Decoded { text, warning } = decode(bytes, &request.options, None, Guess::Allowed)?;
    context.bounds.check_text(text.len())?;
    let mut writer = Writer { places: Places::new(&text), blocks: Vec::new(), said: None };
    let mut at = 0;
    let mut cue = Cue::Before;
    for line in text.split_inclusive('\n') {
        let (start, words) = (at, line.trim());
        at += line.len();
        match cue {
            Cue::Before if start == 0 && words.starts_with("WEBVTT") => {
                let title = words.trim_start_matches("WEBVTT").trim().trim_start_matches('-').trim();
                if !title.is_empty() {
                    writer.title(title, start..start + line.trim_end().len());
                }
                cue = Cue::Skipped;
            }
            _ if words.is_empty() => cue = Cue::Before,
            Cue::Before | Cue::Skipped if words.contains("-->") => cue = Cue::Words { speaker: String::new() },
            Cue::Before if is_aside(words) => cue = Cue::Skipped,
            Cue::Before | Cue::Skipped => {}
            Cue::Words { ref mut speaker } => {
                let (named, words) = plain(words);
                if let Some(named) = named {
                    *speaker = named;
                }
                let speaker = speaker.clone();
                writer.say(&speaker, &words, start..start + line.trim_end().len());
            }
        }
    }
    writer.end();
    if writer.blocks.is_empty() {
        return Err(no_text());
    }
    Ok(Artifact {
        parser: parser("loom-vtt"),
        coverage: Coverage::complete(CoverageUnit::Lines, lines(&text)),
        blocks: writer.blocks,
        warnings: warning.into_iter().collect(),
        ..Artifact::default()
    })
}

/// What the lines that come are.
enum Cue {
    /// The name of a cue, or something else between cues.
    Before,
    /// A heading or a note, up to a blank line.
    Skipped,
    Words {
        speaker: String,
    },
}

fn is_aside(words: &str) -> bool {
    ["NOTE", "STYLE", "REGION"]
        .iter()
        .any(|name| words == *name || words.strip_prefix(name).is_some_and(|rest| rest.starts_with([' ', '\t'])))
}

struct Said {
    speaker: String,
    text: String,
    lines: (u64, u64),
    chars: (u64, u64),
}

struct Writer<'a> {
    places: Places<'a>,
    blocks: Vec<Block>,
    said: Option<Said>,
}

impl Writer<'_> {
    fn title(&mut self, title: &str, range: std::ops::Range<usize>) {
        let (line, span) = (self.places.line(range.start), self.places.span(range));
        let locator = Some(Locator::Lines { start: line, end: line, char_start: span.start, char_end: span.end });
        self.blocks.push(Block {
            kind: BlockKind::Heading,
            level: 1,
            text: title.to_owned(),
            locator,
            ..Block::default()
        });
    }

    fn say(&mut self, speaker: &str, words: &str, range: std::ops::Range<usize>) {
        if words.is_empty() {
            return;
        }
        let line = self.places.line(range.start);
        let span = self.places.span(range);
        let goes_on = self.said.as_ref().is_some_and(|said| {
            let is_whole =
                said.text.len() > PARAGRAPH_BYTES && said.text.ends_with(['.', '!', '?', '…', '。', '"', '”']);
            said.speaker == speaker && !is_whole && said.text.len() < PARAGRAPH_BYTES_MAX
        });
        if !goes_on {
            self.end();
        }
        if let Some(said) = &mut self.said {
            said.text.push(' ');
            said.text.push_str(words);
            (said.lines.1, said.chars.1) = (line, span.end);
        } else {
            let (lines, chars) = ((line, line), (span.start, span.end));
            self.said = Some(Said { speaker: speaker.to_owned(), text: words.to_owned(), lines, chars });
        }
    }

    fn end(&mut self) {
        let Some(said) = self.said.take() else { return };
        let text = if said.speaker.is_empty() { said.text } else { format!("{}: {}", said.speaker, said.text) };
        let locator = Some(Locator::Lines {
            start: said.lines.0,
            end: said.lines.1,
            char_start: said.chars.0,
            char_end: said.chars.1,
        });
        self.blocks.push(Block { text, locator, ..Block::default() });
    }
}

/// The speaker that a line's tags name, and its words without tags.
fn plain(line: &str) -> (Option<String>, String) {
    let mut speaker = None;
    let mut words = String::new();
    let mut rest = line;
    while let Some(at) = rest.find(['<', '{']) {
        let (before, tag) = rest.split_at(at);
        words.push_str(before);
        let (close, is_tag) = match tag.strip_prefix('<') {
            Some(name) => ('>', name.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '/')),
            None => ('}', tag.starts_with("{\\")),
        };
        rest = tag;
        if !is_tag {
            words.push_str(&tag[..1]);
            rest = &tag[1..];
            continue;
        }
        // Without an end there is no further tag of its kind either.
        let Some(end) = tag.find(close) else { break };
        let voice = tag[1..end].strip_prefix('v').and_then(|rest| rest.split_once([' ', '\t']));
        let name = voice.map(|(_, name)| name.trim()).filter(|name| !name.is_empty());
        speaker = name.map(str::to_owned).or(speaker);
        rest = &tag[end + 1..];
    }
    words.push_str(rest);
    for (entity, character) in
        [("&lt;", "<"), ("&gt;", ">"), ("&nbsp;", " "), ("&lrm;", ""), ("&rlm;", ""), ("&amp;", "&")]
    {
        if words.contains(entity) {
            words = words.replace(entity, character);
        }
    }
    (speaker, words.trim().to_owned())
}

#[cfg(test)]
mod tests;
