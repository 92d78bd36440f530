//! Options for signing a version of a database.

use std::path::{Path, PathBuf};

use clap::Args;
use papir_checkpoint::Certificate;
use papir_store::Sign;

use crate::arguments::secret_file;
use crate::failure::Failure;

/// Options of commands that sign each version of a database if it is signed.
#[derive(Args, Clone, Debug, Default)]
pub(crate) struct KeyArguments {
    /// Sign the version with the key in this file (papir checkpoint keygen): it is appended to the
    /// database's log, and clients that pin the owner's key accept it.
    #[arg(long, value_name = "KEY")]
    sign: Option<PathBuf>,
    /// A certificate to add to the log (papir checkpoint delegate, rotate, gateways); may be
    /// repeated.
    #[arg(long, value_name = "FILE", requires = "sign")]
    certificate: Vec<PathBuf>,
}

/// Options of commands that write a version of a database.
#[derive(Args)]
pub(crate) struct SignArguments {
    #[command(flatten)]
    key: KeyArguments,
    /// Replace a signed version by an unsigned one. Clients that pin the owner's key refuse it.
    #[arg(long, conflicts_with = "sign")]
    unsigned: bool,
}

impl KeyArguments {
    /// The key and certificates to sign with, if any.
    pub(crate) fn sign(&self) -> Result<Option<Sign>, Failure> {
        match &self.sign {
            Some(key) => signing(key, &self.certificate).map(Some),
            None => Ok(None),
        }
    }
}

impl SignArguments {
    /// The files of the key and the certificates, which no output may replace.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let KeyArguments { sign, certificate } = &self.key;
        sign.iter().chain(certificate).map(PathBuf::as_path)
    }

    /// The key and certificates to sign with, if any.
    pub(crate) fn sign(&self) -> Result<Option<Sign>, Failure> {
        self.key.sign()
    }

    /// Returns whether an unsigned version may replace a signed one.
    pub(crate) fn unsigned(&self) -> bool {
        self.unsigned
    }
}

/// Reads a key and certificates to sign with.
pub(crate) fn signing(key: &Path, certificates: &[PathBuf]) -> Result<Sign, Failure> {
    Ok(Sign {
        certificates: self::certificates(certificates)?,
        ..Sign::new(secret_file::read(key)?)
    })
}

/// Reads certificates.
pub(crate) fn certificates(files: &[PathBuf]) -> Result<Vec<Certificate>, Failure> {
    let mut certificates = Vec::new();
    for file in files {
        let bytes = std::fs::read(file).map_err(|error| Failure::at(file, error))?;
        certificates.push(Certificate::parse(&bytes).map_err(|error| Failure::at(file, error))?);
    }
    Ok(certificates)
}

/// Converts an error of the store to a message, with the options that resolve it, if any.
pub(crate) fn explain(error: papir_store::Error) -> Failure {
    match error {
        // A signed database must not lose its signature by an option that was forgotten.
        error @ papir_store::Error::Signed { .. } => {
            Failure::new(format!("{error} (--sign KEY, or --unsigned)"))
        }
        papir_store::Error::Checkpoint {
            error: error @ papir_checkpoint::Error::Untrusted { .. },
            ..
        } => Failure::new(format!(
            "{error} (--certificate adds a delegation or a rotation)"
        )),
        other => other.into(),
    }
}
