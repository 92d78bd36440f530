//! Clients of a typed scheme behind trait objects.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::hedged;
use super::messages::{foreign, header, parse_error};
use super::{ErasedClient, ErasedRegisteredClient, ErasedSecret, ErasedState, ErasedVersion};
use crate::codec::Reader;
use crate::envelope::{self, Header, Kind};
use crate::hedge::Circumstances;
use crate::scheme::{
    Client, Parameters, RegisteredClient, Scheme, SchemeRegistration, StateNumbers, StateOf, Wire,
};
use crate::{Description, Error, Progress, Record, Result, Terms, Version};

/// Makes a client from an enveloped public part, under a program's terms.
pub(super) fn client_of<S: Scheme>(public: &[u8], terms: &Terms) -> Result<Box<dyn ErasedClient>> {
    let (version, payload) = envelope::open(public, Kind::Public, S::ID)?;
    let mut reader = Reader::new("a public part", payload);
    // First of all: parameters bound the lengths of everything that is allocated below.
    let params = terms.permit::<S>(S::Params::decode(reader.bytes()?)?)?;

    let public = S::Public::decode(&params, reader.rest())?;
    Ok(Box::new(ErasedClientOf::<S> {
        client: S::Client::new(params, public)?,
        version,
    }))
}

struct ErasedClientOf<S: Scheme> {
    client: S::Client,
    version: Version,
}

impl<S: Scheme> ErasedClientOf<S> {
    fn header(&self, kind: Kind) -> Header {
        header::<S>(kind, self.version)
    }

    /// The registered side. Fails in schemes without client keys, which have no state either.
    fn registered_side(&self) -> Result<&dyn RegisteredClient<S>> {
        match S::Registration::SIDES {
            Some(sides) => Ok((sides.client)(&self.client)),
            None => Err(foreign::<S>("client state")),
        }
    }

    fn parse_answer(&self, answer: &[u8]) -> Result<S::Answer> {
        let payload = envelope::open_version(answer, Kind::Answer, S::ID, self.version)?;
        S::Answer::decode(self.client.params(), payload)
    }
}

impl<S: Scheme> ErasedVersion for ErasedClientOf<S> {
    fn describe(&self) -> Description {
        self.client.params().describe()
    }

    fn version(&self) -> Version {
        self.version
    }
}

impl<S: Scheme> ErasedRegisteredClient for ErasedClientOf<S> {
    fn register_in(
        &self,
        kept: Option<&ErasedState>,
        circumstances: &Circumstances,
        rng: &mut dyn CryptoRng,
    ) -> Result<(ErasedState, Vec<u8>)> {
        let params = self.client.params();
        let header = self.header(Kind::Keys);
        let kept = kept.map(state_of::<S>).transpose()?;
        let encoded = kept.map(|kept| Zeroizing::new(kept.encode(params)));
        let encoded = encoded.as_ref().map(|encoded| encoded.as_slice());

        // Two clients with equal keys would number their queries alike, under equal masks.
        let mut rng = hedged::of_registration(encoded, &header, circumstances, rng);
        let (state, keys) = self.registered_side()?.register(kept, &mut rng)?;

        let sealed = envelope::seal(&header, &keys.encode(params));
        Ok((ErasedState(Box::new(state)), sealed))
    }

    fn numbers(&self, state: &ErasedState) -> Result<StateNumbers> {
        let state = state_of::<S>(state)?;
        Ok(self.registered_side()?.numbers(state))
    }

    fn save_state(&self, state: &ErasedState) -> Result<Zeroizing<Vec<u8>>> {
        let payload = Zeroizing::new(state_of::<S>(state)?.encode(self.client.params()));
        Ok(Zeroizing::new(envelope::seal(
            &self.header(Kind::State),
            &payload,
        )))
    }

    fn load_state(&self, bytes: &[u8]) -> Result<ErasedState> {
        let (found, payload) = envelope::open(bytes, Kind::State, S::ID)?;
        let state = StateOf::<S>::decode(self.client.params(), payload)
            .map_err(|error| parse_error(error, found, self.version))?;

        // An update need not change what the state depends on: state of an earlier version may fit.
        if found != self.version && !self.registered_side()?.state_fits(&state) {
            return Err(Error::WrongVersion {
                found,
                expected: self.version,
            });
        }

        Ok(ErasedState(Box::new(state)))
    }

    fn prepare(
        &self,
        state: &mut ErasedState,
        queries: usize,
        progress: &dyn Progress,
    ) -> Result<()> {
        let state = state_of_mut::<S>(state)?;
        self.registered_side()?.prepare(state, queries, progress)
    }

    fn send_ahead(&self, state: &mut ErasedState, rng: &mut dyn CryptoRng) -> Result<Vec<u8>> {
        let params = self.client.params();
        let header = self.header(Kind::Query);
        let state = state_of_mut::<S>(state)?;
        // Before it changes: the generator depends on the state that the key is made from.
        let kept = Zeroizing::new(state.encode(params));
        let query = self
            .registered_side()?
            .send_ahead(state, &mut hedged::of_query(&kept, &header, &[], rng))?;
        Ok(envelope::seal(&header, &query.encode(params)))
    }

    fn hold(&self, state: &mut ErasedState, number: u64, answer: &[u8]) -> Result<()> {
        let answer = self.parse_answer(answer)?;
        let state = state_of_mut::<S>(state)?;
        self.registered_side()?.hold(state, number, answer)
    }
}

impl<S: Scheme> ErasedClient for ErasedClientOf<S> {
    fn registered(&self) -> Option<&dyn ErasedRegisteredClient> {
        S::Registration::SIDES.map(|_| self as &dyn ErasedRegisteredClient)
    }

    fn query(
        &self,
        state: Option<&mut ErasedState>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(ErasedSecret, Vec<u8>)> {
        let params = self.client.params();
        let header = self.header(Kind::Query);
        let state = state.map(state_of_mut::<S>).transpose()?;
        let kept = Zeroizing::new(
            state
                .as_ref()
                .map(|state| state.encode(params))
                .unwrap_or_default(),
        );

        // Without encryption nothing needs it, and queries stay independent of the indices.
        let encrypts = state.is_some() || self.describe().security.is_some();
        let mut hedged = encrypts.then(|| hedged::of_query(&kept, &header, indices, rng));
        let rng = hedged.as_mut().map_or(rng, |hedged| hedged);

        let (secret, query) = self.client.query(state, indices, rng)?;
        let sealed = envelope::seal(&header, &query.encode(params));
        Ok((ErasedSecret(Box::new((self.version, secret))), sealed))
    }

    fn extract(&self, secret: ErasedSecret, answer: &[u8]) -> Result<Vec<Record>> {
        let secret = secret
            .0
            .downcast::<(Version, S::Secret)>()
            .map_err(|_| foreign::<S>("a secret"))?;

        // With a secret of another version an answer may decode to wrong records, without an error.
        let (version, secret) = *secret;
        if version != self.version {
            return Err(Error::WrongVersion {
                found: version,
                expected: self.version,
            });
        }

        self.client.extract(secret, self.parse_answer(answer)?)
    }
}

fn state_of<S: Scheme>(state: &ErasedState) -> Result<&StateOf<S>> {
    state
        .0
        .downcast_ref()
        .ok_or_else(|| foreign::<S>("client state"))
}

fn state_of_mut<S: Scheme>(state: &mut ErasedState) -> Result<&mut StateOf<S>> {
    state
        .0
        .downcast_mut()
        .ok_or_else(|| foreign::<S>("client state"))
}
