//! The interface of a scheme over bytes, behind trait objects.
//!
//! For servers, command lines and bindings. [`Erased`] turns any [`Scheme`](crate::scheme::Scheme)
//! into it.

mod client;
mod combined;
mod divided;
mod hedged;
mod identity;
mod messages;
mod partial;
mod terms;
mod typed;

use std::any::Any;

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::device::{Device, TileShape};
use crate::hedge::Circumstances;
use crate::scheme::UpdateEstimate;
use crate::scratch::Scratch;
use crate::sections::{SectionSink, SectionSource};
use crate::{
    Candidate, Change, Choice, Description, Division, Error, FailureBound, Goal, NoProgress,
    NotPrivate, OwnerKey, Privacy, Progress, Record, Records, Result, Shape, Target, Version,
};

pub use combined::{Combined, Shards};
pub use divided::{ErasedCombiner, ErasedDivided, ErasedShard, ErasedTasks};
pub use identity::{parameters_of, scheme_of, scheme_of_public, version_of};
pub use typed::{Erased, candidate_of, setup_with};

/// The error of a scheme that returns fewer answers than queries.
const TOO_FEW: Error = Error::Length {
    what: "a batch of answers",
    found: 0,
    expected: 1,
};

/// The clients of a scheme behind a trait object. A program that has a scheme as nothing else
/// contains no code of its server.
pub trait ErasedClientScheme: Send + Sync {
    /// The scheme's name on the command line.
    fn name(&self) -> &'static str;

    /// The scheme's number on the wire.
    fn id(&self) -> u16;

    /// The scheme's privacy.
    fn privacy(&self) -> Privacy;

    /// Creates a client from the public part of a prepared database ([`ErasedServer::public`]),
    /// under the terms of [`ErasedScheme::allow_insecure`] and [`ErasedScheme::with_owner_key`].
    ///
    /// # Errors
    /// The errors of [`envelope::open`](crate::envelope::open) and
    /// [`Client::new`](crate::scheme::Client::new), and [`Error::NotPrivate`].
    fn client_with(
        &self,
        public: &[u8],
        acknowledgement: Option<NotPrivate>,
        owner: Option<&OwnerKey>,
    ) -> Result<Box<dyn ErasedClient>>;
}

/// A scheme behind a trait object.
pub trait ErasedScheme: ErasedClientScheme {
    /// The same scheme, with the caller's acknowledgement that it need not be private: see
    /// [`Parameters::allow_insecure`](crate::scheme::Parameters::allow_insecure).
    fn allow_insecure(&self, acknowledgement: NotPrivate) -> Box<dyn ErasedScheme>;

    /// The same scheme with the database owner's key: it can prepare encrypted databases, read them
    /// back and register clients. A scheme without encrypted databases fails in every operation:
    /// see [`Parameters::with_owner_key`](crate::scheme::Parameters::with_owner_key). `None` leaves
    /// the scheme unchanged.
    fn with_owner_key(&self, owner: Option<&OwnerKey>) -> Box<dyn ErasedScheme>;

    /// Describes the parameters for this shape and goal, without preparing anything.
    ///
    /// # Errors
    /// The errors of [`Parameters::choose`](crate::scheme::Parameters::choose).
    fn plan(&self, shape: Shape, goal: Goal) -> Result<Description>;

    /// All parameters worth comparing for this shape and failure probability, without preparing
    /// anything.
    ///
    /// # Errors
    /// The errors of [`Parameters::candidates`](crate::scheme::Parameters::candidates).
    fn candidates(&self, shape: Shape, failure: FailureBound) -> Result<Vec<Candidate>>;

    /// The best parameters for this shape and target, without preparing anything.
    ///
    /// # Errors
    /// The errors of [`Parameters::choose`](crate::scheme::Parameters::choose).
    fn candidate_for(&self, shape: Shape, target: Target) -> Result<Candidate>;

    /// The parameters of a choice, without preparing anything.
    ///
    /// # Errors
    /// The errors of [`Parameters::with_choice`](crate::scheme::Parameters::with_choice).
    fn candidate(&self, shape: Shape, choice: Choice) -> Result<Candidate>;

