//! The `papir` program: one file per subcommand under `commands`.

mod arguments;
mod commands;
mod describe;
mod failure;
mod lines;
mod message_file;
mod progress;
mod relayed_sizes;
mod service;

use std::io::Write;
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser};

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
  3  error that may pass: the server is busy, not ready or out of reach; try again later
  141  the reader of the output has ended, such as head";

fn main() -> ExitCode {
    let matches = without_empty_variables(Arguments::command()).try_get_matches();
    let outcome = match matches.and_then(|matches| Arguments::from_arg_matches(&matches)) {
        Ok(arguments) => arguments.command.run(Arguments::command),
        Err(error) => usage(&error),
    };

    outcome.unwrap_or_else(|failure| {
        if failure.is_shown() {
            // If stderr is closed, the failure cannot be reported.
            let _ = writeln!(std::io::stderr(), "papir: {failure}");
        }
        failure.exit_code()
    })
}

/// Treats empty variables as unset: files for containers often pass on variables that nobody set.
fn without_empty_variables(command: clap::Command) -> clap::Command {
    let command = command.mut_args(|argument| {
        let is_empty = argument
            .get_env()
            .and_then(std::env::var_os)
            .is_some_and(|value| value.is_empty());
        match is_empty {
            true => argument.env(None::<&'static str>),
            false => argument,
        }
    });
    command.mut_subcommands(without_empty_variables)
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
