//! `papir build`: prepares a database from a source.

mod announcement;

use std::cell::OnceCell;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use papir_core::cost::Rates;
use papir_core::{Description, Error, FailureBound, Goal, Run, Sizes};
use papir_lookup::prefilter::BITS;
use papir_lookup::{BucketTarget, MAX_ROOM, OnDuplicate};
use papir_schemes::default_scheme::ClientsMaySee;
use papir_schemes::depir::evaluation::{Points, Tables, Tabulated};
use papir_schemes::depir::structure::levels::Steps;
use papir_schemes::registry;
use papir_store::{Build, BuildOptions, Format, Preparation, SkippedRow};

use crate::arguments::network::NetworkArguments;
use crate::arguments::owner_key;
use crate::arguments::sign::{self, SignArguments};
use crate::arguments::source_form::SourceFormArguments;
use crate::describe::{self, Lines, line};
use crate::failure::{Failure, Outcome};
use crate::progress::Bars;
use papir_plan::auto::{AUTO, Auto};
use papir_plan::shards::{DEFAULT_NETWORK, Machines};
use papir_plan::units::parse_bytes;

/// Prepare a database from files, a folder of files, an SQLite table or query, a query of a
/// PostgreSQL server, or standard input.
///
/// With --key, records are looked up by key; several --value columns become one JSON object, and
/// without --value the database is a set of keys. Without --key, records are looked up by number.
/// In lists, pairs and hosts files, each line has its key, and needs no --key. In a folder, paths
/// are the keys and file contents the values; symbolic links are skipped. The
/// database is written completely or not at all. A build that needs more than 256 MiB of memory
/// says on stderr, before it starts, how large file and memory will be.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The file or folder to read; `-` for standard input, which needs --format and may not be
    /// parquet, sqlite or a folder. Several files of one format, with the same columns, are read in
    /// order; a pattern with * or ? stands for all files that it matches. Or a server with --query:
    /// postgres://USER@HOST/DATABASE (with PGPASSWORD or PGPASSFILE).
    #[arg(value_name = "SOURCE", required = true)]
    sources: Vec<PathBuf>,
    /// The prepared database to write; an existing one is replaced. Written into the source's
    /// folder, it is no record.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// Replace a file at --out that papir did not write.
    #[arg(long)]
    force: bool,
    #[command(flatten)]
    form: SourceFormArguments,
    /// The table of an SQLite database; may be left out if there is only one.
    #[arg(long, value_name = "NAME", conflicts_with = "query")]
    table: Option<String>,
    /// A query to run on an SQLite database, instead of reading a table, or on a PostgreSQL server:
    /// a single statement, which may only read.
    #[arg(long, value_name = "SELECT …")]
    query: Option<String>,
    /// The column or field that holds the keys.
    #[arg(long, value_name = "COLUMN")]
    key: Option<String>,
    /// The columns or fields that hold the values, separated by commas.
    #[arg(long, value_name = "COLUMN,…", value_delimiter = ',')]
    value: Vec<String>,
    /// Bytes of one record: required for raw files, optional for other sources without keys.
    #[arg(long, value_name = "N")]
    record_bytes: Option<u64>,
    /// The scheme; `auto` uses the scheme and parameters that `papir plan` recommends for this
    /// machine [default: chosen by the number and length of the records, with the reason in a line;
    /// with --encrypt pirouette-encrypted; with --params, --batch or --tabulated inspire].
    #[arg(long, value_name = "NAME")]
    scheme: Option<String>,
    /// The records that each client may see, if no scheme is named: `records`, as many as with
    /// inspire (those in the ring elements of its record, mostly 4 KiB); `column`, all in a column
    /// of the matrix; or `all`, as for a public list. More to see leaves more schemes to choose
    /// from.
    #[arg(
        long,
        value_name = "records|column|all",
        default_value_t = ClientsMaySee::default(),
        conflicts_with_all = [
            "scheme", "shards", "encrypt", "params", "batch", "tabulated", "rows_first"
        ]
    )]
    clients_may_see: ClientsMaySee,
    /// Use the scheme and parameters that `papir plan --shards N` recommends for a database on N
    /// machines.
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u64).range(1..=1 << 20),
        conflicts_with_all = ["scheme", "encrypt"]
    )]
    shards: Option<u64>,
    /// The scheme's parameters, by the label that `papir plan --all` prints for them, instead of a
    /// goal. A bucket that stands beside it belongs to --bucket-bytes. Of a keyed database, numbers
    /// in the label may be a fifth off: the nearest parameters are taken.
    #[arg(long, value_name = "LABEL", conflicts_with = "goal")]
    params: Option<String>,
    /// About the length of a bucket, which holds one or more entries of a keyed database and is the
    /// scheme's record, 8 bytes to 256 KiB [default: chosen for the scheme, mostly 4096].
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(8..=262_144))]
    bucket_bytes: Option<u32>,
    /// Optimization goal for the scheme's parameters [default: balanced].
    #[arg(long)]
    goal: Option<ParameterGoal>,
    /// The largest allowed probability that an answer does not decode, 2^-40 to 2^-128. Messages
    /// are a little longer with less; some schemes keep only 2^-40.
    #[arg(long, value_name = "2^-BITS", default_value_t = FailureBound::DEFAULT)]
    failure: FailureBound,
    /// Place neighbouring records in the same rows of the matrix (--scheme simple). Changes of a
    /// run of records then change a small part of the public part, and clients download that part
    /// only. Later versions keep the order. Keyed tables gain nothing, since they hash their keys.
    #[arg(long, conflicts_with_all = ["params", "tabulated", "batch"])]
    rows_first: bool,
    /// Evaluate by tables of the first J variables of the polynomial, or of all (depir). The time
    /// of a query then grows more slowly than the number of records, but tables have gigabytes. By
    /// default, evaluate on lines, which is faster for the databases that depir serves.
    #[arg(long, value_name = "J|all", conflicts_with_all = ["params", "goal", "batch"])]
    tabulated: Option<Tabulated>,
    /// Reductions before a look-up: one, two, or the number of primes that are looked up directly,
    /// while the others are reduced again [default: the fewest look-ups in tables of 10 GiB].
    #[arg(long, value_name = "one|two|N", requires = "tabulated")]
    steps: Option<Steps>,
    /// Evaluate the tables at the points of the paper's Algorithm 4, for a comparison, instead of
    /// those on lines, whose tables are shorter. Answers are the same.
    #[arg(long, requires = "tabulated")]
    paper_points: bool,
    /// Keep finished tables in this folder, from which an interrupted build continues. It is yours
    /// to delete.
    #[arg(long, value_name = "FOLDER", requires = "tabulated")]
    tables: Option<PathBuf>,
    /// The memory that the build may take, as in 2GiB, at least 64MiB and 96MiB for each thread
    /// (inspire, inspire2; keyed or by number). The build then sorts and prepares in files of a
    /// hidden folder beside FILE, which take up to three times the table of keys, and later, with
    /// FILE, up to twice the bytes of FILE. Pages of them in memory do not count. If the build is
    /// interrupted, the same command continues with the parts that are finished.
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, conflicts_with_all = ["batch", "tabulated"])]
    memory: Option<u64>,
    /// Make the hidden folder of --memory in this folder, as on a larger disk, instead of beside
    /// FILE.
    #[arg(long, value_name = "FOLDER", requires = "memory")]
    scratch: Option<PathBuf>,
    /// Agree to a database whose queries take more than a minute of this machine.
    #[arg(long)]
    yes: bool,
    /// Prepare for batches of up to K lookups (papir get --batch). A batch costs the server several
    /// times as much as one lookup, instead of K times; the database takes several times as much
    /// memory.
    #[arg(long, value_name = "K")]
    batch: Option<usize>,
    /// Action on a duplicate key.
    #[arg(long, default_value = "error")]
    on_duplicate: Duplicates,
    /// Make the keyed table larger than necessary by this percentage, to leave room for keys that
    /// updates add.
    #[arg(long, value_name = "PERCENT", default_value_t = 0, value_parser = room())]
    room: u32,
    /// Skip up to N bad rows, each reported on stderr; more are an error.
    #[arg(long, value_name = "N", default_value_t = 0)]
    skip_bad: u64,
    /// The database's name, instead of FILE without its extension: at most 128 of A-Z a-z 0-9 . _ -
    /// that begin with a letter or digit.
    #[arg(long)]
    name: Option<String>,
    /// Commit to all records with a Merkle tree: clients check each record against a root that
    /// `inspect` prints.
    #[arg(long)]
    verifiable: bool,
    /// Add a filter of the keys, in which an absent key is with probability 2^-BITS, 4 to 24.
    /// Clients fetch it once per version, about BITS + 2 bits for each key, and look up only keys
    /// that may exist. A lookup then tells the service that its key is probably present, and anyone
    /// who may fetch the filter can test keys without the service.
    #[arg(long, value_name = "BITS", value_parser = prefilter_bits(), conflicts_with = "encrypt")]
    prefilter: Option<u8>,
    /// Encrypt the records under the key in this file, which is created if missing. The server then
    /// sees neither records nor queries. Clients need the same key (papir get --decrypt).
    #[arg(long, value_name = "KEYFILE")]
    encrypt: Option<PathBuf>,
    #[command(flatten)]
    network: NetworkArguments,
    #[command(flatten)]
    signing: SignArguments,
    /// The signed snapshot whose log the version continues [default: the file at --out, if it
    /// exists].
    #[arg(long, value_name = "FILE", requires = "sign")]
    former: Option<PathBuf>,
    /// Allow a scheme that hides nothing from the server.
    #[arg(long)]
    insecure_plain: bool,
    /// Allow NewtonPIR, whose queries reveal their index (see `papir attack newton`).
    #[arg(long)]
    insecure_newton: bool,
}

