//! Rows that state the totals of others: which they are, and whether what they state is so.

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, Int64Array};
use arrow::datatypes::{DataType, Decimal128Type, Decimal256Type, i256};

use crate::decimal;
use crate::schema::{DESCRIBED_MAX, Description, Disagreement, TotalRow, Totals};

/// The longest label of a total, in bytes.
const LABEL_BYTES_MAX: usize = 80;
/// The most warnings about totals.
const WARNINGS_MAX: usize = 20;

/// What a row calls itself that adds up others, in lower case.
const TOTAL_WORDS: &[&str] = &[
    "total",
    "totals",
    "grand total",
    "sum",
    "sum total",
    "overall total",
    "total general",
    "total général",
    "totaal",
    "totale",
    "totalt",
    "summe",
    "gesamt",
    "gesamtsumme",
    "insgesamt",
    "endsumme",
    "suma",
    "soma",
    "summa",
    "somme",
    "ensemble",
    "razem",
    "ogółem",
    "celkem",
    "toplam",
    "genel toplam",
    "итого",
    "всего",
    "общий итог",
    "разом",
    "合計",
    "総計",
    "合计",
    "总计",
    "總計",
    "총계",
    "합계",
    "المجموع",
    "الإجمالي",
    "कुल",
    "योग",
];
/// The same of a part of the rows.
const SUBTOTAL_WORDS: &[&str] = &[
    "subtotal",
    "subtotals",
    "sub-total",
    "sub total",
    "sous-total",
    "zwischensumme",
    "subtotaal",
    "subtotale",
    "delsumma",
    "mezisoučet",
    "ara toplam",
    "промежуточный итог",
    "小計",
    "小计",
    "소계",
    "المجموع الفرعي",
    "उप-योग",
];

/// What was found.
pub(crate) struct Audit {
    /// Of each row whether it states totals.
    pub marks: BooleanArray,
    pub totals: Totals,
    pub warnings: Vec<String>,
}

/// A column of exact numbers.
struct Numbers<'a> {
    name: &'a str,
    values: &'a ArrayRef,
    /// Of all rows so far, and of those since the last total.
    all: Tally,
    block: Tally,
}

/// What is known of the numbers of some rows.
#[derive(Clone, Copy, Default)]
struct Tally {
    sum: i256,
    count: i128,
    range: Option<(i256, i256)>,
}

impl Tally {
    fn add(&mut self, value: i256) {
        self.sum = self.sum.wrapping_add(value);
        self.count += 1;
        self.range = Some(self.range.map_or((value, value), |(least, most)| (least.min(value), most.max(value))));
    }

    /// Whether a number is one that a total may state beside a sum: the average, the least or the greatest.
    fn explains(&self, stated: i256) -> bool {
        let is_extreme = self.range.is_some_and(|(least, most)| stated == least || stated == most);
        is_extreme || self.averages(stated)
    }

    /// Whether it is the average, as a number of as many decimal places would be rounded.
    fn averages(&self, stated: i256) -> bool {
        let Some(average) = decimal::divide(self.sum, i256::from_i128(self.count)) else { return false };
        let text = decimal::text(stated);
        let places = text.split_once('.').map_or(0, |(_, fraction)| fraction.len());
        let unit = decimal::power(u8::try_from(decimal::PLACES - places.min(decimal::PLACES)).unwrap_or(0));
        average.wrapping_sub(stated).wrapping_abs() < unit
    }
}

/// Finds the rows that call themselves totals and hold sums of the rows above them, and those whose sums are wrong.
///
/// A row is taken for a total only where its first text is such a name and one of its numbers is that sum. One that has no other
/// text is taken for one too where it is called a subtotal, or only totals follow it: a product that is called `Total` stays a row
/// like any other.
pub(crate) fn audit(description: &Description, row_ids: &Int64Array, arrays: &[(usize, ArrayRef)]) -> Audit {
    let texts: Vec<&ArrayRef> =
        arrays.iter().map(|(_, array)| array).filter(|array| *array.data_type() == DataType::Utf8).collect();
    let mut numbers: Vec<Numbers<'_>> = arrays
        .iter()
        .filter(|(_, array)| matches!(array.data_type(), DataType::Decimal128(..) | DataType::Decimal256(..)))
        .map(|(at, values)| Numbers {
            name: &description.columns[*at].name,
            values,
            all: Tally::default(),
            block: Tally::default(),
        })
        .collect();
    let mut audit =
        Audit { marks: BooleanArray::from(Vec::<bool>::new()), totals: Totals::default(), warnings: Vec::new() };
    let mut marks = vec![false; row_ids.len()];
    if !(0..row_ids.len()).any(|at| label(&texts, at).is_some()) {
        return Audit { marks: BooleanArray::from(marks), ..audit };
    }
    let last_row = (0..row_ids.len()).rev().find(|at| label(&texts, *at).is_none()).unwrap_or(0);
    for (at, mark) in marks.iter_mut().enumerate() {
        let found = label(&texts, at).and_then(|label| total(&numbers, at, &label, at > last_row));
        let Some(row) = found else {
            for column in &mut numbers {
                if let Some(value) = value(column.values, at) {
                    column.all.add(value);
                    column.block.add(value);
                }
            }
            continue;
        };
        *mark = true;
        let row = TotalRow { row_id: u64::try_from(row_ids.value(at)).unwrap_or(0), ..row };
        audit.note(row);
        for column in &mut numbers {
            column.block = Tally::default();
        }
    }
    audit.marks = BooleanArray::from(marks);
    audit
}

