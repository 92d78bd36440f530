//! Blocking calls of asynchronous stores.

use super::error::RemoteError;
use crate::error::{Error, Result};

/// Runs `work` to completion on a thread with its own runtime, so that it can be called from
/// anywhere, also from within another runtime.
///
/// # Errors
/// Errors of `work`; [`papir_core::Error::Io`] if no thread can be started; and
/// [`RemoteError::Stopped`] if the thread panics.
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
