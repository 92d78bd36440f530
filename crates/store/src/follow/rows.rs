//! Whole rows of a text that grows.

use std::path::Path;

use crate::error::Error;
use crate::names::name_of;
use crate::source::Format;

/// Longest row in bytes, and longest header of CSV.
pub(super) const MAX_ROW: usize = 1 << 20;

/// Length of the whole rows at the beginning of a text: up to the last line end, in CSV outside quotes. A
/// row without a line end may still grow.
pub(super) fn whole_rows(format: Format, text: &[u8]) -> usize {
    ends(format, text).last().unwrap_or(0)
}

/// Length of the first row, with its line end.
pub(super) fn first_row(format: Format, text: &[u8]) -> Option<usize> {
    ends(format, text).next()
}

/// Length of the whole rows within the first `most` bytes of a text, or of the first row if it is longer.
pub(super) fn rows_within(format: Format, text: &[u8], most: usize) -> usize {
    let whole = whole_rows(format, &text[..text.len().min(most)]);
    if whole > 0 { whole } else { first_row(format, text).unwrap_or(0) }
}

/// The error for a row, or a header, of more than [`MAX_ROW`] bytes.
pub(super) fn too_long(path: &Path, line: u64) -> Error {
    let reason = format!("a row of more than {MAX_ROW} bytes: expected a shorter one");
    Error::Line { file: name_of(path), line, reason }
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