    /// Prepares a database with the parameters of a candidate.
    ///
    /// # Errors
    /// The errors of [`Parameters::decode`](crate::scheme::Parameters::decode) and
    /// [`Server::setup`](crate::scheme::Server::setup), and [`Error::NotPrivate`].
    fn setup_candidate(
        &self,
        parameters: &[u8],
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>>;

    /// [`Server::BOUNDED_MEMORY`](crate::scheme::Server::BOUNDED_MEMORY).
    fn bounded_memory(&self) -> bool {
        false
    }

    /// [`ErasedScheme::setup_candidate`], which keeps finished parts of a long preparation in
    /// `scratch` and finds them there.
    ///
    /// # Errors
    /// The errors of [`ErasedScheme::setup_candidate`] and of `scratch`.
    fn setup_resumable(
        &self,
        parameters: &[u8],
        records: &dyn Records,
        _scratch: &mut dyn Scratch,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        self.setup_candidate(parameters, records, rng, progress)
    }

    /// Chooses parameters for a goal, with the default failure probability, and prepares a
    /// database.
    ///
    /// # Errors
    /// The errors of [`Parameters::choose`](crate::scheme::Parameters::choose) and
    /// [`Server::setup`](crate::scheme::Server::setup), and [`Error::NotPrivate`].
    fn setup(
        &self,
        records: &dyn Records,
        goal: Goal,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>>;

    /// Loads a prepared database from its sections.
    ///
    /// # Errors
    /// The errors of [`Server::load`](crate::scheme::Server::load), [`Error::WrongScheme`] and
    /// [`Error::NotPrivate`].
    fn load(&self, source: &dyn SectionSource) -> Result<Box<dyn ErasedServer>>;

    /// The division of a database of this scheme among machines.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a scheme whose databases have no slices.
    fn divided(&self) -> Result<Box<dyn ErasedDivided + '_>> {
        Err(Division::none(self.name()))
    }

    /// Creates a client from the public part of a prepared database ([`ErasedServer::public`]).
    ///
    /// # Errors
    /// The errors of [`ErasedClientScheme::client_with`].
    fn client(&self, public: &[u8]) -> Result<Box<dyn ErasedClient>> {
        self.client_with(public, None, None)
    }
}

/// The server's data for one client.
#[derive(Clone, Copy, Default)]
pub struct ErasedSession<'a> {
    /// Registered keys, accepted by the same prepared database.
    pub keys: Option<&'a ErasedKeys>,
    /// A single-use ticket.
    pub ticket: Option<&'a [u8]>,
}

/// A prepared database behind a trait object.
pub trait ErasedServer: Send + Sync {
    /// Sizes, security, limits, parameters.
    fn describe(&self) -> Description;

    /// The database's version.
    fn version(&self) -> Version;

    /// The public part, in an envelope.
    fn public(&self) -> Vec<u8>;

    /// Answers an enveloped query with an enveloped answer.
    ///
    /// # Errors
    /// The errors of the envelope, [`Error::WrongVersion`], and of
    /// [`Server::answer`](crate::scheme::Server::answer).
    fn answer(&self, session: ErasedSession<'_>, query: &[u8]) -> Result<Vec<u8>> {
        let answer = self.answer_many(&[(session, query)], &NoProgress).pop();
        answer.unwrap_or(Err(TOO_FEW))
    }