impl Audit {
    fn note(&mut self, row: TotalRow) {
        for Disagreement { column, stated, computed } in &row.disagreements {
            if self.warnings.len() < WARNINGS_MAX {
                self.warnings.push(format!(
                    "row {} ({}) states {stated} for {column:?}; the rows it adds up come to {computed}",
                    row.row_id, row.label
                ));
            }
        }
        self.totals.count += 1;
        if self.totals.first.len() < DESCRIBED_MAX {
            self.totals.first.push(row);
        }
    }
}

/// What a row calls itself, where that is the name of a total.
struct Label<'a> {
    text: &'a str,
    is_subtotal: bool,
    /// Whether it is no more than that name.
    is_whole: bool,
    /// Whether the row has no other text.
    is_alone: bool,
}

fn label<'a>(texts: &[&'a ArrayRef], at: usize) -> Option<Label<'a>> {
    let mut filled = texts.iter().filter(|array| array.is_valid(at)).map(|array| array.as_string::<i32>().value(at));
    let text = filled.next()?.trim();
    if text.is_empty() || text.len() > LABEL_BYTES_MAX {
        return None;
    }
    let folded = text.trim_end_matches([':', '.', ' ']).to_lowercase();
    let named = |words: &[&str]| {
        if words.contains(&folded.as_str()) {
            return Some(true);
        }
        let is_part = |word: &&str| {
            folded.strip_prefix(*word).is_some_and(|rest| rest.starts_with([' ', ':', '-', '(']))
                || folded.strip_suffix(*word).is_some_and(|rest| rest.ends_with([' ', '-']))
        };
        words.iter().any(is_part).then_some(false)
    };
    let is_alone = filled.all(|text| text.trim().is_empty());
    let found = |is_subtotal| move |is_whole| Label { text, is_subtotal, is_whole, is_alone };
    named(SUBTOTAL_WORDS).map(found(true)).or_else(|| named(TOTAL_WORDS).map(found(false)))
}

/// The row as a total, where what it holds says so.
fn total(numbers: &[Numbers<'_>], at: usize, label: &Label<'_>, is_last: bool) -> Option<TotalRow> {
    let stated: Vec<(&Numbers<'_>, i256)> =
        numbers.iter().filter_map(|column| value(column.values, at).map(|value| (column, value))).collect();
    let sums = |tally: fn(&Numbers<'_>) -> Tally| {
        let agrees = |(column, value): &&(&Numbers<'_>, i256)| {
            let tally = tally(column);
            tally.count > 0 && tally.sum == *value && !(tally.count > 1 && tally.sum == i256::ZERO)
        };
        stated.iter().filter(agrees).count()
    };
    let (of_block, of_all) = (sums(|column| column.block), sums(|column| column.all));
    let rows_above = stated.iter().map(|(column, _)| column.all.count).max().unwrap_or(0);
    let is_bare = label.is_whole && label.is_alone && rows_above >= 2;
    let is_total = of_block.max(of_all) > 0 || (is_bare && (label.is_subtotal || is_last));
    if !is_total {
        return None;
    }
    let is_subtotal = match of_block.cmp(&of_all) {
        std::cmp::Ordering::Greater => true,
        std::cmp::Ordering::Less => false,
        std::cmp::Ordering::Equal => label.is_subtotal,
    };
    let disagreements = stated.iter().filter_map(|(column, stated)| {
        let tally = if is_subtotal { column.block } else { column.all };
        let is_so = tally.count == 0 || tally.sum == *stated || tally.explains(*stated);
        (!is_so).then(|| Disagreement {
            column: column.name.to_owned(),
            stated: decimal::text(*stated),
            computed: decimal::text(tally.sum),
        })
    });
    let disagreements = disagreements.collect();
    Some(TotalRow { row_id: 0, label: label.text.to_owned(), is_subtotal, disagreements })
}

fn value(array: &ArrayRef, at: usize) -> Option<i256> {
    if array.is_null(at) {
        return None;
    }
    match array.data_type() {
        DataType::Decimal128(..) => Some(i256::from_i128(array.as_primitive::<Decimal128Type>().value(at))),
        DataType::Decimal256(..) => Some(array.as_primitive::<Decimal256Type>().value(at)),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
