//! A connection on a thread of its own, so that Ctrl-C ends the wait for it.

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::mpsc::{self, Sender};
use std::thread;

use papir_client::{Connection, Error};
use pyo3::prelude::*;

use crate::errors::of_client;
use crate::waiting::receive;

type Work = Box<dyn FnOnce(&mut Connection) + Send>;

/// A connection whose lookups wait for one another. After Ctrl-C, a lookup runs to its end, and the next
/// one waits for that.
pub(crate) struct Worker(Sender<Work>);

impl Worker {
    /// Starts a thread that opens a connection.
    ///
    /// # Errors
    /// Errors of `open`, and `KeyboardInterrupt`.
    pub(crate) fn start(
        py: Python<'_>,
        open: impl FnOnce() -> Result<Connection, Error> + Send + 'static,
    ) -> PyResult<Self> {
        let (work, works) = mpsc::channel::<Work>();
        let (opened, opening) = mpsc::channel();
        thread::spawn(move || {
            let mut connection = match open() {
                Ok(connection) => connection,
                Err(error) => return drop(opened.send(Err(error))),
            };
            // After Ctrl-C nobody waits, and the thread ends with the channel of works.
            let _ = opened.send(Ok(()));
            works.into_iter().for_each(|work| work(&mut connection));
        });
        receive(py, opening)?.map_err(of_client)?;
        Ok(Self(work))
    }

    /// Does `work` with the connection.
    ///
    /// # Errors
    /// Errors of `work`, and `KeyboardInterrupt`.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        py: Python<'_>,
        work: impl FnOnce(&mut Connection) -> Result<T, Error> + Send + 'static,
    ) -> PyResult<T> {
        let (done, doing) = mpsc::channel();
        let work: Work = Box::new(move |connection| {
            let _ = done.send(catch_unwind(AssertUnwindSafe(|| work(connection))));
        });
        // A thread that is gone drops the sender with the work, which `receive` reports.
        let _ = self.0.send(work);
        receive(py, doing)?.unwrap_or_else(|panic| resume_unwind(panic)).map_err(of_client)
    }
}
