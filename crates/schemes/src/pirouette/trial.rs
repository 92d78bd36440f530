//! Phase 0 alone: papir's phase 0, and the paper's under the same keys.
//!
//! The paper's phase 0 splits the index into digits and the digits into bits (Algorithms 1 to 3),
//! makes an RGSW encryption of each bit (circuit bootstrapping), and builds the selectors from them
//! by a tree (section 3.2). Its parameters are not used, because they are insecure or do not
//! decrypt (decision 20). A trial uses the ring, the keys and the gadgets of papir instead, whose
//! noise closes:
//!
//! | | paper | here |
//! |---|---|---|
//! | query | n = 1300 at 2³², binary | the ring's key at 2³²: no switch back into n = 1300 |
//! | ring | 2⁵⁶, binary, 118.9 bits | 2⁵⁰, ternary |
//! | key for digits of 5 bits | n = 600, switch at 2⁴² (48.5 bits) | n = 840, switch at 2²⁰ |
//! | key for circuit bootstrapping | n = 512 at 2¹², 127.5 bits | n = 648 at 2¹⁵ |
//!
//! The gadgets of RGSW (8 digits of 4 bits) and of the selectors (2 digits of 4 bits) are the
//! paper's.
//!
//! This experiment is not in `papir-papers`, because it decrypts with the client's secrets and
//! calls single steps of phase 0, which no other crate may.

use std::sync::Arc;

use papir_core::{Progress, Result, parallel};
use papir_lattice::bootstrap::digits::Rotator;
use papir_lattice::bootstrap::lwe::{Lwe, SwitchParams};
use papir_lattice::bootstrap::selector;
use papir_lattice::gadget::GadgetParams;
use papir_lattice::wide::{Gadget, Rlwe, Rows};
use papir_ring::CyclotomicRing;
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::wide::Poly;
use rand_core::CryptoRng;

use super::chain::{
    BOX_SWITCHES, LOG2_DEGREE, LOG2_DIGIT, LOG2_P, LOG2_Q, ORDER, OUTPUTS, ParameterSet,
};
use super::client::encrypt;
use super::common::{RetrievalParams, gate_gadget};
use super::keys::{Evaluation, Keys, State};
use super::params::PirouetteParams;
use super::phase0::{Finder, select};
use super::retrieval::Selection;
use super::wire::PirouetteQuery;
use crate::shared::parameters::refused;

/// Parameters of the switch to the paper's key for digits. The modulus is the largest one with 128
/// bits of security, instead of 2⁴².
pub const PRINTED_SWITCH: SwitchParams = SwitchParams {
    dimension: 600,
    log2_q: 14,
    sigma: 3.19,
    log_base: 3,
};

/// Rotations of circuit bootstrapping.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tables {
    /// One rotation for each digit of an RGSW encryption (TFHE).
    Single,
    /// One rotation for all digits of a bit, up to 8 (Wang et al., *Circuit Bootstrapping: Faster
    /// and Smaller*, which the paper cites).
    Together,
}

/// Sizes of the paper's phase 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    /// d, the number of digits of an index.
    pub digits: u32,
    /// v, the number of bits of a digit, at least 2.
    pub bits: u32,
    /// ν₁, the number of bits that select the row. They are the highest bits.
    pub log2_rows: u32,
    /// Number of digits of an RGSW encryption, and log₂ of their base.
    pub gate: (usize, u32),
}

impl Split {
    /// Returns the number of bits of an index.
    pub fn index_bits(&self) -> u32 {
        self.digits * self.bits
    }
}

/// Output of the paper's phase 0.
pub struct Printed {
    /// RGSW encryptions of all bits, the lowest first.
    gates: Vec<Rows>,
    /// RLWE′ encryptions, one for each row: of 1 for the index's row, of 0 for all other rows.
    selectors: Vec<Vec<Rlwe>>,
}

