//! Outcomes of background work.

use tokio::task::JoinError;

/// The output of background work, or its panic; `None` if it was cancelled.
///
/// Blocking work is cancelled only when the runtime ends. There is then nothing to report: the
/// service ends for a reason of its own, which is reported elsewhere.
pub(crate) fn unless_cancelled<T>(ended: Result<T, JoinError>) -> Option<Result<T, JoinError>> {
    match ended {
        Err(error) if error.is_cancelled() => None,
        ended => Some(ended),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::future::pending;
    use std::io;

    use super::*;
    use crate::error::Error;

    fn fault() {
        panic!("a fault of the work");
    }

    async fn cancelled() -> JoinError {
        let work = tokio::spawn(pending::<()>());
        work.abort();
        work.await.unwrap_err()
    }

    async fn panicked() -> JoinError {
        tokio::task::spawn_blocking(fault).await.unwrap_err()
    }

    #[tokio::test]
    async fn cancelled_work_has_nothing_to_report() {
        assert!(unless_cancelled::<()>(Err(cancelled().await)).is_none());

        let panic = unless_cancelled::<()>(Err(panicked().await)).unwrap();
        assert!(panic.unwrap_err().is_panic());

        assert_eq!(unless_cancelled(Ok(7)).unwrap().unwrap(), 7);
    }

    #[tokio::test]
    async fn an_error_tells_cancelled_work_from_a_fault() {
        let of = |source: io::Error| Error::Io {
            what: "loading snapshots",
            source,
        };

        assert!(of(io::Error::other(cancelled().await)).is_cancelled());
        assert!(!of(io::Error::other(panicked().await)).is_cancelled());
        assert!(!of(io::ErrorKind::AddrInUse.into()).is_cancelled());
        assert!(!Error::NoDatabases.is_cancelled());
    }
}
