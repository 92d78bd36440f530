//! Finds whole rows in a text that grows.

use std::path::Path;

use crate::error::Error;
use crate::file::name_of;
use crate::source::Format;

/// Maximum length of a row, and of the header of CSV, in bytes.
pub(super) const MAX_ROW: usize = 1 << 20;

/// Length of the whole rows at the beginning of a text: up to the last line end, in CSV outside
/// quotes. A row without a line end may still grow.
fn whole_rows(format: Format, text: &[u8]) -> usize {
    ends(format, text).last().unwrap_or(0)
}

/// Length of the first row, with its line end and the empty lines before it.
pub(super) fn first_row(format: Format, text: &[u8]) -> Option<usize> {
    let empty = text
        .iter()
        .take_while(|byte| matches!(byte, b'\r' | b'\n'))
        .count();
    ends(format, text).find(|&end| end > empty)
}

/// Length of the whole rows within the first `most` bytes of a text, or of the first row if it is
/// longer.
pub(super) fn rows_within(format: Format, text: &[u8], most: usize) -> usize {
    let whole = whole_rows(format, &text[..text.len().min(most)]);
    if whole > 0 {
        whole
    } else {
        first_row(format, text).unwrap_or(0)
    }
}

/// The error for a row, or a header, of more than [`MAX_ROW`] bytes.
pub(super) fn too_long(path: &Path, line: u64) -> Error {
    let reason = format!("a row of more than {MAX_ROW} bytes: expected a shorter one");
    Error::Line {
        file: name_of(path),
        line,
        reason,
    }
}

/// Number of lines in whole rows.
pub(super) fn lines(text: &[u8]) -> u64 {
    text.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The places after the line ends that end a row, from the beginning of one.
fn ends(format: Format, text: &[u8]) -> impl Iterator<Item = usize> {
    let mut place = Place::Begin;
    text.iter().enumerate().filter_map(move |(at, &byte)| {
        let inside = place == Place::Quoted;
        if format == Format::Csv {
            place = place.after(byte);
        }
        (byte == b'\n' && !inside).then_some(at + 1)
    })
}

/// A place in a field of CSV, by the rules of the reader of whole files.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Its beginning. Only here does a quote open one that may contain line ends.
    Begin,
    /// In a field without quotes, or after the closing quote: further quotes are letters.
    Plain,
    /// Within quotes.
    Quoted,
    /// After a quote within quotes: it closes them unless another one follows.
    Quote,
}

impl Place {
    /// The place after another byte.
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::Quote,
            (Self::Quoted, _) | (Self::Begin | Self::Quote, b'"') => Self::Quoted,
            (_, b',' | b'\n' | b'\r') => Self::Begin,
            _ => Self::Plain,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use csv::ReaderBuilder;
    use proptest::prelude::proptest;

    use super::*;

    /// The fields of all rows, as a build reads them.
    fn fields(text: &str) -> Vec<Vec<String>> {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        reader.into_deserialize().map(Result::unwrap).collect()
    }

    proptest! {
        /// A row ends at exactly the line ends after which the reader of whole files begins another
        /// one.
        #[test]
        fn rows_of_csv_end_where_its_reader_ends_them(text in "[\",\r\na]{0,24}") {
            let found: Vec<usize> = ends(Format::Csv, text.as_bytes()).collect();
            for (at, _) in text.match_indices('\n') {
                let before = &text[..=at];
                let next = [fields(before), vec![vec!["x".to_owned()]]].concat();
                let ends = fields(&format!("{before}x")) == next;
                assert_eq!(found.contains(&(at + 1)), ends, "{text:?} at {at}");
            }
        }
    }

    #[test]
    fn a_quote_within_a_field_is_a_letter() {
        let csv = b"k1,5\" disk\nk4,\"two\nlines\"\n";
        assert_eq!(ends(Format::Csv, csv).collect::<Vec<_>>(), [11, csv.len()]);
    }

    #[test]
    fn rows_end_at_line_ends_outside_quotes() {
        let csv = b"key,value\n1,\"two\nlines\"\n2,\"a \"\"quoted\"\" word\"\n3,torn";
        assert_eq!(whole_rows(Format::Csv, csv), csv.len() - 6);
        assert_eq!(whole_rows(Format::Csv, &csv[..16]), 10, "inside quotes");
        assert_eq!(first_row(Format::Csv, csv), Some(10));

        let json = b"{\"a\":\"\\\"\"}\n{\"b\"";
        assert_eq!((whole_rows(Format::JsonLines, json), lines(json)), (11, 1));

        assert_eq!(
            (
                whole_rows(Format::Csv, b"torn"),
                first_row(Format::Csv, b"torn")
            ),
            (0, None)
        );
    }
}
