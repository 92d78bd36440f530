//! `papir extract`: prints the value in the answer to a query in a file.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use papir_client::{KnownVersion, Options, Pin};

use crate::arguments::connecting::{self, Connecting};
use crate::arguments::state::StateArguments;
use crate::failure::Outcome;
use crate::message_file;

/// Exit code if the key is absent.
const ABSENT: u8 = 1;

/// Print the value in an answer to `papir query`.
///
/// Sends nothing. The answer is decoded once: its query is removed from the client's state before.
/// An answer of another client, version or query, and a damaged one, leave the state unchanged. The
/// exit code is 1 if the database does not have the key.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The address that was given to `papir query`, which names the state.
    url: String,
    /// The file with the answer.
    #[arg(value_name = "ANSWER")]
    answer: PathBuf,
    #[command(flatten)]
    connecting: Connecting,
    #[command(flatten)]
    state: StateArguments,
}

const EXAMPLES: &str = "Examples:
  papir extract http://127.0.0.1:7470 a.bin
  papir extract http://127.0.0.1:7470 a.bin --state /media/card/papir";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = arguments.connecting.options(false)?;
    let options = Options {
        known: KnownVersion::Use,
        pin: Pin::OwnerAndRoot,
        ..arguments.state.add_to(options)?
    };

    let answer = message_file::read(&arguments.answer)?;
    let value = papir_client::extract_message(&arguments.url, &options, answer)
        .map_err(connecting::explain)?;

    let Some(value) = value else {
        writeln!(std::io::stderr(), "absent")?;
        return Ok(ExitCode::from(ABSENT));
    };
    // Without a line end, so that a file of the value is the value.
    let mut out = std::io::stdout();
    out.write_all(&value)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}
