//! Finds the rows of CSV and their fields, and refuses stray quotes.
//!
//! A row ends at a line feed, a carriage return, or both. A quote opens a quoted field at the
//! beginning of a field only; elsewhere in a field without quotes it is a letter. In a quoted field
//! two quotes stand for one, and only a delimiter or the end of the row may follow the closing
//! quote (RFC 4180, whose delimiter is a comma).

use std::borrow::Cow;
use std::ops::Range;

/// The fault of a quoted field without a closing quote.
const OPEN: &str = "a quote opens a field and is not closed: expected a closing quote";
/// The fault of a quoted field that goes on after its closing quote.
const AFTER: &str = "text after the closing quote of a field: expected a delimiter or the end of the row, \
     and two quotes for a quote within quotes";

/// Finds rows of at most `most` bytes.
pub(crate) struct RowScanner {
    most: usize,
    /// The byte between fields.
    delimiter: u8,
    /// The fields of the last whole row.
    fields: Vec<FieldSpan>,
    /// Number of line ends within its quotes.
    quoted_lines: u64,
}

/// A field of a row.
struct FieldSpan {
    /// Its bytes in the row, without the quotes around them.
    bytes: Range<usize>,
    /// Set if two quotes in it stand for one.
    doubled: bool,
}

/// The text from the beginning of a row on.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Scanned {
    /// A row, with its length in bytes, line end included.
    Row(usize),
    /// A row with a stray quote.
    Stray(StrayQuote),
    /// A row whose end is not there yet.
    Torn,
    /// A row of the greatest length without an end.
    TooLong,
}

/// A quote that RFC 4180 does not allow.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct StrayQuote {
    /// The place of the opening quote of the field.
    pub(crate) at: usize,
    /// The length up to the line end after it, where the next row begins.
    pub(crate) length: usize,
    /// The value found and the one expected.
    pub(crate) reason: &'static str,
}

/// The text from the beginning of a field on.
enum FieldScan {
    /// A field, and the place after it.
    Whole(FieldSpan, usize),
    /// A field with a stray quote.
    Stray(&'static str),
    /// A quoted field whose end is not there yet.
    OpenQuote,
    /// A field without quotes whose end is not there yet.
    Torn,
}

impl RowScanner {
    pub(crate) fn new(most: usize, delimiter: u8) -> Self {
        Self {
            most,
            delimiter,
            fields: Vec::new(),
            quoted_lines: 0,
        }
    }

    /// Finds the row at the beginning of a text. `ended` states that nothing follows the text.
    pub(crate) fn scan(&mut self, text: &[u8], ended: bool) -> Scanned {
        // Never beyond the longest row: an open quote would otherwise be searched through the whole
        // source at each row.
        let within = &text[..text.len().min(self.most)];
        let ended = ended && within.len() == text.len();
        let is_full = !ended && within.len() == self.most;

        self.fields.clear();
        self.quoted_lines = 0;
        let mut begin = 0;
        loop {
            // Only at the beginning of a field does a quote open one.
            let is_quoted = within.get(begin) == Some(&b'"');
            let found = if is_quoted {
                quoted(within, begin, self.delimiter, ended)
            } else {
                plain(within, begin, self.delimiter, ended)
            };

            match found {
                FieldScan::Whole(field, after) => {
                    if is_quoted {
                        self.quoted_lines += count_lines(&within[field.bytes.clone()]);
                    }
                    self.fields.push(field);
                    if within.get(after) != Some(&self.delimiter) {
                        return match line_end(within, after, ended) {
                            Some(length) => Scanned::Row(length),
                            None => unfinished(is_full),
                        };
                    }
                    begin = after + 1;
                }
                FieldScan::Stray(reason) => return stray(within, begin, reason, ended, is_full),
                // Given up at the greatest length: a stray quote must not take the rest of a long
                // source with it.
                FieldScan::OpenQuote if is_full => {
                    return stray(within, begin, OPEN, ended, is_full);
                }
                FieldScan::OpenQuote | FieldScan::Torn => return unfinished(is_full),
            }
        }
    }

    /// Number of fields of the last whole row.
    pub(crate) fn count(&self) -> usize {
        self.fields.len()
    }

