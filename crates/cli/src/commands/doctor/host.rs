//! Checks of the registry, tokens and certificate of a service.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use clap::Args;
use papir_client::CertificateSummary;
use papir_server::{
    Protection, RegistryPlace, ServerConfig, StoredRegistry, TlsFiles, TokenFile, TokenSource,
};

use super::finding::{Finding, RENEW_BEFORE};
use super::machine::days;
use crate::arguments::network::Network;
use crate::service::config::registry_place;
use crate::service::unused_tokens;

/// Files and directories that the service of a file will use.
#[derive(Args)]
pub(super) struct HostArguments {
    /// The directory or address that `papir serve --registry` will use.
    #[arg(long, value_name = "DIR")]
    registry: Option<PathBuf>,
    /// The token file that `papir serve --tokens` will use.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// The certificate that `papir serve --tls-cert` will use.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

/// Checks the registry of clients, if the scheme needs one or one is given.
pub(super) fn registry(host: &HostArguments, needed: bool, network: &Network) -> Option<Finding> {
    let Some(directory) = &host.registry else {
        // Not a failure: the service may get its registry from a configuration that is not given
        // here.
        return needed.then(|| {
            Finding::warn(
                "registry",
                "clients of this scheme register: papir serve needs --registry DIR",
                "give --registry DIR here too, to check it",
            )
        });
    };

    match registry_place(directory, network) {
        // Opening it checks the server's settings, on which the secrecy of used tickets depends.
        Ok(place @ RegistryPlace::Postgres(_)) => return Some(postgres(&place)),
        Ok(RegistryPlace::Directory(_)) => {}
        Err(error) => {
            return Some(Finding::fail("registry", error, "give --proxy none"));
        }
    }

    Some(match writable(directory) {
        Ok(()) => Finding::ok("registry", format!("{} is writable", directory.display())),
        Err(error) => Finding::fail(
            "registry",
            format!("{}: {error}", directory.display()),
            "create it, writable for the user of the service only",
        ),
    })
}

/// Connects to a registry in PostgreSQL, which checks the server's settings.
fn postgres(place: &RegistryPlace) -> Finding {
    match StoredRegistry::open(place) {
        Ok(_) => Finding::ok(
            "registry",
            "PostgreSQL keeps what it confirms, and its tables are readable",
        ),
        Err(error) => Finding::fail(
            "registry",
            error.to_string(),
            "see \"A registry in PostgreSQL\" in docs/operate.md",
        ),
    }
}

/// Writes a temporary file into a directory.
fn writable(directory: &Path) -> std::io::Result<()> {
    // Writes a file: permissions alone do not show a full disk or a read-only mount.
    tempfile::Builder::new()
        .prefix(".papir-doctor")
        .tempfile_in(directory)
        .map(drop)
}

/// Checks the token file for a database with this name.
pub(super) fn tokens(host: &HostArguments, database: &str) -> Vec<Finding> {
    let Some(path) = &host.tokens else {
        return Vec::new();
    };

    let tokens = match TokenFile::read(path) {
        Ok(tokens) => tokens,
        Err(error) => {
            return vec![Finding::fail(
                "tokens",
                error,
                "papir tokens FILE add makes a token file",
            )];
        }
    };

    let now = SystemTime::now();
    let expired = tokens
        .entries()
        .iter()
        .filter(|token| token.has_expired(now))
        .count();
    let detail = format!(
        "{} tokens in {}, {expired} of them expired",
        tokens.entries().len(),
        path.display()
    );
    // Some expired tokens are normal, since nobody has to remove them.
    let usable = tokens.entries().len() > expired;

    let mut findings = vec![match usable {
        true => Finding::ok("tokens", detail),
        false => Finding::fail(
            "tokens",
            detail,
            "no client could query: papir tokens FILE add",
        ),
    }];
    for warning in unused_tokens::warnings(&served(path, database)) {
        findings.push(Finding::warn("tokens", warning, "papir tokens FILE list"));
    }
    findings
}

/// The configuration of a service with one database and one token file.
fn served(tokens: &Path, database: &str) -> ServerConfig {
    ServerConfig {
        databases: vec![papir_server::DatabaseConfig::new(
            format!("{database}.papir"),
            Some(database.to_owned()),
        )],
        protection: Protection {
            tokens: vec![TokenSource::new(tokens)],
            ..Protection::default()
        },
        ..ServerConfig::default()
    }
}

/// Checks certificate and key.
pub(super) fn tls(host: &HostArguments) -> Option<Finding> {
    let (certificate, key) = host.tls_cert.as_ref().zip(host.tls_key.as_ref())?;
    if let Err(error) = TlsFiles::new(certificate, key).check() {
        return Some(Finding::fail(
            "certificate",
            error,
            "give the chain and its private key, both in PEM",
        ));
    }

    // The check above has read it, so that a failure here is a file that is being replaced.
    let pem = std::fs::read(certificate).unwrap_or_default();
    let summary = CertificateSummary::of_pem(&pem)?;
    let left = summary.not_after.duration_since(SystemTime::now());

    Some(match left {
        Err(_) => Finding::fail("certificate", format!("{summary}, has expired"), "renew it"),
        Ok(left) if left < RENEW_BEFORE => Finding::warn(
            "certificate",
            format!("{summary}, valid for {} more days", days(left)),
            "renew it soon",
        ),
        Ok(left) => Finding::ok(
            "certificate",
            format!("{summary}, valid for {} more days", days(left)),
        ),
    })
}
