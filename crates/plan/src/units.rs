//! Parsing of sizes, and formatting of quantities.

use std::fmt;
use std::str::FromStr;

use crate::{Error, Result};

/// A number of bytes in the notation of the command line, for example `16GiB`. Its output parses to
/// the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_bytes(text)
            .map(Self)
            .map_err(|error| error.to_string())
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whole = [("GiB", 30), ("MiB", 20), ("KiB", 10)]
            .into_iter()
            .find(|(_, bits)| self.0.is_multiple_of(1 << bits));
        match whole {
            Some((unit, bits)) => write!(f, "{}{unit}", self.0 >> bits),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Suffixes of byte counts, and log₂ of their factors.
const BYTE_SUFFIXES: [(&str, u32); 5] =
    [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];

/// Parses a number of bytes: `1GiB`, `256MiB`, `64B`, or without a unit.
///
/// # Errors
/// [`Error::Size`] for malformed text, zero, and numbers of 2⁶⁴ or more.
pub fn parse_bytes(text: &str) -> Result<u64> {
    // `B` ends all other units, so it is the last one that is tried.
    let unit = BYTE_SUFFIXES
        .iter()
        .find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let Ok(count) = digits.trim_end().parse::<u64>() else {
        return Err(bad_size(text));
    };

    match count.checked_mul(1 << shift) {
        Some(bytes) if bytes > 0 => Ok(bytes),
        _ => Err(bad_size(text)),
    }
}

fn bad_size(text: &str) -> Error {
    Error::Size {
        found: text.to_owned(),
    }
}

/// Formats a number of bytes in binary units with three digits: `531 B`, `52.1 KiB`, `1.00 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let steps = ((count.ilog2() / 10) as usize).min(UNITS.len());
    let value = count as f64 / 1024f64.powi(steps as i32);
    format!("{} {}", three_digits(value), UNITS[steps - 1])
}

/// Formats a length in bits, as bytes if it is a whole number of bytes.
pub fn bits(count: u64) -> String {
    if count.is_multiple_of(8) {
        bytes(count / 8)
    } else {
        format!("{count} bit")
    }
}

/// Formats seconds: `12.3 ms`, `4.56 s`.
pub fn seconds(value: f64) -> String {
    if value < 1.0 {
        format!("{} ms", three_digits(value * 1e3))
    } else {
        format!("{} s", three_digits(value))
    }
}

/// Formats a duration: in seconds below a minute, in minutes below two hours, else in hours.
pub fn duration(seconds: f64) -> String {
    if seconds < 60.0 {
        format!("{seconds:.0} s")
    } else if seconds < 7200.0 {
        format!("{:.0} min", seconds / 60.0)
    } else {
        format!("{:.1} h", seconds / 3600.0)
    }
}

/// Formats a number with three digits.
fn three_digits(value: f64) -> String {
    // The limits are those of rounding: from 9.995 on, two decimals give 10.00.
    let decimals = if value < 9.995 {
        2
    } else if value < 99.95 {
        1
    } else {
        0
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip_through_text() {
        for text in ["1", "1023", "16GiB", "3MiB", "1KiB"] {
            assert_eq!(
                text.parse::<Bytes>().map(|bytes| bytes.to_string()),
                Ok(text.to_owned())
            );
        }
        assert!("many".parse::<Bytes>().is_err() && "0".parse::<Bytes>().is_err());
    }

    #[test]
    fn numbers_are_formatted() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1023), "1023 B");
        assert_eq!(bytes(1024), "1.00 KiB");
        assert_eq!(bytes(53_350), "52.1 KiB");
        assert_eq!(bytes(1 << 30), "1.00 GiB");
        assert_eq!(bytes(u64::MAX), "16777216 TiB");
        assert_eq!(bits(512), "64 B");
        assert_eq!(bits(3), "3 bit");
        assert_eq!(seconds(0.0123), "12.3 ms");
        assert_eq!(seconds(4.556), "4.56 s");
        assert_eq!(seconds(123.4), "123 s");
    }

    #[test]
    fn sizes_parse() {
        for (text, bytes) in [
            ("1GiB", 1 << 30),
            ("256MiB", 1 << 28),
            ("64B", 64),
            ("8 KiB", 8192),
            ("1000", 1000),
        ] {
            assert_eq!(parse_bytes(text).unwrap(), bytes, "{text}");
        }
    }

    #[test]
    fn bad_sizes_are_named() {
        for text in [
            "",
            "GiB",
            "-1",
            "1GB",
            "1.5GiB",
            "0",
            "0MiB",
            "99999999999TiB",
        ] {
            let error = parse_bytes(text).unwrap_err().to_string();
            assert!(
                error.starts_with(&format!("the size `{text}`: expected bytes")),
                "{error}"
            );
        }
    }
}
