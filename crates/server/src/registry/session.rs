//! A query's client: its keys, and one unused ticket a query.

use std::io::ErrorKind;
use std::sync::{Arc, PoisonError};

use axum::http::HeaderMap;
use papir_core::Version;
use papir_core::erased::ErasedKeys;

use super::id::ClientId;
use super::row::{Row, Stage};
use super::tickets::{NotTaken, Use, window};
use super::{CLIENT_HEADER, Failed, Refusal, Registry, TICKET_HEADER, TOUCH, microseconds, now};
use crate::database::Database;
use crate::problem::Problem;

/// Most tickets that a client may wait for, in numbers.
const DEMANDS: usize = 64;
/// Most numbers in a request's header.
const MAX_TICKETS: usize = 4096;

/// What a request says of its client.
#[derive(Default)]
pub(crate) struct Credentials {
    client: Option<ClientId>,
    tickets: Vec<u64>,
}

impl Credentials {
    /// Reads the headers.
    pub(crate) fn read(headers: &HeaderMap) -> Result<Self, Problem> {
        let client = header(headers, CLIENT_HEADER, "32 hexadecimal digits", |text| text.parse().ok())?;
        let tickets = header(headers, TICKET_HEADER, "numbers separated by commas", numbers)?;
        Ok(Self { client, tickets: tickets.unwrap_or_default() })
    }
}

fn numbers(text: &str) -> Option<Vec<u64>> {
    let numbers: Option<Vec<u64>> =
        text.split(',').take(MAX_TICKETS + 1).map(|number| number.trim().parse().ok()).collect();
    numbers.filter(|numbers| numbers.len() <= MAX_TICKETS)
}

/// A header's value, where there is one.
pub(super) fn header<T>(
    headers: &HeaderMap,
    name: &'static str,
    expected: &'static str,
    parse: impl FnOnce(&str) -> Option<T>,
) -> Result<Option<T>, Problem> {
    let Some(value) = headers.get(name) else {
        return Ok(None);
    };
    let parsed = value.to_str().ok().and_then(parse);
    parsed.map(Some).ok_or_else(|| Refusal::BadHeader { name, expected }.into())
}

/// The parsed keys of the client of a request, where the scheme has client keys.
pub(crate) fn keys(
    registry: Option<&Registry>,
    database: &Database,
    credentials: &Credentials,
) -> Result<Option<Arc<ErasedKeys>>, Problem> {
    if !database.description().limits.client_keys {
        return Ok(None);
    }
    let registry = registry.ok_or(Refusal::NoRegistry)?;
    registry.keys(database, credentials.client.ok_or(Refusal::NoClient)?).map(Some)
}

/// A ticket for each of the queries that stand back to back, in a scheme with tickets. Their use is on
/// disk when this returns; whatever is refused, also for its client's keys, uses up none.
pub(crate) fn tickets(
    registry: Option<&Registry>,
    (database, newest): (&Database, Version),
    credentials: &Credentials,
    queries: &[u8],
) -> Result<Vec<Vec<u8>>, Problem> {
    keys(registry, database, credentials)?;
    let registry = registry.ok_or(Refusal::NoRegistry)?;
    let id = credentials.client.ok_or(Refusal::NoClient)?;
    database.check_queries(queries, newest)?;
    registry.tickets((database, newest), id, &credentials.tickets, queries)
}

impl Registry {
    /// The parsed keys of a registered client. Keys that no longer serve the database go.
    fn keys(&self, database: &Database, id: ClientId) -> Result<Arc<ErasedKeys>, Problem> {
        let row = self.row(database.name(), id)?;
        let keys = self.load_keys(database, id, &row)?;
        self.note_use(database, id, &row)?;
        Ok(keys)
    }