fn room() -> clap::builder::RangedI64ValueParser<u32> {
    clap::value_parser!(u32).range(0..=i64::from(MAX_ROOM))
}

fn prefilter_bits() -> clap::builder::RangedI64ValueParser<u8> {
    clap::value_parser!(u8).range(i64::from(*BITS.start())..=i64::from(*BITS.end()))
}

const EXAMPLES: &str = "Examples:
  papir build words.csv --key word --value meaning --out words.papir
  papir build people.jsonl --key id --value name,city --goal min-communication --out people.papir
  papir build words.csv --key word --value meaning --clients-may-see all --out words.papir
  papir build words.csv --key word --value meaning --scheme auto --out words.papir
  papir build words.csv --key word --value meaning --failure 2^-128 --out words.papir
  papir build words.csv --key word --value meaning --room 10 --out words.papir
  papir build words.csv --key word --value meaning --batch 64 --out words.papir
  papir build words.csv --key word --value meaning --prefilter 10 --out words.papir
  papir build state.csv --key key --value value --memory 2GiB --out state.papir
  papir build words.csv --key word --value meaning --encrypt words.key --out words.papir
  papir build words.csv --key word --value meaning --sign owner.key --out words.papir
  papir build hashes.bin --format raw --record-bytes 32 --out hashes.papir
  papir build events.parquet --key id --value time,amount --skip-bad 10 --out events.papir
  papir build shop.db --table prices --key article --value price --out prices.papir
  papir build shop.db --query \"SELECT id, name FROM articles WHERE sold\" --key id --value name --out sold.papir
  papir build postgres://papir@db/shop --query \"SELECT id, name FROM articles\" --key id --value name --out shop.papir
  papir build pages/ --out pages.papir
  papir build blocked.txt --out blocked.papir
  papir build 'parts/*.csv' --key word --value meaning --out words.papir
  papir build hashes.txt --format pairs --key-length 40 --key-hex --out hashes.papir
  papir build phones.csv --delimiter ';' --no-header --key 1 --value 3 --out phones.papir
  papir build words.csv.gz --key word --value meaning --out words.papir
  papir build words.csv.zst --key word --value meaning --out words.papir
  xzcat words.csv.xz | papir build - --format csv --key word --value meaning --out words.papir";

