//! Texts of times and UUIDs, the same from every format with types.

use super::cell::Cell;
use super::row::Fault;

/// A unit of time: units per second, and decimal places of a second.
#[derive(Clone, Copy)]
pub(super) struct TimeScale {
    pub(super) per_second: i64,
    pub(super) places: usize,
}

pub(super) const MILLIS: TimeScale = TimeScale {
    per_second: 1_000,
    places: 3,
};
pub(super) const MICROS: TimeScale = TimeScale {
    per_second: 1_000_000,
    places: 6,
};
pub(super) const NANOS: TimeScale = TimeScale {
    per_second: 1_000_000_000,
    places: 9,
};

/// Year, month and day of the Gregorian calendar, `days` after 1970-01-01 (negative: before).
///
/// Counts from 1 March of the year 0, so that the leap day comes last in a year and the months'
/// lengths repeat as 31, 30, 31, 30, 31: month m starts on day ⌊(153 m + 2) / 5⌋.
fn civil(days: i64) -> (i64, u64, u64) {
    let days = days + 719_468;
    let era = days.div_euclid(146_097);
    let day_of_era = days.rem_euclid(146_097) as u64;
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;

    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let shifted = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 {
        shifted + 3
    } else {
        shifted - 9
    };

    // January and February belong to the year before, which began in March.
    let year = era * 400 + year_of_era as i64 + i64::from(month <= 2);
    (year, month, day)
}

/// `YYYY-MM-DD`; years before 0 and after 9999 have a sign.
pub(super) fn date(days: i64) -> String {
    let (year, month, day) = civil(days);
    if (0..=9999).contains(&year) {
        return format!("{year:04}-{month:02}-{day:02}");
    }
    format!("{year:+05}-{month:02}-{day:02}")
}

/// `HH:MM:SS.` and the fraction of a second.
fn clock(value: i64, unit: TimeScale) -> String {
    let TimeScale { per_second, places } = unit;
    let seconds = value / per_second;
    let fraction = value % per_second;
    let hour = seconds / 3600;
    let minute = seconds / 60 % 60;
    let second = seconds % 60;

    format!("{hour:02}:{minute:02}:{second:02}.{fraction:0places$}")
}

/// A time of day. Refuses a day and more.
pub(super) fn time(value: i64, unit: TimeScale) -> Result<Cell, Fault> {
    let day = 86_400 * unit.per_second;
    if (0..day).contains(&value) {
        return Ok(Cell::text(clock(value, unit)));
    }

    Err(Fault::Reason(format!(
        "a time of day of {value}/{} s: expected less than a day",
        unit.per_second
    )))
}

/// Date, `T`, time of day, and `Z` if it is in UTC.
pub(super) fn timestamp(value: i64, unit: TimeScale, is_utc: bool) -> Cell {
    let day = 86_400 * unit.per_second;
    let zone = if is_utc { "Z" } else { "" };
    Cell::text(format!(
        "{}T{}{zone}",
        date(value.div_euclid(day)),
        clock(value.rem_euclid(day), unit)
    ))
}

/// The bytes of a UUID as text: `00112233-4455-6677-8899-aabbccddeeff`.
pub(super) fn uuid(bytes: &[u8]) -> Cell {
    let mut uuid = String::new();
    for (i, byte) in bytes.iter().enumerate() {
        if matches!(i, 4 | 6 | 8 | 10) {
            uuid.push('-');
        }
        uuid += &format!("{byte:02x}");
    }
    Cell::text(uuid)
}
