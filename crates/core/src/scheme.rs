//! The interface in types: a scheme is its parameters, its messages, a server and a client.
//!
//! Designed so that hints, registered keys, single-use tickets and batches may each be empty:
//! SimplePIR has a hint, ZipPIR keys and tickets, Pirouette large keys, doubly-efficient PIR a
//! batch capacity of tens of thousands, InsPIRe none of them.

use std::fmt::Debug;
use std::ops::Range;

use rand_core::CryptoRng;

use crate::cost::Counts;
use crate::sections::{SectionSink, SectionSource};
use crate::{
    Change, Description, Error, NoProgress, NotPrivate, OwnerKey, Privacy, Progress, Record, Records, Result,
    Shape,
};

/// What parameters are chosen for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Goal {
    /// Fewest bytes sent and received.
    MinCommunication,
    /// Least time for a client on a 10 Mbit/s line: transfer plus answer.
    #[default]
    Balanced,
    /// Least work for the server.
    MinTime,
}

impl Goal {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::MinCommunication, Self::Balanced, Self::MinTime];

    /// Its name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::MinCommunication => "min-communication",
            Self::Balanced => "balanced",
            Self::MinTime => "min-time",
        }
    }
}

impl std::str::FromStr for Goal {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        match text {
            "min-communication" => Ok(Self::MinCommunication),
            "balanced" => Ok(Self::Balanced),
            "min-time" => Ok(Self::MinTime),
            other => Err(Error::malformed("a goal", other, "min-communication, balanced or min-time")),
        }
    }
}

/// How parameters are chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Choice {
    /// The scheme's choice for a goal.
    Goal(Goal),
    /// A first dimension of this many columns.
    Columns(u64),
    /// The scheme's choice for a goal, for clients that register.
    Registered {
        /// The goal.
        goal: Goal,
        /// Bits of the LWE key in one number of a query; the scheme's choice if `None`.
        key_bits: Option<usize>,
        /// Whether clients hold their tickets.
        hold: bool,
    },
    /// A first dimension of this many columns, its packs in units of this many 16-bit words: N/t
    /// and γ₀ of InsPIRe⁽²⁾.
    Packed {
        /// N/t.
        columns: u64,
        /// γ₀.
        words: u64,
    },
}

impl Choice {
    /// The error of a scheme that does not have what this choice fixes.
    pub fn refused_by(self, scheme: &'static str) -> Error {
        let what = match self {
            Self::Goal(_) => "parameters for this goal",
            Self::Columns(_) => "first dimension to fix",
            Self::Registered { .. } => "registered LWE keys",
            Self::Packed { .. } => "packed first level",
        };
        Error::NoSuchParameter { scheme, what }
    }
}

/// Checked parameters of a scheme for one database shape. Secure by construction: a constructor
/// refuses what the parameter table does not back with 128 bits.
pub trait Parameters: Clone + Debug + Send + Sync + Sized + 'static {
    /// The best parameters for a shape and a goal.
    ///
    /// # Errors
    /// [`Error::Parameters`] or [`Error::OutOfBounds`] when the scheme cannot take the shape.
    fn choose(shape: Shape, goal: Goal) -> Result<Self>;

    /// The parameters of a choice. Without an implementation of its own, a scheme has choices by
    /// goal only.
    ///
    /// # Errors
    /// As [`Parameters::choose`], and [`Error::NoSuchParameter`] for a choice that fixes what the
    /// scheme does not have.
    fn with_choice(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Goal(goal) => Self::choose(shape, goal),
            other => Err(other.refused_by(Self::choose(shape, Goal::Balanced)?.describe().scheme)),
        }
    }

    /// All parameters worth comparing for a shape; at least one. Where a scheme does not say
    /// otherwise, what it chooses for each goal, each once.
    ///
    /// # Errors
    /// As [`Parameters::choose`].
    fn candidates(shape: Shape) -> Result<Vec<Self>> {
        let chosen = Goal::ALL.map(|goal| Self::choose(shape, goal));
        let mut candidates = chosen.into_iter().collect::<Result<Vec<_>>>()?;
        let mut seen: Vec<Vec<u8>> = Vec::new();
        candidates.retain(|candidate| {
            let bytes = candidate.encode();
            let first = !seen.contains(&bytes);
            seen.push(bytes);
            first
        });
        Ok(candidates)
    }

    /// What tells them from other parameters for the same shape, in a few words.
    fn label(&self) -> String {
        String::new()
    }

    /// The shape they were chosen for.
    fn shape(&self) -> Shape;

    /// Sizes, security, failure probability, limits and the values by name.
    fn describe(&self) -> Description;

    /// The same parameters, with which servers and clients of a scheme may be made that asks for this word:
    /// one that looks private and is not. Nothing elsewhere. Not part of the parameters' bytes.
    #[must_use]
    fn allow_insecure(self, _word: NotPrivate) -> Self {
        self
    }

    /// The same parameters with the key of a database's owner, with which servers are set up and clients
    /// registered in schemes whose databases are encrypted. The key is no part of the parameters' bytes; what
    /// tells it from others is.
    ///
    /// # Errors
    /// [`Error::Parameters`] in all other schemes; [`Error::OwnerKey`] where the parameters name another key.
    fn with_owner_key(self, _key: &OwnerKey) -> Result<Self> {
        let scheme = self.describe().scheme;
        Err(Error::Parameters { scheme, reason: "its databases are not encrypted".to_owned() })
    }

    /// The parameters as bytes.
    fn encode(&self) -> Vec<u8>;

    /// Parses and checks parameters again.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Malformed`] or [`Error::Insecure`].
    fn decode(bytes: &[u8]) -> Result<Self>;
}

