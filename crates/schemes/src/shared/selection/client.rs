//! The client of a packed selection.

use papir_core::Result;
use papir_lattice::mod_switch::round_elements;
use papir_lattice::packing::RingPacking;
use papir_lattice::response::ResponseBits;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::family::Family;
use super::params::SelectionParams;
use super::wire::{SelectionAnswer, SelectionQuery};

/// The public seed and the masks of the packing keys.
pub struct SelectionClient<F: Family> {
    seed: Seed,
    packing: F::Packing,
}

impl<F: Family> SelectionClient<F> {
    /// A client under a public seed.
    ///
    /// # Errors
    /// As [`SelectionParams::packing`].
    pub fn new(params: &SelectionParams<F>, seed: Seed) -> Result<Self> {
        Ok(Self { seed, packing: params.packing(&seed)? })
    }

    /// Encrypts the unit vector of a column and a packing key under a fresh secret.
    pub fn query(
        &self,
        params: &SelectionParams<F>,
        secret: &SecretKey,
        selected: u32,
        rng: &mut dyn CryptoRng,
    ) -> SelectionQuery {
        let selector = params.selector().encrypt(&self.seed, secret, selected, rng);
        let keys = self.packing.generate_key(secret, rng).into_elements();
        let keys = round_elements(params.rlwe().ring(), params.bits().key, keys);
        SelectionQuery { selector, keys }
    }
}

/// A decrypted answer.
pub struct Opened {
    /// Words of all rows, then of the single ones, modulo 2^D.
    pub words: Zeroizing<Vec<u32>>,
    /// Whether every coefficient is within the bound on the noise.
    pub decodes: bool,
}

impl Opened {
    /// Decodes phases to words modulo 2^plain, in the same time whether or not all are within
    /// `bound` of a word, in units of q/2^a.
    pub(crate) fn new(bits: ResponseBits, plain: u32, phases: &[u64], bound: u64) -> Self {
        let mut worst = 0;
        let decode = |&phase: &u64| {
            let (word, distance) = bits.nearest(phase, plain);
            worst = worst.max(distance);
            word as u32
        };
        let words = Zeroizing::new(phases.iter().map(decode).collect());
        Self { words, decodes: worst <= bound }
    }
}

impl SelectionAnswer {
    /// Decrypts all words, in the same time whether the answer decodes or not.
    pub fn open<F: Family>(&self, params: &SelectionParams<F>, secret: &SecretKey) -> Opened {
        let phases = self.phases(params, secret);
        Opened::new(params.bits().answer, params.selection().plain_bits, &phases, params.bound())
    }

    /// Phases of all rows, then of the single ones, in units of q/2^a.
    pub fn phases<F: Family>(&self, params: &SelectionParams<F>, secret: &SecretKey) -> Zeroizing<Vec<u64>> {
        let (ring, bits) = (params.rlwe().ring(), params.bits().answer);
        let selection = params.selection();
        let (packs, singles) = self.masks.split_at(selection.packs() * params.degree());
        let (rows, single_bodies) = self.bodies.split_at(selection.rows);
        let mut phases = Zeroizing::new(Vec::with_capacity(self.bodies.len()));
        for (mask, body) in packs.chunks_exact(params.degree()).zip(rows.chunks(selection.capacity)) {
            phases.extend_from_slice(&bits.phases(ring, secret, mask, body));
        }
        let single = |(mask, &body)| bits.first_phase(secret, mask, body);
        phases.extend(singles.chunks_exact(params.degree()).zip(single_bodies).map(single));
        phases
    }
}
