//! Prints measures of the workspace's style.
//!
//! `cargo run -p papir-house` prints figures of the whole, with `--crates` of each crate, and with
//! `--list METRIC` every place that a metric counts. It runs in any folder of the workspace.

use std::env;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use papir_house::{SourceFile, StyleSurvey, Unmeasured, report};

/// The folder of this crate, by which the root of the workspace is known.
const HERE: &str = "tools/house";

fn main() -> ExitCode {
    match run() {
        Ok(Some(text)) => {
            // A reader such as `head` may close the pipe early.
            let _ = io::stdout().write_all(text.as_bytes());
            ExitCode::SUCCESS
        }
        Ok(None) => usage(),
        Err(error) => {
            eprintln!("papir-house: {error}");
            ExitCode::FAILURE
        }
    }
}

fn usage() -> ExitCode {
    let names = report::names().join(", ");
    eprintln!("usage: papir-house [--crates | --list METRIC]\nmetrics: {names}");
    ExitCode::from(2)
}

/// The request that the arguments make; `None` if they are unknown.
fn run() -> Result<Option<String>, Unmeasured> {
    let survey = StyleSurvey::read(&SourceFile::of_workspace(&root())?)?;
    let arguments: Vec<String> = env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();

    Ok(match arguments[..] {
        [] => Some(report::whole(&survey)),
        ["--crates"] => Some(report::crates(&survey)),
        ["--list", name] => report::list(&survey, name),
        _ => None,
    })
}

/// The root of the workspace that the current folder is in.
fn root() -> PathBuf {
    let here = env::current_dir().unwrap_or_default();
    let root = here.ancestors().find(|folder| folder.join(HERE).is_dir());
    root.unwrap_or(&here).to_owned()
}
