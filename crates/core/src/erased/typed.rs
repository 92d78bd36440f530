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
use super::{
    EarlierErasedTicket, ErasedClient, ErasedClientScheme, ErasedDatabase, ErasedDivided,
    ErasedKeys, ErasedRegisteredServer, ErasedScheme, ErasedServer, ErasedSession, ErasedVersion,
    PlacedServer, SchemeProperties,
};
use crate::certificate::FailureCertificate;
use crate::device::Device;
use crate::envelope::{self, Kind};
use crate::scheme::{
    Choice, EarlierTicket, KeysOf, Parameters, RegisteredServer, Scheme, SchemeRegistration,
    Server, Session, TicketOf, UpdateEstimate, Wire,
};
use crate::scratch::Scratch;
use crate::sections::{SectionSink, SectionSource};
use crate::{
    Candidate, Change, Description, Error, FailureBound, NotPrivate, OwnerKey, Progress, Records,
    Result, Shape, Terms, Version,
};

/// [`ErasedScheme`] of a typed scheme.
pub struct Erased<S> {
    terms: Terms,
    scheme: PhantomData<fn() -> S>,
}

impl<S> Erased<S> {
    /// Wraps the scheme without an acknowledgement. A scheme that is not private then creates
    /// neither servers nor clients.
    pub const fn new() -> Self {
        Self {
            terms: Terms::owned(None),
            scheme: PhantomData,
        }
    }

    /// Wraps the scheme and acknowledges that it may not be private.
    pub const fn allowing_insecure(acknowledgement: NotPrivate) -> Self {
        Self {
            terms: Terms::acknowledged(acknowledgement),
            scheme: PhantomData,
        }
    }
}

impl<S> Erased<S> {
    /// The scheme with the key of a database's owner.
    #[must_use]
    pub fn with_owner_key(self, owner: OwnerKey) -> Self {
        let terms = Terms {
            owner: Some(owner),
            ..self.terms
        };
        Self {
            terms,
            scheme: PhantomData,
        }
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

    fn properties(&self) -> SchemeProperties {
        SchemeProperties {
            id: S::ID,
            privacy: S::PRIVACY,
            bounded_memory: S::Server::BOUNDED_MEMORY,
        }
    }

    fn client_with(&self, public: &[u8], terms: &Terms) -> Result<Box<dyn ErasedClient>> {
        client_of::<S>(public, &terms.or(&self.terms))
    }
}

impl<S: Scheme> ErasedScheme for Erased<S> {
    fn with_terms(&self, terms: &Terms) -> Box<dyn ErasedScheme> {
        Box::new(Self {
            terms: terms.or(&self.terms),
            scheme: PhantomData,
        })
    }

    fn candidates(&self, shape: Shape, failure: FailureBound) -> Result<Vec<Candidate>> {
        let candidates = S::Params::candidates(shape, failure)?.into_iter();
        candidates
            .map(|params| Ok(candidate_of(&params.with_terms(&self.terms)?)))
            .collect()
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
        Ok(candidate_of(&params.with_terms(&self.terms)?))
    }

    fn certificate(&self, parameters: &[u8]) -> Result<FailureCertificate> {
        S::Params::decode(parameters)?.certificate()
    }

    fn setup_resumable(
        &self,
        parameters: &[u8],
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Box<dyn ErasedServer>> {
        let params = self.terms.permit::<S>(S::Params::decode(parameters)?)?;

        // Tasks drew the public seed from their randomness: what is left must come from it too.
        let mut of_tasks = scratch.divide(S::NAME, parameters, rng, progress)?;
        let rng = of_tasks.as_deref_mut().unwrap_or(rng);

        let server = S::Server::setup_resumable(params, records, scratch, rng, progress)?;
        Ok(Box::new(ErasedServerOf::<S> {
            server,
            version: Version::random(rng),
        }))
    }

    fn load(&self, source: &dyn SectionSource) -> Result<Box<dyn ErasedServer>> {
        let (version, params) = self.terms.identity::<S>(source)?;
        Ok(Box::new(ErasedServerOf::<S> {
            server: S::Server::load(params, source)?,
            version,
        }))
    }

    fn divided(&self) -> Option<Box<dyn ErasedDivided + '_>> {
        let divided = S::DIVIDED?;
        Some(Box::new(DividedOf::new(divided, &self.terms)))
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
    fn parse<'a>(&self, session: ErasedSession<'a>, query: &[u8]) -> Result<ParsedQuery<'a, S>> {
        let params = self.server.params();
        Ok(ParsedQuery {
            keys: session.keys.map(keys_of::<S>).transpose()?,
            ticket: session
                .ticket
                .map(|bytes| TicketOf::<S>::decode(params, bytes))
                .transpose()?,
            query: self.parse_query(query)?,
        })
    }

