//! Asynchronous stores behind functions that block.

use super::RemoteError;
use crate::{Error, Result};

/// Runs `work` to its end on a thread with a runtime of its own, so that it can be called from
/// anywhere, inside of another runtime too.
///
/// # Errors
/// Those of `work`, and [`papir_core::Error::Io`] when the system has no thread left.
pub(super) fn run<T, F>(work: impl FnOnce() -> F + Send) -> Result<T>
where
    T: Send,
    F: Future<Output = Result<T>>,
{
    let failed = |source| papir_core::Error::Io { what: "starting a transfer".to_owned(), source };
    let on_thread = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(failed)?;
        runtime.block_on(work())
    };
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().name("papir-transfer".to_owned());
        let thread = thread.spawn_scoped(scope, on_thread).map_err(failed)?;
        thread.join().map_err(|_| Error::from(RemoteError::Stopped))?
    })
}
