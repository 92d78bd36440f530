//! Client keys in PostgreSQL, or in an object store.

use std::collections::HashSet;
use std::fmt::Display;
use std::sync::Arc;

use papir_store::remote::{Folder, Settings};
use postgres::Transaction;

use super::sessions::Sessions;
use super::tables::{PostgresTables, bytes};
use crate::clients::config::PostgresConfig;
use crate::clients::error::StoreError;
use crate::clients::id::ClientId;
use crate::clients::keys::KeyStorage;
use crate::clients::tables::{ROOM, Result};

/// Longest part in PostgreSQL if there is an object store.
const SHORT: usize = 64 << 10;
/// Name of a probe in the object store.
const PROBE: &str = "probe";

/// Keys in the tables, or with an object store: short parts in the tables, long ones in the store.
///
/// A part is in the store before its row is in the table, and is removed before it.
pub(in crate::clients) struct PostgresKeys {
    sessions: Arc<Sessions>,
    folder: Option<Folder>,
}

impl PostgresKeys {
    pub(in crate::clients) fn open(
        tables: &PostgresTables,
        place: &PostgresConfig,
    ) -> Result<Self> {
        let folder = match &place.keys {
            Some(url) => Some(open_folder(url, place)?),
            None => None,
        };
        Ok(Self {
            sessions: tables.sessions(),
            folder,
        })
    }

    /// The folder of the object store.
    fn folder(&self) -> Result<&Folder> {
        self.folder.as_ref().ok_or_else(|| {
            StoreError::of_data(
                "keys of clients are in an object store: give its address, as when they were \
                 stored",
            )
        })
    }

    /// The bytes that have arrived of a client's keys.
    fn parts(&self, id: ClientId) -> Result<Vec<u8>> {
        const PARTS: &str =
            "SELECT start, length, part FROM papir.keys WHERE client = $1 ORDER BY start";
        let rows = self
            .sessions
            .read(|transaction| Ok(transaction.query(PARTS, &[&bytes(id)])?))?;

        let mut keys = Vec::new();
        for row in rows {
            let start: i64 = row.get(0);
            let length: i64 = row.get(1);
            match row.get::<_, Option<&[u8]>>(2) {
                Some(part) => keys.extend_from_slice(part),
                None => keys.extend(self.stored(id, start)?),
            }

            // Checked for each part: one of another length moves all that follow.
            if keys.len() as i64 != start + length {
                let found = format!("{} bytes", keys.len());
                let expected = format!("{} bytes", start + length);
                return Err(
                    papir_core::Error::malformed("a client's keys", found, expected).into(),
                );
            }
        }
        Ok(keys)
    }

    /// A part from the object store.
    fn stored(&self, id: ClientId, start: i64) -> Result<Vec<u8>> {
        let name = name(&bytes(id), start);
        let found = self.folder()?.get(&name).map_err(folder_failed)?;
        found.ok_or_else(|| {
            StoreError::of_data("a part of a client's keys is missing in the object store")
        })
    }

    /// Removes the keys of a client.
    fn try_remove(&self, id: &[u8]) -> Result<()> {
        const STORED: &str = "SELECT start FROM papir.keys WHERE client = $1 AND part IS NULL";
        let stored = self
            .sessions
            .read(|transaction| Ok(transaction.query(STORED, &[&id])?))?;

        // The parts first: without their rows they would not be found again.
        for row in stored {
            let deleted = self.folder()?.delete(&name(id, row.get(0)));
            deleted.map_err(folder_failed)?;
        }
        self.sessions.change(|transaction| {
            transaction.execute("DELETE FROM papir.keys WHERE client = $1", &[&id])?;
            Ok(Some(()))
        })?;
        Ok(())
    }
}

impl KeyStorage for PostgresKeys {
    fn offset(&self, id: ClientId) -> Result<u64> {
        let length = self
            .sessions
            .read(|transaction| length(transaction, &bytes(id)))?;
        Ok(length.cast_unsigned())
    }

