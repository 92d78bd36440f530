//! `papir serve`: answers queries to prepared databases over HTTP until stopped.

use std::ffi::{OsStr, OsString};
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::Args;
use papir_core::cost::Rates;
use papir_server::{ReloadHandle, Server, ServerConfig};
use papir_store::{MergeOptions, Sign, SkippedRow, TornRow, UpdateOptions, UpdateReport};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use super::follow::Pace;
use crate::arguments::changes::ChangeArguments;
use crate::arguments::network::Network;
use crate::arguments::sign::KeyArguments;
use crate::failure::{Failure, Outcome};
use crate::service::config::{FILES_VARIABLE, LogFormat, Settings, Snapshot, VARIABLES};
use crate::service::follow_loop::{Event, Following};
use crate::service::merge_loop::Merging;
use crate::service::observed_query;
use crate::service::open_files;
use crate::service::panics;
use crate::service::systemd;
use crate::service::traces::Traces;
use crate::service::unused_tokens;

/// Serve prepared databases over HTTP.
///
/// SIGHUP reloads the files without dropping a request. SIGINT and SIGTERM finish the running
/// requests, then exit. Options come from flags, then from environment variables
/// (PAPIR_SERVE_THREADS for --threads), then from the --config file. The variable PAPIR_LOG sets
/// the log level on stderr: off, error, warn, info or debug.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Prepared databases, as files written by `papir build` or as object store URLs used with
    /// `papir push` [default: the databases of the configuration].
    #[arg(value_name = "FILE|URL")]
    files: Vec<PathBuf>,
    /// The database's name in URLs, instead of the file name without extension (for a single FILE).
    #[arg(long)]
    name: Option<String>,
    /// Configuration file in TOML, for options set by neither a flag nor the environment.
    #[arg(long, value_name = "FILE", env = "PAPIR_SERVE_CONFIG")]
    config: Option<PathBuf>,
    /// Print the effective configuration, check that all files can be used, and exit.
    #[arg(long)]
    check_config: bool,
    #[command(flatten)]
    settings: Settings,
    /// Follow this source of changes as `papir follow` does, and serve its versions: a text file
    /// that grows, - for standard input, or postgres://… for a slot (for a single FILE).
    #[arg(long, value_name = "SOURCE", conflicts_with = "until_stdin_ends")]
    follow: Option<PathBuf>,
    #[command(flatten)]
    columns: ChangeArguments,
    #[command(flatten)]
    pace: Pace,
    #[command(flatten)]
    key: KeyArguments,
    /// Print what the server sees of each query, as one JSON line.
    #[arg(long, hide = true)]
    show_queries: bool,
    /// Stop when stdin ends, so that the server exits with the process that started it.
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
}

const EXAMPLES: &str = "Examples:
  papir serve words.papir
  papir serve words.papir names.papir --listen 0.0.0.0:80 --threads 8
  papir serve words-2026.papir --name words
  papir serve words.papir --watch --keep-old 90s --log-format json
  papir serve words.papir --follow changes.jsonl --merge-at 75
  papir serve words.papir --follow changes.csv --delete-column gone
  papir serve words.papir --watch --merge-at 75
  papir serve s3://databases/words.papir --cache /var/cache/papir
  papir serve words.papir --listen 0.0.0.0:443 --tls-cert cert.pem --tls-key key.pem --tokens tokens.toml
  papir serve --config papir.toml --check-config";

pub(crate) fn run(arguments: Arguments) -> Outcome {
    let until_stdin_ends = arguments.until_stdin_ends;
    let settings = settings(&arguments)?;
    settings.check_ca(arguments.follow.as_deref())?;
    if arguments.check_config {
        return check(&settings);
    }

    let output = Output::of(&settings)?;
    let network = settings.network();
    let config = ServerConfig {
        on_query: arguments.show_queries.then(|| observed_query::printer()),
        ..settings.config()?
    };
    let background = background(&arguments, &config, &network)?;

    until_stopped(config, output, background, until_stdin_ends)
}

/// Serves a set for private set intersection.
pub(crate) fn psi(set: PathBuf, given: Settings) -> Outcome {
    let settings = given.or(Settings::defaults());
    settings.check_ca(None)?;
    let output = Output::of(&settings)?;
    let config = ServerConfig {
        psi: Some(set),
        ..settings.config()?
    };

    until_stopped(config, output, None, false)
}

/// Time for which the end of the process waits for threads.
pub(super) const THREADS_END: Duration = Duration::from_secs(1);

/// The log, and the export of traces.
struct Output {
    log_format: LogFormat,
    log_level: LevelFilter,
    traces: Option<Traces>,
}

impl Output {
    fn of(settings: &Settings) -> Result<Self, Failure> {
        Ok(Self {
            log_format: settings.log_format(),
            log_level: log_level()?,
            traces: settings.traces()?,
        })
    }
}

