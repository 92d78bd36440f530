//! Runs asynchronous transfers from blocking code.

use super::error::RemoteError;
use crate::error::{Error, Result};

/// Runs `work` to completion on a thread with its own runtime. It can therefore be called from
/// anywhere, even from within another runtime. A panic of the thread is an error,
/// [`RemoteError::Stopped`].
pub(super) fn run<T, F>(work: impl FnOnce() -> F + Send) -> Result<T>
where
    T: Send,
    F: Future<Output = Result<T>>,
{
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
        match thread.join() {
            Ok(result) => result,
            Err(_) => Err(RemoteError::Stopped.into()),
        }
    })
}

/// The error for a thread or a runtime that cannot be started.
fn failed(source: std::io::Error) -> Error {
    let what = "starting a transfer".to_owned();
    papir_core::Error::Io { what, source }.into()
}
