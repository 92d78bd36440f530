//! Adapter from a typed scheme to the erased traits.

use std::any::Any;
use std::marker::PhantomData;

use rand_core::CryptoRng;
use rayon::prelude::*;

use super::client::client_of;
use super::identity::IDENTITY;
use super::messages::{
    answer_each, foreign, header, open_query, parse_error, public_part, seal_answer,
};
use super::partial::DividedOf;
use super::terms::Terms;
use super::{
    ErasedClient, ErasedClientScheme, ErasedDivided, ErasedKeys, ErasedScheme, ErasedServer,
    ErasedSession,
};
use crate::device::{Device, TileShape};
use crate::envelope::{self, Kind};
use crate::scheme::{
    Choice, Goal, KeysOf, Parameters, RegisteredServer, Scheme, SchemeRegistration, Server,
    Session, Target, TicketOf, UpdateEstimate, Wire,
};
use crate::scratch::{InMemory, Scratch};
use crate::sections::{SectionSink, SectionSource};
use crate::{
    Candidate, Change, Description, Division, Error, FailureBound, NotPrivate, OwnerKey, Privacy,
    Progress, Records, Result, Shape, Version,
};

/// A scheme as an [`ErasedScheme`].
pub struct Erased<S> {
    terms: Terms,
    scheme: PhantomData<fn() -> S>,
}

impl<S> Erased<S> {
    /// Wraps the scheme. If it requires an acknowledgement, it creates neither servers nor clients.
    pub const fn new() -> Self {
        Self {
            terms: Terms {
                acknowledgement: None,
                owner: None,
            },
            scheme: PhantomData,
        }
    }

    /// Wraps the scheme and acknowledges that it may not be private.
    pub const fn allowing_insecure(acknowledgement: NotPrivate) -> Self {
        let terms = Terms {
            acknowledgement: Some(acknowledgement),
            owner: None,
        };
        Self {
            terms,
            scheme: PhantomData,
        }
    }
}

impl<S: Scheme> Erased<S> {
    /// Parameters of a server or a client, checked, with the terms.
    fn permit(&self, params: S::Params) -> Result<S::Params> {
        self.terms.permit::<S>(params)
    }
}

impl<S> Default for Erased<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: Scheme> ErasedClientScheme for Erased<S> {
    fn name(&self) -> &'static str {
        S::NAME
    }

    fn id(&self) -> u16 {
        S::ID
    }

    fn privacy(&self) -> Privacy {
        S::PRIVACY
    }

    fn client_with(
        &self,
        public: &[u8],
        acknowledgement: Option<NotPrivate>,
        owner: Option<&OwnerKey>,
    ) -> Result<Box<dyn ErasedClient>> {
        let acknowledgement = acknowledgement.or(self.terms.acknowledgement);
        let owner = owner.or(self.terms.owner.as_ref()).cloned();
        client_of::<S>(
            public,
            &Terms {
                acknowledgement,
                owner,
            },
        )
    }
}

impl<S: Scheme> ErasedScheme for Erased<S> {
    fn allow_insecure(&self, acknowledgement: NotPrivate) -> Box<dyn ErasedScheme> {
        let terms = Terms {
            acknowledgement: Some(acknowledgement),
            ..self.terms.clone()
        };
        Box::new(Self {
            terms,
            scheme: PhantomData,
        })
    }

    fn with_owner_key(&self, owner: Option<&OwnerKey>) -> Box<dyn ErasedScheme> {
        let owner = owner.or(self.terms.owner.as_ref()).cloned();
        Box::new(Self {
            terms: Terms {
                owner,
                ..self.terms.clone()
            },
            scheme: PhantomData,
        })
    }

    fn plan(&self, shape: Shape, goal: Goal) -> Result<Description> {
        Ok(self.terms.bind(S::Params::choose(shape, goal)?)?.describe())
    }

    fn candidates(&self, shape: Shape, failure: FailureBound) -> Result<Vec<Candidate>> {
        let candidates = S::Params::candidates(shape, failure)?.into_iter();
        candidates
            .map(|params| Ok(candidate_of(&self.terms.bind(params)?)))
            .collect()
    }

    fn candidate_for(&self, shape: Shape, target: Target) -> Result<Candidate> {
        Ok(candidate_of(
            &self.terms.bind(S::Params::choose(shape, target)?)?,
        ))
    }

    fn candidate(&self, shape: Shape, choice: Choice) -> Result<Candidate> {
        let params = S::Params::with_choice(shape, choice).map_err(|error| match error {
            // `Parameters::with_choice` does not know the name of its scheme.
            Error::NoSuchParameter { what, .. } => Error::NoSuchParameter {
                scheme: S::NAME,
                what,
            },
            other => other,
        })?;
        Ok(candidate_of(&self.terms.bind(params)?))
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
        Ok(Box::new(ErasedServerOf::<S> {
            server,
            version: Version::random(rng),
        }))
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
        let (version, params) = self.terms.identity::<S>(source)?;
        Ok(Box::new(ErasedServerOf::<S> {
            server: S::Server::load(params, source)?,
            version,
        }))
    }

