//! The form of a source that is a path.

use papir_store::{BuildOptions, Format, KeyForm, KeyPattern, TextForm};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::of_store;

/// The form of a source: see `pypapir.build`, which has the defaults.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct SourceForm {
    format: Option<String>,
    delimiter: Option<String>,
    header: bool,
    separator: Option<String>,
    /// The fewest and the most bytes of a key.
    key_length: Option<(usize, usize)>,
    key_hex: bool,
    key_pattern: Option<String>,
    binary_keys: bool,
}

impl SourceForm {
    /// Adds the form to the options of a build.
    ///
    /// # Errors
    /// `ValueError` for a delimiter that is not one byte; papir's error for an unknown format, and
    /// for a pattern that is no regular expression.
    pub(crate) fn add_to(&self, options: BuildOptions) -> PyResult<BuildOptions> {
        let format = match &self.format {
            Some(name) => Some(name.parse::<Format>().map_err(of_store)?),
            None => None,
        };

        let pattern = match &self.key_pattern {
            Some(text) => Some(text.parse::<KeyPattern>().map_err(of_store)?),
            None => None,
        };

        let text = TextForm {
            delimiter: self.delimiter()?,
            no_header: !self.header,
            separator: self.separator.clone().map(String::into_bytes),
        };
        let keys = KeyForm {
            bytes: self.key_length.map(|(least, most)| least..=most),
            hex: self.key_hex,
            pattern,
            binary: self.binary_keys,
        };

        Ok(BuildOptions {
            format,
            text,
            keys,
            ..options
        })
    }

    fn delimiter(&self) -> PyResult<Option<u8>> {
        match self.delimiter.as_ref().map(String::as_bytes) {
            None => Ok(None),
            Some([byte]) => Ok(Some(*byte)),
            Some(bytes) => Err(PyValueError::new_err(format!(
                "found a delimiter of {} bytes: expected one",
                bytes.len()
            ))),
        }
    }
}