/// Numbers of operations.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Operations {
    /// Number of blind rotations under the short key for bits.
    pub bit_rotations: usize,
    /// Number of blind rotations under the longer key for digits.
    pub digit_rotations: usize,
    /// Number of external products, with the ones in rotations.
    pub external_products: usize,
    /// Number of products with one half of an RGSW encryption: automorphisms, and multiplications
    /// by s.
    pub key_switches: usize,
}

/// A trial: the keys of a registered client, and parameters.
pub struct Trial<T> {
    params: PirouetteParams<T>,
    state: State,
    keys: Arc<Evaluation>,
}

impl<T: ParameterSet> Trial<T> {
    /// Registers a client.
    ///
    /// # Errors
    /// The errors of an expansion of keys. A client's own keys cause no error.
    pub fn new(params: PirouetteParams<T>, rng: &mut dyn CryptoRng) -> Result<Self> {
        let seed = Seed::random(rng);
        let mut rng = SecretRng::new(rng);
        let state = State::generate(&params, None, &mut rng)?;
        let keys = Keys::generate(&params, &state.0, seed, &mut rng).expanded(&params)?;

        Ok(Self {
            params,
            state,
            keys,
        })
    }

    /// Encrypts an item's number.
    pub fn query(&self, item: u64, rng: &mut dyn CryptoRng) -> PirouetteQuery {
        encrypt(&self.params, &self.state, item, rng)
    }

    /// Runs papir's phase 0 for a query.
    pub fn run(&self, query: &PirouetteQuery, progress: &dyn Progress) -> Option<Selection> {
        select(&self.params, &[(&self.keys, query)], progress).pop()
    }

    /// Runs the paper's phase 0 for a query, with the stages of papir's.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for sizes that the keys do not support.
    pub fn run_printed(
        &self,
        query: &PirouetteQuery,
        variant: (Split, Tables),
        progress: &dyn Progress,
    ) -> Result<Printed> {
        let (split, tables) = variant;
        let finder = Finder::new(&self.params, &self.keys);
        let (gate, levels) = self.gadgets(split)?;

        progress.stage("bits", split.index_bits().into());
        // The paper's message has no bit above the index's.
        let spare = self.params.layout().index_bits() + 1 - split.index_bits();
        let short = &self.keys.shorts[1];
        let rotator = Rotator {
            ring: finder.ring(),
            switch: &short.switch,
            rotation: &short.rotation,
        };
        let bits = rotator.decompose(&query.lwe().shifted(spare), split.digits, split.bits);

        progress.stage("gates", bits.len() as u64);
        let gates = parallel::map(&bits, |bit| {
            self.circuit_bootstrap(&finder, &gate, tables, bit)
        });

        // The highest bits select the row.
        progress.stage("selectors", 1 << split.log2_rows);
        let rows = &gates[(split.index_bits() - split.log2_rows) as usize..];
        let selectors = selector::tree(finder.ring(), &gate, rows, &levels);

        Ok(Printed { gates, selectors })
    }

    /// Makes the RGSW encryption of a bit that is half a turn, by circuit bootstrapping.
    fn circuit_bootstrap(
        &self,
        finder: &Finder<'_>,
        gate: &Gadget,
        tables: Tables,
        bit: &Lwe,
    ) -> Rows {
        let factors: Vec<u64> = (0..gate.levels()).map(|i| gate.factor(i)).collect();

        // Each digit's encryption, with its coefficient.
        let rotated: Vec<(Rlwe, usize)> = match tables {
            Tables::Single => {
                parallel::map(&factors, |&factor| (finder.rotate_bit(bit, &[factor]), 0))
            }
            Tables::Together => {
                let all = finder.rotate_bit(bit, &factors);
                (0..factors.len()).map(|i| (all.clone(), i)).collect()
            }
        };

        let isolated = parallel::map(&rotated, |(rlwe, coefficient)| {
            finder.isolated(rlwe, *coefficient)
        });
        self.keys.square.rgsw(finder.ring(), isolated)
    }

