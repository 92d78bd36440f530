//! `papir build`: a source file becomes a prepared database.

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use papir_core::{Error, Goal};
use papir_lookup::{MAX_ROOM, OnDuplicate};
use papir_schemes::registry;
use papir_store::{BuildOptions, Format, Preparation, SkippedRow};

use crate::bars::Bars;
use crate::describe::{self, Lines, line};
use crate::failure::{Failure, Outcome};
use crate::owner_key;
use papir_plan::planner::{self, Demand};

/// Prepare a database from a file, a folder of files, an SQLite table or query, or standard input.
///
/// With --key, records are looked up by key; several --value columns become one JSON object, none make a
/// set. Without, records are looked up by their number. Of a folder, paths are keys and files values;
/// symbolic links in it are left out. The database is written whole or not at all.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file or folder to read; `-` for standard input (csv, jsonl, raw; needs --format).
    source: PathBuf,
    /// The prepared database to write; replaced if it is there.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The source's format, where its extension (.csv, .jsonl, .ndjson, .parquet, .sqlite, .sqlite3, .db)
    /// does not tell.
    #[arg(long)]
    format: Option<SourceFormat>,
    /// The table of an SQLite database; not needed where there is only one.
    #[arg(long, value_name = "NAME", conflicts_with = "query")]
    table: Option<String>,
    /// A query to an SQLite database, in place of a table.
    #[arg(long, value_name = "SELECT …")]
    query: Option<String>,
    /// The column or field of the keys.
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// The columns or fields of the values, separated by commas.
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    value: Vec<String>,
    /// Bytes of one record: needed for raw files, optional for others without keys.
    #[arg(long, value_name = "N")]
    record_bytes: Option<u64>,
    /// The scheme; `auto` for the one, with its parameters, that `papir plan` recommends [default: inspire, or
    /// with --encrypt pirouette-encrypted].
    #[arg(long, value_name = "NAME")]
    scheme: Option<String>,
    /// What the scheme's parameters are chosen for; balanced by default.
    #[arg(long)]
    goal: Option<ParameterGoal>,
    /// Prepare for batches of up to K lookups (papir get --batch), which cost the server several times what one
    /// costs, instead of K times; memory, too, is several times as much.
    #[arg(long, value_name = "K")]
    batch: Option<usize>,
    /// What to do with a key that comes twice.
    #[arg(long, default_value = "error")]
    on_duplicate: Duplicates,
    /// Make the table of keys so much larger than it needs to be: room for the new keys of updates.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = room())]
    room: u32,
    /// Leave out up to N bad rows, each named on stderr; one more is an error.
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_bad: u64,
    /// The database's name, instead of the stem of FILE.
    #[arg(long)]
    name: Option<String>,
    /// Commit to all records: clients check each record against a root that `inspect` prints.
    #[arg(long)]
    verifiable: bool,
    /// Encrypt the records under the key in this file, which is made if it is not there: who serves the database
    /// sees neither records nor queries. Clients ask with the same key (papir get --owner-key).
    #[arg(long, value_name = "KEYFILE")]
    encrypt: Option<PathBuf>,
    /// Allow a scheme that hides nothing from the server.
    #[arg(long)]
    insecure_plain: bool,
    /// Allow NewtonPIR, whose queries give their index away (see `papir attack newton`).
    #[arg(long)]
    insecure_newton: bool,
}

fn room() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(MAX_ROOM))
}

/// The name that stands for the planner's choice.
const AUTO: &str = "auto";

const EXAMPLES: &str = "Examples:
  papir build words.csv --key word --value meaning --out words.papir
  papir build people.jsonl --key id --value name,city --goal min-communication --out people.papir
  papir build words.csv --key word --value meaning --scheme auto --out words.papir
  papir build words.csv --key word --value meaning --room 10 --out words.papir
  papir build words.csv --key word --value meaning --batch 64 --out words.papir
  papir build words.csv --key word --value meaning --encrypt words.key --out words.papir
  papir build hashes.bin --format raw --record-bytes 32 --out hashes.papir
  papir build events.parquet --key id --value time,amount --skip-bad 10 --out events.papir
  papir build shop.db --table prices --key article --value price --out prices.papir
  papir build shop.db --query \"SELECT id, name FROM articles WHERE sold\" --key id --value name --out sold.papir
  papir build pages/ --out pages.papir
  zcat words.csv.gz | papir build - --format csv --key word --value meaning --out words.papir";