#[derive(Clone, Copy, ValueEnum)]
enum ParameterGoal {
    /// Fewest bytes sent and received.
    MinCommunication,
    /// Least time on a 10 Mbit/s connection.
    Balanced,
    /// Least work for the server.
    MinTime,
}

#[derive(Clone, Copy, ValueEnum)]
enum Duplicates {
    /// Fail.
    Error,
    /// Keep the first value.
    First,
    /// Keep the last value.
    Last,
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
    let lines = if options.scheme == AUTO {
        build_auto(arguments, &options)?
    } else {
        build(&options, arguments.yes)?
    };

    describe::print(&lines, &mut std::io::stdout())?;
    // Once it is built: an error is the only line on stderr.
    if options.prefilter.is_some() {
        announcement::reveal_prefilter();
    }
    Ok(ExitCode::SUCCESS)
}

fn options(arguments: &Arguments) -> Result<BuildOptions, Failure> {
    // Checked first: a refused command line must not leave a new key file.
    let source = arguments.form.options(
        &arguments.sources,
        arguments.record_bytes,
        &arguments.out,
        &arguments.network.setting(),
    )?;
    check(arguments, &source)?;
    if arguments.insecure_newton {
        papir_research::register()?;
    }

    // A build that replaces one of its own inputs could not be repeated.
    let mut inputs = vec![source.source.as_path()];
    inputs.extend(source.more.iter().map(PathBuf::as_path));
    inputs.extend(arguments.encrypt.as_deref());
    inputs.extend(arguments.signing.files());
    papir_store::check_output(&arguments.out, &inputs, arguments.force)?;

    let scheme = scheme(arguments);
    // After every check: the key of a build that is refused would lie around without a database.
    let encrypt = match &arguments.encrypt {
        Some(path) => Some(owner_key::read_or_create(path)?),
        None => None,
    };

    Ok(BuildOptions {
        table: arguments.table.clone(),
        query: arguments.query.clone(),
        skip_bad: arguments.skip_bad,
        key: arguments.key.clone(),
        values: arguments.value.clone(),
        scheme: scheme.to_owned(),
        clients_may_see: arguments.clients_may_see,
        goal: arguments.goal.map_or_else(Goal::default, Goal::from),
        failure: arguments.failure,
        rows_first: arguments.rows_first,
        params: arguments.params.clone(),
        bucket: arguments.bucket_bytes.map(BucketTarget::Grow),
        tables: tables(arguments),
        // Tables have no limit of memory, so that one of both is given at most.
        scratch: arguments
            .scratch
            .as_ref()
            .or(arguments.tables.as_ref())
            .cloned(),
        memory: arguments.memory,
        batch: arguments.batch,
        on_duplicate: arguments.on_duplicate.into(),
        verifiable: arguments.verifiable,
        prefilter: arguments.prefilter,
        room: arguments.room,
        name: arguments.name.clone(),
        encrypt,
        sign: arguments.signing.sign()?,
        former: arguments.former.clone(),
        unsigned: arguments.signing.unsigned(),
        force: arguments.force,
        allow_not_private: allows_not_private(arguments, scheme),
        ..source
    })
}

