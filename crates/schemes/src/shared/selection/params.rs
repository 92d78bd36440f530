//! Checked parameters and sizes of a packed selection.

use std::marker::PhantomData;

use papir_core::Result;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation};
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::packing::{Packing, RingPacking};
use papir_lattice::params::RlweParams;
use papir_lattice::response::ResponseBits;
use papir_lattice::selection::{StackedMatrix, Stacking, Storage};
use papir_ring::CyclotomicRing;
use papir_ring::prg::Seed;
use subtle::{ConditionallySelectable, ConstantTimeEq};

use super::bits::{MAX_ANSWER_BITS, Noise, Selection, SelectionBits};
use super::ring::DEGREE;
use super::variant::{Masks, PackedVariant};
use crate::shared::matrices::Selector;
use crate::shared::messages::{gadget_of, gadget_values, read_bytes, write_bytes};
use crate::shared::parameters::{refused, unfit};

/// Work of preparing a full pack, in packs of ℓ = 2 ([`Operation::Pack`]): a fixed part, and a part
/// for each digit. It was measured for all packings.
const PACK: (f64, f64) = (0.4, 0.3);

/// Checked parameters of a packed selection, with the tables built for it.
#[derive(Clone, Debug)]
pub struct SelectionParams<V> {
    /// Name of the scheme.
    pub(super) scheme: &'static str,
    pub(crate) counts: Selection,
    pub(super) bits: SelectionBits,
    pub(super) rlwe: RlweParams,
    /// Gadget of the packing key.
    gadget: Gadget,
    pub(super) bound: u64,
    variant: PhantomData<V>,
}

impl<V: PackedVariant> SelectionParams<V> {
    /// Checks the counts and bits of a scheme.
    ///
    /// # Errors
    /// [`papir_core::Error::Insecure`] for a ring outside the security table,
    /// [`papir_core::Error::Parameters`] for bits or a gadget that do not fit or do not decode.
    pub fn new(scheme: &'static str, counts: Selection, bits: SelectionBits) -> Result<Self> {
        // Before the tables are built: counts and bits may come from a server.
        check::<V>(&counts, &bits).map_err(refused(scheme))?;
        if !V::takes(DEGREE, counts.capacity, bits.gadget) {
            return Err(refused(scheme)(format!(
                "packs of {} with {:?}",
                counts.capacity, bits.gadget
            )));
        }

        let rlwe = counts.ring.params().map_err(unfit(scheme))?;
        let gadget = Gadget::new(rlwe.ring(), bits.gadget).map_err(refused(scheme))?;
        let Some(bound) = counts.bound::<V>(&bits) else {
            return Err(refused(scheme)(format!(
                "{counts:?} with {bits:?} fails more often than {}",
                counts.failure
            )));
        };

        Ok(Self {
            scheme,
            counts,
            bits,
            rlwe,
            gadget,
            bound,
            variant: PhantomData,
        })
    }

    /// Returns the bits of the messages.
    pub fn bits(&self) -> &SelectionBits {
        &self.bits
    }

    /// Returns the ring and its noise.
    pub fn rlwe(&self) -> &RlweParams {
        &self.rlwe
    }

    /// Returns the largest distance from a message that decoding accepts, in units of q/2^a.
    pub fn bound(&self) -> u64 {
        self.bound
    }

    /// Returns the predicted noise of a packed coefficient.
    pub fn noise(&self) -> Noise {
        self.counts.noise::<V>(&self.bits)
    }

    /// Returns Δᵢ = round(q/(2^D·Bⁱ)), the message that selects word i of an entry. No branch
    /// depends on the word.
    pub fn scale(&self, word: u32) -> u64 {
        let mut scale = 0;
        // Every word's is computed: which one is wanted is secret.
        for i in 0..self.counts.stacking.words as u32 {
            let bits = self.counts.plain_bits + i * self.counts.stacking.step;
            let rounded = (self.rlwe.ring().modulus() + (1 << (bits - 1))) >> bits;
            scale.conditional_assign(&rounded, i.ct_eq(&word));
        }
        scale
    }

