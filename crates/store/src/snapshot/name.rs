//! Names under which databases can be served.

use crate::error::{Error, Result};

/// Maximum length of a name in bytes.
const MAX_NAME_BYTES: usize = 128;

/// Returns whether a database can be served under a name: it is valid in a URL path without
/// escaping.
pub fn is_database_name(name: &str) -> bool {
    name.len() <= MAX_NAME_BYTES
        && name.starts_with(|c: char| c.is_ascii_alphanumeric())
        && name
            .chars()
            .all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Refuses a name under which no service could serve the database.
pub(crate) fn check_name(name: &str) -> Result<()> {
    if is_database_name(name) {
        return Ok(());
    }

    let name = name.escape_debug();
    Err(Error::options(
        format!("the database name `{name}`"),
        format!(
            "1 to {MAX_NAME_BYTES} of A-Z a-z 0-9 . _ - that begin with a letter or digit (--name)"
        ),
    ))
}
