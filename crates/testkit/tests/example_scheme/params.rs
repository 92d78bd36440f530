//! Parameters of the example scheme: the shape.

use papir_core::codec::{Reader, Writer};
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Parameters, Scheme, Target};
use papir_core::{
    Description, Error, FailureBound, Limits, MAX_RECORD_BITS, Result, Security, Shape, Sizes,
    UpdateCost, envelope,
};

use crate::Example;

/// Maximum length of a database in bytes: an answer holds all of it.
pub(crate) const MAX_BYTES: u64 = 1 << 26;
/// Maximum number of indices in one query. Each is free, as the answer has every record.
pub(crate) const BATCH: usize = 16;
/// Bytes of the nonce that ties an answer to its query.
pub(crate) const NONCE_BYTES: usize = 16;
/// Bytes of encoded parameters.
const ENCODED_BYTES: usize = 16;

/// Checked parameters: a shape of at most [`MAX_BYTES`] bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExampleParams {
    shape: Shape,
}

impl ExampleParams {
    /// The only constructor: both [`Parameters::choose`] and [`Parameters::decode`] end here.
    fn new(shape: Shape) -> Result<Self> {
        if shape.total_bytes() > MAX_BYTES {
            let reason = format!(
                "{} bytes of records: expected at most {MAX_BYTES}",
                shape.total_bytes()
            );
            return Err(Error::Parameters {
                scheme: Example::NAME,
                reason,
            });
        }
        Ok(Self { shape })
    }

    /// Bytes of an answer's payload.
    pub(crate) fn answer_bytes(&self) -> usize {
        NONCE_BYTES + self.packed_bytes()
    }

    /// Bytes of all records.
    pub(crate) fn packed_bytes(&self) -> usize {
        self.shape.total_bytes() as usize
    }

    fn sizes(&self) -> Sizes {
        let sealed = |payload: usize| (payload + envelope::OVERHEAD) as u64;
        Sizes {
            // The envelope of a public part has the parameters behind their length.
            public: sealed(8 + ENCODED_BYTES),
            query: sealed(NONCE_BYTES),
            answer: sealed(self.answer_bytes()),
            database: self.shape.total_bytes(),
            ..Sizes::default()
        }
    }

    fn work(&self) -> Work {
        let copy = Counts::new().with(Operation::Copy, self.packed_bytes() as f64, 1);
        Work {
            setup: copy.clone(),
            answer: copy,
            ..Work::default()
        }
    }
}

impl Parameters for ExampleParams {
    fn choose(shape: Shape, _target: impl Into<Target>) -> Result<Self> {
        Self::new(shape)
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: Example::NAME,
            privacy: Example::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: Some(Security {
                bits: f64::INFINITY,
                source: "perfect: no query depends on its index",
            }),
            failure_log2: f64::NEG_INFINITY,
            failure_bound: FailureBound::DEFAULT,
            limits: Limits {
                records: 8 * MAX_BYTES,
                record_bits: MAX_RECORD_BITS,
                batch: BATCH,
                client_keys: false,
                tickets: false,
                owner_key: false,
                update: UpdateCost::Rebuild,
            },
            parameters: Vec::new(),
            work: self.work(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        writer
            .u64(self.shape.records())
            .u64(self.shape.record_bits());
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("the example's parameters", bytes);
        let shape = Shape::new(reader.u64()?, reader.u64()?)?;
        reader.finish()?;
        Self::new(shape)
    }
}
