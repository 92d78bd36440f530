//! Parameters of Pirouette for a shape, over the common chain.

use std::marker::PhantomData;

use papir_core::codec::Writer;
use papir_core::cost::{Counts, Operation};
use papir_core::scheme::{Goal, Parameters, Target};
use papir_core::{Description, Result, Shape};

use super::chain::{
    BOX_SWITCHES, Chain, DEGREE, Grain, LOG2_DEGREE, LOG2_DIGIT, OUTPUTS, ParameterSet, ShortParams,
};
use super::common::{
    Common, FORMATS, Form, GATES, RetrievalParams, best, external, gate_gadget, key_switch,
    numbered, seeds, spans,
};
use super::keys::{expanded_bytes, packed_bytes};
use super::layout::Layout;
use super::noise::{self, Noise};
use super::wire::SEED_BYTES;
use crate::shared::messages::{read_all, read_shape, write_shape};
use crate::shared::parameters::refused;

/// Pirouette, as a scheme.
pub struct Pirouette<T = super::chain::Standard>(PhantomData<fn() -> T>);

/// Bytes of parameters in format 1, which had no number.
const UNNUMBERED: usize = 34;

/// Values that determine the parameters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Literal {
    /// Bytes of an item in one plane.
    pub span: usize,
    /// τ = ν₁ − 4: there are 2^τ rotations of a box.
    pub tau: u32,
    /// Number of digits of the gates' RGSW encryptions, and log₂ of their base.
    pub gate: (usize, u32),
    /// Bytes of a query's seed: 32 or 16.
    pub seed_bytes: usize,
    /// Storage of polynomials.
    pub form: Form,
}

/// Parameters of [`Pirouette`].
#[derive(Clone, Debug)]
pub struct PirouetteParams<T> {
    literal: Literal,
    pub(super) common: Common,
    set: PhantomData<fn() -> T>,
}

impl<T: ParameterSet> PirouetteParams<T> {
    /// Creates checked parameters.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] if the noise does not close or a value does not fit.
    pub fn new(shape: Shape, literal: Literal) -> Result<Self> {
        let Literal {
            span,
            tau,
            gate,
            seed_bytes,
            form,
        } = literal;

        if tau > 4 || !(1..OUTPUTS).contains(&gate.0) || !SEED_BYTES.contains(&seed_bytes) {
            let expected = format!(
                "tau up to 4, 1 to {} digits, seeds of 32 or 16 bytes",
                OUTPUTS - 1
            );
            return Err(refused(T::NAME)(format!(
                "{literal:?}: expected {expected}"
            )));
        }

        let chain = Chain::get::<T>(Grain::Coarse)?;
        let layout = Layout::new(T::NAME, shape, span, LOG2_DIGIT + tau)?;
        let gate = gate_gadget(T::NAME, &chain, gate)?;
        let noise = Noise::compute(&noise::input(&chain, &layout, gate.params()));
        let common = Common::new(T::NAME, shape, chain, layout, gate, &noise)?;

        Ok(Self {
            literal,
            common: Common { form, ..common },
            set: PhantomData,
        })
    }

    /// Returns the work of phase 0: bits one after another, boxes, then the gates' digits.
    pub fn selection(&self) -> Counts {
        let chain = self.chain();
        let k = self.layout().index_bits();
        let switch = key_switch(&chain.conversion);

        let bits = f64::from(k - LOG2_DIGIT) * rotation(&chain.bits);

        let boxes = 1usize << self.literal.tau;
        let expansion = f64::from(BOX_SWITCHES) * switch;
        let rotated = boxes as f64 * (rotation(&chain.digits) + expansion);

        let digits = (k - self.layout().log2_rows) as usize * self.gate().levels();
        let traces = f64::from(LOG2_DEGREE) * switch + switch;

        Counts::new()
            .with(Operation::WideProduct, bits, 1)
            .with(Operation::WideProduct, rotated, boxes)
            .with(Operation::WideProduct, digits as f64 * traces, digits)
    }

    /// Estimates the work of decrypting AES-128 blocks under encryption from the number of
    /// rotations. It is for Respire after transciphering (T-Respire), which papir does not
    /// implement.
    ///
    /// A block has 160 S-boxes. Each of an S-box's 8 bits becomes a gate of four digits, by one
    /// rotation and a trace for each digit; these gates then look the result up in one polynomial,
    /// which is not counted. The 16 S-boxes of a round are independent, and so are the blocks.
    pub fn transciphering(&self, blocks: usize) -> Counts {
        const ROUNDS: usize = 10;

        let chain = self.chain();
        let together = blocks * 16 * 8;
        let bits = (ROUNDS * together) as f64;
        let digit = f64::from(LOG2_DEGREE + 1) * key_switch(&chain.conversion);

        Counts::new()
            .with(
                Operation::WideProduct,
                bits * rotation(&chain.bits),
                together,
            )
            .with(Operation::WideProduct, bits * 4.0 * digit, 4 * together)
    }
}

