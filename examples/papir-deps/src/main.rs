//! Audit of dependencies against an advisory database that does not learn them.
//!
//! | module | content |
//! |---|---|
//! | `arguments` | the command line |
//! | `ecosystem` | ecosystems: normal names, keys, order of versions |
//! | `advisory` | advisories of a package as text, and the versions that they affect |
//! | `osv` | OSV files → advisories |
//! | `database` | folder of OSV files → papir database |
//! | `lockfile` | lockfiles → packages |
//! | `audit` | packages → padded lookups → findings |

mod advisory;
mod arguments;
mod audit;
mod database;
mod ecosystem;
mod lockfile;
mod osv;

use std::collections::BTreeSet;
use std::process::ExitCode;

use clap::Parser;
use papir_client::Connection;

use arguments::{Arguments, BuildArguments, CheckArguments, Command};
use audit::Finding;
use lockfile::Packages;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T, E = Error> = std::result::Result<T, E>;

/// The exit code if a package is affected.
const AFFECTED: u8 = 1;
/// The exit code of an error: nothing is known of the packages then.
const FAILED: u8 = 2;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Check(arguments) => check(&arguments),
        Command::Build(arguments) => build(&arguments),
    };
    outcome.unwrap_or_else(|error| {
        eprintln!("papir-deps: {error}");
        ExitCode::from(FAILED)
    })
}

/// Builds the database of advisories.
fn build(arguments: &BuildArguments) -> Result<ExitCode> {
    let built = database::build(arguments)?;
    println!(
        "{} packages, {} advisories; left out: {}",
        built.packages, built.advisories, built.left_out
    );
    Ok(ExitCode::SUCCESS)
}

/// Looks up the packages of lockfiles, and prints those that an advisory affects.
fn check(arguments: &CheckArguments) -> Result<ExitCode> {
    let mut packages = Packages::default();
    for file in &arguments.lockfiles {
        packages.add(lockfile::read(file)?);
    }
    for other in &packages.others {
        eprintln!("papir-deps: not looked up: {other}");
    }

    let keys: BTreeSet<String> = packages.all.iter().map(lockfile::Package::key).collect();
    let keys = audit::padded(keys, arguments.step.get());
    let mut connection = Connection::open_with(&arguments.service, &arguments.options())?;
    let advisories = audit::look_up(&mut connection, &keys)?;

    let findings = audit::findings(&packages.all, &advisories);
    report(&findings, packages.all.len(), keys.len());
    Ok(ExitCode::from(if findings.is_empty() {
        0
    } else {
        AFFECTED
    }))
}

/// Prints a table of findings to stdout, and the numbers to stderr.
fn report(findings: &[Finding], packages: usize, lookups: usize) {
    let mut rows = vec![["package", "version", "advisory", "affected"].map(str::to_owned)];
    rows.extend(findings.iter().map(Finding::row));
    let width = |column: usize| rows.iter().map(|row| row[column].len()).max().unwrap_or(0);
    let widths = [width(0), width(1), width(2)];

    if !findings.is_empty() {
        for [package, version, advisory, affected] in &rows {
            let [first, second, third] = widths;
            println!("{package:first$}  {version:second$}  {advisory:third$}  {affected}");
        }
    }
    eprintln!(
        "papir-deps: {packages} packages, {lookups} lookups, {} findings",
        findings.len()
    );
}