/// Serves until a stop signal, or until the end of stdin if `until_stdin_ends`.
fn until_stopped(
    config: ServerConfig,
    output: Output,
    background: Option<Background>,
    until_stdin_ends: bool,
) -> Outcome {
    let on_trace = output.traces.as_ref().map(Traces::observer);
    let config = ServerConfig {
        on_state: Some(Arc::new(systemd::tell)),
        on_trace,
        ..config
    };

    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = runtime.block_on(load_and_serve(
        config,
        &output,
        background,
        until_stdin_ends,
    ));

    // A load or a download that is running would hold up the end. Nothing is lost: both start
    // again.
    runtime.shutdown_timeout(THREADS_END);
    output.traces.into_iter().for_each(Traces::finish);
    outcome
}

/// Loads the databases, and serves them until a stop signal or the end of stdin.
async fn load_and_serve(
    config: ServerConfig,
    output: &Output,
    background: Option<Background>,
    until_stdin_ends: bool,
) -> Outcome {
    // Caught from here on: a signal during the load must stop the service in order, too.
    let signal = stop_signal()?;
    let mut stop = Box::pin(async {
        tokio::select! {
            () = signal => {}
            () = stdin_ends(), if until_stdin_ends => {}
        }
    });

    start_log(output.log_format, output.log_level, output.traces.as_ref());
    panics::log_places();
    let few_files = open_files::raise_limit(config.protection.max_connections);
    let useless_tokens = unused_tokens::warnings(&config);

    let server = tokio::select! {
        bound = Server::bind(config) => bound?,
        // Loading may take minutes.
        () = &mut stop => return Ok(ExitCode::SUCCESS),
    };

    // A service that does not start says only why.
    for reason in few_files.iter().chain(&useless_tokens) {
        tracing::warn!("{reason}");
    }
    announce(&server.url())?;
    systemd::watchdog();

    let running = background.map(|background| background.start(server.reload_handle()));
    server.serve(stop).await?;
    drop(running);
    Ok(ExitCode::SUCCESS)
}

/// A service's task of publishing or merging changes of its database.
struct Background {
    name: String,
    task: Task,
}

/// A task on a thread of its own.
enum Task {
    Follow(Box<Following>),
    Merge(Box<Merging>),
}

/// The requested task, if any.
fn background(
    arguments: &Arguments,
    config: &ServerConfig,
    network: &Network,
) -> Result<Option<Background>, Failure> {
    let Arguments {
        follow,
        columns,
        pace,
        key,
        ..
    } = arguments;
    let sign = key.sign()?;
    if follow.is_none()
        && let Some(option) = pace.given().or_else(|| columns.given())
    {
        return Err(Failure::new(format!(
            "{option} without a source to follow: expected --follow"
        )));
    }

    match (follow, pace.merged_from()) {
        // Following merges, too, if --merge-at is given.
        (Some(source), _) => following(arguments, source, sign, config, network).map(Some),
        (None, Some(at)) => merging(at, sign, config).map(Some),
        (None, None) if sign.is_some() => Err(Failure::new(
            "--sign without versions to sign: expected --follow or --merge-at",
        )),
        (None, None) => Ok(None),
    }
}

/// The task that follows a source of changes.
fn following(
    arguments: &Arguments,
    source: &Path,
    sign: Option<Sign>,
    config: &ServerConfig,
    network: &Network,
) -> Result<Background, Failure> {
    let (name, file) = only_file(config, "--follow")?;
    arguments.columns.check_source(source)?;

    let options = arguments.columns.set(UpdateOptions::new(file, source));
    let update = UpdateOptions {
        rates: rates()?,
        sign,
        ..options
    };
    let following = arguments.pace.following(update, false, network)?;

    Ok(Background {
        name,
        task: Task::Follow(Box::new(following)),
    })
}

/// The task that merges deltas from `at` bytes on.
fn merging(at: u64, sign: Option<Sign>, config: &ServerConfig) -> Result<Background, Failure> {
    let (name, file) = only_file(config, "--merge-at")?;
    let options = MergeOptions {
        rates: rates()?,
        sign,
        ..MergeOptions::new(file)
    };

    Ok(Background {
        name,
        task: Task::Merge(Box::new(Merging { options, at })),
    })
}

/// The rates of the user's file, or the built-in ones.
fn rates() -> Result<Rates, Failure> {
    Ok(papir_plan::rates_file::load(None)?.rates)
}