    /// Returns the number of coefficients of a packing key.
    pub fn key_words(&self) -> usize {
        self.counts.key_elements::<V>(self.bits.gadget) * DEGREE
    }

    /// Returns the payload bytes of the selector, and of the key.
    pub fn query_parts(&self) -> [usize; 2] {
        // Parts start on whole bytes, so each is rounded up for itself.
        let keys = self
            .key_parts()
            .map(|(words, bits)| packed_len(words, bits))
            .iter()
            .sum();
        [packed_len(self.counts.columns, self.bits.query), keys]
    }

    /// Returns the number of coefficients of the packing key and their bits: of all matrices but
    /// the last, and of the last.
    pub fn key_parts(&self) -> [(usize, u32); 2] {
        let last = self.bits.gadget.levels * DEGREE;
        [
            (self.key_words() - last, self.bits.key),
            (last, self.bits.last_key),
        ]
    }

    /// Returns the payload bytes of an answer's masks, and of its bodies.
    pub fn answer_parts(&self) -> [usize; 2] {
        let masks = packed_len(self.counts.answer_masks::<V>() * DEGREE, self.bits.answer.a);
        [masks, packed_len(self.counts.bodies(), self.bits.answer.b)]
    }

    /// Returns the number of coefficients of the masks in the public part.
    pub fn public_mask_words(&self) -> usize {
        self.counts.public_masks() * DEGREE
    }

    /// Returns the bytes of the masks in the public part.
    pub fn public_masks_bytes(&self) -> usize {
        packed_len(self.public_mask_words(), self.bits.answer.a)
    }

    /// Returns the number of rows of entries of the matrix, in whole packs.
    pub fn matrix_rows(&self) -> usize {
        self.counts.packs() * self.counts.capacity
    }

    /// Returns the operation that reads one byte of the matrix.
    fn operation(&self) -> Operation {
        match self.counts.storage {
            Storage::Words => Operation::Select16,
            Storage::Nibbles => Operation::Select4,
        }
    }

    /// Returns the number of row groups, the units of work for threads.
    fn groups(&self, rows: usize) -> usize {
        rows / self.counts.storage.group_rows()
    }

    /// Returns the bytes of the matrix.
    pub fn matrix_bytes(&self) -> u64 {
        self.counts.matrix_bytes()
    }

