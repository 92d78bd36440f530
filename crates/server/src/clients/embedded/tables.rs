//! Row operations within a transaction of redb.

use std::collections::{BTreeSet, HashSet};
use std::path::Path;

use papir_core::Version;
use redb::{
    Key, ReadTransaction, ReadableTable, ReadableTableMetadata, TableDefinition, Value,
    WriteTransaction,
};

use super::file::{TableFile, unless_damaged};
use crate::clients::id::ClientId;
use crate::clients::keys_digest::{FirstUse, KeysDigest};
use crate::clients::numbers::{Claim, TicketKey};
use crate::clients::row::ClientRow;
use crate::clients::tables::{ROOM, ReadTables, Result, Storage, Tables};

/// (database, client) → [`ClientRow`].
const CLIENTS: TableDefinition<'_, (&str, u128), &[u8]> = TableDefinition::new("clients v1");
/// (client, version, number) → ticket.
const TICKETS: TableDefinition<'_, (u128, u64, u64), &[u8]> = TableDefinition::new("tickets v1");
/// (client, number) → version and hash of the query that claimed the number.
const USES: TableDefinition<'_, (u128, u64), (u64, [u8; 32])> = TableDefinition::new("uses v1");
/// Digest of keys → the client that registered them first, and when.
const DIGESTS: TableDefinition<'_, &[u8; 32], (u128, u64)> = TableDefinition::new("digests v1");
/// The same digests by time.
const DIGEST_TIMES: TableDefinition<'_, (u64, &[u8; 32]), ()> =
    TableDefinition::new("digest times v1");
/// (issuer's key, digest) of each spent token.
pub(super) const SPENT: TableDefinition<'_, (&[u8; 32], &[u8; 32]), ()> =
    TableDefinition::new("spent v1");
/// Issuer's key → time when its tokens were last accepted, and true if it has ended.
pub(super) const ISSUER_KEYS: TableDefinition<'_, &[u8; 32], (u64, bool)> =
    TableDefinition::new("issuer keys v1");
/// Bytes that a probe writes and removes.
const FILLER: TableDefinition<'_, (), &[u8]> = TableDefinition::new("filler");

/// The tables in one file. Only one process can have it open.
pub(in crate::clients) struct Embedded {
    file: TableFile,
}

impl Embedded {
    /// Opens or creates the file.
    pub(in crate::clients) fn open(path: &Path) -> Result<Self> {
        let file = TableFile::open(path)?;
        unless_damaged(|| file.write(create))??;
        Ok(Self { file })
    }
}

/// Creates the tables that are missing.
fn create(transaction: &WriteTransaction) -> Result<bool> {
    transaction.open_table(CLIENTS)?;
    transaction.open_table(TICKETS)?;
    transaction.open_table(USES)?;
    transaction.open_table(DIGESTS)?;
    transaction.open_table(DIGEST_TIMES)?;
    transaction.open_table(SPENT)?;
    transaction.open_table(ISSUER_KEYS)?;
    Ok(true)
}

impl Storage for Embedded {
    fn read(&self, work: &mut dyn FnMut(&mut dyn ReadTables) -> Result<()>) -> Result<()> {
        self.file.read(|transaction| work(&mut Within(transaction)))
    }

    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<bool>) -> Result<()> {
        self.file
            .write(|transaction| work(&mut Within(transaction)))
    }

    fn syncs(&self) -> Option<u64> {
        Some(self.file.syncs())
    }

    fn is_failing(&self) -> bool {
        self.file.is_failing()
    }

    fn probe(&self) -> Result<()> {
        self.file.write(|transaction| {
            transaction
                .open_table(FILLER)?
                .insert((), &vec![0; ROOM][..])?;
            Ok(true)
        })?;
        self.file
            .write(|transaction| Ok(transaction.delete_table(FILLER)?))?;
        self.file.recovered();
        Ok(())
    }
}

