//! `papir inspect`: describes a prepared database, from a file or a server.

use std::path::Path;
use std::process::ExitCode;

use clap::Args;
use papir_client::Connection;
use papir_store::Snapshot;

use crate::connecting::{self, Connecting};
use crate::describe::{self, Lines};
use crate::failure::{Failure, Outcome};

/// Describe a prepared database: shape, sizes, security, failure probability, parameters.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A file written by `papir build`, or the URL of a server or of one of its databases.
    #[arg(value_name = "FILE|URL")]
    place: String,
    /// Only check whether the server is ready, which needs no token; the exit code is 0 if it is,
    /// 3 if it is not ready or out of reach.
    #[arg(long)]
    ready: bool,
    #[command(flatten)]
    connecting: Connecting,
}

const EXAMPLES: &str = "Examples:
  papir inspect words.papir
  papir inspect http://127.0.0.1:7470 --database words
  papir inspect --ready http://127.0.0.1:7470";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let place = &arguments.place;
    if arguments.ready {
        let options = arguments.connecting.options(true)?;
        papir_client::ready(place, &options).map_err(connecting::explain)?;
        return Ok(ExitCode::SUCCESS);
    }
    let lines = if ["http://", "https://", "unix:"].iter().any(|scheme| place.starts_with(scheme)) {
        served(place, &arguments.connecting)?
    } else {
        stored(Path::new(place))?
    };
    describe::print(&lines, &mut std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

/// Describes a served database from its public part, so that the server's own claims need not be
/// trusted.
fn served(url: &str, connecting: &Connecting) -> Result<Lines, Failure> {
    let options = connecting.options(true)?;
    let connection = Connection::open_with(url, &options).map_err(connecting::explain)?;
    let lookup = connection.lookup();
    let mut lines = vec![describe::line("name", &connection.info().name)];
    lines.extend(describe::database(&lookup.describe(), lookup.version(), lookup.keyword()));
    lines.extend(lookup.root().map(|root| describe::line("root", root)));
    let checkpoint = connection.checkpoint();
    lines.extend(checkpoint.map(|accepted| describe::signed(&accepted.leaf)));
    lines.extend(checkpoint.map(|accepted| describe::line("owner", &accepted.owner)));
    Ok(lines)
}

fn stored(file: &Path) -> Result<Lines, Failure> {
    // Insecure schemes are allowed here: describing a file serves nothing.
    papir_research::register()?;
    let Snapshot { metadata, server, keyword, checkpoint, sections, file_bytes, .. } = Snapshot::open(file)?;
    let mut lines = vec![describe::line("name", &metadata.name)];
    lines.extend(describe::database(&server.describe(), server.version(), keyword.as_ref()));
    lines.extend(metadata.root.as_ref().map(|root| describe::line("root", root)));
    if let Some(log) = &checkpoint {
        lines.push(describe::signed(log.newest()?));
        lines.push(describe::line("owner", log.owner()));
    }
    lines.extend(describe::origin(&metadata));
    lines.extend(describe::owner_keys(&sections));
    lines.push(describe::file(file_bytes, sections.len()));
    Ok(lines)
}
