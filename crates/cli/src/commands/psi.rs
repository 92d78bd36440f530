//! `papir psi`: private set intersection with a served set.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use papir_client::psi::{Intersection, intersect_any};
use papir_client::{Error, Pin, Watcher};
use papir_core::Run;
use papir_lookup::psi::Kind;
use papir_schemes::default_scheme;
use papir_store::psi::{PsiOptions, PsiReport, prepare};
use serde_json::{Map, Value, json};

use super::serve;
use crate::arguments::connecting::{self, Connecting};
use crate::arguments::state::StateArguments;
use crate::describe::{self, Lines, json_field, line};
use crate::failure::{Failure, Outcome};
use crate::lines;
use crate::progress::Bars;
use crate::service::config::Settings;
use papir_plan::units;

/// Exit code if no element is in the set.
const ABSENT: u8 = 1;

/// Private set intersection: find which of your elements are in a large set, and their labels.
///
/// The owner of the set prepares a file and serves it; receivers query it with their own elements.
/// A receiver learns which of its elements are in the set, and their labels. The owner learns only
/// a rounded number of the receiver's elements.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Prepare(PrepareArguments),
    Serve(Box<ServeArguments>),
    Run(Box<RunArguments>),
}

/// Prepare a set: masks every element under a fresh key, about 60 µs each on one core.
///
/// The file contains the key, so only its owner may read it. A small set without labels becomes a
/// filter that receivers download once. Any other set becomes a database in which receivers look up
/// their elements privately.
#[derive(Args)]
#[command(after_help = "Examples:
  papir psi prepare blocked.txt --out blocked.psi
  papir psi prepare contacts.tsv --labels --out contacts.psi")]
struct PrepareArguments {
    /// A text file with one element per line; - is standard input.
    set: PathBuf,
    /// The file to write; an existing prepared set is replaced.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace a file at --out that papir did not write.
    #[arg(long)]
    force: bool,
    /// Each line has a label after its first tab or, if it has no tab, its first comma.
    #[arg(long)]
    labels: bool,
    /// Matching method [default: the one that costs receivers less].
    #[arg(long, value_name = "KIND")]
    kind: Option<KindArgument>,
    /// The scheme used for private lookups.
    #[arg(long, value_name = "SCHEME", default_value = default_scheme::REFERENCE)]
    scheme: String,
    /// Lookups per batch [default: by the size of the set, at most 64].
    #[arg(long, value_name = "K")]
    batch: Option<usize>,
}

#[derive(Clone, Copy, ValueEnum)]
enum KindArgument {
    /// Download a filter of all elements once.
    Filter,
    /// Look elements up privately.
    Retrieval,
}

/// Serve a prepared set.
#[derive(Args)]
#[command(after_help = "Examples:
  papir psi serve blocked.psi
  papir psi serve blocked.psi --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --rate 100/min")]
struct ServeArguments {
    /// The file written by `papir psi prepare`.
    file: PathBuf,
    #[command(flatten)]
    settings: Settings,
}

/// Find which elements of a file are in a served set.
///
/// Prints one line per match: the element and, if the set has labels, a tab and the label; or JSON.
/// The exit code is 0 if there is a match, 1 if there is none, 2 or 3 on error.
#[derive(Args)]
#[command(after_help = "Examples:
  papir psi run http://127.0.0.1:7470 mine.txt
  papir psi run https://a.example --also https://b.example mine.txt
  papir psi run http://127.0.0.1:7470 mine.txt --json -v")]
struct RunArguments {
    /// The server, as http://host:port or unix:/path/of/a/socket.
    url: String,
    /// A text file with one element per line; - is standard input.
    set: PathBuf,
    /// Another server of the same set, used while the first is away; may be repeated. All must
    /// serve copies of one file of `papir psi prepare`: another file, even of the same elements,
    /// has another key. Each is trusted as the only one would be. The token is sent to each server
    /// that is used.
    #[arg(long, value_name = "URL")]
    also: Vec<String>,
    #[command(flatten)]
    connecting: Connecting,
    /// Print JSON lines.
    #[arg(long)]
    json: bool,
    /// Print costs on stderr; with --json as one JSON line.
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    state: StateArguments,
}

pub(crate) fn run(arguments: Arguments) -> Outcome {
    match arguments.what {
        What::Prepare(arguments) => prepare_set(&arguments),
        What::Serve(arguments) => serve::psi(arguments.file, arguments.settings),
        What::Run(arguments) => find_matches(&arguments),
    }
}

