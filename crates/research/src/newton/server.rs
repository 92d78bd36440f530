//! The server of NewtonPIR: `Setup` and `Response` of Figure 2.

use std::sync::{Arc, Mutex, PoisonError};

use papir_core::scheme::{EarlierTicket, Parameters, RegisteredServer, Scheme, Server, Session};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, Change, Error, NoProgress, Progress, Records, Result, copy_packed};
use rand_core::CryptoRng;
use rayon::prelude::*;

use super::coefficients::Preparation;
use super::fhe::Ring;
use super::horner::Powers;
use super::key::SecretKey;
use super::modulus::{Modulus, bytes_of, words_of};
use super::params::{Newton, NewtonParams, Variant};
use super::wire::{NewtonAnswer, NewtonKeys, NewtonPublic, NewtonQuery, NewtonTicket};
use papir_schemes::shared::stored_records;

const RECORDS: &str = "newton/records";
const MODULUS: &str = "newton/modulus";
const COEFFICIENTS: &str = "newton/coefficients";

/// Number of clients whose coefficients are cached. For other clients, each query prepares them
/// again.
const MAX_CACHED: usize = 8;

/// The coefficients of all chunks modulo one n.
pub struct ModularCoefficients {
    modulus: Arc<Modulus>,
    /// For each chunk, the coefficients as elements.
    coefficients: Vec<Vec<u64>>,
}

/// A server: the records, and their coefficients modulo the n of recent clients.
pub struct NewtonServer<V> {
    params: NewtonParams<V>,
    public: NewtonPublic,
    packed: Blob,
    /// Cached coefficients in order of use, the latest last; a single entry if all clients share
    /// one n.
    prepared: Mutex<Vec<Arc<ModularCoefficients>>>,
}

impl<V: Variant> Server<Newton<V>> for NewtonServer<V> {
    fn setup(
        params: NewtonParams<V>,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        params.check_acknowledged()?;
        let modulus = match V::REGISTERED {
            true => None,
            // Nobody needs the factors of n, so they are dropped.
            false => Some(Arc::clone(
                SecretKey::generate(V::MODULUS_BITS, rng)?.modulus(),
            )),
        };

        Self::setup_under(params, modulus, records, progress)
    }

    fn params(&self) -> &NewtonParams<V> {
        &self.params
    }

