//! `papir rollback`: publishes the records of an earlier version again.

use std::path::PathBuf;

use clap::Args;
use papir_store::{Earlier, RollbackOptions};

use super::update;
use crate::arguments::owner_key;
use crate::arguments::sign::SignArguments;
use crate::failure::Outcome;

/// Return to the records of an earlier version.
///
/// They are prepared again and published as a new version, with the next sequence if the database
/// is signed: clients refuse an older sequence than they have seen, and a file that is put back.
/// Earlier versions are those that `papir update --keep` kept (papir versions FILE lists them), or
/// a file that you kept yourself. The replaced version is kept, too.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The prepared database.
    file: PathBuf,
    /// The kept version, 16 hexadecimal digits [default: the newest kept one].
    #[arg(long, value_name = "VERSION", conflicts_with = "from")]
    to: Option<String>,
    /// A file with an earlier version of the same database.
    #[arg(long, value_name = "FILE")]
    from: Option<PathBuf>,
    /// The file with the owner's key of an encrypted database.
    #[arg(long, value_name = "KEYFILE")]
    encrypt: Option<PathBuf>,
    #[command(flatten)]
    signing: SignArguments,
    /// Print one JSON object, as `papir update --json` does.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  papir update words.papir --from changes.csv --keep 3
  papir versions words.papir
  papir rollback words.papir
  papir rollback words.papir --from words-monday.papir --sign owner.key";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Insecure schemes are allowed here: the build allowed them, and serving needs permission
    // again.
    papir_research::register()?;

    let to = match (&arguments.from, &arguments.to) {
        (Some(file), _) => Earlier::File(file.clone()),
        (None, Some(version)) => Earlier::Kept(version.clone()),
        (None, None) => Earlier::Newest,
    };
    let options = RollbackOptions {
        encrypt: owner_key::read(arguments.encrypt.as_deref())?,
        sign: arguments.signing.sign()?,
        unsigned: arguments.signing.unsigned(),
        ..RollbackOptions::new(&arguments.file, to)
    };

    update::publish(arguments.json, |run| papir_store::rollback(&options, run))
}
