//! A registered client of one database: registers, uploads, asks with its state, starts anew.

use papir_core::Error as CoreError;
use papir_core::erased::ErasedState;
use papir_lookup::Lookup;

use crate::registering::ClientStatus;
use crate::state::{Lock, Record, Slot};
use crate::transport::{Transport, unexpected};
use crate::warm::Warm;
use crate::{Options, Result, Watcher, system_rng};

/// The longest keys that are sent in one request: 64 KiB.
const ONE_REQUEST: usize = 64 << 10;

/// A registration at a service, and where its state is kept. Clones share both.
#[derive(Clone)]
pub(crate) struct Account {
    slot: Slot,
    /// What tells the database from others.
    address: String,
    /// Its clients' address.
    clients: String,
    /// Tickets that the service prepares ahead.
    tickets_ahead: u64,
    warm: Warm,
    watcher: Watcher,
}

impl Account {
    /// The account that is kept for this database, or a new one; `None` where its scheme registers
    /// nothing. Goes on with an interrupted upload. The database's URL, and what tells it from others.
    pub(crate) fn open(
        transport: &Transport,
        (url, address): (String, String),
        lookup: &Lookup,
        options: &Options,
    ) -> Result<Option<Self>> {
        if !lookup.describe().limits.client_keys {
            return Ok(None);
        }
        let slot = Slot::open(options, &address)?;
        let clients = format!("{url}/clients");
        let (warm, watcher) = (Warm::default(), options.watcher.clone());
        let mut account = Self { slot, address, clients, tickets_ahead: 1, warm, watcher };
        account.tickets_ahead = account.settle(transport, lookup)?.tickets_ahead;
        Ok(Some(account))
    }

    /// What is kept where it serves this version of the database, else a new registration.
    fn settle(&self, transport: &Transport, lookup: &Lookup) -> Result<ClientStatus> {
        let lock = self.slot.lock()?;
        let kept = match lock.read()? {
            Some(record) => self.resume(transport, lookup, &lock, record)?,
            None => None,
        };
        kept.map_or_else(|| self.register(transport, lookup, &lock), Ok)
    }

    /// How many queries can be asked in one request.
    pub(crate) fn queries_per_request(&self, lookup: &Lookup) -> usize {
        let limit = if lookup.describe().limits.tickets { self.tickets_ahead } else { u64::MAX };
        usize::try_from(limit).unwrap_or(usize::MAX)
    }

    /// Does ahead what so many queries need.
    pub(crate) fn prepare(&self, transport: &Transport, lookup: &Lookup, queries: usize) -> Result<()> {
        self.with_state(transport, lookup, queries, |_| Ok(())).map(drop)
    }

    /// Fetches the tickets of so many queries to come, and holds them; how many it holds of those.
    pub(crate) fn hold(&self, transport: &Transport, lookup: &Lookup, queries: usize) -> Result<usize> {
        let client = lookup.client();
        let (id, next) = self
            .with_state(transport, lookup, 0, |state| Ok(client.next_ticket(state)?.unwrap_or_default()))?;
        // The state is not locked while tickets are prepared.
        let mut tickets = Vec::new();
        for number in (next..).take(queries) {
            let url = format!("{}/{id}/tickets/{number}", self.clients);
            match transport.ticket(&url, lookup.version(), lookup.describe().sizes.ticket)? {
                Some(ticket) => tickets.push((number, ticket)),
                None => break,
            }
        }
        let hold = |state: &mut ErasedState| {
            let next = client.next_ticket(state)?.unwrap_or_default();
            tickets.retain(|(number, _)| *number >= next);
            tickets.iter().try_for_each(|(_, ticket)| client.hold(state, ticket))?;
            Ok(tickets.len())
        };
        self.with_state(transport, lookup, 0, hold).map(|(_, held)| held)
    }

    /// Runs something that makes so many queries with the state, and keeps what it made of it. When this
    /// returns, the changed state is on disk: only then may anything be sent. Gives the client's name
    /// besides.
    pub(crate) fn with_state<T>(
        &self,
        transport: &Transport,
        lookup: &Lookup,
        queries: usize,
        work: impl FnOnce(&mut ErasedState) -> Result<T>,
    ) -> Result<(String, T)> {
        let lock = self.slot.lock()?;
        let kept = lock.read()?.filter(|record| !record.uploading);
        let mut record = match kept {
            Some(record) => record,
            // Another process has forgotten it: it was refused.
            None => {
                self.register(transport, lookup, &lock)?;
                lock.read()?.ok_or_else(|| unexpected(&self.clients, "no state after registering".into()))?
            }
        };
        let client = lookup.client();
        let mut state = self.warm.take(client, &record.state)?;
        client.prepare(&mut state, queries, self.watcher.progress())?;
        let result = work(&mut state)?;
        let stored = client.save_state(&state)?;
        if *stored != *record.state {
            record.state = stored;
            lock.write(&record)?;
        }
        self.warm.keep(client, &record.state, state);
        Ok((record.client, result))
    }

