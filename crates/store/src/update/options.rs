//! Options of an update.

use std::path::{Path, PathBuf};

use papir_core::cost::Rates;
use papir_core::{OwnerKey, Progress};

use crate::error::{Error, Result};
use crate::file::{is_standard_input, name_of};
use crate::publish::{check_output, same_file};
use crate::snapshot::{Metadata, Sign, SourceSummary};
use crate::source::{
    ChangeColumns, ChangeRow, Format, KeyForm, RowOfFile, TextForm, check_files, format_of_changes,
    format_of_content, read_changes,
};

/// Free room of a keyword table that an update builds again, in per cent.
pub const REBUILD_ROOM: u32 = 5;
/// Like [`REBUILD_ROOM`], for buckets with fewer than 48 keys, whose load varies more.
pub const REBUILD_ROOM_OF_FEW: u32 = 10;
/// Number of keys per bucket from which [`REBUILD_ROOM`] is enough.
pub(super) const FEW_KEYS: u64 = 48;

/// Options of an update.
#[derive(Clone, Debug)]
pub struct UpdateOptions {
    /// The snapshot.
    pub file: PathBuf,
    /// The file of changes; see [`crate::read_changes`].
    pub changes: PathBuf,
    /// More files of the same format, with the same columns: their rows follow in this order. Only
    /// one file can be followed.
    pub more: Vec<PathBuf>,
    /// Its format; `None` detects it by extension, or else by content.
    pub format: Option<Format>,
    /// The form of its text.
    pub text: TextForm,
    /// The form that all its keys must have; by default any bytes.
    pub keys: KeyForm,
    /// The column of keys, or of indices for records without keys. `None` stands for the source's
    /// key column, or `index` for records without keys.
    pub key: Option<String>,
    /// The value columns. If empty, the source's value columns are used, or `value` for a raw
    /// source.
    pub values: Vec<String>,
    /// The column that marks deletions.
    pub delete: Option<String>,
    /// The path of the new snapshot; `None` replaces the old one.
    pub out: Option<PathBuf>,
    /// Replaces a file at `out` that papir did not write.
    pub force: bool,
    /// The most versions to keep next to the file ([`crate::versions()`]), the replaced one among
    /// them; older ones are removed. `None` keeps none and removes none. Without effect if `out` is
    /// set.
    pub keep: Option<usize>,
    /// Builds the keyword table and prepares all records again, even if an update is cheaper.
    pub rebuild: bool,
    /// The owner's key of an encrypted database.
    pub encrypt: Option<OwnerKey>,
    /// Signs the new version with this key and appends it to the log; `None` for an unsigned one.
    pub sign: Option<Sign>,
    /// Allows an unsigned version of a signed database. Clients that pin its owner's key refuse it.
    pub unsigned: bool,
    /// This machine's rates, which decide between the scheme's update and a setup.
    pub rates: Rates,
}

impl UpdateOptions {
    /// Options with every default.
    pub fn new(file: impl Into<PathBuf>, changes: impl Into<PathBuf>) -> Self {
        let file = file.into();
        let changes = changes.into();

        Self {
            file,
            changes,
            more: Vec::new(),
            format: None,
            text: TextForm::default(),
            keys: KeyForm {
                binary: true,
                ..KeyForm::default()
            },
            key: None,
            values: Vec::new(),
            delete: None,
            out: None,
            force: false,
            keep: None,
            rebuild: false,
            encrypt: None,
            sign: None,
            unsigned: false,
            rates: Rates::BUILT_IN,
        }
    }

    /// Returns whether the next version replaces the file.
    pub(super) fn is_in_place(&self) -> bool {
        let Some(out) = &self.out else { return true };
        *out == self.file || same_file(out, &self.file)
    }

    /// Refuses an output that is the file of changes, or that papir did not write.
    pub(super) fn check_output(&self) -> Result<()> {
        let out = self.out.as_ref().unwrap_or(&self.file);
        // In place, the error of a file that is no snapshot is the clearer one.
        let replace = self.force || self.is_in_place();
        let inputs: Vec<&Path> = self.files().collect();
        check_output(out, &inputs, replace)
    }

