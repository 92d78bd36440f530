//! Lookups at fixed times in a service.

use papir_client::aio::Connection;
use papir_client::{Awaited, Options, Schedule, Scheduled};
use pyo3::prelude::*;
use pyo3::types::PyDict;
use pyo3_async_runtimes::tokio::{future_into_py, get_runtime};
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

use crate::client::{options, seconds};
use crate::errors::of_client;
use crate::forked;
use crate::waiting::wait;

/// A running schedule. Dropping it closes it.
#[pyclass(frozen, module = "pypapir", name = "Scheduled")]
pub(crate) struct ScheduledLookups(Scheduled);

impl ScheduledLookups {
    async fn start(url: String, options: Options, schedule: Schedule) -> PyResult<Self> {
        let connection = Connection::open_with(&url, &options)
            .await
            .map_err(of_client)?;
        Ok(Self(connection.schedule(schedule).map_err(of_client)?))
    }
}

/// Connects to a database of a service, and starts a schedule.
#[pyfunction]
#[pyo3(signature = (url, every, batch, **arguments))]
pub(crate) fn schedule(
    py: Python<'_>,
    url: String,
    every: &Bound<'_, PyAny>,
    batch: usize,
    arguments: Option<&Bound<'_, PyDict>>,
) -> PyResult<ScheduledLookups> {
    let options = options(arguments)?;
    let schedule = Schedule {
        every: seconds(every)?,
        batch,
    };
    wait(py, ScheduledLookups::start(url, options, schedule))?
}

/// Connects to a database of a service, and starts a schedule, for coroutines.
#[pyfunction]
#[pyo3(signature = (url, every, batch, **arguments))]
pub(crate) fn schedule_async<'py>(
    py: Python<'py>,
    url: String,
    every: &Bound<'py, PyAny>,
    batch: usize,
    arguments: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    forked::refuse()?;
    let options = options(arguments)?;
    let schedule = Schedule {
        every: seconds(every)?,
        batch,
    };
    future_into_py(py, ScheduledLookups::start(url, options, schedule))
}

#[pymethods]
impl ScheduledLookups {
    /// Submits the lookup of a key. `future` is a `concurrent.futures.Future`, which gets the
    /// value.
    fn submit_key(&self, key: Vec<u8>, future: Py<PyAny>) -> PyResult<()> {
        forked::refuse()?;
        let key = Zeroizing::new(key);
        deliver(self.0.submit_key(&key).map_err(of_client)?, future);
        Ok(())
    }

    /// Submits the lookup of the record at an index, for a `concurrent.futures.Future`.
    fn submit_index(&self, index: u64, future: Py<PyAny>) -> PyResult<()> {
        forked::refuse()?;
        deliver(self.0.submit_index(index).map_err(of_client)?, future);
        Ok(())
    }

    /// The number of lookups that wait for a slot.
    #[getter]
    fn waiting(&self) -> usize {
        self.0.waiting()
    }

    /// Closes the schedule: lookups that wait fail.
    fn close(&self) {
        self.0.close();
    }
}

/// Passes the outcome of a lookup to a `concurrent.futures.Future`.
fn deliver(awaited: Awaited, future: Py<PyAny>) {
    get_runtime().spawn(async move {
        let found = awaited.await;
        // On a thread of its own: the interpreter's lock and the future's callbacks may take any
        // time, in which the runtime's threads would send no request.
        spawn_blocking(move || set_outcome(&future, found));
    });
}

/// Sets the outcome of a `concurrent.futures.Future`, which calls its callbacks.
fn set_outcome(future: &Py<PyAny>, found: papir_client::Result<Option<Vec<u8>>>) {
    // There is no interpreter while the process ends, and nobody waits.
    let _ = Python::try_attach(|py| {
        let delivered = match found {
            Ok(value) => future.call_method1(py, "set_result", (value,)),
            Err(error) => future.call_method1(py, "set_exception", (of_client(error),)),
        };
        if let Err(error) = delivered {
            error.write_unraisable(py, None);
        }
    });
}
