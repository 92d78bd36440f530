//! Environment variables of OpenSSL, which other tools use as well.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use rustls::pki_types::CertificateDer;
use rustls_native_certs::load_certs_from_paths;

use crate::{RootSource, RootsError};

/// The variable that names a PEM file.
const FILE: &str = "SSL_CERT_FILE";
/// The variable that names folders with PEM files, separated as in `PATH`.
const FOLDERS: &str = "SSL_CERT_DIR";

/// The values of the variables; `None` for one that is not set. An empty variable counts as not
/// set, because containers often pass on empty ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertificateVariables {
    pub(crate) file: Option<PathBuf>,
    pub(crate) folders: Option<OsString>,
}

impl CertificateVariables {
    /// Reads the variables of this process.
    pub(crate) fn of_environment() -> Self {
        Self {
            file: value_of(FILE).map(PathBuf::from),
            folders: value_of(FOLDERS),
        }
    }

    /// The variables as an origin of certificates; `None` if neither is set.
    pub(crate) fn source(&self) -> Option<RootSource> {
        if self.file.is_none() && self.folders.is_none() {
            return None;
        }
        Some(RootSource::Variables {
            file: self.file.clone(),
            folders: self.folders.as_ref().map(PathBuf::from),
        })
    }

    /// All certificates in the files and folders that the variables name.
    ///
    /// # Errors
    /// [`RootsError::Variable`] with the first set variable, if no file has a certificate. The
    /// system's store does not replace the variables: a connection must not trust more than its
    /// user said.
    pub(crate) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, RootsError> {
        let mut certificates = Vec::new();
        let mut failures = Vec::new();

        if let Some(file) = &self.file {
            let found = load_certs_from_paths(Some(file), None);
            certificates.extend(found.certs);
            failures.extend(found.errors);
        }
        if let Some(folders) = &self.folders {
            for folder in env::split_paths(folders) {
                let found = load_certs_from_paths(None, Some(&folder));
                certificates.extend(found.certs);
                failures.extend(found.errors);
            }
        }

        // Lists of systems contain files that are no certificates, so errors count only if
        // nothing is left.
        if !certificates.is_empty() {
            return Ok(certificates);
        }
        let reason = match failures.first() {
            Some(failure) => failure.to_string(),
            None => "contains no PEM certificate".to_owned(),
        };
        let (name, path) = match (&self.file, &self.folders) {
            (Some(file), _) => (FILE, file.clone()),
            (None, folders) => (FOLDERS, folders.clone().unwrap_or_default().into()),
        };
        Err(RootsError::Variable { name, path, reason })
    }
}

/// The value of a variable; `None` if it is not set or empty.
fn value_of(name: &str) -> Option<OsString> {
    env::var_os(name).filter(|value| !value.is_empty())
}
