//! What slides take from their layout and master: where a placeholder stands, and whether its paragraphs have bullets.

use std::collections::HashMap;
use std::rc::Rc;

use crate::contract::Refusal;
use crate::readers::Bounds;
use crate::readers::office::{Bullet, Line, Node, Package, Xml};

use super::shapes::{Bullets, Placeholder};

/// The most placeholders of a layout that are heeded.
const PLACEHOLDERS_MAX: usize = 500;

/// The layouts that slides have used so far.
#[derive(Default)]
pub struct Masters {
    layouts: HashMap<String, Rc<Layout>>,
    masters: HashMap<String, Rc<Sheet>>,
}

/// A layout on its master.
#[derive(Default)]
pub struct Layout {
    own: Sheet,
    master: Rc<Sheet>,
}

/// The placeholders of a layout or a master, and a master's style of bodies.
#[derive(Default)]
struct Sheet {
    placeholders: Vec<Place>,
    bodies: Bullets,
}

#[derive(Default)]
struct Place {
    placeholder: Placeholder,
    at: Option<(f64, f64)>,
    bullets: Bullets,
}

impl Masters {
    /// The layout of that part.
    pub fn layout(&mut self, package: &Package<'_>, part: &str) -> Result<Rc<Layout>, Refusal> {
        if let Some(layout) = self.layouts.get(part) {
            return Ok(Rc::clone(layout));
        }
        let mut layout = Layout::default();
        if let Some(text) = package.text(part)? {
            layout.own = Sheet::read(&text, package.bounds)?;
            let relations = package.relations(part)?;
            let master = relations.into_iter().find(|relation| relation.kind == "slideMaster");
            layout.master = self.master(package, &master.map(|master| master.target).unwrap_or_default())?;
        }
        let layout = Rc::new(layout);
        self.layouts.insert(part.to_owned(), Rc::clone(&layout));
        Ok(layout)
    }

    fn master(&mut self, package: &Package<'_>, part: &str) -> Result<Rc<Sheet>, Refusal> {
        if let Some(master) = self.masters.get(part) {
            return Ok(Rc::clone(master));
        }
        let text = package.text(part)?;
        let master = Rc::new(text.map(|text| Sheet::read(&text, package.bounds)).transpose()?.unwrap_or_default());
        self.masters.insert(part.to_owned(), Rc::clone(&master));
        Ok(master)
    }
}

impl Layout {
    /// Where a placeholder stands that does not say so itself.
    pub fn place(&self, placeholder: &Placeholder) -> Option<(f64, f64)> {
        let on = |place: Option<&Place>| place.and_then(|place| place.at);
        on(self.own.by_index(placeholder)).or_else(|| on(self.master.by_kind(placeholder)))
    }

    /// Gives each paragraph of a placeholder the bullet that it takes from its layout and master.
    pub fn bulleted(&self, placeholder: &Placeholder, mut lines: Vec<Line>) -> Vec<Line> {
        let is_body =
            *placeholder != Placeholder::default() && matches!(placeholder.kind.as_str(), "" | "body" | "obj");
        for line in lines.iter_mut().filter(|line| line.bullet.is_none()) {
            let level = line.level.min(8);
            let on = |place: Option<&Place>| place.and_then(|place| place.bullets[level].clone());
            let of_bodies = || if is_body { self.master.bodies[level].clone() } else { None };
            let own = on(self.own.by_index(placeholder));
            line.bullet = own.or_else(|| on(self.master.by_kind(placeholder))).or_else(of_bodies);
        }
        lines
    }
}

impl Sheet {
    fn read(text: &str, bounds: &Bounds) -> Result<Self, Refusal> {
        let mut xml = Xml::new(text, "a layout", bounds);
        let mut sheet = Self::default();
        let mut current: Option<Place> = None;
        loop {
            match xml.next()? {
                Node::Start(element) => match element.name() {
                    "sp" | "pic" | "graphicFrame" => sheet.placeholders.extend(current.replace(Place::default())),
                    "ph" => {
                        if let Some(place) = &mut current {
                            place.placeholder = Placeholder::of(&element);
                        }
                    }
                    "off" => {
                        if let Some(place) = current.as_mut().filter(|place| place.at.is_none()) {
                            place.at = Some((element.number("x").unwrap_or(0.0), element.number("y").unwrap_or(0.0)));
                        }
                    }
                    "lstStyle" => {
                        let bullets = bullets(&mut xml)?;
                        if let Some(place) = &mut current {
                            place.bullets = bullets;
                        }
                    }
                    "bodyStyle" => sheet.bodies = bullets(&mut xml)?,
                    _ => {}
                },
                Node::Eof => break,
                Node::End | Node::Text(_) => {}
            }
        }
        sheet.placeholders.extend(current);
        sheet.placeholders.retain(|place| place.placeholder != Placeholder::default());
        sheet.placeholders.truncate(PLACEHOLDERS_MAX);
        Ok(sheet)
    }

    /// The placeholder of a layout that a slide's fills: that of the same number, or of the same kind where it has none.
    fn by_index(&self, wanted: &Placeholder) -> Option<&Place> {
        if wanted.index.is_empty() {
            return self.by_kind(wanted);
        }
        self.placeholders.iter().find(|place| place.placeholder.index == wanted.index)
    }

    /// The placeholder of a master that one of a slide takes after. Numbers are another on each.
    fn by_kind(&self, wanted: &Placeholder) -> Option<&Place> {
        if *wanted == Placeholder::default() {
            return None;
        }
        let kind = |kind: &str| match kind {
            "" | "obj" => "body".to_owned(),
            "ctrTitle" => "title".to_owned(),
            _ => kind.to_owned(),
        };
        self.placeholders.iter().find(|place| kind(&place.placeholder.kind) == kind(&wanted.kind))
    }
}

/// The bullets of a style's levels.
fn bullets(xml: &mut Xml<'_>) -> Result<Bullets, Refusal> {
    let depth = xml.depth();
    let mut bullets = Bullets::default();
    while let Some(element) = xml.child(depth)? {
        let level = element.name().strip_prefix("lvl").and_then(|rest| rest.strip_suffix("pPr"));
        let Some(level) = level.and_then(|level| level.parse::<usize>().ok()) else { continue };
        while let Some(element) = xml.child(depth + 1)? {
            if let (Some(place), Some(bullet)) = (bullets.get_mut(level.wrapping_sub(1)), Bullet::of(&element)) {
                *place = Some(bullet);
            }
        }
    }
    Ok(bullets)
}
