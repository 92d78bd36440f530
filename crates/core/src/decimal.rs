//! Decimal numbers in headers and files.

/// Parses a decimal number. Returns `None` for a sign, a leading zero, any other character, no
/// digit, or a number of 2⁶⁴ or more, so that a number has one text.
pub fn decimal(text: &str) -> Option<u64> {
    // `parse` takes a plus sign and leading zeros.
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    let leading_zero = text.len() > 1 && text.starts_with('0');
    if !digits || leading_zero {
        return None;
    }
    text.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_has_one_text() {
        for number in [0, 7, 10, u64::MAX] {
            assert_eq!(decimal(&number.to_string()), Some(number));
        }
        for other in [
            "",
            "+7",
            "-7",
            "07",
            "00",
            " 7",
            "7 ",
            "7_0",
            "0x7",
            "7.0",
            "٧",
            "18446744073709551616",
        ] {
            assert_eq!(decimal(other), None, "{other:?}");
        }
    }
}
