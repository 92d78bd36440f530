//! Adapter from a typed scheme to the erased traits.

use std::any::Any;
use std::marker::PhantomData;
use std::ops::Range;

use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::hedged::Hedged;
use super::identity::IDENTITY;
use super::messages::{answer_each, header, open_query, public_part, seal_answer};
use super::partial::{CombinerOf, ShardOf};
use super::{
    ErasedClient, ErasedCombiner, ErasedKeys, ErasedScheme, ErasedSecret, ErasedServer, ErasedSession,
    ErasedShard, ErasedState,
};
use crate::codec::Reader;
use crate::cost::DividedWork;
use crate::device::{Device, TileShape};
use crate::envelope::{self, Header, Kind};
use crate::scheme::{
    Choice, Client, Goal, Parameters, Scheme, Server, Session, Shard, Target, UpdateEstimate, Wire,
};
use crate::scratch::{InMemory, Piece, Scratch};
use crate::sections::{SectionSink, SectionSource};
use crate::{
    AlignedBytes, Blob, Candidate, Change, Description, Division, Error, FailureBound, NotPrivate, OwnerKey,
    Privacy, Progress, Record, Records, Result, Shape, Version,
};

/// A scheme as an [`ErasedScheme`].
pub struct Erased<S> {
    acknowledgement: Option<NotPrivate>,
    owner: Option<OwnerKey>,
    scheme: PhantomData<fn() -> S>,
}

impl<S> Erased<S> {
    /// Wraps the scheme. If it requires an acknowledgement, it creates neither servers nor clients.
    pub const fn new() -> Self {
        Self { acknowledgement: None, owner: None, scheme: PhantomData }
    }

    /// Wraps the scheme and acknowledges that it may not be private.
    pub const fn allowing_insecure(acknowledgement: NotPrivate) -> Self {
        Self { acknowledgement: Some(acknowledgement), owner: None, scheme: PhantomData }
    }
}

impl<S: Scheme> Erased<S> {
    /// Parameters of a server or a client, as [`Erased::bind`] returns them.
    ///
    /// # Errors
    /// [`Error::NotPrivate`] for a scheme that is not private, without the acknowledgement; the
    /// errors of [`Sizes::check`](crate::Sizes::check).
    fn permit(&self, params: S::Params) -> Result<S::Params> {
        if let (Privacy::NotPrivate(reason), None) = (S::PRIVACY, self.acknowledgement) {
            return Err(Error::NotPrivate { scheme: S::NAME, reason });
        }
        let params = self.bind(params)?;
        params.describe().sizes.check()?;
        Ok(params)
    }

    /// Version and permitted parameters of a prepared database.
    fn identity(&self, source: &dyn SectionSource) -> Result<(Version, S::Params)> {
        let identity = source.get(IDENTITY)?;
        let (version, payload) = envelope::open(&identity, Kind::Public, S::ID)?;
        Ok((version, self.permit(S::Params::decode(payload)?)?))
    }

    /// Adds the acknowledgement and the owner's key to parameters.
    fn bind(&self, params: S::Params) -> Result<S::Params> {
        let params = match self.acknowledgement {
            Some(acknowledgement) => params.allow_insecure(acknowledgement),
            None => params,
        };
        match &self.owner {
            Some(key) => params.with_owner_key(key),
            None => Ok(params),
        }
    }
}