    /// Returns the gadgets of the paper's gates and of its selectors.
    fn gadgets(&self, split: Split) -> Result<(Gadget, Gadget)> {
        let Split {
            digits,
            bits,
            log2_rows,
            gate,
        } = split;

        let most = self.params.layout().index_bits();
        let fits = digits > 0 && (2..=8).contains(&bits) && (1..=OUTPUTS).contains(&gate.0);
        if !fits || split.index_bits() > most || log2_rows > split.index_bits() {
            let expected =
                format!("digits of 2 to 8 bits, {most} in all, and 1 to {OUTPUTS} digits a gate");
            return Err(refused(T::NAME)(format!("{split:?}: expected {expected}")));
        }

        let chain = self.params.chain();
        let selectors = GadgetParams {
            levels: 2,
            log_base: 4,
            drop: LOG2_Q - 8,
        };
        let selectors = Gadget::new(chain.ring(), selectors).map_err(refused(T::NAME))?;

        Ok((gate_gadget(T::NAME, chain, gate)?, selectors))
    }

    /// Returns the numbers of operations of papir's phase 0.
    pub fn operations(&self) -> Operations {
        let layout = self.params.layout();
        let levels = self.params.gate().levels();
        let boxes = 1usize << (layout.log2_rows - LOG2_DIGIT);
        let gates = (layout.log2_columns + layout.log2_slots) as usize;

        let rotations = [(layout.index_bits() - LOG2_DIGIT) as usize, boxes];
        let key_switches = gates * levels * self.conversions() + boxes * BOX_SWITCHES as usize;
        self.counted(rotations, 0, key_switches)
    }

    /// Returns the numbers of operations of the paper's phase 0. The last digit needs one rotation,
    /// each other digit three.
    pub fn printed_operations(&self, split: Split, tables: Tables) -> Operations {
        let gates = split.index_bits() as usize;
        let levels = split.gate.0;
        let rotations = match tables {
            Tables::Single => gates * levels,
            Tables::Together => gates,
        };

        let tree = 2 * ((1 << split.log2_rows) - 1);
        let rotations = [rotations, 3 * (split.digits as usize - 1) + 1];
        self.counted(rotations, tree, gates * levels * self.conversions())
    }

    /// Returns the number of key switches for one digit of an RGSW encryption: a trace, and a
    /// product with s.
    fn conversions(&self) -> usize {
        LOG2_DEGREE as usize + 1
    }

    fn counted(&self, rotations: [usize; 2], products: usize, key_switches: usize) -> Operations {
        let [bit_rotations, digit_rotations] = rotations;
        let [bits, digits] = self.dimensions();
        let external_products = bit_rotations * bits + digit_rotations * digits + products;

        Operations {
            bit_rotations,
            digit_rotations,
            external_products,
            key_switches,
        }
    }

    /// Returns n of the short keys for bits and for digits.
    pub fn dimensions(&self) -> [usize; 2] {
        [0, 1].map(|which| self.params.chain().short(which).switch.dimension)
    }

    /// Returns half the distance between digits of v bits, in standard deviations of the phase:
    /// after the switch to the key for digits, and after [`PRINTED_SWITCH`].
    pub fn margins(&self, v: u32) -> [f64; 2] {
        let chain = self.params.chain();
        [&chain.short(1).switch, &PRINTED_SWITCH].map(|switch| {
            let variance = chain.setting().switch(switch, f64::from(ORDER));
            0.5 / 2f64.powi(v as i32) / variance.sqrt()
        })
    }

    /// Returns the number of digits of papir's gates, of rows of its selectors, and of bits of its
    /// index.
    pub fn sizes(&self) -> (usize, usize, u32) {
        let layout = self.params.layout();
        (
            self.params.gate().levels(),
            layout.rows,
            layout.index_bits(),
        )
    }

    /// Returns the item that papir's phase 0 selected, or `None` if gates and selectors do not
    /// encrypt one item.
    pub fn item(&self, selection: &Selection) -> Option<u64> {
        let ring = self.params.chain().ring();
        let low = self.bits(&selection.gates, self.params.gate())?;

        let scale = (ring.modulus() + (1 << (LOG2_P - 1))) >> LOG2_P;
        let count = selection.selectors.count();
        let row = one_hot(
            (0..count).map(|r| self.constant(&self.phase(&selection.selectors, r), scale)),
        )?;

        Some((row as u64) << selection.gates.len() | low)
    }

