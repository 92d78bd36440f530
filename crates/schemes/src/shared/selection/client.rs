//! Messages of a packed selection, and their client.
//!
//! The parameters set the bits of a word; each part starts on a whole byte.
//!
//! ```text
//! query    an entry of query bits for each column; ring elements of the key, d coefficients of key
//!          bits, and of last key bits in its last matrix
//! answer   masks of d coefficients of a bits: packs, then single rows that are not packed; bodies
//!          of b bits: rows, then single ones
//! ```

use papir_core::codec::Reader;
use papir_core::scheme::Wire;
use papir_core::{Error, Result};
use papir_lattice::mod_switch::round_elements;
use papir_lattice::packing::Packing;
use papir_lattice::response::ResponseBits;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::Seed;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::params::SelectionParams;
use super::ring::DEGREE;
use super::variant::PackedVariant;
use crate::shared::matrices::Selector;
use crate::shared::messages::{pack, unpack};

/// A query: a rounded encryption of a unit vector, and a rounded packing key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionQuery {
    /// Selector, with an entry for each column.
    pub selector: Vec<u64>,
    /// Packing key, in ring elements of d coefficients.
    pub keys: Vec<u64>,
}

/// An answer: packed words and single ones, rounded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SelectionAnswer {
    /// Masks: d coefficients for each pack, unless the public part has them, then d for each single
    /// row that is not packed.
    pub masks: Vec<u64>,
    /// Bodies: a coefficient for each row, then one for each single row.
    pub bodies: Vec<u64>,
}

impl SelectionQuery {
    /// Appends both parts.
    pub fn write<V: PackedVariant>(&self, params: &SelectionParams<V>, bytes: &mut Vec<u8>) {
        pack(&self.selector, params.bits.query, bytes);

        let [(first_words, first_bits), (_, last_bits)] = params.key_parts();
        let (first, last) = self.keys.split_at(first_words);
        pack(first, first_bits, bytes);
        pack(last, last_bits, bytes);
    }

    /// Reads a query that [`SelectionQuery::write`] wrote.
    ///
    /// # Errors
    /// [`Error::Length`] or [`Error::Malformed`].
    pub fn read<V: PackedVariant>(
        params: &SelectionParams<V>,
        reader: &mut Reader<'_>,
    ) -> Result<Self> {
        let selector = unpack(
            reader,
            "a selector",
            params.bits.query,
            params.counts.columns,
        )?;

        let mut keys = Vec::with_capacity(params.key_words());
        for (words, width) in params.key_parts() {
            keys.extend(unpack(reader, "a packing key", width, words)?);
        }

        Ok(Self { selector, keys })
    }
}

/// Parameters of a scheme that packs a selection.
pub trait Selects {
    /// The scheme's packing.
    type Variant: PackedVariant;

    /// Parameters of the selection.
    fn selection(&self) -> &SelectionParams<Self::Variant>;
}

impl<P: Selects> Wire<P> for SelectionQuery {
    fn encode(&self, params: &P) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.write(params.selection(), &mut bytes);
        bytes
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        let what = "a query of a selection";
        // The length is exact, so that nothing is left after both parts.
        Error::check_length(
            what,
            bytes.len(),
            params.selection().query_parts().iter().sum(),
        )?;
        Self::read(params.selection(), &mut Reader::new(what, bytes))
    }
}

impl<P: Selects> Wire<P> for SelectionAnswer {
    fn encode(&self, params: &P) -> Vec<u8> {
        let mut bytes = Vec::new();
        let bits = params.selection().bits.answer;
        pack(&self.masks, bits.a, &mut bytes);
        pack(&self.bodies, bits.b, &mut bytes);
        bytes
    }

    fn decode(params: &P, bytes: &[u8]) -> Result<Self> {
        let what = "an answer of a selection";
        let SelectionParams { counts, bits, .. } = params.selection();
        Error::check_length(
            what,
            bytes.len(),
            params.selection().answer_parts().iter().sum(),
        )?;

        let mut reader = Reader::new(what, bytes);
        let masks = counts.answer_masks::<P::Variant>() * DEGREE;
        let masks = unpack(&mut reader, "masks of an answer", bits.answer.a, masks)?;
        let bodies = counts.bodies();
        let bodies = unpack(&mut reader, "bodies of an answer", bits.answer.b, bodies)?;

        Ok(Self { masks, bodies })
    }
}

