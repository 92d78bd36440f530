//! Arguments for the format and columns of changes.

use std::path::Path;

use clap::{Args, ValueEnum};
use papir_store::{Format, UpdateOptions};

use super::source_form::{KeyFormArguments, TextArguments};
use crate::failure::Failure;

/// The format, form and columns of changes.
#[derive(Args, Clone, Debug)]
pub(crate) struct ChangeArguments {
    /// The format of the changes [default: from the extension .csv, .tsv, .tab, .jsonl, .ndjson or
    /// .txt (list), in `update` else from the first bytes]. Lines of lists, pairs and hosts files
    /// have their keys, and set values only; a list is for databases without values.
    #[arg(long)]
    format: Option<ChangesFormat>,
    #[command(flatten)]
    text: TextArguments,
    #[command(flatten)]
    keys: KeyFormArguments,
    /// The column or field of the keys or record numbers; by default that of the database's source,
    /// or `index` if it had none.
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// The columns or fields of the values, separated by commas; by default those of the database's
    /// source, or `value` if it was raw.
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    value: Vec<String>,
    /// The column or field that marks deletions.
    #[arg(long, value_name = "COLUMN")]
    delete_column: Option<String>,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ChangesFormat {
    Csv,
    Tsv,
    Jsonl,
    /// A key on each line.
    List,
    /// A key and a value on each line, with --separator between them.
    Pairs,
    /// An address and its names on each line: names are the keys.
    Hosts,
}

impl From<ChangesFormat> for Format {
    fn from(format: ChangesFormat) -> Self {
        match format {
            ChangesFormat::Csv => Self::Csv,
            ChangesFormat::Tsv => Self::Tsv,
            ChangesFormat::Jsonl => Self::JsonLines,
            ChangesFormat::List => Self::List,
            ChangesFormat::Pairs => Self::Pairs,
            ChangesFormat::Hosts => Self::Hosts,
        }
    }
}

impl ChangeArguments {
    /// An option that was given.
    pub(crate) fn given(&self) -> Option<&'static str> {
        let options = [
            ("--format", self.format.is_some()),
            ("--key", self.key.is_some()),
            ("--value", !self.value.is_empty()),
            ("--delete-column", self.delete_column.is_some()),
        ];

        options
            .into_iter()
            .chain(self.text.given())
            .chain(self.keys.given())
            .find(|(_, given)| *given)
            .map(|(name, _)| name)
    }

    /// Refuses standard input of a format that is not given.
    pub(crate) fn check_source(&self, source: &Path) -> Result<(), Failure> {
        match self.format {
            // Named before anything is read: a pipe cannot be read twice.
            None if source == Path::new("-") => Err(Failure::new(
                "standard input of no format: expected --format csv, jsonl or another one of text",
            )),
            _ => Ok(()),
        }
    }

    /// Sets the format and columns of an update.
    pub(crate) fn set(&self, options: UpdateOptions) -> UpdateOptions {
        UpdateOptions {
            format: self.format.map(Format::from),
            text: self.text.form(),
            // Keys that are not UTF-8 are those of a database that was built with them.
            keys: self.keys.form(true),
            key: self.key.clone(),
            values: self.value.clone(),
            delete: self.delete_column.clone(),
            ..options
        }
    }
}
