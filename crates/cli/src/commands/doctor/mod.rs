//! `papir doctor`: checks what usually goes wrong with a service or a prepared file.

mod file;
mod host;
mod machine;
mod service;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use serde::Serialize;

use crate::connecting::{self, Connecting};
use crate::failure::Outcome;

/// Exit code if a check fails.
const FAILED: u8 = 2;

/// Find what is wrong with a service, or with a file before it is served.
///
/// Prints one line for each check, with the remedy if there is one. Of a service: connection,
/// certificate, clock, readiness, token, version, and one test lookup. Of a file: its checksums,
/// memory, registry, tokens, certificate, processor and open files. The exit code is 0 if no check
/// fails, else 2; warnings do not count.
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

/// What the service of a file will use.
#[derive(Args)]
struct HostArguments {
    /// The directory that `papir serve --registry` will use.
    #[arg(long, value_name = "DIR")]
    registry: Option<PathBuf>,
    /// The token file that `papir serve --tokens` will use.
    #[arg(long, value_name = "FILE")]
    tokens: Option<PathBuf>,
    /// The certificate that `papir serve --tls-cert` will use.
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    tls_cert: Option<PathBuf>,
    /// The certificate's private key.
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    tls_key: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  papir doctor https://pir.example --token-file phone.token
  papir doctor words.papir --registry /var/lib/papir/registry --tokens tokens.toml
  papir doctor http://127.0.0.1:7470 --json";

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    Ok,
    Warn,
    Fail,
}

impl Status {
    fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Warn => "warn",
            Self::Fail => "fail",
        }
    }
}

/// One check.
#[derive(Debug, Serialize)]
struct Finding {
    check: &'static str,
    status: Status,
    detail: String,
    /// What to do about it.
    fix: Option<String>,
}

impl Finding {
    fn ok(check: &'static str, detail: impl ToString) -> Self {
        Self { check, status: Status::Ok, detail: detail.to_string(), fix: None }
    }

    fn warn(check: &'static str, detail: impl ToString, fix: &str) -> Self {
        Self { check, status: Status::Warn, detail: detail.to_string(), fix: Some(fix.to_owned()) }
    }

    fn fail(check: &'static str, detail: impl ToString, fix: &str) -> Self {
        Self { check, status: Status::Fail, detail: detail.to_string(), fix: Some(fix.to_owned()) }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let findings = if connecting::is_url(&arguments.place) {
        service::check(&arguments.place, &arguments.connecting.options(true)?)
    } else {
        papir_research::register()?;
        file::check(Path::new(&arguments.place), &arguments.host)
    };
    let mut out = std::io::stdout();
    if arguments.json {
        writeln!(out, "{}", serde_json::to_string(&findings)?)?;
    } else {
        findings.iter().try_for_each(|finding| writeln!(out, "{}", line(finding)))?;
    }
    let failed = findings.iter().any(|finding| finding.status == Status::Fail);
    Ok(if failed { ExitCode::from(FAILED) } else { ExitCode::SUCCESS })
}

fn line(finding: &Finding) -> String {
    let Finding { check, status, detail, fix } = finding;
    let detail = detail.lines().map(str::trim).collect::<Vec<_>>().join(" ");
    let fix = fix.as_ref().map(|fix| format!(" → {fix}")).unwrap_or_default();
    format!("{:<4}  {check:<11}  {detail}{fix}", status.name())
}