impl<S> Default for Erased<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Scheme> ErasedScheme for Erased<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn id(&self) -> u16 {
        S::ID
    }

    fn privacy(&self) -> Privacy {
        S::PRIVACY
    }

    fn allow_insecure(&self, acknowledgement: NotPrivate) -> Box<dyn ErasedScheme> {
        Box::new(Self { owner: self.owner.clone(), ..Self::allowing_insecure(acknowledgement) })
    }

    fn with_owner_key(&self, owner: Option<&OwnerKey>) -> Box<dyn ErasedScheme> {
        let owner = owner.or(self.owner.as_ref()).cloned();
        Box::new(Self { acknowledgement: self.acknowledgement, owner, scheme: PhantomData })
    }

    fn plan(&self, shape: Shape, goal: Goal) -> Result<Description> {
        Ok(self.bind(S::Params::choose(shape, goal)?)?.describe())
    }

    fn candidates(&self, shape: Shape, failure: FailureBound) -> Result<Vec<Candidate>> {
        let candidates = S::Params::candidates(shape, failure)?.into_iter();
        candidates.map(|params| Ok(candidate_of(&self.bind(params)?))).collect()
    }

    fn candidate_for(&self, shape: Shape, target: Target) -> Result<Candidate> {
        Ok(candidate_of(&self.bind(S::Params::choose(shape, target)?)?))
    }

    fn candidate(&self, shape: Shape, choice: Choice) -> Result<Candidate> {
        let params = S::Params::with_choice(shape, choice).map_err(|error| match error {
            // `Parameters::with_choice` does not know the name of its scheme.
            Error::NoSuchParameter { what, .. } => Error::NoSuchParameter { scheme: S::NAME, what },
            other => other,
        })?;
        Ok(candidate_of(&self.bind(params)?))
    }

    fn setup_candidate(
        &self,
        parameters: &[u8],
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        self.setup_resumable(parameters, records, &mut InMemory, rng, progress)
    }

    fn bounded_memory(&self) -> bool {
        S::Server::BOUNDED_MEMORY
    }

    fn setup_resumable(
        &self,
        parameters: &[u8],
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        let params = self.permit(S::Params::decode(parameters)?)?;
        let mut of_tasks = scratch.divide(S::NAME, parameters, rng, progress)?;
        let rng = of_tasks.as_deref_mut().unwrap_or(rng);
        let server = S::Server::setup_resumable(params, records, scratch, rng, progress)?;
        Ok(Box::new(ErasedServerOf::<S> { server, version: Version::random(rng) }))
    }

    fn setup(
        &self,
        records: &dyn Records,
        goal: Goal,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        let params = self.permit(S::Params::choose(records.shape(), goal)?)?;
        setup_with::<S>(params, records, rng, progress)
    }

    fn load(&self, source: &dyn SectionSource) -> Result<Box<dyn ErasedServer>> {
        let (version, params) = self.identity(source)?;
        Ok(Box::new(ErasedServerOf::<S> { server: S::Server::load(params, source)?, version }))
    }

    fn division(&self, parameters: &[u8]) -> Result<Division> {
        S::Shard::division(&S::Params::decode(parameters)?)
    }

    fn divided_work(&self, parameters: &[u8]) -> Result<DividedWork> {
        S::Shard::work(&S::Params::decode(parameters)?)
    }

    fn by_tasks(&self) -> bool {
        S::Shard::BY_TASKS
    }

    fn column_ranges(&self, parameters: &[u8], tasks: usize) -> Result<Vec<Range<usize>>> {
        S::Shard::column_ranges(&S::Params::decode(parameters)?, tasks)
    }

    fn encode_columns(
        &self,
        parameters: &[u8],
        columns: Range<usize>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<AlignedBytes> {
        let params = self.permit(S::Params::decode(parameters)?)?;
        S::Shard::encode(&params, columns, records, rng, progress)
    }

    fn prepare_slices(
        &self,
        parameters: &[u8],
        slices: Range<usize>,
        encoded: &[Blob],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Vec<Piece>> {
        let params = self.permit(S::Params::decode(parameters)?)?;
        S::Shard::prepare(&params, slices, encoded, rng, progress)
    }

    fn load_shard(&self, slices: Range<usize>, source: &dyn SectionSource) -> Result<Box<dyn ErasedShard>> {
        let (version, params) = self.identity(source)?;
        Ok(Box::new(ShardOf::<S>::load(version, params, slices, source)?))
    }

    fn load_combiner(&self, source: &dyn SectionSource) -> Result<Box<dyn ErasedCombiner>> {
        let (version, params) = self.identity(source)?;
        Ok(Box::new(CombinerOf::<S>::load(version, params, source)?))
    }

    fn client(&self, public: &[u8]) -> Result<Box<dyn ErasedClient>> {
        let (version, payload) = envelope::open(public, Kind::Public, S::ID)?;
        let mut reader = Reader::new("a public part", payload);
        let params = self.permit(S::Params::decode(reader.bytes()?)?)?;
        let public = S::Public::decode(&params, reader.rest())?;
        Ok(Box::new(ErasedClientOf::<S> { client: S::Client::new(params, public)?, version }))
    }
}

/// Describes parameters as a candidate.
pub fn candidate_of<P: Parameters>(params: &P) -> Candidate {
    Candidate { label: params.label(), description: params.describe(), parameters: params.encode() }
}

/// Prepares a database under the given parameters.
///
/// # Errors
/// The errors of [`Server::setup`].
pub fn setup_with<S: Scheme>(
    params: S::Params,
    records: &dyn Records,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<Box<dyn ErasedServer>> {
    let server = S::Server::setup(params, records, rng, progress)?;
    Ok(Box::new(ErasedServerOf::<S> { server, version: Version::random(rng) }))
}

struct ErasedServerOf<S: Scheme> {
    server: S::Server,
    version: Version,
}

impl<S: Scheme> ErasedServerOf<S> {
    fn parse<'a>(&self, session: ErasedSession<'a>, query: &[u8]) -> Result<Request<'a, S>> {
        let params = self.server.params();
        Ok(Request {
            keys: session.keys.map(keys_of::<S>).transpose()?,
            ticket: session.ticket.map(|bytes| S::Ticket::decode(params, bytes)).transpose()?,
            query: self.parse_query(query)?,
        })
    }

    fn parse_query(&self, query: &[u8]) -> Result<S::Query> {
        open_query::<S>(self.version, self.server.params(), query)
    }
}