/// The tables within a transaction.
pub(super) struct Within<'t, T>(pub(super) &'t T);

/// A transaction that can read.
trait Readable {
    fn table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<impl ReadableTable<K, V>>;
}

impl Readable for ReadTransaction {
    fn table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<impl ReadableTable<K, V>> {
        Ok(self.open_table(definition)?)
    }
}

impl Readable for WriteTransaction {
    fn table<K: Key + 'static, V: Value + 'static>(
        &self,
        definition: TableDefinition<'static, K, V>,
    ) -> Result<impl ReadableTable<K, V>> {
        Ok(self.open_table(definition)?)
    }
}

/// A version as a number in keys.
fn number_of(version: Version) -> u64 {
    u64::from_le_bytes(version.0)
}

/// The version of a number in keys.
fn version_of(number: u64) -> Version {
    Version(number.to_le_bytes())
}

/// The value of a digest.
fn first_use_of(client: u128, time: u64) -> FirstUse {
    FirstUse {
        client: ClientId::of(client),
        time,
    }
}

impl<T: Readable> ReadTables for Within<'_, T> {
    fn row(&mut self, database: &str, id: ClientId) -> Result<Option<ClientRow>> {
        let clients = self.0.table(CLIENTS)?;
        let found = clients.get((database, id.number()))?;
        match found {
            Some(bytes) => Ok(Some(ClientRow::decode(bytes.value())?)),
            None => Ok(None),
        }
    }

    fn rows(&mut self, database: &str) -> Result<Vec<(ClientId, ClientRow)>> {
        let clients = self.0.table(CLIENTS)?;
        let mut rows = Vec::new();
        for entry in clients.range((database, 0)..=(database, u128::MAX))? {
            let (key, bytes) = entry?;
            rows.push((
                ClientId::of(key.value().1),
                ClientRow::decode(bytes.value())?,
            ));
        }
        Ok(rows)
    }

    fn databases(&mut self) -> Result<BTreeSet<String>> {
        let clients = self.0.table(CLIENTS)?;
        clients
            .iter()?
            .map(|entry| Ok(entry?.0.value().0.to_owned()))
            .collect()
    }

    fn ids(&mut self) -> Result<HashSet<ClientId>> {
        let clients = self.0.table(CLIENTS)?;
        clients
            .iter()?
            .map(|entry| Ok(ClientId::of(entry?.0.value().1)))
            .collect()
    }

    fn claims(&mut self, id: ClientId) -> Result<Vec<Claim>> {
        let uses = self.0.table(USES)?;
        let mut claims = Vec::new();
        for entry in uses.range((id.number(), 0)..=(id.number(), u64::MAX))? {
            let (key, value) = entry?;
            let (version, hash) = value.value();
            claims.push(Claim {
                number: key.value().1,
                version: version_of(version),
                hash,
            });
        }
        Ok(claims)
    }

    fn ticket_keys(&mut self, id: ClientId) -> Result<Vec<TicketKey>> {
        let tickets = self.0.table(TICKETS)?;
        let mut keys = Vec::new();
        for entry in tickets.range((id.number(), 0, 0)..=(id.number(), u64::MAX, u64::MAX))? {
            let (key, ticket) = entry?;
            let (_, version, number) = key.value();
            keys.push(TicketKey {
                version: version_of(version),
                number,
                bytes: ticket.value().len() as u64,
            });
        }
        Ok(keys)
    }

    fn ticket(&mut self, id: ClientId, version: Version, number: u64) -> Result<Option<Vec<u8>>> {
        let tickets = self.0.table(TICKETS)?;
        let ticket = tickets.get((id.number(), number_of(version), number))?;
        Ok(ticket.map(|ticket| ticket.value().to_vec()))
    }

    fn first_use(&mut self, digest: KeysDigest) -> Result<Option<FirstUse>> {
        let digests = self.0.table(DIGESTS)?;
        let Some(found) = digests.get(&digest.0)? else {
            return Ok(None);
        };
        let (client, time) = found.value();
        Ok(Some(first_use_of(client, time)))
    }
}

