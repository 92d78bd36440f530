//! Keys and tickets of a query's client.

use std::sync::{Arc, PoisonError};
use std::time::Duration;

use papir_core::erased::ErasedKeys;
use papir_core::scheme::SENT_AHEAD;

use super::clock::microseconds;
use super::error::ClientError;
use super::id::ClientId;
use super::keys::KeyStorage;
use super::numbers::Claim;
use super::registry::Registry;
use super::row::{ClientRow, Stage};
use super::tickets::{TakeError, window};
use crate::catalog::{ChosenVersion, Database, QueryError};

/// Most outstanding ticket requests per client.
const MAX_DEMANDS: usize = 64;
/// A client's last use is written to disk only if the stored one is older than this, unless another
/// change is written anyway.
const TOUCH_EVERY: Duration = Duration::from_secs(60);

/// The client and tickets that a request names.
#[derive(Default)]
pub(crate) struct Credentials {
    pub(crate) client: Option<ClientId>,
    /// Ticket numbers, one per query, with [`SENT_AHEAD`](papir_core::scheme::SENT_AHEAD) added if
    /// its key was sent ahead.
    pub(crate) tickets: Vec<u64>,
}

/// The parsed keys of a request's client; `None` if the scheme has no client keys.
pub(crate) fn keys(
    registry: Option<&Registry>,
    database: &Database,
    credentials: &Credentials,
) -> Result<Option<Arc<ErasedKeys>>, ClientError> {
    match registered(registry, database, credentials)? {
        Some(KeyOwner { registry, id }) => registry.keys_of(database, id).map(Some),
        None => Ok(None),
    }
}

/// Like [`keys`], for a request whose client was found before it was queued. Writes nothing: on a
/// slow disk, the threads that answer queries of all databases would wait.
pub(crate) fn keys_for_answer(
    registry: Option<&Registry>,
    database: &Database,
    credentials: &Credentials,
) -> Result<Option<Arc<ErasedKeys>>, ClientError> {
    match registered(registry, database, credentials)? {
        Some(KeyOwner { registry, id }) => registry.keys_without_use(database, id).map(Some),
        None => Ok(None),
    }
}

/// A client that a request names, and the registry that has its keys.
struct KeyOwner<'a> {
    registry: &'a Registry,
    id: ClientId,
}

/// The registered client of a request; `None` if the scheme has no client keys.
fn registered<'a>(
    registry: Option<&'a Registry>,
    database: &Database,
    credentials: &Credentials,
) -> Result<Option<KeyOwner<'a>>, ClientError> {
    if !database.description().limits.client_keys {
        return Ok(None);
    }
    let registry = registry.ok_or(ClientError::NoRegistry)?;
    let id = credentials.client.ok_or(ClientError::NoClient)?;
    Ok(Some(KeyOwner { registry, id }))
}

/// Takes a ticket for each of the concatenated queries; none for one whose key was sent ahead.
///
/// The claims of their numbers are on disk on return, also on error, unless the client or its keys
/// are refused, a query does not parse, or there are more or fewer numbers than queries.
pub(crate) fn tickets(
    registry: Option<&Registry>,
    target: &ChosenVersion,
    credentials: &Credentials,
    queries: &[u8],
) -> Result<Vec<Option<Vec<u8>>>, ClientError> {
    // First: a client whose keys are refused claims no numbers.
    keys(registry, &target.database, credentials)?;

    let registry = registry.ok_or(ClientError::NoRegistry)?;
    let id = credentials.client.ok_or(ClientError::NoClient)?;
    // Before the claims: a query that was damaged on its way must not use up the number, with which
    // the client may send the intact one.
    target.database.check_queries(queries, target.newest)?;
    registry.tickets(target, id, &credentials.tickets, queries)
}

/// The claims of queries.
#[derive(Default)]
struct Claims {
    of_queries: Vec<Claim>,
    /// The first number of the other kind than its query. It belongs to no such query, so it is not
    /// claimed.
    misplaced: Option<u64>,
}

impl Claims {
    /// The claims of a request with as many numbers as queries.
    fn new(database: &Database, numbers: &[u64], queries: &[&[u8]]) -> Self {
        let mut claims = Self::default();
        for (&number, query) in numbers.iter().zip(queries) {
            if (number >= SENT_AHEAD) != database.is_sent_ahead(query) {
                claims.misplaced = claims.misplaced.or(Some(number));
                continue;
            }
            claims.of_queries.push(Claim {
                number,
                version: database.version(),
                hash: *blake3::hash(query).as_bytes(),
            });
        }
        claims
    }
}

impl Registry {
    /// The parsed keys of a registered client. Counts as a use of the client.
    fn keys_of(&self, database: &Database, id: ClientId) -> Result<Arc<ErasedKeys>, ClientError> {
        let row = self.row(database.name(), id)?;
        let keys = self.load_keys(database, id, &row)?;
        // After the keys: a client whose keys are refused is not kept from expiring.
        self.note_use(database, id, &row, true)?;
        Ok(keys)
    }

