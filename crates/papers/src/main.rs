//! The program `papir-papers`.

mod progress;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use papir_papers::cli::{Args, run_with};

use crate::progress::StageBar;

/// Exit code of a failure, as of `papir`.
const FAILED: u8 = 2;

/// Tables, figures and measurements of the papers, beside papir's.
#[derive(Parser)]
#[command(name = "papir-papers", version, arg_required_else_help = true)]
struct Program {
    #[command(flatten)]
    args: Args,
}

fn main() -> ExitCode {
    let Program { args } = Program::parse();

    match run_with(&args, &mut io::stdout(), &StageBar::new()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, the failure cannot be reported.
            let _ = writeln!(io::stderr(), "papir-papers: {error}");
            ExitCode::from(FAILED)
        }
    }
}