/// The evaluation tables of depir, if the arguments request them.
fn tables(arguments: &Arguments) -> Option<Tables> {
    let points = if arguments.paper_points {
        Points::OfPaper
    } else {
        Points::OnLines
    };

    arguments.tabulated.map(|tabulated| Tables {
        tabulated,
        steps: arguments.steps,
        points,
    })
}

/// Returns whether the operator allows this scheme even if it is not private.
fn allows_not_private(arguments: &Arguments, scheme: &str) -> bool {
    // Each broken scheme has a flag of its own: allowing one for a comparison must not allow the
    // other.
    if is_newton(scheme) {
        arguments.insecure_newton
    } else {
        arguments.insecure_plain
    }
}

/// The requested scheme, or the default.
fn scheme(arguments: &Arguments) -> &str {
    let default = match (&arguments.encrypt, arguments.shards) {
        (Some(_), _) => registry::ENCRYPTED,
        // Schemes divide differently well, so that the number of machines decides with.
        (None, Some(_)) => AUTO,
        (None, None) => papir::DEFAULT_SCHEME,
    };

    arguments.scheme.as_deref().unwrap_or(default)
}

/// Returns whether a scheme is a variant of NewtonPIR, which needs its own flag.
fn is_newton(scheme: &str) -> bool {
    scheme.starts_with("newton")
}

