//! What the number formats of a workbook say a number is.

use std::collections::HashMap;
use std::rc::Rc;

use crate::contract::Refusal;
use crate::readers::office::{Package, Xml};

/// The formats that every workbook has and none spells out.
const BUILT_IN: [(u32, &str); 27] = [
    (1, "0"),
    (2, "0.00"),
    (3, "#,##0"),
    (4, "#,##0.00"),
    (5, "$#,##0;-$#,##0"),
    (6, "$#,##0;-$#,##0"),
    (7, "$#,##0.00;-$#,##0.00"),
    (8, "$#,##0.00;-$#,##0.00"),
    (9, "0%"),
    (10, "0.00%"),
    (14, "m/d/yyyy"),
    (15, "d-mmm-yy"),
    (16, "d-mmm"),
    (17, "mmm-yy"),
    (18, "h:mm AM/PM"),
    (19, "h:mm:ss AM/PM"),
    (20, "h:mm"),
    (21, "h:mm:ss"),
    (22, "m/d/yyyy h:mm"),
    (37, "#,##0;(#,##0)"),
    (38, "#,##0;(#,##0)"),
    (39, "#,##0.00;(#,##0.00)"),
    (40, "#,##0.00;(#,##0.00)"),
    (45, "mm:ss"),
    (46, "[h]:mm:ss"),
    (47, "mm:ss.0"),
    (49, "@"),
];
/// Dates that East Asian programs have as built in.
const BUILT_IN_DATES: [std::ops::RangeInclusive<u32>; 2] = [27..=36, 50..=58];
/// The longest format that is looked at, in bytes; programs allow 255 characters.
const CODE_BYTES_MAX: usize = 1024;

/// What a number is by its format.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Meaning {
    /// A number that is shown as it is.
    #[default]
    Plain,
    /// A number that is shown by a format with more than digits in it.
    Shown(String),
    /// A day.
    Date,
    /// A day and a time.
    Datetime,
    /// A time of day.
    Time,
    /// A length of time.
    Duration,
}

/// The meaning of each style of cells.
#[derive(Default)]
pub struct Formats(Vec<Rc<Meaning>>);

impl Formats {
    /// Reads the part of styles.
    pub fn read(package: &Package<'_>, part: Option<&str>) -> Result<Self, Refusal> {
        let mut styles: Vec<u32> = Vec::new();
        let Some(text) = part.map(|part| package.text(part)).transpose()?.flatten() else { return Ok(Self::default()) };
        let mut own: HashMap<u32, String> = HashMap::new();
        let mut xml = Xml::new(&text, "the part of styles", package.bounds);
        xml.root()?;
        while let Some(element) = xml.child(1)? {
            match element.name() {
                "numFmts" => {
                    while let Some(element) = xml.child(2)? {
                        let code = element.attribute("formatCode").unwrap_or_default().into_owned();
                        own.insert(element.number("numFmtId").unwrap_or(0), code);
                    }
                }
                "cellXfs" => {
                    while let Some(element) = xml.child(2)? {
                        styles.push(element.number("numFmtId").unwrap_or(0));
                    }
                }
                _ => {}
            }
        }
        let mut known: HashMap<u32, Rc<Meaning>> = HashMap::new();
        let mut of = |id: &u32| {
            known
                .entry(*id)
                .or_insert_with(|| {
                    let built_in = BUILT_IN.iter().find(|(built_in, _)| built_in == id).map(|(_, code)| *code);
                    let is_date = BUILT_IN_DATES.iter().any(|range| range.contains(id));
                    Rc::new(match own.get(id).map(String::as_str).or(built_in) {
                        Some(code) => meaning(code),
                        None if is_date => Meaning::Date,
                        None => Meaning::Plain,
                    })
                })
                .clone()
        };
        Ok(Self(styles.iter().map(&mut of).collect()))
    }

    /// The meaning of numbers in a style.
    pub fn of(&self, style: usize) -> &Meaning {
        self.0.get(style).map_or(&Meaning::Plain, |meaning| meaning)
    }
}

/// What a format says a number is.
pub fn meaning(code: &str) -> Meaning {
    if code.len() > CODE_BYTES_MAX {
        return Meaning::Plain;
    }
    let marks = Marks::of(code);
    match marks {
        Marks { is_elapsed: true, .. } => Meaning::Duration,
        Marks { has_day: true, has_clock: true, .. } => Meaning::Datetime,
        Marks { has_day: true, .. } => Meaning::Date,
        Marks { has_clock: true, .. } => Meaning::Time,
        Marks { has_more_than_digits: true, has_digits: true, .. } => Meaning::Shown(code.to_owned()),
        _ => Meaning::Plain,
    }
}

/// What stands in a format outside of quotes.
#[derive(Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a mark that is there or not")]
struct Marks {
    is_elapsed: bool,
    has_day: bool,
    has_clock: bool,
    has_digits: bool,
    has_more_than_digits: bool,
}

impl Marks {
    fn of(code: &str) -> Self {
        let mut marks = Self::default();
        if code.to_ascii_lowercase().contains("general") {
            return marks;
        }
        // Only `m` can be months or minutes: minutes stand beside hours or seconds.
        let (mut months, mut minutes_or_months) = (false, false);
        let mut characters = code.chars().peekable();
        while let Some(character) = characters.next() {
            match character.to_ascii_lowercase() {
                '"' => {
                    characters.by_ref().take_while(|next| *next != '"').for_each(drop);
                    marks.has_more_than_digits = true;
                }
                '\\' => {
                    characters.next();
                    marks.has_more_than_digits = true;
                }
                '_' | '*' => {
                    characters.next();
                }
                '[' => {
                    let inside: String = characters.by_ref().take_while(|next| *next != ']').collect();
                    let inside = inside.to_ascii_lowercase();
                    let is_of = |letter: char| !inside.is_empty() && inside.chars().all(|c| c == letter);
                    marks.is_elapsed |= is_of('h') || is_of('m') || is_of('s');
                    marks.has_more_than_digits |= inside.starts_with('$');
                }
                'y' | 'd' => marks.has_day = true,
                'h' | 's' => marks.has_clock = true,
                'm' => {
                    minutes_or_months = true;
                    let mut run = 1;
                    while characters.next_if(|next| next.eq_ignore_ascii_case(&'m')).is_some() {
                        run += 1;
                    }
                    months |= run > 2;
                }
                'e' if characters.peek().is_some_and(|next| matches!(next, '+' | '-')) => {}
                '0' | '#' | '?' => marks.has_digits = true,
                ',' | '%' | '$' | '€' | '£' | '¥' => marks.has_more_than_digits = true,
                _ => {}
            }
        }
        marks.has_day |= months || (minutes_or_months && !marks.has_clock && !marks.has_digits);
        marks
    }
}
