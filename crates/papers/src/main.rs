//! The program `papir-papers`.

mod progress;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use papir_papers::cli::{PapersArguments, run_with};

use crate::progress::StageBar;

/// Exit code of a failure, as of `papir`.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    // Ends the process itself for arguments that clap refuses, and for --help.
    let arguments = PapersArguments::parse();

    match run_with(&arguments, &mut io::stdout(), &StageBar::new()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // If stderr is closed, the failure cannot be reported.
            let _ = writeln!(io::stderr(), "papir-papers: {error}");
            ExitCode::from(FAILED)
        }
    }
}
