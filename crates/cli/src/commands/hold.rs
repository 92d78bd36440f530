//! `papir hold`: tickets for lookups to come, kept by the client.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use papir_client::{Connection, Options, Watcher};

use crate::bars::Bars;
use crate::connecting::{self, Connecting};
use crate::failure::Outcome;
use crate::state_arguments::StateArguments;

/// Exit code when fewer tickets are held than were asked for.
const FEWER: u8 = 1;

/// Fetch the tickets of lookups to come, of databases whose clients have some (zip, zipdouble).
///
/// Answers to these lookups are half as long, and opened in no time. Tickets are kept with the client's
/// state, and serve the version of the database that they are fetched from. The exit code is 1 when there were
/// fewer than asked for, as when the database changed meanwhile.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The service, as http://host:port, or one of its databases, as http://host:port/v1/databases/name,
    /// or unix:/path/of/a/socket.
    url: String,
    /// Lookups to come; as many as the service prepares tickets ahead, at most.
    #[arg(long, value_name = "N", default_value_t = 1)]
    lookups: usize,
    #[command(flatten)]
    connecting: Connecting,
    #[command(flatten)]
    state: StateArguments,
}

const EXAMPLES: &str = "Examples:
  papir hold http://127.0.0.1:7470 --lookups 4
  papir get http://127.0.0.1:7470 apple -v";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = arguments.connecting.options(false)?;
    let options = Options { pin: true, watcher: Watcher::new(Bars::new()), ..arguments.state.keep(options)? };
    let mut connection = Connection::open_with(&arguments.url, &options).map_err(connecting::explain)?;
    let held = connection.hold_ahead(arguments.lookups)?;
    writeln!(std::io::stdout(), "tickets for {held} lookup(s) held")?;
    Ok(if held < arguments.lookups { ExitCode::from(FEWER) } else { ExitCode::SUCCESS })
}
