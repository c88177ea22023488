//! Answers of random plans over random tables, held digit for digit against a plain reference on fractions.

mod made;
mod model;

use loom_extract::contract::Table;
use proptest::prelude::*;

use crate::harness::{Held, calculator, run};
use made::Case;

/// How many numbers a case is made from, at most.
const TAPE_LENGTH: usize = 1_500;

fn agrees(case: &Case) -> Result<(), TestCaseError> {
    let tables: Vec<Table> = case.tables.iter().map(made::MadeTable::table).collect();
    let held: Vec<Held> = tables.iter().map(Held::of).collect();
    for (held, made) in held.iter().zip(&case.tables) {
        prop_assert_eq!(&held.dataset.description.rejected.first, &Vec::new());
        let totals = made.rows.iter().filter(|row| row.is_total).map(|row| row.id).collect::<Vec<_>>();
        let found = held.dataset.description.totals.first.iter().map(|total| total.row_id).collect::<Vec<_>>();
        prop_assert_eq!(found, totals, "the rows that state totals");
    }
    let answer = run(&calculator(), &case.plan, &held).map_err(|error| TestCaseError::fail(format!("{error:?}")))?;
    let expected = model::expected(case);
    prop_assert_eq!(&answer.rows, &expected.rows, "{:#?}", case.plan);
    prop_assert_eq!(&answer.row_ids, &expected.row_ids, "{:#?}", case.plan);
    prop_assert_eq!(answer.truncated, expected.truncated);
    let columns = case.columns.len();
    prop_assert!(answer.columns.len() == columns && answer.rows.iter().all(|row| row.len() == columns));
    Ok(())
}

fn cases() -> impl Strategy<Value = Case> {
    prop::collection::vec(any::<u32>(), TAPE_LENGTH / 10..TAPE_LENGTH).prop_map(|tape| made::case(&tape))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 512, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn answers_are_those_of_the_reference(case in cases()) {
        agrees(&case)?;
    }
}
