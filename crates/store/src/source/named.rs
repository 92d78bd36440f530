//! Finds columns by name.

use std::path::Path;

use crate::error::{Error, Result};
use crate::file::name_of;

/// The index of the column `name` among `names`. A name that is not there, and one that several
/// columns have, are errors.
pub(super) fn index_of(path: &Path, names: &[impl AsRef<str>], name: &str) -> Result<usize> {
    let mut found = names
        .iter()
        .enumerate()
        .filter(|(_, found)| found.as_ref() == name)
        .map(|(index, _)| index);

    let Some(index) = found.next() else {
        let available: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
        return Err(Error::MissingColumn {
            file: name_of(path),
            column: name.to_owned(),
            available: available.join(", "),
        });
    };

    match found.count() {
        0 => Ok(index),
        more => Err(Error::Unreadable {
            file: name_of(path),
            reason: format!("{} columns `{name}`: expected one", more + 1),
        }),
    }
}
