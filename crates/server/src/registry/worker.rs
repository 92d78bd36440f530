//! Prepares tickets while nobody asks, one at a time, and sweeps what has expired.

use std::collections::{HashMap, HashSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError, Weak};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use papir_core::{Progress, Version};

use super::id::ClientId;
use super::row::{Row, Stage};
use super::store::Result;
use super::{Registry, now};
use crate::Error;
use crate::answering::Request;
use crate::api::App;
use crate::database::Database;
use crate::gate::Gate;

/// How long the worker sleeps when nothing rings.
const NAP: Duration = Duration::from_millis(500);
/// How long it waits for running queries at a time.
const PAUSE: Duration = Duration::from_millis(3);
/// How often it sweeps.
const SWEEP: Duration = Duration::from_secs(10);
/// How long a stopping service waits for a ticket to end.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest wait that a client is advised to take for a ticket, in seconds.
const LONGEST_ADVICE: u64 = 60;

/// Wakes the worker, and remembers how long a ticket takes.
#[derive(Default)]
pub(crate) struct Bell {
    rung: Mutex<bool>,
    ringing: Condvar,
    last_ticket_ms: AtomicU64,
}

impl Bell {
    pub(crate) fn ring(&self) {
        *self.rung.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.ringing.notify_all();
    }

    /// How long to wait for a ticket.
    pub(crate) fn seconds_a_ticket(&self) -> u64 {
        self.last_ticket_ms.load(Ordering::Relaxed).div_ceil(1000).clamp(1, LONGEST_ADVICE)
    }

    fn wait(&self) {
        let rung = self.rung.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self.ringing.wait_timeout_while(rung, NAP, |rung| !*rung);
        *waited.unwrap_or_else(PoisonError::into_inner).0 = false;
    }
}

/// The thread that prepares tickets; stops when dropped.
pub(crate) struct Worker {
    registry: Arc<Registry>,
    stopping: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// Starts it, with `threads` threads for one ticket at a time (0: one a core).
    pub(crate) fn start(
        app: &Arc<App>,
        registry: &Arc<Registry>,
        threads: usize,
    ) -> std::result::Result<Self, Error> {
        let pool = rayon::ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("papir-ticket-{index}"))
            .build()
            .map_err(|source| Error::Threads { threads, source })?;
        let stopping = Arc::new(AtomicBool::new(false));
        let mut round = Round {
            app: Arc::downgrade(app),
            registry: Arc::downgrade(registry),
            stopping: Arc::clone(&stopping),
            pool,
            failed: HashSet::new(),
            prepared: HashMap::new(),
            turn: 0,
        };
        let spawned = thread::Builder::new().name("papir-tickets".into()).spawn(move || round.go());
        let thread = spawned.map_err(|source| Error::Io { what: "starting the ticket thread", source })?;
        Ok(Self { registry: Arc::clone(registry), stopping, thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::Relaxed);
        self.registry.bell.ring();
        let Some(thread) = self.thread.take() else {
            return;
        };
        let start = Instant::now();
        while !thread.is_finished() && start.elapsed() < PATIENCE {
            thread::sleep(PAUSE);
        }
        // A ticket that takes longer is left to itself: it is stored, or not.
    }
}

/// What the thread works with.
struct Round {
    app: Weak<App>,
    registry: Weak<Registry>,
    stopping: Arc<AtomicBool>,
    pool: rayon::ThreadPool,
    /// Clients for whose keys no ticket could be prepared.
    failed: HashSet<(ClientId, Version)>,
    /// When each client last got a ticket, in turns.
    prepared: HashMap<ClientId, u64>,
    turn: u64,
}

/// A ticket that is wanted.
struct Wanted {
    database: Arc<Database>,
    id: ClientId,
    number: u64,
}

impl Round {
    fn go(&mut self) {
        let mut swept: Option<Instant> = None;
        while !self.stopping.load(Ordering::Relaxed) {
            let (Some(app), Some(registry)) = (self.app.upgrade(), self.registry.upgrade()) else {
                return;
            };
            if swept.is_none_or(|time| time.elapsed() > SWEEP.min(registry.config.ttl)) {
                sweep(&app, &registry).unwrap_or_else(|error| tracing::error!(%error, "no sweep"));
                swept = Some(Instant::now());
            }
            match self.prepare_one(&app, &registry) {
                Ok(true) => continue,
                Ok(false) => {}
                Err(error) => tracing::error!(%error, "no ticket was prepared"),
            }
            drop(app);
            registry.bell.wait();
        }
    }