    /// The registered side. Fails in schemes without client keys.
    fn registered_side(&self) -> Result<&dyn RegisteredServer<S>> {
        match S::Registration::SIDES {
            Some(sides) => Ok((sides.server)(&self.server)),
            None => Err(foreign::<S>("client keys")),
        }
    }

    /// A ticket of an earlier version of this database; `None` if it is one of another scheme.
    fn earlier_ticket(earlier: EarlierErasedTicket<'_>) -> Result<Option<EarlierTicket<'_, S>>> {
        let server: &dyn Any = earlier.server;
        let Some(Self { server, .. }) = server.downcast_ref::<Self>() else {
            return Ok(None);
        };

        // Under the parameters of its own version, which an update may have changed.
        let ticket = TicketOf::<S>::decode(server.params(), earlier.ticket)?;
        Ok(Some(EarlierTicket { server, ticket }))
    }

    fn parse_query(&self, query: &[u8]) -> Result<S::Query> {
        open_query::<S>(self.version, self.server.params(), query)
    }
}

/// A parsed query and the server's data for its client.
struct ParsedQuery<'a, S: Scheme> {
    keys: Option<&'a KeysOf<S>>,
    ticket: Option<TicketOf<S>>,
    query: S::Query,
}

impl<S: Scheme> ParsedQuery<'_, S> {
    fn session(&self) -> Session<'_, S> {
        Session {
            keys: self.keys,
            ticket: self.ticket.as_ref(),
        }
    }
}

impl<S: Scheme> ErasedVersion for ErasedServerOf<S> {
    fn describe(&self) -> Description {
        self.server.params().describe()
    }

    fn version(&self) -> Version {
        self.version
    }
}

impl<S: Scheme> ErasedDatabase for ErasedServerOf<S> {
    fn public(&self) -> Vec<u8> {
        public_part::<S>(self.version, self.server.params(), self.server.public())
    }

    fn check_query(&self, query: &[u8]) -> Result<()> {
        self.parse_query(query).map(drop)
    }
}

impl<S: Scheme> ErasedServer for ErasedServerOf<S> {
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

        let answers = answer_each(requests, |good: &[&ParsedQuery<'_, S>]| {
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

    fn registered(&self) -> Option<&dyn ErasedRegisteredServer> {
        S::Registration::SIDES.map(|_| self as &dyn ErasedRegisteredServer)
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

    fn on_device(&self, device: &dyn Device) -> Result<Option<PlacedServer>> {
        let Some(on_device) = S::DEVICE else {
            return Ok(None);
        };

        let placed = on_device.place(&self.server, device)?;

        // The same version: clients need not notice which processor answers.
        let server = Box::new(Self {
            server: placed.server,
            version: self.version,
        });
        Ok(Some(PlacedServer {
            server,
            matrices: placed.matrices,
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
        // Scheme and parameters come first, since all other sections are the scheme's.
        sink.put(IDENTITY, &[&identity])?;
        self.server.save(sink)
    }
}

impl<S: Scheme> ErasedRegisteredServer for ErasedServerOf<S> {
    fn accept_keys(&self, keys: &[u8]) -> Result<ErasedKeys> {
        let (found, payload) = envelope::open(keys, Kind::Keys, S::ID)?;
        let keys = KeysOf::<S>::decode(self.server.params(), payload)
            .map_err(|error| parse_error(error, found, self.version))?;

        // An update need not change what keys depend on: keys of an earlier version may fit.
        if found != self.version && !S::Registration::KEYS_FIT {
            return Err(Error::WrongVersion {
                found,
                expected: self.version,
            });
        }

        Ok(ErasedKeys(Box::new(keys)))
    }

    fn ticket(
        &self,
        keys: &ErasedKeys,
        number: u64,
        earlier: Option<EarlierErasedTicket<'_>>,
        progress: &dyn Progress,
    ) -> Result<Vec<u8>> {
        let earlier = match earlier {
            Some(earlier) => Self::earlier_ticket(earlier)?,
            None => None,
        };
        let keys = keys_of::<S>(keys)?;

        let ticket = self
            .registered_side()?
            .ticket(keys, number, earlier, progress)?;
        Ok(ticket.encode(self.server.params()))
    }
}

fn keys_of<S: Scheme>(keys: &ErasedKeys) -> Result<&KeysOf<S>> {
    keys.0
        .downcast_ref()
        .ok_or_else(|| foreign::<S>("client keys"))
}