    /// Returns the matrix of these tiles.
    pub(super) fn matrix<'a>(&self, tiles: &'a [u8]) -> StackedMatrix<'a> {
        let Selection {
            storage,
            columns,
            stacking,
            ..
        } = self.counts;
        StackedMatrix::new(storage, columns, tiles, stacking)
    }

    /// Returns the bytes of the prepared packs: words, masks and last digits.
    pub fn packs_bytes(&self) -> u64 {
        let Selection { capacity, .. } = self.counts;
        let SelectionBits { gadget, .. } = self.bits;
        let last = if V::has_last(DEGREE, capacity) {
            gadget.levels
        } else {
            0
        };

        // A coefficient of mask and last digits is two residues of 4 bytes.
        let words = self.counts.pack_words_bytes::<V>(gadget);
        words + self.counts.packs() as u64 * ((1 + last) * 8 * DEGREE) as u64
    }

    /// Adds the work of an answer. An answer reads matrix and packs, unpacks selector and key and
    /// splits or lifts them, lifts rows, makes the masks of single rows and packs or rounds them,
    /// rounds all bodies, and packs the message.
    pub fn count_answer(&self, counts: Counts) -> Counts {
        let Selection {
            columns,
            singles,
            capacity,
            ..
        } = self.counts;

        let masks = (self.counts.answer_masks::<V>() + singles) * DEGREE;
        let words =
            2 * (columns + self.key_words() + self.counts.bodies()) + self.matrix_rows() + masks;
        let blocks = columns.div_ceil(DEGREE) + 1;

        let counts = counts
            .with(
                self.operation(),
                self.matrix_bytes() as f64 * self.counts.products(self.bits.query),
                self.groups(self.counts.stacking.words * self.matrix_rows()),
            )
            .with(
                Operation::HintTransform,
                singles as f64 * blocks as f64,
                singles,
            )
            .with(
                Operation::ExternalProduct,
                self.counts.online_nodes::<V>() as f64,
                1,
            )
            .with(Operation::Word, words as f64, 1);

        V::count_packs(
            counts,
            self.counts.packs(),
            DEGREE,
            capacity,
            self.bits.gadget.levels,
        )
    }

    /// Adds the work of preparing all packs.
    pub fn count_setup(&self, counts: Counts) -> Counts {
        self.count_packs(counts, self.counts.packs())
    }

    /// Adds the work of preparing `packs` packs.
    pub fn count_packs(&self, counts: Counts, packs: usize) -> Counts {
        let rows = packs * self.counts.capacity;
        let blocks = self.counts.columns.div_ceil(DEGREE);
        let full_packs = rows as f64 / DEGREE as f64;
        let each = PACK.0 + PACK.1 * self.bits.gadget.levels as f64;

        let counts = counts.with(
            Operation::HintTransform,
            rows as f64 * blocks as f64,
            self.groups(rows),
        );
        counts.with(Operation::Pack, full_packs * each, packs)
    }

    /// Returns the number of ring encryptions of a query.
    pub fn encryptions(&self) -> usize {
        self.counts.columns.div_ceil(DEGREE) + self.counts.key_elements::<V>(self.bits.gadget)
    }

    /// Returns the parameters as pairs of name and value.
    pub fn values(&self) -> Vec<(&'static str, String)> {
        let SelectionBits {
            gadget,
            query,
            key,
            last_key,
            answer,
        } = self.bits;
        let GadgetParams {
            levels,
            log_base,
            drop,
        } = gadget;
        let ring = self.counts.ring;
        let noise = self.noise();

        let key_bits = if key == last_key {
            key.to_string()
        } else {
            format!("{key} and {last_key}")
        };

        vec![
            ("d", DEGREE.to_string()),
            ("log2 q", format!("{:.2}", ring.modulus().log2())),
            ("sigma", ring.sigma().to_string()),
            ("log2 p of packed words", self.counts.plain_bits.to_string()),
            ("words of an entry", words_of_an_entry(self.counts.stacking)),
            ("packing", V::Packing::NAME.to_owned()),
            ("encryptions a pack", self.counts.capacity.to_string()),
            ("packs", self.counts.packs().to_string()),
            (
                "packing gadget",
                format!("l = {levels}, z = 2^{log_base}, drop {drop}"),
            ),
            ("selector bits", query.to_string()),
            ("key bits", key_bits),
            ("answer bits", format!("{} and {}", answer.a, answer.b)),
            ("log2 noise of selection", log2_deviation(noise.selection)),
            ("log2 noise of packing", log2_deviation(noise.packing)),
            ("log2 noise of the answer", log2_deviation(noise.total())),
        ]
    }

    /// Creates the packing under the masks of a seed.
    ///
    /// # Errors
    /// The errors of [`Packing::new`]; none for checked parameters.
    pub fn packing(&self, seed: &Seed) -> Result<Packing<V::Packing>> {
        Packing::new(&self.rlwe, &self.gadget, self.counts.capacity, seed)
            .map_err(refused(self.scheme))
    }

    /// Returns the selector of a column, for the first word of its entries.
    pub fn selector(&self) -> Selector<'_> {
        Selector {
            rlwe: &self.rlwe,
            label: "selection/selector",
            columns: self.counts.columns,
            scale: self.scale(0),
            bits: self.bits.query,
        }
    }
}

impl SelectionBits {
    /// Appends one byte for each value: ℓ, log₂ z and dropped bits of the gadget, bits of selector,
    /// key, the key's last matrix if masks are in the public part, mask and body.
    pub fn write(&self, writer: &mut Writer, masks: Masks) {
        write_bytes(writer, gadget_values(self.gadget));
        write_bytes(writer, [self.query, self.key]);
        if masks == Masks::Public {
            write_bytes(writer, [self.last_key]);
        }
        write_bytes(writer, [self.answer.a, self.answer.b]);
    }

