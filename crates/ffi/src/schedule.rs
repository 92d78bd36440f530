//! Lookups at fixed times.

use std::sync::Arc;

use papir_client::{Awaited, Error, Scheduled};
use tokio::sync::oneshot;
use tokio::task::spawn_blocking;
use zeroize::Zeroizing;

use crate::description::Costs;
use crate::error::PapirError;

/// A running schedule of lookups. It sends one request at each of its times, with the lookups that
/// wait, the oldest first, and lookups of random keys or indices in all other places. When and how
/// much is sent does not depend on what is looked up, or how often.
///
/// Freeing it ends it: lookups that wait fail with the code `schedule_closed`, and nothing more is
/// sent. Lookups in a request that is already sent still get their values. Freeing the database
/// does not stop the schedule.
#[derive(uniffi::Object)]
pub struct LookupSchedule(Scheduled);

impl LookupSchedule {
    pub(crate) fn new(scheduled: Scheduled) -> Self {
        Self(scheduled)
    }
}

#[uniffi::export(async_runtime = "tokio")]
impl LookupSchedule {
    /// The value of a key of at most 4,096 bytes; none if the database does not have the key. It is
    /// sent in the next request with a free place, also if the call is cancelled meanwhile. At most
    /// 1,000 lookups wait; a further one fails with the code `queue_full`.
    pub async fn get(self: Arc<Self>, key: Vec<u8>) -> Result<Option<Vec<u8>>, PapirError> {
        let awaited = self.0.submit_key(&Zeroizing::new(key))?;
        // The call does not keep the schedule: the application alone decides when it ends.
        drop(self);

        Ok(outcome(awaited).await?)
    }

    /// The record at an index, from 0, as `get` looks up a key. An index beyond the last record
    /// fails once its request is answered.
    pub async fn get_index(self: Arc<Self>, index: u64) -> Result<Vec<u8>, PapirError> {
        let awaited = self.0.submit_index(index)?;
        drop(self);

        let record = outcome(awaited).await?;
        Ok(record.unwrap_or_default())
    }

    /// The number of lookups that wait for a request.
    pub fn waiting(&self) -> u64 {
        self.0.waiting() as u64
    }

    /// The costs of the database's connection before the schedule, and of the schedule's requests.
    pub fn costs(&self) -> Costs {
        Costs::of(self.0.costs())
    }
}

/// The outcome of a submitted lookup.
async fn outcome(awaited: Awaited) -> papir_client::Result<Option<Vec<u8>>> {
    let (sender, receiver) = oneshot::channel();

    tokio::spawn(async move {
        let found = awaited.await;
        // On a thread of its own: it resumes a coroutine of the application, which may take any
        // time, in which the runtime's only thread would send no request.
        spawn_blocking(move || drop(sender.send(found)));
    });

    receiver.await.unwrap_or(Err(Error::ScheduleClosed))
}