/// Name and file of the database that a service changes.
fn only_file(config: &ServerConfig, option: &str) -> Result<(String, PathBuf), Failure> {
    let [database] = &config.databases[..] else {
        let found = format!("{option} with {} databases", config.databases.len());
        return Err(Failure::new(format!("{found}: expected one FILE")));
    };

    // A copy of an object store belongs to the store: the next fetch would replace the changes.
    if !database.path.is_file() || config.sources.is_copy(&database.path) {
        let found = format!("{option} with {}", database.path.display());
        return Err(Failure::new(format!(
            "{found}: expected a file of this machine"
        )));
    }

    Ok((database.name.clone(), database.path.clone()))
}

impl Background {
    /// Starts a thread that works until the result is dropped. The service loads each version at
    /// once, and keeps serving the last one after a failure. `papir_load_failing` is then 1 until
    /// the next load.
    fn start(self, handle: ReloadHandle) -> Stop {
        let Self { name, task } = self;
        let served = Served {
            name,
            handle,
            runtime: tokio::runtime::Handle::current(),
        };
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = Arc::clone(&stop);

        std::thread::spawn(move || match task {
            Task::Merge(merging) => served.merge(&merging, &stopped),
            Task::Follow(following) => served.follow(&following, &stopped),
        });
        Stop(stop)
    }
}

/// The database that a task changes, in the running service.
struct Served {
    name: String,
    handle: ReloadHandle,
    runtime: tokio::runtime::Handle,
}

impl Served {
    /// Merges the database's deltas, and loads each merged version.
    fn merge(&self, merging: &Merging, stopped: &AtomicBool) {
        merging.run(stopped, &mut |outcome| match outcome {
            Ok(report) => self.load_merged(&report),
            Err(error) => self.failed(&error, "not merged: trying again in a minute"),
        });
    }

    /// Follows a source of changes, and loads each published version.
    fn follow(&self, following: &Following, stopped: &AtomicBool) {
        let followed = following.run(stopped, &mut |event| match event {
            Event::Published(..) => self.load(),
            Event::Merged(report, _) => self.load_merged(report),
            Event::Skipped(SkippedRow { place, reason }) => {
                tracing::warn!(database = self.name, place, reason, "row skipped");
            }
            Event::Trouble(reason) => {
                tracing::warn!(database = self.name, reason, "source not read")
            }
            Event::Waiting(TornRow { line, bytes }) => {
                tracing::warn!(
                    database = self.name,
                    line,
                    bytes,
                    "the source ends in the beginning of a row"
                );
            }
        });

        if let Err(error) = followed {
            self.failed(&error, "no longer following the source");
        }
    }

    /// Loads a merged version. Warns if clients see more of its records than their owner allows.
    fn load_merged(&self, report: &UpdateReport) {
        if let Some(seen) = report.shows_too_much() {
            tracing::warn!(database = self.name, "clients see {seen}");
        }
        self.load();
    }

    /// Loads the newest version. Waits until it is served.
    fn load(&self) {
        let loaded = self.runtime.block_on(self.handle.load(&self.name));
        if let Err(error) = loaded
            && !error.is_cancelled()
        {
            tracing::error!(database = self.name, %error, "not loaded");
        }
    }

    /// Logs an error of the task, and sets the metric of failed loads.
    fn failed(&self, error: &papir_store::Error, what: &str) {
        tracing::error!(database = self.name, %error, "{what}");
        self.handle.failed(&self.name);
    }
}

/// Ends a thread when it is dropped.
struct Stop(Arc<AtomicBool>);

impl Drop for Stop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Combines the sources of settings: flags, environment, file, defaults.
fn settings(arguments: &Arguments) -> Result<Settings, Failure> {
    known_variables()?;

    let files = if arguments.files.is_empty() {
        files_of_environment()
    } else {
        arguments.files.clone()
    };
    if arguments.name.is_some() && files.len() != 1 {
        return Err(Failure::new("--name names one database: expected one FILE"));
    }

    let mut given = arguments.settings.clone();
    given.databases = files
        .into_iter()
        .map(|path| Snapshot {
            name: arguments.name.clone(),
            path,
            tokens: None,
        })
        .collect();
    let file = match &arguments.config {
        Some(path) => Settings::read(path)?,
        None => Settings::default(),
    };

    let settings = given.or(file).or(Settings::defaults());
    if settings.databases.is_empty() {
        return Err(Failure::new(
            "no database to serve: expected a FILE, or [[database]] in --config",
        ));
    }
    Ok(settings)
}

fn files_of_environment() -> Vec<PathBuf> {
    match std::env::var_os(FILES_VARIABLE) {
        Some(all) if !all.is_empty() => split_files(&all),
        _ => Vec::new(),
    }
}

/// Splits a list of paths and URLs like PATH, except at the `:` of `s3://`.
fn split_files(all: &OsStr) -> Vec<PathBuf> {
    let mut files: Vec<OsString> = Vec::new();
    for part in std::env::split_paths(all).map(OsString::from) {
        match files.last_mut() {
            Some(scheme) if is_scheme(scheme) && part.as_encoded_bytes().starts_with(b"//") => {
                scheme.push(":");
                scheme.push(part);
            }
            _ => files.push(part),
        }
    }

    files.into_iter().map(PathBuf::from).collect()
}

