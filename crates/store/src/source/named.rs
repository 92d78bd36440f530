//! Finds columns by name.

use std::path::Path;

use crate::error::{Error, Result};
use crate::file::name_of;

/// The index of the column `name` among `names`. A name that is not there, and one that several
/// columns have, are errors.
pub(super) fn index_of(path: &Path, names: &[impl AsRef<str>], name: &str) -> Result<usize> {
    // All are compared: of two columns of one name nobody could tell which is meant.
    let mut count = 0;
    let mut found = None;
    for (index, candidate) in names.iter().enumerate() {
        if candidate.as_ref() == name {
            count += 1;
            found = Some(index);
        }
    }

    match found {
        Some(index) if count == 1 => Ok(index),
        Some(_) => Err(Error::Unreadable {
            file: name_of(path),
            reason: format!("{count} columns `{name}`: expected one"),
        }),
        None => {
            let available: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
            Err(Error::MissingColumn {
                file: name_of(path),
                column: name.to_owned(),
                available: available.join(", "),
            })
        }
    }
}
