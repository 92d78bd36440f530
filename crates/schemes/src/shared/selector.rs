//! Encrypted unit vectors over the packing ring.

use papir_lattice::lwe::{block_mask, encrypt_selector};
use papir_lattice::mod_switch::PowerSwitch;
use papir_lattice::params::RlweParams;
use papir_lattice::secret::SecretKey;
use papir_lattice::selection::SelectorMasks;
use papir_ring::prg::Seed;
use papir_ring::{Poly, Values};
use rand_core::CryptoRng;

/// How the unit vector of a column is encrypted under LWE, and rounded.
#[derive(Clone, Copy, Debug)]
pub struct Selector<'a> {
    pub(crate) rlwe: &'a RlweParams,
    /// Label of the masks' stream, one index for each block of d columns.
    pub(crate) label: &'static str,
    /// Entries.
    pub(crate) columns: usize,
    /// Δ, the message at the selected column.
    pub(crate) scale: u64,
    /// Bits that an entry is rounded to.
    pub(crate) bits: u32,
}

impl Selector<'_> {
    /// Mask of a block of d columns.
    pub fn mask(&self, seed: &Seed, block: usize) -> Poly<Values> {
        block_mask(self.rlwe, seed, self.label, block)
    }

    /// Masks of all blocks, for packs of `capacity` rows; 1 for rows that are not packed.
    pub(crate) fn masks(&self, seed: &Seed, capacity: usize) -> SelectorMasks {
        SelectorMasks::new(self.rlwe, seed, self.label, self.columns, capacity)
    }

    /// Encrypts the unit vector of a column and rounds it. No branch depends on the column.
    pub(crate) fn encrypt(
        &self,
        seed: &Seed,
        key: &SecretKey,
        selected: u32,
        rng: &mut dyn CryptoRng,
    ) -> Vec<u64> {
        let masks = (0..).map(|block| self.mask(seed, block));
        let bodies = encrypt_selector(self.rlwe, key, masks, self.columns, selected, self.scale, rng);
        let switch = PowerSwitch::new(self.rlwe.ring().modulus(), self.bits);
        bodies.into_iter().map(|body| switch.down(body)).collect()
    }
}
