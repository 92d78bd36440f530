//! The `papir` program: one file per subcommand under `commands`.

mod arguments;
mod commands;
mod describe;
mod failure;
mod lines;
mod progress;
mod service;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, Parser};

use crate::commands::Command;
use crate::failure::{Failure, Outcome};

/// Private information retrieval: look up records without revealing to the server which.
#[derive(Parser)]
#[command(name = "papir", version, arg_required_else_help = true, after_help = AFTER_HELP)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

const AFTER_HELP: &str = "Examples:
  papir build words.csv --key word --value meaning --out words.papir
  papir serve words.papir
  papir get http://127.0.0.1:7470 apple

Exit codes:
  0  success
  1  absent: a key, a client or a pin was not found, or no element (psi run); or places differ
     (checkpoint compare), lookups failed (load), or fewer were prepared than asked for (hold)
  2  error: the same command fails again
  3  error that may pass: the server is busy, not ready or out of reach; try again later";

fn main() -> ExitCode {
    let outcome = match Arguments::try_parse() {
        Ok(arguments) => arguments.command.run(Arguments::command),
        Err(error) => usage(&error),
    };

    outcome.unwrap_or_else(|failure| {
        // If stderr is closed, the failure cannot be reported.
        let _ = writeln!(std::io::stderr(), "papir: {failure}");
        failure.exit_code()
    })
}

/// Prints help and version on stdout; turns every other error into a one-line failure.
fn usage(error: &clap::Error) -> Outcome {
    if !error.use_stderr() {
        error.print()?;
        return Ok(ExitCode::SUCCESS);
    }

    let text = error.render().to_string();
    let problem = text.split("\n\n").next().unwrap_or_default();
    if error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return Err(Failure::new("a subcommand is missing: see papir --help"));
    }

    let problem = problem.strip_prefix("error: ").unwrap_or(problem);
    Err(Failure::new(format!("{problem} (see --help)")))
}
