//! Parameters over encrypted databases: items, the gates' gadget and the owner's key, over the
//! common chain.

use std::marker::PhantomData;

use papir_core::codec::Writer;
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Goal, Parameters};
use papir_core::{Description, OwnerKey, Result, Shape, Sizes};
use papir_lattice::gadget::Gadget;
use papir_lattice::secret::SecretKey;
use papir_lattice::security::{self, Secret};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::ciphertexts::{BODY_BYTES, LOG2_MODULUS, SEED_BYTES};
use super::key::{KeyId, Owner};
use crate::pirouette::chain::{
    Chain, DEGREE, Grain, LOG2_DEGREE, OUTPUTS, ParameterSet, RECORD_SIGMA, Standard,
};
use crate::pirouette::common::{Common, LweParams, RetrievalParams, external, gate_gadget, key_switch};
use crate::pirouette::keys::{Evaluation, Expanded};
use crate::pirouette::layout::Layout;
use crate::pirouette::noise::{
    GateGadgets, Origin, Places, Retrieved, bit_exponent, bits_failure_log2, direct_subtractions, gadgets_of,
};
use crate::pirouette::search::{best, closing, spans};
use crate::pirouette::wire;
use crate::shared::messages::{SHAPE_BYTES, read_all, read_shape, write_shape};
use crate::shared::parameters::refused;

/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = SHAPE_BYTES + 4 + 4 + 4 + 1 + 1 + 16;
/// Cost of lifting an encryption and a gate's other work, in external products of two digits, as
/// measured (decision 21).
const LIFTING: f64 = 0.35;
/// Digits of the gates' gadgets and log₂ of their bases, fewest digits first. Those of two digits
/// need the fine keys.
const GATES: [(usize, u32); 7] = [(2, 9), (3, 7), (3, 6), (4, 6), (4, 5), (5, 4), (7, 3)];

/// Free values of the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Bytes of an item in one plane.
    pub span: usize,
    /// Digits of the gates' RGSW encryptions, and log₂ of their base.
    pub gate: (usize, u32),
    /// Bytes of a query's seed: 32 or 16.
    pub seed_bytes: usize,
    /// Granularity of the keys that make gates.
    pub grain: Grain,
}

/// Pirouette over an encrypted database.
pub struct Encrypted<T = Standard>(PhantomData<fn() -> T>);

/// Parameters of [`Encrypted`]. The layout has one column.
#[derive(Clone, Debug)]
pub struct EncryptedParams<T> {
    literal: Literal,
    common: Common,
    pub(super) owner: Owner,
    set: PhantomData<fn() -> T>,
}

/// Noise of an item, and log₂ of the probability that its number is misread.
pub(super) fn noise(chain: &Chain, layout: &Layout, gate: &Gadget) -> (Retrieved, f64) {
    let (ring, gadgets, k) = (chain.setting(), gadgets_of(chain), layout.index_bits());
    let rotation = ring.rotation(gadgets.bits, chain.bits.switch.dimension);
    let origin = Origin::of_rotation(&ring, &gadgets, rotation);
    let record = (RECORD_SIGMA / 2f64.powi(LOG2_MODULUS as i32)).powi(2);
    let made = GateGadgets { gate: gate.params(), square: gadgets.square };
    let places = Places { all: k + 1, singles: k, direct: direct_subtractions(gate.levels()) };
    let relative = rotation / (ring.modulus * ring.modulus);
    let exponent = bit_exponent(&ring, &chain.bits.switch, places, relative);
    let failure = bits_failure_log2(&chain.bits.switch, exponent, f64::from(k));
    (Retrieved::picked(&ring, made, k, (record, origin)), failure)
}

impl<T: ParameterSet> EncryptedParams<T> {
    /// Checked parameters, without a key.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] if the noise does not close or a value does not fit.
    pub fn new(shape: Shape, literal: Literal) -> Result<Self> {
        let name = T::ENCRYPTED.0;
        let Literal { span, gate, seed_bytes, grain } = literal;
        if !(1..OUTPUTS).contains(&gate.0) || !wire::SEED_BYTES.contains(&seed_bytes) {
            let expected = format!("1 to {} digits, seeds of 32 or 16 bytes", OUTPUTS - 1);
            return Err(refused(name)(format!("{literal:?}: expected {expected}")));
        }
        // Records are under the ring's key, as queries are, but at 2¹⁶, where a sample is weaker
        // than at 2³².
        security::require_128(DEGREE, f64::from(LOG2_MODULUS), Secret::Ternary, RECORD_SIGMA)
            .map_err(refused(name))?;
        let (chain, layout) = (Chain::get::<T>(grain)?, Layout::in_one_column(name, shape, span)?);
        let gate = gate_gadget(name, &chain, gate)?;
        let (retrieved, index) = noise(&chain, &layout, &gate);
        let common = Common::new(name, shape, chain, layout, gate, &retrieved, index)?;
        Ok(Self { literal, common, owner: Owner::default(), set: PhantomData })
    }

    /// Identifier of the owner's key, if there is one.
    pub fn key_id(&self) -> Option<KeyId> {
        self.owner.id()
    }

    fn encryptions(&self) -> u64 {
        (self.layout().planes * self.layout().polys()) as u64
    }

