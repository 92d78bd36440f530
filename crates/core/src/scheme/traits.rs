//! Traits of a scheme, its server, client and optional sides.

use std::marker::PhantomData;
use std::ops::Range;

use rand_core::CryptoRng;

use super::changes::UpdateEstimate;
use super::messages::{Never, Wire, nothing_ahead};
use super::parameters::Parameters;
use super::registration::StateNumbers;
use crate::device::{Device, TileShape};
use crate::scratch::{Piece, Scratch};
use crate::sections::{SectionSink, SectionSource};
use crate::{
    AlignedBytes, Blob, Change, DividedDescription, Error, NoProgress, Privacy, Progress, Record,
    Records, Result,
};

/// The server's data for the client of a query: its registered keys and an unused ticket.
pub struct Session<'a, S: Scheme> {
    /// Registered keys.
    pub keys: Option<&'a KeysOf<S>>,
    /// A single-use ticket.
    pub ticket: Option<&'a TicketOf<S>>,
}

/// A private information retrieval scheme.
pub trait Scheme: Send + Sync + Sized + 'static {
    /// The scheme's name on the command line.
    const NAME: &'static str;
    /// The scheme's number on the wire; never reused.
    const ID: u16;
    /// The scheme's privacy.
    const PRIVACY: Privacy;
    /// The operations on databases divided among machines; `None` if the scheme does not support
    /// division.
    const DIVIDED: Option<&'static dyn DividedScheme<Self>> = None;
    /// The preparation of slices by tasks; `None` if all of a database is prepared together.
    const TASKS: Option<&'static dyn SliceTasks<Self>> = None;
    /// The part of an answer that a device computes; `None` if there is none.
    const DEVICE: Option<&'static dyn OnDevice<Self>> = None;

    /// Checked parameters.
    type Params: Parameters;
    /// The public part, with which a client starts: the seed of the common reference string and, in
    /// some schemes, a hint.
    type Public: Wire<Self::Params> + Clone + Sync;
    /// The message from client to server.
    type Query: Wire<Self::Params> + Sync;
    /// The message from server to client.
    type Answer: Wire<Self::Params>;
    /// The secret that decodes one answer. It is not `Clone`, because [`Client::extract`] consumes
    /// it.
    type Secret: Send + 'static;
    /// The types of registered clients: [`RegisteredWith`], or [`Unregistered`] in schemes without
    /// client keys.
    type Registration: SchemeRegistration<Self>;
    /// The server's side.
    type Server: Server<Self>;
    /// The client's side.
    type Client: Client<Self>;
}

/// The types of a scheme's registered clients, and the registered sides of its clients and servers.
pub trait SchemeRegistration<S: Scheme>: 'static {
    /// The registered sides; `None` in schemes without client keys.
    const SIDES: Option<RegisteredSides<S>>;
    /// True if keys made for an earlier version of a database are valid for each later one under
    /// whose parameters they parse.
    const KEYS_FIT: bool;

    /// The keys that a client registers with the server.
    type Keys: Wire<S::Params> + Sync + 'static;
    /// The secret, persistent state of a registered client.
    type State: Wire<S::Params> + 'static;
    /// The server's precomputation for one query of a registered client, or [`Never`].
    type Ticket: Wire<S::Params> + Sync;
}

/// The registered sides of a scheme's clients and servers.
pub struct RegisteredSides<S: Scheme> {
    /// The registered side of a client.
    pub client: fn(&S::Client) -> &dyn RegisteredClient<S>,
    /// The registered side of a server.
    pub server: fn(&S::Server) -> &dyn RegisteredServer<S>,
}

impl<S: Scheme> RegisteredSides<S>
where
    S::Client: RegisteredClient<S>,
    S::Server: RegisteredServer<S>,
{
    /// The sides that the types of client and server implement.
    pub const OF_TYPES: Self = Self {
        client: |client| client,
        server: |server| server,
    };
}

/// The keys that clients of a scheme register.
pub type KeysOf<S> = <<S as Scheme>::Registration as SchemeRegistration<S>>::Keys;
/// The state of registered clients of a scheme.
pub type StateOf<S> = <<S as Scheme>::Registration as SchemeRegistration<S>>::State;
/// The tickets of registered clients of a scheme.
pub type TicketOf<S> = <<S as Scheme>::Registration as SchemeRegistration<S>>::Ticket;

/// The registration of a scheme without client keys.
pub enum Unregistered {}

