//! Reads text files of elements.

use std::io::{BufRead, BufReader};
use std::path::Path;

use papir_core::Progress;
use papir_lookup::psi::Row;

use crate::error::{Error, Result};
use crate::file::name_of;
use crate::source::{Input, has_utf_16_mark, without_mark};

/// Maximum length of a line in bytes.
const MAX_LINE_BYTES: usize = 1 << 20;

/// Reads one element per line. With labels, the text after the first tab, or the first comma in a
/// line without a tab, is the element's label. Empty lines are skipped. A missing label and a line
/// that is too long are errors.
pub(super) fn rows(path: &Path, labels: bool, progress: &dyn Progress) -> Result<Vec<Row>> {
    let mut input = BufReader::new(Input::open(path, progress)?);
    let mut rows = Vec::new();
    let mut text = Vec::new();
    for line in 1.. {
        text.clear();
        let read = (&mut input)
            .take_line(&mut text)
            .map_err(Error::io("reading", path))?;
        if read == 0 {
            break;
        }

        // Only the beginning of such a line is in memory.
        if text.len() > MAX_LINE_BYTES {
            let reason = "longer than 1 MiB: expected an element";
            return Err(bad_line(path, line, reason));
        }

        // The elements of the other side would be in UTF-8, and none would match.
        if line == 1 && has_utf_16_mark(&text) {
            return Err(bad_line(path, line, "UTF-16: expected UTF-8"));
        }

        let begin = match line {
            1 => without_mark(&text),
            _ => text.as_slice(),
        };
        let trimmed = begin.strip_suffix(b"\n").unwrap_or(begin);
        let trimmed = trimmed.strip_suffix(b"\r").unwrap_or(trimmed);
        if trimmed.is_empty() {
            continue;
        }

        if !labels {
            rows.push(Row {
                element: trimmed.to_vec(),
                label: Vec::new(),
                line,
            });
        } else if let Some(row) = labelled(trimmed, line) {
            rows.push(row);
        } else {
            let reason = "no label: expected a tab or a comma after the element";
            return Err(bad_line(path, line, reason));
        }
    }
    Ok(rows)
}

/// The error for an invalid line.
fn bad_line(path: &Path, line: u64, reason: &str) -> Error {
    Error::Line {
        file: name_of(path),
        line,
        reason: reason.to_owned(),
    }
}

/// Splits a line into an element and its label.
fn labelled(text: &[u8], line: u64) -> Option<Row> {
    let at = |separator: u8| text.iter().position(|&byte| byte == separator);
    let at = at(b'\t').or_else(|| at(b','))?;

    Some(Row {
        element: text[..at].to_vec(),
        label: text[at + 1..].to_vec(),
        line,
    })
}

/// Readers of lines of bounded length.
trait TakeLine {
    /// Appends the next line, or the beginning of a line that is too long. Returns the bytes read.
    fn take_line(&mut self, text: &mut Vec<u8>) -> std::io::Result<usize>;
}

impl<R: BufRead> TakeLine for &mut R {
    fn take_line(&mut self, text: &mut Vec<u8>) -> std::io::Result<usize> {
        // Two bytes more than the limit, for a line break: a longer line exceeds the limit.
        std::io::Read::take(&mut **self, MAX_LINE_BYTES as u64 + 2).read_until(b'\n', text)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::NoProgress;

    use super::*;

    fn read(text: &[u8], labels: bool) -> Result<Vec<Row>> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("set.txt");
        std::fs::write(&path, text).unwrap();
        rows(&path, labels, &NoProgress)
    }

    #[test]
    fn lines_are_elements_and_labels_follow_tabs_or_commas() {
        let found = read(b"a\r\n\nb,1\nlast", false).unwrap();
        let found: Vec<_> = found
            .into_iter()
            .map(|row| (row.element, row.line))
            .collect();
        assert_eq!(
            found,
            [
                (b"a".to_vec(), 1),
                (b"b,1".to_vec(), 3),
                (b"last".to_vec(), 4)
            ]
        );

        let found = read(b"a,b\tc,d\ne,f,g\nh,\n", true).unwrap();
        let found: Vec<_> = found
            .into_iter()
            .map(|row| (row.element, row.label))
            .collect();
        let expected = [("a,b", "c,d"), ("e", "f,g"), ("h", "")];
        assert_eq!(
            found,
            expected
                .map(|(element, label)| (element.as_bytes().to_vec(), label.as_bytes().to_vec()))
        );

        let marked = read(b"\xef\xbb\xbfa\nb\n", false).unwrap();
        assert_eq!(marked[0].element, b"a", "without the byte order mark");
        let error = read(b"\xff\xfea\0\n\0", false).unwrap_err().to_string();
        assert!(error.contains("line 1: UTF-16"), "{error}");

        let error = read(b"a,1\nb\n", true).unwrap_err().to_string();
        assert!(error.contains("line 2: no label"), "{error}");
        let error = read(&vec![b'x'; MAX_LINE_BYTES + 1], false)
            .unwrap_err()
            .to_string();
        assert!(error.contains("line 1: longer"), "{error}");
        assert!(read(b"", false).unwrap().is_empty());
    }
}
