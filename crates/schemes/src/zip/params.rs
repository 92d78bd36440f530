//! Parameters of ZipPIR: the matrix below and the compression.

use std::marker::PhantomData;

use papir_core::certificate::FailureCertificate;
use papir_core::codec::Writer;
use papir_core::cost::{Operation, Work};
use papir_core::scheme::{Parameters, Target};
use papir_core::{
    Choice, Description, FailureBound, Goal, Limits, Result, Security, Shape, Sizes, UpdateCost,
};
use papir_kernels::bits::packed_len;
use papir_kernels::matvec_u8::ROWS;

use super::base::{Base, Figures, ParameterSet};
use super::compression::{Compression, DIGEST_BYTES, MAX_KEY_BITS, NUMBER_BYTES};
use crate::shared::messages::{
    SEED_BYTES, read_all, read_failure, read_shape, write_failure, write_shape,
};
use crate::shared::parameters::{one_record, refused, sealed, sealed_public, security};

/// Number of heights that are compared for each number of key bits.
const CANDIDATES: u64 = 1024;
/// Bits of security that count for a modulus of 3,072 bits.
const MODULUS_SECURITY: f64 = 128.0;
/// Number of bytes that a server reads at 10 GB/s while a line of 10 Mbit/s transfers one byte.
const BYTES_READ: f64 = 8000.0;

/// ZipPIR over a scheme, as a scheme.
pub struct ZipPir<B>(PhantomData<fn() -> B>);

/// Parameters that a search compares, with their cost.
struct CostedHeight {
    cost: f64,
    height: u64,
    key_bits: usize,
}

/// Parameters of [`ZipPir`].
#[derive(Clone, Debug)]
pub struct ZipParams<B> {
    pub(super) base: B,
    pub(super) compression: Compression,
}

impl<B: Base> ZipParams<B> {
    /// Creates the parameters of the matrix with `height` units in each column. `key_bits` bits of
    /// the LWE key share one number of a query: 1 is the paper's main construction, and more bits
    /// are its packed compression key.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for records, rows or columns beyond the limits of the
    /// scheme below; [`papir_core::Error::Parameters`] for too much noise or invalid `key_bits`.
    pub fn new(shape: Shape, height: u64, key_bits: usize) -> Result<Self> {
        Self::failing_less(shape, height, key_bits, FailureBound::DEFAULT)
    }

    /// Creates the parameters of [`Self::new`] within this bound on the failure probability.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn failing_less(
        shape: Shape,
        height: u64,
        key_bits: usize,
        failure: FailureBound,
    ) -> Result<Self> {
        let compression = Compression::new::<B>(key_bits)?;
        let Some(base) = B::new(&shape, height, failure, &compression.lwe, None)? else {
            let reason =
                format!("the noise of columns of {height} units exceeds the decoding limit");
            return Err(refused(B::NAME)(reason));
        };
        Ok(Self::compressed(base, &compression))
    }

    /// Creates the parameters with the compression of the hint of `base`.
    fn compressed(base: B, compression: &Compression) -> Self {
        let compression = Compression {
            rows: base.figures().hint_rows,
            ..compression.clone()
        };
        Self { base, compression }
    }

    /// Chooses the best parameters for a target. With `Some`, `key_bits` bits of the LWE key are in
    /// one number of a query; with `None`, the search chooses their number.
    ///
    /// # Errors
    /// The errors of [`Self::new`].
    pub fn choose_packed(
        shape: Shape,
        target: impl Into<Target>,
        key_bits: Option<usize>,
    ) -> Result<Self> {
        let Target { goal, failure } = target.into();
        let (least, most) = B::heights(&shape)?.into_inner();
        let mut best = CostedHeight {
            cost: f64::INFINITY,
            height: most,
            key_bits: key_bits.unwrap_or(1),
        };
        // Its tables of the ring depend on no height, and all candidates share them.
        let any = Self::failing_less(shape, best.height, best.key_bits, failure)?;

        let step = ((most - least) / CANDIDATES + 1) as usize;
        for key_bits in key_bits.map_or(1..=MAX_KEY_BITS, |bits| bits..=bits) {
            let compression = Compression::new::<B>(key_bits)?;
            for height in (least..=most).step_by(step).chain([most]) {
                let base = B::new(&shape, height, failure, &compression.lwe, Some(&any.base))?;
                let Some(base) = base else { continue };
                let cost = Self::compressed(base, &compression).cost(goal);
                if cost < best.cost {
                    best = CostedHeight {
                        cost,
                        height,
                        key_bits,
                    };
                }
            }
        }
        Self::failing_less(shape, best.height, best.key_bits, failure)
    }

    /// Returns the bytes of a query and of an answer.
    fn message_bytes(&self, figures: &Figures) -> [usize; 2] {
        let answer = 2 * figures.online_words + self.compression.joined_bytes();
        [
            NUMBER_BYTES + 1 + self.compression.offsets_bytes() + parts_bytes(figures),
            answer,
        ]
    }

    fn sizes(&self, figures: &Figures) -> Sizes {
        let compression = &self.compression;
        let [query, answer] = self.message_bytes(figures);
        let offsets = compression.offsets_bytes();
        let parts = parts_bytes(figures);
        let hint =
            compression.exponent_bytes() + compression.residue_bytes() + compression.sums_bytes();

        Sizes {
            public: sealed_public(self.encode().len(), SEED_BYTES + DIGEST_BYTES),
            keys: sealed(compression.keys_bytes()),
            ticket: compression.ticket_bytes() as u64,
            query: sealed(query),
            query_keys: offsets as u64,
            ahead: sealed(query - parts),
            online: sealed(query - offsets),
            answer: sealed(answer),
            database: figures.matrices[0],
            material: figures.matrices[1..].iter().sum::<u64>() + figures.masks_bytes + hint as u64,
            ..Sizes::default()
        }
    }

    /// Returns the work of each operation. It excludes Paillier operations of clients and tickets,
    /// which are done ahead. An answer also reads the residues of H.
    fn work(&self) -> Work {
        let work = self.base.work();
        let residues = self.compression.residue_bytes() as f64;
        let groups = self.compression.rows.div_ceil(ROWS);

        Work {
            answer: work.answer.with(Operation::Matrix, residues, groups),
            ..work
        }
    }

    /// Returns the cost under a goal, in bytes sent or read.
    fn cost(&self, goal: Goal) -> f64 {
        let figures = self.base.figures();
        let compression = &self.compression;
        let sent = self.message_bytes(&figures).iter().sum::<usize>() as f64;
        let read = figures.matrices.iter().sum::<u64>() + compression.residue_bytes() as u64;

        match goal {
            Goal::MinCommunication => sent,
            // The server works ahead for each byte of a ticket, so it counts as a byte sent.
            Goal::Balanced => sent + read as f64 / BYTES_READ + compression.ticket_bytes() as f64,
            Goal::MinTime => read as f64 + sent / 100.0,
        }
    }

    /// Returns the lower of both levels' security, at most the security of a modulus of 3,072 bits.
    /// Returns `None` for a short modulus.
    fn security(&self, other: Option<Security>) -> Option<Security> {
        let one = security(self.compression.lwe.security());
        let one = Security {
            bits: one.bits.min(MODULUS_SECURITY),
            ..one
        };

        let least = other.filter(|other| other.bits < one.bits).unwrap_or(one);
        self.compression.paillier.is_secure().then_some(least)
    }
}