    /// Returns the item that the paper's phase 0 selected, or `None` if gates and selectors do not
    /// encrypt one item.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for sizes that the keys do not support.
    pub fn printed_item(&self, split: Split, printed: &Printed) -> Result<Option<u64>> {
        let (gate, levels) = self.gadgets(split)?;
        let index = self.bits(&printed.gates, &gate);
        let row = one_hot(
            printed
                .selectors
                .iter()
                .map(|rows| self.selector(rows, &levels)),
        );

        let above = split.index_bits() - split.log2_rows;
        Ok(index.filter(|index| row.is_some_and(|row| row as u64 == index >> above)))
    }

    /// Returns the bit that a selector of the paper encrypts, or `None` if its digits do not all
    /// encrypt it.
    fn selector(&self, rows: &[Rlwe], levels: &Gadget) -> Option<bool> {
        let ring = self.params.chain().ring();
        let secret = &self.state.0.ring;

        let mut bits = Vec::with_capacity(rows.len());
        for (level, row) in rows.iter().enumerate() {
            let phase = ring.to_centred(&row.phase(ring, secret));
            bits.push(self.constant(&phase, levels.factor(level))?);
        }

        bits.iter().all(|bit| *bit == bits[0]).then_some(bits[0])
    }

    /// Returns the number whose bits the gates encrypt, the lowest bit first. Returns `None` if a
    /// gate encrypts no bit.
    fn bits(&self, gates: &[Rows], gadget: &Gadget) -> Option<u64> {
        let mut number = 0;
        for gate in gates.iter().rev() {
            number = 2 * number + u64::from(self.bit(gate, gadget)?);
        }

        Some(number)
    }

    /// Returns the bit that a gate encrypts: reads it from the gate's row of m, then compares it
    /// with the row of s·m. Returns `None` if it encrypts no bit.
    fn bit(&self, gate: &Rows, gadget: &Gadget) -> Option<bool> {
        let top = gadget.levels() - 1;
        let bit = self.constant(&self.phase(gate, gadget.levels() + top), gadget.factor(top))?;

        self.is_keyed(&self.phase(gate, top), bit, gadget.factor(top))
            .then_some(bit)
    }

    /// Returns a row's message plus error, centred.
    fn phase(&self, rows: &Rows, row: usize) -> Vec<i64> {
        let ring = self.params.chain().ring();
        let secret = &self.state.0.ring;
        let d = ring.degree();

        let [a, b] = rows
            .residues(ring, 0)
            .map(|part| ring.inverse(Poly::from_residues(&part[row * d..][..d])));
        ring.to_centred(&Rlwe { a, b }.phase(ring, secret))
    }

    /// Returns the bit of a phase near bit·`scale`, or `None` if the phase is not near it.
    fn constant(&self, phase: &[i64], scale: u64) -> Option<bool> {
        let scale = scale as i64;
        let first = *phase.first()?;
        let bit = first > scale / 2;

        let near = phase.iter().enumerate().all(|(i, &x)| {
            let expected = if i == 0 && bit { scale } else { 0 };
            (x - expected).abs() < scale / 4
        });
        near.then_some(bit)
    }

    /// Returns true if a phase is near s·bit·`scale`.
    fn is_keyed(&self, phase: &[i64], bit: bool, scale: u64) -> bool {
        let scale = scale as i64;

        phase
            .iter()
            .zip(self.state.0.ring.coefficients())
            .all(|(x, &s)| {
                let expected = if bit { i64::from(s) * scale } else { 0 };
                (x - expected).abs() < scale / 4
            })
    }
}

/// Returns the position of the only set bit, or `None` if there is not exactly one.
fn one_hot(bits: impl Iterator<Item = Option<bool>>) -> Option<usize> {
    let bits: Vec<bool> = bits.collect::<Option<_>>()?;
    let place = bits.iter().position(|bit| *bit)?;
    (bits.iter().filter(|bit| **bit).count() == 1).then_some(place)
}