/// A message that is bytes on the wire; its lengths follow from the parameters.
pub trait Wire<P>: Sized + Send {
    /// The payload, without envelope.
    fn encode(&self, params: &P) -> Vec<u8>;

    /// Parses a payload.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Malformed`].
    fn decode(params: &P, bytes: &[u8]) -> Result<Self>;

    /// Which of its bytes all queries of one [`Client::query_each`] have in common; none, where a scheme
    /// does not say otherwise.
    fn shared(_params: &P) -> Range<usize> {
        0..0
    }
}

/// The message of schemes that have no such message (no client keys, no tickets).
#[derive(Debug, Clone, Copy)]
pub enum Never {}

impl<P> Wire<P> for Never {
    fn encode(&self, _params: &P) -> Vec<u8> {
        match *self {}
    }

    fn decode(_params: &P, bytes: &[u8]) -> Result<Self> {
        let found = format!("{} bytes", bytes.len());
        Err(Error::malformed("client keys or a ticket", found, "none: the scheme has none"))
    }
}

/// What the server holds for the client that asks: its registered keys and one unused ticket.
pub struct Session<'a, S: Scheme> {
    /// Registered keys.
    pub keys: Option<&'a S::ClientKeys>,
    /// A single-use ticket.
    pub ticket: Option<&'a S::Ticket>,
}

impl<'a, S: Scheme> Session<'a, S> {
    /// The registered keys, in schemes whose clients have them.
    ///
    /// # Errors
    /// [`Error::Session`] without.
    pub fn require_keys(&self) -> Result<&'a S::ClientKeys> {
        self.keys.ok_or(Error::Session { scheme: S::NAME, what: "client keys" })
    }

    /// The ticket, in schemes whose queries use one up.
    ///
    /// # Errors
    /// [`Error::Session`] without.
    pub fn require_ticket(&self) -> Result<&'a S::Ticket> {
        self.ticket.ok_or(Error::Session { scheme: S::NAME, what: "a ticket" })
    }

    /// A session of a client that registered nothing.
    pub fn anonymous() -> Self {
        Self { keys: None, ticket: None }
    }
}

/// What an update costs, said beforehand; at most this much, as what turns out the same is left as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct UpdateEstimate {
    /// The update.
    pub update: Counts,
    /// A setup of all records, for comparison; their source is read besides.
    pub setup: Counts,
}

/// A private information retrieval scheme.
pub trait Scheme: Send + Sync + Sized + 'static {
    /// The name on the command line.
    const NAME: &'static str;
    /// The number on the wire; never reused.
    const ID: u16;
    /// Whether it hides the index.
    const PRIVACY: Privacy;

    /// Checked parameters.
    type Params: Parameters;
    /// What a client starts from: seed of the common reference string and, for some, a hint.
    type Public: Wire<Self::Params> + Clone + Sync;
    /// What a client sends.
    type Query: Wire<Self::Params> + Sync;
    /// What the server sends back.
    type Answer: Wire<Self::Params>;
    /// What opens one answer, once. Not `Clone`: [`Client::extract`] consumes it.
    type Secret: Send + 'static;
    /// What a client registers with the server, or [`Never`].
    type ClientKeys: Wire<Self::Params> + Sync + 'static;
    /// What a registered client keeps across processes, or [`Never`]. Its bytes are secret.
    type ClientState: Wire<Self::Params> + 'static;
    /// What the server prepares for one query of a registered client, or [`Never`].
    type Ticket: Wire<Self::Params> + Sync;
    /// The server's side.
    type Server: Server<Self>;
    /// The client's side.
    type Client: Client<Self>;
}

