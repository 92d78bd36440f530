//! A blocking connection to one database of a service.

use papir_lookup::{Lookup, Wanted};
use papir_protocol::DatabaseInfo;

use super::options::Options;
use super::transport::Transport;
use crate::core::{self, Costs, Session};
use crate::error::Result;

/// A private client of one database of a service. Clones share the public part and start with
/// the same costs.
#[derive(Clone)]
pub struct Connection {
    session: Session,
    transport: Transport,
    options: Options,
}

/// Checks that a service has loaded all its databases. Sends no token: none is needed.
///
/// # Errors
/// [`Error::BadUrl`](crate::Error::BadUrl), errors of the network, and
/// [`Error::Http`](crate::Error::Http) with status 503 while it is loading.
pub fn ready(url: &str, options: &Options) -> Result<()> {
    let options = Options { token: None, ..options.clone() };
    let service = options.service(url)?;
    Transport::new(service.address(), &options)?.run(core::ready(service))
}

impl Connection {
    /// Connects to a database: the one named, the one in the address, or the only one. Fetches its
    /// public part.
    ///
    /// # Errors
    /// [`Error::BadUrl`], [`Error::NoSuchDatabase`], [`Error::ChooseDatabase`], those of the
    /// network, and [`Error::Core`] for a public part that is damaged, of an unknown scheme, or of
    /// one that is not private.
    ///
    /// [`Error::BadUrl`]: crate::Error::BadUrl
    /// [`Error::NoSuchDatabase`]: crate::Error::NoSuchDatabase
    /// [`Error::ChooseDatabase`]: crate::Error::ChooseDatabase
    /// [`Error::Core`]: crate::Error::Core
    pub fn open(url: &str, database: Option<&str>) -> Result<Self> {
        Self::open_with(url, &Options::of_database(database))
    }

    /// As [`Connection::open`], also for schemes that show the server which record is read.
    ///
    /// # Errors
    /// As [`Connection::open`], except for schemes that are not private.
    pub fn open_even_if_not_private(url: &str, database: Option<&str>) -> Result<Self> {
        Self::open_with(url, &Options { allow_not_private: true, ..Options::of_database(database) })
    }

    /// As [`Connection::open`], with all options.
    ///
    /// # Errors
    /// As [`Connection::open`].
    pub fn open_with(url: &str, options: &Options) -> Result<Self> {
        let service = options.service(url)?;
        let transport = Transport::new(service.address(), options)?;
        let session = transport.run(Session::open(service, options.settings()))?;
        Ok(Self { session, transport, options: options.clone() })
    }

    /// Registers with the service, or resumes the saved registration, in schemes with client keys.
    /// Lookups do so themselves; as keys may be large, this is the moment they are sent. If the
    /// database changes meanwhile, starts again from its new public part, at most three times.
    ///
    /// # Errors
    /// Errors of the network, of the service, and of client state
    /// ([`Error::Passphrase`](crate::Error::Passphrase) and the like).
    pub fn register(&mut self) -> Result<()> {
        self.transport.run(self.session.register())
    }

    /// Another client of the same version: with sockets of its own and the same costs.
    ///
    /// # Errors
    /// [`Error::BadCa`](crate::Error::BadCa) if that file is gone.
    pub(crate) fn with_own_sockets(&self) -> Result<Self> {
        let transport = Transport::new(self.session.service().address(), &self.options)?;
        Ok(Self { transport, ..self.clone() })
    }

    /// The server's description of the database.
    pub fn info(&self) -> &DatabaseInfo {
        self.session.info()
    }

    /// The lookup client of the current version: exact sizes, security, parameters.
    pub fn lookup(&self) -> &Lookup {
        self.session.lookup()
    }

    /// The costs since the connection was opened.
    pub fn costs(&self) -> Costs {
        self.session.costs()
    }

    /// Does the work ahead that `lookups` lookups need whatever they ask for: decrypts masks, in
    /// schemes with masks, which takes seconds each. Kept in memory, for this connection and its
    /// clones. Nothing is sent except a registration, if there is none.
    ///
    /// # Errors
    /// Errors of the network and of client state.
    pub fn prepare_ahead(&mut self, lookups: usize) -> Result<()> {
        self.transport.run(self.session.prepare_ahead(lookups))
    }

    /// Fetches the tickets of the next `lookups` lookups, and keeps them with the client's state:
    /// their answers are shorter and faster to open. Returns for how many lookups it holds tickets,
    /// at most as many as the service prepares ahead. They are valid for this version of the
    /// database only.
    ///
    /// # Errors
    /// Errors of the network and of client state; [`papir_core::Error::Parameters`] for a scheme
    /// without such tickets.
    pub fn hold_ahead(&mut self, lookups: usize) -> Result<usize> {
        self.transport.run(self.session.hold_ahead(lookups))
    }

    /// The value of a key, or `None` if the database has no such key.
    ///
    /// # Errors
    /// Errors of the network, of the service, and of [`papir_lookup::Pending::finish`].
    pub fn get_key(&mut self, key: &[u8]) -> Result<Option<Vec<u8>>> {
        Ok(self.get(&[Wanted::Key(key)])?.into_iter().next().flatten())
    }

    /// The values of several keys, in their order. The server learns how many there are.
    ///
    /// # Errors
    /// As [`Connection::get_key`]; one failure fails them all.
    pub fn get_keys<K: AsRef<[u8]>>(&mut self, keys: &[K]) -> Result<Vec<Option<Vec<u8>>>> {
        let wanted: Vec<_> = keys.iter().map(|key| Wanted::Key(key.as_ref())).collect();
        self.get(&wanted)
    }

    /// The record at an index.
    ///
    /// # Errors
    /// As [`Connection::get_key`], and [`papir_core::Error::IndexOutOfRange`] before anything is
    /// sent.
    pub fn get_index(&mut self, index: u64) -> Result<Vec<u8>> {
        Ok(self.get_indices(&[index])?.into_iter().next().unwrap_or_default())
    }

    /// The records at several indices, in their order. The server learns how many there are.
    ///
    /// # Errors
    /// As [`Connection::get_index`]; one failure fails them all.
    pub fn get_indices(&mut self, indices: &[u64]) -> Result<Vec<Vec<u8>>> {
        let wanted: Vec<_> = indices.iter().map(|&index| Wanted::Index(index)).collect();
        Ok(self.get(&wanted)?.into_iter().map(Option::unwrap_or_default).collect())
    }

    fn get(&mut self, wanted: &[Wanted<'_>]) -> Result<Vec<Option<Vec<u8>>>> {
        self.transport.run(self.session.get(wanted))
    }
}
