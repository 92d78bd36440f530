//! A client's registration at one database: created, uploaded, used, replaced.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use papir_core::Error as CoreError;
use papir_core::erased::ErasedState;
use papir_core::scheme::SENT_AHEAD;
use papir_lookup::Lookup;
use papir_protocol::{ClientStatus, path};

use super::place::Place;
use super::queries::TICKET_TIMEOUT;
use super::ready_tickets::{Readiness, ReadyTickets, pause, readiness};
use super::record::SavedRegistration;
use super::service::Service;
use super::settings::{Rotation, Settings, Watcher};
use super::state_cache::StateCache;
use super::storage::{Locked, Storage};
use super::task::Io;
use crate::error::{Error, Result, unexpected};

/// Longest keys that are sent in one request: 64 KiB.
const MAX_KEYS_IN_ONE_REQUEST: usize = 64 << 10;

/// Arguments of every operation on a registration.
#[derive(Clone, Copy)]
pub(crate) struct Context<'a> {
    pub(crate) io: &'a Io,
    pub(crate) service: &'a Service,
    pub(crate) lookup: &'a Lookup,
}

/// A registration at a database. Clones share its state in memory and in storage.
#[derive(Clone)]
pub(crate) struct Registration {
    /// The storage slot. It is also the database's identity.
    slot: String,
    /// The path of the database's registered clients.
    clients: String,
    ready: ReadyTickets,
    rotation: Rotation,
    cache: StateCache,
    watcher: Watcher,
    /// Bytes of keys sent, by all clones.
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

/// Keys of later queries.
#[derive(Default)]
pub(crate) struct KeysAhead {
    pub(crate) numbers: Vec<u64>,
    /// The keys in the form of queries, in the order of the numbers.
    pub(crate) queries: Vec<Vec<u8>>,
}

/// A state that is ready for use. It is locked.
struct OpenState<'a> {
    lock: Locked<'a>,
    saved: SavedRegistration,
    state: ErasedState,
    /// Time spent waiting for tickets.
    waited: Duration,
}

impl Registration {
    /// The saved registration at a database, or a new one. `None` if the scheme has no client keys.
    /// Resumes an interrupted upload.
    pub(crate) async fn open(
        context: Context<'_>,
        name: &str,
        settings: &Settings,
    ) -> Result<Option<Self>> {
        if !context.lookup.describe().limits.client_keys {
            return Ok(None);
        }
        let registration = Self {
            slot: context.service.address.identity(name),
            clients: path::clients(name),
            ready: ReadyTickets::default(),
            rotation: settings.rotation,
            cache: StateCache::default(),
            watcher: settings.watcher.clone(),
            sent: Arc::default(),
        };
        registration.resume_or_register(context).await?;
        Ok(Some(registration))
    }

