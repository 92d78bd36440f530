//! Packing keys: shape, public masks, and the bodies that a client sends.

use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Form, Poly, Ring, Values};

use super::error::{PackingError, check_count};
use super::key_shape::KeyShape;
use crate::gadget::Gadget;
use crate::key_switch;
use crate::params::RlweParams;

/// The public half w of a key-switching matrix from τ_e(s) to s.
#[derive(Clone, Debug)]
pub struct SwitchMasks {
    /// e.
    pub exponent: usize,
    /// w, ℓ ring elements.
    pub masks: Vec<Poly<Values>>,
}

/// What every packing is made of: ring, gadget and the masks of its keys.
#[derive(Clone, Debug)]
pub struct Setup {
    params: RlweParams,
    gadget: Gadget,
    shape: KeyShape,
    switches: Vec<SwitchMasks>,
}

impl Setup {
    /// For packs of `capacity`, with one matrix for each exponent: its masks come from the stream of
    /// the label beside it, one label for each (packing, γ, matrix).
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

    /// The gadget of all keys.
    pub fn gadget(&self) -> &Gadget {
        &self.gadget
    }

    /// What its keys look like.
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// The public halves of all keys, in the order in which a client sends the other halves.
    pub fn switches(&self) -> &[SwitchMasks] {
        &self.switches
    }
}

/// The bodies y = −s·w + e + τ_e(s)·g of all matrices of a packing's key: what a client sends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyBodies<F: Form> {
    shape: KeyShape,
    elements: Vec<Poly<F>>,
}

impl<F: Form> KeyBodies<F> {
    /// From what was received; `shape` is what the sender says that it is.
    ///
    /// # Errors
    /// [`PackingError::Count`] when the shape has another number of elements.
    pub fn new(shape: KeyShape, elements: Vec<Poly<F>>) -> Result<Self, PackingError> {
        check_count("ring elements of a packing key", elements.len(), shape.elements())?;
        Ok(Self { shape, elements })
    }

    /// Whose key it is.
    pub fn shape(&self) -> KeyShape {
        self.shape
    }

    /// ℓ ring elements a matrix, matrix after matrix.
    pub fn elements(&self) -> &[Poly<F>] {
        &self.elements
    }
}

impl KeyBodies<Values> {
    /// A key with exactly the elements of its shape.
    pub(super) fn generated(shape: KeyShape, elements: Vec<Poly<Values>>) -> Self {
        Self { shape, elements }
    }

    /// The ring elements, in the order of [`KeyBodies::elements`].
    pub fn into_elements(self) -> Vec<Poly<Values>> {
        self.elements
    }

    /// The same in coefficients, as they travel (unrounded).
    pub fn into_coefficients(self, ring: &Ring) -> KeyBodies<Coefficients> {
        let elements = self.elements.into_iter().map(|y| ring.inverse(y)).collect();
        KeyBodies { shape: self.shape, elements }
    }
}

/// A client's key as the online part uses it.
#[derive(Clone, Debug)]
pub struct OnlineKey<K> {
    pub(super) shape: KeyShape,
    pub(super) key: K,
}
