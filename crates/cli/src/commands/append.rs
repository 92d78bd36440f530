//! `papir append`: publishes further records of a database without keys.

use std::path::PathBuf;
use std::time::Instant;

use clap::Args;
use papir_core::Run;
use papir_plan::units::parse_bytes;
use papir_store::{AppendOptions, Format};

use super::update;
use crate::arguments::sign::KeyArguments;
use crate::arguments::source_form::{SourceFiles, TextArguments};
use crate::failure::Outcome;
use crate::progress::Bars;

/// Append records to a database that is looked up by number.
///
/// The records of the source get the next numbers. They are published beside the prepared file, in
/// its delta, like the changes of `papir update --delta`. The file and its public part stay as they
/// are, and clients fetch a few hundred bytes. `papir merge` makes one file of them.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The prepared database.
    file: PathBuf,
    /// The records: raw ones of the database's length, or a source with columns; - for standard
    /// input. Several files with columns, and a pattern with * or ?, are read in order.
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// Format of the source: csv, tsv, jsonl, parquet, arrow, sqlite or raw [default: from the
    /// extension, else raw].
    #[arg(long)]
    format: Option<Format>,
    #[command(flatten)]
    text: TextArguments,
    /// The columns or fields of the values, separated by commas [default: those of the database's
    /// source].
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    value: Vec<String>,
    #[command(flatten)]
    key: KeyArguments,
    /// The most that the delta may have, tags and lengths included [default: 4MiB].
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes)]
    delta_bytes: Option<u64>,
    /// Print one JSON object, as `papir update --delta --json` does.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  papir append notes.papir next.bin
  papir append hashes.papir more.csv --value hash --sign owner.key";

pub(crate) fn run(arguments: Arguments) -> Outcome {
    // Insecure schemes are allowed here: the build allowed them, and serving needs permission
    // again.
    papir_research::register()?;

    let sign = arguments.key.sign()?;
    let Arguments {
        file,
        sources,
        format,
        text,
        value: values,
        delta_bytes: most,
        json,
        ..
    } = arguments;
    let SourceFiles { first, more } = SourceFiles::named(&sources)?;
    let options = AppendOptions {
        more,
        format,
        text: text.form(),
        values,
        sign,
        most,
        ..AppendOptions::new(file, first)
    };

    let start = Instant::now();
    let appended = papir_store::append(
        &options,
        &mut Run::new(&mut papir::system_rng(), &Bars::new()),
    );
    let report = appended.map_err(update::explain)?;
    update::print_delta(report.as_ref(), start.elapsed(), json)
}