    /// Answers several queries with one pass over the database; returns one result per query.
    /// Reports parsing, the stages of [`Server::answer_many`](crate::scheme::Server::answer_many)
    /// and sealing to `progress`.
    fn answer_many(
        &self,
        batch: &[(ErasedSession<'_>, &[u8])],
        progress: &dyn Progress,
    ) -> Vec<Result<Vec<u8>>>;

    /// Checks an enveloped query without answering it.
    ///
    /// # Errors
    /// The errors of the envelope, [`Error::WrongVersion`], and of parsing.
    fn check_query(&self, query: &[u8]) -> Result<()>;

    /// Parses and checks enveloped client keys, once for all queries: see [`ErasedSession::keys`].
    /// Also accepts keys made for an earlier version of the database if they are valid for this
    /// one.
    ///
    /// # Errors
    /// The errors of the envelope and of parsing; [`Error::WrongVersion`] for keys that are not
    /// valid for this version.
    fn accept_keys(&self, keys: &[u8]) -> Result<ErasedKeys>;

    /// Prepares the ticket with this number for registered keys.
    ///
    /// # Errors
    /// The errors of [`RegisteredServer::ticket`](crate::scheme::RegisteredServer::ticket).
    fn ticket(&self, keys: &ErasedKeys, number: u64, progress: &dyn Progress) -> Result<Vec<u8>>;

    /// Converts a ticket prepared by an earlier version of this database, still in memory, to this
    /// version, keeping its number. Prepares a fresh ticket if the earlier version used another
    /// scheme.
    ///
    /// # Errors
    /// The errors of [`RegisteredServer::follow`](crate::scheme::RegisteredServer::follow), and of
    /// parsing the ticket.
    fn follow(
        &self,
        earlier: (&dyn ErasedServer, &[u8]),
        keys: &ErasedKeys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>>;

    /// The prepared database itself, for [`ErasedServer::follow`].
    fn as_any(&self) -> &dyn Any;

    /// Predicts the cost of [`ErasedServer::update`] with these changes.
    ///
    /// # Errors
    /// The errors of [`Server::update_cost`](crate::scheme::Server::update_cost).
    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate>;

    /// Creates the database with some records changed, under a new version.
    ///
    /// # Errors
    /// The errors of [`Server::update`](crate::scheme::Server::update).
    fn update(
        &self,
        changes: &[Change],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>>;

    /// The matrices that a device holds of the database; none for a scheme that has no work for a
    /// device.
    fn device_matrices(&self) -> Vec<TileShape> {
        Vec::new()
    }

    /// The same version of the database, whose matrices a device holds too and multiplies.
    ///
    /// # Errors
    /// The errors of [`Server::on_device`](crate::scheme::Server::on_device).
    fn on_device(&self, _device: &dyn Device) -> Result<Box<dyn ErasedServer>> {
        Err(Error::NoSuchParameter {
            scheme: self.describe().scheme,
            what: "work for a device",
        })
    }

    /// Reads records back from the prepared database, as [`Records::read_packed`] does from a
    /// source; see also [`crate::PreparedRecords`].
    ///
    /// # Errors
    /// The errors of [`Server::read_packed`](crate::scheme::Server::read_packed).
    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()>;

    /// Writes the prepared database as named sections, for [`ErasedScheme::load`].
    ///
    /// # Errors
    /// The errors of the sink.
    fn save(&self, sink: &mut dyn SectionSink) -> Result<()>;
}

/// A client behind a trait object.
pub trait ErasedClient: Send + Sync {
    /// Sizes, security, limits, parameters.
    fn describe(&self) -> Description;

    /// The version that the client makes queries for.
    fn version(&self) -> Version;

    /// Makes keys to register (enveloped) and the state to keep; `None` in schemes without client
    /// keys. Two calls make different keys, even if `rng` repeats.
    ///
    /// # Errors
    /// The errors of [`ErasedClient::register_in`].
    fn register(&self, rng: &mut dyn CryptoRng) -> Result<Option<(ErasedState, Vec<u8>)>> {
        self.register_in(None, &Circumstances::now(), rng)
    }

    /// Registers a client again that the server has evicted, from the client's old state.
    ///
    /// # Errors
    /// The errors of [`ErasedClient::register_in`].
    fn register_again(
        &self,
        kept: &ErasedState,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<(ErasedState, Vec<u8>)>> {
        self.register_in(Some(kept), &Circumstances::now(), rng)
    }

    /// Registers a client, again if it has `kept` an old state, in circumstances that the caller
    /// knows. The keys depend on them, the scheme, the version, the old state and 32 bytes from
    /// `rng`: [`Circumstances::none`] makes the same keys from the same bytes.
    ///
    /// # Errors
    /// The errors of [`RegisteredClient::register`](crate::scheme::RegisteredClient::register) and
    /// [`RegisteredClient::register_again`](crate::scheme::RegisteredClient::register_again), and
    /// [`Error::Malformed`] for state of another scheme.
    fn register_in(
        &self,
        kept: Option<&ErasedState>,
        circumstances: &Circumstances,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<(ErasedState, Vec<u8>)>>;

    /// The number of the next unused ticket of this state.
    ///
    /// # Errors
    /// [`Error::Malformed`] for state of another scheme.
    fn next_ticket(&self, state: &ErasedState) -> Result<Option<u64>>;

    /// The number of the next query with this state: see
    /// [`RegisteredClient::next_number`](crate::scheme::RegisteredClient::next_number).
    ///
    /// # Errors
    /// [`Error::Malformed`] for state of another scheme.
    fn next_number(&self, state: &ErasedState) -> Result<Option<u64>>;

    /// The number of held keys. As many of the next queries need no ticket.
    ///
    /// # Errors
    /// [`Error::Malformed`] for state of another scheme.
    fn held(&self, state: &ErasedState) -> Result<usize>;

    /// Encodes the state in an envelope. The bytes are secret, and erased when dropped.
    ///
    /// # Errors
    /// [`Error::Malformed`] for state of another scheme.
    fn save_state(&self, state: &ErasedState) -> Result<Zeroizing<Vec<u8>>>;

    /// Decodes state from [`ErasedClient::save_state`], including state of an earlier version of
    /// the database if it is valid for this one.
    ///
    /// # Errors
    /// The errors of the envelope and of parsing; [`Error::WrongVersion`] for state that is not
    /// valid for this version.
    fn load_state(&self, bytes: &[u8]) -> Result<ErasedState>;

    /// Precomputes the parts of the next `queries` queries with this state that do not depend on
    /// their indices. The bytes from [`ErasedClient::save_state`] do not change.
    ///
    /// # Errors
    /// [`Error::Malformed`] for state of another scheme.
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

    /// Makes an enveloped query and a fresh secret. Save the state before the query is sent.
    ///
    /// # Errors
    /// The errors of [`Client::query`](crate::scheme::Client::query).
    fn query(
        &self,
        state: Option<&mut ErasedState>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(ErasedSecret, Vec<u8>)>;

    /// Decodes an enveloped answer, consuming the secret.
    ///
    /// # Errors
    /// The errors of the envelope and [`Client::extract`](crate::scheme::Client::extract).
    fn extract(&self, secret: ErasedSecret, answer: &[u8]) -> Result<Vec<Record>>;
}

/// A secret of some scheme; decodes one answer.
pub struct ErasedSecret(Box<dyn Any + Send>);

/// The state of a registered client of some scheme.
pub struct ErasedState(Box<dyn Any + Send>);

/// Parsed client keys of some scheme.
pub struct ErasedKeys(Box<dyn Any + Send + Sync>);