    /// Number of lines of the last whole row.
    pub(super) fn lines(&self) -> u64 {
        self.quoted_lines + 1
    }

    /// A field of the last whole row, whose text begins with `row`. Empty beyond the last field.
    pub(super) fn field<'a>(&self, row: &'a [u8], index: usize) -> Cow<'a, [u8]> {
        let Some(FieldSpan { bytes, doubled }) = self.fields.get(index) else {
            return Cow::Borrowed(&[]);
        };

        let bytes = row.get(bytes.clone()).unwrap_or_default();
        if !doubled {
            return Cow::Borrowed(bytes);
        }

        // Within quotes, every quote is the first of two.
        let mut single = Vec::with_capacity(bytes.len());
        let mut rest = bytes.iter();
        while let Some(&byte) = rest.next() {
            single.push(byte);
            if byte == b'"' {
                rest.next();
            }
        }
        Cow::Owned(single)
    }
}

/// Finds the field without quotes that begins at `begin`.
fn plain(text: &[u8], begin: usize, delimiter: u8, ended: bool) -> FieldScan {
    let length = text[begin..]
        .iter()
        .position(|byte| *byte == delimiter || is_line_end(byte));
    let end = match length {
        Some(length) => begin + length,
        None if ended => text.len(),
        None => return FieldScan::Torn,
    };

    let field = FieldSpan {
        bytes: begin..end,
        doubled: false,
    };
    FieldScan::Whole(field, end)
}

/// Finds the quoted field whose opening quote is at `begin`.
fn quoted(text: &[u8], begin: usize, delimiter: u8, ended: bool) -> FieldScan {
    let first = begin + 1;
    let mut from = first;
    let mut doubled = false;

    loop {
        let Some(length) = text[from..].iter().position(|&byte| byte == b'"') else {
            return if ended {
                FieldScan::Stray(OPEN)
            } else {
                FieldScan::OpenQuote
            };
        };

        let quote = from + length;
        match text.get(quote + 1) {
            Some(b'"') => {
                doubled = true;
                from = quote + 2;
            }
            None if !ended => return FieldScan::OpenQuote,
            Some(byte) if *byte != delimiter && !is_line_end(byte) => {
                return FieldScan::Stray(AFTER);
            }
            None | Some(_) => {
                let field = FieldSpan {
                    bytes: first..quote,
                    doubled,
                };
                return FieldScan::Whole(field, quote + 1);
            }
        }
    }
}

/// The row with a stray quote at `at`. The next row begins after the line of that quote: the lines
/// after it may be rows of their own.
fn stray(text: &[u8], at: usize, reason: &'static str, ended: bool, is_full: bool) -> Scanned {
    match line_end(text, at, ended) {
        Some(length) => Scanned::Stray(StrayQuote { at, length, reason }),
        None => unfinished(is_full),
    }
}

fn unfinished(is_full: bool) -> Scanned {
    if is_full {
        Scanned::TooLong
    } else {
        Scanned::Torn
    }
}

/// The place after the first line end from `from` on. The end of a text that has ended is one, too.
/// A carriage return at the end of a text may be the first half of a line end.
pub(crate) fn line_end(text: &[u8], from: usize, ended: bool) -> Option<usize> {
    let length = text[from..].iter().position(is_line_end);
    let Some(at) = length.map(|length| from + length) else {
        return ended.then_some(text.len());
    };

    match (text[at], text.get(at + 1)) {
        (b'\r', Some(b'\n')) => Some(at + 2),
        (b'\r', None) => ended.then_some(at + 1),
        _ => Some(at + 1),
    }
}

/// Returns whether a byte ends a line, or belongs to its end.
pub(crate) fn is_line_end(byte: &u8) -> bool {
    matches!(byte, b'\r' | b'\n')
}

