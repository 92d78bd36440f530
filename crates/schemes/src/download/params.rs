//! Parameters of trivial PIR: a shape, and the length of its compressed records.

use papir_core::certificate::FailureCertificate;
use papir_core::codec::Writer;
use papir_core::cost::{Counts, Operation, Work};
use papir_core::scheme::{Parameters, Target};
use papir_core::{
    Description, Error, FailureBound, Limits, MAX_PUBLIC_BYTES, MAX_RECORD_BITS, Privacy, Result,
    Shape, Sizes, UpdateCost,
};

use super::blocks::{self, BLOCK_BYTES};
use crate::shared::messages::{SHAPE_BYTES, read_all, read_shape, write_shape};
use crate::shared::parameters::{one_record, refused, sealed, sealed_public};

/// The scheme's name.
pub(super) const NAME: &str = "download";
/// Largest number of indices in one query. A query of this many indices costs the same as one of a
/// single index.
pub const BATCH: usize = 1 << 16;
/// Bytes of a nonce.
pub(super) const NONCE_BYTES: usize = 16;
/// Bytes of encoded parameters.
const ENCODED: usize = SHAPE_BYTES + 8;

/// Trivial PIR.
pub struct Download;

/// Parameters of [`Download`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DownloadParams {
    shape: Shape,
    /// Bytes of the blocks in the public part. Until the records are known, it is the number for
    /// records that do not compress.
    stored: u64,
}

impl DownloadParams {
    /// Creates parameters of records that take `stored` bytes in blocks. A database that is too
    /// large to be sent is refused, and so is a length that no blocks of this shape have.
    fn new(shape: Shape, stored: u64) -> Result<Self> {
        let total = shape.total_bytes();

        let public = sealed_public(ENCODED, 0).saturating_add(blocks::longest(total));
        if public > MAX_PUBLIC_BYTES {
            let reason = format!(
                "clients fetch all {total} bytes of the records: expected at most {MAX_PUBLIC_BYTES}"
            );
            return Err(refused(NAME)(reason));
        }

        let range = blocks::shortest(total)..=blocks::longest(total);
        if !range.contains(&stored) {
            let expected = format!("{} to {}", range.start(), range.end());
            return Err(Error::out_of_bounds(
                "the length of compressed records",
                stored,
                expected,
            ));
        }

        Ok(Self { shape, stored })
    }

    /// Returns the same parameters for records that are compressed to `stored` bytes.
    pub(super) fn with_stored(&self, stored: u64) -> Result<Self> {
        Self::new(self.shape, stored)
    }

    /// Returns the number of bytes of the blocks.
    pub(super) fn stored(&self) -> usize {
        self.stored as usize
    }
}

impl Parameters for DownloadParams {
    /// Returns the parameters of records that do not compress. The target has no influence.
    fn choose(shape: Shape, _target: impl Into<Target>) -> Result<Self> {
        Self::new(shape, blocks::longest(shape.total_bytes()))
    }

    fn label(&self) -> String {
        "all records".to_owned()
    }

    fn shape(&self) -> Shape {
        self.shape
    }

    fn describe(&self) -> Description {
        let total = self.shape.total_bytes();
        let deflate = Counts::new().with(
            Operation::Deflate,
            total as f64,
            total.div_ceil(BLOCK_BYTES as u64) as usize,
        );

        Description {
            scheme: NAME,
            privacy: Privacy::Private,
            shape: self.shape,
            sizes: Sizes {
                public: sealed_public(ENCODED, self.stored()),
                hint: self.stored,
                // Kept beside the public part. No answer reads it.
                database: self.stored,
                query: sealed(NONCE_BYTES),
                answer: sealed(NONCE_BYTES),
                seen: Some(total),
                ..Sizes::default()
            },
            security: None,
            failure_log2: f64::NEG_INFINITY,
            failure_bound: FailureBound::DEFAULT,
            limits: Limits {
                batch: BATCH,
                ..one_record(MAX_RECORD_BITS, UpdateCost::PerPack)
            },
            parameters: vec![("compressed to", format!("{} of {total} bytes", self.stored))],
            work: Work {
                setup: deflate,
                // Copies the nonce.
                answer: Counts::new().with(Operation::Word, 1.0, 1),
                ..Work::default()
            },
        }
    }

    fn certificate(&self) -> Result<FailureCertificate> {
        let reason = "clients read the record from their copy of all records, without encryption";
        Ok(FailureCertificate::never(&self.describe(), reason))
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape);
        writer.u64(self.stored);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (shape, stored) = read_all("download's parameters", bytes, |reader| {
            Ok((read_shape(reader)?, reader.u64()?))
        })?;
        Self::new(shape, stored)
    }
}
