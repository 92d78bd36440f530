//! Reads JSON Lines: one object per line.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use papir_core::Error as CoreError;
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::columns::{ColumnValue, value};
use super::encoding::other_encoding;
use super::input::{Input, without_mark};
use super::request::{Columns, Deletes};
use super::row::{Fault, OnRow, Position, SourceRow, is_deletion};
use crate::error::Result;
use crate::file::name_of;

/// Maximum length of a line in bytes. Bounds the memory of a line.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// The field that marks a row as a deletion, in a file of changes.
const DELETE: &str = "_delete";

/// The fields of a line, as written.
struct Fields<'a> {
    values: HashMap<String, &'a RawValue>,
    /// The names that several fields have.
    twins: Vec<String>,
}

impl<'a> Fields<'a> {
    /// The value of a field, if there is one. Several of this name are a fault.
    fn find(&self, name: &str) -> Result<Option<&'a RawValue>, Fault> {
        if self.twins.iter().any(|twin| twin == name) {
            let reason = format!("several fields `{name}`: expected one");
            return Err(Fault::Reason(reason));
        }
        Ok(self.values.get(name).copied())
    }
}

impl<'de> Deserialize<'de> for Fields<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(FieldsOfLine)
    }
}

/// Reads the fields of an object, and notes names that it has several times.
struct FieldsOfLine;

impl<'de> Visitor<'de> for FieldsOfLine {
    type Value = Fields<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a map")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut fields = Fields {
            values: HashMap::new(),
            twins: Vec::new(),
        };
        while let Some((name, value)) = map.next_entry::<String, &RawValue>()? {
            // Noted and not refused: a name that occurs twice matters only if its column is read.
            match fields.values.entry(name) {
                Entry::Occupied(known) => fields.twins.push(known.key().clone()),
                Entry::Vacant(free) => {
                    free.insert(value);
                }
            }
        }
        Ok(fields)
    }
}

/// Reads all rows and skips blank lines. Returns the bytes read.
pub(super) fn rows(
    path: &Path,
    input: Input<'_>,
    columns: Columns<'_>,
    on_row: &mut OnRow<'_>,
) -> Result<u64> {
    let mut reader = BufReader::with_capacity(1 << 20, input);
    let mut bytes = Vec::new();
    for line in 1.. {
        bytes.clear();
        // Up to the limit only: a file without line ends would be one line.
        let read = (&mut reader)
            .take(MAX_LINE_BYTES)
            .read_until(b'\n', &mut bytes)
            .map_err(|source| failed(path, source))?;
        if read == 0 {
            break;
        }

        if read as u64 == MAX_LINE_BYTES && !bytes.ends_with(b"\n") {
            let reason =
                format!("longer than {MAX_LINE_BYTES} bytes: expected one JSON object per line");
            on_row(Position::Line(line), Err(Fault::Reason(reason)))?;

            // The line may be as long as the source: its rest is not held in memory.
            reader
                .skip_until(b'\n')
                .map_err(|source| failed(path, source))?;
            continue;
        }

        let text = match line {
            1 => without_mark(&bytes),
            _ => bytes.as_slice(),
        };
        if !text.trim_ascii().is_empty() {
            on_row(Position::Line(line), row(text, columns))?;
        }
    }
    Ok(reader.get_ref().bytes)
}

/// The error for a source that cannot be read.
fn failed(path: &Path, source: io::Error) -> CoreError {
    CoreError::Io {
        what: format!("reading {}", name_of(path)),
        source,
    }
}

