//! `papir hold`: sends the keys of future lookups ahead.

use std::io::Write;
use std::process::ExitCode;

use clap::Args;
use papir_client::{Connection, Options, Pin, Watcher};

use crate::arguments::connecting::{self, Connecting};
use crate::arguments::servers::ServerArguments;
use crate::arguments::state::StateArguments;
use crate::arguments::trust::TrustArguments;
use crate::failure::Outcome;
use crate::progress::Bars;

/// Exit code if fewer lookups are prepared than requested.
const FEWER: u8 = 1;

/// Send the keys of future lookups ahead, to databases whose clients use tickets (zip, zipdouble).
///
/// Most of a lookup's traffic does not depend on what is looked up. With its key sent ahead, a
/// lookup is short, is answered without a ticket and decodes almost instantly. Keys are stored in
/// the client's state and are valid only for the database version they were made for. With several
/// servers (--also), they go to the first that can be used, where `papir get` with the same
/// addresses looks up, and are of no use at the others. The exit code is 1 if fewer lookups were
/// prepared than requested.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    servers: ServerArguments,
    /// Number of future lookups; at most as many as the server prepares tickets ahead.
    #[arg(long, value_name = "N", default_value_t = 1)]
    lookups: usize,
    #[command(flatten)]
    connecting: Connecting,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    state: StateArguments,
}

const EXAMPLES: &str = "Examples:
  papir hold http://127.0.0.1:7470 --lookups 4
  papir hold https://a.example --also https://b.example
  papir get http://127.0.0.1:7470 apple -v";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = arguments
        .trust
        .add_to(arguments.connecting.options(false)?)?;
    let options = Options {
        pin: Pin::OwnerAndRoot,
        watcher: Watcher::new(Bars::new()),
        ..arguments.state.add_to(options)?
    };

    let mut connection =
        Connection::open_any(&arguments.servers.urls(), &options).map_err(connecting::explain)?;
    let held = connection.hold_ahead(arguments.lookups)?;
    writeln!(std::io::stdout(), "{held} lookup(s) prepared")?;

    Ok(if held < arguments.lookups {
        ExitCode::from(FEWER)
    } else {
        ExitCode::SUCCESS
    })
}
