//! A single-threaded runtime for blocking clients.

use std::future::Future;
use std::{mem, process};

use papir_client::aio::in_place;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use tokio::runtime::{Builder, Runtime};

use crate::waiting::wait_on;

/// The runtime of one client. The calling thread does all work, so that a lookup switches no
/// threads.
pub(crate) struct Local {
    /// `None` once dropped.
    runtime: Option<Runtime>,
    /// The process that created the runtime. A fork must not share its sockets.
    process: u32,
}

impl Local {
    /// Creates the runtime of a client.
    pub(crate) fn new() -> PyResult<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Self {
            runtime: Some(runtime),
            process: process::id(),
        })
    }

    /// Waits for a future. Ctrl-C drops it, after the step that is running. Fails in a fork of the
    /// process.
    pub(crate) fn wait<T: Send>(
        &self,
        py: Python<'_>,
        future: impl Future<Output = T> + Send,
    ) -> PyResult<T> {
        match &self.runtime {
            Some(runtime) if self.process == process::id() => {
                wait_on(py, runtime, in_place(future))
            }
            _ => Err(PyRuntimeError::new_err(
                "this client is of another process: connect in each process",
            )),
        }
    }
}

impl Drop for Local {
    /// Does not wait for a pending name resolution.
    fn drop(&mut self) {
        match self.runtime.take() {
            Some(runtime) if self.process == process::id() => runtime.shutdown_background(),
            // A fork shares the parent's epoll instance: dropping the runtime would remove the
            // parent's sockets from it.
            fork => mem::forget(fork),
        }
    }
}