    /// Reads the bits that [`SelectionBits::write`] wrote.
    ///
    /// # Errors
    /// [`papir_core::Error::Length`] for too few bytes.
    pub fn read(reader: &mut Reader<'_>, masks: Masks) -> Result<Self> {
        let gadget = gadget_of(read_bytes(reader)?);
        let [query, key] = read_bytes(reader)?;
        let [last_key] = if masks == Masks::Public {
            read_bytes(reader)?
        } else {
            [key]
        };

        let [a, b] = read_bytes(reader)?;

        Ok(Self {
            gadget,
            query,
            key,
            last_key,
            answer: ResponseBits { a, b },
        })
    }
}

/// Returns the words of an entry and their distance, for a description.
fn words_of_an_entry(stacking: Stacking) -> String {
    match stacking.words {
        1 => "1".to_owned(),
        words => format!("{words}, 2^{} apart", stacking.step),
    }
}

/// Returns log₂ of the deviation of noise, for a description.
fn log2_deviation(variance: f64) -> String {
    format!("{:.2}", variance.log2() / 2.0)
}

/// Checks counts and bits; the error is the reason.
fn check<V: PackedVariant>(
    selection: &Selection,
    bits: &SelectionBits,
) -> std::result::Result<(), String> {
    let Selection {
        columns,
        plain_bits,
        capacity,
        rows,
        storage,
        stacking,
        ..
    } = *selection;

    // A column's number is a u32, and words have the bits of their storage.
    if columns == 0
        || columns > u32::MAX as usize
        || rows == 0
        || !(1..=storage.word_bits()).contains(&plain_bits)
    {
        return Err(format!(
            "{columns} columns of {rows} rows of words of {plain_bits} bits"
        ));
    }
    if !capacity.is_power_of_two() || !(2..=DEGREE).contains(&capacity) {
        return Err(format!(
            "packs of {capacity}: expected a power of two up to {}",
            DEGREE
        ));
    }
    if !stacks(selection) {
        return Err(format!("{stacking:?} of words of {plain_bits} bits"));
    }
    if selection.masks == Masks::Public && selection.online_nodes::<V>() > 0 {
        return Err("packs with rows made online, whose masks depend on the query".to_owned());
    }

    if fits::<V>(selection, bits) {
        Ok(())
    } else {
        Err(format!("message bits {bits:?}"))
    }
}

/// Returns true if the matrix can have entries of so many words.
fn stacks(selection: &Selection) -> bool {
    let Stacking { words, step } = selection.stacking;
    if words == 1 {
        return step == 0;
    }

    // The sums of entries are 32-bit numbers, each word has whole row groups of its own, and rows
    // that are made online have no entries.
    let largest = selection.storage.word_bits();
    (2..=Stacking::MAX_WORDS).contains(&words)
        && (selection.plain_bits + 1..=31).contains(&step)
        && selection.stacking.reach() + largest < 32
        && (selection.packs() * selection.capacity).is_multiple_of(selection.storage.group_rows())
        && selection.singles == 0
}

/// Returns true if the messages can have these bits.
fn fits<V: PackedVariant>(selection: &Selection, bits: &SelectionBits) -> bool {
    // A mask needs a bit more than a word, since decoding rounds to half the distance of words, and
    // a body is shifted up to the bits of its mask. Only a key of two matrices under public masks
    // may have two widths.
    let ring = selection.ring;
    let ResponseBits { a, b } = bits.answer;
    let one_matrix = V::matrices(DEGREE, selection.capacity) == 1;

    (selection.stacking.reach() + 1..=selection.most_query_bits()).contains(&bits.query)
        && (1..=ring.most_bits()).contains(&bits.key)
        && (1..=bits.key).contains(&bits.last_key)
        && ((selection.masks == Masks::Public && !one_matrix) || bits.last_key == bits.key)
        && (selection.plain_bits + 1..=MAX_ANSWER_BITS).contains(&a)
        && (1..=a).contains(&b)
        && bits
            .answer
            .fit(DEGREE, ring.modulus(), ring.secret_deviation())
}
