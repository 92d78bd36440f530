//! Bytes, bits and seconds, formatted for people.

use std::fmt;
use std::str::FromStr;

use crate::size;

/// A number of bytes in command-line notation, such as `16GiB`; its output parses as input.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl FromStr for Bytes {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        size::parse(text).map(Self).map_err(|error| error.to_string())
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

/// A count of bytes in binary units, three digits: `531 B`, `52.1 KiB`, `1.00 GiB`.
pub fn bytes(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} B");
    }
    let steps = ((count.ilog2() / 10) as usize).min(UNITS.len());
    let value = count as f64 / 1024f64.powi(steps as i32);
    format!("{} {}", three_digits(value), UNITS[steps - 1])
}

/// A length in bits, as bytes if it is a whole number of them.
pub fn bits(count: u64) -> String {
    if count.is_multiple_of(8) { bytes(count / 8) } else { format!("{count} bit") }
}

/// Seconds: `12.3 ms`, `4.56 s`.
pub fn seconds(value: f64) -> String {
    if value < 1.0 {
        format!("{} ms", three_digits(value * 1e3))
    } else {
        format!("{} s", three_digits(value))
    }
}

fn three_digits(value: f64) -> String {
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
mod tests {
    use super::*;

    #[test]
    fn bytes_round_trip_through_text() {
        for text in ["1", "1023", "16GiB", "3MiB", "1KiB"] {
            assert_eq!(text.parse::<Bytes>().map(|bytes| bytes.to_string()), Ok(text.to_owned()));
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
}
