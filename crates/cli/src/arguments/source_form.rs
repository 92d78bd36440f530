//! Options for the form of a source.

use std::path::{Path, PathBuf};

use clap::Args;
use papir_store::{BuildOptions, KeyForm, TextForm};

use crate::failure::Failure;

/// Options of commands that read a source of records.
#[derive(Args)]
pub(crate) struct SourceFormArguments {
    /// The byte between the fields of a csv or tsv source, as in `;` or `tab` [default: a comma, in
    /// tsv a tab].
    #[arg(long, value_name = "BYTE", value_parser = parse_delimiter)]
    delimiter: Option<u8>,
    /// Read the first row of a csv or tsv source as a row. Columns are then named by their numbers,
    /// from 1.
    #[arg(long)]
    no_header: bool,
    /// The text between key and value on each line of a pairs source, where it is first [default: a
    /// colon].
    #[arg(long, value_name = "TEXT")]
    separator: Option<String>,
    /// Allow keys that are not UTF-8 in text sources. Without it, such a key is a bad row: text in
    /// another encoding would be looked up in vain.
    #[arg(long)]
    binary_keys: bool,
}

/// Options of a build from these files, or the files that they name as patterns, to `out`.
pub(crate) fn of_files(files: &[PathBuf], out: &Path) -> Result<BuildOptions, Failure> {
    let mut found = Vec::new();
    for file in files {
        found.extend(papir_store::expand(file)?);
    }

    let mut found = found.into_iter();
    let first = found.next().unwrap_or_default();
    Ok(BuildOptions {
        more: found.collect(),
        ..BuildOptions::new(first, out)
    })
}

impl SourceFormArguments {
    /// Adds the form of the source to the options of a build.
    pub(crate) fn add_to(&self, options: BuildOptions) -> BuildOptions {
        BuildOptions {
            text: TextForm {
                delimiter: self.delimiter,
                no_header: self.no_header,
                separator: self.separator.clone().map(String::into_bytes),
            },
            keys: KeyForm {
                binary: self.binary_keys,
            },
            ..options
        }
    }
}

/// Parses a delimiter: a byte, `tab` or `\t`.
fn parse_delimiter(text: &str) -> Result<u8, String> {
    match text.as_bytes() {
        b"tab" | b"\\t" => Ok(b'\t'),
        [b'"' | b'\r' | b'\n'] => Err("a quote or a line end: expected another byte".to_owned()),
        [byte] => Ok(*byte),
        bytes => Err(format!("{} bytes: expected one, or tab", bytes.len())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn delimiters_are_single_bytes() {
        for (text, byte) in [(",", b','), (";", b';'), ("tab", b'\t'), ("\\t", b'\t')] {
            assert_eq!(parse_delimiter(text), Ok(byte), "{text}");
        }
        for text in ["", "\"", "\n", "::", "é"] {
            assert!(parse_delimiter(text).is_err(), "{text}");
        }
    }
}
