//! `papir serve`: answers queries to prepared databases over HTTP until it is told to stop.

use std::io::{IsTerminal, Write};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use papir_server::{BoundServer, DatabaseConfig, Server, ServerConfig};
use tracing_subscriber::EnvFilter;

use crate::Outcome;
use crate::failure::Failure;
use crate::sighting;

/// Serve prepared databases over HTTP.
///
/// SIGHUP loads the files again without dropping a request; SIGINT and SIGTERM finish the running
/// requests and end. The variable PAPIR_LOG sets what is logged on stderr: off, error, warn, info, debug.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// Prepared databases, as `papir build` writes them.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Address and port to listen on; port 0 takes a free one.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7470")]
    listen: SocketAddr,
    /// The database's name in addresses, instead of its file's stem (for one FILE).
    #[arg(long)]
    name: Option<String>,
    /// Threads that answer; 0 takes one a core.
    #[arg(long, value_name = "N", default_value_t = 0)]
    threads: usize,
    /// Serve even schemes that hide nothing from the server.
    #[arg(long)]
    allow_not_private: bool,
    /// Print what each query looks like, one JSON line each.
    #[arg(long, hide = true)]
    show_queries: bool,
    /// Stop when stdin ends: a server that dies with the process that started it.
    #[arg(long, hide = true)]
    until_stdin_ends: bool,
}

const EXAMPLES: &str = "Examples:
  papir serve words.papir
  papir serve words.papir names.papir --listen 0.0.0.0:80 --threads 8
  papir serve words-2026.papir --name words";

pub(crate) fn run(arguments: Arguments) -> Outcome {
    let until_stdin_ends = arguments.until_stdin_ends;
    let config = config(arguments)?;
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(async {
        let signal = stop_signal()?;
        let stop = async {
            tokio::select! {
                () = signal => {}
                () = stdin_ends(), if until_stdin_ends => {}
            }
        };
        let server = Server::bind(config).await?;
        // Only now: what keeps the service from starting is told once, as the failure of the command.
        start_log();
        announce(&server)?;
        server.serve(stop).await?;
        Ok(ExitCode::SUCCESS)
    })
}

fn config(arguments: Arguments) -> Result<ServerConfig, Failure> {
    if arguments.name.is_some() && arguments.files.len() > 1 {
        return Err(Failure::new("--name names one database: expected one FILE"));
    }
    let database = |path| DatabaseConfig::new(path, arguments.name.clone());
    Ok(ServerConfig {
        listen: arguments.listen,
        databases: arguments.files.into_iter().map(database).collect(),
        threads: arguments.threads,
        allow_not_private: arguments.allow_not_private,
        on_query: arguments.show_queries.then(|| sighting::printer()),
        ..ServerConfig::default()
    })
}

fn announce(server: &BoundServer) -> std::io::Result<()> {
    let mut out = std::io::stdout();
    writeln!(out, "listening on http://{}", server.local_addr())?;
    out.flush()
}

fn start_log() {
    let filter = EnvFilter::try_from_env("PAPIR_LOG").unwrap_or_else(|_| EnvFilter::new("info"));
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .init();
}

/// Done at the end of stdin. Reads on a thread that nothing waits for: stdin may never end.
async fn stdin_ends() {
    let (send, receive) = tokio::sync::oneshot::channel();
    std::thread::spawn(move || {
        // An error ends stdin too; and nobody waits any more once the service stops by a signal.
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        let _ = send.send(());
    });
    // An error would say that the thread is gone: the same.
    let _ = receive.await;
}

/// Done at the first SIGINT or SIGTERM. Listens from the call on, not from the first poll.
#[cfg(unix)]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    use tokio::signal::unix::{SignalKind, signal};
    let (mut interrupt, mut terminate) = (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    Ok(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
    })
}

/// Done at the first Ctrl-C.
#[cfg(not(unix))]
fn stop_signal() -> std::io::Result<impl Future<Output = ()>> {
    Ok(async {
        // Without a way to hear of Ctrl-C the system's own handling ends the process.
        let _ = tokio::signal::ctrl_c().await;
    })
}