/// Returns the bytes of all parts of the query below.
fn parts_bytes(figures: &Figures) -> usize {
    figures
        .query
        .iter()
        .map(|&(count, bits)| packed_len(count, bits))
        .sum()
}

impl<B: Base> Parameters for ZipParams<B> {
    fn choose(shape: Shape, target: impl Into<Target>) -> Result<Self> {
        Self::choose_packed(shape, target, None)
    }

    fn with_fixed(shape: Shape, choice: Choice) -> Result<Self> {
        match choice {
            Choice::Registered { goal, key_bits, .. } => Self::choose_packed(shape, goal, key_bits),
            Choice::Columns(columns) => Self::new(shape, B::height_for(&shape, columns.max(1))?, 1),
            other => Err(other.refused_by(B::NAME)),
        }
    }

    fn label(&self) -> String {
        format!(
            "{}, {} key bits",
            self.base.label(),
            self.compression.key_bits
        )
    }

    fn shape(&self) -> Shape {
        self.base.layout().unit_layout.shape
    }

    fn describe(&self) -> Description {
        let figures = self.base.figures();

        Description {
            scheme: B::NAME,
            privacy: B::Set::PRIVACY,
            shape: self.shape(),
            sizes: self.sizes(&figures),
            security: self.security(figures.security),
            failure_log2: figures.failure_log2,
            failure_bound: figures.failure_bound,
            limits: Limits {
                client_keys: true,
                tickets: true,
                ..one_record(B::MAX_RECORD_BITS, UpdateCost::PerRecord)
            },
            parameters: [self.base.describe(), self.compression.describe()].concat(),
            work: self.work(),
        }
    }

    fn certificate(&self) -> Result<FailureCertificate> {
        let mut certificate = FailureCertificate::new(&self.describe())?;

        // Paillier encryption adds no noise; its modulus counts for the security.
        let modulus_bits = self.compression.paillier.modulus_bits();
        certificate.parameter("modulus bits", modulus_bits);
        self.base.certify(&mut certificate)?;

        Ok(certificate)
    }

    fn encode(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        write_shape(&mut writer, self.shape());
        writer
            .u64(self.base.layout().units as u64)
            .u32(self.compression.key_bits as u32);
        write_failure(&mut writer, self.base.figures().failure_bound);
        writer.finish()
    }

    fn decode(bytes: &[u8]) -> Result<Self> {
        let (shape, height, key_bits, failure) = read_all("ZipPIR parameters", bytes, |reader| {
            Ok((
                read_shape(reader)?,
                reader.u64()?,
                reader.u32()?,
                read_failure(reader)?,
            ))
        })?;
        Self::failing_less(shape, height, key_bits as usize, failure)
    }
}
