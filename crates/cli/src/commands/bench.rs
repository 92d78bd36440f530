//! `papir bench`: measures schemes.

use std::process::ExitCode;

pub(crate) use papir_measure::cli::Args as Arguments;

use crate::failure::Outcome;
use crate::progress::Bars;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    papir_measure::cli::run_with(arguments, &mut std::io::stdout(), &Bars::new())?;
    Ok(ExitCode::SUCCESS)
}
