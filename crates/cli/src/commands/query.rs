//! `papir query`: writes the query of one lookup to a file.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use papir_client::{Connection, KnownVersion, Options, OwnedWanted, Pin, Watcher};
use zeroize::Zeroizing;

use crate::arguments::connecting::{self, Connecting};
use crate::arguments::state::StateArguments;
use crate::arguments::trust::TrustArguments;
use crate::failure::{Failure, Outcome};
use crate::message_file;
use crate::progress::Bars;

/// Write the query of one lookup to a file, which any channel may carry to the operator.
///
/// For databases whose clients register keys and use no tickets (pirouette, respire,
/// pirouette-encrypted). The first query of a database connects to its server, registers and keeps
/// the version with the client's state; later ones need no connection. Each query is for one
/// lookup. The operator answers it with `papir answer`, and `papir extract` prints the value. At
/// most 64 queries wait for their answers.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The server, as http://host:port or unix:/path/of/a/socket, or one of its databases. Without
    /// a connection, it names the state to use.
    url: String,
    /// The key to look up.
    #[arg(value_name = "KEY", required_unless_present = "index")]
    key: Option<OsString>,
    /// A record number, starting at 0, for a database without keys.
    #[arg(long, value_name = "N", conflicts_with = "key")]
    index: Option<u64>,
    /// The file for the query. A query of pirouette has 40 bytes for each record of a lookup, less
    /// 4 for each after the first.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Connect, and keep the newest version in place of the known one. Queries that wait for their
    /// answers are dropped.
    #[arg(long)]
    renew: bool,
    #[command(flatten)]
    connecting: Connecting,
    #[command(flatten)]
    trust: TrustArguments,
    #[command(flatten)]
    state: StateArguments,
}

const EXAMPLES: &str = "Examples:
  papir query http://127.0.0.1:7470 apple --out q.bin
  papir answer fruit.papir q.bin --registry /var/lib/papir/registry --out a.bin
  papir extract http://127.0.0.1:7470 a.bin";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = arguments
        .trust
        .add_to(arguments.connecting.options(false)?)?;
    let options = Options {
        known: match arguments.renew {
            true => KnownVersion::Renew,
            false => KnownVersion::Use,
        },
        pin: Pin::OwnerAndRoot,
        watcher: Watcher::new(Bars::new()),
        ..arguments.state.add_to(options)?
    };

    let mut connection =
        Connection::open_with(&arguments.url, &options).map_err(connecting::explain)?;
    let wanted = wanted(arguments, connection.info().keyed)?;
    let query = connection
        .query_message(wanted)
        .map_err(connecting::explain)?;

    message_file::write(&arguments.out, &query)?;
    Ok(ExitCode::SUCCESS)
}

/// The key or the index to look up.
fn wanted(arguments: &Arguments, keyed: bool) -> Result<OwnedWanted, Failure> {
    match (&arguments.key, arguments.index) {
        (Some(key), _) if keyed => {
            let key = key.as_encoded_bytes().to_vec();
            Ok(OwnedWanted::Key(Zeroizing::new(key)))
        }
        (None, Some(index)) if !keyed => Ok(OwnedWanted::Index(Zeroizing::new(index))),
        (_, None) => Err(Failure::new(
            "a database without keys: give the record number (--index N)",
        )),
        (_, Some(_)) => Err(Failure::new(
            "--index cannot be used with a keyed database: give the KEY",
        )),
    }
}