fn prepare_set(arguments: &PrepareArguments) -> Outcome {
    let kind = arguments.kind.map(|kind| match kind {
        KindArgument::Filter => Kind::Filter,
        KindArgument::Retrieval => Kind::Retrieval,
    });
    let options = PsiOptions {
        labels: arguments.labels,
        kind,
        scheme: arguments.scheme.clone(),
        batch: arguments.batch,
        force: arguments.force,
        ..PsiOptions::new(&arguments.set, &arguments.out)
    };

    let report = prepare(
        &options,
        &mut Run::new(&mut papir::system_rng(), &Bars::new()),
    )?;
    describe::print(&described(&report), &mut std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

fn described(report: &PsiReport) -> Lines {
    let mut lines = describe::set(&report.summary);
    lines.push(line("duplicates", report.duplicates));
    if let Some(bytes) = report.filter_bytes {
        lines.push(line("filter", units::bytes(bytes)));
    }

    if let Some(description) = &report.description {
        let sizes = &description.sizes;
        lines.push(line("scheme", description.scheme));
        lines.push(line(
            "lookups per batch",
            description.limits.batch.to_string(),
        ));

        let query = units::bytes(sizes.query);
        let answer = units::bytes(sizes.answer);
        lines.push(line("query and answer", format!("{query} and {answer}")));
    }

    lines.push(line("file", units::bytes(report.file_bytes)));
    lines
}

fn find_matches(arguments: &RunArguments) -> Outcome {
    let text = lines::read(&arguments.set)?;
    // An empty line would be looked up as an element, and its number shows at the service.
    let elements: Vec<&[u8]> = lines::of(&text)
        .into_iter()
        .filter(|line| !line.is_empty())
        .collect();

    let options = arguments
        .state
        .add_to(arguments.connecting.options(false)?)?;
    let options = connecting::quiet_for(arguments.json, options);
    let options = papir_client::Options {
        // Sets are not verifiable: there is no root to pin.
        pin: Pin::Owner,
        watcher: Watcher::new(Bars::new()),
        ..options
    };
    let mut urls = vec![&arguments.url];
    urls.extend(&arguments.also);
    let intersection = intersect_any(&urls, &elements, &options).map_err(explain)?;

    let mut out = std::io::stdout().lock();
    // Before the costs, which go to another stream: with both on a terminal, the result comes
    // first.
    write_matches(&intersection, &elements, arguments.json, &mut out)?;
    if arguments.verbose {
        print_costs(&intersection, arguments.json)?;
    }

    Ok(if intersection.matches.is_empty() {
        ExitCode::from(ABSENT)
    } else {
        ExitCode::SUCCESS
    })
}

/// Converts an error of a lookup to a message.
fn explain(error: Error) -> Failure {
    match error {
        // The routes exist on every service, also where only databases are served.
        Error::Http { status: 404, .. } => Failure::new(format!(
            "{error}: this service has no set (papir psi serve)"
        )),
        other => connecting::explain(other),
    }
}

/// Writes each matching element, with its label if the set has labels.
fn write_matches(
    intersection: &Intersection,
    elements: &[&[u8]],
    json: bool,
    out: &mut dyn Write,
) -> std::io::Result<()> {
    // An element without a label of its own still gets the column, so that every line has as many.
    let labelled = intersection.info.longest_label.is_some();

    for found in &intersection.matches {
        let element = elements.get(found.index).copied().unwrap_or_default();
        if json {
            let label = labelled.then_some(&found.label);
            writeln!(out, "{}", json_line(element, label))?;
            continue;
        }

        // Written as bytes: elements and labels need not be UTF-8.
        out.write_all(element)?;
        if labelled {
            out.write_all(b"\t")?;
            out.write_all(&found.label)?;
        }
        out.write_all(b"\n")?;
    }
    out.flush()
}

fn json_line(element: &[u8], label: Option<&Vec<u8>>) -> Value {
    let pairs = [
        Some(json_field("element", element)),
        label.map(|label| json_field("label", label)),
    ];
    Value::Object(Map::from_iter(pairs.into_iter().flatten()))
}

fn print_costs(intersection: &Intersection, json: bool) -> std::io::Result<()> {
    let Intersection {
        matches,
        info,
        sent_bytes,
        received_bytes,
        time,
    } = intersection;

    if json {
        let costs = json!({
            "matches": matches.len(),
            "kind": info.kind,
            "elements_of_set": info.elements,
            "upload_bytes": sent_bytes,
            "download_bytes": received_bytes,
            "ms": time.as_secs_f64() * 1e3,
        });
        return writeln!(std::io::stderr(), "{costs}");
    }

    writeln!(
        std::io::stderr(),
        "set         {} elements, version {}, {}\nsent        {}\nreceived    {}\ntime        {}",
        info.elements,
        info.version,
        info.kind,
        units::bytes(*sent_bytes),
        units::bytes(*received_bytes),
        units::seconds(time.as_secs_f64()),
    )
}
