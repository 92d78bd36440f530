//! Connections to a database of a service.

use std::sync::Arc;
use std::time::Duration;

use papir_client::aio::{Connection, SharedConnection};
use papir_client::{OwnedWanted, Schedule};
use zeroize::Zeroizing;

use crate::description::{Costs, DatabaseInfo};
use crate::error::PapirError;
use crate::options::Options;
use crate::schedule::LookupSchedule;

/// A private client of one database. Lookups run one after the other.
#[derive(uniffi::Object)]
pub struct Database(SharedConnection);

#[uniffi::export(async_runtime = "tokio")]
impl Database {
    /// Connects to a database and fetches its public part.
    #[uniffi::constructor]
    pub async fn connect(url: String, options: Options) -> Result<Self, PapirError> {
        let connection = Connection::open_with(&url, &options.into_client_options()?).await?;
        Ok(Self(SharedConnection::new(connection)))
    }

    /// Connects to a database that several servers have, up to 16, and stays with the first of them
    /// that can be used. While that one is away, behind or different, lookups go to the next, with
    /// fresh queries. All must have the same database, signed by the same owner or with the same
    /// root. If none can be used, the error has the code `no_server` and names each with its
    /// reason; addresses that cannot be used together have the code `servers`. The token is sent to
    /// each server that is tried, and `register` registers with the current one.
    #[uniffi::constructor]
    pub async fn connect_any(urls: Vec<String>, options: Options) -> Result<Self, PapirError> {
        let connection = Connection::open_any(&urls, &options.into_client_options()?).await?;
        Ok(Self(SharedConnection::new(connection)))
    }

    /// The value of a key; none if the database does not have the key.
    pub async fn get(&self, key: Vec<u8>) -> Result<Option<Vec<u8>>, PapirError> {
        Ok(self.get_many(vec![key]).await?.pop().flatten())
    }

    /// The values of several keys, in order. The service learns their number.
    pub async fn get_many(&self, keys: Vec<Vec<u8>>) -> Result<Vec<Option<Vec<u8>>>, PapirError> {
        // They say what is looked up: erased after the call, also if it fails.
        let keys = Zeroizing::new(keys);
        Ok(self.0.take().await?.get_keys(&keys).await?)
    }

    /// The record at an index, from 0.
    pub async fn get_index(&self, index: u64) -> Result<Vec<u8>, PapirError> {
        Ok(self.0.take().await?.get_index(index).await?)
    }

    /// The records at several indices, in order. The service learns their number.
    pub async fn get_indices(&self, indices: Vec<u64>) -> Result<Vec<Vec<u8>>, PapirError> {
        // Secret as keys are.
        let indices = Zeroizing::new(indices);
        Ok(self.0.take().await?.get_indices(&indices).await?)
    }

    /// Makes the query of one key as a short message, which any channel may carry to the operator
    /// of the database. `extract_message` decodes the answer, also in another process. Needs the
    /// option `known`, `use` or `renew`, and a scheme whose clients register keys and use no
    /// tickets, such as `pirouette`; others have the code `no_parameters`. With a kept version it
    /// sends nothing. The lookup is stored before the query is returned. At most 64 wait for their
    /// answers.
    pub async fn query_message(&self, key: Vec<u8>) -> Result<Vec<u8>, PapirError> {
        let key = OwnedWanted::Key(Zeroizing::new(key));
        Ok(self.0.take().await?.query_message(key).await?)
    }

    /// Makes the query of one index, from 0, as `query_message` that of a key.
    pub async fn query_message_index(&self, index: u64) -> Result<Vec<u8>, PapirError> {
        let index = OwnedWanted::Index(Zeroizing::new(index));
        Ok(self.0.take().await?.query_message(index).await?)
    }

    /// Registers ahead of the first lookup, in schemes with registered clients. Lookups do it by
    /// themselves, and then take longer.
    pub async fn register(&self) -> Result<(), PapirError> {
        Ok(self.0.take().await?.register().await?)
    }

    /// Starts a schedule, which sends one request of `batch` lookups in each interval `every`, of
    /// at least a millisecond. A request that takes longer skips the times that it misses. Lookups
    /// of the database itself are still sent at once.
    pub async fn schedule(
        &self,
        every: Duration,
        batch: u32,
    ) -> Result<Arc<LookupSchedule>, PapirError> {
        let schedule = Schedule {
            every,
            batch: batch as usize,
        };

        let connection = self.0.detach().await?;
        let scheduled = connection.schedule(schedule)?;
        Ok(Arc::new(LookupSchedule::new(scheduled)))
    }

    /// The service's description of the database. Waits for a lookup that is under way.
    pub async fn info(&self) -> DatabaseInfo {
        DatabaseInfo::of(&*self.0.wait().await)
    }

    /// The costs since the connection, without those of cancelled calls. Waits for a lookup that is
    /// under way.
    pub async fn costs(&self) -> Costs {
        Costs::of(self.0.wait().await.costs())
    }
}