/// Returns whether a URL could start with this. A scheme that papir does not know counts too, so
/// that the error names the whole URL. A file name with an extension does not.
fn is_scheme(text: &OsStr) -> bool {
    !text.is_empty()
        && text
            .as_encoded_bytes()
            .iter()
            .all(u8::is_ascii_alphanumeric)
}

/// Refuses environment variables that have the options' prefix but set no option.
fn known_variables() -> Result<(), Failure> {
    let command = Arguments::augment_args(clap::Command::new("serve"));
    let own: Vec<&OsStr> = command
        .get_arguments()
        .filter_map(|argument| argument.get_env())
        .collect();

    let unknown = std::env::vars_os().map(|(name, _)| name).find(|name| {
        name.to_string_lossy().starts_with(VARIABLES)
            && name != FILES_VARIABLE
            && !own.contains(&name.as_os_str())
    });

    match unknown {
        Some(name) => Err(Failure::new(format!(
            "the variable {} sets no option",
            name.to_string_lossy()
        ))),
        None => Ok(()),
    }
}

/// Prints the settings and performs the checks of a start.
fn check(settings: &Settings) -> Outcome {
    let config = settings.clone().config()?;
    // Checks the address of the collector and the level of the log.
    let _output = Output::of(settings)?;
    papir_server::check(&config)?;
    for reason in unused_tokens::warnings(&config) {
        eprintln!("papir: warning: {reason}");
    }

    let mut out = std::io::stdout();
    write!(out, "{}", settings.print()?)?;
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the address at which a server listens, for whoever started it.
pub(super) fn announce(url: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "listening on {url}")?;
    out.flush()
}

/// The level of the log.
pub(super) fn log_level() -> Result<LevelFilter, Failure> {
    let Some(found) = std::env::var_os("PAPIR_LOG").filter(|text| !text.is_empty()) else {
        return Ok(LevelFilter::INFO);
    };

    // Letters only: LevelFilter parses numbers, too.
    let level = found
        .to_str()
        .filter(|text| text.bytes().all(|byte| byte.is_ascii_alphabetic()));
    level.and_then(|text| text.parse().ok()).ok_or_else(|| {
        let found = found.to_string_lossy();
        Failure::new(format!(
            "PAPIR_LOG is `{found}`: expected off, error, warn, info, debug or trace"
        ))
    })
}

pub(super) fn start_log(format: LogFormat, level: LevelFilter, traces: Option<&Traces>) {
    let log = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal());
    let log = match format {
        LogFormat::Text => log.boxed(),
        LogFormat::Json => log.json().flatten_event(true).with_span_list(false).boxed(),
    };

    tracing_subscriber::registry()
        .with(traces.map(Traces::layer))
        .with(log.with_filter(level))
        .init();
}

/// Completes at the end of stdin. Reads on a detached thread, as stdin may never end.
async fn stdin_ends() {
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // A read error counts as the end of stdin; sending fails only after the service has
        // stopped.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = send.send(());
    });

    // An error means that the thread has ended, and therefore stdin.
    let _ = receive.await;
}

/// Completes at the first SIGINT or SIGTERM. The handlers are installed by the call, not by the
/// first poll.
#[cfg(unix)]
pub(super) fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};

    let mut interrupt = signal(SignalKind::interrupt())?;
    let mut terminate = signal(SignalKind::terminate())?;

    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Completes at the first Ctrl-C.
#[cfg(not(unix))]
pub(super) fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        // If Ctrl-C cannot be caught, the system's default handling ends the process.
        let _ = tokio::signal::ctrl_c().await;
    })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn urls_are_not_split() {
        let split = |all: &str| {
            let files = split_files(all.as_ref()).into_iter();
            files
                .map(|file| file.display().to_string())
                .collect::<Vec<_>>()
        };

        assert_eq!(split("/data/a.papir"), ["/data/a.papir"]);
        assert_eq!(split("a.papir:/data/b.papir"), ["a.papir", "/data/b.papir"]);
        assert_eq!(
            split("s3://bucket/a.papir:b.papir:file:///data/c.papir:gs://d/e.papir"),
            [
                "s3://bucket/a.papir",
                "b.papir",
                "file:///data/c.papir",
                "gs://d/e.papir"
            ],
        );
        assert_eq!(
            split("https://host/a.papir"),
            ["https://host/a.papir"],
            "the error names all of it"
        );
        assert_eq!(
            split("a.papir://data/b.papir"),
            ["a.papir", "//data/b.papir"]
        );
    }
}
