//! `papir inspect`: what a prepared database, in a file or served, is and guarantees.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use papir_client::Connection;
use papir_store::Snapshot;

use crate::Outcome;
use crate::describe::{self, Lines};
use crate::failure::Failure;

/// Describe a prepared database: shape, sizes, security, failure probability, parameters.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A file that `papir build` wrote, or the address of a service or of one of its databases.
    #[arg(value_name = "FILE|URL")]
    place: String,
    /// The database, where the service has several.
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
}

const EXAMPLES: &str = "Examples:
  papir inspect words.papir
  papir inspect http://127.0.0.1:7470 --database words";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let place = &arguments.place;
    let lines = if place.starts_with("http://") || place.starts_with("https://") {
        served(place, arguments.database.as_deref())?
    } else {
        stored(Path::new(place))?
    };
    describe::print(&lines, &mut std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// From the public part: what a client can know by itself, without trusting the service's words.
fn served(url: &str, database: Option<&str>) -> Result<Lines, Failure> {
    let connection = Connection::open_even_if_not_private(url, database)?;
    let lookup = connection.lookup();
    let mut lines = vec![describe::line("name", &connection.info().name)];
    lines.extend(describe::database(&lookup.describe(), lookup.version(), lookup.keyword()));
    Ok(lines)
}

fn stored(file: &Path) -> Result<Lines, Failure> {
    let Snapshot { metadata, server, keyword, sections, file_bytes } = Snapshot::open(file)?;
    let mut lines = vec![describe::line("name", &metadata.name)];
    lines.extend(describe::database(&server.describe(), server.version(), keyword.as_ref()));
    lines.extend(describe::origin(&metadata));
    lines.push(describe::file(file_bytes, sections.len()));
    Ok(lines)
}