    fn divided(&self) -> Result<Box<dyn ErasedDivided + '_>> {
        let divided = S::DIVIDED.ok_or_else(|| Division::none(S::NAME))?;
        Ok(Box::new(DividedOf::new(divided, &self.terms)))
    }
}

/// Describes parameters as a candidate.
pub fn candidate_of<P: Parameters>(params: &P) -> Candidate {
    Candidate {
        label: params.label(),
        description: params.describe(),
        parameters: params.encode(),
    }
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
    Ok(Box::new(ErasedServerOf::<S> {
        server,
        version: Version::random(rng),
    }))
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
            ticket: session
                .ticket
                .map(|bytes| TicketOf::<S>::decode(params, bytes))
                .transpose()?,
            query: self.parse_query(query)?,
        })
    }

    /// The registered side. Fails in schemes without client keys.
    fn registered(&self) -> Result<&dyn RegisteredServer<S>> {
        S::Registration::server(&self.server).ok_or_else(|| foreign::<S>("client keys"))
    }

    fn parse_query(&self, query: &[u8]) -> Result<S::Query> {
        open_query::<S>(self.version, self.server.params(), query)
    }
}

/// A parsed query and the server's data for its client.
struct Request<'a, S: Scheme> {
    keys: Option<&'a KeysOf<S>>,
    ticket: Option<TicketOf<S>>,
    query: S::Query,
}

impl<S: Scheme> Request<'_, S> {
    fn session(&self) -> Session<'_, S> {
        Session {
            keys: self.keys,
            ticket: self.ticket.as_ref(),
        }
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

        let requests = batch
            .par_iter()
            .map(|(session, query)| self.parse(*session, query))
            .collect();

        let answers = answer_each(requests, |good: &[&Request<'_, S>]| {
            let good = good
                .iter()
                .map(|request| (request.session(), &request.query))
                .collect();
            self.server.answer_many(good, progress)
        });

        progress.stage("seal", answers.len() as u64);
        let params = self.server.params();
        answers
            .into_par_iter()
            .map(|answer| Ok(seal_answer::<S>(self.version, params, &answer?)))
            .collect()
    }

    fn check_query(&self, query: &[u8]) -> Result<()> {
        self.parse_query(query).map(drop)
    }

    fn accept_keys(&self, keys: &[u8]) -> Result<ErasedKeys> {
        let (found, payload) = envelope::open(keys, Kind::Keys, S::ID)?;
        let keys = KeysOf::<S>::decode(self.server.params(), payload)
            .map_err(|error| parse_error(error, found, self.version))?;

        if found != self.version && !self.registered()?.keys_fit(&keys) {
            return Err(Error::WrongVersion {
                found,
                expected: self.version,
            });
        }

        Ok(ErasedKeys(Box::new(keys)))
    }

    fn ticket(&self, keys: &ErasedKeys, number: u64, progress: &dyn Progress) -> Result<Vec<u8>> {
        let keys = keys_of::<S>(keys)?;
        let ticket = self.registered()?.ticket(keys, number, progress)?;
        Ok(ticket.encode(self.server.params()))
    }

    fn follow(
        &self,
        earlier: (&dyn ErasedServer, &[u8]),
        keys: &ErasedKeys,
        number: u64,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>> {
        let (earlier, ticket) = earlier;
        let Some(Self {
            server: earlier, ..
        }) = earlier.as_any().downcast_ref::<Self>()
        else {
            return self.ticket(keys, number, progress);
        };

        let ticket = TicketOf::<S>::decode(earlier.params(), ticket)?;
        let keys = keys_of::<S>(keys)?;
        let followed = self
            .registered()?
            .follow((earlier, ticket), keys, number, progress)?;
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
        Ok(Box::new(Self {
            server,
            version: Version::random(rng),
        }))
    }

    fn device_matrices(&self) -> Vec<TileShape> {
        S::Server::device_matrices(self.server.params())
    }

    fn on_device(&self, device: &dyn Device) -> Result<Box<dyn ErasedServer>> {
        Ok(Box::new(Self {
            server: self.server.on_device(device)?,
            version: self.version,
        }))
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.server.read_packed(first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        let identity = envelope::seal(
            &header::<S>(Kind::Public, self.version),
            &self.server.params().encode(),
        );
        sink.put(IDENTITY, &[&identity])?;
        self.server.save(sink)
    }
}

fn keys_of<S: Scheme>(keys: &ErasedKeys) -> Result<&KeysOf<S>> {
    keys.0
        .downcast_ref()
        .ok_or_else(|| foreign::<S>("client keys"))
}
