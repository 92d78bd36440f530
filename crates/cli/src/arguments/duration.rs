//! Durations in command-line notation: `500ms`, `30s`, `10m`, `2h`, `30d`.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use papir_server::parse_duration;

/// A duration given on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Span(pub(crate) Duration);

/// Units and their lengths in milliseconds, largest first.
const UNITS: [(&str, u64); 5] = [
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1000),
    ("ms", 1),
];

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        parse_duration(text).map(Self)
    }
}

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let milliseconds = self.0.as_millis();
        let mut units = UNITS.into_iter().filter(|_| milliseconds > 0);
        match units.find(|(_, factor)| milliseconds.is_multiple_of(u128::from(*factor))) {
            Some((unit, factor)) => write!(f, "{}{unit}", milliseconds / u128::from(factor)),
            None => f.write_str("0"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spans_round_trip_through_text() {
        for text in ["0", "500ms", "30s", "90s", "10m", "2h", "30d"] {
            assert_eq!(text.parse::<Span>().unwrap().to_string(), text);
        }
        assert_eq!("60s".parse::<Span>().unwrap().to_string(), "1m");
    }
}
