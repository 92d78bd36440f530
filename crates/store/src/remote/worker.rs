//! Runs asynchronous transfers from blocking code.

use super::error::RemoteError;
use crate::error::{Error, Result};

/// Runs `work` to completion on a thread with its own runtime. It can therefore be called from
/// anywhere, even from within another runtime.
///
/// # Errors
/// Errors of `work`; [`papir_core::Error::Io`] if no thread can be started; and
/// [`RemoteError::Stopped`] if the thread panics.
pub(super) fn run<T, F>(work: impl FnOnce() -> F + Send) -> Result<T>
where
    T: Send,
    F: Future<Output = Result<T>>,
{
    let failed = |source| papir_core::Error::Io {
        what: "starting a transfer".to_owned(),
        source,
    };
    std::thread::scope(|scope| {
        let builder = std::thread::Builder::new().name("papir-transfer".to_owned());
        let thread = builder.spawn_scoped(scope, move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .map_err(failed)?;
            runtime.block_on(work())
        });
        let thread = thread.map_err(failed)?;
        thread
            .join()
            .map_err(|_| Error::from(RemoteError::Stopped))?
    })
}
