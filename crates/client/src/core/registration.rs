//! Registration of a client with one database.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use papir_core::erased::ErasedState;
use papir_core::scheme::{SENT_AHEAD, StateNumbers};
use papir_lookup::Lookup;
use papir_protocol::{ClientStatus, path};

use super::key_sender::{Context, KeySender, finish_upload, generate_keys};
use super::queries::TICKET_TIMEOUT;
use super::ready_tickets::{Readiness, ReadyTickets, pause, readiness};
use super::record::SavedRegistration;
use super::settings::{Rotation, Settings, Watcher};
use super::state_cache::StateCache;
use super::storage::{Locked, SlotStorage};
use crate::error::{Error, Result, unexpected};

/// Longest client keys in bytes that are sent in one request: 64 KiB. Longer keys are uploaded in
/// parts.
const MAX_KEYS_IN_ONE_REQUEST: usize = 64 << 10;

/// A client's registration with a database. Clones share its state in memory and in storage.
#[derive(Clone)]
pub(crate) struct Registration {
    /// The storage slot. It is the database's identity, and names the relay before the service.
    slot: String,
    /// The path of the database's registered clients.
    clients: String,
    ready: ReadyTickets,
    rotation: Rotation,
    cache: StateCache,
    watcher: Watcher,
    /// Bytes of keys that all clones have sent.
    sent: Arc<AtomicU64>,
}

/// The result of an operation on a registration's state.
pub(crate) struct StateResult<T> {
    /// The client's id.
    pub(crate) client: String,
    pub(crate) value: T,
    /// Time spent waiting for tickets.
    pub(crate) waited: Duration,
}

/// The result of a function that uses a state.
pub(crate) struct StateWork<T> {
    /// The number of queries that the function made with the state.
    pub(crate) made: usize,
    pub(crate) value: T,
}

/// The keys of later queries, to be sent ahead.
#[derive(Default)]
pub(crate) struct KeysAhead {
    pub(crate) numbers: Vec<u64>,
    /// The keys in the form of queries, in the order of the numbers.
    pub(crate) queries: Vec<Vec<u8>>,
}

/// A client state that is ready for use, with its lock.
struct OpenState<'a> {
    lock: Locked<'a>,
    saved: SavedRegistration,
    state: ErasedState,
    /// Time spent waiting for tickets.
    waited: Duration,
}

/// The numbers that the next queries of a state use.
struct NextNumbers {
    /// Numbers of the tickets that the next queries need.
    tickets: Range<u64>,
    /// Ticket number of the held key that the next query uses; `None` if there is no held key.
    held: Option<u64>,
}

impl NextNumbers {
    /// The next numbers of a state, with `tickets` tickets.
    fn of(state: StateNumbers, tickets: usize) -> Self {
        let tickets = state
            .ticket
            .map(|next| next..next.saturating_add(tickets as u64))
            .unwrap_or_default();
        let held = state
            .query
            .and_then(|number| number.checked_sub(SENT_AHEAD));
        Self { tickets, held }
    }
}

impl Registration {
    /// Opens the saved registration with a database, or registers anew. `None` if the scheme has no
    /// client keys. Resumes an interrupted upload.
    pub(crate) async fn open(
        context: Context<'_>,
        name: &str,
        settings: &Settings,
    ) -> Result<Option<Self>> {
        if !context.lookup.describe().limits.client_keys {
            return Ok(None);
        }

        let registration = Self::unopened(context, name, settings);
        registration.resume_or_register(context).await?;
        Ok(Some(registration))
    }

    /// The registration with a database, which was neither resumed nor made yet.
    fn unopened(context: Context<'_>, name: &str, settings: &Settings) -> Self {
        let identity = context.service.address.identity(name);
        Self {
            slot: context.service.unlinked_slot(identity),
            clients: path::clients(name),
            ready: ReadyTickets::default(),
            rotation: settings.rotation,
            cache: StateCache::default(),
            watcher: settings.watcher.clone(),
            sent: Arc::default(),
        }
    }

