//! Registered clients and their servers, behind trait objects.

use std::any::Any;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::hedge::Circumstances;
use crate::scheme::StateNumbers;
use crate::{Progress, Result};

/// The state of a registered client of some scheme.
pub struct ErasedState(pub(super) Box<dyn Any + Send>);

/// Parsed client keys of some scheme.
pub struct ErasedKeys(pub(super) Box<dyn Any + Send + Sync>);

/// A ticket of an earlier version of a database, and that version, which is still in memory.
#[derive(Clone, Copy)]
pub struct EarlierErasedTicket<'a> {
    /// The registered side of the earlier version.
    pub server: &'a dyn ErasedRegisteredServer,
    /// Its ticket.
    pub ticket: &'a [u8],
}

/// The registered side of a server: see
/// [`ErasedServer::registered`](super::ErasedServer::registered).
///
/// `Any`, since an earlier version of a database is of use only if its type is the same.
pub trait ErasedRegisteredServer: Any + Send + Sync {
    /// Parses and checks enveloped client keys, once for all queries: see
    /// [`ErasedSession::keys`](super::ErasedSession::keys). Also accepts keys made for an earlier
    /// version of the database if they are valid for this one.
    ///
    /// # Errors
    /// The errors of the envelope and of parsing;
    /// [`Error::WrongVersion`](crate::Error::WrongVersion) for keys that are not valid for this
    /// version.
    fn accept_keys(&self, keys: &[u8]) -> Result<ErasedKeys>;

    /// Prepares the ticket with this number for registered keys. Converts the ticket of this number
    /// of an earlier version, if given; if that version used another scheme, the ticket is prepared
    /// afresh.
    ///
    /// # Errors
    /// The errors of [`RegisteredServer::ticket`](crate::scheme::RegisteredServer::ticket), and of
    /// parsing the earlier ticket.
    fn ticket(
        &self,
        keys: &ErasedKeys,
        number: u64,
        earlier: Option<EarlierErasedTicket<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>>;
}

/// The registered side of a client: see
/// [`ErasedClient::registered`](super::ErasedClient::registered).
pub trait ErasedRegisteredClient: Send + Sync {
    /// Makes keys to register (enveloped) and the state to keep. `kept` is the old state of a
    /// client that the server has evicted.
    ///
    /// The keys depend on the circumstances, the scheme, the version, the old state and 32 bytes
    /// from `rng`: [`Circumstances::none`] makes the same keys from the same bytes.
    ///
    /// # Errors
    /// The errors of [`RegisteredClient::register`](crate::scheme::RegisteredClient::register), and
    /// [`Error::Malformed`](crate::Error::Malformed) for state of another scheme.
    fn register_in(
        &self,
        kept: Option<&ErasedState>,
        circumstances: &Circumstances,
        rng: &mut dyn CryptoRng,
    ) -> Result<(ErasedState, Vec<u8>)>;

    /// The next numbers of this state.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) for state of another scheme.
    fn numbers(&self, state: &ErasedState) -> Result<StateNumbers>;

    /// Encodes the state in an envelope. The bytes are secret, and erased when dropped.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) for state of another scheme.
    fn save_state(&self, state: &ErasedState) -> Result<Zeroizing<Vec<u8>>>;

    /// Decodes state from [`ErasedRegisteredClient::save_state`], including state of an earlier
    /// version of the database if it is valid for this one.
    ///
    /// # Errors
    /// The errors of the envelope and of parsing;
    /// [`Error::WrongVersion`](crate::Error::WrongVersion) for state that is not valid for this
    /// version.
    fn load_state(&self, bytes: &[u8]) -> Result<ErasedState>;

    /// Precomputes the parts of the next `queries` queries with this state that do not depend on
    /// their indices. The bytes from [`ErasedRegisteredClient::save_state`] do not change.
    ///
    /// # Errors
    /// [`Error::Malformed`](crate::Error::Malformed) for state of another scheme.
    fn prepare(
        &self,
        state: &mut ErasedState,
        queries: usize,
        progress: &dyn Progress,
    ) -> Result<()>;

    /// Makes the key of a future query, in the envelope of a query. Save the state before the key
    /// is sent.
    ///
    /// # Errors
    /// The errors of [`RegisteredClient::send_ahead`](crate::scheme::RegisteredClient::send_ahead).
    fn send_ahead(&self, state: &mut ErasedState, rng: &mut dyn CryptoRng) -> Result<Vec<u8>>;

    /// Stores the enveloped answer to the key that was sent ahead with this number. Save the state
    /// afterwards.
    ///
    /// # Errors
    /// The errors of the envelope and
    /// [`RegisteredClient::hold`](crate::scheme::RegisteredClient::hold).
    fn hold(&self, state: &mut ErasedState, number: u64, answer: &[u8]) -> Result<()>;
}

impl dyn ErasedRegisteredClient + '_ {
    /// Makes keys to register (enveloped) and the state to keep. Two calls make different keys,
    /// even if `rng` repeats.
    ///
    /// # Errors
    /// The errors of [`ErasedRegisteredClient::register_in`].
    pub fn register(&self, rng: &mut dyn CryptoRng) -> Result<(ErasedState, Vec<u8>)> {
        self.register_in(None, &Circumstances::now(), rng)
    }
}
