//! `papir doctor`: checks a service or a prepared file.

mod file;
mod finding;
mod host;
mod machine;
mod service;

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Args;

use self::finding::{Finding, Status};
use self::host::HostArguments;
use crate::arguments::connecting::{self, Connecting};
use crate::failure::{Outcome, one_line};

/// Exit code if a check fails.
const FAILED: u8 = 2;

/// Find common faults of a service, or of a file before it is served.
///
/// Prints one line for each check, with a remedy where papir knows one. For a service it checks
/// connection, certificate, clock, readiness, token, version, and one test lookup; for a file its
/// checksums, memory, registry, tokens, certificate, processor and open files. The exit code is 0
/// if no check fails, else 2; warnings do not count.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The URL of a server or of one of its databases, or a file written by `papir build` or
    /// `papir psi prepare`.
    #[arg(value_name = "URL|FILE")]
    place: String,
    #[command(flatten)]
    connecting: Connecting,
    #[command(flatten)]
    host: HostArguments,
    /// Print a JSON array of {check, status, detail, fix}; status is ok, warn or fail.
    #[arg(long)]
    json: bool,
}

const EXAMPLES: &str = "Examples:
  papir doctor https://pir.example --token-file phone.token
  papir doctor words.papir --registry /var/lib/papir/registry --tokens tokens.toml
  papir doctor http://127.0.0.1:7470 --json";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let findings = if connecting::is_url(&arguments.place) {
        let options = arguments.connecting.options(true)?;
        service::check(
            &arguments.place,
            &connecting::quiet_for(arguments.json, options),
        )
    } else {
        papir_research::register()?;
        file::check(
            Path::new(&arguments.place),
            &arguments.host,
            &arguments.connecting.network(),
        )
    };

    let mut out = std::io::stdout();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&findings)?)?;
    } else {
        for finding in &findings {
            writeln!(out, "{}", line(finding))?;
        }
    }

    let failed = findings
        .iter()
        .any(|finding| finding.status == Status::Fail);
    Ok(if failed {
        ExitCode::from(FAILED)
    } else {
        ExitCode::SUCCESS
    })
}

fn line(finding: &Finding) -> String {
    let Finding {
        check,
        status,
        detail,
        fix,
    } = finding;
    let fix = match fix {
        Some(fix) => format!(" → {fix}"),
        None => String::new(),
    };

    one_line(&format!("{:<4}  {check:<11}  {detail}{fix}", status.name()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_no_control_characters() {
        let finding = Finding::fail("readiness", "the service\n says \u{1b}[2J", "start it");

        assert_eq!(
            line(&finding),
            "fail  readiness    the service says \u{fffd}[2J → start it"
        );
    }
}
