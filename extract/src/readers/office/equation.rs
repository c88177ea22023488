//! Equations as one line of text, structures as LaTeX writes them and signs as they are.

use crate::contract::Refusal;

use super::xml::{Node, Xml};

/// The text of an equation, whose element has just begun: `a^{2}`,
/// `\frac{x+1}{2}`, `\sqrt{x}`, `∑_{n=1}^{∞}n`.
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
        "f" => format!("\\frac{{{}}}{{{}}}", parts.over.trim(), parts.under.trim()),
        "sPre" => format!("{}{}{base}", raised('_', &parts.under), raised('^', &parts.over)),
        "rad" if parts.degree.trim().is_empty() => format!("\\sqrt{{{base}}}"),
        "rad" => format!("\\sqrt[{}]{{{base}}}", parts.degree.trim()),
        "nary" => {
            let sign = parts.character.unwrap_or_else(|| "∫".into());
            format!("{sign}{}{}{base}", raised('_', &parts.under), raised('^', &parts.over))
        }
        "d" => {
            let begin = parts.begin.unwrap_or_else(|| "(".into());
            let end = parts.end.unwrap_or_else(|| ")".into());
            format!("{begin}{}{end}", parts.base.join(&parts.separator.unwrap_or_else(|| "|".into())))
        }
        "func" => format!("{}{base}", parts.name),
        "limLow" | "limUpp" => format!("{base}{}", raised('_', &parts.under)),
        "m" | "eqArr" => parts.base.join("; "),
        "mr" => parts.base.join(", "),
        "acc" | "bar" | "groupChr" => base,
        _ => format!("{}{}{}", base, raised('_', &parts.under), raised('^', &parts.over)),
    })
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
            Node::Text(piece) if in_text => text.push_str(&piece),
            Node::End if xml.depth() < depth => return Ok(text),
            Node::End => in_text = false,
            Node::Eof => return Ok(text),
            Node::Text(_) => {}
        }
    }
}

/// A raised or lowered part after its sign; nothing where it is empty.
fn raised(sign: char, text: &str) -> String {
    let text = text.trim();
    if text.is_empty() { String::new() } else { format!("{sign}{{{text}}}") }
}