    fn append(&self, id: ClientId, offset: u64, part: &[u8]) -> Result<bool> {
        let client = bytes(id);
        let start = offset.cast_signed();

        // Checked here, too, so that the put below replaces no part that is in use.
        if self.offset(id)? != offset {
            return Ok(false);
        }
        // A row without bytes would take the place of the part that follows.
        if part.is_empty() {
            return Ok(true);
        }

        // Put before its row: a row without its part would be damaged keys.
        let is_stored = self.folder.is_some() && part.len() > SHORT;
        if is_stored {
            let stored = self.folder()?.put(&name(&client, start), part.to_vec());
            stored.map_err(folder_failed)?;
        }

        let inline = (!is_stored).then_some(part);
        let appended = self.sessions.change(|transaction| {
            // Held by all that append for this client.
            transaction.execute(
                "SELECT FROM papir.clients WHERE id = $1 FOR UPDATE",
                &[&client],
            )?;
            if length(transaction, &client)? != start {
                return Ok(None);
            }

            transaction.execute(
                "INSERT INTO papir.keys (client, start, length, part) VALUES ($1, $2, $3, $4)",
                &[&client, &start, &(part.len() as i64), &inline],
            )?;
            Ok(Some(()))
        })?;
        Ok(appended.is_some())
    }

    /// Whole parts are compared, as they were sent.
    fn holds(&self, id: ClientId, offset: u64, part: &[u8]) -> Result<bool> {
        const PART: &str = "SELECT part FROM papir.keys WHERE client = $1 AND start = $2";
        let client = bytes(id);
        let start = offset.cast_signed();
        let rows = self
            .sessions
            .read(|transaction| Ok(transaction.query(PART, &[&client, &start])?))?;

        let Some(row) = rows.first() else {
            return Ok(false);
        };
        match row.get::<_, Option<&[u8]>>(0) {
            Some(kept) => Ok(kept == part),
            None => Ok(self.stored(id, start)? == part),
        }
    }

    fn read_upload(&self, id: ClientId) -> Result<Vec<u8>> {
        self.parts(id)
    }

    /// The row of the client says that its keys are complete.
    fn finish(&self, _: ClientId) -> Result<()> {
        Ok(())
    }

    fn read(&self, id: ClientId) -> Result<Option<Vec<u8>>> {
        let keys = self.parts(id)?;
        Ok((!keys.is_empty()).then_some(keys))
    }

    /// Keys that cannot be removed are removed when a service starts.
    fn remove(&self, id: ClientId) {
        if let Err(error) = self.try_remove(&bytes(id)) {
            tracing::warn!(%error, "could not remove a client's keys");
        }
    }

    /// Asks the tables: clients may have registered with other services since `known` was read.
    fn sweep(&self, _: &HashSet<ClientId>) -> Result<()> {
        const UNKNOWN: &str = "
            SELECT DISTINCT k.client FROM papir.keys k
            WHERE NOT EXISTS (SELECT FROM papir.clients c WHERE c.id = k.client)";
        let unknown = self
            .sessions
            .read(|transaction| Ok(transaction.query(UNKNOWN, &[])?))?;

        for row in unknown {
            self.try_remove(row.get(0))?;
        }
        Ok(())
    }

    /// The tables have a probe of their own.
    fn probe(&self) -> Result<()> {
        let Some(folder) = &self.folder else {
            return Ok(());
        };
        let put = folder
            .put(PROBE, vec![0; ROOM])
            .and_then(|()| folder.delete(PROBE));
        put.map_err(folder_failed)
    }
}

/// The folder of a registry at an address in an object store.
fn open_folder(url: &str, place: &PostgresConfig) -> Result<Folder> {
    let mut settings = Settings::from_environment();
    if let Some(proxy) = &place.keys_proxy {
        settings = settings.with_proxy(proxy.clone());
    }
    if let Some(file) = &place.keys_roots {
        settings = settings.with_roots(file.clone());
    }
    Folder::parse(url, "client-keys", settings).map_err(folder_failed)
}

/// Failure of the object store.
fn folder_failed(error: impl Display) -> StoreError {
    StoreError::other(error.to_string())
}

/// Number of bytes that have arrived.
fn length(transaction: &mut Transaction<'_>, id: &[u8]) -> Result<i64> {
    const LENGTH: &str =
        "SELECT coalesce(sum(length), 0)::bigint FROM papir.keys WHERE client = $1";
    Ok(transaction.query_one(LENGTH, &[&id])?.get(0))
}

/// The name of a part in the object store. It has a hash of the client's id, since errors and the
/// store's own logs show it.
fn name(id: &[u8], start: i64) -> String {
    format!("{}/{start}", &blake3::hash(id).to_hex()[..32])
}
