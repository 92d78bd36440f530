//! `papir completions`: a script that completes papir's arguments in a shell.

use std::io::Write;
use std::process::ExitCode;

use clap::{Args, Command};
use clap_complete::Shell;

use crate::failure::Outcome;

/// Print a completion script for a shell.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The shell to complete in.
    shell: Shell,
}

const EXAMPLES: &str = "Examples:
  papir completions bash > ~/.local/share/bash-completion/completions/papir
  papir completions fish > ~/.config/fish/completions/papir.fish";

pub(crate) fn run(arguments: &Arguments, program: &mut Command) -> Outcome {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, program, "papir", &mut script);
    std::io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