    /// The files of changes, in order.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let more = self.more.iter().map(PathBuf::as_path);
        std::iter::once(self.changes.as_path()).chain(more)
    }

    /// The format of the changes: the given one, or by the name or the content of the first file.
    /// Refuses a form that it does not have, and files that are not one source.
    pub(super) fn changes_format(&self) -> Result<Format> {
        let named = self.format.unwrap_or_else(|| Format::of(&self.changes));
        let is_told = self.format.is_some() || named != Format::Raw;
        let told = if is_told || is_standard_input(&self.changes) {
            named
        } else {
            format_of_content(&self.changes)?.unwrap_or(named)
        };

        let format = format_of_changes(&self.changes, Some(told))?;
        self.text.check(format)?;
        if !self.more.is_empty() {
            // A format that the content of the first file tells is that of all, as a given one is.
            let given = self.format.or((!is_told).then_some(told));
            check_files(self.files(), given, format)?;
        }
        Ok(format)
    }

    /// Reads the rows of all files. The line of a row is the number of a [`RowOfFile`].
    pub(super) fn read_rows(
        &self,
        format: Format,
        columns: &ChangeColumns,
        progress: &dyn Progress,
    ) -> Result<Vec<ChangeRow>> {
        let mut rows = Vec::new();
        for (file, path) in self.files().enumerate() {
            for row in read_changes(path, Some(format), columns, progress)? {
                let place = RowOfFile {
                    file,
                    row: row.line,
                };
                rows.push(ChangeRow {
                    line: place.to_number(),
                    ..row
                });
            }
        }

        Ok(rows)
    }

    /// The error for a bad row, which names its file. `number` is that of a [`RowOfFile`].
    pub(super) fn bad_row(&self, number: u64, reason: String) -> Error {
        let RowOfFile { file, row } = RowOfFile::of_number(number);
        let path = self.files().nth(file).unwrap_or(&self.changes);
        Error::Line {
            file: name_of(path),
            line: row,
            reason,
        }
    }

    /// The columns to read from changes of a format.
    pub(crate) fn columns(
        &self,
        format: Format,
        metadata: &Metadata,
        longest_value: u64,
    ) -> Result<ChangeColumns> {
        if format.has_lines() {
            self.check_lines(format, metadata)?;
            return Ok(self.columns_named(String::new(), Vec::new(), longest_value));
        }

        let by_index = metadata.keyword.is_none();
        let key = self
            .key
            .clone()
            .or_else(|| metadata.source.key.clone())
            .or_else(|| by_index.then(|| "index".to_owned()))
            .ok_or_else(|| Error::options("changes without a key column", "its name"))?;

        // A changed value must be made as the others were: from the columns of the source, unless
        // others are given.
        let mut values = if self.values.is_empty() {
            metadata.source.values.clone()
        } else {
            self.values.clone()
        };
        if values.is_empty() && by_index {
            values.push("value".to_owned());
        }

        Ok(self.columns_named(key, values, longest_value))
    }

    fn columns_named(&self, key: String, values: Vec<String>, longest_value: u64) -> ChangeColumns {
        ChangeColumns {
            key,
            values,
            delete: self.delete.clone(),
            text: self.text.clone(),
            keys: self.keys.clone(),
            longest_value,
        }
    }

    /// Refuses lines as changes of a database that they do not fit, and columns of lines.
    fn check_lines(&self, format: Format, metadata: &Metadata) -> Result<()> {
        let name = format.name();
        if self.key.is_some() || !self.values.is_empty() || self.delete.is_some() {
            return Err(Error::options(
                format!("columns of changes from a {name} source"),
                "csv, tsv or jsonl",
            ));
        }
        if metadata.keyword.is_none() {
            return Err(Error::options(
                format!("changes from a {name} source for a database without keys"),
                "csv, tsv or jsonl, with numbers of records",
            ));
        }

        // Each line would set an empty value.
        if format == Format::List && !is_set(&metadata.source) {
            return Err(Error::options(
                "changes from a list source for a database with values",
                "csv, tsv, jsonl, pairs or hosts",
            ));
        }
        Ok(())
    }
}

/// Returns whether a database of keys has been built without values.
fn is_set(source: &SourceSummary) -> bool {
    // Their values do not come from columns.
    let has_own_values = [Format::Pairs, Format::Hosts, Format::Folder]
        .iter()
        .any(|format| format.name() == source.format);
    source.values.is_empty() && !has_own_values
}
