//! Messages of NewtonPIR. Numbers are little-endian and have as many bytes as n.
//!
//! ```text
//! public   n if all clients share one; empty otherwise
//! keys     n
//! query    n, u, v, the nine coefficients of c
//! ticket   number (8), tag of the keys (16)
//! answer   for each chunk of a record: the nine coefficients of f(c)
//! ```

use std::sync::Arc;

use papir_core::codec::{Reader, Writer};
use papir_core::scheme::Wire;
use papir_core::{Error, Result};

use super::fhe::{Ciphertext, RANK};
use super::modulus::{Modulus, bytes_of, words_of};
use super::params::{NUMBER_BYTES, NewtonParams, TAG_BYTES, Variant};

/// The public part: n, if the database has one.
#[derive(Clone)]
pub struct NewtonPublic {
    pub(super) modulus: Option<Arc<Modulus>>,
}

impl<V: Variant> Wire<NewtonParams<V>> for NewtonPublic {
    fn encode(&self, _params: &NewtonParams<V>) -> Vec<u8> {
        self.modulus
            .as_ref()
            .map_or_else(Vec::new, |n| bytes_of(n.integer()))
    }

    fn decode(params: &NewtonParams<V>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("newton's public part", bytes.len(), params.public_bytes())?;
        if V::REGISTERED {
            return Ok(Self { modulus: None });
        }

        let modulus = Modulus::new(V::MODULUS_BITS, &words_of(bytes))?;
        Ok(Self {
            modulus: Some(Arc::new(modulus)),
        })
    }
}

/// Registered keys of a client: its n.
pub struct NewtonKeys {
    pub(super) modulus: Arc<Modulus>,
}

impl NewtonKeys {
    /// The tag that binds tickets to a client.
    pub(super) fn tag(&self) -> [u8; TAG_BYTES] {
        let hash = blake3::hash(&bytes_of(self.modulus.integer()));
        let mut tag = [0; TAG_BYTES];
        tag.copy_from_slice(&hash.as_bytes()[..TAG_BYTES]);
        tag
    }
}

impl<V: Variant> Wire<NewtonParams<V>> for NewtonKeys {
    fn encode(&self, _params: &NewtonParams<V>) -> Vec<u8> {
        bytes_of(self.modulus.integer())
    }

    fn decode(params: &NewtonParams<V>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("newton's keys", bytes.len(), params.number_bytes())?;
        Ok(Self {
            modulus: Arc::new(Modulus::new(V::MODULUS_BITS, &words_of(bytes))?),
        })
    }
}

/// An encrypted index, and the modulus n.
pub struct NewtonQuery {
    pub(super) modulus: Vec<u64>,
    pub(super) ciphertext: Ciphertext,
}

impl<V: Variant> Wire<NewtonParams<V>> for NewtonQuery {
    fn encode(&self, _params: &NewtonParams<V>) -> Vec<u8> {
        let Ciphertext { u, v, c } = &self.ciphertext;
        [&self.modulus, u, v, c]
            .map(|words| bytes_of(words))
            .concat()
    }

    fn decode(params: &NewtonParams<V>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("newton's query", bytes.len(), params.query_bytes())?;

        // Numbers may be n and more: the conversion to elements reduces them.
        let mut numbers = words_of(bytes).into_iter();
        let [modulus, u, v, c] = [1, 1, 1, RANK].map(|count| {
            numbers
                .by_ref()
                .take(count * params.number_words())
                .collect()
        });

        Ok(Self {
            modulus,
            ciphertext: Ciphertext { u, v, c },
        })
    }
}

/// Confirms that the coefficients for a client's n are prepared.
pub struct NewtonTicket {
    pub(super) number: u64,
    pub(super) tag: [u8; TAG_BYTES],
}

impl<V: Variant> Wire<NewtonParams<V>> for NewtonTicket {
    fn encode(&self, _params: &NewtonParams<V>) -> Vec<u8> {
        let mut writer = Writer::new();
        writer.u64(self.number).raw(&self.tag);
        writer.finish()
    }

    fn decode(_params: &NewtonParams<V>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("a ticket of newton", bytes.len(), NUMBER_BYTES + TAG_BYTES)?;
        let mut reader = Reader::new("a ticket of newton", bytes);
        Ok(Self {
            number: reader.u64()?,
            tag: reader.array()?,
        })
    }
}

/// The encrypted values f(i), one for each chunk of a record.
pub struct NewtonAnswer {
    /// Nine integers for each chunk.
    pub(super) chunks: Vec<Vec<u64>>,
}

impl<V: Variant> Wire<NewtonParams<V>> for NewtonAnswer {
    fn encode(&self, _params: &NewtonParams<V>) -> Vec<u8> {
        bytes_of(&self.chunks.concat())
    }

    fn decode(params: &NewtonParams<V>, bytes: &[u8]) -> Result<Self> {
        Error::check_length("newton's answer", bytes.len(), params.answer_bytes())?;
        let chunks = words_of(bytes)
            .chunks_exact(RANK * params.number_words())
            .map(<[u64]>::to_vec)
            .collect();
        Ok(Self { chunks })
    }
}
