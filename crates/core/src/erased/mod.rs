//! The interface of a scheme over bytes, behind trait objects.
//!
//! Servers, command lines and bindings use it. [`Erased`] implements it for any
//! [`Scheme`](crate::scheme::Scheme).

mod client;
mod combined;
mod divided;
mod hedged;
mod identity;
mod messages;
mod partial;
mod registered;
mod terms;
mod typed;
mod version;

use std::any::Any;

use rand_core::CryptoRng;

use crate::certificate::FailureCertificate;
use crate::device::{Device, TileShape};
use crate::scheme::UpdateEstimate;
use crate::scratch::{InMemory, Scratch};
use crate::sections::{SectionSink, SectionSource};
use crate::{
    Candidate, Change, Choice, Description, Division, Error, FailureBound, Goal, NoProgress,
    NotPrivate, OwnerKey, Privacy, Progress, Record, Records, Result, Shape, Target, Terms,
};

pub use combined::{Combined, Shards};
pub use divided::{ErasedCombiner, ErasedDivided, ErasedShard, ErasedTasks};
pub use identity::{parameters_of, scheme_of, scheme_of_public, version_of};
pub use registered::{
    EarlierErasedTicket, ErasedKeys, ErasedRegisteredClient, ErasedRegisteredServer, ErasedState,
};
pub use typed::{Erased, candidate_of, setup_with};
pub use version::{ErasedDatabase, ErasedVersion};

/// The error for a scheme that returns fewer answers than queries.
const TOO_FEW: Error = Error::Length {
    what: "a batch of answers",
    found: 0,
    expected: 1,
};

/// Properties of a scheme, which do not depend on its parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SchemeProperties {
    /// The scheme's number on the wire.
    pub id: u16,
    /// The scheme's privacy.
    pub privacy: Privacy,
    /// [`Server::BOUNDED_MEMORY`](crate::scheme::Server::BOUNDED_MEMORY).
    pub bounded_memory: bool,
}

/// The clients of a scheme behind a trait object. A program that has a scheme as nothing else
/// contains no code of its server.
pub trait ErasedClientScheme: Send + Sync {
    /// The scheme's name on the command line.
    fn name(&self) -> &'static str;

    /// Properties that all parameters of the scheme share.
    fn properties(&self) -> SchemeProperties;

    /// Creates a client from the public part of a prepared database
    /// ([`ErasedDatabase::public`]), under these terms besides those of the scheme.
    ///
    /// # Errors
    /// The errors of [`envelope::open`](crate::envelope::open) and
    /// [`Client::new`](crate::scheme::Client::new), and [`Error::NotPrivate`].
    fn client_with(&self, public: &[u8], terms: &Terms) -> Result<Box<dyn ErasedClient>>;
}

/// A scheme behind a trait object.
pub trait ErasedScheme: ErasedClientScheme {
    /// The same scheme under these terms besides its own.
    ///
    /// With the database owner's key it can prepare encrypted databases, read them back and
    /// register clients. A scheme without encrypted databases then fails in every operation: see
    /// [`Parameters::with_terms`](crate::scheme::Parameters::with_terms).
    fn with_terms(&self, terms: &Terms) -> Box<dyn ErasedScheme>;

    /// All parameters worth comparing for this shape and failure probability, without preparing
    /// anything.
    ///
    /// # Errors
    /// The errors of [`Parameters::candidates`](crate::scheme::Parameters::candidates).
    fn candidates(&self, shape: Shape, failure: FailureBound) -> Result<Vec<Candidate>>;

    /// The parameters of a choice, without preparing anything.
    ///
    /// # Errors
    /// The errors of [`Parameters::with_choice`](crate::scheme::Parameters::with_choice).
    fn candidate(&self, shape: Shape, choice: Choice) -> Result<Candidate>;

    /// Every term of the failure bound of encoded parameters, exactly.
    ///
    /// # Errors
    /// The errors of [`Parameters::decode`](crate::scheme::Parameters::decode) and
    /// [`Parameters::certificate`](crate::scheme::Parameters::certificate).
    fn certificate(&self, parameters: &[u8]) -> Result<FailureCertificate>;

    /// Prepares a database with the parameters of a candidate. Keeps finished parts of a long
    /// preparation in `scratch`, and finds them there.
    ///
    /// # Errors
    /// The errors of [`Parameters::decode`](crate::scheme::Parameters::decode),
    /// [`Server::setup`](crate::scheme::Server::setup) and `scratch`, and [`Error::NotPrivate`].
    fn setup_resumable(
        &self,
        parameters: &[u8],
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>>;

    /// Loads a prepared database from its sections.
    ///
    /// # Errors
    /// The errors of [`Server::load`](crate::scheme::Server::load), [`Error::WrongScheme`] and
    /// [`Error::NotPrivate`].
    fn load(&self, source: &dyn SectionSource) -> Result<Box<dyn ErasedServer>>;

    /// The division of a database of this scheme among machines; `None` if its databases have no
    /// slices.
    fn divided(&self) -> Option<Box<dyn ErasedDivided + '_>> {
        None
    }
}

