//! An asynchronous connection to one database of a service.

use std::time::Instant;

use papir_checkpoint::Accepted;
use papir_lookup::Lookup;
use papir_protocol::{DatabaseDetail, DatabaseInfo};
use zeroize::Zeroizing;

use super::transport::Transport;
use crate::core::{self, Costs, OwnedWanted, Session, ShownLog, Task};
use crate::error::Result;
use crate::transport::call::CallRules;
use crate::transport::options::Options;

/// A private client of one database of a service. A clone shares the public part. It counts its own
/// costs, starting from the costs of the original.
#[derive(Clone)]
pub struct Connection {
    session: Session,
    transport: Transport,
}

/// Checks that a service has loaded all its databases. Needs no token, and sends none.
///
/// # Errors
/// [`Error::BadUrl`](crate::Error::BadUrl), errors of the options, errors of the network, and
/// [`Error::Http`](crate::Error::Http) with status 503 while the service is loading.
pub async fn ready(url: &str, options: &Options) -> Result<()> {
    let options = Options {
        token: None,
        ..options.clone()
    };
    let service = options.service(url)?;
    Transport::new(service.address(), &options)?
        .run(core::ready(service))
        .await
}

/// Describes a database of a service, and the earlier versions that the service still answers.
///
/// # Errors
/// [`Error::BadUrl`](crate::Error::BadUrl),
/// [`Error::NoSuchDatabase`](crate::Error::NoSuchDatabase),
/// [`Error::ChooseDatabase`](crate::Error::ChooseDatabase), errors of the network.
pub async fn detail(url: &str, options: &Options) -> Result<DatabaseDetail> {
    let service = options.service(url)?;
    Transport::new(service.address(), options)?
        .run(core::detail(service, options.settings()))
        .await
}

/// Fetches the checkpoint proof and the log of a signed database, to compare them with the ones of
/// other services. Does not verify signatures.
///
/// # Errors
/// [`Error::BadUrl`](crate::Error::BadUrl), errors of the network,
/// [`Error::NoSuchDatabase`](crate::Error::NoSuchDatabase),
/// [`Error::ChooseDatabase`](crate::Error::ChooseDatabase),
/// [`Error::NoCheckpoint`](crate::Error::NoCheckpoint) for a database that is not signed, and
/// [`Error::Checkpoint`](crate::Error::Checkpoint) for a malformed proof or log.
pub async fn fetch_log(url: &str, options: &Options) -> Result<ShownLog> {
    let service = options.service(url)?;
    Transport::new(service.address(), options)?
        .run(core::fetch_log(service, options.settings()))
        .await
}

impl Connection {
    /// Connects to a database and fetches its public part. The database is the one named by
    /// `database`, else by `url`, else the service's only one.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], errors of the
    /// network, and [`Error::Core`] if the public part is damaged or its scheme is unknown or not
    /// private.
    ///
    /// [`Error::BadUrl`]: crate::Error::BadUrl
    /// [`Error::NoSuchDatabase`]: crate::Error::NoSuchDatabase
    /// [`Error::ChooseDatabase`]: crate::Error::ChooseDatabase
    /// [`Error::Core`]: crate::Error::Core
    pub async fn open(url: &str, database: Option<&str>) -> Result<Self> {
        Self::open_with(url, &Options::of_database(database)).await
    }

    /// Like [`Connection::open`], but also allows schemes that are not private, in which the server
    /// learns which record is read.
    ///
    /// # Errors
    /// The errors of [`Connection::open`], except for schemes that are not private.
    pub async fn open_even_if_not_private(url: &str, database: Option<&str>) -> Result<Self> {
        let options = Options {
            allow_not_private: true,
            ..Options::of_database(database)
        };
        Self::open_with(url, &options).await
    }

    /// Like [`Connection::open`], with options.
    ///
    /// # Errors
    /// The errors of [`Connection::open`]; errors of the options: `TokenInClear`, `BadCa`,
    /// `BadIdentity`, `BadProxy`; errors of verification: `NoCheckpoint`, `Checkpoint`, `Root`,
    /// `OtherName`; `TooLarge`, `TimedOut`, and errors of client state.
    pub async fn open_with(url: &str, options: &Options) -> Result<Self> {
        let service = options.service(url)?;
        let transport = Transport::new(service.address(), options)?;
        let session = transport
            .run(Session::open(service, options.settings()))
            .await?;
        Ok(Self { session, transport })
    }

