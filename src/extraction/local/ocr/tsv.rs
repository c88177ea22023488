//! The table that tesseract writes: a line for each page, block, paragraph, line and word, with its box and confidence.

use loom_extract::contract::BoundingBox;

use crate::extraction::frames::Words;

/// The level of a word.
const WORD: &str = "5";

/// The paragraphs of a table, their boxes in pixels times `scale`.
pub fn words(table: &str, scale: f32) -> Words {
    let mut paragraphs: Vec<(String, BoundingBox)> = Vec::new();
    let mut last = None;
    let (mut confidences, mut count) = (0.0, 0.0_f32);
    for line in table.lines() {
        let cells: Vec<&str> = line.splitn(12, '\t').collect();
        let &[WORD, page, block, paragraph, _, _, left, top, width, height, confidence, text] = cells.as_slice() else {
            continue;
        };
        let text = text.trim();
        let numbers = [left, top, width, height, confidence].map(|cell| cell.parse::<f32>().unwrap_or(f32::NAN));
        let [left, top, width, height, confidence] = numbers;
        if text.is_empty() || !numbers.iter().all(|number| number.is_finite()) || width < 0.0 || height < 0.0 {
            continue;
        }
        confidences += confidence.clamp(0.0, 100.0);
        count += 1.0;
        let sides = [left, top, left + width, top + height].map(|side| side * scale);
        let place = (page, block, paragraph);
        match paragraphs.last_mut().filter(|_| last == Some(place)) {
            Some((words, bbox)) => {
                words.push(' ');
                words.push_str(text);
                let [left, top, right, bottom] = bbox.0;
                bbox.0 = [left.min(sides[0]), top.min(sides[1]), right.max(sides[2]), bottom.max(sides[3])];
            }
            None => paragraphs.push((text.to_owned(), BoundingBox(sides))),
        }
        last = Some(place);
    }
    Words::Read { paragraphs, confidence: if count > 0.0 { confidences / count } else { 0.0 } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_become_paragraphs_with_boxes_around_them() {
        let table = "level\tpage_num\tblock_num\tpar_num\tline_num\tword_num\tleft\ttop\twidth\theight\tconf\ttext\n\
                     1\t1\t0\t0\t0\t0\t0\t0\t100\t100\t-1\t\n\
                     5\t1\t1\t1\t1\t1\t10\t20\t30\t10\t90\tTwo\n\
                     5\t1\t1\t1\t2\t1\t12\t40\t50\t10\t70\twords\n\
                     5\t1\t1\t2\t1\t1\t10\t60\t30\t10\t80\tNext\n\
                     5\t1\t1\t2\t1\t2\tx\t60\t30\t10\t80\tbroken\n\
                     5\t1\t1\t2\t1\t3\t10\t60\t30\t10\t80\t \n";
        let Words::Read { paragraphs, confidence } = words(table, 0.5) else { panic!("it was read") };
        let expected = [
            ("Two words".to_owned(), BoundingBox([5.0, 10.0, 31.0, 25.0])),
            ("Next".to_owned(), BoundingBox([5.0, 30.0, 20.0, 35.0])),
        ];
        assert_eq!(paragraphs, expected);
        assert!((confidence - 80.0).abs() < 0.01, "{confidence}");
    }
}