/// Refuses options that do not apply to the format of the source.
fn check(arguments: &Arguments, options: &BuildOptions) -> Result<(), Failure> {
    check_key(arguments)?;

    let Arguments { key, value, .. } = arguments;
    let BuildOptions {
        source,
        format,
        record_bytes,
        ..
    } = options;
    let chosen = options.format();

    // A format that neither name nor content tell counts as raw: only a record length confirms it.
    if chosen == Format::Raw
        && format.is_none()
        && (record_bytes.is_none() || source.as_os_str() == "-")
    {
        let source = source.display();
        return Err(Failure::new(format!(
            "cannot tell the format of {source} from its name or content: give --format"
        )));
    }

    // Here and not by clap: whether an option fits depends on the name of the source.
    if !chosen.has_columns() && (key.is_some() || !value.is_empty()) {
        let name = chosen.name();
        return Err(Failure::new(format!(
            "--key and --value name columns: a {name} source has no columns"
        )));
    }

    if chosen == Format::Raw && record_bytes.is_none() {
        return Err(Failure::new(
            "a raw source needs a record length: give --record-bytes",
        ));
    }

    check_selection(arguments, chosen)
}

/// Refuses a table or a query of a source that has none, and a server without a query.
fn check_selection(arguments: &Arguments, chosen: Format) -> Result<(), Failure> {
    let has_table = arguments.table.is_some();
    let has_query = arguments.query.is_some();

    match chosen {
        Format::Sqlite => Ok(()),
        Format::Postgres if has_query => Ok(()),
        Format::Postgres => Err(Failure::new(
            "a PostgreSQL server needs a query: give --query 'SELECT …'",
        )),
        _ if has_table || has_query => {
            let name = chosen.name();
            Err(Failure::new(format!(
                "--table and --query need an SQLite database, or a PostgreSQL server for --query, \
                 not a {name} source"
            )))
        }
        _ => Ok(()),
    }
}

/// Checks that the other options are compatible with `--encrypt`, before a key file is created.
fn check_key(arguments: &Arguments) -> Result<(), Failure> {
    let scheme = scheme(arguments);
    let encrypted = registry::ENCRYPTED;

    match (&arguments.encrypt, scheme == encrypted) {
        (None, true) => Err(Failure::new(format!(
            "{encrypted} needs a key: give --encrypt KEYFILE"
        ))),
        (Some(_), true) if arguments.batch.is_some() => Err(Failure::new(format!(
            "--batch cannot be used with --encrypt: {encrypted} answers one record at a time"
        ))),
        (Some(_), true) if arguments.verifiable => Err(Failure::new(
            "--verifiable cannot be used with --encrypt: the hashes would reveal information about records",
        )),
        (Some(_), false) => Err(Failure::new(format!(
            "{scheme} does not encrypt records: --encrypt works only with {encrypted}"
        ))),
        _ => Ok(()),
    }
}

/// Reports the skipped rows on stderr.
fn report_skipped(options: &BuildOptions, skipped: &[SkippedRow]) {
    // The places of rows of several files have the names of the files.
    let source = if options.more.is_empty() {
        format!("{}, ", options.source.display())
    } else {
        String::new()
    };
    for SkippedRow { place, reason } in skipped {
        // On stderr, since stdout is the report that programs read.
        eprintln!("papir: skipped {source}{place}: {reason}");
    }
}

/// Builds the database with progress bars and returns the lines that describe it. `agreed` is the
/// operator's agreement to slow queries.
fn build(options: &BuildOptions, agreed: bool) -> Result<Lines, Failure> {
    // A build does not fail for rates that cannot be read.
    let rates = papir_plan::rates_file::load(None).map_or(Rates::BUILT_IN, |loaded| loaded.rates);

    let built = Build::new(options)
        .announce(&|description| announce(description, options, &rates, agreed))
        .run(&mut Run::new(&mut papir::system_rng(), &Bars::new()));
    let report = built.map_err(|error| explain(error, &options.scheme))?;

    report_skipped(options, &report.skipped);
    Ok(describe::build(&report))
}