impl Tables for Within<'_, WriteTransaction> {
    fn put_row(&mut self, database: &str, id: ClientId, row: &ClientRow) -> Result<()> {
        let mut clients = self.0.open_table(CLIENTS)?;
        clients.insert((database, id.number()), row.encode().as_slice())?;
        Ok(())
    }

    fn remove_row(&mut self, database: &str, id: ClientId) -> Result<bool> {
        let number = id.number();
        if self
            .0
            .open_table(CLIENTS)?
            .remove((database, number))?
            .is_none()
        {
            return Ok(false);
        }

        let of_client = (number, 0, 0)..=(number, u64::MAX, u64::MAX);
        self.0
            .open_table(TICKETS)?
            .retain_in(of_client, |_, _| false)?;
        self.0
            .open_table(USES)?
            .retain_in((number, 0)..=(number, u64::MAX), |_, _| false)?;
        Ok(true)
    }

    fn claim(&mut self, id: ClientId, claim: Claim) -> Result<Claim> {
        let mut uses = self.0.open_table(USES)?;
        let key = (id.number(), claim.number);
        if let Some((version, hash)) = uses.get(key)?.map(|mark| mark.value()) {
            return Ok(Claim {
                version: version_of(version),
                hash,
                ..claim
            });
        }

        uses.insert(key, (number_of(claim.version), claim.hash))?;
        Ok(claim)
    }

    fn remove_claims(&mut self, id: ClientId, numbers: &[u64]) -> Result<()> {
        let mut uses = self.0.open_table(USES)?;
        for number in numbers {
            uses.remove((id.number(), *number))?;
        }
        Ok(())
    }

    fn put_ticket(
        &mut self,
        id: ClientId,
        version: Version,
        number: u64,
        ticket: &[u8],
    ) -> Result<()> {
        self.0
            .open_table(TICKETS)?
            .insert((id.number(), number_of(version), number), ticket)?;
        Ok(())
    }

    fn remove_tickets(&mut self, id: ClientId, keys: &[TicketKey]) -> Result<()> {
        let mut tickets = self.0.open_table(TICKETS)?;
        for key in keys {
            tickets.remove((id.number(), number_of(key.version), key.number))?;
        }
        Ok(())
    }

    fn note_keys(&mut self, digest: KeysDigest, first: FirstUse) -> Result<FirstUse> {
        let mut digests = self.0.open_table(DIGESTS)?;
        if let Some((client, time)) = digests.get(&digest.0)?.map(|found| found.value()) {
            return Ok(first_use_of(client, time));
        }

        digests.insert(&digest.0, (first.client.number(), first.time))?;
        self.0
            .open_table(DIGEST_TIMES)?
            .insert((first.time, &digest.0), ())?;
        Ok(first)
    }

    fn forget_keys(&mut self, digest: KeysDigest) -> Result<()> {
        let mut digests = self.0.open_table(DIGESTS)?;
        let Some((_, time)) = digests.remove(&digest.0)?.map(|found| found.value()) else {
            return Ok(());
        };

        let mut times = self.0.open_table(DIGEST_TIMES)?;
        times.remove((time, &digest.0))?;
        Ok(())
    }

    fn forget_old_keys(&mut self, time: u64, most: u64, chunk: u64) -> Result<u64> {
        let excess = self.0.open_table(DIGESTS)?.len()?.saturating_sub(most);
        let mut old = Vec::new();
        for entry in self.0.open_table(DIGEST_TIMES)?.iter()? {
            let key = entry?.0;
            let (noted, digest) = key.value();

            let count = old.len() as u64;
            if count >= chunk || (noted >= time && count >= excess) {
                break;
            }
            old.push(KeysDigest(*digest));
        }

        for digest in &old {
            self.forget_keys(*digest)?;
        }
        Ok(old.len() as u64)
    }
}
