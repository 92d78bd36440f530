//! Runs fuzz targets one after the other for a bounded time.
#![allow(clippy::unwrap_used)]

use std::fs;
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use clap::Parser;
use papir_fuzz::driver::{Bounds, run};
use papir_fuzz::targets::{ALL, Make};

/// Fuzzes every parser of papir.
#[derive(Parser)]
struct Arguments {
    /// Targets to run [default: all].
    targets: Vec<String>,
    /// Total time in seconds for all targets.
    #[arg(long, default_value_t = 120)]
    seconds: u64,
    /// Seed of all mutations [default: the current time].
    #[arg(long)]
    seed: Option<u64>,
    /// Run only this file's bytes, once, in the given target.
    #[arg(long, value_name = "FILE")]
    input: Option<std::path::PathBuf>,
    /// Folder for inputs that make a target panic.
    #[arg(long, value_name = "DIR", default_value = "fuzz/findings")]
    findings: std::path::PathBuf,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();

    let chosen: Vec<&(&str, Make)> = ALL
        .iter()
        .filter(|(name, _)| {
            arguments.targets.is_empty() || arguments.targets.iter().any(|one| one == name)
        })
        .collect();

    let unknown = arguments
        .targets
        .iter()
        .find(|one| ALL.iter().all(|(name, _)| name != one));
    if let Some(unknown) = unknown {
        let names: Vec<&str> = ALL.iter().map(|(name, _)| *name).collect();
        eprintln!(
            "unknown target `{unknown}`: expected one of {}",
            names.join(", ")
        );
        return ExitCode::from(2);
    }

    if let Some(input) = &arguments.input {
        let bytes = fs::read(input).unwrap();
        chosen
            .iter()
            .for_each(|(name, make)| println!("{name}: {}", (make().run)(&bytes)));
        return ExitCode::SUCCESS;
    }

    fuzz(&arguments, &chosen)
}

fn fuzz(arguments: &Arguments, chosen: &[&(&str, Make)]) -> ExitCode {
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(1, |since| since.as_secs());
    let seed = arguments.seed.unwrap_or(now);
    println!("seed {seed}");

    let share = Duration::from_secs(arguments.seconds) / chosen.len().max(1) as u32;
    let bounds = Bounds {
        inputs: u64::MAX,
        time: share,
    };

    let mut findings = 0;
    for (name, make) in chosen {
        let report = run(&mut make(), seed, bounds);

        let inputs = report.inputs;
        let outcomes = report.outcomes;
        let slowest = report.slowest.as_secs_f64() * 1e3;
        println!("{name:12} {inputs:>9} inputs, {outcomes:>4} outcomes, slowest {slowest:.1} ms");

        if let Some(input) = report.finding {
            findings += 1;
            println!(
                "{name:12} FINDING in {}",
                keep(&arguments.findings, name, &input).display()
            );
        }
    }

    if findings == 0 {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Saves an input under the hash of its bytes, and returns its path.
fn keep(folder: &Path, name: &str, input: &[u8]) -> std::path::PathBuf {
    fs::create_dir_all(folder).unwrap();
    let path = folder.join(format!("{name}-{}", &blake3::hash(input).to_hex()[..16]));
    fs::write(&path, input).unwrap();
    path
}
