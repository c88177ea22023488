//! Files that are written here by hand.

mod damage;
mod layout;

use std::fmt::Write as _;
use std::io::Write as _;
use std::time::Duration;

use proptest::prelude::*;

use super::read;
use crate::contract::{
    Artifact, ArtifactLimits, BlockKind, BoundingBox, CONTRACT_VERSION, Locator, Refusal, RefusalCode, Request, check,
    lost,
};
use crate::readers::{Bounds, Context, NoOcr, Ocr, OcrFailure, OcrParagraph, OcrText};

/// A file of pages of 300 by 400 points, with fonts `F` (plain), `B` (bold) and `C` (of one width). `extra` is added to each
/// page, `catalog` to the catalog, `objects` are numbered from 20.
#[derive(Default)]
struct Written<'a> {
    pages: Vec<String>,
    extra: &'a str,
    catalog: &'a str,
    objects: Vec<String>,
}

impl Written<'_> {
    fn of(pages: &[&str]) -> Self {
        Self { pages: pages.iter().map(|page| (*page).to_owned()).collect(), ..Self::default() }
    }

    fn bytes(&self) -> Vec<u8> {
        let mut objects: Vec<(usize, String)> = vec![
            (1, format!("<< /Type /Catalog /Pages 2 0 R {} >>", self.catalog)),
            (3, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".into()),
            (4, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica-Bold /Encoding /WinAnsiEncoding >>".into()),
            (5, "<< /Type /Font /Subtype /Type1 /BaseFont /Courier /Encoding /WinAnsiEncoding >>".into()),
        ];
        let mut kids = String::new();
        for (at, page) in self.pages.iter().enumerate() {
            let number = 100 + at * 2;
            let _ = write!(kids, "{number} 0 R ");
            let fonts = "/Resources << /Font << /F 3 0 R /B 4 0 R /C 5 0 R >> /XObject << /I 20 0 R >> >>";
            let contents = number + 1;
            objects.push((
                number,
                format!(
                    "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 300 400] {fonts} /Contents {contents} 0 R {} >>",
                    self.extra
                ),
            ));
            objects.push((contents, format!("<< /Length {} >>\nstream\n{page}\nendstream", page.len())));
        }
        objects.push((2, format!("<< /Type /Pages /Count {} /Kids [{kids}] >>", self.pages.len())));
        objects.extend(self.objects.iter().enumerate().map(|(at, object)| (20 + at, object.clone())));
        objects.sort_by_key(|(number, _)| *number);
        let mut bytes = b"%PDF-1.7\n".to_vec();
        let mut table = String::new();
        for (number, object) in &objects {
            let _ = write!(table, "{number} 1\n{:010} 00000 n \n", bytes.len());
            let _ = write!(bytes, "{number} 0 obj\n{object}\nendobj\n");
        }
        let start = bytes.len();
        let _ = write!(
            bytes,
            "xref\n0 1\n0000000000 65535 f \n{table}trailer\n<< /Size 400 /Root 1 0 R >>\nstartxref\n{start}\n%%EOF\n"
        );
        bytes
    }
}

/// Lines of text, each at a place: x, y from the bottom, font and size, text.
fn lines(lines: &[(f32, f32, &str, &str)]) -> String {
    let line =
        |(x, y, font, text): &(f32, f32, &str, &str)| format!("BT /{font} Tf 1 0 0 1 {x} {y} Tm ({text}) Tj ET\n");
    lines.iter().map(line).collect()
}

fn read_with(bytes: &[u8], bounds: Bounds, ocr: &dyn Ocr) -> Result<Artifact, Refusal> {
    let mut artifact = read(bytes, &Request::default(), &Context { bounds, ocr })?;
    (artifact.contract, artifact.format) = (CONTRACT_VERSION, "pdf".into());
    check(&mut artifact, "pdf", &ArtifactLimits::default()).expect("what is read keeps to the contract");
    Ok(artifact)
}

fn read_whole(bytes: &[u8]) -> Artifact {
    read_with(bytes, Bounds::within(Duration::from_mins(1)), &NoOcr).expect("the file is read")
}

/// The blocks of a file: kind, level and text, tables as their rows.
fn blocks(written: &Written<'_>) -> Vec<String> {
    let artifact = read_whole(&written.bytes());
    let table = |at: u32| {
        let table = &artifact.tables[at as usize];
        let names: Vec<&str> = table.columns.iter().map(|column| column.name.as_str()).collect();
        let rows =
            table.rows.iter().map(|row| row.1.iter().map(crate::contract::Cell::shown).collect::<Vec<_>>().join("|"));
        std::iter::once(names.join("|")).chain(rows).collect::<Vec<_>>().join(" / ")
    };
    artifact
        .blocks
        .iter()
        .map(|block| match (block.kind, block.table) {
            (_, Some(at)) => format!("table: {}", table(at)),
            (BlockKind::Heading, _) => format!("h{}: {}", block.level, block.text),
            (BlockKind::Paragraph, _) => block.text.clone(),
            (kind, _) => format!("{}: {}", kind.name(), block.text),
        })
        .collect()
}

const COLUMNS: [(f32, f32, &str, &str); 4] = [
    (20.0, 300.0, "F 10", "The council read the yearly"),
    (20.0, 286.0, "F 10", "report and"),
    (170.0, 300.0, "F 10", "accepted the plan for the"),
    (170.0, 286.0, "F 10", "next year."),
];

/// Draws the picture that is object 20.
const PICTURE: &str = "q 250 0 0 300 20 50 cm /I Do Q";
