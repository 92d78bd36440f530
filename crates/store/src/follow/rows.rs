//! Whole rows of a text that grows.

use crate::source::Format;

/// Length of the whole rows at the beginning of a text: up to the last line end, in CSV outside quotes. A
/// row without a line end may still grow.
pub(super) fn whole_rows(format: Format, text: &[u8]) -> usize {
    ends(format, text).last().unwrap_or(0)
}

/// Length of the first row, with its line end.
pub(super) fn first_row(format: Format, text: &[u8]) -> Option<usize> {
    ends(format, text).next()
}

/// Number of lines in whole rows.
pub(super) fn lines(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The places after the line ends that end a row. A quote within quotes is doubled, so each of them is
/// inside or outside by the number of quotes before.
fn ends(format: Format, text: &[u8]) -> impl Iterator<Item = usize> {
    let quoted = matches!(format, Format::Csv);
    let mut inside = false;
    text.iter().enumerate().filter_map(move |(at, &byte)| {
        inside ^= quoted && byte == b'"';
        (byte == b'\n' && !inside).then_some(at + 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_end_at_line_ends_outside_quotes() {
        let csv = b"key,value\n1,\"two\nlines\"\n2,\"a \"\"quoted\"\" word\"\n3,torn";
        assert_eq!(whole_rows(Format::Csv, csv), csv.len() - 6);
        assert_eq!(whole_rows(Format::Csv, &csv[..16]), 10, "inside quotes");
        assert_eq!(first_row(Format::Csv, csv), Some(10));
        let json = b"{\"a\":\"\\\"\"}\n{\"b\"";
        assert_eq!((whole_rows(Format::JsonLines, json), lines(json)), (11, 1));
        assert_eq!((whole_rows(Format::Csv, b"torn"), first_row(Format::Csv, b"torn")), (0, None));
    }
}
