//! The client of NewtonPIR: `Query` and `Extract` of Figure 2.

use std::sync::Arc;

use papir_core::codec::Reader;
use papir_core::scheme::{Client, Parameters, RegisteredClient, StateNumbers, Wire, check_indices};
use papir_core::{Error, Record, Result};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::fhe::{Point, encrypt, point_of};
use super::key::SecretKey;
use super::modulus::{Modulus, bytes_of, words_of};
use super::params::{NUMBER_BYTES, Newton, NewtonParams, Variant};
use super::wire::{NewtonAnswer, NewtonKeys, NewtonPublic, NewtonQuery};

/// State of a registered client: its key, and the number of its next query.
///
/// ```text
/// state    n, d, number of the next query (8)
/// ```
pub struct NewtonState {
    key: Arc<SecretKey>,
    next: u64,
}

impl<V: Variant> Wire<NewtonParams<V>> for NewtonState {
    fn encode(&self, _params: &NewtonParams<V>) -> Vec<u8> {
        let modulus = self.key.modulus().integer();
        let exponent = self.key.exponent();
        [
            &bytes_of(modulus)[..],
            &Zeroizing::new(bytes_of(exponent)),
            &self.next.to_le_bytes(),
        ]
        .concat()
    }

    fn decode(params: &NewtonParams<V>, bytes: &[u8]) -> Result<Self> {
        let number = params.number_bytes();
        Error::check_length(
            "newton's client state",
            bytes.len(),
            2 * number + NUMBER_BYTES,
        )?;

        let mut reader = Reader::new("newton's client state", bytes);
        let modulus = Modulus::new(V::MODULUS_BITS, &words_of(reader.raw(number)?))?;
        let exponent = Zeroizing::new(words_of(reader.raw(number)?));

        // A d that does not fit n would open answers to wrong records.
        let key = SecretKey::from_parts(Arc::new(modulus), &exponent)?;
        Ok(Self {
            key: Arc::new(key),
            next: reader.u64()?,
        })
    }
}

/// The secret of one query, which opens its answer.
pub struct NewtonSecret {
    modulus: Arc<Modulus>,
    opening: Opening,
}

enum Opening {
    /// Figure 2: d, and the query's u and v.
    Key {
        key: Arc<SecretKey>,
        cubes: [Vec<u64>; 2],
    },
    /// Section 4.3: a and b.
    Point(Point),
}

/// A client, which stores no data of the database.
pub struct NewtonClient<V> {
    params: NewtonParams<V>,
    public: NewtonPublic,
}

impl<V: Variant> Client<Newton<V>> for NewtonClient<V> {
    fn new(params: NewtonParams<V>, public: NewtonPublic) -> Result<Self> {
        params.check_acknowledged()?;
        Ok(Self { params, public })
    }

    fn params(&self) -> &NewtonParams<V> {
        &self.params
    }

    fn query(
        &self,
        state: Option<&mut NewtonState>,
        indices: &[u64],
        rng: &mut dyn CryptoRng,
    ) -> Result<(NewtonSecret, NewtonQuery)> {
        check_indices(V::NAME, &self.params.shape(), indices, 1)?;

        // With one n for all clients there is no key, whatever state the caller has.
        let key = match state {
            _ if !V::REGISTERED => None,
            Some(state) => {
                let missing = Error::Session {
                    scheme: V::NAME,
                    what: "an unused number",
                };
                // Counted before the query exists, so that no two queries have the same number.
                state.next = state.next.checked_add(1).ok_or(missing)?;
                Some(Arc::clone(&state.key))
            }
            None => None,
        };

        let own = key
            .as_ref()
            .map(|key| key.modulus())
            .or(self.public.modulus.as_ref());
        let Some(own) = own else {
            return Err(Error::Session {
                scheme: V::NAME,
                what: "client state",
            });
        };
        let modulus = Arc::clone(own);

        // The paper counts records from 1.
        let (ciphertext, point) = encrypt(&modulus, indices[0] + 1, rng);
        let opening = match key {
            Some(key) => Opening::Key {
                key,
                // The point follows from these cubes and d when the answer comes, so that it is not
                // kept meanwhile.
                cubes: [ciphertext.u.clone(), ciphertext.v.clone()],
            },
            None => Opening::Point(point),
        };

        let query = NewtonQuery {
            modulus: modulus.integer().to_vec(),
            ciphertext,
        };
        Ok((NewtonSecret { modulus, opening }, query))
    }

    fn extract(&self, secret: NewtonSecret, answer: NewtonAnswer) -> Result<Vec<Record>> {
        let point = match secret.opening {
            Opening::Key { key, cubes: [u, v] } => point_of(&key, &u, &v),
            Opening::Point(point) => point,
        };

        // The final length: growing would leave copies of the record behind.
        let length = answer.chunks.len() * self.params.number_bytes();
        let mut chunks = Zeroizing::new(Vec::with_capacity(length));
        for chunk in &answer.chunks {
            let number = point.open(&secret.modulus, chunk);
            chunks.extend_from_slice(&Zeroizing::new(bytes_of(&number)));
        }

        Ok(vec![self.params.join(&chunks)?])
    }
}

impl<V: Variant> RegisteredClient<Newton<V>> for NewtonClient<V> {
    fn register(
        &self,
        _kept: Option<&NewtonState>,
        rng: &mut dyn CryptoRng,
    ) -> Result<(NewtonState, NewtonKeys)> {
        let key = Arc::new(SecretKey::generate(V::MODULUS_BITS, rng)?);
        let keys = NewtonKeys {
            modulus: Arc::clone(key.modulus()),
        };

        Ok((NewtonState { key, next: 0 }, keys))
    }

    fn numbers(&self, state: &NewtonState) -> StateNumbers {
        StateNumbers::of_ticket(state.next)
    }

    fn state_fits(&self, _state: &NewtonState) -> bool {
        true
    }
}
