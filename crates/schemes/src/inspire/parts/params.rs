//! Parameters and messages of InsPIRe in parts.
//!
//! The parameters are the parameters of InsPIRe with t = 1, and the number of parts.
//!
//! ```text
//! public   a seed for each part (32)
//! query    m·columns selector entries, part after part, packed; the packing key, y_g and y_h, as
//!          in InsPIRe
//! answer   as in InsPIRe: a mask and a body for each chunk, with d/m words of each part
//! ```

use papir_core::certificate::FailureCertificate;
use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Operation, Work};
use papir_core::scheme::{Parameters, Target, Wire};
use papir_core::{Description, Error, FailureBound, Limits, Privacy, Result, Shape, Sizes};
use papir_kernels::bits::packed_len;
use papir_lattice::params::Literal as RlweLiteral;
use papir_ring::prg::Seed;

use crate::inspire::interpolation::Interpolation;
use crate::inspire::layout::Layout;
use crate::inspire::params::Params;
use crate::inspire::wire::{Answer, Query};
use crate::shared::messages::{SEED_BYTES, read_shape, write_shape};
use crate::shared::parameters::{sealed, sealed_public};

/// Name of the scheme in errors.
pub(super) const NAME: &str = "inspire-stacked";
/// Name of the encoded parameters in errors.
const WHAT: &str = "parameters of stacked InsPIRe";
/// Largest number of parts. The rows of each part are whole row groups.
pub const MAX_PARTS: usize = 32;
/// Number of bits by which a failure probability is below its bound, so that the answers of the
/// largest batch together stay within the bound.
const MARGIN: f64 = 11.0;
/// Divisor of the records of a part, so that each part starts on a whole byte.
const RECORDS: u64 = 8;

/// InsPIRe over several databases, as a scheme.
#[derive(Clone, Copy, Debug)]
pub struct InspireInParts;

/// Checked parameters of m parts.
#[derive(Clone, Debug)]
pub struct PartsParams {
    /// Records of all parts.
    shape: Shape,
    /// m, the number of parts.
    pub(crate) parts: usize,
    /// Layout of one part.
    pub(super) part: Layout,
    /// Parameters of InsPIRe with the same number of columns, each a ring element of d words. They
    /// determine the noise, and the messages except for the further selectors.
    pub(super) below: Params,
}

impl PartsParams {
    /// Creates parameters for `parts` parts of this shape. Their records are padded to a multiple
    /// of 8.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] if the number of parts is not a power of two up to [`MAX_PARTS`], and
    /// the errors of InsPIRe.
    pub fn new(part: Shape, parts: usize, failure: FailureBound) -> Result<Self> {
        let part = part_layout(part, parts)?;
        let words = 16 * (part.chunks * RlweLiteral::DEFAULT.degree) as u64;
        let shape = Shape::new(part.columns as u64, words)?;
        let below = Params::failing_less(shape, 1, failure, MARGIN)?;
        Self::of(parts, part, below)
    }

    fn of(parts: usize, part: Layout, below: Params) -> Result<Self> {
        let records = part.shape.records().saturating_mul(parts as u64);
        Ok(Self {
            shape: Shape::new(records, part.shape.record_bits())?,
            parts,
            part,
            below,
        })
    }

    /// Returns the parameters for all numbers of parts that fit.
    ///
    /// # Errors
    /// The error of a single part if that does not fit.
    pub fn of_part(part: Shape, failure: FailureBound) -> Result<Vec<Self>> {
        let mut fitting = vec![Self::new(part, 1, failure)?];
        let several = (1..)
            .map(|log| 1 << log)
            .take_while(|&parts| parts <= MAX_PARTS);
        fitting.extend(several.filter_map(|parts| Self::new(part, parts, failure).ok()));
        Ok(fitting)
    }

    /// Returns the number of records in a part for a database of `records` records.
    pub fn part_records(&self, records: u64) -> u64 {
        records.next_multiple_of(RECORDS)
    }

    /// Returns the bytes of a query's selectors, and of its packing key.
    pub(crate) fn query_parts(&self) -> (usize, usize) {
        let selectors = packed_len(
            self.parts * self.part.columns,
            self.below.literal().query_bits,
        );
        (selectors, self.below.query_parts().1)
    }
}

