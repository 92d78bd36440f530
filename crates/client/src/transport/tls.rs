//! TLS of both transports.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use rustls::client::WantsClientCert;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, ConfigBuilder};

use super::identity;
use super::options::Options;
use super::verifier::{Presented, Verifier};
use crate::error::{Error, Result};

/// Longest accepted file of root certificates: 4 MiB.
const MAX_CA_BYTES: u64 = 4 << 20;

/// Settings of TLS that trust the root certificates in the file `options.ca` or, without it, the
/// public ones, and present the client's certificate, if it has one. The certificates of servers
/// are stored in `presented`.
pub(crate) fn config(options: &Options, presented: Presented) -> Result<ClientConfig> {
    let ca = options.ca.as_deref();
    let given = match ca {
        Some(path) => Some(roots(path)?),
        None => None,
    };

    let builder = verifying(given, presented)
        .map_err(|error| bad_ca(ca.unwrap_or(Path::new("the public roots")), error))?;
    identity::present(builder, options.identity.as_ref())
}

/// Settings of TLS with our own verification of servers' certificates.
fn verifying(
    given: Option<Vec<CertificateDer<'static>>>,
    presented: Presented,
) -> Result<ConfigBuilder<ClientConfig, WantsClientCert>, rustls::Error> {
    let provider = Arc::new(default_provider());
    let verifier = Verifier::new(given, presented, Arc::clone(&provider))?;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(verifier)))
}

/// All certificates of a PEM file.
fn roots(path: &Path) -> Result<Vec<CertificateDer<'static>>> {
    let mut pem = Vec::new();
    let file = File::open(path).map_err(|error| bad_ca(path, error))?;
    file.take(MAX_CA_BYTES)
        .read_to_end(&mut pem)
        .map_err(|error| bad_ca(path, error))?;

    let certificates = CertificateDer::pem_slice_iter(&pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|error| bad_ca(path, error))?;
    if certificates.is_empty() {
        return Err(bad_ca(path, "contains no PEM certificate"));
    }
    Ok(certificates)
}

fn bad_ca(path: &Path, reason: impl ToString) -> Error {
    Error::BadCa {
        path: path.to_owned(),
        reason: reason.to_string(),
    }
}