    /// Registers anew, unless another process has done so since `client` was refused.
    pub(crate) fn replace(&self, transport: &Transport, lookup: &Lookup, client: &str) -> Result<()> {
        let lock = self.slot.lock()?;
        if lock.read()?.is_some_and(|record| record.client != client) {
            return Ok(());
        }
        self.register(transport, lookup, &lock).map(drop)
    }

    /// Forgets a registration whose state exists twice, so that the next query is of a new one.
    pub(crate) fn forget(&self, client: &str) -> Result<()> {
        let lock = self.slot.lock()?;
        if lock.read()?.is_some_and(|record| record.client == client) {
            lock.forget()?;
        }
        Ok(())
    }

    /// Goes on with what is kept; `None` where that serves no more.
    fn resume(
        &self,
        transport: &Transport,
        lookup: &Lookup,
        lock: &Lock<'_>,
        record: Record,
    ) -> Result<Option<ClientStatus>> {
        let Ok(state) = lookup.client().load_state(&record.state) else {
            return Ok(None);
        };
        let url = format!("{}/{}", self.clients, record.client);
        let Some(status) = transport.client_status(&url)? else {
            return Ok(None);
        };
        if status.is_uploading() {
            let fits = record.keys_bytes == lookup.describe().sizes.keys;
            return match lock.keys(record.keys_bytes)?.filter(|_| fits) {
                Some(keys) => self.upload(transport, lock, record, &keys, status),
                None => Ok(None),
            };
        }
        if record.uploading {
            // The last part arrived, its answer did not.
            lock.write(&Record { uploading: false, ..record })?;
            lock.drop_keys()?;
        }
        // The service knows of later queries than the state does: it is an old copy. Its tickets
        // may have been used, and a second query for one would show the server both.
        let next = lookup.client().next_ticket(&state)?;
        Ok(Some(status).filter(|status| next.is_none_or(|next| status.next_ticket <= next)))
    }

    /// Makes keys, sends them, and keeps the state. What was kept so far is lost only when there are new ones.
    fn register(&self, transport: &Transport, lookup: &Lookup, lock: &Lock<'_>) -> Result<ClientStatus> {
        let client = lookup.client();
        let kept = lock.read()?.and_then(|record| client.load_state(&record.state).ok());
        let registered = match &kept {
            Some(kept) => client.register_again(kept, &mut system_rng()),
            None => client.register(&mut system_rng()),
        };
        let lacks = CoreError::Session { scheme: lookup.describe().scheme, what: "client keys" };
        let (state, keys) = registered?.ok_or(lacks)?;
        lock.forget()?;
        let whole = keys.len() <= ONE_REQUEST;
        if !whole {
            lock.keep_keys(&keys)?;
        }
        let status = if whole {
            transport.register(&self.clients, lookup.version(), &keys)?
        } else {
            transport.begin_upload(&self.clients, lookup.version(), keys.len() as u64)?
        };
        let record = Record {
            address: self.address.clone(),
            client: status.id.clone(),
            uploading: !whole,
            keys_bytes: keys.len() as u64,
            state: client.save_state(&state)?,
        };
        lock.write(&record)?;
        if whole {
            return Ok(status);
        }
        let gone = || unexpected(&self.clients, "the client is gone while its keys are uploaded".into());
        self.upload(transport, lock, record, &keys, status)?.ok_or_else(gone)
    }

    /// Sends what is missing of the keys; `None` when the service knows the client no more.
    fn upload(
        &self,
        transport: &Transport,
        lock: &Lock<'_>,
        record: Record,
        keys: &[u8],
        mut status: ClientStatus,
    ) -> Result<Option<ClientStatus>> {
        let url = format!("{}/{}/keys", self.clients, record.client);
        while status.is_uploading() {
            let offset = usize::try_from(status.uploaded_bytes).unwrap_or(usize::MAX);
            let part = usize::try_from(status.part_bytes).unwrap_or(usize::MAX);
            let end = offset.saturating_add(part).min(keys.len());
            // An empty part where all is there: the service has yet to check the keys.
            let Some(bytes) = keys.get(offset..end) else {
                return Err(unexpected(&url, format!("an upload of {offset} of {} bytes", keys.len())));
            };
            let Some(next) = transport.upload_part(&url, offset as u64, bytes)? else {
                return Ok(None);
            };
            if next.is_uploading() && next.uploaded_bytes <= status.uploaded_bytes {
                return Err(unexpected(&url, format!("the upload stays at {offset} bytes")));
            }
            status = next;
        }
        lock.write(&Record { uploading: false, ..record })?;
        lock.drop_keys()?;
        Ok(Some(status))
    }
}