    /// In schemes with client keys, registers with the service or resumes the saved registration.
    /// Lookups do this themselves. Call it earlier to send large keys ahead of time. If the
    /// database changes meanwhile, it starts again from the new public part, at most six times.
    ///
    /// # Errors
    /// Errors of the network, of the service, and of client state, such as
    /// [`Error::Passphrase`](crate::Error::Passphrase).
    pub async fn register(&mut self) -> Result<()> {
        self.run(Session::register_owned).await
    }

    /// The server's description of the database.
    pub fn info(&self) -> &DatabaseInfo {
        self.session.info()
    }

    /// The lookup client of the current version, which knows its sizes, security and parameters.
    pub fn lookup(&self) -> &Lookup {
        self.session.lookup()
    }

    /// The owner's checkpoint of the current version; `None` if the database is not signed.
    pub fn checkpoint(&self) -> Option<&Accepted> {
        self.session.checkpoint()
    }

    /// The costs since the connection was opened. Futures that were dropped do not count.
    pub fn costs(&self) -> Costs {
        self.session.costs()
    }

    /// Does in advance the work of `lookups` lookups that does not depend on the keys or indices.
    /// In schemes with masks this decrypts masks, which takes seconds for each lookup. The
    /// connection and its clones keep the result in memory. Sends nothing except a missing
    /// registration.
    ///
    /// # Errors
    /// Errors of the network and of client state.
    pub async fn prepare_ahead(&mut self, lookups: usize) -> Result<()> {
        self.run(|session| session.prepare_ahead_owned(lookups))
            .await
    }

    /// Sends the LWE keys of up to `lookups` later lookups ahead, and stores them with the client's
    /// state. These lookups are shorter, need no ticket and are faster to decode. Returns the
    /// number of lookups for which keys are stored. The tickets that the service prepares ahead
    /// limit it. The keys are valid for this version of the database only.
    ///
    /// # Errors
    /// Errors of the network, of the service and of client state; [`papir_core::Error::Parameters`]
    /// for a scheme that sends no keys ahead.
    pub async fn hold_ahead(&mut self, lookups: usize) -> Result<usize> {
        self.run(|session| session.hold_ahead_owned(lookups)).await
    }

    /// The value of a key; `None` if the database does not have the key.
    ///
    /// # Errors
    /// Errors of the network, of the service, and of [`papir_lookup::Pending::finish`].
    pub async fn get_key(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get_keys(&[key]).await?.into_iter().next().flatten())
    }

    /// The values of several keys, in order. The server learns the number of keys.
    ///
    /// # Errors
    /// The errors of [`Connection::get_key`]. One failure fails all lookups.
    pub async fn get_keys<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        let wanted = keys
            .iter()
            .map(|key| OwnedWanted::Key(Zeroizing::new(key.as_ref().to_vec())))
            .collect();
        self.run(|session| session.get_owned(wanted)).await
    }

    /// The record at an index.
    ///
    /// # Errors
    /// The errors of [`Connection::get_key`]. For an index beyond the last record,
    /// [`papir_core::Error::IndexOutOfRange`] after the answer: the connection queries record 0
    /// instead, so that the server, which chooses the number of records, cannot observe it.
    pub async fn get_index(&mut self, index: u64) -> Result<Vec<u8>> {
        Ok(self
            .get_indices(&[index])
            .await?
            .into_iter()
            .next()
            .unwrap_or_default())
    }

    /// The records at several indices, in order. The server learns the number of indices.
    ///
    /// # Errors
    /// The errors of [`Connection::get_index`]. One failure fails all lookups.
    pub async fn get_indices(&mut self, indices: &[u64]) -> Result<Vec<Vec<u8>>> {
        let wanted = indices
            .iter()
            .map(|&index| OwnedWanted::Index(Zeroizing::new(index)))
            .collect();
        let values = self.run(|session| session.get_owned(wanted)).await?;
        Ok(values.into_iter().map(Option::unwrap_or_default).collect())
    }

    /// Sets the time at which later calls end, in place of an earlier deadline.
    pub(super) fn end_by(&mut self, deadline: Option<Instant>) {
        self.transport.calls.end_by(deadline);
    }

    /// The time limits of the connection's calls.
    pub(super) fn calls(&self) -> &CallRules {
        &self.transport.calls
    }

    /// Runs a task with a clone of the session. When the task is done, the clone replaces the
    /// session.
    async fn run<T: Send + 'static>(
        &mut self,
        task: impl FnOnce(Session) -> Task<'static, (Session, Result<T>)>,
    ) -> Result<T> {
        let task = task(self.session.clone());
        let (session, outcome) = self.transport.run_any(task).await?;
        self.session = session;
        outcome
    }
}
