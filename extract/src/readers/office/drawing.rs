//! The text of shapes, which slides, workbooks and documents have alike.

use crate::contract::Refusal;

use super::equation::equation;
use super::escape::xml_escaped;
use super::xml::{Element, Xml};

/// A paragraph of a shape.
#[derive(Debug, Default)]
pub struct Line {
    pub text: String,
    /// How deep it is nested, from 0.
    pub level: usize,
    /// What stands before it, where the paragraph says so itself.
    pub bullet: Option<Bullet>,
}

/// What stands before a paragraph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Bullet {
    /// Nothing.
    None,
    /// A sign.
    Sign,
    /// A number of this shape, counted from this one.
    Number(String, u32),
}

impl Bullet {
    /// The bullet that an element of a paragraph's properties stands for.
    pub fn of(element: &Element<'_>) -> Option<Self> {
        match element.name() {
            "buNone" => Some(Self::None),
            "buChar" | "buBlip" => Some(Self::Sign),
            "buAutoNum" => {
                let shape = element.attribute("type").unwrap_or_default().into_owned();
                Some(Self::Number(shape, element.number("startAt").unwrap_or(1)))
            }
            _ => None,
        }
    }
}

/// The paragraphs of a shape's text, whose element has just begun.
pub fn text_body(xml: &mut Xml<'_>) -> Result<Vec<Line>, Refusal> {
    let depth = xml.depth();
    let mut lines = Vec::new();
    while let Some(element) = xml.child(depth)? {
        if element.name() == "p" {
            let mut line = Line::default();
            runs(xml, &mut line)?;
            if line.text.contains("_x") {
                line.text = xml_escaped(&line.text);
            }
            lines.push(line);
        }
    }
    Ok(lines)
}

fn runs(xml: &mut Xml<'_>, line: &mut Line) -> Result<(), Refusal> {
    let depth = xml.depth();
    while let Some(element) = xml.child(depth)? {
        match element.name() {
            "pPr" => {
                line.level = element.number("lvl").unwrap_or(0);
                while let Some(element) = xml.child(depth + 1)? {
                    line.bullet = Bullet::of(&element).or(line.bullet.take());
                }
            }
            // A field's number or date is that of the day it was saved.
            "fld" if element.attribute("type").is_some_and(|kind| kind == "slidenum") => {}
            "r" | "fld" => runs(xml, line)?,
            "t" => line.text.push_str(&xml.text()?),
            "br" => line.text.push('\n'),
            "m" | "oMath" | "oMathPara" => {
                let text = equation(xml)?;
                line.text.push_str(text.trim());
            }
            "AlternateContent" => {
                let before = line.text.len();
                while let Some(element) = xml.child(depth + 1)? {
                    if line.text.len() == before && matches!(element.name(), "Choice" | "Fallback") {
                        runs(xml, line)?;
                    }
                }
            }
            _ => {}
        }
    }
    Ok(())
}
