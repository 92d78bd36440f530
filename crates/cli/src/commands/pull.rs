//! `papir pull`: downloads a prepared database from an object store.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use papir_checkpoint::VerifyingKey;
use papir_store::remote::{PullOptions, pull_with};

use crate::arguments::network::NetworkArguments;
use crate::arguments::remote;
use crate::describe::{self, line};
use crate::failure::{Failure, Outcome};
use crate::progress::Bars;
use papir_plan::units;

/// Download a prepared database that `papir push` uploaded to an object store.
///
/// Parts that the existing file or an interrupted pull already has are not downloaded again. Every
/// part and the complete file are verified before the file is replaced.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The source: s3://bucket/path, gs://bucket/path, az://container/path or file:///folder/path.
    url: String,
    /// The file to write or to update.
    file: PathBuf,
    /// The public key of the database's owner (papir checkpoint public): the download must be
    /// signed under it. Without it, the object store is trusted.
    #[arg(long, value_name = "PUBKEY")]
    owner_pub: Option<VerifyingKey>,
    /// The database's name, which the owner must have signed (default: the last part of the URL
    /// without its extension).
    #[arg(long, value_name = "NAME", requires = "owner_pub")]
    name: Option<String>,
    /// Replace a FILE that papir did not write.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

const EXAMPLES: &str = "Examples:
  papir pull s3://databases/words.papir words.papir
  papir pull s3://databases/words.papir words.papir --owner-pub \"$(cat owner.pub)\"";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let location = remote::location(&arguments.url, None, &arguments.network.setting())?;
    let owner = arguments.owner_pub.clone();
    let options = PullOptions {
        owner: owner.map(VerifyingKey::of_notes).transpose()?,
        name: arguments.name.clone(),
        force: arguments.force,
    };
    // Verified under any scheme: serving needs permission again.
    papir_research::register()?;
    let pulled = pull_with(&location, &arguments.file, &options, &Bars::new());
    let report = pulled.map_err(explain)?;

    let manifest = &report.manifest;
    let fetched = units::bytes(report.fetched_bytes);
    let parts = manifest.parts.len();
    let lines = vec![
        line("file", arguments.file.display()),
        line("version", manifest.version),
        line(
            "size",
            format!("{} in {parts} parts", units::bytes(manifest.bytes)),
        ),
        line(
            "fetched",
            format!("{fetched} in {} parts", report.fetched_parts),
        ),
    ];

    let mut out = std::io::stdout();
    describe::print(&lines, &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Converts an error of a pull to a message, with the option that resolves it, if any.
fn explain(error: papir_store::Error) -> Failure {
    match error {
        papir_store::Error::Checkpoint {
            error: error @ papir_checkpoint::Error::Database { .. },
            ..
        } => Failure::new(format!(
            "{error} (--name accepts a database whose name is not that of the URL)"
        )),
        other => other.into(),
    }
}
