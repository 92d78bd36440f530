//! Packing keys: public masks and the client's bodies.

use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Form, Poly, Ring, Values};

use super::error::{PackingError, check_count};
use super::key_shape::KeyShape;
use crate::gadget::Gadget;
use crate::key_switch;
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
        let shape = KeyShape { packing, degree: ring.degree(), capacity, matrices: switches.len(), levels };
        let expand = |(exponent, label): &(usize, String)| {
            let masks = key_switch::masks(ring, seed, label, levels);
            SwitchMasks { exponent: *exponent, masks }
        };
        let switches = switches.iter().map(expand).collect();
        Self { params: params.clone(), gadget: gadget.clone(), shape, switches }
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

/// The bodies y = −s·w + e + τ_e(s)·g of all matrices of a packing key, which a client sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBodies<F: Form> {
    shape: KeyShape,
    elements: Vec<Poly<F>>,
}

impl<F: Form> KeyBodies<F> {
    /// Creates a key from received elements; `shape` is the shape that the sender claims.
    ///
    /// # Errors
    /// [`PackingError::Count`] if the shape has another number of elements.
    pub fn new(shape: KeyShape, elements: Vec<Poly<F>>) -> Result<Self, PackingError> {
        check_count("ring elements of a packing key", elements.len(), shape.elements())?;
        Ok(Self { shape, elements })
    }

    /// Shape of the key.
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// ℓ ring elements for each matrix, matrix after matrix.
    pub fn elements(&self) -> &[Poly<F>] {
        &self.elements
    }
}

impl KeyBodies<Values> {
    /// Creates a key from generated elements, as many as the shape has.
    pub(super) fn generated(shape: KeyShape, elements: Vec<Poly<Values>>) -> Self {
        Self { shape, elements }
    }

    /// Returns the ring elements, in the order of [`KeyBodies::elements`].
    pub fn into_elements(self) -> Vec<Poly<Values>> {
        self.elements
    }

    /// Converts to coefficients, the wire form before rounding.
    pub fn into_coefficients(self, ring: &Ring) -> KeyBodies<Coefficients> {
        let elements = self.elements.into_iter().map(|y| ring.inverse(y)).collect();
        KeyBodies { shape: self.shape, elements }
    }
}

/// A client's key, expanded for the online part.
#[derive(Clone, Debug)]
pub struct OnlineKey<K> {
    pub(super) shape: KeyShape,
    pub(super) key: K,
}
