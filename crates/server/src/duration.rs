//! Durations as text.

use std::time::Duration;

/// Longest accepted duration in seconds: a year.
const MAX_SECONDS: u64 = 365 * 24 * 60 * 60;

/// Parses a duration such as `10m`, `90s`, `250ms`, `2h`, `1d`, or `0`.
///
/// # Errors
/// A message with the expected form, for any other text and for more than a year.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    duration(text).ok_or_else(|| {
        format!(
            "`{text}`: expected a number with a unit ms, s, m, h or d, such as 10m, up to 365d, or 0"
        )
    })
}

/// Parses a duration; `None` for any other text and for more than a year.
fn duration(text: &str) -> Option<Duration> {
    let end = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (digits, unit) = text.split_at(end);
    let count: u64 = digits.parse().ok()?;

    if unit == "ms" {
        let duration = Duration::from_millis(count);
        return (duration.as_secs() < MAX_SECONDS).then_some(duration);
    }
    let seconds = match unit {
        "" if count == 0 => 0,
        "s" => 1,
        "m" => 60,
        "h" => 60 * 60,
        "d" => 24 * 60 * 60,
        _ => return None,
    };

    let total = count.checked_mul(seconds)?;
    (total <= MAX_SECONDS).then_some(Duration::from_secs(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_parse_with_their_unit() {
        for (text, milliseconds) in [
            ("0", 0),
            ("90s", 90_000),
            ("10m", 600_000),
            ("250ms", 250),
            ("2h", 7_200_000),
            ("1d", 86_400_000),
        ] {
            assert_eq!(
                parse_duration(text),
                Ok(Duration::from_millis(milliseconds)),
                "{text}"
            );
        }
        assert!(parse_duration("365d").is_ok());

        for bad in [
            "",
            "10",
            "m",
            "-1s",
            "1.5h",
            "1 s",
            "366d",
            "99999999999999999999s",
            "18446744073709551615ms",
        ] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