#[derive(Clone, Copy, ValueEnum)]
enum SourceFormat {
    Csv,
    Jsonl,
    Parquet,
    Sqlite,
    Folder,
    Raw,
}

#[derive(Clone, Copy, ValueEnum)]
enum ParameterGoal {
    /// Fewest bytes.
    MinCommunication,
    /// Least time on a line of 10 Mbit/s.
    Balanced,
    /// Least work for the server.
    MinTime,
}

#[derive(Clone, Copy, ValueEnum)]
enum Duplicates {
    /// Refuse the source.
    Error,
    /// Keep the first.
    First,
    /// Keep the last.
    Last,
}

impl From<SourceFormat> for Format {
    fn from(format: SourceFormat) -> Self {
        match format {
            SourceFormat::Csv => Self::Csv,
            SourceFormat::Jsonl => Self::JsonLines,
            SourceFormat::Parquet => Self::Parquet,
            SourceFormat::Sqlite => Self::Sqlite,
            SourceFormat::Folder => Self::Folder,
            SourceFormat::Raw => Self::Raw,
        }
    }
}

impl From<ParameterGoal> for Goal {
    fn from(goal: ParameterGoal) -> Self {
        match goal {
            ParameterGoal::MinCommunication => Self::MinCommunication,
            ParameterGoal::Balanced => Self::Balanced,
            ParameterGoal::MinTime => Self::MinTime,
        }
    }
}

impl From<Duplicates> for OnDuplicate {
    fn from(duplicates: Duplicates) -> Self {
        match duplicates {
            Duplicates::Error => Self::Refuse,
            Duplicates::First => Self::First,
            Duplicates::Last => Self::Last,
        }
    }
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let options = options(arguments)?;
    let lines = if options.scheme == AUTO { build_auto(arguments, &options)? } else { build(&options)? };
    describe::print(&lines, &mut std::io::stdout())?;
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &Arguments) -> Result<BuildOptions, Failure> {
    check(arguments)?;
    if arguments.insecure_newton {
        papir_research::register()?;
    }
    let (source, scheme) = (&arguments.source, scheme(arguments));
    let encrypt = arguments.encrypt.as_deref().map(owner_key::read_or_make).transpose()?;
    Ok(BuildOptions {
        format: arguments.format.map(Format::from),
        table: arguments.table.clone(),
        query: arguments.query.clone(),
        skip_bad: arguments.skip_bad,
        key: arguments.key.clone(),
        values: arguments.value.clone(),
        record_bytes: arguments.record_bytes,
        scheme: scheme.to_owned(),
        goal: arguments.goal.map_or_else(Goal::default, Goal::from),
        batch: arguments.batch,
        on_duplicate: arguments.on_duplicate.into(),
        verifiable: arguments.verifiable,
        room: arguments.room,
        name: arguments.name.clone(),
        encrypt,
        allow_not_private: if is_newton(scheme) {
            arguments.insecure_newton
        } else {
            arguments.insecure_plain
        },
        ..BuildOptions::new(source, &arguments.out)
    })
}

/// The scheme that is asked for, or the default.
fn scheme(arguments: &Arguments) -> &str {
    let default = if arguments.encrypt.is_some() { registry::ENCRYPTED } else { papir::DEFAULT_SCHEME };
    arguments.scheme.as_deref().unwrap_or(default)
}

/// Whether a scheme is one of NewtonPIR's, which need a word of their own.
fn is_newton(scheme: &str) -> bool {
    scheme.starts_with("newton")
}

