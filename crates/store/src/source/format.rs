//! Formats of sources.

use std::path::Path;
use std::str::FromStr;

use papir_core::Error as CoreError;

use crate::error::Error;
use crate::file::{is_standard_input, name_of, shown};

/// The format of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Comma-separated values with a header line (RFC 4180).
    Csv,
    /// The same with tabs in place of commas.
    Tsv,
    /// One JSON object per line.
    JsonLines,
    /// A key per line. Values are empty.
    List,
    /// A key and a value per line, with a separator between them.
    Pairs,
    /// An address and its names per line: names are keys, addresses their values.
    Hosts,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow: a file, which Feather version 2 is, or a stream.
    Arrow,
    /// A table of an SQLite database, or the result of a query.
    Sqlite,
    /// The result of a query of a PostgreSQL server.
    Postgres,
    /// A folder of files: paths are keys, contents are values.
    Folder,
    /// Records of equal length, without gaps.
    Raw,
    /// A table that a program gives.
    Given,
}

impl Format {
    /// The formats of files.
    const ALL: [Self; 11] = [
        Self::Csv,
        Self::Tsv,
        Self::JsonLines,
        Self::List,
        Self::Pairs,
        Self::Hosts,
        Self::Parquet,
        Self::Arrow,
        Self::Sqlite,
        Self::Folder,
        Self::Raw,
    ];

    /// Detects the format of a path. A directory is a folder. A file's format follows from its
    /// extension: `.csv`; `.tsv` or `.tab`; `.jsonl` or `.ndjson`; `.txt` for a list, each also
    /// with `.gz` or `.zst` after it; `.parquet`; `.arrow`, `.arrows` or `.feather`; `.sqlite`,
    /// `.sqlite3` or `.db`. Any other file is raw.
    pub fn of(path: &Path) -> Self {
        if path.is_dir() {
            return Self::Folder;
        }

        if !has_packed_name(path) {
            return Self::of_extension(lower_extension(path).as_deref());
        }

        // Of the other formats, only raw records are decompressed.
        let unpacked = Path::new(path.file_stem().unwrap_or_default());
        match Self::of_extension(lower_extension(unpacked).as_deref()) {
            text @ (Self::Csv | Self::Tsv | Self::JsonLines | Self::List) => text,
            _ => Self::Raw,
        }
    }

    /// Detects the format of a path, as [`Format::of`], for records whose length is given. Lines
    /// have none: then `.txt` says nothing, and the file is raw.
    pub fn of_records(path: &Path) -> Self {
        match Self::of(path) {
            Self::List => Self::Raw,
            format => format,
        }
    }

    fn of_extension(extension: Option<&str>) -> Self {
        match extension {
            Some("csv") => Self::Csv,
            Some("tsv" | "tab") => Self::Tsv,
            Some("jsonl" | "ndjson") => Self::JsonLines,
            Some("txt") => Self::List,
            Some("parquet") => Self::Parquet,
            Some("arrow" | "arrows" | "feather") => Self::Arrow,
            Some("sqlite" | "sqlite3" | "db") => Self::Sqlite,
            _ => Self::Raw,
        }
    }

    /// The format's name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "csv",
            Self::Tsv => "tsv",
            Self::JsonLines => "jsonl",
            Self::List => "list",
            Self::Pairs => "pairs",
            Self::Hosts => "hosts",
            Self::Parquet => "parquet",
            Self::Arrow => "arrow",
            Self::Sqlite => "sqlite",
            Self::Postgres => "postgres",
            Self::Folder => "folder",
            Self::Raw => "raw",
            Self::Given => "given",
        }
    }

    /// Refuses a format that this build cannot read; `path` is named in the error.
    pub(crate) fn check_support(self, path: &Path) -> Result<(), Error> {
        let (kind, support, feature) = match self {
            Self::Parquet if !cfg!(feature = "parquet") => ("a Parquet file", "Parquet", "parquet"),
            // Columns of both become the same bytes by the same code.
            Self::Arrow if !cfg!(feature = "parquet") => ("an Arrow file", "Arrow", "parquet"),
            Self::Postgres if !cfg!(feature = "postgres") => {
                ("a PostgreSQL server", "PostgreSQL", "postgres")
            }
            Self::Sqlite if !cfg!(feature = "sqlite") => ("an SQLite database", "SQLite", "sqlite"),
            _ => return Ok(()),
        };

        Err(Error::MissingFeature {
            found: name_of(path),
            kind,
            support,
            feature,
        })
    }

    /// Returns whether keys are bytes of a text, whose encoding nothing else states.
    pub(super) fn is_text(self) -> bool {
        self.has_fields() || self.has_lines()
    }

    /// Returns whether each line has its own key.
    pub(crate) fn has_lines(self) -> bool {
        matches!(self, Self::List | Self::Pairs | Self::Hosts)
    }

    /// Returns whether rows have fields with delimiters between them.
    pub(crate) fn has_fields(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv)
    }

    /// Returns whether the format can be read as a stream.
    pub(crate) fn streams(self) -> bool {
        self.is_text() || matches!(self, Self::JsonLines | Self::Arrow | Self::Raw)
    }

    /// Returns whether each row has a key without a key column.
    pub(crate) fn has_keys(self) -> bool {
        self == Self::Folder || self.has_lines()
    }

    /// Returns whether the format's rows have columns.
    pub fn has_columns(self) -> bool {
        !self.has_keys() && self != Self::Raw
    }
}

/// Refuses files that are not one source: standard input among several, and a name that tells
/// another format than `format`, unless that is given.
pub(crate) fn check_files<'a>(
    files: impl IntoIterator<Item = &'a Path>,
    given: Option<Format>,
    format: Format,
) -> Result<(), Error> {
    for file in files {
        let found = if is_standard_input(file) {
            "standard input"
        } else if given.is_none() && Format::of(file) != format {
            Format::of(file).name()
        } else {
            continue;
        };

        return Err(Error::options(
            format!("{} among several files: {found}", shown(file)),
            format!("{} files", format.name()),
        ));
    }
    Ok(())
}

/// Returns whether the name of a file says that it is compressed.
pub(crate) fn has_packed_name(path: &Path) -> bool {
    matches!(lower_extension(path).as_deref(), Some("gz" | "zst"))
}

/// The extension of a path, in lower case.
fn lower_extension(path: &Path) -> Option<String> {
    let extension = path.extension()?;
    Some(extension.to_string_lossy().to_ascii_lowercase())
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        let expected = Self::ALL.map(Self::name).join(", ");
        Self::ALL
            .into_iter()
            .find(|format| format.name() == text)
            .ok_or_else(|| {
                CoreError::malformed("a source format", text, format!("one of {expected}")).into()
            })
    }
}
