//! `papir pull`: downloads a prepared database from an object store.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use papir_store::remote::pull;

use crate::arguments::proxy::ProxyArguments;
use crate::arguments::remote;
use crate::describe::{self, line};
use crate::failure::Outcome;
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
    #[command(flatten)]
    proxy: ProxyArguments,
}

const EXAMPLES: &str = "Examples:
  papir pull s3://databases/words.papir words.papir";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let location = remote::location(&arguments.url, None, &arguments.proxy.setting())?;
    let report = pull(&location, &arguments.file, &Bars::new())?;

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