/// Returns the layout of one part in ring elements of d/m words.
fn part_layout(part: Shape, parts: usize) -> Result<Layout> {
    if !parts.is_power_of_two() || parts > MAX_PARTS {
        let expected = format!("a power of two, at most {MAX_PARTS}");
        return Err(Error::out_of_bounds(
            "the number of parts",
            parts as u64,
            expected,
        ));
    }

    let records = part.records().next_multiple_of(RECORDS);
    let degree = RlweLiteral::DEFAULT.degree / parts;
    Layout::new(
        Shape::new(records, part.record_bits())?,
        degree,
        Interpolation::of_points(1, degree)?,
    )
}

impl Parameters for PartsParams {
    /// Chooses the parameters of a single part.
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        Self::new(shape, 1, target.into().failure)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn label(&self) -> String {
        format!("{} stacked, {} columns", self.parts, self.part.columns)
    }

    fn describe(&self) -> Description {
        let one = self.below.describe();

        let (selectors, keys) = self.query_parts();
        let sizes = Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES * self.parts),
            query_keys: keys as u64,
            query: sealed(selectors + keys),
            database: self.parts as u64 * self.part.matrix_bytes(),
            device: 0,
            ..one.sizes
        };
        let mut parameters = vec![("buckets a pack", self.parts.to_string())];
        parameters.extend(one.parameters);

        // Each further selector is encrypted, unpacked and split into planes.
        let more = ((self.parts - 1) * self.part.columns) as f64;
        let encryptions = (self.parts - 1) * self.part.columns.div_ceil(self.below.layout().degree);
        let Work { query, answer, .. } = one.work;
        let work = Work {
            query: query.with(Operation::Encrypt, encryptions as f64, 1),
            answer: answer.with(Operation::Word, 2.0 * more, 1),
            ..one.work
        };

        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape,
            sizes,
            limits: Limits {
                batch: self.parts,
                ..one.limits
            },
            parameters,
            work,
            ..one
        }
    }

    /// Returns the certificate of InsPIRe with the same columns, on which the noise depends.
    fn certificate(&self) -> Result<FailureCertificate> {
        self.below.certificate()
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.part.shape);
        writer.u8(self.parts as u8).raw(&self.below.encode());
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(WHAT, bytes);
        let shape = read_shape(&mut reader)?;
        let parts = usize::from(reader.u8()?);
        let part = part_layout(shape, parts)?;
        let below = Params::decode(reader.rest())?;

        // Both encodings give the columns, and queries are read by one and answered by the other. A
        // part's records are padded already, so that it has one encoding.
        let layout = below.layout();
        let expected = (RlweLiteral::DEFAULT.degree, part.columns, part.chunks, 1);
        let found = (layout.degree, layout.columns, layout.chunks, layout.points);
        if part.shape != shape || found != expected {
            let found = format!("{found:?} for {} records a part", shape.records());
            let expected = format!(
                "d, columns, chunks and t of {expected:?}, records a multiple of {RECORDS}"
            );
            return Err(Error::malformed(WHAT, found, expected));
        }

        Self::of(parts, part, below)
    }
}

/// Public part: the seeds of each part's masks and whitening. The first seed also expands to the
/// masks of packing keys, if no other database's seed does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PartsPublic {
    /// Seeds of the parts, one for each part.
    pub seeds: Vec<Seed>,
}

impl Wire<PartsParams> for PartsPublic {
    fn encode(&self, _params: &PartsParams) -> Vec<u8> {
        self.seeds.iter().flat_map(|seed| seed.0).collect()
    }

    fn decode(params: &PartsParams, bytes: &[u8]) -> Result<Self> {
        Error::check_length(
            "the seeds of stacked InsPIRe",
            bytes.len(),
            SEED_BYTES * params.parts,
        )?;
        Ok(Self {
            seeds: bytes
                .as_chunks::<32>()
                .0
                .iter()
                .map(|seed| Seed(*seed))
                .collect(),
        })
    }
}

impl Wire<PartsParams> for Query {
    fn encode(&self, params: &PartsParams) -> Vec<u8> {
        Wire::encode(self, &params.below)
    }

    fn decode(params: &PartsParams, bytes: &[u8]) -> Result<Self> {
        let entries = params.parts * params.part.columns;
        Self::read(&params.below, "a query of InsPIRe in parts", entries, bytes)
    }
}

impl Wire<PartsParams> for Answer {
    fn encode(&self, params: &PartsParams) -> Vec<u8> {
        Wire::encode(self, &params.below)
    }

    fn decode(params: &PartsParams, bytes: &[u8]) -> Result<Self> {
        Wire::decode(&params.below, bytes)
    }
}
