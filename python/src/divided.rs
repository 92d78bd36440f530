//! The service in front of a database on several machines.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use papir_core::erased::Shards;
use papir_core::{Error as CoreError, Result as CoreResult};
use papir_server::{Database, UnboundServer};
use papir_store::Snapshot;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use pyo3_async_runtimes::tokio::{future_into_py, get_runtime};

use crate::errors::{of_server, of_store};
use crate::forked;
use crate::service::settings;
use crate::waiting::run;

/// Bytes of a body that any route may take.
const LEAST_LIMIT: usize = 64 << 10;

/// Time between two looks for a delta.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Machines that a Python function asks: it takes a list of queries, and returns, for each machine,
/// a list of partial answers.
struct PythonShards(Py<PyAny>);

impl Shards for PythonShards {
    fn ask(&self, queries: &[&[u8]]) -> CoreResult<Vec<Vec<Vec<u8>>>> {
        let asked = Python::attach(|py| -> PyResult<Vec<Vec<Vec<u8>>>> {
            let queries: Vec<_> = queries
                .iter()
                .map(|query| PyBytes::new(py, query))
                .collect();
            self.0.call1(py, (queries,))?.extract(py)
        });

        // Not the exception's message, which may contain bytes of the queries.
        asked.map_err(|error| CoreError::Unavailable {
            reason: name_of(&error),
        })
    }
}

/// The name of an exception's type.
fn name_of(error: &PyErr) -> String {
    Python::attach(|py| error.get_type(py).name().map(|name| name.to_string())).unwrap_or_default()
}

/// `papir serve` without a listener, over machines that a function asks.
#[pyclass(frozen, module = "pypapir")]
pub(crate) struct DividedService {
    server: Arc<UnboundServer>,
    /// The snapshot of the newest version, beside which deltas are looked for.
    file: Arc<Mutex<PathBuf>>,
}

/// Serves the newest delta beside the snapshot, as long as the service exists.
async fn follow_deltas(name: String, server: Weak<UnboundServer>, file: Arc<Mutex<PathBuf>>) {
    while let Some(handle) = server.upgrade().map(|server| server.reload_handle()) {
        let path = file.lock().unwrap_or_else(PoisonError::into_inner).clone();
        // Failures are logged and counted by the service.
        let _ = handle.load_delta(&name, &path).await;
        drop(handle);
        tokio::time::sleep(LOOK_EVERY).await;
    }
}

/// The database of a snapshot, whose machines `ask` asks.
fn database(name: &str, path: &Path, ask: Py<PyAny>) -> PyResult<Database> {
    let snapshot = Snapshot::open_divided(path, Box::new(PythonShards(ask))).map_err(of_store)?;
    Database::from_snapshot(name, snapshot)
        .map_err(|error| PyValueError::new_err(error.to_string()))
}

#[pymethods]
impl DividedService {
    #[new]
    #[pyo3(signature = (name, path, ask, **arguments))]
    fn new(
        py: Python<'_>,
        name: String,
        path: PathBuf,
        ask: Py<PyAny>,
        arguments: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        forked::refuse()?;
        let config = settings(arguments)?;
        run(py, |_| {
            let database = database(&name, &path, ask)?;
            let _runtime = get_runtime().enter();

            let server = Arc::new(UnboundServer::new(&config, vec![database]).map_err(of_server)?);
            let file = Arc::new(Mutex::new(path));

            get_runtime().spawn(follow_deltas(
                name,
                Arc::downgrade(&server),
                Arc::clone(&file),
            ));
            Ok(Self { server, file })
        })?
    }

    /// Serves another version under the same name; the one before is answered for a while.
    fn replace(&self, py: Python<'_>, name: String, path: PathBuf, ask: Py<PyAny>) -> PyResult<()> {
        run(py, |_| {
            let database = database(&name, &path, ask)?;

            self.server
                .reload_handle()
                .replace(database)
                .map_err(of_server)?;

            *self.file.lock().unwrap_or_else(PoisonError::into_inner) = path;
            Ok(())
        })?
    }

    /// The most bytes of a request's body.
    #[getter]
    fn most_bytes(&self) -> usize {
        self.server.most_query_bytes().max(LEAST_LIMIT)
    }

    /// Responds to a request: a coroutine for (status, headers, body).
    fn respond<'py>(
        &self,
        py: Python<'py>,
        method: &str,
        path: &str,
        headers: Vec<(Vec<u8>, Vec<u8>)>,
        body: Vec<u8>,
        client: Option<&str>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let client: Option<IpAddr> = client
            .map(str::parse)
            .transpose()
            .map_err(|_| PyValueError::new_err(format!("client {client:?}")))?;
        let mut request = papir_server::Request::builder().method(method).uri(path);
        for (name, value) in &headers {
            request = request.header(name.as_slice(), value.as_slice());
        }

        let request = request
            .body(Bytes::from(body))
            .map_err(|error| PyValueError::new_err(error.to_string()))?;

        let server = Arc::clone(&self.server);
        future_into_py(py, async move {
            let (parts, body) = server.respond(request, client).await.into_parts();
            let headers: Vec<(Vec<u8>, Vec<u8>)> = parts
                .headers
                .iter()
                .map(|(name, value)| (name.as_str().as_bytes().to_vec(), value.as_bytes().to_vec()))
                .collect();
            Ok((parts.status.as_u16(), headers, body.to_vec()))
        })
    }
}
