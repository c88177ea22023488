//! Mails: who wrote what to whom.

use mail_parser::{Address, Message, MessageParser, MimeHeaders};

use super::text::paragraphs;
use super::{Context, html, no_text, parser};
use crate::contract::{Artifact, Block, BlockKind, Coverage, CoverageUnit, Refusal, RefusalCode, Request};

/// The most attachments that a warning names.
const ATTACHMENTS_NAMED: usize = 20;

/// Reads a mail: its subject as a heading, sender, receivers and date as fields, and its text. Attachments are named in a
/// warning.
///
/// # Errors
/// [`RefusalCode::FormatMismatch`] for what is no mail, those of reading HTML where the text is HTML alone, and
/// [`RefusalCode::NoText`].
pub fn read(bytes: &[u8], _: &Request, context: &Context<'_>) -> Result<Artifact, Refusal> {
    let parsed = MessageParser::default().parse(bytes);
    let is_mail =
        |message: &Message<'_>| message.from().is_some() || message.subject().is_some() || message.date().is_some();
    let Some(message) = parsed.filter(is_mail) else {
        return Err(Refusal::new(RefusalCode::FormatMismatch, "the file is no mail: it has no headers of one"));
    };
    let mut artifact = Artifact {
        parser: parser("loom-eml"),
        coverage: Coverage::complete(CoverageUnit::Bytes, bytes.len() as u64),
        ..Artifact::default()
    };
    let subject = message.subject().unwrap_or_default().split_whitespace().collect::<Vec<_>>().join(" ");
    if !subject.is_empty() {
        artifact.blocks.push(Block { kind: BlockKind::Heading, level: 1, text: subject, ..Block::default() });
    }
    for (name, address) in [("From", message.from()), ("To", message.to()), ("Cc", message.cc())] {
        artifact.blocks.extend(address.and_then(|address| field(name, &people(address))));
    }
    artifact.blocks.extend(message.date().and_then(|date| field("Date", &date.to_rfc3339())));
    body(&message, &mut artifact, context)?;
    if artifact.blocks.is_empty() {
        return Err(no_text());
    }
    let names: Vec<&str> = message
        .attachments()
        .map(|part| part.attachment_name().unwrap_or("one without a name"))
        .take(ATTACHMENTS_NAMED)
        .collect();
    if !names.is_empty() {
        let names: String = names.join(", ").chars().take(1000).collect();
        artifact.warnings.push(format!("{} attachments were not read: {names}", message.attachment_count()));
    }
    Ok(artifact)
}

fn field(name: &str, value: &str) -> Option<Block> {
    (!value.is_empty()).then(|| Block { kind: BlockKind::Field, text: format!("{name}: {value}"), ..Block::default() })
}

/// Names and addresses, with commas between.
fn people(address: &Address<'_>) -> String {
    let one = |person: &mail_parser::Addr<'_>| match (person.name(), person.address()) {
        (Some(name), Some(address)) if name != address => format!("{name} <{address}>"),
        (_, Some(address)) => address.to_owned(),
        (name, None) => name.unwrap_or_default().to_owned(),
    };
    address.iter().map(one).filter(|person| !person.is_empty()).collect::<Vec<_>>().join(", ")
}

/// Adds the text of the mail, or what its HTML holds where there is no text.
fn body(message: &Message<'_>, artifact: &mut Artifact, context: &Context<'_>) -> Result<(), Refusal> {
    let has_text = message.text_bodies().any(mail_parser::MessagePart::is_text);
    let is_html = message.html_bodies().any(mail_parser::MessagePart::is_text_html);
    if is_html && !(has_text && message.text_bodies().any(|part| !part.is_text_html())) {
        let mut bounds = context.bounds.clone();
        for at in 0..message.html_body_count() {
            let Some(source) = message.body_html(at) else { continue };
            context.bounds.check_text(source.len())?;
            let page = html::blocks(&source, &bounds)?;
            bounds.cells -= page.cells().min(bounds.cells);
            let shift = u32::try_from(artifact.tables.len()).unwrap_or(u32::MAX);
            artifact.blocks.extend(page.blocks.into_iter().map(|mut block| {
                block.table = block.table.map(|table| table + shift);
                block
            }));
            artifact.tables.extend(page.tables);
        }
        return Ok(());
    }
    for at in 0..message.text_body_count() {
        let Some(text) = message.body_text(at) else { continue };
        context.bounds.check_text(text.len())?;
        for range in paragraphs(&text) {
            let paragraph = text[range].replace('\r', "");
            let is_quote = paragraph.lines().all(|line| line.starts_with('>'));
            let kind = if is_quote { BlockKind::Quote } else { BlockKind::Paragraph };
            let text = if is_quote { unquoted(&paragraph) } else { paragraph };
            artifact.blocks.push(Block { kind, text, ..Block::default() });
        }
    }
    Ok(())
}

/// The lines without the marks that quote them.
fn unquoted(text: &str) -> String {
    text.lines().map(|line| line.trim_start_matches(['>', ' '])).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests;