    /// As [`Self::keys`], without that being a use of them.
    pub(super) fn load_keys(
        &self,
        database: &Database,
        id: ClientId,
        row: &Row,
    ) -> Result<Arc<ErasedKeys>, Problem> {
        if row.stage == Stage::Uploading {
            let offset = self.files.offset(id).map_err(Failed::from)?;
            return Err(Refusal::Incomplete { offset, length: row.keys_bytes }.into());
        }
        if let Some(keys) = self.cache.get(id, database.version()) {
            return Ok(keys);
        }
        // One after the other: large ones take memory. The one before may have been for the same keys.
        let _turn = self.parsing.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(keys) = self.cache.get(id, database.version()) {
            return Ok(keys);
        }
        let bytes = match self.files.read(id) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == ErrorKind::NotFound => return self.gone(database, id),
            Err(error) => return Err(Failed::from(error).into()),
        };
        match database.erased().accept_keys(&bytes) {
            Ok(keys) => {
                let keys = Arc::new(keys);
                self.cache.put(id, database.version(), Arc::clone(&keys), bytes.len() as u64);
                Ok(keys)
            }
            // The version that took them may still be answered; unused, they go by their age.
            Err(_) => Err(Refusal::ClientGone.into()),
        }
    }

    fn gone<T>(&self, database: &Database, id: ClientId) -> Result<T, Problem> {
        self.remove(database.name(), id)?;
        Err(Refusal::ClientGone.into())
    }

    /// Keeps a client from expiring. Where tickets are used, their use says so too.
    fn note_use(&self, database: &Database, id: ClientId, row: &Row) -> Result<(), Problem> {
        let old = now().saturating_sub(row.used) > microseconds(TOUCH.min(self.config.ttl / 2));
        if old || row.version != database.version() {
            let used = |row: &mut Row| {
                row.version = database.version();
                self.touch(row);
            };
            self.store.change(database.name(), id, used)?;
        }
        Ok(())
    }

    /// One ticket a query; their use is on disk when this returns.
    fn tickets(
        &self,
        (database, newest): (&Database, Version),
        id: ClientId,
        numbers: &[u64],
        queries: &[u8],
    ) -> Result<Vec<Vec<u8>>, Problem> {
        let parts: Vec<&[u8]> = database.split(queries).collect();
        if numbers.len() != parts.len() {
            return Err(Refusal::TicketCount { found: numbers.len(), queries: parts.len() }.into());
        }
        let hash = |query: &&[u8]| *blake3::hash(query).as_bytes();
        let uses: Vec<Use> = numbers.iter().copied().zip(parts.iter().map(hash)).collect();
        let window = window(self.ahead(database));
        let touch = |row: &mut Row| self.touch(row);
        match self.store.take_tickets(database.name(), id, database.version(), &uses, touch, window) {
            Ok(tickets) => {
                self.bell.ring();
                Ok(tickets)
            }
            Err(NotTaken::Gone) => Err(Refusal::ClientGone.into()),
            Err(NotTaken::Used(number)) => Err(Refusal::TicketUsed { number }.into()),
            // Tickets are prepared for the newest version alone: the client goes on to it.
            Err(NotTaken::NotReady(_)) if database.version() != newest => {
                Err(Problem::WrongVersion { current: newest })
            }
            Err(NotTaken::NotReady(number)) => {
                let next = self.row(database.name(), id)?.next_ticket;
                if numbers.iter().any(|number| *number > next.saturating_add(window)) {
                    return Err(Refusal::far().into());
                }
                Err(self.demand(id, numbers, number))
            }
            Err(NotTaken::Failed(error)) => Err(error.into()),
        }
    }

    /// The ticket of a number that is not used yet, which stays so.
    pub(super) fn ticket(&self, database: &Database, id: ClientId, number: u64) -> Result<Vec<u8>, Problem> {
        self.keys(database, id)?;
        if !database.description().limits.tickets {
            return Err(Refusal::NoRegistry.into());
        }
        if let Some(ticket) = self.store.unused_ticket(id, database.version(), number)? {
            return Ok(ticket);
        }
        let (next, window) = (self.row(database.name(), id)?.next_ticket, window(self.ahead(database)));
        let behind = number < next.saturating_sub(window);
        if behind || !self.store.lacks_ticket(id, database.version(), number)? {
            return Err(Refusal::TicketUsed { number }.into());
        }
        if number > next.saturating_add(window) {
            return Err(Refusal::far().into());
        }
        Err(self.demand(id, &[number], number))
    }

    /// Asks the worker for tickets.
    fn demand(&self, id: ClientId, numbers: &[u64], number: u64) -> Problem {
        let mut demanded = self.demanded.lock().unwrap_or_else(PoisonError::into_inner);
        let own = demanded.entry(id).or_default();
        own.extend(numbers);
        while own.len() > DEMANDS {
            own.pop_first();
        }
        drop(demanded);
        self.bell.ring();
        Refusal::NoTicket { number, after: self.bell.seconds_a_ticket() }.into()
    }
}
