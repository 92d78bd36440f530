//! Keys and certificates.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Args;
use papir_checkpoint::{Certificate, GatewayKeys, KeyName, Kind, SigningKey, VerifyingKey, hex};
use papir_ohttp::KeyList;

use crate::arguments::duration::Span;
use crate::arguments::secret_file;
use crate::failure::{Failure, Outcome};
use crate::lines;

/// Create a key for signing, and print its public key.
///
/// The file holds the secret key and is readable only by its owner. Give the public key to clients
/// (papir get --owner-pub). Keep a copy of the file: without it no version can be signed.
#[derive(Args)]
pub(super) struct Keygen {
    /// The key file to create.
    file: PathBuf,
    /// The key's name: a URL without a scheme is recommended, as in example.org/owner. It is part
    /// of the origin of every log that the key starts.
    #[arg(long)]
    name: KeyName,
}

/// Print the public key of a key file.
#[derive(Args)]
pub(super) struct Public {
    /// The key file.
    file: PathBuf,
    /// Print the key of this database's log, as witnesses need it: its name is the log's origin.
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
}

/// Let a publisher sign versions of a database for a time.
#[derive(Args)]
pub(super) struct Delegate {
    /// The owner's key file.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// The publisher's public key.
    #[arg(long, value_name = "PUBKEY")]
    to: VerifyingKey,
    /// The database that the publisher may sign.
    #[arg(long, value_name = "NAME", required_unless_present = "all_databases")]
    database: Option<String>,
    /// Let the publisher sign all databases of the owner.
    #[arg(long, conflicts_with = "database")]
    all_databases: bool,
    #[command(flatten)]
    validity: Validity,
    /// Validity of the certificate, for example 90d. Renew it in time: clients refuse versions of
    /// this publisher afterwards.
    #[arg(long = "for", value_name = "TIME")]
    length: Span,
}

/// Certify a new key of the owner, with a time in which both keys are valid.
///
/// Clients that pin the old key accept the new one from then on, and pin it. Add the certificate to
/// the served file (papir checkpoint attach), or to the next version (papir update --certificate).
#[derive(Args)]
pub(super) struct Rotate {
    /// The old key file.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// The new key file, with the same name.
    #[arg(long, value_name = "KEY")]
    to: PathBuf,
    #[command(flatten)]
    validity: Validity,
    /// Time in which versions signed with the old key are still accepted, for example 30d.
    #[arg(long, value_name = "TIME")]
    overlap: Span,
}

/// Name the keys of gateways for which clients behind a relay may seal requests.
///
/// List the keys of all gateways of a database and of its mirrors, and new ones before they are
/// used. Add the certificate to the next version (papir update --certificate), or sign the same
/// version again (papir checkpoint sign --certificate). Prints the hashes of the keys.
#[derive(Args)]
pub(super) struct Gateways {
    /// The key file of the owner or of a publisher.
    #[arg(long, value_name = "KEY")]
    key: PathBuf,
    /// The list of a gateway's keys, as it is at /.well-known/ohttp-gateway; - for standard input;
    /// may be repeated.
    #[arg(long, value_name = "FILE", required = true)]
    keys: Vec<PathBuf>,
    /// The database for which clients may use the keys.
    #[arg(long, value_name = "NAME", required_unless_present = "all_databases")]
    database: Option<String>,
    /// Let clients use the keys for all databases of the owner.
    #[arg(long, conflicts_with = "database")]
    all_databases: bool,
    #[command(flatten)]
    validity: Validity,
    /// Validity of the certificate, for example 60d. Renew it in time: afterwards clients behind a
    /// relay refuse these keys.
    #[arg(long = "for", value_name = "TIME")]
    length: Span,
}

/// Start of a certificate, and the file to write it to.
#[derive(Args)]
struct Validity {
    /// Time until the certificate becomes valid.
    #[arg(long, value_name = "TIME", default_value = "0s")]
    starts_in: Span,
    /// The file to write; an existing one is replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
}

impl Validity {
    /// First and last second, since 1970.
    fn times(&self, length: Duration) -> (u64, u64) {
        // A certificate may be made in advance, while the key is out of its safe.
        let from = now().saturating_add(self.starts_in.0.as_secs());
        (from, from.saturating_add(length.as_secs()))
    }

    fn write(&self, certificate: &Certificate) -> Outcome {
        std::fs::write(&self.out, certificate.to_string())
            .map_err(|error| Failure::at(&self.out, error))?;
        Ok(ExitCode::SUCCESS)
    }
}

/// The clock, in seconds since 1970, UTC.
pub(super) fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
}

pub(super) fn keygen(arguments: &Keygen) -> Outcome {
    let key = SigningKey::generate(arguments.name.clone(), Kind::Note, &mut papir::system_rng());
    let file = &arguments.file;
    // Never replaces a file: an owner who loses the key cannot sign for the clients that pinned it.
    secret_file::create(file, &key.to_text()).map_err(|error| Failure::at(file, error))?;
    print(&key.public())
}

pub(super) fn public(arguments: &Public) -> Outcome {
    let key = read(&arguments.file)?.public();
    match &arguments.database {
        // The name under which notes of this database are signed, as witnesses expect it.
        Some(database) => print(&key.renamed(&key.name().origin(database)?)),
        None => print(&key),
    }
}

pub(super) fn delegate(arguments: &Delegate) -> Outcome {
    let times = arguments.validity.times(arguments.length.0);
    let key = read(&arguments.key)?;
    let database = arguments.database.as_deref();

    let certificate = Certificate::delegate(&key, &arguments.to, database, times)?;
    arguments.validity.write(&certificate)
}

pub(super) fn rotate(arguments: &Rotate) -> Outcome {
    let old = read(&arguments.key)?;
    let new = read(&arguments.to)?;
    let times = arguments.validity.times(arguments.overlap.0);

    let certificate = Certificate::rotate(&old, &new, times)?;
    arguments.validity.write(&certificate)
}

pub(super) fn gateways(arguments: &Gateways) -> Outcome {
    let mut hashes = Vec::new();
    for file in &arguments.keys {
        let bytes = lines::read(file)?;
        let list = KeyList::parse(&bytes).map_err(|error| Failure::at(file, error))?;
        hashes.extend(list.digests().map(|digest| digest.0));
    }
    let keys = GatewayKeys::new(arguments.database.as_deref(), &hashes)?;

    let times = arguments.validity.times(arguments.length.0);
    let key = read(&arguments.key)?;
    let certificate = Certificate::gateways(&key, &keys, times)?;
    for hash in keys.keys() {
        writeln!(std::io::stdout(), "{}", hex(hash))?;
    }
    arguments.validity.write(&certificate)
}

fn read(file: &Path) -> Result<SigningKey, Failure> {
    secret_file::read(file)
}

fn print(key: &VerifyingKey) -> Outcome {
    writeln!(std::io::stdout(), "{key}")?;
    Ok(ExitCode::SUCCESS)
}
