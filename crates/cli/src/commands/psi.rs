//! `papir psi`: which of my elements are among theirs, without showing either side's.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand, ValueEnum};
use papir_client::Watcher;
use papir_client::psi::{Intersection, intersect};
use papir_lookup::psi::Kind;
use papir_store::psi::{PsiOptions, PsiReport, prepare};
use serde_json::{Map, Value, json};

use super::serve;
use crate::bars::Bars;
use crate::connecting::{self, Connecting};
use crate::describe::{self, Lines, line};
use crate::failure::Outcome;
use crate::fields::field;
use crate::lines;
use crate::serve_config::Settings;
use crate::state_arguments::StateArguments;
use papir_plan::units;

/// Private set intersection: find which of a few elements are in a large set, and what the set says of them.
///
/// The owner of the set prepares a file and serves it; others ask with elements of their own. They learn which
/// of these the set has, and their labels; the owner learns about how many they were.
#[derive(Args)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    Prepare(PrepareArguments),
    Serve(Box<ServeArguments>),
    Run(RunArguments),
}

/// Prepare a set: masks every element under a fresh key, about 60 µs each on one core.
///
/// The file holds the key: only its owner may read it. Small sets without labels become a filter that receivers
/// download once; others a database in which they look their elements up privately.
#[derive(Args)]
#[command(after_help = "Examples:
  papir psi prepare blocked.txt --out blocked.psi
  papir psi prepare contacts.tsv --labels --out contacts.psi")]
struct PrepareArguments {
    /// A text file with an element on each line; - is standard input.
    set: PathBuf,
    /// The file, replaced if there is one.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Lines have labels, after the first tab or, where there is none, the first comma.
    #[arg(long)]
    labels: bool,
    /// How receivers find their elements, instead of the way that costs them less.
    #[arg(long, value_name = "KIND")]
    kind: Option<KindArgument>,
    /// The scheme below private lookups.
    #[arg(long, value_name = "SCHEME", default_value = papir::DEFAULT_SCHEME)]
    scheme: String,
    /// Lookups of a batch; by the size of the set otherwise, at most 64.
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
    /// What `papir psi prepare` wrote.
    file: PathBuf,
    #[command(flatten)]
    settings: Settings,
}

/// Find which elements of a file a served set has.
///
/// One line for each that it has: the element, and after a tab its label where the set has labels; or JSON.
#[derive(Args)]
#[command(after_help = "Examples:
  papir psi run http://127.0.0.1:7470 mine.txt
  papir psi run http://127.0.0.1:7470 mine.txt --json -v")]
struct RunArguments {
    /// The service, as http://host:port or unix:/path/of/a/socket.
    url: String,
    /// A text file with an element on each line; - is standard input.
    set: PathBuf,
    #[command(flatten)]
    connecting: Connecting,
    /// Print JSON lines.
    #[arg(long)]
    json: bool,
    /// Say on stderr what it cost; with --json as one JSON line.
    #[arg(short, long)]
    verbose: bool,
    #[command(flatten)]
    state: StateArguments,
}

pub(crate) fn run(arguments: Arguments) -> Outcome {
    match arguments.what {
        What::Prepare(arguments) => prepare_set(&arguments),
        What::Serve(arguments) => serve::psi(arguments.file, arguments.settings),
        What::Run(arguments) => meet(&arguments),
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
        ..PsiOptions::new(&arguments.set, &arguments.out)
    };
    let report = prepare(&options, &mut papir::system_rng(), &Bars::new())?;
    describe::print(&described(&report), &mut std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

fn described(report: &PsiReport) -> Lines {
    let summary = &report.summary;
    let found = match summary.kind {
        Kind::Filter => "in a filter that is downloaded once",
        Kind::Retrieval => "by private lookups",
    };
    let mut lines = vec![
        line("elements", summary.elements.to_string()),
        line("duplicates", report.duplicates.to_string()),
        line("found", found),
        line("version", summary.version.to_string()),
    ];
    if let Some(longest) = summary.longest {
        lines.push(line("longest label", units::bytes(longest.into())));
    }
    if let Some(bytes) = report.filter_bytes {
        lines.push(line("filter", units::bytes(bytes)));
    }
    if let Some(description) = &report.description {
        let sizes = &description.sizes;
        lines.push(line("scheme", description.scheme));
        lines.push(line("lookups a batch", description.limits.batch.to_string()));
        lines
            .push(line("a batch", format!("{} + {}", units::bytes(sizes.query), units::bytes(sizes.answer))));
    }
    lines.push(line("file", units::bytes(report.file_bytes)));
    lines
}

fn meet(arguments: &RunArguments) -> Outcome {
    let text = lines::read(&arguments.set)?;
    let elements: Vec<&[u8]> = lines::of(&text).into_iter().filter(|line| !line.is_empty()).collect();
    let options = arguments.state.keep(arguments.connecting.options(false)?)?;
    let options = papir_client::Options { watcher: Watcher::new(Bars::new()), ..options };
    let met = intersect(&arguments.url, &elements, &options).map_err(connecting::explain)?;
    let mut out = std::io::stdout().lock();
    let labelled = met.info.longest_label.is_some();
    for found in &met.matches {
        let element = elements.get(found.index).copied().unwrap_or_default();
        if arguments.json {
            writeln!(out, "{}", json_line(element, labelled.then_some(&found.label)))?;
        } else {
            out.write_all(element)?;
            if labelled {
                out.write_all(b"\t")?;
                out.write_all(&found.label)?;
            }
            out.write_all(b"\n")?;
        }
    }
    out.flush()?;
    if arguments.verbose {
        tell(&met, arguments.json)?;
    }
    Ok(ExitCode::SUCCESS)
}

fn json_line(element: &[u8], label: Option<&Vec<u8>>) -> Value {
    let pairs = [Some(field("element", element)), label.map(|label| field("label", label))];
    Value::Object(Map::from_iter(pairs.into_iter().flatten()))
}

fn tell(met: &Intersection, json: bool) -> std::io::Result<()> {
    let Intersection { matches, info, sent_bytes, received_bytes, time } = met;
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