fn row(bytes: &[u8], columns: Columns<'_>) -> Result<SourceRow, Fault> {
    let text = std::str::from_utf8(bytes).map_err(|_| not_json_text(bytes))?;
    let fields: Fields<'_> = match serde_json::from_str(text) {
        Ok(fields) => fields,
        // No JSON has such bytes: the parser would name the first one and not the encoding.
        Err(_) if bytes.contains(&0) => return Err(not_json_text(bytes)),
        Err(error) => return Err(parse_fault(&error, "one JSON object per line")),
    };

    let key = match columns.key {
        Some(name) => bytes_of(field(&fields, name)?)?,
        None => Vec::new(),
    };

    // Looked at before the values: a deletion may lack them.
    let value = if is_deleted(&fields, columns.deletes)? {
        None
    } else {
        let names = columns.values.iter();
        Some(value(
            names.map(|name| Ok((name.as_str(), field(&fields, name)?))),
        )?)
    };
    Ok(SourceRow { key, value })
}

/// The fault of a line in another encoding.
fn not_json_text(bytes: &[u8]) -> Fault {
    let found = other_encoding(bytes).unwrap_or_default();
    Fault::Reason(format!("{found}: expected JSON text in UTF-8"))
}

/// Returns whether a row is a deletion.
fn is_deleted(fields: &Fields<'_>, deletes: Deletes<'_>) -> Result<bool, Fault> {
    let Deletes::Marked(name) = deletes else {
        return Ok(false);
    };
    if marked(fields, DELETE)? {
        return Ok(true);
    }

    match name {
        Some(name) => marked(fields, name),
        None => Ok(false),
    }
}

/// Returns whether a field is present and marks the row as a deletion.
fn marked(fields: &Fields<'_>, name: &str) -> Result<bool, Fault> {
    match fields.find(name)? {
        None => Ok(false),
        Some(value) if value.get() == "null" => Ok(false),
        Some(value) => is_deletion(&bytes_of(value)?),
    }
}

fn field<'a>(fields: &Fields<'a>, name: &str) -> Result<&'a RawValue, Fault> {
    fields.find(name)?.ok_or_else(|| {
        // Sorted: the map has another order at each run, and messages must not.
        let mut names: Vec<&str> = fields.values.keys().map(String::as_str).collect();
        names.sort_unstable();
        Fault::Missing {
            column: name.to_owned(),
            available: names.join(", "),
        }
    })
}

/// A field, which keeps its JSON in an object.
impl ColumnValue for &RawValue {
    fn alone(self) -> Result<Vec<u8>, Fault> {
        bytes_of(self)
    }

    fn member(self, _: &str) -> Result<String, Fault> {
        Ok(compact(self.get()))
    }
}

/// The characters of a JSON string; any other value as compact JSON.
fn bytes_of(value: &RawValue) -> Result<Vec<u8>, Fault> {
    if !value.get().starts_with('"') {
        return Ok(compact(value.get()).into_bytes());
    }

    let text: String = serde_json::from_str(value.get())
        .map_err(|error| parse_fault(&error, "a string of Unicode characters"))?;
    Ok(text.into_bytes())
}

/// The parser's message without its line number, which is always 1.
fn parse_fault(error: &serde_json::Error, expected: &str) -> Fault {
    let words = error.to_string();
    let found = words.split(" at line ").next().unwrap_or_default();
    Fault::Reason(format!(
        "{found} in column {}: expected {expected}",
        error.column()
    ))
}

/// Removes white space between JSON tokens; numbers keep every digit.
fn compact(json: &str) -> String {
    // State of the next character: inside a string, and escaped by a backslash.
    let mut quoted = false;
    let mut escaped = false;

    let mut compacted = String::new();
    for c in json.chars() {
        if quoted || !c.is_ascii_whitespace() {
            compacted.push(c);
        }

        let at_quote = c == '"' && !escaped;
        escaped = quoted && c == '\\' && !escaped;
        quoted ^= at_quote;
    }
    compacted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacting_leaves_strings_and_numbers_alone() {
        let json = r#"{ "a b" : [ 1.50 , 123456789012345678901234 , "x \" y \\" , null ] }"#;
        assert_eq!(
            compact(json),
            r#"{"a b":[1.50,123456789012345678901234,"x \" y \\",null]}"#
        );
    }
}