    /// Resumes the saved registration if it is valid for this version of the database, else
    /// registers.
    async fn resume_or_register(&self, context: Context<'_>) -> Result<ClientStatus> {
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

    /// Asks the service how many tickets it prepares ahead, if the known tickets are used up: after a
    /// client's first query it prepares more.
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

    /// The number of queries that fit in one request.
    pub(crate) fn queries_per_request(&self, lookup: &Lookup) -> usize {
        let limit = if lookup.describe().limits.tickets {
            self.ready.ahead()
        } else {
            u64::MAX
        };
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    /// Does work for `queries` queries in advance.
    pub(crate) async fn prepare(&self, context: Context<'_>, queries: usize) -> Result<()> {
        let client = context.lookup.client();
        let progress = self.watcher.progress();
        let prepare = |state: &mut ErasedState| Ok((0, client.prepare(state, queries, progress)?));
        self.with_state(context, |_| 0, prepare).await.map(drop)
    }

    /// Makes the keys of `queries` later queries, once the service has their tickets. They are sent like
    /// queries.
    pub(crate) async fn keys_ahead(
        &self,
        context: Context<'_>,
        queries: usize,
    ) -> Result<StateResult<KeysAhead>> {
        let client = context.lookup.client();
        let platform = &context.service.platform;
        let make = |state: &mut ErasedState| {
            client.prepare(state, queries, self.watcher.progress())?;
            let mut keys = KeysAhead::default();
            for _ in 0..queries {
                keys.numbers.extend(client.next_ticket(state)?);
                keys.queries
                    .push(client.send_ahead(state, &mut *platform.rng())?);
            }
            Ok((queries, keys))
        };
        self.with_state(context, |_| queries, make).await
    }

    /// Stores the answers to keys that were sent ahead. Returns how many of the client's next queries
    /// need no ticket.
    pub(crate) async fn hold(
        &self,
        context: Context<'_>,
        numbers: &[u64],
        answers: &[&[u8]],
    ) -> Result<usize> {
        let client = context.lookup.client();
        let hold = |state: &mut ErasedState| {
            for (number, answer) in numbers.iter().zip(answers) {
                client.hold(state, *number, answer)?;
            }
            Ok((0, client.held(state)?))
        };
        Ok(self.with_state(context, |_| 0, hold).await?.value)
    }

    /// Runs `work`, which returns the number of queries that it made with the state, and stores the
    /// changed state. First waits until the service has the tickets that `tickets` returns for the
    /// number of held keys.
    ///
    /// The change is durable on return. A query may be sent only then: a query made with the old
    /// state would use the same number again, which could reveal both indices to the server.
    pub(crate) async fn with_state<T>(
        &self,
        context: Context<'_>,
        tickets: impl Fn(usize) -> usize,
        work: impl FnOnce(&mut ErasedState) -> Result<(usize, T)>,
    ) -> Result<StateResult<T>> {
        let OpenState {
            lock,
            mut saved,
            mut state,
            waited,
        } = self.open_state(context, tickets).await?;
        let client = context.lookup.client();
        let (made, value) = work(&mut state)?;
        let stored = client.save_state(&state)?;
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

    /// Locks the state once the service has the next tickets, as many as `tickets` returns for the
    /// number of held keys. Registers if there is no usable registration.
    ///
    /// # Errors
    /// [`Error::NoTicket`] after [`TICKET_TIMEOUT`].
    async fn open_state<'a>(
        &'a self,
        context: Context<'a>,
        tickets: impl Fn(usize) -> usize,
    ) -> Result<OpenState<'a>> {
        let client = context.lookup.client();
        let platform = &context.service.platform;
        let mut replaced = false;
        let mut waited = Duration::ZERO;
        for looks in 0.. {
            let lock = self.lock(context).await?;
            let saved = self.usable(context, &lock).await?;
            let state = self.cache.take(client, &saved.state)?;
            let tickets = tickets(client.held(&state)?);
            let numbers = client
                .next_ticket(&state)?
                .map(|next| next..next.saturating_add(tickets as u64));
            let numbers = numbers.unwrap_or_default();
            let held = client
                .next_number(&state)?
                .and_then(|number| number.checked_sub(SENT_AHEAD));
            match self
                .readiness(context, &saved.client, held, &numbers)
                .await?
            {
                Readiness::Ready => {
                    self.ready.use_up(&saved.client, numbers.end);
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
                    let start = platform.now();
                    context.io.wait(pause(looks)).await;
                    waited = waited.saturating_add(platform.now().saturating_sub(start));
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

    /// The saved registration, or a new one if it is missing, was saved elsewhere or is due.
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

    /// Checks whether the service has the tickets of these numbers. Asks the service only if the last
    /// known tickets are used up, or if the held key `held` may have been used: the state may be an old
    /// copy.
    async fn readiness(
        &self,
        context: Context<'_>,
        client: &str,
        held: Option<u64>,
        numbers: &Range<u64>,
    ) -> Result<Readiness> {
        let is_unused = held.is_none_or(|number| self.ready.is_unused(client, number));
        if is_unused && (numbers.is_empty() || self.ready.covers(client, numbers)) {
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
        if held.is_some_and(|number| number < status.next_sent_ahead) {
            return Ok(Readiness::Unusable);
        }
        Ok(readiness(&status, numbers))
    }

    /// Returns true if the keys were kept for long enough.
    fn is_due(&self, context: Context<'_>, saved: &SavedRegistration) -> bool {
        let age = context
            .service
            .platform
            .unix_time()
            .saturating_sub(saved.registered);
        let old = saved.registered > 0 && age >= self.rotation.age.as_secs();
        old || saved.queries >= self.rotation.queries
    }

    /// Registers new keys in place of `saved`, and removes the old client from the service. If the
    /// service refuses, the old keys stay, and the next attempt is due after a sixteenth of the
    /// limits: generating keys takes seconds in some schemes.
    async fn rotate(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
        mut saved: SavedRegistration,
    ) -> Result<SavedRegistration> {
        match self.register_and_read(context, lock).await {
            Ok(fresh) => {
                // An old client that cannot be removed expires.
                let _ = context
                    .service
                    .remove_client(context.io, &self.path(&saved.client))
                    .await;
                Ok(fresh)
            }
            Err(error) => {
                let Rotation { queries, age } = self.rotation;
                saved.queries = queries - queries / 16;
                let now = context.service.platform.unix_time();
                saved.registered = now.saturating_sub((age - age / 16).as_secs());
                lock.drop_keys().await?;
                lock.write(saved.clone()).await?;
                if error.is_version_change() {
                    Err(error)
                } else {
                    Ok(saved)
                }
            }
        }
    }

    /// Registers new keys in place of a state that was saved elsewhere. It may be an old copy, or
    /// another copy may be in use. The service may even be the one that wants a second query under
    /// one number, so it is asked nothing about the old client before.
    async fn register_here(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
        saved: &SavedRegistration,
    ) -> Result<ClientStatus> {
        let status = self.register(context, lock).await?;
        // After a restart of the machine nobody uses the old client. After a copy its owner may.
        let same_slot = |(old, new): (Place, Place)| old.slot == new.slot;
        if saved.place.zip(lock.place()).is_some_and(same_slot) {
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

    /// Registers again, unless another process has done so since `client` was refused.
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

    /// Removes a registration whose state was copied. The next query registers again.
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

    /// Resumes a saved registration; `None` if it cannot be used.
    async fn resume(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
        saved: SavedRegistration,
    ) -> Result<Option<ClientStatus>> {
        let client = context.lookup.client();
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
            let fits = saved.keys_bytes == context.lookup.describe().sizes.keys;
            return match lock.keys(saved.keys_bytes).await?.filter(|_| fits) {
                Some(keys) => self.upload(context, lock, saved, &keys, status).await,
                None => Ok(None),
            };
        }
        if saved.uploading {
            // The server received the last part, but its response was lost.
            lock.write(SavedRegistration {
                uploading: false,
                ..saved
            })
            .await?;
            lock.drop_keys().await?;
        }
        // If the server has seen later tickets than the state, the state is an old copy. Its
        // tickets may have been used, and a second query with a ticket would reveal both indices.
        let next = client.next_ticket(&state)?;
        Ok(Some(status).filter(|status| next.is_none_or(|next| status.next_ticket <= next)))
    }

    /// Generates keys, sends them, and stores the state. An earlier state is removed only after the
    /// new keys were generated.
    async fn register(&self, context: Context<'_>, lock: &Locked<'_>) -> Result<ClientStatus> {
        let Context {
            io,
            service,
            lookup,
        } = context;
        let client = lookup.client();
        let earlier = lock
            .read()
            .await?
            .and_then(|saved| client.load_state(&saved.state).ok());
        let registered = match &earlier {
            Some(earlier) => client.register_again(earlier, &mut *service.platform.rng()),
            None => client.register(&mut *service.platform.rng()),
        };
        let missing = CoreError::Session {
            scheme: lookup.describe().scheme,
            what: "client keys",
        };
        let (state, keys) = registered?.ok_or(missing)?;
        let keys = Arc::new(keys);
        let version = lookup.version();
        lock.forget().await?;
        let in_one_request = keys.len() <= MAX_KEYS_IN_ONE_REQUEST;
        let status = if in_one_request {
            self.sent.fetch_add(keys.len() as u64, Ordering::Relaxed);
            service
                .register(io, &self.clients, version, Arc::clone(&keys))
                .await?
        } else {
            lock.keep_keys(&keys).await?;
            service
                .begin_upload(io, &self.clients, version, keys.len() as u64)
                .await?
        };
        let saved = SavedRegistration {
            address: self.slot.clone(),
            client: status.id.clone(),
            uploading: !in_one_request,
            keys_bytes: keys.len() as u64,
            registered: service.platform.unix_time(),
            queries: 0,
            place: lock.place().filter(|_| lookup.describe().limits.tickets),
            state: client.save_state(&state)?,
        };
        lock.write(saved.clone()).await?;
        self.ready.note(&status);
        if in_one_request {
            return Ok(status);
        }
        let uploaded = self.upload(context, lock, saved, &keys, status).await?;
        uploaded.ok_or_else(|| {
            unexpected(
                &self.url(context),
                "the client was removed while its keys were uploaded".into(),
            )
        })
    }

    /// Uploads the missing part of the keys; `None` if the client does not exist any more.
    async fn upload(
        &self,
        context: Context<'_>,
        lock: &Locked<'_>,
        saved: SavedRegistration,
        keys: &[u8],
        mut status: ClientStatus,
    ) -> Result<Option<ClientStatus>> {
        let path = format!("{}/keys", self.path(&saved.client));
        let stuck = |reason| unexpected(&context.service.url(&path), reason);
        while status.is_uploading() {
            let offset = usize::try_from(status.uploaded_bytes).unwrap_or(usize::MAX);
            let part = usize::try_from(status.part_bytes).unwrap_or(usize::MAX);
            let end = offset.saturating_add(part).min(keys.len());
            // Empty if all bytes have arrived: an empty part makes the server check the keys.
            let Some(bytes) = keys.get(offset..end) else {
                return Err(stuck(format!(
                    "an upload offset of {offset} for {} bytes of keys",
                    keys.len()
                )));
            };
            self.sent.fetch_add(bytes.len() as u64, Ordering::Relaxed);
            let uploaded = context
                .service
                .upload_part(context.io, &path, offset as u64, bytes)
                .await?;
            let Some(next) = uploaded else {
                return Ok(None);
            };
            if next.is_uploading() && next.uploaded_bytes <= status.uploaded_bytes {
                return Err(stuck(format!(
                    "the upload does not advance beyond {offset} bytes"
                )));
            }
            status = next;
        }
        lock.write(SavedRegistration {
            uploading: false,
            ..saved
        })
        .await?;
        lock.drop_keys().await?;
        Ok(Some(status))
    }

    async fn lock<'a>(&'a self, context: Context<'a>) -> Result<Locked<'a>> {
        Storage::new(context.io, &self.slot).lock().await
    }

    /// The path of a client.
    fn path(&self, client: &str) -> String {
        format!("{}/{client}", self.clients)
    }

    fn url(&self, context: Context<'_>) -> String {
        context.service.url(&self.clients)
    }
}

/// Returns true if the state was saved elsewhere. Schemes without tickets are not bound to a place:
/// two queries from copies of their state have their own masks.
fn has_moved(context: Context<'_>, lock: &Locked<'_>, saved: &SavedRegistration) -> bool {
    context.lookup.describe().limits.tickets && saved.place != lock.place()
}
