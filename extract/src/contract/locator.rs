//! Where a block stands in its source.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Where something stands in its source. Lines, pages, slides and rows count from 1 and include both ends; characters
/// are Unicode scalar values, counted from 0, without the last.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Locator {
    /// Lines of a text.
    Lines {
        /// The first line.
        start: u64,
        /// The last line.
        end: u64,
        /// The first character.
        char_start: u64,
        /// One past the last character.
        char_end: u64,
    },
    /// A key of structured data.
    Key {
        /// The path to it, such as `server.tls.cert`.
        path: String,
        /// The first line.
        line_start: u64,
        /// The last line.
        line_end: u64,
    },
    /// Pages.
    Pages {
        /// The first page.
        start: u64,
        /// The last page.
        end: u64,
        /// The box around it, where it is on one page.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bbox: Option<BoundingBox>,
    },
    /// Slides.
    Slides {
        /// The first slide.
        start: u64,
        /// The last slide.
        end: u64,
    },
    /// Rows of a sheet, as its program numbers them; records of a file that has no sheets.
    Rows {
        /// The sheet's name; empty where there is none.
        sheet: String,
        /// The first row.
        start: u64,
        /// The last row.
        end: u64,
    },
}

/// Left, top, right and bottom in points (1/72 inch) from the top left corner of the page as it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct BoundingBox(pub [f32; 4]);

impl BoundingBox {
    /// The smallest box around both.
    #[must_use]
    pub fn around(self, other: Self) -> Self {
        let (one, other) = (self.0, other.0);
        Self([one[0].min(other[0]), one[1].min(other[1]), one[2].max(other[2]), one[3].max(other[3])])
    }
}