    /// Opens the saved registration without a request; `None` if it is missing, incomplete, due for
    /// new keys or not for this version, or if the scheme has no client keys or uses tickets. The
    /// service may have removed the client meanwhile, and then refuses its queries.
    pub(crate) async fn open_saved(
        context: Context<'_>,
        name: &str,
        settings: &Settings,
    ) -> Result<Option<Self>> {
        let limits = context.lookup.describe().limits;
        if !limits.client_keys || limits.tickets {
            return Ok(None);
        }

        let registration = Self::unopened(context, name, settings);
        let saved = registration.lock(context).await?.read().await?;
        let Some(saved) = saved.filter(|saved| !saved.uploading) else {
            return Ok(None);
        };
        let fits = context.registered()?.load_state(&saved.state).is_ok();
        let is_usable = fits && !registration.is_due(context, &saved);
        Ok(is_usable.then_some(registration))
    }

    /// Resumes the saved registration if it is valid for this version of the database, else
    /// registers.
    async fn resume_or_register(&self, context: Context<'_>) -> Result<ClientStatus> {
        // Held to the end: two processes would otherwise both register.
        let lock = self.lock(context).await?;
        let resumed = match lock.read().await? {
            Some(saved) if has_moved(context, &lock, &saved) => {
                Some(self.register_here(context, &lock, &saved).await?)
            }
            Some(saved) => self.resume(context, &lock, saved).await?,
            None => None,
        };

        let status = match resumed {
            Some(status) => status,
            None => self.register(context, &lock).await?,
        };
        self.ready.note(&status);
        Ok(status)
    }

    /// Fetches the number of tickets that the service prepares ahead, if the known tickets are used
    /// up. The service prepares more after a client's first query.
    pub(crate) async fn learn_tickets_ahead(&self, context: Context<'_>) -> Result<()> {
        let Some(client) = self.ready.used_up_client() else {
            return Ok(());
        };

        let path = self.path(&client);
        // A client that is gone is registered again at the next query.
        if let Some(status) = context
            .service
            .client_status(context.io, &path, None)
            .await?
        {
            self.ready.note(&status);
        }
        Ok(())
    }

    /// Bytes of keys sent so far.
    pub(crate) fn sent_bytes(&self) -> u64 {
        self.sent.load(Ordering::Relaxed)
    }

    /// Maximum number of queries in one request, as far as tickets limit it.
    pub(crate) fn queries_per_request(&self, lookup: &Lookup) -> usize {
        let limit = if lookup.describe().limits.tickets {
            self.ready.ahead()
        } else {
            u64::MAX
        };
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    /// Does in advance the work of `queries` queries that does not depend on their indices.
    pub(crate) async fn prepare(&self, context: Context<'_>, queries: usize) -> Result<()> {
        let client = context.registered()?;
        let progress = self.watcher.progress();

        self.with_state(
            context,
            |_| 0,
            |state| {
                client.prepare(state, queries, progress)?;
                Ok(StateWork { made: 0, value: () })
            },
        )
        .await
        .map(drop)
    }

    /// Makes the keys of `queries` later queries, once the service has their tickets. The caller
    /// sends the keys like queries.
    pub(crate) async fn keys_ahead(
        &self,
        context: Context<'_>,
        queries: usize,
    ) -> Result<StateResult<KeysAhead>> {
        self.with_state(
            context,
            |_| queries,
            |state| {
                let value = self.make_keys(context, state, queries)?;
                Ok(StateWork {
                    made: queries,
                    value,
                })
            },
        )
        .await
    }

    /// Makes the keys of `queries` later queries with the state.
    fn make_keys(
        &self,
        context: Context<'_>,
        state: &mut ErasedState,
        queries: usize,
    ) -> Result<KeysAhead> {
        let client = context.registered()?;
        let platform = &context.service.platform;
        client.prepare(state, queries, self.watcher.progress())?;

        let mut keys = KeysAhead::default();
        for _ in 0..queries {
            // Read first: sending a key ahead uses up the number.
            keys.numbers.extend(client.numbers(state)?.ticket);
            keys.queries
                .push(client.send_ahead(state, &mut *platform.rng())?);
        }
        Ok(keys)
    }

    /// Stores the answers to keys that were sent ahead with the tickets `numbers`. Returns the
    /// number of held keys, each of which serves a later query without a ticket.
    pub(crate) async fn hold(
        &self,
        context: Context<'_>,
        numbers: &[u64],
        answers: &[&[u8]],
    ) -> Result<usize> {
        let client = context.registered()?;

        let held = self
            .with_state(
                context,
                |_| 0,
                |state| {
                    for (number, answer) in numbers.iter().zip(answers) {
                        client.hold(state, *number, answer)?;
                    }
                    let value = client.numbers(state)?.held;
                    Ok(StateWork { made: 0, value })
                },
            )
            .await?;

        Ok(held.value)
    }

    /// Calls `work` with the state, and stores the changed state. First waits until the service has
    /// prepared the next tickets; `tickets` maps the number of held keys to the number of tickets
    /// needed.
    ///
    /// The change is durable on return. Only then may a query be sent: a later query made with the
    /// old state would use the same number again, which could reveal both indices to the server.
    pub(crate) async fn with_state<T>(
        &self,
        context: Context<'_>,
        tickets: impl Fn(usize) -> usize,
        work: impl FnOnce(&mut ErasedState) -> Result<StateWork<T>>,
    ) -> Result<StateResult<T>> {
        let OpenState {
            lock,
            mut saved,
            mut state,
            waited,
        } = self.open_state(context, tickets).await?;
        let client = context.lookup.client();
        let StateWork { made, value } = work(&mut state)?;

        // Only a changed state is written, since each write waits for the disk.
        let stored = context.registered()?.save_state(&state)?;
        if made > 0 || *stored != *saved.state {
            saved.queries = saved.queries.saturating_add(made as u64);
            saved.state = stored;
            lock.write(saved.clone()).await?;
        }

        self.cache.put(client, &saved.state, state);
        Ok(StateResult {
            client: saved.client,
            value,
            waited,
        })
    }

    /// Locks and reads the state once the service has prepared the next tickets; `tickets` maps the
    /// number of held keys to the number of tickets needed. Registers if there is no usable
    /// registration. Fails with [`Error::NoTicket`] after [`TICKET_TIMEOUT`].
    async fn open_state<'a>(
        &'a self,
        context: Context<'a>,
        tickets: impl Fn(usize) -> usize,
    ) -> Result<OpenState<'a>> {
        let client = context.lookup.client();
        let mut replaced = false;
        let mut waited = Duration::ZERO;

