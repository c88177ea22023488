//! Days of the calendar.

/// Days since 1970 as a date; `None` outside of the years 0 to 9999.
pub fn date(days: i64) -> Option<String> {
    // The proleptic calendar repeats every 400 years of 146,097 days; years begin with March here.
    let shifted = days.checked_add(719_468)?;
    let era = shifted.div_euclid(146_097);
    let of_era = shifted.rem_euclid(146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted_month + 2) / 5 + 1;
    let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
    let year = year_of_era + era.checked_mul(400)? + i64::from(month <= 2);
    (0..=9999).contains(&year).then(|| format!("{year:04}-{month:02}-{day:02}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (days, day) in [
            (0, Some("1970-01-01")),
            (-1, Some("1969-12-31")),
            (11_016, Some("2000-02-29")),
            (-719_468, Some("0000-03-01")),
            (2_932_896, Some("9999-12-31")),
            (2_932_897, None),
            (i64::MAX, None),
        ] {
            assert_eq!(date(days).as_deref(), day, "{days}");
        }
    }
}
