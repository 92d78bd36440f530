//! Requests for the rows of a source.

use std::path::{Path, PathBuf};

use super::form::{KeyForm, TextForm};
use super::format::Format;
use super::given::Given;
use crate::postgres::Login;

/// The columns to read.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Columns<'a> {
    pub(crate) key: Option<&'a str>,
    pub(crate) values: &'a [String],
    pub(crate) deletes: Deletes<'a>,
}

/// The mark of rows that are deletions.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Deletes<'a> {
    /// None: every row has a value.
    None,
    /// The column with this name, if given. In JSON Lines also the field `_delete`.
    Marked(Option<&'a str>),
}

/// The part of a database to read.
#[derive(Clone, Copy, Debug)]
#[cfg_attr(not(all(feature = "sqlite", feature = "postgres")), allow(dead_code))]
pub(crate) enum Selection<'a> {
    /// Its only table.
    Whole,
    /// The table of this name.
    Table(&'a str),
    /// The result of this query.
    Query(&'a str),
    /// The result of a query of a server.
    OfServer(&'a Login, &'a str),
}

/// A request for the rows of a source.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowsRequest<'a> {
    pub(crate) path: &'a Path,
    /// More files, which are read after it.
    pub(crate) more: &'a [PathBuf],
    pub(crate) format: Format,
    pub(crate) text: &'a TextForm,
    pub(crate) columns: Columns<'a>,
    pub(crate) keys: &'a KeyForm,
    #[cfg_attr(not(any(feature = "sqlite", feature = "postgres")), allow(dead_code))]
    pub(crate) selection: Selection<'a>,
    /// The table of a program, in the format of such tables.
    pub(crate) given: Option<&'a Given>,
    /// The file that is built; in the folder of a source, it is no record.
    pub(crate) out: Option<&'a Path>,
    /// Maximum length of a value in bytes.
    pub(crate) longest: u64,
    /// Maximum number of bad rows to skip, of all files together.
    pub(crate) skip_bad: u64,
}

impl<'a> RowsRequest<'a> {
    /// All files, in order.
    pub(super) fn files(&self) -> impl Iterator<Item = &'a Path> + use<'a> {
        std::iter::once(self.path).chain(self.more.iter().map(PathBuf::as_path))
    }
}