    /// The parsed keys of a registered client, without a change of its row. One that has expired is
    /// left to the next sweep.
    fn keys_without_use(
        &self,
        database: &Database,
        id: ClientId,
    ) -> Result<Arc<ErasedKeys>, ClientError> {
        let row = self.store.get(database.name(), id)?;
        let row = row.filter(|row| !row.is_expired(self.clock.expiry()));
        self.load_keys(database, id, &row.ok_or(ClientError::Gone)?)
    }

    /// Returns whether the parsed keys of a client are in memory.
    pub(crate) fn has_loaded(&self, database: &Database, id: ClientId) -> bool {
        self.cache.get(id, database.version()).is_some()
    }

    /// Checks that a version accepts a client's keys, if they are complete. No ticket is ever
    /// prepared for a version that refuses them.
    pub(crate) fn check_keys(&self, database: &Database, id: ClientId) -> Result<(), ClientError> {
        let row = self.row(database.name(), id)?;
        match self.load_keys(database, id, &row) {
            Ok(_) | Err(ClientError::Incomplete { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// The parsed keys of a client, without counting a use.
    pub(super) fn load_keys(
        &self,
        database: &Database,
        id: ClientId,
        row: &ClientRow,
    ) -> Result<Arc<ErasedKeys>, ClientError> {
        if row.stage == Stage::Uploading {
            let offset = self.keys.offset(id)?;
            return Err(ClientError::Incomplete {
                offset,
                length: row.keys_bytes,
            });
        }

        if let Some(keys) = self.cache.get(id, database.version()) {
            return Ok(keys);
        }

        // One at a time, since large keys need much memory. The previous holder of the lock may
        // have parsed the same keys, so check the cache again.
        let _parsing = self.parsing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = self.cache.get(id, database.version()) {
            return Ok(keys);
        }

        let Some(bytes) = self.keys.read(id)? else {
            self.remove(database.name(), id)?;
            return Err(ClientError::Gone);
        };
        let accepted = database
            .registered()
            .and_then(|registered| registered.accept_keys(&bytes));
        let Ok(keys) = accepted else {
            // The client is not removed: an older version that accepts its keys may still be
            // answered. If it is not used, it expires.
            return Err(ClientError::Gone);
        };

        let keys = Arc::new(keys);
        let size = bytes.len() as u64;
        self.cache
            .put(id, database.version(), Arc::clone(&keys), size);
        Ok(keys)
    }

    /// Keeps a client from expiring, and notes its first query. Taking tickets has the same effect.
    fn note_use(
        &self,
        database: &Database,
        id: ClientId,
        row: &ClientRow,
        queries: bool,
    ) -> Result<(), ClientError> {
        let unused = self.clock.now().saturating_sub(row.used);
        let is_old = unused > microseconds(TOUCH_EVERY.min(self.config.ttl / 2));
        let is_first_query = queries && !row.queried;

        if is_old || is_first_query || row.version != database.version() {
            self.store.change(database.name(), id, |row| {
                row.version = database.version();
                row.queried |= queries;
                self.touch(row);
            })?;
        }
        Ok(())
    }

    /// Marks a client as used now, by a program that answers it without its service. It expires as
    /// long after this use as after the one before: only the service knows its time to live.
    pub(crate) fn note_answer(&self, database: &Database, id: ClientId) -> Result<(), ClientError> {
        let now = self.clock.now();
        self.store.change(database.name(), id, |row| {
            let unused = row.expires.saturating_sub(row.used);
            row.used = now;
            row.expires = now.saturating_add(unused);
        })?;
        Ok(())
    }

    /// Takes one ticket per query, none for one whose key was sent ahead. The claims of their
    /// numbers are on disk on return.
    fn tickets(
        &self,
        target: &ChosenVersion,
        id: ClientId,
        numbers: &[u64],
        queries: &[u8],
    ) -> Result<Vec<Option<Vec<u8>>>, ClientError> {
        let database = &*target.database;
        let parts: Vec<&[u8]> = database.split(queries).collect();
        // Nothing says which number belongs to which query, so none can be claimed.
        if numbers.len() != parts.len() {
            return Err(ClientError::TicketCount {
                found: numbers.len(),
                queries: parts.len(),
            });
        }

        let claims = Claims::new(database, numbers, &parts);
        let window = window(self.most_ahead(database));
        let taken = self.store.take_tickets(
            database.name(),
            id,
            &claims.of_queries,
            |row| {
                row.queried = true;
                self.touch(row);
            },
            window,
        );

        // After the claims: the service has seen the other queries of the request as well, so their
        // numbers must not hide further ones.
        let taken = match (taken, claims.misplaced) {
            (Ok(_) | Err(TakeError::NotReady(_)), Some(number)) => Err(TakeError::Used(number)),
            (taken, _) => taken,
        };
        let tickets = match taken {
            Ok(tickets) => tickets,
            Err(error) => return Err(self.refusal(target, id, numbers, error)),
        };

        // The worker prepares tickets in place of the used ones.
        self.notify.notify();
        Ok(tickets)
    }

    /// The answer to queries that get no tickets. Requests tickets that are missing.
    fn refusal(
        &self,
        target: &ChosenVersion,
        id: ClientId,
        numbers: &[u64],
        error: TakeError,
    ) -> ClientError {
        match error {
            TakeError::Gone => ClientError::Gone,
            TakeError::Used(number) => ClientError::TicketUsed { number },
            // Tickets are prepared for the newest version only: the client must move to it.
            TakeError::NotReady(_) if target.database.version() != target.newest => {
                let current = target.newest;
                ClientError::Query(QueryError::WrongVersion { current })
            }
            TakeError::NotReady(number) => self.demand(id, numbers, number),
            TakeError::Storage(error) => ClientError::Storage(error),
        }
    }

    /// Claims the ticket numbers of queries for a version that is not answered. The service has
    /// seen the queries, so the numbers must not hide others. Does not count as a use of the
    /// client.
    pub(crate) fn claim_unanswered(
        &self,
        database: &Database,
        credentials: &Credentials,
    ) -> Result<(), ClientError> {
        let Some(id) = credentials.client else {
            return Ok(());
        };
        if credentials.tickets.is_empty() {
            return Ok(());
        }

        let window = window(self.most_ahead(database));
        self.store
            .claim_unanswered(database.name(), id, &credentials.tickets, window)?;
        Ok(())
    }

    /// Requests tickets from the worker. Returns the error for the missing ticket `number`.
    fn demand(&self, id: ClientId, numbers: &[u64], number: u64) -> ClientError {
        let mut demanded = self.demanded.lock().unwrap_or_else(PoisonError::into_inner);
        let own = demanded.entry(id).or_default();
        own.extend(numbers.iter().filter(|number| **number < SENT_AHEAD));
        // The lowest numbers go: they are of the oldest queries.
        while own.len() > MAX_DEMANDS {
            own.pop_first();
        }
        // Unlocked first: the worker that is woken reads the demands.
        drop(demanded);
        self.notify.notify();

        ClientError::TicketNotReady {
            number,
            retry_after: self.notify.retry_after(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::scheme::Goal;
    use papir_core::{NoProgress, RecordBuffer, Version};
    use papir_schemes::registry;

    use super::*;
    use crate::clients::RegistryConfig;

    fn database() -> Database {
        let records = RecordBuffer::from_records([[7u8; 8], [8; 8]]).unwrap();
        let simple = registry::by_name("simple").unwrap();
        let mut rng = papir_client::system_rng();
        let server = simple.setup(&records, Goal::default(), &mut rng, &NoProgress);
        Database::new("table", server.unwrap(), None)
    }

    #[test]
    fn an_answer_without_the_service_keeps_the_time_to_live() {
        let folder = tempfile::tempdir().unwrap();
        let registry = Registry::open(&RegistryConfig::new(folder.path())).unwrap();
        let id = ClientId::of(1);
        let year = microseconds(Duration::from_secs(365 * 24 * 3600));
        let now = registry.clock.now();

        let row = ClientRow::new([0; 16], 10, Version([0; 8]), now - 7, year);
        let added = registry.store.add("table", id, &row, registry.quota(), 0);
        added.unwrap();
        registry.note_answer(&database(), id).unwrap();

        let noted = registry.store.get("table", id).unwrap().unwrap();
        assert!(noted.used >= now);
        assert_eq!(noted.expires - noted.used, year);
    }

    #[test]
    fn the_threads_that_answer_do_not_write_to_the_registry() {
        let folder = tempfile::tempdir().unwrap();
        let config = RegistryConfig {
            ttl: Duration::ZERO,
            ..RegistryConfig::new(folder.path())
        };
        let registry = Registry::open(&config).unwrap();
        let database = database();
        let id = ClientId::of(1);

        // A client that has expired, and that the next lookup would remove.
        let row = ClientRow::new([0; 16], 10, Version([0; 8]), 0, 1);
        let added = registry.store.add("table", id, &row, registry.quota(), 0);
        added.unwrap();

        let writes = registry.syncs();
        let refused = registry.keys_without_use(&database, id);
        assert!(matches!(refused, Err(ClientError::Gone)));
        assert_eq!(registry.syncs(), writes, "the disk is not waited for");

        let refused = registry.keys_of(&database, id);
        assert!(matches!(refused, Err(ClientError::Gone)));
        assert_ne!(registry.syncs(), writes, "the client is removed");
    }
}
