//! Reads text without columns: lists of keys, pairs, and hosts files.
//!
//! | format | a line | left out |
//! |---|---|---|
//! | list | a key, without white space at its ends | blank lines, lines that begin with `#` |
//! | pairs | a key, a separator, a value | blank lines |
//! | hosts | an address, the value of each name after it | blank lines, text from `#` on |

mod reader;

use std::net::IpAddr;
use std::path::Path;

use super::encoding::other_encoding;
use super::form::TextForm;
use super::format::Format;
use super::input::Input;
use super::row::{Fault, OnRow, Position, SourceRow};
use crate::error::Result;
use reader::LineReader;

/// The rule by which lines become rows.
#[derive(Clone, Copy)]
pub(super) enum LineRule<'a> {
    /// A key per line, with an empty value.
    Keys,
    /// A key and a value per line, with this separator between them.
    Pairs(&'a [u8]),
    /// An address and its names.
    Hosts,
}

impl<'a> LineRule<'a> {
    /// The rule of a format, with the separator of a form.
    pub(super) fn new(format: Format, text: &'a TextForm) -> Self {
        match format {
            Format::Pairs => Self::Pairs(text.separator.as_deref().unwrap_or(b":")),
            Format::Hosts => Self::Hosts,
            _ => Self::Keys,
        }
    }
}

/// Reads all rows. Returns the bytes read.
pub(super) fn rows(
    path: &Path,
    input: Input<'_>,
    rule: LineRule<'_>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let mut reader = LineReader::new(path, input);

    while let Some(line) = reader.next_line()? {
        let position = Position::Line(line);
        match (reader.text(), rule) {
            (Err(fault), _) => on_row(position, Err(fault))?,
            (Ok(text), LineRule::Keys) => {
                if let Some(key) = key_of(text) {
                    on_row(position, Ok(row(key, b"")))?;
                }
            }
            (Ok(text), LineRule::Pairs(separator)) => {
                if !text.trim_ascii().is_empty() {
                    on_row(position, pair(text, separator))?;
                }
            }
            (Ok(text), LineRule::Hosts) => hosts(text, position, on_row)?,
        }
    }

    Ok(reader.bytes())
}

fn row(key: &[u8], value: &[u8]) -> SourceRow {
    SourceRow {
        key: key.to_vec(),
        value: Some(value.to_vec()),
    }
}

/// The key on a line of a list; `None` for a blank line and a comment.
pub(super) fn key_of(line: &[u8]) -> Option<&[u8]> {
    let key = line.trim_ascii();
    let is_key = !key.is_empty() && !key.starts_with(b"#");
    is_key.then_some(key)
}

/// The key and the value around the first separator of a line.
fn pair(line: &[u8], separator: &[u8]) -> Result<SourceRow, Fault> {
    let found = line
        .windows(separator.len())
        .position(|window| window == separator);

    match found {
        Some(0) => Err(Fault::Reason(format!(
            "no key before `{}`: expected one",
            separator.escape_ascii()
        ))),
        Some(at) => Ok(row(&line[..at], &line[at + separator.len()..])),
        None => Err(Fault::Reason(format!(
            "no `{}`: expected a key and a value around it",
            separator.escape_ascii()
        ))),
    }
}

/// Passes each name on a line of a hosts file with its address.
fn hosts(line: &[u8], position: Position<'_>, on_row: &mut OnRow<'_>) -> Result<()> {
    let mut words = host_words(line);
    let Some(address) = words.next() else {
        return Ok(());
    };
    if !is_address(address) {
        return on_row(position, Err(no_address(line, address)));
    }

    let mut has_names = false;
    for name in words {
        has_names = true;
        on_row(position, Ok(row(name, address)))?;
    }
    if has_names {
        return Ok(());
    }
    let reason = "an address without names: expected a name after it".to_owned();
    on_row(position, Err(Fault::Reason(reason)))
}

/// The words on a line of a hosts file: an address and its names; none of a comment.
pub(super) fn host_words(line: &[u8]) -> impl Iterator<Item = &[u8]> {
    let text = line.split(|byte| *byte == b'#').next().unwrap_or_default();
    text.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

/// Returns whether a word is an address of IPv4 or IPv6, which may have a zone as in `fe80::1%lo0`.
pub(super) fn is_address(word: &[u8]) -> bool {
    let text = std::str::from_utf8(word).unwrap_or_default();
    let address = text.split('%').next().unwrap_or_default();
    address.parse::<IpAddr>().is_ok()
}

/// The fault of a line that does not begin with an address.
fn no_address(line: &[u8], found: &[u8]) -> Fault {
    if let Some(encoding) = other_encoding(line) {
        return Fault::Reason(format!("{encoding}: expected UTF-8"));
    }

    let shown = found[..found.len().min(64)].escape_ascii();
    Fault::Reason(format!(
        "`{shown}` is no address: expected an address and its names"
    ))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Cursor;

    use papir_core::NoProgress;

    use super::*;

    /// The rows of a text, or their faults, each after its line.
    fn read(text: &str, rule: LineRule<'_>) -> Vec<String> {
        let stream = Box::new(Cursor::new(text.as_bytes().to_vec()));
        let input = Input::of("text", stream, &NoProgress);
        let mut found = Vec::new();
        rows(Path::new("text"), input, rule, &mut |position, row| {
            let row = match row {
                Ok(SourceRow { key, value }) => {
                    let bytes = [key, b"=".to_vec(), value.unwrap()].concat();
                    String::from_utf8(bytes).unwrap()
                }
                Err(fault) => fault.to_string(),
            };
            found.push(format!("{position}: {row}"));
            Ok(())
        })
        .unwrap();
        found
    }

    #[test]
    fn lists_have_a_key_on_each_line() {
        let text = "\u{feff}a b\r\n\r\n# comment\r\n  # another\r\n\t c#d \r\n,\"e\"";
        let expected = ["line 1: a b=", "line 5: c#d=", "line 6: ,\"e\"="];
        assert_eq!(read(text, LineRule::Keys), expected);
        assert!(read("\n \n#\n", LineRule::Keys).is_empty());
    }

    #[test]
    fn pairs_are_split_at_the_first_separator() {
        let text = "a:1:2\n\n#b: 3\nc\n:4\nd:\n";
        let expected = [
            "line 1: a=1:2",
            "line 3: #b= 3",
            "line 4: no `:`: expected a key and a value around it",
            "line 5: no key before `:`: expected one",
            "line 6: d=",
        ];
        assert_eq!(read(text, LineRule::Pairs(b":")), expected);
        let expected = ["line 1: a: b=c => d"];
        assert_eq!(read("a: b => c => d", LineRule::Pairs(b" => ")), expected);
    }

    #[test]
    fn hosts_have_addresses_and_names() {
        let text = "# hosts\n127.0.0.1\tlocalhost me # here\n\nfe80::1%lo0 localhost\n0.0.0.0\n\
             ads.example\n";
        let expected = [
            "line 2: localhost=127.0.0.1",
            "line 2: me=127.0.0.1",
            "line 4: localhost=fe80::1%lo0",
            "line 5: an address without names: expected a name after it",
            "line 6: `ads.example` is no address: expected an address and its names",
        ];
        assert_eq!(read(text, LineRule::Hosts), expected);
    }
}