/// Number of line ends in a text: line feeds, carriage returns, and both together as one.
pub(crate) fn count_lines(text: &[u8]) -> u64 {
    let mut lines = 0;
    let mut before = 0;
    for &byte in text {
        lines += u64::from(byte == b'\r' || (byte == b'\n' && before != b'\r'));
        before = byte;
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The fields of all rows, and the places of rows with stray quotes.
    fn read(text: &[u8], most: usize) -> (Vec<Vec<String>>, Vec<usize>) {
        read_with(b',', text, most)
    }

    /// Same as [`read`], with this delimiter.
    fn read_with(delimiter: u8, text: &[u8], most: usize) -> (Vec<Vec<String>>, Vec<usize>) {
        let mut scanner = RowScanner::new(most, delimiter);
        let mut rows = Vec::new();
        let mut strays = Vec::new();
        let mut begin = 0;
        while begin < text.len() {
            let rest = &text[begin..];
            match scanner.scan(rest, true) {
                Scanned::Row(length) => {
                    let fields = (0..scanner.count()).map(|index| {
                        String::from_utf8_lossy(&scanner.field(rest, index)).into_owned()
                    });
                    rows.push(fields.collect());
                    begin += length;
                }
                Scanned::Stray(stray) => {
                    strays.push(begin + stray.at);
                    begin += stray.length;
                }
                Scanned::Torn | Scanned::TooLong => break,
            }
        }
        (rows, strays)
    }

    #[test]
    fn fields_are_split_at_commas_outside_quotes() {
        let text = b"a,\"b,\nc\",\"say \"\"hi\"\"\"\r\n,\"\",5\" disk\rlast,,";
        let expected = [
            vec!["a", "b,\nc", "say \"hi\""],
            vec!["", "", "5\" disk"],
            vec!["last", "", ""],
        ];
        assert_eq!(read(text, 100), (expected.map(texts).to_vec(), vec![]));
    }

    #[test]
    fn any_byte_is_a_delimiter() {
        let text = b"a,1\t\"b\tc\"\r\n\"d\",\te\n";
        let (rows, strays) = read_with(b'\t', text, 100);
        assert_eq!(rows, [texts(vec!["a,1", "b\tc"])]);
        assert_eq!(strays, [11], "a comma after a closing quote is text");
        let (rows, _) = read_with(b';', b"a;b,c\n", 100);
        assert_eq!(rows, [texts(vec!["a", "b,c"])]);
    }

    fn texts(fields: Vec<&str>) -> Vec<String> {
        fields.into_iter().map(str::to_owned).collect()
    }

    #[test]
    fn a_stray_quote_costs_its_own_line_only() {
        for (text, strays) in [
            ("a,1\nb,\"2\nc,3\n", vec![6]),
            ("a,1\nb,\"2\nc,\"3", vec![6, 11]),
            ("a,1\n\"b\"x,2\nc,3\n", vec![4]),
            ("a,1\r\"A \"B\" C\",2\rc,3\r", vec![4]),
            ("a,\"1\"\"\nc,3", vec![2]),
        ] {
            let (rows, found) = read(text.as_bytes(), 100);
            assert_eq!(found, strays, "{text:?}");
            for row in rows {
                assert!(row == ["a", "1"] || row == ["c", "3"], "{row:?}");
            }
        }

        // At the greatest length of a row, a quote that is still open is given up.
        let text = format!("b,\"2\n{}", "c,3\n".repeat(10));
        let (rows, strays) = read(text.as_bytes(), 16);
        assert_eq!((rows.len(), strays), (10, vec![2]));
    }

    #[test]
    fn a_row_is_whole_once_its_end_is_certain() {
        let mut scanner = RowScanner::new(8, b',');
        for text in ["a", "a,", "a\r", "\"a", "\"a\"", "\"a\"x", "\"a\"\r"] {
            assert_eq!(
                scanner.scan(text.as_bytes(), false),
                Scanned::Torn,
                "{text:?}"
            );
        }
        assert_eq!(scanner.scan(b"a\r\nb", false), Scanned::Row(3));
        assert_eq!(scanner.scan(b"a\rb", false), Scanned::Row(2));
        assert_eq!(scanner.scan(b"a\r", true), Scanned::Row(2));
        assert_eq!(scanner.scan(b"12345678", false), Scanned::TooLong);
        assert_eq!(scanner.scan(b"12345678", true), Scanned::Row(8));
        assert_eq!(scanner.scan(b"\"2345678\n", true), Scanned::TooLong);
    }

    #[test]
    fn lines_end_at_either_character_or_both() {
        assert_eq!(count_lines(b"a\nb\r\nc\rd\r\r\n\n"), 6);
        assert_eq!(count_lines(b"torn"), 0);
    }
}
