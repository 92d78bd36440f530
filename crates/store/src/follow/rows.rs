//! Finds whole rows in a text that grows.

use std::path::Path;

use crate::error::Error;
use crate::file::name_of;
use crate::source::{Format, RowScanner, Scanned, StrayQuote, TextForm, is_line_end, line_end};

/// Maximum length of a row, and of the header of CSV, in bytes.
pub(super) const MAX_ROW: usize = 1 << 20;

/// The form of a text that grows.
#[derive(Clone, Copy, Debug)]
pub(super) struct GrowingForm {
    pub(super) format: Format,
    /// The byte between fields, in formats with fields.
    delimiter: u8,
    no_header: bool,
}

impl GrowingForm {
    /// The form of a format of text.
    pub(super) fn new(format: Format, text: &TextForm) -> Self {
        Self {
            format,
            delimiter: text.delimiter_in(format),
            no_header: text.no_header,
        }
    }

    /// Returns whether the first row tells the number of columns of all rows.
    pub(super) fn has_first_row(self) -> bool {
        self.format.has_fields()
    }

    /// Returns whether this row names the columns, and is no row of the database.
    pub(super) fn has_header(self) -> bool {
        self.has_first_row() && !self.no_header
    }
}

/// The beginning of a text that grows, at the beginning of a row.
#[derive(Clone, Copy)]
pub(super) struct GrowingText<'a> {
    pub(super) form: GrowingForm,
    pub(super) text: &'a [u8],
    /// Set if nothing follows: the last row is whole without a line end.
    pub(super) ended: bool,
}

impl<'a> GrowingText<'a> {
    /// Length of the first row, with its line end and the empty lines before it.
    pub(super) fn first_row(&self) -> Option<usize> {
        let empty = self.text.iter().copied().take_while(is_line_end).count();
        self.ends().find(|&end| end > empty)
    }

    /// Length of the whole rows within the first `most` bytes, or of the first row if it is longer;
    /// 0 without a whole row.
    pub(super) fn rows_within(&self, most: usize) -> usize {
        // Whole rows within the limit are found without the rest of the text, which is looked at
        // only if the first row is longer.
        let length = self.text.len().min(most);
        let within = Self {
            text: &self.text[..length],
            ended: self.ended && length == self.text.len(),
            ..*self
        };

        match within.ends().last() {
            Some(whole) => whole,
            None => self.first_row().unwrap_or(0),
        }
    }

    /// The places after whole rows and empty lines.
    fn ends(self) -> Ends<'a> {
        Ends {
            text: self,
            scanner: RowScanner::new(MAX_ROW, self.form.delimiter),
            begin: 0,
        }
    }
}

/// The places in a text after whole rows and empty lines.
struct Ends<'a> {
    text: GrowingText<'a>,
    scanner: RowScanner,
    begin: usize,
}

impl Iterator for Ends<'_> {
    type Item = usize;

    fn next(&mut self) -> Option<usize> {
        let GrowingText { form, text, ended } = self.text;
        let rest = &text[self.begin..];
        let first = rest.first()?;

        let length = if form.format == Format::JsonLines {
            let end = rest.iter().position(|&byte| byte == b'\n');
            end.map(|end| end + 1).or(ended.then_some(rest.len()))
        } else if !form.has_first_row() || is_line_end(first) {
            line_end(rest, 0, ended)
        } else {
            match self.scanner.scan(rest, ended) {
                Scanned::Row(length) | Scanned::Stray(StrayQuote { length, .. }) => Some(length),
                Scanned::Torn | Scanned::TooLong => None,
            }
        };

        self.begin += length?;
        Some(self.begin)
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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use csv::ReaderBuilder;
    use proptest::prelude::proptest;

    use super::*;

    /// The places after the rows and empty lines of a text that may grow.
    fn ends(text: &str) -> Vec<usize> {
        growing(Format::Csv, text.as_bytes()).ends().collect()
    }

    fn growing(format: Format, text: &[u8]) -> GrowingText<'_> {
        GrowingText {
            form: GrowingForm::new(format, &TextForm::default()),
            text,
            ended: false,
        }
    }

    /// The fields of all rows, as another reader finds them.
    fn fields(text: &str) -> Vec<Vec<String>> {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .from_reader(text.as_bytes());
        reader.into_deserialize().map(Result::unwrap).collect()
    }

    proptest! {
        /// A row ends at exactly the line ends after which another reader begins another row, in a
        /// text without stray quotes.
        #[test]
        fn rows_of_csv_end_where_its_reader_ends_them(
            rows in "(((a{0,2}|\"(a|,|\n|\"\"){0,4}\"),){0,3}a?(\n|\r\n)){0,3}",
        ) {
            let found = ends(&rows);
            for (at, _) in rows.match_indices('\n') {
                let before = &rows[..=at];
                let next = [fields(before), vec![vec!["x".to_owned()]]].concat();
                let ends = fields(&format!("{before}x")) == next;
                assert_eq!(found.contains(&(at + 1)), ends, "{rows:?} at {at}");
            }
        }
    }

    #[test]
    fn a_quote_within_a_field_is_a_letter() {
        let csv = "k1,5\" disk\nk4,\"two\nlines\"\n";
        assert_eq!(ends(csv), [11, csv.len()]);
    }

    #[test]
    fn a_row_with_a_stray_quote_ends_with_its_line() {
        let csv = "a,\"1\nb,\"2\nc,3\n";
        assert_eq!(ends(csv), [5], "the second quote may still be closed");

        let ended = GrowingText {
            ended: true,
            ..growing(Format::Csv, csv.as_bytes())
        };
        assert_eq!(ended.ends().collect::<Vec<_>>(), [5, 10, 14]);

        // Given up once the row is too long.
        let open = format!("a,\"1\n{}", "b,2\n".repeat(MAX_ROW / 4));
        assert!(ends(&open[..MAX_ROW - 1]).is_empty());
        assert_eq!(ends(&open)[..2], [5, 9]);
    }

    #[test]
    fn rows_end_at_line_ends_outside_quotes() {
        let csv = b"key,value\n1,\"two\nlines\"\n2,\"a \"\"quoted\"\" word\"\n3,torn";
        let whole = |text| growing(Format::Csv, text).rows_within(MAX_ROW);
        assert_eq!(whole(csv), csv.len() - 6);
        assert_eq!(whole(&csv[..16]), 10, "inside quotes");
        assert_eq!(growing(Format::Csv, csv).first_row(), Some(10));

        let json = b"{\"a\":\"\\\"\"}\n{\"b\"";
        assert_eq!(growing(Format::JsonLines, json).rows_within(MAX_ROW), 11);

        // Other text than JSON may also end its lines by carriage returns.
        let list = growing(Format::List, b"a\rb\r\n\"c\n\"d\r");
        assert_eq!(list.ends().collect::<Vec<_>>(), [2, 5, 8]);
        let tsv = growing(Format::Tsv, b"a\t\"b\nc\"\nd,\"e\n");
        assert_eq!(tsv.ends().collect::<Vec<_>>(), [8, 13]);

        let torn = growing(Format::Csv, b"torn");
        let end = GrowingText {
            ended: true,
            ..torn
        };
        assert_eq!(torn.first_row(), None);
        assert_eq!(end.first_row(), Some(4));
    }
}
