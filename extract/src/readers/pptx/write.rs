//! From the paragraphs of a shape to blocks.

use crate::contract::{BlockKind, Refusal};
use crate::readers::office::{Bullet, Line, Output, numbered};

/// How deep paragraphs are nested at most.
const LEVELS: usize = 9;

/// Adds paragraphs: those with a bullet or a number are items of a list.
pub fn lines(lines: Vec<Line>, output: &mut Output<'_>) -> Result<(), Refusal> {
    let mut counts = [0_u32; LEVELS];
    for line in lines {
        if line.text.trim().is_empty() {
            continue;
        }
        let level = line.level.min(LEVELS - 1);
        counts[level + 1..].fill(0);
        let depth = u8::try_from(level).unwrap_or(0) + 1;
        match line.bullet {
            Some(Bullet::Number(shape, start)) => {
                let number = start.saturating_add(counts[level]);
                counts[level] = counts[level].saturating_add(1);
                let text = format!("{} {}", numbered(&shape, number), line.text.trim());
                output.push(BlockKind::ListItem, depth, &text)?;
            }
            Some(Bullet::Sign) => {
                counts[level] = 0;
                output.push(BlockKind::ListItem, depth, &line.text)?;
            }
            Some(Bullet::None) | None => {
                counts[level] = 0;
                output.push(BlockKind::Paragraph, 0, &line.text)?;
            }
        }
    }
    Ok(())
}
