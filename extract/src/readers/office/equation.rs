//! Equations as one line of LaTeX.

use crate::contract::Refusal;

use super::latex::{accented, applied, delimiter, function, signs};
use super::xml::{Node, Xml};

/// The text of an equation, whose element has just begun: `a^{2}`, `\frac{x+1}{2}`, `\sqrt{x}`, `\sum_{n=1}^{\infty}n`.
pub fn equation(xml: &mut Xml<'_>) -> Result<String, Refusal> {
    let mut text = String::new();
    let depth = xml.depth();
    while let Some(element) = xml.child(depth)? {
        text.push_str(&object(xml, element.name())?);
    }
    Ok(text)
}

/// The parts of one object by their names, and what its properties say.
#[derive(Default)]
struct Object {
    base: Vec<String>,
    over: String,
    under: String,
    degree: String,
    name: String,
    begin: Option<String>,
    end: Option<String>,
    separator: Option<String>,
    character: Option<String>,
    /// The kind of a fraction.
    kind: String,
    is_on_top: bool,
}

fn object(xml: &mut Xml<'_>, kind: &str) -> Result<String, Refusal> {
    match kind {
        "r" => return run(xml),
        "oMath" | "oMathPara" | "e" | "num" | "den" | "sup" | "sub" | "lim" | "fName" | "deg" | "ins" | "moveTo"
        | "box" | "borderBox" | "phant" | "hyperlink" | "sdt" | "sdtContent" | "smartTag" => return equation(xml),
        "f" | "sSup" | "sSub" | "sSubSup" | "sPre" | "rad" | "nary" | "d" | "func" | "limLow" | "limUpp" | "m"
        | "mr" | "eqArr" | "acc" | "bar" | "groupChr" => {}
        _ => {
            xml.skip()?;
            return Ok(String::new());
        }
    }
    let parts = parts(xml)?;
    let base = parts.base.concat();
    Ok(match kind {
        "f" => parts.fraction(),
        "sPre" => format!("{{}}{}{}{base}", lowered(&parts.under), raised(&parts.over)),
        "rad" if parts.degree.trim().is_empty() => format!("\\sqrt{{{}}}", base.trim()),
        "rad" => format!("\\sqrt[{}]{{{}}}", parts.degree.trim(), base.trim()),
        "nary" => {
            let sign = signs(parts.character.as_deref().unwrap_or("∫"));
            applied(&format!("{}{}{}", sign.trim(), lowered(&parts.under), raised(&parts.over)), &base)
        }
        "d" => parts.delimited(),
        "func" => applied(&function(&parts.name), &base),
        "limLow" => format!("{}{}", base.trim_end(), lowered(&parts.under)),
        "limUpp" => format!("\\overset{{{}}}{{{}}}", parts.under.trim(), base.trim()),
        "m" => format!("\\begin{{matrix}}{}\\end{{matrix}}", parts.base.join(" \\\\ ")),
        "mr" => parts.base.join(" & "),
        "eqArr" => parts.base.join(" \\\\ "),
        "acc" => accented(parts.character.as_deref().unwrap_or("^"), &base),
        "bar" => format!("\\{}{{{}}}", if parts.is_on_top { "overline" } else { "underline" }, base.trim()),
        "groupChr" => match parts.character.as_deref() {
            None | Some("⏟") => format!("\\underbrace{{{}}}", base.trim()),
            Some("⏞") => format!("\\overbrace{{{}}}", base.trim()),
            Some(_) => base,
        },
        _ => format!("{}{}{}", base.trim_end(), lowered(&parts.under), raised(&parts.over)),
    })
}

impl Object {
    fn fraction(&self) -> String {
        let (over, under) = (self.over.trim(), self.under.trim());
        match self.kind.as_str() {
            "lin" | "skw" => format!("{over}/{under}"),
            "noBar" => format!("\\genfrac{{}}{{}}{{0pt}}{{}}{{{over}}}{{{under}}}"),
            _ => format!("\\frac{{{over}}}{{{under}}}"),
        }
    }

    /// What stands between delimiters, which are as high as it is.
    fn delimited(&self) -> String {
        let (begin, end) = (self.begin.as_deref().unwrap_or("("), self.end.as_deref().unwrap_or(")"));
        let inner = self.base.join(self.separator.as_deref().unwrap_or("|"));
        format!("\\left{}{}\\right{}", delimiter(begin), inner.trim(), delimiter(end).trim_end())
    }
}

fn parts(xml: &mut Xml<'_>) -> Result<Object, Refusal> {
    let mut parts = Object::default();
    let depth = xml.depth();
    while let Some(element) = xml.child(depth)? {
        match element.name() {
            "e" => parts.base.push(equation(xml)?),
            "mr" => parts.base.push(object(xml, "mr")?),
            "num" | "sup" => parts.over = equation(xml)?,
            "den" | "sub" | "lim" => parts.under = equation(xml)?,
            "deg" => parts.degree = equation(xml)?,
            "fName" => parts.name = equation(xml)?,
            name if name.ends_with("Pr") => {
                while let Some(element) = xml.child(depth + 1)? {
                    let value = || Some(element.attribute("val").unwrap_or_default().into_owned());
                    match element.name() {
                        "begChr" => parts.begin = value(),
                        "endChr" => parts.end = value(),
                        "sepChr" => parts.separator = value(),
                        "chr" => parts.character = value(),
                        "type" => parts.kind = value().unwrap_or_default(),
                        "pos" => parts.is_on_top = value().as_deref() == Some("top"),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(parts)
}

/// The text of a run.
fn run(xml: &mut Xml<'_>) -> Result<String, Refusal> {
    let mut text = String::new();
    let depth = xml.depth();
    let mut in_text = false;
    loop {
        match xml.next()? {
            Node::Start(element) => in_text = element.name() == "t",
            Node::Text(piece) if in_text => text.push_str(&signs(&piece)),
            Node::End if xml.depth() < depth => return Ok(text),
            Node::End => in_text = false,
            Node::Eof => return Ok(text),
            Node::Text(_) => {}
        }
    }
}

fn raised(text: &str) -> String {
    script('^', text)
}

fn lowered(text: &str) -> String {
    script('_', text)
}

/// A raised or lowered part after its sign; nothing where it is empty.
fn script(sign: char, text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!("{sign}{{{text}}}") }
}
