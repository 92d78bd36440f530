//! Row operations on the registry's tables.
//!
//! Each kind of storage implements them.

use std::collections::{BTreeSet, HashMap, HashSet};

use papir_core::Version;

use super::error::StoreError;
use super::id::ClientId;
use super::keys_digest::{FirstUse, KeysDigest};
use super::numbers::{Claim, Numbers, TicketKey};
use super::row::ClientRow;
use super::spent_token::{IssuerKeyId, SpentToken};

pub(crate) type Result<T> = std::result::Result<T, StoreError>;

/// Room in bytes that a registry must have to count as working again after a failure. A change that
/// needs no room succeeds on a full disk, and the request after it fails.
pub(super) const ROOM: usize = 1 << 20;

/// Reads the tables in a consistent state.
pub(crate) trait ReadTables {
    /// A client of a database. Within a change, the client and its tickets are locked until the
    /// change ends.
    fn row(&mut self, database: &str, id: ClientId) -> Result<Option<ClientRow>>;

    /// All clients of a database. Within a change, no other change adds one until it ends.
    fn rows(&mut self, database: &str) -> Result<Vec<(ClientId, ClientRow)>>;

    /// The databases that have clients.
    fn databases(&mut self) -> Result<BTreeSet<String>>;

    /// The clients of all databases.
    fn ids(&mut self) -> Result<HashSet<ClientId>>;

    /// The claimed numbers of a client.
    fn claims(&mut self, id: ClientId) -> Result<Vec<Claim>>;

    /// The prepared tickets of a client, in the order of their numbers within each version.
    fn ticket_keys(&mut self, id: ClientId) -> Result<Vec<TicketKey>>;

    /// The claims and tickets of a client.
    fn numbers(&mut self, id: ClientId) -> Result<Numbers> {
        Ok(Numbers {
            claims: self.claims(id)?,
            tickets: self.ticket_keys(id)?,
        })
    }

    /// The claims and tickets of all clients of a database. Clients without any may be missing.
    fn all_numbers(&mut self, database: &str) -> Result<HashMap<ClientId, Numbers>> {
        let ids: Vec<ClientId> = self.rows(database)?.into_iter().map(|(id, _)| id).collect();
        ids.into_iter()
            .map(|id| Ok((id, self.numbers(id)?)))
            .collect()
    }

    /// The bytes of a ticket.
    fn ticket(&mut self, id: ClientId, version: Version, number: u64) -> Result<Option<Vec<u8>>>;

    /// The first registration of keys, in any database.
    fn first_use(&mut self, digest: KeysDigest) -> Result<Option<FirstUse>>;
}

/// Changes the tables of spent private tokens, all or nothing.
pub(crate) trait SpentTables {
    /// Notes that a token is spent, unless it was, or its key has ended or was never noted. Returns
    /// true if it was noted now.
    fn spend(&mut self, token: &SpentToken) -> Result<bool>;

    /// Notes that keys are accepted at a time. Returns those that have not ended, in the order
    /// given.
    fn note_issuer_keys(&mut self, keys: &[IssuerKeyId], time: u64) -> Result<Vec<IssuerKeyId>>;

    /// Ends the keys that were last accepted longer than `after` microseconds before the time `now`
    /// and before the last time that any key was accepted. Forgets tokens of ended keys, but at
    /// most `chunk` of them. Returns the number of both.
    fn forget_spent(&mut self, now: u64, after: u64, chunk: u64) -> Result<u64>;

    /// Removes ended keys without spent tokens that were last accepted longer than `after`
    /// microseconds before the time `now` and before the last time that a key in use was accepted.
    /// Returns their number.
    fn forget_ended_keys(&mut self, now: u64, after: u64) -> Result<u64>;
}

/// Changes the tables, all or nothing.
pub(crate) trait Tables: ReadTables + SpentTables {
    /// Inserts or replaces a client.
    fn put_row(&mut self, database: &str, id: ClientId, row: &ClientRow) -> Result<()>;

    /// Removes a client with its tickets and claims. Returns whether it existed.
    fn remove_row(&mut self, database: &str, id: ClientId) -> Result<bool>;

    /// Claims a number, unless it is claimed. Returns the claim that it has from now on.
    fn claim(&mut self, id: ClientId, claim: Claim) -> Result<Claim>;

    /// Removes the claims of these numbers.
    fn remove_claims(&mut self, id: ClientId, numbers: &[u64]) -> Result<()>;

    /// Inserts a ticket.
    fn put_ticket(
        &mut self,
        id: ClientId,
        version: Version,
        number: u64,
        ticket: &[u8],
    ) -> Result<()>;

    /// Removes tickets.
    fn remove_tickets(&mut self, id: ClientId, keys: &[TicketKey]) -> Result<()>;

    /// Notes the registration of keys, unless one is noted. Returns the registration that is noted
    /// from now on.
    fn note_keys(&mut self, digest: KeysDigest, first: FirstUse) -> Result<FirstUse>;

    /// Forgets the registration of keys.
    fn forget_keys(&mut self, digest: KeysDigest) -> Result<()>;

    /// Forgets registrations before `time`, and the oldest beyond `most`, but at most `chunk` of
    /// them. Returns their number.
    fn forget_old_keys(&mut self, time: u64, most: u64, chunk: u64) -> Result<u64>;
}

/// Storage of the tables.
pub(crate) trait Storage: Send + Sync {
    /// Calls `work` once with the tables.
    fn read(&self, work: &mut dyn FnMut(&mut dyn ReadTables) -> Result<()>) -> Result<()>;

    /// Calls `work` once with the tables. Its changes are durable on return if it returns true, and
    /// are undone if it returns false or fails. If the storage itself fails, they may or may not
    /// have been made.
    fn write(&self, work: &mut dyn FnMut(&mut dyn Tables) -> Result<bool>) -> Result<()>;

    /// Number of writes to disk since the start; `None` if a server makes them.
    fn syncs(&self) -> Option<u64> {
        None
    }

    /// Returns true from a failure on until a probe succeeds.
    fn is_failing(&self) -> bool;

    /// Makes a change that needs [`ROOM`], and undoes it, to learn whether the storage works again.
    fn probe(&self) -> Result<()>;

    /// Reserves the work on a ticket for this service for a while. Returns false if another service
    /// has reserved it.
    fn reserve_ticket(&self, _id: ClientId, _version: Version, _number: u64) -> Result<bool> {
        Ok(true)
    }

    /// Gives up the tickets that this service has reserved.
    fn release_tickets(&self) -> Result<()> {
        Ok(())
    }

    /// Notes which versions of a database this service answers. Returns the versions that this
    /// service or others answer.
    fn note_versions(&self, _database: &str, versions: &[Version]) -> Result<Vec<Version>> {
        Ok(versions.to_vec())
    }
}
