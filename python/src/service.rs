//! A service in this process.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::PoisonError;

use papir_server::{
    DatabaseConfig, Error, Listen, ReloadHandle, Server, ServerConfig, TlsFiles, TokenSource,
};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_async_runtimes::tokio::get_runtime;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::client::seconds;
use crate::errors::of_server;
use crate::waiting::wait;

/// Settings from the arguments of `serve` and of a service on several machines.
pub(crate) fn settings(arguments: Option<&Bound<'_, PyDict>>) -> PyResult<ServerConfig> {
    let listen: Listen = "127.0.0.1:0".parse().map_err(of_server)?;
    let mut config = ServerConfig {
        listen,
        ..ServerConfig::default()
    };
    let mut tls = (None, None);

    for (name, value) in arguments.into_iter().flat_map(|arguments| arguments.iter()) {
        if value.is_none() {
            continue;
        }
        match name.extract::<String>()?.as_str() {
            "listen" => config.listen = value.extract::<String>()?.parse().map_err(of_server)?,
            "threads" => config.threads = value.extract()?,
            "tokens" => {
                config.protection.tokens = vec![TokenSource::new(value.extract::<PathBuf>()?)]
            }
            "tls_cert" => tls.0 = Some(value.extract::<PathBuf>()?),
            "tls_key" => tls.1 = Some(value.extract::<PathBuf>()?),
            "watch" => config.watch = Some(seconds(&value)?),
            "keep_old" => config.keep_old = seconds(&value)?,
            "mapped" => config.mapped = value.extract()?,
            "metrics" => config.metrics = value.extract()?,
            "max_queued" => config.max_queued = value.extract()?,
            "allow_not_private" => config.allow_not_private = value.extract()?,
            other => return Err(PyTypeError::new_err(format!("unknown setting `{other}`"))),
        }
    }

    config.protection.tls = match tls {
        (None, None) => None,
        (Some(certificate), Some(key)) => Some(TlsFiles::new(certificate, key)),
        _ => {
            return Err(PyValueError::new_err(
                "tls_cert and tls_key belong together",
            ));
        }
    };

    Ok(config)
}

/// Dropped to stop a service, and its task.
type Running = (oneshot::Sender<()>, JoinHandle<Result<(), Error>>);

/// A running service. It stops when it is closed or dropped.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct Service {
    url: String,
    handle: ReloadHandle,
    running: Mutex<Option<Running>>,
}

/// Serves snapshot files.
#[pyfunction]
#[pyo3(signature = (snapshots, **arguments))]
pub(crate) fn serve(
    py: Python<'_>,
    snapshots: Vec<PathBuf>,
    arguments: Option<&Bound<'_, PyDict>>,
) -> PyResult<Service> {
    let mut config = settings(arguments)?;
    config.databases = snapshots
        .into_iter()
        .map(|path| DatabaseConfig::new(path, None))
        .collect();

    let bound = wait(py, Server::bind(config))?.map_err(of_server)?;
    let url = bound.url();
    let handle = bound.reload_handle();

    let (stop, stopped) = oneshot::channel();
    let serving = get_runtime().spawn(bound.serve(async { drop(stopped.await) }));
    Ok(Service {
        url,
        handle,
        running: Mutex::new(Some((stop, serving))),
    })
}

#[pymethods]
impl Service {
    /// The address for clients.
    #[getter]
    fn url(&self) -> &str {
        &self.url
    }

    /// Loads all snapshots again.
    fn reload(&self, py: Python<'_>) -> PyResult<()> {
        let loaded = wait(py, self.handle.reload())?.map_err(of_server)?;
        loaded
            .into_iter()
            .try_for_each(|one| one.outcome.map(drop))
            .map_err(of_server)
    }

    /// Stops the service, after its running requests.
    fn close(&self, py: Python<'_>) -> PyResult<()> {
        let running = self
            .running
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some((stop, serving)) = running else {
            return Ok(());
        };

        // The service ends when its receiver sees that the sender was dropped.
        drop(stop);
        match wait(py, serving)? {
            Ok(ended) => ended.map_err(of_server),
            // A task that was aborted has nothing to say.
            Err(_) => Ok(()),
        }
    }
}
