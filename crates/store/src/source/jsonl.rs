//! JSON Lines: one object a line.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use papir_core::Progress;
use papir_lookup::Entry;
use serde_json::value::RawValue;

use super::{Columns, json_object};
use crate::{Error, Result};

/// The longest line, in bytes: bounds what is held in memory at once.
const MAX_LINE_BYTES: u64 = 16 << 20;

/// The fields of one line, as they are written.
type Fields<'a> = HashMap<String, &'a RawValue>;

/// Reads all rows. Lines of white space are skipped.
pub(super) fn rows(path: &Path, columns: Columns<'_>, progress: &dyn Progress) -> Result<Vec<Entry>> {
    let file = File::open(path).map_err(Error::io("opening", path))?;
    progress.stage("reading", file.metadata().map_or(0, |metadata| metadata.len()));
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let (mut rows, mut bytes, mut told) = (Vec::new(), Vec::new(), 0);
    for line in 1.. {
        bytes.clear();
        let read = (&mut reader).take(MAX_LINE_BYTES).read_until(b'\n', &mut bytes);
        if read.map_err(Error::io("reading", path))? == 0 {
            break;
        }
        if !bytes.trim_ascii().is_empty() {
            rows.push(row(&bytes, columns, line).map_err(|fault| fault.at(path, line))?);
        }
        told += bytes.len() as u64;
        if told >= 1 << 20 {
            progress.advance(std::mem::take(&mut told));
        }
    }
    progress.advance(told);
    Ok(rows)
}

/// What is wrong with a line.
enum Fault {
    Reason(String),
    Missing { column: String, available: String },
}

impl Fault {
    fn at(self, path: &Path, line: u64) -> Error {
        let file = path.display().to_string();
        match self {
            Self::Reason(reason) => Error::Line { file, line, reason },
            Self::Missing { column, available } => {
                Error::MissingColumn { file: format!("{file}, line {line}"), column, available }
            }
        }
    }
}

fn row(bytes: &[u8], columns: Columns<'_>, line: u64) -> Result<Entry, Fault> {
    if bytes.len() as u64 == MAX_LINE_BYTES && !bytes.ends_with(b"\n") {
        let reason = format!("longer than {MAX_LINE_BYTES} bytes: expected one JSON object a line");
        return Err(Fault::Reason(reason));
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        Fault::Reason(format!("not UTF-8 from byte {} on: expected JSON text", error.valid_up_to() + 1))
    })?;
    let fields: Fields<'_> =
        serde_json::from_str(text).map_err(|error| parse_fault(&error, "one JSON object a line"))?;
    let key = columns.key.map(|name| bytes_of(field(&fields, name)?)).transpose()?.unwrap_or_default();
    Ok(Entry { key, value: value(&fields, columns.values)?, line })
}

fn field<'a>(fields: &Fields<'a>, name: &str) -> Result<&'a RawValue, Fault> {
    fields.get(name).copied().ok_or_else(|| {
        let mut names: Vec<&str> = fields.keys().map(String::as_str).collect();
        names.sort_unstable();
        Fault::Missing { column: name.to_owned(), available: names.join(", ") }
    })
}

/// One field by itself, several as an object, none as nothing.
fn value(fields: &Fields<'_>, columns: &[String]) -> Result<Vec<u8>, Fault> {
    match columns {
        [] => Ok(Vec::new()),
        [name] => bytes_of(field(fields, name)?),
        several => {
            let member = |name: &'_ String| Ok((name.clone(), compact(field(fields, name)?.get())));
            let members = several.iter().map(member).collect::<Result<Vec<_>, Fault>>()?;
            Ok(json_object(members.iter().map(|(name, json)| (name.as_str(), json.clone()))))
        }
    }
}

/// A string's own bytes; other values as compact JSON.
fn bytes_of(value: &RawValue) -> Result<Vec<u8>, Fault> {
    if !value.get().starts_with('"') {
        return Ok(compact(value.get()).into_bytes());
    }
    let text: String = serde_json::from_str(value.get())
        .map_err(|error| parse_fault(&error, "a string of Unicode characters"))?;
    Ok(text.into_bytes())
}

/// The parser's words without its line number, which is that of a text of one line.
fn parse_fault(error: &serde_json::Error, expected: &str) -> Fault {
    let words = error.to_string();
    let found = words.split(" at line ").next().unwrap_or_default();
    Fault::Reason(format!("{found} in column {}: expected {expected}", error.column()))
}

/// JSON without white space between its tokens; numbers keep every digit.
fn compact(json: &str) -> String {
    let (mut quoted, mut escaped) = (false, false);
    let keep = |c: &char| {
        let keep = quoted || !c.is_ascii_whitespace();
        let closes = *c == '"' && !escaped;
        escaped = quoted && *c == '\\' && !escaped;
        quoted ^= closes;
        keep
    };
    json.chars().filter(keep).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compacting_leaves_strings_and_numbers_alone() {
        let json = r#"{ "a b" : [ 1.50 , 123456789012345678901234 , "x \" y \\" , null ] }"#;
        assert_eq!(compact(json), r#"{"a b":[1.50,123456789012345678901234,"x \" y \\",null]}"#);
    }
}
