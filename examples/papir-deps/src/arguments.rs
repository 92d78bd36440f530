//! Command line.

use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};
use papir_client::{CheckpointSettings, Options, PrefilterUse, VerifyingKey};

/// Audits dependencies against an advisory database that does not learn them.
#[derive(Parser)]
#[command(name = "papir-deps", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Look up every package of lockfiles. Exit code 1 if an advisory affects one, 2 after an
    /// error.
    Check(Box<CheckArguments>),
    /// Build a papir database of the advisories in a folder of OSV files.
    Build(BuildArguments),
}

#[derive(Args)]
pub(crate) struct CheckArguments {
    /// Cargo.lock, package-lock.json or npm-shrinkwrap.json (versions 2 and 3), or requirements of
    /// pip (.txt) with pinned versions.
    #[arg(required = true)]
    pub(crate) lockfiles: Vec<PathBuf>,
    /// The papir service with the database of advisories.
    #[arg(long, value_name = "URL")]
    pub(crate) service: String,
    /// The number of lookups is a multiple of N, filled with dummies: the service sees how many
    /// packages there are only to within N.
    #[arg(long, value_name = "N", default_value = "64")]
    pub(crate) step: NonZeroUsize,
    /// The public key of the database's owner, who must have signed it.
    #[arg(long, value_name = "PUBKEY")]
    owner_pub: Option<VerifyingKey>,
    /// PEM file of the certificates to trust.
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// The folder of the client's state [default: papir's folder of your account].
    #[arg(long, value_name = "FOLDER")]
    state: Option<PathBuf>,
}

impl CheckArguments {
    /// Options of the connection.
    pub(crate) fn options(&self) -> Options {
        Options {
            checkpoint: CheckpointSettings {
                owner: self.owner_pub.clone(),
                ..CheckpointSettings::default()
            },
            ca: self.ca.clone(),
            state: self.state.clone(),
            // With a filter, the number of requests would tell how many packages have advisories.
            prefilter: PrefilterUse::Ignore,
            ..Options::default()
        }
    }
}

#[derive(Args)]
pub(crate) struct BuildArguments {
    /// A folder with OSV files (.json), also in folders of it.
    #[arg(value_name = "OSV_DIR")]
    pub(crate) folder: PathBuf,
    /// The database.
    #[arg(long, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The program papir, which builds the database.
    #[arg(long, value_name = "PROGRAM", default_value = "papir")]
    pub(crate) papir: PathBuf,
    /// Leave out up to N files that cannot be read, and name each.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) skip_bad: usize,
    /// Further arguments of `papir build`, such as `--sign owner.key`.
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub(crate) more: Vec<String>,
}