/// Returns the cost of a rotation by a short key, in external products of two digits.
fn rotation(short: &ShortParams) -> f64 {
    short.switch.dimension as f64 * external(&short.gadget)
}

impl<T: ParameterSet> RetrievalParams for PirouetteParams<T> {
    const SHORTS: usize = 2;
    const PUBLIC_BYTES: usize = crate::shared::messages::SEED_BYTES;

    fn common(&self) -> &Common {
        &self.common
    }

    fn seed_bytes(&self) -> usize {
        self.literal.seed_bytes
    }
}

impl<T: ParameterSet> Parameters for PirouetteParams<T> {
    /// Compares spans from the record's length on, all numbers of boxes, and all gadgets of gates.
    /// The least time needs seven times the memory. The least communication has seeds of 16 bytes,
    /// which repeat after some 2⁶⁴ queries under one key, as seeds of 32 bytes do.
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        let target = target.into();
        let goal = target.goal;
        let form = if goal == Goal::MinTime {
            Form::Fast
        } else {
            Form::Compact
        };
        let seed_bytes = if goal == Goal::MinCommunication {
            16
        } else {
            32
        };

        let mut literals = Vec::new();
        for span in spans(shape) {
            for tau in 0..=4 {
                literals.extend(GATES.map(|gate| Literal {
                    span,
                    tau,
                    gate,
                    seed_bytes,
                    form,
                }));
            }
        }

        let choices = literals
            .into_iter()
            .map(|literal| Self::new(shape, literal));
        best(T::NAME, target, choices)
    }

    fn label(&self) -> String {
        let Layout { rows, span, .. } = *self.layout();
        let form = if self.literal.form == Form::Fast {
            ", transformed"
        } else {
            ""
        };
        let seeds = seeds(self.literal.seed_bytes);

        format!(
            "{rows} rows, {} columns, items of {span} B{form}{seeds}",
            self.layout().columns()
        )
    }

    fn shape(&self) -> Shape {
        self.common.shape
    }

    fn describe(&self) -> Description {
        let chain = self.chain();
        let bytes = self.layout().bytes();
        let stored = match self.common.form {
            Form::Compact => [bytes, 0],
            Form::Fast => [self.layout().transformed_bytes(), bytes],
        };
        let sizes = self.sizes(packed_bytes(chain, Self::SHORTS), stored);

        let own = vec![
            ("n", chain.bits.switch.dimension.to_string()),
            ("query payload bytes", self.query_bytes().to_string()),
            (
                "bytes of a client's expanded keys",
                expanded_bytes(chain, Self::SHORTS).to_string(),
            ),
        ];

        // One inner product. Keys are made once and not counted.
        let query = Counts::new().with(Operation::Word, 2.0 * DEGREE as f64, 1);
        let work = self.common.work(query, self.selection());
        self.common.describe(T::NAME, T::PRIVACY, sizes, own, work)
    }

    fn encode(&self) -> Vec<u8> {
        let Literal {
            span,
            tau,
            gate,
            seed_bytes,
            form,
        } = self.literal;

        let mut writer = Writer::new();
        writer.u32(FORMATS.written);
        write_shape(&mut writer, self.common.shape);
        writer
            .u32(span as u32)
            .u32(tau)
            .u32(gate.0 as u32)
            .u32(gate.1);
        writer.raw(&[seed_bytes as u8, u8::from(form == Form::Fast)]);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (shape, span, tau, gate, [seed_bytes, form]) = read_all(
            "pirouette's parameters",
            numbered(&FORMATS, bytes, UNNUMBERED)?,
            |reader| {
                let shape = read_shape(reader)?;
                let span = reader.u32()? as usize;
                let tau = reader.u32()?;
                let gate = (reader.u32()? as usize, reader.u32()?);
                Ok((shape, span, tau, gate, reader.array()?))
            },
        )?;

        let form = match form {
            0 => Form::Compact,
            1 => Form::Fast,
            other => {
                let reason = format!("form {other}: expected 0, compact, or 1, transformed");
                return Err(refused(T::NAME)(reason));
            }
        };

        let literal = Literal {
            span,
            tau,
            gate,
            seed_bytes: seed_bytes.into(),
            form,
        };
        Self::new(shape, literal)
    }
}