/// A parsed query and the server's data for its client.
struct Request<'a, S: Scheme> {
    keys: Option<&'a S::ClientKeys>,
    ticket: Option<S::Ticket>,
    query: S::Query,
}

impl<S: Scheme> Request<'_, S> {
    fn session(&self) -> Session<'_, S> {
        Session { keys: self.keys, ticket: self.ticket.as_ref() }
    }
}

impl<S: Scheme> ErasedServer for ErasedServerOf<S> {
    fn describe(&self) -> Description {
        self.server.params().describe()
    }

    fn version(&self) -> Version {
        self.version
    }

    fn public(&self) -> Vec<u8> {
        public_part::<S>(self.version, self.server.params(), self.server.public())
    }

    fn answer_many(
        &self,
        batch: &[(ErasedSession<'_>, &[u8])],
        progress: &dyn Progress,
    ) -> Vec<Result<Vec<u8>>> {
        progress.stage("parse", batch.len() as u64);
        let requests = batch.par_iter().map(|(session, query)| self.parse(*session, query)).collect();
        let answers = answer_each(requests, |good: &[&Request<'_, S>]| {
            let good = good.iter().map(|request| (request.session(), &request.query)).collect();
            self.server.answer_many(good, progress)
        });
        progress.stage("seal", answers.len() as u64);
        let seal = |answer: S::Answer| seal_answer::<S>(self.version, self.server.params(), &answer);
        answers.into_par_iter().map(|answer| answer.map(seal)).collect()
    }

    fn check_query(&self, query: &[u8]) -> Result<()> {
        self.parse_query(query).map(drop)
    }

    fn accept_keys(&self, keys: &[u8]) -> Result<ErasedKeys> {
        let (found, payload) = envelope::open(keys, Kind::Keys, S::ID)?;
        let keys = S::ClientKeys::decode(self.server.params(), payload)
            .map_err(|error| parse_error(error, found, self.version))?;
        if found != self.version && !self.server.keys_fit(&keys) {
            return Err(Error::WrongVersion { found, expected: self.version });
        }
        Ok(ErasedKeys(Box::new(keys)))
    }

    fn ticket(&self, keys: &ErasedKeys, number: u64, progress: &dyn Progress) -> Result<Vec<u8>> {
        let ticket = self.server.ticket(keys_of::<S>(keys)?, number, progress)?;
        Ok(ticket.encode(self.server.params()))
    }

    fn follow(
        &self,
        (earlier, ticket): (&dyn ErasedServer, &[u8]),
        keys: &ErasedKeys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>> {
        let Some(Self { server: earlier, .. }) = earlier.as_any().downcast_ref::<Self>() else {
            return self.ticket(keys, number, progress);
        };
        let ticket = S::Ticket::decode(earlier.params(), ticket)?;
        let followed = self.server.follow((earlier, ticket), keys_of::<S>(keys)?, number, progress)?;
        Ok(followed.encode(self.server.params()))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        self.server.update_cost(changes)
    }

    fn update(
        &self,
        changes: &[Change],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        let server = self.server.update(changes, rng, progress)?;
        Ok(Box::new(Self { server, version: Version::random(rng) }))
    }

    fn device_matrices(&self) -> Vec<TileShape> {
        S::Server::device_matrices(self.server.params())
    }

    fn on_device(&self, device: &dyn Device) -> Result<Box<dyn ErasedServer>> {
        Ok(Box::new(Self { server: self.server.on_device(device)?, version: self.version }))
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.server.read_packed(first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        let identity =
            envelope::seal(&header::<S>(Kind::Public, self.version), &self.server.params().encode());
        sink.put(IDENTITY, &[&identity])?;
        self.server.save(sink)
    }
}

struct ErasedClientOf<S: Scheme> {
    client: S::Client,
    version: Version,
}

impl<S: Scheme> ErasedClientOf<S> {
    fn header(&self, kind: Kind) -> Header {
        header::<S>(kind, self.version)
    }

    fn parse_answer(&self, answer: &[u8]) -> Result<S::Answer> {
        let payload = envelope::open_version(answer, Kind::Answer, S::ID, self.version)?;
        S::Answer::decode(self.client.params(), payload)
    }

    /// Splits the result of registering into state and enveloped keys.
    fn seal_keys(&self, (state, keys): (S::ClientState, S::ClientKeys)) -> (ErasedState, Vec<u8>) {
        let sealed = envelope::seal(&self.header(Kind::Keys), &keys.encode(self.client.params()));
        (ErasedState(Box::new(state)), sealed)
    }
}

impl<S: Scheme> ErasedClient for ErasedClientOf<S> {
    fn describe(&self) -> Description {
        self.client.params().describe()
    }

    fn version(&self) -> Version {
        self.version
    }

    fn register(&self, rng: &mut dyn CryptoRng) -> Result<Option<(ErasedState, Vec<u8>)>> {
        Ok(self.client.register(rng)?.map(|registered| self.seal_keys(registered)))
    }

    fn register_again(
        &self,
        kept: &ErasedState,
        rng: &mut dyn CryptoRng,
    ) -> Result<Option<(ErasedState, Vec<u8>)>> {
        let registered = self.client.register_again(state_of::<S>(kept)?, rng)?;
        Ok(registered.map(|registered| self.seal_keys(registered)))
    }

    fn next_ticket(&self, state: &ErasedState) -> Result<Option<u64>> {
        Ok(self.client.next_ticket(state_of::<S>(state)?))
    }

    fn next_number(&self, state: &ErasedState) -> Result<Option<u64>> {
        Ok(self.client.next_number(state_of::<S>(state)?))
    }

    fn held(&self, state: &ErasedState) -> Result<usize> {
        Ok(self.client.held(state_of::<S>(state)?))
    }

    fn save_state(&self, state: &ErasedState) -> Result<Zeroizing<Vec<u8>>> {
        let payload = Zeroizing::new(state_of::<S>(state)?.encode(self.client.params()));
        Ok(Zeroizing::new(envelope::seal(&self.header(Kind::State), &payload)))
    }

    fn load_state(&self, bytes: &[u8]) -> Result<ErasedState> {
        let (found, payload) = envelope::open(bytes, Kind::State, S::ID)?;
        let state = S::ClientState::decode(self.client.params(), payload)
            .map_err(|error| parse_error(error, found, self.version))?;
        if found != self.version && !self.client.state_fits(&state) {
            return Err(Error::WrongVersion { found, expected: self.version });
        }
        Ok(ErasedState(Box::new(state)))
    }

    fn prepare(&self, state: &mut ErasedState, queries: usize, progress: &dyn Progress) -> Result<()> {
        self.client.prepare(state_of_mut::<S>(state)?, queries, progress)
    }

    fn send_ahead(&self, state: &mut ErasedState, rng: &mut dyn CryptoRng) -> Result<Vec<u8>> {
        let (params, header) = (self.client.params(), self.header(Kind::Query));
        let state = state_of_mut::<S>(state)?;
        let kept = Zeroizing::new(state.encode(params));
        let query = self.client.send_ahead(state, &mut Hedged::new(&kept, &header, &[], rng))?;
        Ok(envelope::seal(&header, &query.encode(params)))
    }

    fn hold(&self, state: &mut ErasedState, number: u64, answer: &[u8]) -> Result<()> {
        let answer = self.parse_answer(answer)?;
        self.client.hold(state_of_mut::<S>(state)?, number, answer)
    }

    fn query(
        &self,
        state: Option<&mut ErasedState>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(ErasedSecret, Vec<u8>)> {
        let (params, header) = (self.client.params(), self.header(Kind::Query));
        let (secret, query) = match state.map(state_of_mut::<S>).transpose()? {
            None => self.client.query(None, indices, rng)?,
            Some(state) => {
                let kept = Zeroizing::new(state.encode(params));
                self.client.query(Some(state), indices, &mut Hedged::new(&kept, &header, indices, rng))?
            }
        };
        let sealed = envelope::seal(&header, &query.encode(params));
        Ok((ErasedSecret(Box::new((self.version, secret))), sealed))
    }

    fn extract(&self, secret: ErasedSecret, answer: &[u8]) -> Result<Vec<Record>> {
        let secret = secret.0.downcast::<(Version, S::Secret)>().map_err(|_| foreign::<S>("a secret"))?;
        let (version, secret) = *secret;
        if version != self.version {
            return Err(Error::WrongVersion { found: version, expected: self.version });
        }
        self.client.extract(secret, self.parse_answer(answer)?)
    }
}

/// Returns [`Error::WrongVersion`] in place of a parse error if the bytes are of another version:
/// they need not parse under this version's parameters.
fn parse_error(error: Error, found: Version, expected: Version) -> Error {
    if found == expected { error } else { Error::WrongVersion { found, expected } }
}

fn keys_of<S: Scheme>(keys: &ErasedKeys) -> Result<&S::ClientKeys> {
    keys.0.downcast_ref().ok_or_else(|| foreign::<S>("client keys"))
}

fn state_of<S: Scheme>(state: &ErasedState) -> Result<&S::ClientState> {
    state.0.downcast_ref().ok_or_else(|| foreign::<S>("client state"))
}

fn state_of_mut<S: Scheme>(state: &mut ErasedState) -> Result<&mut S::ClientState> {
    state.0.downcast_mut().ok_or_else(|| foreign::<S>("client state"))
}

fn foreign<S: Scheme>(what: &'static str) -> Error {
    Error::malformed(what, "that of another scheme", S::NAME)
}
