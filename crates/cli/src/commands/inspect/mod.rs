//! `papir inspect`: describes a prepared database or set.

mod facts;

use std::fs::OpenOptions as FileOptions;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Args;
use papir_client::{Connection, Options};
use papir_store::psi::PsiSet;
use papir_store::{Delta, OpenOptions, Snapshot, stored_log};
use serde_json::json;

use self::facts::Facts;
use crate::arguments::connecting::{self, Connecting};
use crate::describe::{self, Lines, line};
use crate::failure::{Failure, Outcome};
use crate::relayed_sizes;

/// Describe a prepared database: shape, sizes, security, failure probability, parameters.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// A file written by `papir build` or `papir psi prepare`, or the URL of a server or of one of
    /// its databases.
    #[arg(value_name = "FILE|URL")]
    place: String,
    /// Only check whether the server is ready, which needs no token; the exit code is 0 if it is,
    /// 3 if it is not ready or out of reach.
    #[arg(long)]
    ready: bool,
    #[command(flatten)]
    connecting: Connecting,
    /// Print one JSON object.
    #[arg(long, conflicts_with = "ready")]
    json: bool,
    /// Write every term of a file's failure bound to this new file as JSON, instead of the
    /// description; `-` for standard output. reference/certificate.py checks it.
    #[arg(long, value_name = "OUT", conflicts_with_all = ["ready", "json"])]
    certificate: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  papir inspect words.papir
  papir inspect http://127.0.0.1:7470 --database words --json
  papir inspect words.papir --certificate bound.json
  papir inspect --ready http://127.0.0.1:7470";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let place = &arguments.place;
    if arguments.ready {
        // Without retries: the answer is about this moment.
        let options = Options {
            patience: Some(Duration::ZERO),
            ..arguments.connecting.options(true)?
        };
        papir_client::ready(place, &options).map_err(connecting::explain)?;
        return Ok(ExitCode::SUCCESS);
    }

    if let Some(out) = &arguments.certificate {
        certify(place, out)?;
        return Ok(ExitCode::SUCCESS);
    }

    // By the form of the place, and not by trying: a missing file must not become a network error.
    let described = if connecting::is_url(place) {
        served(
            place,
            connecting::quiet_for(arguments.json, arguments.connecting.options(true)?),
        )?
    } else {
        stored(Path::new(place))?
    };

    let mut out = std::io::stdout();
    match arguments.json {
        true => writeln!(out, "{}", described.facts.json())?,
        false => describe::print(&described.lines, &mut out)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes the certificate of a file's failure bound.
fn certify(place: &str, out: &Path) -> Result<(), Failure> {
    if connecting::is_url(place) {
        return Err(Failure::new(format!(
            "--certificate for {place}: expected a file; fetch the database with papir pull"
        )));
    }

    papir_research::register()?;
    let certificate = Snapshot::open(Path::new(place))?.certificate()?.json();

    if out == Path::new("-") {
        std::io::stdout().write_all(certificate.as_bytes())?;
        return Ok(());
    }

    // A file that exists may be anything, such as the database itself.
    let file = FileOptions::new().write(true).create_new(true).open(out);
    let mut file = file.map_err(|error| Failure::at(out, error))?;
    file.write_all(certificate.as_bytes())
        .map_err(|error| Failure::at(out, error))
}

/// A description, as lines and for JSON.
struct Described {
    lines: Lines,
    facts: Facts,
}

/// Describes a served database from its public part, so that the server's own claims need not be
/// trusted.
fn served(url: &str, options: Options) -> Result<Described, Failure> {
    let connection = Connection::open_with(url, &options).map_err(connecting::explain)?;
    let lookup = connection.lookup();
    let name = &connection.info().name;
    let description = lookup.describe();

    let mut facts = Facts::of(name, &description, lookup.version(), lookup.keyword());
    let mut lines = vec![line("name", name)];
    lines.extend(describe::database(
        &description,
        lookup.version(),
        lookup.keyword(),
    ));
    lines.extend(lookup.root().map(|root| line("root", root)));
    facts.set("root", lookup.root().map(|root| root.to_string()));

    if let Some(stated) = lookup.stated_prefilter() {
        lines.push(describe::prefilter(stated));
        facts.prefilter(stated);
    }

    let sealed = relayed_sizes::of_service(&connection);
    lines.extend(relayed_sizes::lines(sealed));
    facts.set("sealed", relayed_sizes::json(sealed));

    if let Some(accepted) = connection.checkpoint() {
        lines.push(describe::signed(&accepted.leaf));
        lines.push(line("owner", &accepted.owner));
        facts.signed(&accepted.leaf, &accepted.owner);
    }
    Ok(Described { lines, facts })
}

fn stored(file: &Path) -> Result<Described, Failure> {
    // Insecure schemes are allowed here: describing a file serves nothing.
    papir_research::register()?;

    // Any other file is opened as a database, whose errors explain what is wrong with it.
    match PsiSet::open(file) {
        Ok(set) => stored_set(file, &set),
        Err(_) => stored_database(file),
    }
}

fn stored_database(file: &Path) -> Result<Described, Failure> {
    let snapshot = Snapshot::open(file)?;
    // A delta of another version is an error: a service would refuse it as well.
    let delta = Delta::of(file, snapshot.server.version(), &OpenOptions::default())?;
    let sealed = relayed_sizes::of_snapshot(&snapshot, delta.as_ref());

    let Snapshot {
        metadata,
        server,
        keyword,
        prefilter,
        sections,
        file_bytes,
        ..
    } = snapshot;
    let description = server.describe();

    let mut facts = Facts::of(
        &metadata.name,
        &description,
        server.version(),
        keyword.as_ref(),
    );
    let mut lines = vec![line("name", &metadata.name)];
    lines.extend(describe::database(
        &description,
        server.version(),
        keyword.as_ref(),
    ));
    lines.extend(metadata.root.as_ref().map(|root| line("root", root)));
    facts.set("root", &metadata.root);
    if let Some(filter) = &prefilter {
        lines.push(describe::prefilter(&filter.summary));
        facts.prefilter(&filter.summary);
    }
    lines.extend(relayed_sizes::lines(sealed));
    facts.set("sealed", relayed_sizes::json(sealed));

    // Read without the owner's key: the file is described, and a client decides whom to trust.
    if let Some(log) = stored_log(file)? {
        lines.push(describe::signed(log.newest()?));
        lines.push(line("owner", log.owner()));
        facts.signed(log.newest()?, log.owner());
    }
    if let Some(delta) = &delta {
        lines.push(line("delta", describe::delta(&delta.metadata)));
    }
    facts.set("delta", json!(delta.map(|delta| delta.metadata)));

    lines.extend(describe::origin(&metadata));
    lines.extend(describe::owner_keys(&sections));
    lines.push(describe::file(file_bytes, sections.len()));
    facts.set("file_bytes", file_bytes);
    Ok(Described { lines, facts })
}

/// Describes a set, and its filter or the database of its masked elements.
fn stored_set(file: &Path, set: &PsiSet) -> Result<Described, Failure> {
    let mut lines = vec![line(
        "kind",
        "a set for private intersection (papir psi serve)",
    )];
    lines.extend(describe::set(&set.summary));

    if let Some(filter) = &set.filter {
        lines.push(line(
            "filter",
            papir_plan::units::bytes(filter.len() as u64),
        ));
        lines.push(line(
            "file",
            papir_plan::units::bytes(std::fs::metadata(file)?.len()),
        ));
        let facts = Facts::of_filter(&set.summary, filter.len() as u64);
        return Ok(Described { lines, facts });
    }

    // A set for retrieval is a database with a description of the set.
    let mut described = stored_database(file)?;
    lines.append(&mut described.lines);
    described.facts.of_set(&set.summary);
    Ok(Described {
        lines,
        facts: described.facts,
    })
}