/// A prepared database. Answering never changes it.
pub trait Server<S: Scheme>: Send + Sync + Sized + 'static {
    /// Prepares a database. Draws the public seed from `rng`.
    ///
    /// # Errors
    /// Those of the source, or [`Error::Parameters`] when shape and parameters differ.
    fn setup(
        params: S::Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self>;

    /// Prepares a database that clients ask together with others, all under one secret: it takes over from
    /// `first`, prepared under the same parameters, the public masks of what depends on the secret alone, and
    /// draws all others afresh. Nothing is taken over, where a scheme does not say otherwise.
    ///
    /// # Errors
    /// As [`Server::setup`].
    fn setup_sharing_keys(
        _first: &Self,
        params: S::Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::setup(params, records, rng, progress)
    }

    /// Its parameters.
    fn params(&self) -> &S::Params;

    /// What clients start from.
    fn public(&self) -> &S::Public;

    /// Answers queries of different clients, in order, with one read of the database. Reports the
    /// stages of the computation to `progress`; their names say nothing about a query.
    ///
    /// # Errors
    /// [`Error::Session`] if a session lacks what the scheme needs; one failure fails the batch.
    fn answer_many(
        &self,
        batch: Vec<(Session<'_, S>, &S::Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<S::Answer>>;

    /// Answers one query: [`Server::answer_many`] of one.
    ///
    /// # Errors
    /// As [`Server::answer_many`].
    fn answer(&self, session: Session<'_, S>, query: &S::Query) -> Result<S::Answer> {
        let answer = self.answer_many(vec![(session, query)], &NoProgress)?.pop();
        answer.ok_or(Error::Length { what: "a batch of answers", found: 0, expected: 1 })
    }

    /// Whether keys that were made for an earlier version of this database serve this one as they
    /// are. They parse under this version's parameters; a scheme whose keys depend on more says no.
    fn keys_fit(&self, _keys: &S::ClientKeys) -> bool {
        false
    }

    /// Prepares the ticket of this number for a registered client: the same mask for the same
    /// number in every version, so that no number may be used twice.
    ///
    /// # Errors
    /// [`Error::Session`] in schemes without tickets.
    fn ticket(&self, _keys: &S::ClientKeys, _number: u64, _progress: &dyn Progress) -> Result<S::Ticket> {
        Err(Error::Session { scheme: S::NAME, what: "no ticket, and prepares none" })
    }

    /// The ticket of this number for this version, from one of an earlier version of this database:
    /// prepared again, where a scheme does not say otherwise.
    ///
    /// # Errors
    /// As [`Server::ticket`].
    fn follow(
        &self,
        _earlier: (&Self, S::Ticket),
        keys: &S::ClientKeys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<S::Ticket> {
        self.ticket(keys, number, progress)
    }

    /// What [`Server::update`] with these changes would cost: a setup, or nothing for none, where a scheme does
    /// not say otherwise.
    ///
    /// # Errors
    /// As [`check_changes`].
    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        check_changes(&self.params().shape(), changes)?;
        let setup = self.params().describe().work.setup;
        let update = if changes.is_empty() { Counts::new() } else { setup.clone() };
        Ok(UpdateEstimate { update, setup })
    }

    /// The database with some records changed, as a new prepared database.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`] or [`Error::Length`] for a change that does not fit.
    fn update(&self, changes: &[Change], rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Self>;

    /// Reads records back from the prepared database, with the contract of [`Records::read_packed`]. A
    /// few records do not take the work of all.
    ///
    /// # Errors
    /// As [`Records::read_packed`]; [`Error::Unreadable`] where a scheme does not say otherwise.
    fn read_packed(&self, _first: u64, _count: u64, _out: &mut [u8]) -> Result<()> {
        Err(Error::Unreadable { scheme: S::NAME })
    }

    /// Writes everything but the parameters as sections.
    ///
    /// # Errors
    /// The sink's.
    fn save(&self, sink: &mut dyn SectionSink) -> Result<()>;

    /// Reads what [`Server::save`] wrote.
    ///
    /// # Errors
    /// [`Error::MissingSection`], [`Error::Length`] or [`Error::Malformed`].
    fn load(params: S::Params, source: &dyn SectionSource) -> Result<Self>;

    /// As [`Server::load`], of what was prepared with [`Server::setup_sharing_keys`].
    ///
    /// # Errors
    /// As [`Server::load`].
    fn load_sharing_keys(_first: &Self, params: S::Params, source: &dyn SectionSource) -> Result<Self> {
        Self::load(params, source)
    }
}

/// A client: makes queries and opens answers.
pub trait Client<S: Scheme>: Send + Sync + Sized + 'static {
    /// A client of one version of a database.
    ///
    /// # Errors
    /// [`Error::Malformed`] when public part and parameters do not fit.
    fn new(params: S::Params, public: S::Public) -> Result<Self>;

    /// A client of a database that was prepared with [`Server::setup_sharing_keys`], from the client of the first.
    ///
    /// # Errors
    /// As [`Client::new`].
    fn new_sharing_keys(_first: &Self, params: S::Params, public: S::Public) -> Result<Self> {
        Self::new(params, public)
    }

    /// Its parameters.
    fn params(&self) -> &S::Params;

    /// Makes keys to register, and the state to keep; `None` in schemes without.
    ///
    /// # Errors
    /// Those of key generation.
    fn register(&self, _rng: &mut dyn CryptoRng) -> Result<Option<(S::ClientState, S::ClientKeys)>> {
        Ok(None)
    }

    /// Keys and state of a client whom the server has forgotten, from what it kept: those of a new client, where
    /// a scheme does not say otherwise.
    ///
    /// # Errors
    /// As [`Client::register`].
    fn register_again(
        &self,
        _kept: &S::ClientState,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<(S::ClientState, S::ClientKeys)>> {
        self.register(rng)
    }

    /// The number of the ticket that the next query with this state uses up; `None` in schemes
    /// without tickets. Grows with every query.
    fn next_ticket(&self, _state: &S::ClientState) -> Option<u64> {
        None
    }

    /// Whether state that was made for an earlier version of this database serves this one as it
    /// is; the client's side of [`Server::keys_fit`].
    fn state_fits(&self, _state: &S::ClientState) -> bool {
        false
    }

    /// Does ahead what the next `queries` queries with this state need and what does not depend on their
    /// indices. What it adds to the state is not stored with it. Nothing, where a scheme does not say
    /// otherwise.
    ///
    /// # Errors
    /// Those of the state.
    fn prepare(&self, _state: &mut S::ClientState, _queries: usize, _progress: &dyn Progress) -> Result<()> {
        Ok(())
    }

    /// Takes over the ticket of a query to come, which the server has prepared: the answer comes without it.
    /// It is of this version, and serves no other. Changes the state, which is as long as what it holds.
    ///
    /// # Errors
    /// [`Error::Parameters`] where a scheme does not say otherwise, [`Error::Malformed`] for a ticket that is of
    /// no use.
    fn hold(&self, _state: &mut S::ClientState, _ticket: S::Ticket) -> Result<()> {
        Err(Error::Parameters { scheme: S::NAME, reason: "its clients hold no tickets".to_owned() })
    }

    /// A fresh secret and the query for `indices`. Changed state must be durable before the query
    /// leaves: what was used once is never used again, whatever becomes of the query.
    ///
    /// # Errors
    /// [`Error::IndexOutOfRange`], [`Error::BatchSize`], or [`Error::Session`] without needed state.
    fn query(
        &self,
        state: Option<&mut S::ClientState>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(S::Secret, S::Query)>;

    /// One query to each of several databases, for the records that it is asked for, of clients that were made
    /// beside the first. They share a secret that is made here, and gone when all are opened, or have secrets of their
    /// own, where a scheme does not say otherwise. Each client comes once, and so does each mask under a
    /// secret: no two may have the same public part.
    ///
    /// # Errors
    /// As [`Client::query`], and [`Error::Length`] for more or fewer lists of indices than clients.
    fn query_each(
        clients: &[Self],
        indices: &[Vec<u64>],
        rng: &mut dyn CryptoRng,
    ) -> Result<Vec<(S::Secret, S::Query)>> {
        Error::check_length("indices for several databases, counted", indices.len(), clients.len())?;
        let pairs = clients.iter().zip(indices);
        pairs.map(|(client, indices)| client.query(None, indices, rng)).collect()
    }

    /// The records, in the order of the query's indices. Consumes the secret: one secret opens one answer.
    ///
    /// # Errors
    /// [`Error::NotDecodable`]; the caller keeps it to itself until the exchange is over.
    fn extract(&self, secret: S::Secret, answer: S::Answer) -> Result<Vec<Record>>;
}

/// Checks that one query's indices are as many as a scheme takes, and in range.
///
/// # Errors
/// [`Error::BatchSize`] or [`Error::IndexOutOfRange`].
pub fn check_indices(scheme: &'static str, shape: &Shape, indices: &[u64], capacity: usize) -> Result<()> {
    if indices.is_empty() || indices.len() > capacity {
        return Err(Error::BatchSize { scheme, found: indices.len(), capacity });
    }
    indices.iter().try_for_each(|&index| shape.check_index(index))
}

/// Checks changes against a shape.
///
/// # Errors
/// [`Error::IndexOutOfRange`] or [`Error::Length`].
pub fn check_changes(shape: &Shape, changes: &[Change]) -> Result<()> {
    changes.iter().try_for_each(|change| {
        shape.check_index(change.index)?;
        Error::check_length("a changed record", change.record.len(), shape.record_bytes())
    })
}
