//! One papir database, looked up without revealing the name.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use papir_client::aio::Connection;
use papir_client::{CheckpointSettings, Options, PrefilterUse};

use crate::Result;
use crate::arguments::ServiceArguments;

/// Longest time for a lookup, also if its client does not wait any more: the verdict is cached.
const PATIENCE: Duration = Duration::from_secs(60);

/// A database of a service. Lookups run at the same time, each with a clone of the connection.
pub(crate) struct Table {
    /// The word for the database in messages.
    what: &'static str,
    connection: Mutex<Connection>,
    is_away: AtomicBool,
}

impl Table {
    /// Connects to a database.
    pub(crate) async fn open(
        what: &'static str,
        url: &str,
        arguments: &ServiceArguments,
    ) -> Result<Self> {
        let connection = Connection::open_with(url, &options(arguments))
            .await
            .map_err(|error| format!("{what}: {error}"))?;
        Ok(Self {
            what,
            connection: Mutex::new(connection),
            is_away: AtomicBool::new(false),
        })
    }

    /// The values of keys, in order. The service learns the number of keys.
    pub(crate) async fn get(&self, keys: &[String]) -> Result<Vec<Option<Vec<u8>>>> {
        let mut connection = self.lock().clone();
        let found = connection.get_keys(keys).await;

        match &found {
            Ok(_) => {
                // Its public part may be of a newer version.
                *self.lock() = connection;
                if self.is_away.swap(false, Ordering::Relaxed) {
                    eprintln!("papir-dns: {}: answers again", self.what);
                }
            }
            // Once, and not for each name: the log would tell when names are looked up.
            Err(error) if !self.is_away.swap(true, Ordering::Relaxed) => {
                eprintln!("papir-dns: {}: {error}", self.what);
            }
            Err(_) => {}
        }
        Ok(found?)
    }

    fn lock(&self) -> MutexGuard<'_, Connection> {
        self.connection
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

fn options(arguments: &ServiceArguments) -> Options {
    Options {
        checkpoint: CheckpointSettings {
            owner: arguments.owner_pub.clone(),
            ..CheckpointSettings::default()
        },
        ca: arguments.ca.clone(),
        state: arguments.state.clone(),
        timeout: Some(PATIENCE),
        // With a filter, the service would see requests for names that are probably in the table,
        // and none for others.
        prefilter: PrefilterUse::Ignore,
        ..Options::default()
    }
}
