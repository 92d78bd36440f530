//! Long work without the interpreter's lock, which Ctrl-C ends.

use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError, mpsc};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3_async_runtimes::tokio::get_runtime;
use tokio::runtime::Runtime;

use crate::forked::{self, on_own_threads};

/// Interval between two looks for Ctrl-C.
pub(crate) const INTERVAL: Duration = Duration::from_millis(50);

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

/// Unwinds the work of [`run`] after Ctrl-C, or after an exception of the caller's function.
struct Interrupted;

/// Tells work to stop.
#[derive(Default)]
pub(crate) struct Interrupt {
    is_set: AtomicBool,
    /// The exception of the caller's function that stops the work; none after Ctrl-C.
    exception: Mutex<Option<PyErr>>,
}

impl Interrupt {
    /// Unwinds if the work is to stop. It is called where nothing is half done that unwinding does
    /// not undo.
    pub(crate) fn check(&self) {
        if self.is_set.load(Ordering::Relaxed) {
            resume_unwind(Box::new(Interrupted));
        }
    }

    /// Stops the work, from one of its threads, with an exception of the caller's function. Of
    /// several, [`run`] returns the first. Unwinds as [`Interrupt::check`] does.
    pub(crate) fn stop(&self, exception: PyErr) -> ! {
        self.exception
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .get_or_insert(exception);
        self.is_set.store(true, Ordering::Relaxed);
        resume_unwind(Box::new(Interrupted));
    }

    /// The exception that stopped the work.
    fn exception(&self) -> Option<PyErr> {
        self.exception
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take()
    }
}

/// Runs work on another thread, which calls [`Interrupt::check`] often. After Ctrl-C, it still
/// waits until the work has ended.
///
/// # Errors
/// `KeyboardInterrupt` after Ctrl-C, and the exception of [`Interrupt::stop`].
pub(crate) fn run<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&Interrupt) -> T + Send,
) -> PyResult<T> {
    run_until(py, &Interrupt::default(), work)
}

/// [`run`] with an interrupt that parts of the work have already.
pub(crate) fn run_until<T: Send>(
    py: Python<'_>,
    interrupt: &Interrupt,
    work: impl FnOnce(&Interrupt) -> T + Send,
) -> PyResult<T> {
    py.detach(|| {
        std::thread::scope(|scope| {
            let (done, ended) = mpsc::channel();
            scope.spawn(move || {
                done.send(catch_unwind(AssertUnwindSafe(|| {
                    on_own_threads(|| work(interrupt))
                })))
            });

            // Once a signal was seen, only the end of the work is awaited.
            let mut signal = Ok(());
            let outcome = loop {
                match ended.recv_timeout(INTERVAL) {
                    Ok(outcome) => break outcome,
                    Err(_) if signal.is_ok() => {
                        signal = Python::attach(|py| py.check_signals());
                        // Never taken back: a function of the caller may have stopped the work.
                        interrupt
                            .is_set
                            .fetch_or(signal.is_err(), Ordering::Relaxed);
                    }
                    Err(_) => {}
                }
            };

            let outcome = match outcome {
                Err(panic) if !panic.is::<Interrupted>() => resume_unwind(panic),
                outcome => outcome,
            };

            signal?;
            if let Some(exception) = interrupt.exception() {
                return Err(exception);
            }
            match outcome {
                Ok(done) => Ok(done),
                Err(panic) => resume_unwind(panic),
            }
        })
    })
}
