//! Names of files in errors and metadata, and standard input.

use std::path::Path;

use papir_core::without_passwords;

/// The path for standard input. A file of this name is `./-`.
const STANDARD_INPUT: &str = "-";

/// Returns whether a path means standard input.
pub(crate) fn is_standard_input(path: &Path) -> bool {
    path.as_os_str() == STANDARD_INPUT
}

/// The file name without its extension, as text.
pub(crate) fn stem_of(path: &Path) -> String {
    path.file_stem()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}

/// The name of a source in errors.
pub(crate) fn name_of(path: &Path) -> String {
    if is_standard_input(path) {
        "standard input".to_owned()
    } else {
        shown(path)
    }
}

/// A path in errors. It may be the address of a server, given in place of a file: without its
/// password.
pub(crate) fn shown(path: &Path) -> String {
    without_passwords(&path.display().to_string())
}