    fn sizes(&self) -> Sizes {
        let keys = Evaluation::<1>::packed_bytes(self.chain());
        let stored = [BODY_BYTES, SEED_BYTES].map(|bytes| self.encryptions() * bytes as u64);
        self.common.sizes([ENCODED_BYTES, keys, self.query_bytes()], stored)
    }

    /// Work of an answer: bits one after another, the gates' encryptions, then a gate for each
    /// polynomial.
    fn answering(&self) -> Counts {
        let (chain, layout) = (self.chain(), self.layout());
        let rotations = chain.bits.switch.dimension as f64 * external(&chain.bits.gadget);
        let digits = layout.index_bits() as usize * self.gate().levels();
        let traces = f64::from(LOG2_DEGREE) * key_switch(&chain.galois) + key_switch(&chain.square);
        let gates = layout.planes * (layout.polys() + layout.log2_slots as usize);
        let gate = external(self.gate()) + LIFTING;
        Counts::new()
            .with(Operation::ExternalProduct, f64::from(layout.index_bits()) * rotations, 1)
            .with(Operation::ExternalProduct, digits as f64 * traces, digits)
            .with(Operation::ExternalProduct, gates as f64 * gate, layout.polys())
    }
}

impl<T: ParameterSet> RetrievalParams for EncryptedParams<T> {
    fn common(&self) -> &Common {
        &self.common
    }

    /// The owner's key, given or kept.
    fn ring_key(&self, kept: Option<&SecretKey>, _rng: &mut dyn CryptoRng) -> Result<SecretKey> {
        let key = kept.filter(|key| self.takes(key)).map_or_else(|| self.owner.key(), Ok)?;
        let coefficients = Zeroizing::new(key.coefficients().to_vec());
        Ok(SecretKey::from_coefficients(&self.chain().rlwe, coefficients))
    }

    fn takes(&self, ring_key: &SecretKey) -> bool {
        self.owner.id() == Some(KeyId::of(ring_key))
    }
}

impl<T: ParameterSet> LweParams for EncryptedParams<T> {
    fn seed_bytes(&self) -> usize {
        self.literal.seed_bytes
    }
}

impl<T: ParameterSet> Parameters for EncryptedParams<T> {
    fn choose(shape: Shape, goal: Goal) -> Result<Self> {
        let seed_bytes = if goal == Goal::MinCommunication { 16 } else { 32 };
        let choices = spans(shape).flat_map(|span| [Grain::Coarse, Grain::Fine].map(|grain| (span, grain)));
        let made = choices.map(|(span, grain)| {
            closing(&GATES, |gate| Self::new(shape, Literal { span, gate, seed_bytes, grain }))
        });
        best(T::ENCRYPTED.0, goal, made)
    }

    fn with_owner_key(mut self, key: &OwnerKey) -> Result<Self> {
        self.owner = self.owner.with(key, &self.common.chain.rlwe)?;
        Ok(self)
    }

    fn label(&self) -> String {
        let keys = if self.literal.grain == Grain::Fine { ", large keys" } else { "" };
        format!("{} polynomials, items of {} B{keys}", self.layout().polys(), self.layout().span)
    }

    fn shape(&self) -> Shape {
        self.common.shape
    }

    fn describe(&self) -> Description {
        let own = vec![
            ("n", self.chain().bits.switch.dimension.to_string()),
            ("log2 of the records' modulus", LOG2_MODULUS.to_string()),
            ("query payload bytes", self.query_bytes().to_string()),
            ("server bytes a client", Evaluation::<1>::server_bytes(self.chain()).to_string()),
            ("owner's key", self.owner.id().map_or("none".to_owned(), |id| id.to_string())),
        ];
        let words = (self.layout().planes * self.layout().span) as f64;
        let work = Work {
            setup: Counts::new().with(Operation::Encrypt, self.encryptions() as f64, usize::MAX),
            query: Counts::new().with(Operation::Word, 2.0 * DEGREE as f64, 1),
            answer: self.answering(),
            extract: Counts::new().with(Operation::DecryptRow, words, 1),
        };
        let mut description = self.common.describe(T::ENCRYPTED.0, T::PRIVACY, self.sizes(), own, work);
        description.limits.owner_key = true;
        description
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.common.shape);
        let Literal { span, gate, seed_bytes, grain } = self.literal;
        writer.u32(span as u32).u32(gate.0 as u32).u32(gate.1);
        // Zeros without a key.
        writer
            .raw(&[seed_bytes as u8, u8::from(grain == Grain::Fine)])
            .raw(&self.owner.id().map_or([0; 16], |id| id.0));
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (shape, span, gate, [seed_bytes, grain], id) =
            read_all("pirouette-encrypted's parameters", bytes, |reader| {
                let (shape, span) = (read_shape(reader)?, reader.u32()? as usize);
                let gate = (reader.u32()? as usize, reader.u32()?);
                Ok((shape, span, gate, reader.array()?, reader.array()?))
            })?;
        let grain = match grain {
            0 => Grain::Coarse,
            1 => Grain::Fine,
            other => {
                let reason = format!("grain {other}: expected 0, small keys, or 1, large ones");
                return Err(refused(T::ENCRYPTED.0)(reason));
            }
        };
        let params = Self::new(shape, Literal { span, gate, seed_bytes: seed_bytes.into(), grain })?;
        let owner = Owner::known_as((id != [0; 16]).then_some(KeyId(id)));
        Ok(Self { owner, ..params })
    }
}
