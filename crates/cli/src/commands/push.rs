//! `papir push`: uploads a prepared database to an object store.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use papir_store::remote::{PushOptions, PushReport, push};

use crate::arguments::network::NetworkArguments;
use crate::arguments::remote;
use crate::describe::{self, line};
use crate::failure::Outcome;
use crate::progress::Bars;
use papir_plan::units;

/// Upload a prepared database to an object store, for `papir serve` and `papir pull`.
///
/// The file is verified first. It is uploaded in parts, each named by its BLAKE3 hash, and the
/// manifest last, so that readers see the old database until the new one is complete. After an
/// interruption or a small change, only missing parts are uploaded. Credentials come from each
/// cloud's usual environment variables: AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, AWS_REGION,
/// AWS_ENDPOINT_URL and AWS_ALLOW_HTTP (for other S3-compatible servers), GOOGLE_SERVICE_ACCOUNT,
/// AZURE_STORAGE_ACCOUNT_NAME and so on.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The prepared database, as written by `papir build`.
    file: PathBuf,
    /// The destination: s3://bucket/path, gs://bucket/path, az://container/path or
    /// file:///folder/path. A URL that ends in / keeps the file's name.
    url: String,
    /// Afterwards remove parts older than a day that neither this database nor the one it replaces
    /// uses.
    #[arg(long)]
    prune: bool,
    #[command(flatten)]
    network: NetworkArguments,
}

const EXAMPLES: &str = "Examples:
  papir push words.papir s3://databases/
  papir push words.papir gs://databases/words-2026.papir --prune
  AWS_ENDPOINT_URL=http://127.0.0.1:9000 AWS_ALLOW_HTTP=true papir push words.papir s3://databases/";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let location = remote::location(
        &arguments.url,
        Some(&arguments.file),
        &arguments.network.setting(),
    )?;

    let options = if arguments.prune {
        PushOptions::pruning()
    } else {
        PushOptions::default()
    };
    let report = push(&arguments.file, &location, options, &Bars::new())?;
    let PushReport {
        manifest,
        uploaded_parts,
        uploaded_bytes,
        removed_parts,
    } = report;
    let parts = manifest.parts.len();

    let mut lines = vec![
        line("pushed", &location),
        line("version", manifest.version),
        line(
            "size",
            format!("{} in {parts} parts", units::bytes(manifest.bytes)),
        ),
        line(
            "uploaded",
            format!("{} in {uploaded_parts} parts", units::bytes(uploaded_bytes)),
        ),
    ];
    if arguments.prune {
        lines.push(line("removed", format!("{removed_parts} parts")));
    }

    let mut out = std::io::stdout();
    describe::print(&lines, &mut out)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