/// What does not go with a format, in the words of the command line.
fn check(arguments: &Arguments) -> Result<(), Failure> {
    check_key(arguments)?;
    let Arguments { source, format, record_bytes, key, value, .. } = arguments;
    let told = format.map_or(Format::of(source), Format::from);
    if told == Format::Raw && format.is_none() && (record_bytes.is_none() || source.as_os_str() == "-") {
        let source = source.display();
        return Err(Failure::new(format!("the format of {source} is not told by its name: give --format")));
    }
    if matches!(told, Format::Raw | Format::Folder) && (key.is_some() || !value.is_empty()) {
        let name = told.name();
        return Err(Failure::new(format!("--key and --value name columns: a {name} source has none")));
    }
    if told == Format::Raw && record_bytes.is_none() {
        return Err(Failure::new("a raw source needs the length of its records: give --record-bytes"));
    }
    if told != Format::Sqlite && (arguments.table.is_some() || arguments.query.is_some()) {
        let name = told.name();
        return Err(Failure::new(format!(
            "--table and --query ask an SQLite database: a {name} source is none"
        )));
    }
    Ok(())
}

/// A scheme and a key that do not go together, before a key is made.
fn check_key(arguments: &Arguments) -> Result<(), Failure> {
    let (scheme, encrypted) = (scheme(arguments), registry::ENCRYPTED);
    match (&arguments.encrypt, scheme == encrypted) {
        (None, true) => {
            Err(Failure::new(format!("{encrypted} encrypts under a key: give --encrypt KEYFILE")))
        }
        (Some(_), true) if arguments.batch.is_some() => Err(Failure::new(format!(
            "--batch asks for many records at once: {encrypted} answers one, not with --encrypt"
        ))),
        (Some(_), true) if arguments.verifiable => Err(Failure::new(
            "--verifiable commits to records by hashes, which tell of them: not with --encrypt",
        )),
        (Some(_), false) => {
            Err(Failure::new(format!("{scheme} does not encrypt records: --encrypt goes with {encrypted}")))
        }
        _ => Ok(()),
    }
}

/// Names on stderr what was left out.
fn name_skipped(source: &Path, skipped: &[SkippedRow]) {
    for SkippedRow { place, reason } in skipped {
        eprintln!("papir: left out {}, {place}: {reason}", source.display());
    }
}

/// Builds, with bars, and says what it gave.
fn build(options: &BuildOptions) -> Result<Lines, Failure> {
    let report = papir_store::build(options, &mut papir::system_rng(), &Bars::new());
    let report = report.map_err(|error| match error {
        papir_store::Error::Core(error @ Error::NotPrivate { .. }) => {
            let option = if is_newton(&options.scheme) { "--insecure-newton" } else { "--insecure-plain" };
            Failure::new(format!("{error} ({option})"))
        }
        other => other.into(),
    })?;
    name_skipped(&options.source, &report.skipped);
    Ok(describe::build(&report))
}

/// Builds under what `papir plan` recommends for the records, and says which and why.
fn build_auto(arguments: &Arguments, options: &BuildOptions) -> Result<Lines, Failure> {
    if arguments.goal.is_some() || arguments.batch.is_some() {
        return Err(Failure::new(
            "--goal and --batch choose the parameters of one scheme: --scheme auto chooses by time",
        ));
    }
    let known = papir_plan::rates_file::known(None)?;
    let reason = OnceCell::new();
    let prepare: &Preparation<'_> = &|records, rng, progress| {
        let demand = Demand::new(records.shape(), &known.rates);
        let choice = planner::choose(&demand, &known.rates)
            .map_err(|failure| Error::Parameters { scheme: AUTO, reason: failure.to_string() })?;
        // Records are prepared once.
        let _ = reason.set(choice.reason());
        let scheme = registry::by_name(choice.best.scheme)?;
        scheme.setup_candidate(&choice.best.encoded, records, rng, progress)
    };
    let report = papir_store::build_with(options, prepare, &mut papir::system_rng(), &Bars::new())?;
    name_skipped(&options.source, &report.skipped);
    let mut lines = describe::build(&report);
    lines.push(line("chosen", reason.into_inner().unwrap_or_default()));
    lines.push(line("rates", known.words));
    Ok(lines)
}

/// Builds a database of keys from two columns of a CSV file, with every default.
pub(crate) fn keyed_csv(
    source: &Path,
    out: &Path,
    (key, value): (&str, &str),
    scheme: &str,
) -> Result<Lines, Failure> {
    build(&BuildOptions {
        format: Some(Format::Csv),
        key: Some(key.to_owned()),
        values: vec![value.to_owned()],
        scheme: scheme.to_owned(),
        ..BuildOptions::new(source, out)
    })
}