impl<S: Scheme> SchemeRegistration<S> for Unregistered {
    const SIDES: Option<RegisteredSides<S>> = None;
    const KEYS_FIT: bool = false;

    type Keys = Never;
    type State = Never;
    type Ticket = Never;
}

/// The registration of a scheme with these keys, client states and tickets, whose keys depend on
/// the parameters only.
pub struct RegisteredWith<Keys, State, Ticket>(PhantomData<(Keys, State, Ticket)>);

impl<S, Keys, State, Ticket> SchemeRegistration<S> for RegisteredWith<Keys, State, Ticket>
where
    S: Scheme,
    S::Client: RegisteredClient<S>,
    S::Server: RegisteredServer<S>,
    Keys: Wire<S::Params> + Sync + 'static,
    State: Wire<S::Params> + 'static,
    Ticket: Wire<S::Params> + Sync + 'static,
{
    const SIDES: Option<RegisteredSides<S>> = Some(RegisteredSides::<S>::OF_TYPES);
    const KEYS_FIT: bool = true;

    type Keys = Keys;
    type State = State;
    type Ticket = Ticket;
}

/// A prepared database. Answering never modifies it.
pub trait Server<S: Scheme>: Send + Sync + Sized + 'static {
    /// True if [`Server::setup_resumable`] has all data that grows with the number of records in
    /// its scratch, so that a scratch in storage bounds its memory.
    const BOUNDED_MEMORY: bool = false;

    /// Prepares a database. Draws the public seed from `rng`.
    ///
    /// # Errors
    /// The errors of the source, [`Error::Parameters`] if the shape does not match the parameters,
    /// or [`Error::OwnerKey`] if the database is to be encrypted and the owner's key is missing.
    fn setup(
        params: S::Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self>;

    /// Prepares a database like [`Server::setup`], but keeps finished parts in `scratch`, where the
    /// next setup finds them. Large databases take hours. By default, keeps nothing.
    ///
    /// # Errors
    /// The errors of [`Server::setup`] and of `scratch`.
    fn setup_resumable(
        params: S::Params,
        records: &dyn Records,
        _scratch: &mut dyn Scratch,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::setup(params, records, rng, progress)
    }

    /// The parameters.
    fn params(&self) -> &S::Params;

    /// The public part, which clients need to start.
    fn public(&self) -> &S::Public;

    /// Answers queries of different clients, in order, with one pass over the database. Reports the
    /// stages of the computation to `progress`; their names reveal nothing about a query.
    ///
    /// # Errors
    /// [`Error::Session`] if a session lacks keys or a ticket that the scheme needs. One failure
    /// fails the whole batch.
    fn answer_many(
        &self,
        batch: Vec<(Session<'_, S>, &S::Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<S::Answer>>;

    /// Answers one query: [`Server::answer_many`] with a batch of one.
    ///
    /// # Errors
    /// The errors of [`Server::answer_many`].
    fn answer(&self, session: Session<'_, S>, query: &S::Query) -> Result<S::Answer> {
        let answer = self.answer_many(vec![(session, query)], &NoProgress)?.pop();
        answer.ok_or(Error::Length {
            what: "a batch of answers",
            found: 0,
            expected: 1,
        })
    }

    /// Predicts the cost of [`Server::update`] with these changes. By default, this is the cost of
    /// a new setup, or nothing without changes.
    ///
    /// # Errors
    /// The errors of [`check_changes`](super::check_changes).
    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        UpdateEstimate::of_setup(self.params(), changes)
    }

    /// Creates a new prepared database in which these records are changed.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] or [`Error::Length`] for a change that does not match the shape,
    /// or [`Error::OwnerKey`] if the database is encrypted and the owner's key is missing.
    fn update(
        &self,
        changes: &[Change],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self>;

    /// Reads records back from the prepared database, with the contract of
    /// [`Records::read_packed`]. Reading a few records is cheaper than reading all.
    ///
    /// # Errors
    /// The errors of [`Records::read_packed`], and [`Error::OwnerKey`] if the database is encrypted
    /// and the owner's key is missing; by default [`Error::Unreadable`].
    fn read_packed(&self, _first: u64, _count: u64, _out: &mut [u8]) -> Result<()> {
        Err(Error::Unreadable { scheme: S::NAME })
    }

    /// Writes everything except the parameters as sections.
    ///
    /// # Errors
    /// The errors of the sink.
    fn save(&self, sink: &mut dyn SectionSink) -> Result<()>;

    /// Loads a prepared database from the sections that [`Server::save`] wrote.
    ///
    /// # Errors
    /// The errors of the source, for example [`Error::MissingSection`], and [`Error::Length`] or
    /// [`Error::Malformed`].
    fn load(params: S::Params, source: &dyn SectionSource) -> Result<Self>;
}

/// The registered side of a server: tickets.
pub trait RegisteredServer<S: Scheme> {
    /// Prepares the ticket with this number for a registered client. A number has the same mask in
    /// every version, so no number may be used twice.
    ///
    /// `earlier` is the ticket of this number of an earlier version, which a scheme may convert
    /// for less than a fresh ticket costs.
    ///
    /// # Errors
    /// By default [`Error::Session`]: there are schemes with keys and without tickets.
    fn ticket(
        &self,
        _keys: &KeysOf<S>,
        _number: u64,
        _earlier: Option<EarlierTicket<'_, S>>,
        _progress: &dyn Progress,
    ) -> Result<TicketOf<S>> {
        Err(Error::Session {
            scheme: S::NAME,
            what: "no ticket",
        })
    }
}

/// A ticket of an earlier version of a database, and that version, which is still in memory.
pub struct EarlierTicket<'a, S: Scheme> {
    /// The earlier version.
    pub server: &'a S::Server,
    /// Its ticket.
    pub ticket: TicketOf<S>,
}

/// A scheme part of whose answers a device computes: see [`Scheme::DEVICE`].
pub trait OnDevice<S: Scheme>: Sync {
    /// The same database, whose matrices a device holds too and multiplies. Answers stay the same
    /// bit for bit. While the device fails, the CPU multiplies.
    ///
    /// # Errors
    /// The errors of [`Device::hold`].
    fn place(&self, server: &S::Server, device: &dyn Device) -> Result<DeviceServer<S>>;
}

/// A prepared database whose matrices a device holds.
pub struct DeviceServer<S: Scheme> {
    /// The database, which asks the device.
    pub server: S::Server,
    /// The shapes of the matrices.
    pub matrices: Vec<TileShape>,
}

/// A scheme whose prepared databases have slices: see [`Scheme::DIVIDED`].
pub trait DividedScheme<S: Scheme>: Sync {
    /// The slices of a database with these parameters, and the work of its answers.
    fn describe(&self, params: &S::Params) -> DividedDescription;

    /// Loads slices from the sections that [`Server::save`] wrote. Does not read data that belongs
    /// only to other slices.
    ///
    /// # Errors
    /// The errors of [`Server::load`] and [`Division::words_of`](crate::Division::words_of).
    fn load_shard(
        &self,
        params: S::Params,
        slices: Range<usize>,
        source: &dyn SectionSource,
    ) -> Result<Box<dyn Shard<S>>>;

    /// Loads the combiner's part of the sections that [`Server::save`] wrote.
    ///
    /// # Errors
    /// The errors of [`Server::load`].
    fn load_combiner(
        &self,
        params: S::Params,
        source: &dyn SectionSource,
    ) -> Result<Box<dyn Combiner<S>>>;
}

/// Preparation of slices by tasks: see [`Scheme::TASKS`].
pub trait SliceTasks<S: Scheme>: Sync {
    /// Divides the columns of a database among `tasks` tasks that encode them.
    fn column_ranges(&self, params: &S::Params, tasks: usize) -> Vec<Range<usize>>;

    /// Encodes a range of columns, as [`Server::setup`] does with the same
    /// randomness.
    ///
    /// # Errors
    /// The errors of [`Server::setup`].
    fn encode(
        &self,
        params: &S::Params,
        columns: Range<usize>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<AlignedBytes>;

    /// Prepares a range of slices from the encodings of all ranges of columns, in order. Returns
    /// one piece for each part of a preparation. The pieces of all slices joined are the parts that
    /// [`Server::setup_resumable`] finds in its scratch.
    ///
    /// # Errors
    /// The errors of [`Server::setup`] and [`Division::words_of`](crate::Division::words_of);
    /// [`Error::Length`] for other encodings.
    fn prepare(
        &self,
        params: &S::Params,
        slices: Range<usize>,
        encoded: &[Blob],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Vec<Piece>>;
}

/// A range of the slices of a prepared database. Answering never modifies it.
pub trait Shard<S: Scheme>: Send + Sync {
    /// Computes the words of these slices for queries of different clients, in order, in one pass
    /// over the slices.
    ///
    /// # Errors
    /// The errors of [`Server::answer_many`].
    fn partial_many(&self, queries: &[&S::Query], progress: &dyn Progress)
    -> Result<Vec<Vec<u64>>>;
}

/// A combiner, which makes answers from the words of all shards.
pub trait Combiner<S: Scheme>: Send + Sync {
    /// The public part, which clients need to start.
    fn public(&self) -> &S::Public;

    /// Answers queries of different clients, in order, from the words of all slices, in order.
    ///
    /// # Errors
    /// The errors of [`Server::answer_many`].
    fn combine_many(
        &self,
        batch: &[(&S::Query, &[u64])],
        progress: &dyn Progress,
    ) -> Result<Vec<S::Answer>>;
}

/// A client: makes queries and decodes answers.
pub trait Client<S: Scheme>: Send + Sync + Sized + 'static {
    /// Creates a client for one version of a database.
    ///
    /// # Errors
    /// [`Error::Malformed`] if the public part does not match the parameters.
    fn new(params: S::Params, public: S::Public) -> Result<Self>;

    /// The parameters.
    fn params(&self) -> &S::Params;

    /// Makes a query for `indices` and a fresh secret. The caller must store the changed state
    /// durably before it sends the query: key material that was used once must never be used again,
    /// even if the query is lost.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`], [`Error::BatchSize`], or [`Error::Session`] if required state is
    /// missing.
    fn query(
        &self,
        state: Option<&mut StateOf<S>>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(S::Secret, S::Query)>;

    /// Decodes the records, in the order of the query's indices. Consumes the secret: one secret
    /// decodes one answer.
    ///
    /// # Errors
    /// [`Error::NotDecodable`] if the answer does not decode. The caller must not reveal this
    /// before the exchange is over.
    fn extract(&self, secret: S::Secret, answer: S::Answer) -> Result<Vec<Record>>;
}

/// The registered side of a client: keys and state, numbers of queries, and keys sent ahead.
pub trait RegisteredClient<S: Scheme> {
    /// Makes keys to register and the state to keep. `kept` is the old state of a client that the
    /// server has evicted, parts of which a scheme may keep.
    ///
    /// # Errors
    /// The errors of key generation.
    fn register(
        &self,
        kept: Option<&StateOf<S>>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(StateOf<S>, KeysOf<S>)>;

    /// The next numbers of this state; by default none, as in a scheme without tickets.
    fn numbers(&self, _state: &StateOf<S>) -> StateNumbers {
        StateNumbers::default()
    }

    /// Returns true if state made for an earlier version of this database is valid for this one;
    /// the client's counterpart of [`SchemeRegistration::KEYS_FIT`].
    fn state_fits(&self, _state: &StateOf<S>) -> bool {
        false
    }

    /// Precomputes the parts of the next `queries` queries with this state that do not depend on
    /// their indices. The result is not saved with the state. By default, does nothing.
    ///
    /// # Errors
    /// The scheme's own errors; by default none.
    fn prepare(
        &self,
        _state: &mut StateOf<S>,
        _queries: usize,
        _progress: &dyn Progress,
    ) -> Result<()> {
        Ok(())
    }

    /// Makes the part of a later query that does not depend on its indices: a fresh secret's key.
    /// It uses the next ticket, and is answered like a query. As with a query, the caller must
    /// store the changed state durably before it sends the key.
    ///
    /// # Errors
    /// [`Error::Parameters`] in schemes whose clients send no keys ahead, as by default.
    fn send_ahead(&self, _state: &mut StateOf<S>, _rng: &mut dyn CryptoRng) -> Result<S::Query> {
        Err(nothing_ahead(S::NAME))
    }

    /// Stores the answer to the key that was sent ahead with ticket `_number`. A later query for
    /// this version uses the held key: it is shorter, and needs no ticket. Each held key makes the
    /// encoded state longer.
    ///
    /// # Errors
    /// [`Error::Malformed`] if no key was sent ahead with this ticket; [`Error::Parameters`] in
    /// schemes whose clients send no keys ahead, as by default.
    fn hold(&self, _state: &mut StateOf<S>, _number: u64, _answer: S::Answer) -> Result<()> {
        Err(nothing_ahead(S::NAME))
    }
}