    fn public(&self) -> &NewtonPublic {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Newton<V>>, &NewtonQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<NewtonAnswer>> {
        progress.stage("answer", batch.len() as u64);
        batch
            .into_par_iter()
            .map(|(session, query)| self.answer_one(session, query))
            .collect()
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        // Clients' coefficients are of the old records: the new version starts without any.
        let packed = stored_records::change(self.params.shape(), &self.packed, changes)?;
        let modulus = self.public.modulus.clone();
        Self::prepared(self.params.clone(), modulus, packed, progress)
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        copy_packed(&self.params.shape(), &self.packed, first, count, out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(RECORDS, &[&self.packed])?;

        // Coefficients modulo the n of clients are a cache, and are not stored.
        let Some(modulus) = &self.public.modulus else {
            return Ok(());
        };

        sink.put(MODULUS, &[&bytes_of(modulus.integer())])?;
        let prepared = self.coefficients(modulus, &NoProgress)?;

        let parts: Vec<Vec<u8>> = prepared
            .coefficients
            .iter()
            .map(|chunk| bytes_of(&modulus.leave(chunk)))
            .collect();

        sink.put(
            COEFFICIENTS,
            &parts.iter().map(Vec::as_slice).collect::<Vec<_>>(),
        )
    }

    fn load(params: NewtonParams<V>, source: &dyn SectionSource) -> Result<Self> {
        params.check_acknowledged()?;
        let packed = stored_records::load(params.shape(), source, RECORDS)?;
        if V::REGISTERED {
            return Self::prepared(params, None, packed, &NoProgress);
        }

        let modulus = source.get(MODULUS)?;
        Error::check_length("newton's modulus", modulus.len(), params.number_bytes())?;
        let modulus = Arc::new(Modulus::new(V::MODULUS_BITS, &words_of(&modulus))?);

        let coefficients = source.get(COEFFICIENTS)?;
        Error::check_length(
            "newton's coefficients",
            coefficients.len(),
            params.coefficient_bytes(),
        )?;

        let chunk_bytes = params.coefficient_bytes() / params.chunks();
        let chunks = coefficients.chunks_exact(chunk_bytes);
        let coefficients = chunks
            .map(|chunk| modulus.enter(&words_of(chunk), modulus.words()))
            .collect();

        let prepared = ModularCoefficients {
            modulus: Arc::clone(&modulus),
            coefficients,
        };
        let public = NewtonPublic {
            modulus: Some(modulus),
        };

        let prepared = Mutex::new(vec![Arc::new(prepared)]);
        Ok(Self {
            params,
            public,
            packed,
            prepared,
        })
    }
}

impl<V: Variant> RegisteredServer<Newton<V>> for NewtonServer<V> {
    /// Prepares the coefficients for the client's n if needed. They are the same for all ticket
    /// numbers.
    fn ticket(
        &self,
        keys: &NewtonKeys,
        number: u64,
        _earlier: Option<EarlierTicket<'_, Newton<V>>>,
        progress: &dyn Progress,
    ) -> Result<NewtonTicket> {
        self.coefficients(&keys.modulus, progress)?;
        Ok(NewtonTicket {
            number,
            tag: keys.tag(),
        })
    }
}

impl<V: Variant> NewtonServer<V> {
    /// Evaluates the polynomial of every chunk modulo the client's n.
    fn answer_one(
        &self,
        session: Session<'_, Newton<V>>,
        query: &NewtonQuery,
    ) -> Result<NewtonAnswer> {
        // The coefficients of another n would be prepared for as long as a setup: it is refused
        // before.
        let modulus = self.modulus_of(&session)?;
        if query.modulus != modulus.integer() {
            let expected = if V::REGISTERED {
                "the registered one"
            } else {
                "the database's"
            };
            return Err(Error::malformed(
                "a query's modulus",
                "another one",
                expected,
            ));
        }

        let prepared = self.coefficients(modulus, &NoProgress)?;
        prepared.answer(query)
    }

    /// `Setup`, with this n if all clients share one.
    pub(super) fn setup_under(
        params: NewtonParams<V>,
        modulus: Option<Arc<Modulus>>,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        params.check_acknowledged()?;
        let packed = stored_records::copy(V::NAME, params.shape(), records, progress)?;
        Self::prepared(params, modulus, packed, progress)
    }

    /// Creates a server, and prepares the coefficients for the database's own n if it has one.
    fn prepared(
        params: NewtonParams<V>,
        modulus: Option<Arc<Modulus>>,
        packed: Blob,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let public = NewtonPublic { modulus };
        let server = Self {
            params,
            public,
            packed,
            prepared: Mutex::default(),
        };

        if let Some(modulus) = &server.public.modulus {
            server.coefficients(modulus, progress)?;
        }

        Ok(server)
    }

    /// The modulus of a session's queries.
    fn modulus_of<'a>(&'a self, session: &Session<'a, Newton<V>>) -> Result<&'a Arc<Modulus>> {
        if let Some(modulus) = &self.public.modulus {
            return Ok(modulus);
        }

        let keys = session.keys.ok_or_else(|| missing::<V>("client keys"))?;
        let ticket = session.ticket.ok_or_else(|| missing::<V>("a ticket"))?;

        if ticket.tag != keys.tag() {
            return Err(Error::malformed(
                "a ticket",
                "one of another client",
                "one of this client",
            ));
        }

        Ok(&keys.modulus)
    }

    /// Returns the coefficients modulo n, from the cache or newly prepared.
    ///
    /// # Errors
    /// [`Error::Malformed`] for an n with a prime factor below the number of records.
    pub fn coefficients(
        &self,
        modulus: &Arc<Modulus>,
        progress: &dyn Progress,
    ) -> Result<Arc<ModularCoefficients>> {
        if let Some(found) = self.find(modulus) {
            return Ok(found);
        }

        // Prepared without the lock, so that other clients are answered meanwhile.
        let fresh = Arc::new(ModularCoefficients::new(
            &self.params,
            modulus,
            &self.packed,
            progress,
        )?);

        let mut kept = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Arc::clone(&fresh));
        let excess = kept.len().saturating_sub(MAX_CACHED);
        kept.drain(..excess);

        Ok(fresh)
    }

    fn find(&self, modulus: &Modulus) -> Option<Arc<ModularCoefficients>> {
        let mut kept = self.prepared.lock().unwrap_or_else(PoisonError::into_inner);
        let place = kept
            .iter()
            .position(|one| one.modulus.integer() == modulus.integer())?;

        // Moved to the end, as the first one is dropped when the cache is full.
        let found = kept.remove(place);
        kept.push(Arc::clone(&found));
        Some(found)
    }
}

fn missing<V: Variant>(what: &'static str) -> Error {
    Error::Session {
        scheme: Newton::<V>::NAME,
        what,
    }
}

impl ModularCoefficients {
    /// Interpolates all chunks of the records.
    fn new<V: Variant>(
        params: &NewtonParams<V>,
        modulus: &Arc<Modulus>,
        packed: &[u8],
        progress: &dyn Progress,
    ) -> Result<Self> {
        let preparation = Preparation::new(modulus, params.shape().records() as usize, progress)?;
        let chunks = (0..params.chunks()).map(|i| params.chunk_of_all(packed, i));

        let coefficients = chunks
            .map(|chunk| preparation.coefficients(&chunk, modulus.words(), progress))
            .collect();

        Ok(Self {
            modulus: Arc::clone(modulus),
            coefficients,
        })
    }

    /// `Response` of Figure 2, for all chunks.
    fn answer(&self, query: &NewtonQuery) -> Result<NewtonAnswer> {
        let n = &*self.modulus;
        let (ring, c) = Ring::of(n, &query.ciphertext);
        let powers = Powers::new(&ring, &c)?;

        let polynomials: Vec<&[u64]> = self.coefficients.iter().map(Vec::as_slice).collect();
        let remainders = powers.remainders(n, &polynomials);

        let rank = super::fhe::RANK * n.limbs();
        let chunks = remainders
            .chunks_exact(rank)
            .map(|remainder| powers.evaluate(n, remainder))
            .collect();
        Ok(NewtonAnswer { chunks })
    }
}