/// Announces a build: the cost of its queries, its size and memory, and a cheaper scheme.
fn announce(
    description: &Description,
    options: &BuildOptions,
    rates: &Rates,
    agreed: bool,
) -> papir_core::Result<()> {
    // Asked first: nothing else is announced for a build that the operator refuses.
    announcement::agree_to_cost(description, rates, agreed)?;

    let Sizes {
        database,
        material,
        hint,
        ..
    } = description.sizes;
    // The length of the file. Setup holds as much.
    let prepared_bytes = database + material + hint;
    match options.memory {
        None => announcement::print(&options.out, &description.shape, prepared_bytes),
        Some(memory) => announcement::print_bounded(&options.out, prepared_bytes, memory),
    }

    announcement::compare_with_download(description);
    Ok(())
}

/// Converts an error of a build to a message, with the option that resolves it, if any.
fn explain(error: papir_store::Error, scheme: &str) -> Failure {
    match error {
        papir_store::Error::Core(error @ Error::NotPrivate { .. }) => {
            let option = if is_newton(scheme) {
                "--insecure-newton"
            } else {
                "--insecure-plain"
            };
            Failure::new(format!("{error} ({option})"))
        }
        other => sign::explain(other),
    }
}

/// Refuses options that contradict the automatic choice of a scheme.
fn check_auto(arguments: &Arguments) -> Result<(), Failure> {
    // The choice depends on rates, which may be measured again before the build continues.
    if arguments.memory.is_some() {
        return Err(Failure::new(
            "--memory continues an interrupted build, and --scheme auto and --shards may choose another scheme then: name one",
        ));
    }

    // Ignored, they would pretend to have been weighed.
    let has_parameters = arguments.goal.is_some()
        || arguments.rows_first
        || arguments.batch.is_some()
        || arguments.params.is_some()
        || arguments.tabulated.is_some();
    if has_parameters {
        return Err(Failure::new(
            "--goal, --params, --rows-first, --tabulated and --batch choose the parameters of one scheme: --scheme auto and --shards choose by time",
        ));
    }

    Ok(())
}

/// Builds with the scheme that `papir plan` recommends for the records, and reports the choice.
fn build_auto(arguments: &Arguments, options: &BuildOptions) -> Result<Lines, Failure> {
    check_auto(arguments)?;

    let loaded = papir_plan::rates_file::load(None)?;
    let machines = arguments.shards.map(|shards| Machines {
        shards: shards as usize,
        network: DEFAULT_NETWORK,
    });
    let auto = Auto {
        failure: options.failure,
        rates: &loaded.rates,
        machines,
    };

    // The choice needs the number of records, which is known only once the source has been read.
    let reason = OnceCell::new();
    let preparation = Preparation {
        bucket: &|lengths| auto.bucket(lengths),
        prepare: &|records, scratch, run| {
            let (best, chosen) = auto.scheme(records)?;
            announcement::print(&options.out, &records.shape(), best.memory_bytes);
            // Setting fails only if a choice exists, but records are prepared once per build.
            let _ = reason.set(chosen);

            let scheme = registry::by_name(best.scheme)?;
            scheme.setup_resumable(&best.encoded, records, scratch, run.rng, run.progress)
        },
    };
    let built = Build::new(options)
        .prepared_by(&preparation)
        .run(&mut Run::new(&mut papir::system_rng(), &Bars::new()));
    let report = built.map_err(sign::explain)?;

    report_skipped(options, &report.skipped);
    let mut lines = describe::build(&report);
    lines.push(line("chosen", reason.into_inner().unwrap_or_default()));
    lines.push(line("rates", loaded.description));
    Ok(lines)
}

/// Builds a keyed database from two columns of a CSV file, with all options at their defaults.
pub(crate) fn keyed_csv(
    source: &Path,
    out: &Path,
    key: &str,
    value: &str,
    scheme: &str,
) -> Result<Lines, Failure> {
    let options = BuildOptions {
        format: Some(Format::Csv),
        key: Some(key.to_owned()),
        values: vec![value.to_owned()],
        scheme: scheme.to_owned(),
        ..BuildOptions::new(source, out)
    };

    build(&options, false)
}
