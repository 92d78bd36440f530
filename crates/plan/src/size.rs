//! Sizes in command-line notation.

use crate::{Error, Result};

const UNITS: [(&str, u32); 5] = [("KiB", 10), ("MiB", 20), ("GiB", 30), ("TiB", 40), ("B", 0)];

/// Parses `1GiB`, `256MiB`, `64B` or plain bytes.
///
/// # Errors
/// [`Error::Size`] for anything else, zero, or 2⁶⁴ and more.
pub fn parse(text: &str) -> Result<u64> {
    let bad = || Error::Size { found: text.to_owned() };
    let unit = UNITS.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, *shift)));
    let (digits, shift) = unit.unwrap_or((text, 0));
    let count: u64 = digits.trim_end().parse().map_err(|_| bad())?;
    count.checked_mul(1 << shift).filter(|&bytes| bytes > 0).ok_or_else(bad)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn sizes_parse() {
        for (text, bytes) in
            [("1GiB", 1 << 30), ("256MiB", 1 << 28), ("64B", 64), ("8 KiB", 8192), ("1000", 1000)]
        {
            assert_eq!(parse(text).unwrap(), bytes, "{text}");
        }
    }

    #[test]
    fn bad_sizes_are_named() {
        for text in ["", "GiB", "-1", "1GB", "1.5GiB", "0", "0MiB", "99999999999TiB"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with(&format!("the size `{text}`: expected bytes")), "{error}");
        }
    }
}
