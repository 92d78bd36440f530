//! The subcommands, one module each.
//!
//! In each, `Arguments` is the command line and `run` executes it.

mod answer;
mod append;
mod attack;
mod bench;
mod build;
mod checkpoint;
mod clients;
mod completions;
mod demo;
mod doctor;
mod extract;
mod follow;
mod get;
mod hold;
mod inspect;
mod issuer;
mod load;
mod merge;
mod pin;
mod plan;
mod psi;
mod pull;
mod push;
mod query;
mod relay;
mod rollback;
mod serve;
mod standalone;
mod tokens;
mod update;
mod versions;

use clap::Subcommand;

use crate::failure::Outcome;

/// All subcommands.
#[derive(Subcommand)]
pub(crate) enum Command {
    Demo(demo::Arguments),
    Plan(plan::Arguments),
    Build(build::Arguments),
    Update(update::Arguments),
    Append(append::Arguments),
    Merge(merge::Arguments),
    Follow(Box<follow::Arguments>),
    Versions(versions::Arguments),
    Rollback(rollback::Arguments),
    Checkpoint(Box<checkpoint::Arguments>),
    Serve(Box<serve::Arguments>),
    Relay(Box<relay::Arguments>),
    Issuer(Box<issuer::Arguments>),
    Tokens(tokens::Arguments),
    Get(Box<get::Arguments>),
    Hold(hold::Arguments),
    Query(Box<query::Arguments>),
    Answer(answer::Arguments),
    Extract(Box<extract::Arguments>),
    Pin(pin::Arguments),
    Inspect(inspect::Arguments),
    Doctor(Box<doctor::Arguments>),
    Psi(psi::Arguments),
    Clients(clients::Arguments),
    Push(push::Arguments),
    Pull(pull::Arguments),
    Load(load::Arguments),
    Bench(bench::Arguments),
    Attack(attack::Arguments),
    Completions(completions::Arguments),
}

impl Command {
    /// Runs the subcommand. `program` describes the whole command line, for completion scripts.
    pub(crate) fn run(self, program: fn() -> clap::Command) -> Outcome {
        match self {
            Self::Demo(arguments) => demo::run(&arguments),
            Self::Plan(arguments) => plan::run(&arguments),
            Self::Build(arguments) => build::run(&arguments),
            Self::Update(arguments) => update::run(&arguments),
            Self::Append(arguments) => append::run(arguments),
            Self::Merge(arguments) => merge::run(&arguments),
            Self::Follow(arguments) => follow::run(&arguments),
            Self::Versions(arguments) => versions::run(&arguments),
            Self::Rollback(arguments) => rollback::run(&arguments),
            Self::Checkpoint(arguments) => checkpoint::run(&arguments),
            Self::Serve(arguments) => serve::run(*arguments),
            Self::Relay(arguments) => relay::run(&arguments),
            Self::Issuer(arguments) => issuer::run(&arguments),
            Self::Tokens(arguments) => tokens::run(arguments),
            Self::Get(arguments) => get::run(&arguments),
            Self::Hold(arguments) => hold::run(&arguments),
            Self::Query(arguments) => query::run(&arguments),
            Self::Answer(arguments) => answer::run(&arguments),
            Self::Extract(arguments) => extract::run(&arguments),
            Self::Pin(arguments) => pin::run(arguments),
            Self::Inspect(arguments) => inspect::run(&arguments),
            Self::Doctor(arguments) => doctor::run(&arguments),
            Self::Psi(arguments) => psi::run(arguments),
            Self::Clients(arguments) => clients::run(&arguments),
            Self::Push(arguments) => push::run(&arguments),
            Self::Pull(arguments) => pull::run(&arguments),
            Self::Load(arguments) => load::run(&arguments),
            Self::Bench(arguments) => bench::run(&arguments),
            Self::Attack(arguments) => attack::run(&arguments),
            Self::Completions(arguments) => completions::run(&arguments, &mut program()),
        }
    }
}
