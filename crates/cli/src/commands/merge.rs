//! `papir merge`: merges a delta into its database.

use std::path::PathBuf;

use clap::Args;
use papir_store::MergeOptions;

use super::update;
use crate::arguments::sign::KeyArguments;
use crate::failure::Outcome;

/// Merge the changes that `papir update --delta` published into the database's file.
///
/// The next version of the file has them, and replaces the file and its delta in one step. Changes
/// that are published during the merge are kept: they become the delta of the next version.
/// `papir serve` serves the old file until it loads the new one.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The prepared database.
    file: PathBuf,
    /// Keep the replaced version as FILE.VERSION with its delta, and at most N such files.
    #[arg(long, value_name = "N")]
    keep: Option<usize>,
    #[command(flatten)]
    key: KeyArguments,
    /// Print one JSON object, as `papir update --json` does.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  papir update words.papir --from changes.csv --delta
  papir merge words.papir
  papir merge words.papir --sign owner.key";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    // Insecure schemes are allowed here: the build allowed them, and serving needs permission
    // again.
    papir_research::register()?;

    let options = MergeOptions {
        keep: arguments.keep,
        rates: papir_plan::rates_file::load(None)?.rates,
        sign: arguments.key.sign()?,
        ..MergeOptions::new(&arguments.file)
    };

    update::publish(arguments.json, |run| papir_store::merge(&options, run))
}
