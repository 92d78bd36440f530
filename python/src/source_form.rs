//! The form of a source that is a path or the address of a server.

use std::path::PathBuf;

use papir_client::ProxySetting;
use papir_store::{BuildOptions, Format, KeyForm, KeyPattern, TextForm};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::errors::of_store;
use crate::login::{address_of, login};

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
    /// The query of a database.
    query: Option<String>,
    /// The file of certificates that a connection to a server trusts.
    ca: Option<PathBuf>,
    proxy: Option<String>,
}

impl SourceForm {
    /// Adds the form to the options of a build, and the login if the source is a server.
    ///
    /// # Errors
    /// `ValueError` for a delimiter that is not one byte, and for a malformed proxy; papir's error
    /// for an unknown format, for a pattern that is no regular expression, and for a server behind
    /// a proxy.
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

        let proxy = self.proxy()?;
        let server = match address_of(&options.source) {
            Some(address) => Some(login(address, &proxy, self.ca.as_deref())?),
            None => None,
        };

        Ok(BuildOptions {
            format,
            text,
            keys,
            query: self.query.clone(),
            server,
            ..options
        })
    }

    fn proxy(&self) -> PyResult<ProxySetting> {
        match &self.proxy {
            None => Ok(ProxySetting::default()),
            Some(text) => text
                .parse::<ProxySetting>()
                .map_err(|error| PyValueError::new_err(error.to_string())),
        }
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
