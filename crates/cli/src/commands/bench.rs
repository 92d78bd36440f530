//! `papir bench`: measures schemes and their parts.

use std::process::ExitCode;

pub(crate) use papir_bench::cli::Args as Arguments;

use crate::bars::Bars;
use crate::failure::Outcome;

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    papir_bench::cli::run_with(arguments, &mut std::io::stdout(), &Bars::new())?;
    Ok(ExitCode::SUCCESS)
}
