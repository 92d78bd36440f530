//! Work in a forked process.
//!
//! Threads do not survive a fork: the process works on threads of its own.

use std::mem;
use std::process;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// The first process that used this package, whose threads work; 0 before that.
static FIRST: AtomicU32 = AtomicU32::new(0);
/// The pool of a forked process.
static POOL: Mutex<Option<(u32, Arc<ThreadPool>)>> = Mutex::new(None);

/// Does work on threads of this process. In a fork, the threads of the first process do not exist,
/// and work on them would never end.
pub(crate) fn on_own_threads<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    match is_fork().then(pool).flatten() {
        Some(pool) => pool.install(work),
        None => work(),
    }
}

/// Refuses a fork, in which the runtime of services and of asynchronous clients has no threads.
pub(crate) fn refuse() -> PyResult<()> {
    match is_fork() {
        true => Err(PyRuntimeError::new_err(
            "services and asynchronous clients do not work in a fork of a process that used pypapir: expected a \
             process that was started anew, as by multiprocessing.get_context(\"spawn\")",
        )),
        false => Ok(()),
    }
}

fn is_fork() -> bool {
    let own = process::id();
    FIRST
        .compare_exchange(0, own, Ordering::Relaxed, Ordering::Relaxed)
        .is_err_and(|first| first != own)
}

/// The pool of this fork; `None` if the system gives it no threads.
fn pool() -> Option<Arc<ThreadPool>> {
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);

    match &*pool {
        Some((process, pool)) if *process == process::id() => Some(Arc::clone(pool)),
        _ => {
            let own = Arc::new(ThreadPoolBuilder::new().build().ok()?);
            // To drop the pool before the fork would wait for its threads.
            mem::forget(pool.replace((process::id(), Arc::clone(&own))));
            Some(own)
        }
    }
}