/// The public seed and the masks of the packing keys.
pub struct SelectionClient<V: PackedVariant> {
    pub(crate) seed: Seed,
    packing: Packing<V::Packing>,
}

impl<V: PackedVariant> SelectionClient<V> {
    /// A client under a public seed.
    ///
    /// # Errors
    /// The errors of [`SelectionParams::packing`].
    pub fn new(params: &SelectionParams<V>, seed: Seed) -> Result<Self> {
        Ok(Self {
            seed,
            packing: params.packing(&seed)?,
        })
    }

    /// Encrypts the unit vector of a column, for word `word` of its entries, and a packing key
    /// under a fresh secret.
    pub fn query(
        &self,
        params: &SelectionParams<V>,
        secret: &SecretKey,
        selected: u32,
        word: u32,
        rng: &mut dyn CryptoRng,
    ) -> SelectionQuery {
        let selector = Selector {
            scale: params.scale(word),
            ..params.selector()
        };
        let selector = selector.encrypt(&self.seed, secret, selected, rng);
        let mut keys = self.packing.generate_key(secret, rng).into_elements();

        // The key's last matrix may have fewer bits than the others.
        let ring = params.rlwe.ring();
        let bits = params.bits;
        let last = keys.split_off(params.key_parts()[0].0 / DEGREE);
        let parts = [
            round_elements(ring, bits.key, keys),
            round_elements(ring, bits.last_key, last),
        ];

        SelectionQuery {
            selector,
            keys: parts.concat(),
        }
    }
}

/// A decrypted answer.
pub struct Opened {
    /// Words of all rows, then of the single rows, modulo 2^D.
    pub words: Zeroizing<Vec<u32>>,
    /// True if every coefficient is within the bound on the noise.
    pub decodes: bool,
}

impl Opened {
    /// Decodes phases to words modulo 2^plain. All of them decode if they are within `bound` of a
    /// word, in units of q/2^a. The time is the same if they are not.
    pub(crate) fn new(bits: ResponseBits, plain: u32, phases: &[u64], bound: u64) -> Self {
        let mut worst = 0;
        // The worst distance is compared once, at the end: a loop that stopped at a bad coefficient
        // would tell its place by its time.
        let words = phases.iter().map(|&phase| {
            let (word, distance) = bits.nearest(phase, plain);
            worst = worst.max(distance);
            word as u32
        });
        let words = Zeroizing::new(words.collect());

        Self {
            words,
            decodes: worst <= bound,
        }
    }
}

impl SelectionAnswer {
    /// Returns the answer with the masks of its packs from the public part.
    pub fn with_masks(self, masks: &[u64]) -> Self {
        Self {
            masks: [masks, &self.masks].concat(),
            bodies: self.bodies,
        }
    }

    /// Decrypts all words, in the same time whether the answer decodes or not. The answer has the
    /// masks of its packs.
    pub fn open<V: PackedVariant>(
        &self,
        params: &SelectionParams<V>,
        secret: &SecretKey,
    ) -> Opened {
        let phases = self.phases(params, secret);
        Opened::new(
            params.bits.answer,
            params.counts.plain_bits,
            &phases,
            params.bound,
        )
    }

    /// Phases of all rows, then of the single ones, in units of q/2^a.
    pub fn phases<V: PackedVariant>(
        &self,
        params: &SelectionParams<V>,
        secret: &SecretKey,
    ) -> Zeroizing<Vec<u64>> {
        let ring = params.rlwe.ring();
        let bits = params.bits.answer;
        let selection = params.counts;
        let (packs, singles) = self.masks.split_at(selection.sent_packs::<V>() * DEGREE);
        let (rows, single_bodies) = self.bodies.split_at(selection.sent_rows::<V>());

        let packs = packs.chunks_exact(DEGREE);
        let singles = singles.chunks_exact(DEGREE);
        let mut phases = Zeroizing::new(Vec::with_capacity(self.bodies.len()));
        // The last pack may have fewer rows than it has room for.
        for (mask, body) in packs.zip(rows.chunks(selection.capacity)) {
            phases.extend_from_slice(&bits.phases(ring, secret, mask, body));
        }
        for (mask, &body) in singles.zip(single_bodies) {
            phases.push(bits.first_phase(secret, mask, body));
        }
        phases
    }
}
