//! Packing keys: public masks and the client's bodies.

use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Poly, Ring, Values};

use super::error::{PackingError, check_count};
use super::key_shape::KeyShape;
use crate::gadget::Gadget;
use crate::key_switch;
use crate::mod_switch::{lift_elements, round_elements};
use crate::params::RlweParams;

/// Public half w of a key-switching matrix from τ_e(s) to s.
#[derive(Clone, Debug)]
pub struct SwitchMasks {
    /// e.
    pub exponent: usize,
    /// w, ℓ ring elements.
    pub masks: Vec<Poly<Values>>,
}

/// Ring, gadget and key masks of a packing.
#[derive(Clone, Debug)]
pub struct Setup {
    params: RlweParams,
    gadget: Gadget,
    shape: KeyShape,
    switches: Vec<SwitchMasks>,
}

impl Setup {
    /// Expands the masks of one matrix for each (exponent, label).
    ///
    /// Each label must be unique to its (packing, γ, matrix), since it selects the stream of the
    /// masks.
    pub fn new(
        packing: &'static str,
        params: &RlweParams,
        gadget: &Gadget,
        capacity: usize,
        seed: &Seed,
        switches: &[(usize, String)],
    ) -> Self {
        let ring = params.ring();
        let levels = gadget.levels();
        let shape = KeyShape {
            packing,
            degree: ring.degree(),
            capacity,
            matrices: switches.len(),
            levels,
        };

        let switches = switches
            .iter()
            .map(|(exponent, label)| SwitchMasks {
                exponent: *exponent,
                masks: key_switch::masks(ring, seed, label, levels),
            })
            .collect();

        Self {
            params: params.clone(),
            gadget: gadget.clone(),
            shape,
            switches,
        }
    }

    /// Ring and error.
    pub fn params(&self) -> &RlweParams {
        &self.params
    }

    /// R_q.
    pub fn ring(&self) -> &Ring {
        self.params.ring()
    }

    /// Gadget of all keys.
    pub fn gadget(&self) -> &Gadget {
        &self.gadget
    }

    /// Shape of its keys.
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// Public halves of all keys, in the order in which a client sends the other halves.
    pub fn switches(&self) -> &[SwitchMasks] {
        &self.switches
    }
}

/// The bodies y = −s·w + e + τ_e(s)·g of all matrices of a packing key, as a client generates them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBodies {
    shape: KeyShape,
    elements: Vec<Poly<Values>>,
}

impl KeyBodies {
    /// Creates a key from generated elements, as many as the shape has.
    pub(super) fn generated(shape: KeyShape, elements: Vec<Poly<Values>>) -> Self {
        Self { shape, elements }
    }

    /// Shape of the key.
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// ℓ ring elements for each matrix, matrix after matrix.
    pub fn elements(&self) -> &[Poly<Values>] {
        &self.elements
    }

    /// Returns the ring elements, in the order of [`KeyBodies::elements`].
    pub fn into_elements(self) -> Vec<Poly<Values>> {
        self.elements
    }

    /// Rounds all coefficients to `bits` bits, the form in which a client sends them: d words for
    /// each ring element.
    pub fn round(&self, ring: &Ring, bits: u32) -> Vec<u64> {
        round_elements(ring, bits, self.elements.clone())
    }
}

/// A key-switching matrix as a client sends it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoundedMatrix<'a> {
    /// Coefficients modulo 2^bits, d for each of ℓ ring elements.
    pub words: &'a [u64],
    /// Bits of a coefficient.
    pub bits: u32,
}

/// A packing key as a client sends it: bodies rounded to few bits ([`KeyBodies::round`]).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoundedKey<'a> {
    shape: KeyShape,
    matrices: Vec<RoundedMatrix<'a>>,
}

impl<'a> RoundedKey<'a> {
    /// Creates a key from the words of all matrices, matrix after matrix; `bits` has the bits of
    /// each matrix, and `shape` is the shape that the sender claims.
    ///
    /// # Errors
    /// [`PackingError::Count`] if the shape has another number of words or matrices.
    pub fn new(shape: KeyShape, bits: &[u32], words: &'a [u64]) -> Result<Self, PackingError> {
        check_count("matrices of a packing key", bits.len(), shape.matrices)?;
        check_count("words of a packing key", words.len(), shape.words())?;

        let words = words.chunks_exact(shape.levels * shape.degree);
        let matrices = words
            .zip(bits)
            .map(|(words, &bits)| RoundedMatrix { words, bits })
            .collect();
        Ok(Self { shape, matrices })
    }

    /// Shape of the key.
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// The matrices, in the order of [`Setup::switches`].
    pub fn matrices(&self) -> &[RoundedMatrix<'a>] {
        &self.matrices
    }
}

impl RoundedMatrix<'_> {
    /// The ring elements, lifted to q.
    pub(super) fn lift(&self, ring: &Ring) -> Vec<Poly<Values>> {
        lift_elements(ring, self.bits, self.words)
            .into_iter()
            .map(|y| ring.forward(y))
            .collect()
    }
}

/// A client's key, expanded for the online part.
#[derive(Clone, Debug)]
pub struct OnlineKey<K> {
    pub(super) shape: KeyShape,
    pub(super) key: K,
}
