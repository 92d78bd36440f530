//! Tells the format of a file from its first bytes.

use std::io::Read;
use std::path::Path;

use papir_core::NoProgress;

use super::csv::{RowScanner, Scanned, is_line_end};
use super::encoding::other_encoding;
use super::format::Format;
use super::input::{Input, without_mark};
use super::lines::{host_words, is_address, key_of};
use crate::error::{Error, Result};

/// Bytes that are read.
const BEGIN_BYTES: u64 = 64 << 10;
/// The first bytes of a Parquet file.
const PARQUET: &[u8] = b"PAR1";
/// The first bytes of an Arrow file.
const ARROW: &[u8] = b"ARROW1\0\0";
/// The first bytes of an SQLite database.
const SQLITE: &[u8] = b"SQLite format 3\0";

/// The format of a regular file, compressed or not, by its first bytes. `None` if they fit none, or
/// if the path is no regular file.
///
/// # Errors
/// [`papir_core::Error::Io`], and [`Error::MissingFeature`] for a compressed file.
pub(crate) fn format_of_content(path: &Path) -> Result<Option<Format>> {
    // A pipe cannot be read twice.
    if !path.is_file() {
        return Ok(None);
    }

    let mut begin = Vec::new();
    Input::open_unpacked(path, &NoProgress)?
        .take(BEGIN_BYTES)
        .read_to_end(&mut begin)
        .map_err(Error::io("reading", path))?;

    if begin.starts_with(PARQUET) {
        return Ok(Some(Format::Parquet));
    }
    if begin.starts_with(ARROW) {
        return Ok(Some(Format::Arrow));
    }
    if begin.starts_with(SQLITE) {
        return Ok(Some(Format::Sqlite));
    }
    let is_whole = (begin.len() as u64) < BEGIN_BYTES;
    Ok(format_of_text(without_mark(&begin), is_whole))
}

/// The format of a text; `None` if it has no whole line, or is none. `is_whole` states that nothing
/// follows it.
fn format_of_text(text: &[u8], is_whole: bool) -> Option<Format> {
    let last_end = text.iter().rposition(is_line_end)?;
    // The last line of a part may be torn.
    let text = if is_whole { text } else { &text[..=last_end] };
    if other_encoding(text).is_some() || text.iter().any(is_control) {
        return None;
    }

    let lines: Vec<&[u8]> = text.split(is_line_end).filter_map(key_of).collect();
    match lines.first()?.first()? {
        b'{' => return Some(Format::JsonLines),
        // A JSON array, or XML: its lines are no keys.
        b'[' | b'<' => return None,
        _ => {}
    }

    if has_equal_rows(text, b'\t', is_whole) {
        return Some(Format::Tsv);
    }
    if has_equal_rows(text, b',', is_whole) {
        return Some(Format::Csv);
    }
    if lines.iter().all(|line| is_host(line)) {
        return Some(Format::Hosts);
    }
    if lines.iter().all(|line| is_pair(line)) {
        return Some(Format::Pairs);
    }
    Some(Format::List)
}

/// Returns whether a byte is in no text.
fn is_control(byte: &u8) -> bool {
    byte.is_ascii_control() && *byte != b'\t' && !is_line_end(byte)
}

/// Returns whether all rows have as many fields as the first, at least two.
fn has_equal_rows(text: &[u8], delimiter: u8, is_whole: bool) -> bool {
    let mut scanner = RowScanner::new(text.len() + 1, delimiter);
    let mut rest = text;
    let mut expected = None;

    while let Some(first) = rest.first() {
        if is_line_end(first) {
            rest = &rest[1..];
            continue;
        }

        match scanner.scan(rest, is_whole) {
            Scanned::Row(length) => {
                let found = scanner.count();
                if found < 2 || *expected.get_or_insert(found) != found {
                    return false;
                }
                rest = &rest[length..];
            }
            Scanned::Stray(_) => return false,
            // A quoted field goes on behind the part.
            Scanned::Torn | Scanned::TooLong => break,
        }
    }
    expected.is_some()
}

/// Returns whether a line has an address and at least a name.
fn is_host(line: &[u8]) -> bool {
    let mut words = host_words(line);
    words.next().is_some_and(is_address) && words.next().is_some()
}

/// Returns whether a line has a single colon, after a key without white space, and is no address of
/// a page.
fn is_pair(line: &[u8]) -> bool {
    let mut parts = line.split(|byte| *byte == b':');
    let key = parts.next().unwrap_or_default();
    let is_key = !key.is_empty() && !key.iter().any(u8::is_ascii_whitespace);
    let value = parts.next();
    is_key && value.is_some_and(|value| !value.starts_with(b"//")) && parts.next().is_none()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    use super::*;

    #[test]
    fn formats_are_told_from_the_first_lines() {
        for (text, expected) in [
            ("\u{feff}k,v\na,1\nb,\"2,\n3\"\n", Some(Format::Csv)),
            ("k\tv\r\n\r\na,b,c\t1\r\n", Some(Format::Tsv)),
            ("\n{\"k\":1}\n{", Some(Format::JsonLines)),
            (
                "# hosts\n127.0.0.1 localhost\n::1 localhost # here\n",
                Some(Format::Hosts),
            ),
            ("00ff:3\n01aa:12\n", Some(Format::Pairs)),
            ("a b\nc\n", Some(Format::List)),
            (
                "https://a.example/\nhttps://b.example/\n",
                Some(Format::List),
            ),
            ("127.0.0.1\n::1\n", Some(Format::List)),
            ("a,b\nc\n", Some(Format::List)),
            ("a,\"b\nc,d\n", Some(Format::List)),
            ("no line end", None),
            ("# comments only\n", None),
            ("[\n{\"k\":1}\n]\n", None),
            ("<list>\n</list>\n", None),
            ("\n\n", None),
            ("", None),
            ("\u{1}\u{2}\n", None),
            ("k\0,\0v\0\n\0", None),
        ] {
            let found = format_of_text(without_mark(text.as_bytes()), true);
            assert_eq!(found, expected, "{text:?}");
        }
        assert_eq!(format_of_text(b"K\xf6ln\n", true), None);
    }

    #[test]
    fn a_torn_last_line_does_not_count() {
        let rows = b"k,v\na,1\nb";
        assert_eq!(format_of_text(rows, true), Some(Format::List));
        assert_eq!(format_of_text(rows, false), Some(Format::Csv));
        assert_eq!(format_of_text(b"k,v\na,\"1\n2", false), Some(Format::Csv));
    }

    #[test]
    fn files_are_told_by_their_bytes_also_if_they_are_compressed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data");
        let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
        encoder.write_all(b"k,v\na,1\n").unwrap();
        let packed = encoder.finish().unwrap();

        for (bytes, expected) in [
            (&packed[..], Some(Format::Csv)),
            (b"PAR1\x15\x04", Some(Format::Parquet)),
            (b"ARROW1\0\0\xff\xff\xff\xff", Some(Format::Arrow)),
            (b"SQLite format 3\0\x10\0", Some(Format::Sqlite)),
            (b"\x7fELF\n\0", None),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(format_of_content(&path).unwrap(), expected, "{bytes:?}");
        }

        // Only the first part of a long text is read.
        std::fs::write(&path, "key,value\n".repeat(20_000)).unwrap();
        assert_eq!(format_of_content(&path).unwrap(), Some(Format::Csv));
        for other in [folder.path(), &folder.path().join("none")] {
            assert_eq!(format_of_content(other).unwrap(), None);
        }
    }
}
