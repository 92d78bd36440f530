//! Parameters of the scheme without cryptography: the shape.

use papir_core::codec::{Reader, Writer};
use papir_core::cost::Work;
use papir_core::scheme::{Goal, Parameters, Scheme};
use papir_core::{
    Description, Limits, MAX_RECORD_BITS, MAX_RECORDS, Result, Shape, Sizes, UpdateCost, envelope,
};

use super::wire::NONCE_BYTES;
use super::{BATCH, Plain};
use crate::shared::shapes::{SHAPE_BYTES, read_shape, write_shape};

/// Parameters of [`Plain`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlainParams {
    shape: Shape,
}

impl PlainParams {
    /// Bytes of a query's payload.
    pub(super) fn query_bytes(&self) -> usize {
        NONCE_BYTES + 1 + 8 * BATCH
    }

    /// Bytes of an answer's payload.
    pub(super) fn answer_bytes(&self) -> usize {
        NONCE_BYTES + BATCH * self.shape.record_bytes()
    }

    fn sizes(&self) -> Sizes {
        let sealed = |payload: usize| (payload + envelope::OVERHEAD) as u64;
        Sizes {
            public: sealed(8 + SHAPE_BYTES),
            query: sealed(self.query_bytes()),
            answer: sealed(self.answer_bytes()),
            database: self.shape.total_bytes(),
            ..Sizes::default()
        }
    }
}

impl Parameters for PlainParams {
    fn choose(shape: Shape, _goal: Goal) -> Result<Self> {
        Ok(Self { shape })
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        Description {
            scheme: Plain::NAME,
            privacy: Plain::PRIVACY,
            shape: self.shape,
            sizes: self.sizes(),
            security: None,
            failure_log2: f64::NEG_INFINITY,
            limits: Limits {
                records: MAX_RECORDS,
                record_bits: MAX_RECORD_BITS,
                batch: BATCH,
                client_keys: false,
                tickets: false,
                owner_key: false,
                update: UpdateCost::PerRecord,
            },
            parameters: Vec::new(),
            work: Work::default(),
        }
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new("plain's parameters", bytes);
        let shape = read_shape(&mut reader)?;
        reader.finish()?;
        Ok(Self { shape })
    }
}