    /// Prepares the ticket that is wanted most; whether there was one.
    fn prepare_one(&mut self, app: &App, registry: &Registry) -> Result<bool> {
        let Some(wanted) = self.most_wanted(app, registry)? else {
            return Ok(false);
        };
        self.turn += 1;
        self.prepared.insert(wanted.id, self.turn);
        let idle = Idle { gate: &app.gate, stopping: &self.stopping };
        idle.wait();
        if idle.stops() {
            return Ok(false);
        }
        let Wanted { database, id, number } = &wanted;
        let row = registry.row(database.name(), *id);
        let Ok(keys) = row.and_then(|row| registry.load_keys(database, *id, &row)) else {
            self.failed.insert((*id, database.version()));
            return Ok(true);
        };
        let start = Instant::now();
        let earlier = earlier_ticket(app, registry, &wanted)?;
        let prepare = || {
            self.pool.install(|| match &earlier {
                Some((earlier, ticket)) => {
                    database.erased().follow((earlier.erased(), ticket), &keys, *number, &idle)
                }
                None => database.erased().ticket(&keys, *number, &idle),
            })
        };
        // A panic is one client's bad luck: the others still get their tickets.
        let Ok(Ok(ticket)) = catch_unwind(AssertUnwindSafe(prepare)) else {
            tracing::error!(database = database.name(), "a ticket could not be prepared");
            self.failed.insert((*id, database.version()));
            return Ok(true);
        };
        registry.bell.last_ticket_ms.store(start.elapsed().as_millis() as u64, Ordering::Relaxed);
        registry.store.put_ticket(database.name(), *id, database.version(), *number, &ticket)?;
        tracing::debug!(database = database.name(), bytes = ticket.len(), "ticket prepared");
        Ok(true)
    }

    /// Of the clients that lack a ticket: first who asked for one, then who has fewest, then who
    /// waited longest.
    fn most_wanted(&self, app: &App, registry: &Registry) -> Result<Option<Wanted>> {
        let mut best: Option<((bool, u64, u64), Wanted)> = None;
        for database in app.catalog.loaded().into_iter().filter(|one| one.description().limits.tickets) {
            let rows = registry.store.clients(database.name())?;
            let bytes = rows.iter().fold(0u64, |sum, (_, row)| sum.saturating_add(row.bytes()));
            if bytes >= registry.config.max_bytes {
                continue;
            }
            let able = |(id, row): &&(ClientId, Row)| {
                let failed = self.failed.contains(&(*id, database.version()));
                row.stage == Stage::Registered && !row.is_expired(now()) && !failed
            };
            for (id, row) in rows.iter().filter(able) {
                let Some((number, demanded)) = registry.wanted(&database, *id, row)? else {
                    continue;
                };
                let waited = self.prepared.get(id).copied().unwrap_or(0);
                let place = (!demanded, number.saturating_sub(row.next_ticket), waited);
                if best.as_ref().is_none_or(|(other, _)| place < *other) {
                    best = Some((place, Wanted { database: Arc::clone(&database), id: *id, number }));
                }
            }
        }
        Ok(best.map(|(_, wanted)| wanted))
    }
}

impl Registry {
    /// The number that a client lacks most, and whether it asked for it.
    fn wanted(&self, database: &Database, id: ClientId, row: &Row) -> Result<Option<(u64, bool)>> {
        let (version, ahead) = (database.version(), self.ahead(database));
        let floor = row.next_ticket.saturating_sub(super::tickets::window(ahead));
        let asked: Vec<u64> = {
            let demanded = self.demanded.lock().unwrap_or_else(PoisonError::into_inner);
            demanded.get(&id).into_iter().flatten().copied().filter(|number| *number >= floor).collect()
        };
        for number in asked {
            if self.store.lacks_ticket(id, version, number)? {
                return Ok(Some((number, true)));
            }
        }
        self.demanded.lock().unwrap_or_else(PoisonError::into_inner).remove(&id);
        for number in row.next_ticket..row.next_ticket.saturating_add(ahead) {
            if self.store.lacks_ticket(id, version, number)? {
                return Ok(Some((number, false)));
            }
        }
        Ok(None)
    }
}

/// An unused ticket of the wanted number for an earlier version that is still answered, with that version:
/// what a change of the database did not touch need not be prepared again.
fn earlier_ticket(
    app: &App,
    registry: &Registry,
    wanted: &Wanted,
) -> Result<Option<(Arc<Database>, Vec<u8>)>> {
    let standing = app.catalog.standing(wanted.database.name()).unwrap_or_default();
    let others = standing.into_iter().map(|one| one.database);
    for earlier in others.filter(|one| one.version() != wanted.database.version()) {
        let ticket = registry.store.unused_ticket(wanted.id, earlier.version(), wanted.number)?;
        if let Some(ticket) = ticket {
            return Ok(Some((earlier, ticket)));
        }
    }
    Ok(None)
}

/// Removes expired clients, and tickets of versions that are no longer answered.
fn sweep(app: &App, registry: &Registry) -> Result<()> {
    for name in registry.store.databases()? {
        for id in registry.store.remove_expired(&name, now())? {
            registry.forget(id);
        }
    }
    for database in app.catalog.loaded() {
        // A name of the catalog's own is known to it.
        let standing = app.catalog.standing(database.name()).unwrap_or_default();
        let versions: Vec<Version> = standing.iter().map(|one| one.database.version()).collect();
        for (id, _) in registry.store.clients(database.name())? {
            registry.store.keep_versions(database.name(), id, &versions)?;
        }
    }
    Ok(())
}

/// Lets queries go first: work on a ticket pauses while any is running or waiting.
struct Idle<'a> {
    gate: &'a Gate<Request>,
    stopping: &'a AtomicBool,
}

impl Idle<'_> {
    fn stops(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }

    fn wait(&self) {
        while self.gate.is_answering() && !self.stops() {
            thread::sleep(PAUSE);
        }
    }
}

impl Progress for Idle<'_> {
    fn stage(&self, _name: &str, _total: u64) {
        self.wait();
    }

    fn advance(&self, _steps: u64) {
        self.wait();
    }
}
