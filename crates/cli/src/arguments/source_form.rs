//! Options for the form of a source.

use std::ops::RangeInclusive;
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use papir_server::Login;
use papir_store::{BuildOptions, Format, KeyForm, KeyPattern, TextForm};

use super::network::Network;
use crate::failure::Failure;

/// Options for the form of a text, where its format leaves a choice.
#[derive(Args, Clone, Debug)]
pub(crate) struct TextArguments {
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
}

/// Options for the form that all keys must have.
#[derive(Args, Clone, Debug)]
pub(crate) struct KeyFormArguments {
    /// The number of bytes that each key has, or the fewest and the most. A row with another key is
    /// bad, as in a truncated file.
    #[arg(long, value_name = "N|MIN..MAX", value_parser = parse_lengths)]
    key_length: Option<RangeInclusive<usize>>,
    /// Require keys of hexadecimal digits, with letters in one case. A row with another key is bad.
    #[arg(long)]
    key_hex: bool,
    /// The regular expression that each key matches as a whole, as in `\+[1-9][0-9]{6,14}`. A row
    /// with another key is bad.
    #[arg(long, value_name = "REGEX")]
    key_pattern: Option<KeyPattern>,
}

impl TextArguments {
    /// The form of a text.
    pub(crate) fn form(&self) -> TextForm {
        TextForm {
            delimiter: self.delimiter,
            no_header: self.no_header,
            separator: self.separator.clone().map(String::into_bytes),
        }
    }

    /// The options, and whether each is given.
    pub(crate) fn given(&self) -> [(&'static str, bool); 3] {
        [
            ("--delimiter", self.delimiter.is_some()),
            ("--no-header", self.no_header),
            ("--separator", self.separator.is_some()),
        ]
    }
}

impl KeyFormArguments {
    /// The form of keys, which may be `binary`.
    pub(crate) fn form(&self, binary: bool) -> KeyForm {
        KeyForm {
            bytes: self.key_length.clone(),
            hex: self.key_hex,
            pattern: self.key_pattern.clone(),
            binary,
        }
    }

    /// The options, and whether each is given.
    pub(crate) fn given(&self) -> [(&'static str, bool); 3] {
        [
            ("--key-length", self.key_length.is_some()),
            ("--key-hex", self.key_hex),
            ("--key-pattern", self.key_pattern.is_some()),
        ]
    }
}

/// The files of a source, in order.
pub(crate) struct SourceFiles {
    pub(crate) first: PathBuf,
    pub(crate) more: Vec<PathBuf>,
}

impl SourceFiles {
    /// The files that paths and patterns name. The address of a server is no pattern.
    pub(crate) fn named(paths: &[PathBuf]) -> Result<Self, Failure> {
        let mut found = Vec::new();
        for path in paths {
            match address_of(path) {
                Some(_) => found.push(path.clone()),
                None => found.extend(papir_store::expand(path)?),
            }
        }

        let mut found = found.into_iter();
        Ok(Self {
            first: found.next().unwrap_or_default(),
            more: found.collect(),
        })
    }
}

/// The address of a PostgreSQL server, if a source is one.
fn address_of(source: &Path) -> Option<&str> {
    source.to_str().filter(|source| Login::is_address(source))
}

/// Options of commands that read a source of records.
#[derive(Args)]
pub(crate) struct SourceFormArguments {
    /// The source's format [default: from the extension .csv, .tsv, .tab, .jsonl, .ndjson, .txt
    /// (list), .parquet, .arrow, .arrows, .feather, .sqlite, .sqlite3 or .db, else from the first
    /// bytes]. Text may be compressed by gzip or zstd (.csv.gz), and so may raw records in a file
    /// named .gz or .zst.
    #[arg(long)]
    format: Option<SourceFormat>,
    #[command(flatten)]
    text: TextArguments,
    #[command(flatten)]
    keys: KeyFormArguments,
    /// Allow keys that are not UTF-8 in text sources. Without it, such a key is a bad row: text in
    /// another encoding would be looked up in vain.
    #[arg(long)]
    binary_keys: bool,
}

#[derive(Clone, Copy, ValueEnum)]
enum SourceFormat {
    Csv,
    Tsv,
    Jsonl,
    /// A key on each line; blank lines and lines that begin with # are left out.
    List,
    /// A key and a value on each line, with --separator between them.
    Pairs,
    /// An address and its names on each line, as in /etc/hosts: names are the keys.
    Hosts,
    Parquet,
    /// Apache Arrow: a file, which Feather version 2 is, or a stream.
    Arrow,
    Sqlite,
    Folder,
    Raw,
}

impl From<SourceFormat> for Format {
    fn from(format: SourceFormat) -> Self {
        match format {
            SourceFormat::Csv => Self::Csv,
            SourceFormat::Tsv => Self::Tsv,
            SourceFormat::Jsonl => Self::JsonLines,
            SourceFormat::List => Self::List,
            SourceFormat::Pairs => Self::Pairs,
            SourceFormat::Hosts => Self::Hosts,
            SourceFormat::Parquet => Self::Parquet,
            SourceFormat::Arrow => Self::Arrow,
            SourceFormat::Sqlite => Self::Sqlite,
            SourceFormat::Folder => Self::Folder,
            SourceFormat::Raw => Self::Raw,
        }
    }
}

impl SourceFormArguments {
    /// Options of a build to `out` from these files, or the files that they name as patterns, or a
    /// server, which is connected to over `network`. The format is given, or told by name or
    /// content.
    pub(crate) fn options(
        &self,
        files: &[PathBuf],
        record_bytes: Option<u64>,
        out: &Path,
        network: &Network,
    ) -> Result<BuildOptions, Failure> {
        let SourceFiles { first, more } = SourceFiles::named(files)?;
        let server = match address_of(&first) {
            Some(address) => Some(network.login(address)?),
            None => None,
        };

        let mut options = BuildOptions {
            more,
            server,
            format: self.format.map(Format::from),
            text: self.text.form(),
            keys: self.keys(),
            record_bytes,
            ..BuildOptions::new(first, out)
        };
        options.tell_format()?;
        Ok(options)
    }

    fn keys(&self) -> KeyForm {
        self.keys.form(self.binary_keys)
    }

    /// Returns whether any of the options is given.
    pub(crate) fn is_given(&self) -> bool {
        self.format.is_some()
            || self.text.form() != TextForm::default()
            || self.keys() != KeyForm::default()
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

/// Parses lengths: a number, or the least and the greatest as in `8..64`.
fn parse_lengths(text: &str) -> Result<RangeInclusive<usize>, String> {
    let (least, most) = text.split_once("..").unwrap_or((text, text));
    match (least.parse::<usize>(), most.parse::<usize>()) {
        (Ok(least), Ok(most)) if least <= most => Ok(least..=most),
        _ => Err("expected a number, or two in order as in 8..64".to_owned()),
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

    #[test]
    fn lengths_are_a_number_or_two_in_order() {
        assert_eq!(parse_lengths("40"), Ok(40..=40));
        assert_eq!(parse_lengths("8..64"), Ok(8..=64));
        for text in ["", "a", "..", "8..", "9..8", "1..2..3", "-1"] {
            assert!(parse_lengths(text).is_err(), "{text}");
        }
    }
}