impl dyn ErasedScheme + '_ {
    /// The same scheme, with the caller's acknowledgement that it need not be private: see
    /// [`Parameters::with_terms`](crate::scheme::Parameters::with_terms).
    pub fn allow_insecure(&self, acknowledgement: NotPrivate) -> Box<dyn ErasedScheme> {
        self.with_terms(&Terms::acknowledged(acknowledgement))
    }

    /// The same scheme with the database owner's key: see [`ErasedScheme::with_terms`]. `None`
    /// leaves the scheme unchanged.
    pub fn with_owner_key(&self, owner: Option<&OwnerKey>) -> Box<dyn ErasedScheme> {
        self.with_terms(&Terms::owned(owner.cloned()))
    }

    /// The best parameters for this shape and target, without preparing anything.
    ///
    /// # Errors
    /// The errors of [`ErasedScheme::candidate`].
    pub fn candidate_for(&self, shape: Shape, target: Target) -> Result<Candidate> {
        self.candidate(shape, Choice::Target(target))
    }

    /// Describes the parameters for this shape and goal, without preparing anything.
    ///
    /// # Errors
    /// The errors of [`ErasedScheme::candidate`].
    pub fn plan(&self, shape: Shape, goal: Goal) -> Result<Description> {
        Ok(self.candidate_for(shape, goal.into())?.description)
    }

    /// Prepares a database with the parameters of a candidate.
    ///
    /// # Errors
    /// The errors of [`ErasedScheme::setup_resumable`].
    pub fn setup_candidate(
        &self,
        parameters: &[u8],
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        self.setup_resumable(parameters, records, &mut InMemory, rng, progress)
    }

    /// Chooses parameters for a goal, with the default failure probability, and prepares a
    /// database.
    ///
    /// # Errors
    /// The errors of [`ErasedScheme::candidate`] and [`ErasedScheme::setup_resumable`].
    pub fn setup(
        &self,
        records: &dyn Records,
        goal: Goal,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        let candidate = self.candidate_for(records.shape(), goal.into())?;
        self.setup_candidate(&candidate.parameters, records, rng, progress)
    }

    /// Creates a client from the public part of a prepared database
    /// ([`ErasedDatabase::public`]).
    ///
    /// # Errors
    /// The errors of [`ErasedClientScheme::client_with`].
    pub fn client(&self, public: &[u8]) -> Result<Box<dyn ErasedClient>> {
        self.client_with(public, &Terms::default())
    }

    /// The division of a database of this scheme among machines.
    ///
    /// # Errors
    /// [`Error::Parameters`] for a scheme whose databases have no slices.
    pub fn require_divided(&self) -> Result<Box<dyn ErasedDivided + '_>> {
        self.divided().ok_or_else(|| Division::none(self.name()))
    }
}

/// The error of a scheme whose clients register no keys.
fn unregistered(description: &Description) -> Error {
    Error::Session {
        scheme: description.scheme,
        what: "client keys",
    }
}

/// The server's data for one client.
#[derive(Clone, Copy, Default)]
pub struct ErasedSession<'a> {
    /// Registered keys, which the same prepared database accepted.
    pub keys: Option<&'a ErasedKeys>,
    /// A single-use ticket.
    pub ticket: Option<&'a [u8]>,
}

/// A prepared database behind a trait object.
pub trait ErasedServer: ErasedDatabase + Any {
    /// Answers several enveloped queries with enveloped answers, with one pass over the database;
    /// returns one result per query. Reports parsing, the stages of
    /// [`Server::answer_many`](crate::scheme::Server::answer_many) and sealing to `progress`.
    fn answer_many(
        &self,
        batch: &[(ErasedSession<'_>, &[u8])],
        progress: &dyn Progress,
    ) -> Vec<Result<Vec<u8>>>;

    /// The registered side; `None` in schemes without client keys.
    fn registered(&self) -> Option<&dyn ErasedRegisteredServer>;

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

    /// The same version of the database, whose matrices a device holds too and multiplies; `None`
    /// if a device has no part in its answers.
    ///
    /// # Errors
    /// The errors of [`OnDevice::place`](crate::scheme::OnDevice::place).
    fn on_device(&self, _device: &dyn Device) -> Result<Option<PlacedServer>> {
        Ok(None)
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

impl dyn ErasedServer + '_ {
    /// Answers an enveloped query with an enveloped answer.
    ///
    /// # Errors
    /// The errors of the envelope, [`Error::WrongVersion`], and of
    /// [`Server::answer`](crate::scheme::Server::answer).
    pub fn answer(&self, session: ErasedSession<'_>, query: &[u8]) -> Result<Vec<u8>> {
        let answer = self.answer_many(&[(session, query)], &NoProgress).pop();
        answer.unwrap_or(Err(TOO_FEW))
    }

    /// The registered side.
    ///
    /// # Errors
    /// [`Error::Session`] in schemes without client keys.
    pub fn require_registered(&self) -> Result<&dyn ErasedRegisteredServer> {
        self.registered()
            .ok_or_else(|| unregistered(&self.describe()))
    }

    /// [`ErasedServer::on_device`], for a scheme part of whose answers a device computes.
    ///
    /// # Errors
    /// Its errors, and [`Error::NoSuchParameter`] for other schemes.
    pub fn require_on_device(&self, device: &dyn Device) -> Result<PlacedServer> {
        self.on_device(device)?
            .ok_or_else(|| Error::NoSuchParameter {
                scheme: self.describe().scheme,
                what: "work for a device",
            })
    }
}

/// A prepared database whose matrices a device holds.
pub struct PlacedServer {
    /// The database, which asks the device.
    pub server: Box<dyn ErasedServer>,
    /// The shapes of the matrices.
    pub matrices: Vec<TileShape>,
}

/// A client behind a trait object.
pub trait ErasedClient: ErasedVersion {
    /// The registered side; `None` in schemes without client keys.
    fn registered(&self) -> Option<&dyn ErasedRegisteredClient>;

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

impl dyn ErasedClient + '_ {
    /// The registered side.
    ///
    /// # Errors
    /// [`Error::Session`] in schemes without client keys.
    pub fn require_registered(&self) -> Result<&dyn ErasedRegisteredClient> {
        self.registered()
            .ok_or_else(|| unregistered(&self.describe()))
    }
}

/// A secret of some scheme; decodes one answer.
pub struct ErasedSecret(Box<dyn Any + Send>);
