//! Options and run of the relay and the issuer, which are apart from `papir serve`.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use papir_server::{Error, TlsFiles};
use tracing_subscriber::filter::LevelFilter;

use super::serve::{THREADS_END, announce, log_level, start_log, stop_signal};
use crate::arguments::duration::Span;
use crate::failure::{Failure, Outcome};
use crate::service::config::LogFormat;
use crate::service::{open_files, panics, systemd};

/// A server that listens apart from `papir serve`.
pub(super) trait SeparateServer: Sized {
    /// The URL for clients.
    fn address(&self) -> String;

    /// Serves until `stop` completes, and then finishes the running requests.
    async fn serve_until(self, stop: impl Future<Output = ()>) -> Result<(), Error>;
}

/// Completes `binding`, and serves until a stop signal.
pub(super) fn run<S: SeparateServer>(
    binding: impl Future<Output = Result<S, Error>>,
    max_connections: usize,
    format: LogFormat,
) -> Outcome {
    let level = log_level()?;

    let runtime = tokio::runtime::Runtime::new()?;
    let outcome = runtime.block_on(listen_and_serve(binding, max_connections, format, level));
    runtime.shutdown_timeout(THREADS_END);
    outcome
}

/// Serves until a stop signal.
async fn listen_and_serve<S: SeparateServer>(
    binding: impl Future<Output = Result<S, Error>>,
    max_connections: usize,
    format: LogFormat,
    level: LevelFilter,
) -> Outcome {
    // Caught from here on, so that an early signal stops the server in order, too.
    let stop = stop_signal()?;
    start_log(format, level, None);
    panics::log_places();
    let few_files = open_files::raise_limit(max_connections);

    let server = binding.await?;
    if let Some(reason) = few_files {
        tracing::warn!("{reason}");
    }
    announce(&server.address())?;
    systemd::watchdog();

    server.serve_until(stop).await?;
    Ok(ExitCode::SUCCESS)
}

/// Refuses time limits of zero.
pub(super) fn check_time_limits(header: Span, body: Span) -> Result<(), Failure> {
    for (name, span) in [("header-timeout", header), ("body-timeout", body)] {
        if span.0 == Duration::ZERO {
            return Err(Failure::new(format!(
                "{name} is 0: every request would time out"
            )));
        }
    }
    Ok(())
}

/// The files of a certificate and its key; `None` for plain HTTP.
pub(super) fn tls_files(certificate: Option<&PathBuf>, key: Option<&PathBuf>) -> Option<TlsFiles> {
    // Each of the options requires the other.
    Some(TlsFiles::new(certificate?, key?))
}