        for looks in 0.. {
            // Read again after each wait: another process may have used the tickets meanwhile.
            let lock = self.lock(context).await?;
            let saved = self.usable(context, &lock).await?;
            let state = self.cache.take(client, &saved.state)?;
            let numbers = context.registered()?.numbers(&state)?;
            let next = NextNumbers::of(numbers, tickets(numbers.held));

            match self.readiness(context, &saved.client, &next).await? {
                Readiness::Ready => {
                    self.ready.use_up(&saved.client, next.tickets.end);
                    return Ok(OpenState {
                        lock,
                        saved,
                        state,
                        waited,
                    });
                }
                Readiness::Unusable if !replaced => {
                    replaced = true;
                    self.register_and_read(context, &lock).await?;
                }
                Readiness::Preparing if waited < TICKET_TIMEOUT => {
                    self.cache.put(client, &saved.state, state);
                    // Other processes may use the state meanwhile.
                    drop(lock);
                    waited = waited.saturating_add(wait_for_tickets(context, looks).await);
                }
                Readiness::Preparing => break,
                Readiness::Unusable => {
                    let reason =
                        "a client that has just registered is gone, or its tickets are used"
                            .to_owned();
                    return Err(unexpected(&self.url(context), reason));
                }
            }
        }

        Err(Error::NoTicket {
            url: self.url(context),
        })
    }

    /// Reads the saved registration. Registers anew if it is missing, incomplete, bound to another
    /// place, or due for new keys.
    async fn usable(&self, context: Context<'_>, lock: &Locked<'_>) -> Result<SavedRegistration> {
        match lock.read().await?.filter(|saved| !saved.uploading) {
            Some(saved) if has_moved(context, lock, &saved) => {
                self.register_here(context, lock, &saved).await?;
                self.read_registered(context, lock).await
            }
            Some(saved) if self.is_due(context, &saved) => self.rotate(context, lock, saved).await,
            Some(saved) => Ok(saved),
            // Another process removed the registration after a refusal.
            None => self.register_and_read(context, lock).await,
        }
    }

    /// Determines the next step for queries with the next numbers. Sends a request for the client's
    /// status only if the last known tickets are used up, or if the held key may have been used,
    /// because the state may be an old copy.
    async fn readiness(
        &self,
        context: Context<'_>,
        client: &str,
        next: &NextNumbers,
    ) -> Result<Readiness> {
        let NextNumbers { tickets, held } = next;
        let is_unused = held.is_none_or(|number| self.ready.is_unused(client, number));
        if is_unused && (tickets.is_empty() || self.ready.covers(client, tickets)) {
            return Ok(Readiness::Ready);
        }

        // Tickets are prepared for the newest version only. The client must move to it, not wait.
        let path = self.path(client);
        let version = Some(context.lookup.version());
        let Some(status) = context
            .service
            .client_status(context.io, &path, version)
            .await?
        else {
            return Ok(Readiness::Unusable);
        };
        self.ready.note(&status);

        // A copy of the state has used this key: a second query with it could reveal both indices.
        if held.is_some_and(|number| number < status.next_sent_ahead) {
            return Ok(Readiness::Unusable);
        }
        Ok(readiness(&status, tickets))
    }

    /// Returns true if the keys have reached a limit of the rotation.
    fn is_due(&self, context: Context<'_>, saved: &SavedRegistration) -> bool {
        let age = context
            .service
            .platform
            .unix_time()
            .saturating_sub(saved.registered);
        // A time of 0 is unknown.
        let old = saved.registered > 0 && age >= self.rotation.age.as_secs();
        old || saved.queries >= self.rotation.queries
    }

    /// Registers new keys in place of `saved`, and removes the old client from the service. If the
    /// service refuses, keeps the old keys until a further sixteenth of the limits has passed:
    /// generating keys takes seconds in some schemes.
    async fn rotate(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
        mut saved: SavedRegistration,
    ) -> Result<SavedRegistration> {
        let refusal = match self.register_and_read(context, lock).await {
            Ok(fresh) => {
                // An old client that cannot be removed expires.
                let _ = context
                    .service
                    .remove_client(context.io, &self.path(&saved.client))
                    .await;
                return Ok(fresh);
            }
            Err(refusal) => refusal,
        };

        let Rotation { queries, age } = self.rotation;
        saved.queries = queries - queries / 16;
        let now = context.service.platform.unix_time();
        saved.registered = now.saturating_sub((age - age / 16).as_secs());

        // Written again: the registration that failed may have removed the old state.
        lock.drop_keys().await?;
        lock.write(saved.clone()).await?;

        if refusal.is_version_change() {
            Err(refusal)
        } else {
            Ok(saved)
        }
    }

    /// Registers new keys in place of a state that is bound to another place. The state may be an
    /// old copy, or another copy of it may be in use. A malicious service may even have restored it
    /// to get a second query with one number, so the client does not ask the service about the old
    /// client first.
    async fn register_here(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
        saved: &SavedRegistration,
    ) -> Result<ClientStatus> {
        let status = self.register(context, lock).await?;

        // After a restart of the machine nobody uses the old client. After a copy its owner may.
        let same_slot = match (saved.place, lock.place()) {
            (Some(old), Some(new)) => old.slot == new.slot,
            _ => false,
        };
        if same_slot {
            let _ = context
                .service
                .remove_client(context.io, &self.path(&saved.client))
                .await;
        }
        Ok(status)
    }

    async fn register_and_read(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
    ) -> Result<SavedRegistration> {
        self.register(context, lock).await?;
        self.read_registered(context, lock).await
    }

    async fn read_registered(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
    ) -> Result<SavedRegistration> {
        let saved = lock.read().await?;
        saved.ok_or_else(|| unexpected(&self.url(context), "no state after registering".into()))
    }

    /// Registers again in place of `client`, which the service has refused, unless another process
    /// has registered meanwhile.
    pub(crate) async fn replace(&self, context: Context<'_>, client: &str) -> Result<()> {
        let lock = self.lock(context).await?;
        if lock
            .read()
            .await?
            .is_some_and(|saved| saved.client != client)
        {
            return Ok(());
        }

        self.register(context, &lock).await.map(drop)
    }

    /// Removes the registration of `client`, whose state was copied. The next query registers
    /// again.
    pub(crate) async fn forget(&self, context: Context<'_>, client: &str) -> Result<()> {
        let lock = self.lock(context).await?;
        if lock
            .read()
            .await?
            .is_some_and(|saved| saved.client == client)
        {
            lock.forget().await?;
        }
        Ok(())
    }

    /// Resumes a saved registration; `None` if it cannot be used with this version or the service.
    async fn resume(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
        saved: SavedRegistration,
    ) -> Result<Option<ClientStatus>> {
        let client = context.registered()?;
        let Ok(state) = client.load_state(&saved.state) else {
            return Ok(None);
        };

        let path = self.path(&saved.client);
        let Some(status) = context
            .service
            .client_status(context.io, &path, None)
            .await?
        else {
            return Ok(None);
        };

        if status.is_uploading() {
            return self.resume_upload(context, lock, saved, status).await;
        }
        if saved.uploading {
            // The server received the last part, but its response was lost.
            finish_upload(lock, saved).await?;
        }

        // If the server has seen later tickets than the state, the state is an old copy. Its
        // tickets may have been used, and a second query with a ticket would reveal both indices.
        match client.numbers(&state)?.ticket {
            Some(next) if status.next_ticket > next => Ok(None),
            _ => Ok(Some(status)),
        }
    }

    /// Resumes an interrupted upload; `None` if its keys are missing or of another length, or the
    /// service has no such client any more.
    async fn resume_upload(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
        saved: SavedRegistration,
        status: ClientStatus,
    ) -> Result<Option<ClientStatus>> {
        let fits = saved.keys_bytes == context.lookup.describe().sizes.keys;
        match lock.keys(saved.keys_bytes).await? {
            Some(keys) if fits => {
                let sender = self.key_sender(context, lock);
                sender.upload(saved, &keys, status).await
            }
            _ => Ok(None),
        }
    }

    /// Generates keys, sends them, and stores the state. Removes an earlier state only after it has
    /// generated the new keys.
    async fn register(&self, context: Context<'_>, lock: &Locked<'_>) -> Result<ClientStatus> {
        let Context {
            service, lookup, ..
        } = context;
        let (state, keys) = generate_keys(context, lock).await?;
        let keys = Arc::new(keys);
        let in_one_request = keys.len() <= MAX_KEYS_IN_ONE_REQUEST;

        // Before the new keys are stored, since it removes stored keys too.
        lock.forget().await?;
        let sender = self.key_sender(context, lock);
        let status = if in_one_request {
            sender.register(&keys).await?
        } else {
            sender.begin_upload(&keys).await?
        };

        let saved = SavedRegistration {
            address: self.slot.clone(),
            client: status.id.clone(),
            uploading: !in_one_request,
            keys_bytes: keys.len() as u64,
            registered: service.platform.unix_time(),
            queries: 0,
            place: lock.place().filter(|_| lookup.describe().limits.tickets),
            state: context.registered()?.save_state(&state)?,
        };
        lock.write(saved.clone()).await?;
        self.ready.note(&status);
        if in_one_request {
            return Ok(status);
        }

        // Uploaded after the write: a process that stops meanwhile resumes the upload.
        let uploaded = sender.upload(saved, &keys, status).await?;
        uploaded.ok_or_else(|| {
            unexpected(
                &self.url(context),
                "the client was removed while its keys were uploaded".into(),
            )
        })
    }

    /// The sender of this registration's keys.
    fn key_sender<'a>(&'a self, context: Context<'a>, lock: &'a Locked<'a>) -> KeySender<'a> {
        KeySender {
            context,
            lock,
            clients: &self.clients,
            sent: &self.sent,
        }
    }

    async fn lock<'a>(&'a self, context: Context<'a>) -> Result<Locked<'a>> {
        SlotStorage::new(context.io, &self.slot).lock().await
    }

    /// The path of the client with this id.
    fn path(&self, client: &str) -> String {
        format!("{}/{client}", self.clients)
    }

    fn url(&self, context: Context<'_>) -> String {
        context.service.url(&self.clients)
    }
}

/// Waits after `looks` requests for the client's status. Returns the time spent.
async fn wait_for_tickets(context: Context<'_>, looks: u32) -> Duration {
    let platform = &context.service.platform;
    let start = platform.now();
    context.io.wait(pause(looks)).await;
    platform.now().saturating_sub(start)
}

/// Returns true if the state is bound to another place. The states of schemes without tickets are
/// bound to no place, since two queries from copies of their state have independent masks.
fn has_moved(context: Context<'_>, lock: &Locked<'_>, saved: &SavedRegistration) -> bool {
    context.lookup.describe().limits.tickets && saved.place != lock.place()
}
