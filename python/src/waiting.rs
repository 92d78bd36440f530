//! Long work without the interpreter's lock, which Ctrl-C ends.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::get_runtime;
use tokio::runtime::Runtime;

use crate::forked::{self, on_own_threads};

/// Interval between two looks for Ctrl-C.
const INTERVAL: Duration = Duration::from_millis(50);

/// Waits for a future. Ctrl-C drops it. Fails in a fork.
pub(crate) fn wait<T: Send>(py: Python<'_>, future: impl Future<Output = T> + Send) -> PyResult<T> {
    forked::refuse()?;
    wait_on(py, get_runtime(), future)
}

/// [`wait`] on a runtime.
pub(crate) fn wait_on<T: Send>(
    py: Python<'_>,
    runtime: &Runtime,
    future: impl Future<Output = T> + Send,
) -> PyResult<T> {
    let waiting = async {
        let mut future = std::pin::pin!(future);
        loop {
            tokio::select! {
                done = &mut future => return Ok(done),
                () = tokio::time::sleep(INTERVAL) => Python::attach(|py| py.check_signals())?,
            }
        }
    };

    py.detach(|| on_own_threads(|| runtime.block_on(waiting)))
}

/// Unwinds the work of [`run`] after Ctrl-C.
struct Interrupted;

/// Tells work to stop.
#[derive(Default)]
pub(crate) struct Interrupt(AtomicBool);

impl Interrupt {
    /// Unwinds if the work is to stop. It is called where nothing is half done that unwinding does
    /// not undo.
    pub(crate) fn check(&self) {
        if self.0.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Interrupted));
        }
    }
}

/// Runs work on another thread, which calls [`Interrupt::check`] often. After Ctrl-C, it still
/// waits until the work has ended.
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Interrupt) -> T + Send,
) -> PyResult<T> {
    let interrupt = Interrupt::default();
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, ended) = mpsc::channel();
            let told = &interrupt;
            scope.spawn(move || {
                done.send(catch_unwind(AssertUnwindSafe(|| {
                    on_own_threads(|| work(told))
                })))
            });

            // Once a signal was seen, only the end of the work is awaited.
            let mut signal = Ok(());
            let outcome = loop {
                match ended.recv_timeout(INTERVAL) {
                    Ok(outcome) => break outcome,
                    Err(_) if signal.is_ok() => {
                        signal = Python::attach(|py| py.check_signals());
                        interrupt.0.store(signal.is_err(), Ordering::Relaxed);
                    }
                    Err(_) => {}
                }
            };

            match outcome {
                Ok(done) => signal.map(|()| done),
                Err(panic) if panic.is::<Interrupted>() => {
                    signal.and_then(|()| resume_unwind(panic))
                }
                Err(panic) => resume_unwind(panic),
            }
        })
    })
}
