//! The subcommands, one file each: `Arguments` says what is typed, `run` does it.

mod bench;
mod build;
mod completions;
mod demo;
mod get;
mod inspect;
mod plan;
mod serve;

use clap::Subcommand;

use crate::Outcome;

/// All subcommands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(demo::Arguments),
    Plan(plan::Arguments),
    Build(build::Arguments),
    Serve(serve::Arguments),
    Get(get::Arguments),
    Inspect(inspect::Arguments),
    Bench(bench::Arguments),
    Completions(completions::Arguments),
}

impl Command {
    /// Runs it.
    pub(crate) fn run(self) -> Outcome {
        match self {
            Self::Demo(arguments) => demo::run(&arguments),
            Self::Plan(arguments) => plan::run(&arguments),
            Self::Build(arguments) => build::run(&arguments),
            Self::Serve(arguments) => serve::run(arguments),
            Self::Get(arguments) => get::run(&arguments),
            Self::Inspect(arguments) => inspect::run(&arguments),
            Self::Bench(arguments) => bench::run(&arguments),
            Self::Completions(arguments) => completions::run(&arguments),
        }
    }
}
