//! Choice of the threads that compute: blocking threads, or in place.

use std::future::{Future, pending};
use std::panic::resume_unwind;

use tokio::task::spawn_blocking;
use tokio::task_local;

task_local! {
    /// Set in futures whose steps run in place.
    static IN_PLACE: ();
}

/// Runs a future of this client so that its computations run on the thread that polls it, and not
/// on the runtime's blocking threads. Use it on a runtime that serves one connection, to avoid
/// switching threads during a lookup. Other futures of the runtime wait during each computation.
pub async fn in_place<T>(future: impl Future<Output = T>) -> T {
    IN_PLACE.scope((), future).await
}

/// Runs `work` on a blocking thread, or on this thread within [`in_place`]. A panic of `work`
/// continues in the caller.
pub(super) async fn unblocked<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    if IN_PLACE.try_with(|()| ()).is_ok() {
        return work();
    }

    match spawn_blocking(work).await {
        Ok(output) => output,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The runtime shuts down, and drops this future too.
            Err(_) => pending().await,
        },
    }
}
