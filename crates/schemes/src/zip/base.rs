//! The scheme below ZipPIR as a trait, and its parameter sets.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::RangeInclusive;

use papir_core::cost::{Counts, Work};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, FailureBound, Privacy, Progress, Record, Result, Security, Shape};
use papir_lattice::lwe32::LweParams;
use papir_ring::prg::{SecretRng, Seed};

use super::noise::Level;
use super::slots::Row;
use crate::shared::byte_matrix::{ByteMatrix, Layout};

/// Length of clients' Paillier moduli, with the names of the schemes that use it.
pub trait ParameterSet: Copy + Debug + Send + Sync + 'static {
    /// Name and number of ZipPIR over SimplePIR.
    const ZIP: (&'static str, u16);
    /// Name and number of ZipPIR over DoublePIR.
    const ZIP_DOUBLE: (&'static str, u16);
    /// Private if the modulus is long enough.
    const PRIVACY: Privacy;

    /// Parameters of Paillier's encryption, s = 1.
    ///
    /// # Errors
    /// [`papir_paillier::Error`] for refused parameters.
    fn paillier() -> papir_paillier::Result<papir_paillier::Params>;
}

/// Moduli of 3,072 bits.
#[derive(Clone, Copy, Debug)]
pub struct Standard;

impl ParameterSet for Standard {
    const ZIP: (&'static str, u16) = ("zip", 8);
    const ZIP_DOUBLE: (&'static str, u16) = ("zipdouble", 11);
    const PRIVACY: Privacy = Privacy::Private;

    fn paillier() -> papir_paillier::Result<papir_paillier::Params> {
        Ok(papir_paillier::Params::PAILLIER_3072)
    }
}

/// Parameters of the scheme below for one shape, with the steps in which it differs from another.
///
/// Its answers are LWE ciphertexts. The masks of most of them, the rows of the hint H, are known at
/// setup; ZipPIR compresses these. The others are sent with their masks.
pub trait Base: Clone + Debug + Send + Sync + 'static {
    /// Length of clients' moduli.
    type Set: ParameterSet;
    /// The matrices, which the server keeps besides the compressed hint.
    type Stored: Clone + Send + Sync;
    /// The secret that decodes an answer, in addition to the key under H. Erased on drop.
    type Secret: Send + 'static;

    /// Name of ZipPIR over this scheme.
    const NAME: &'static str;
    /// Number of ZipPIR over this scheme.
    const ID: u16;
    /// Section of the seed.
    const SEED: &'static str;
    /// Progress stage of [`Base::select`].
    const SELECT: &'static str;
    /// Messages and noise of the LWE ciphertexts.
    const LEVEL: Level;
    /// Longest record in bits.
    const MAX_RECORD_BITS: u64;

    /// The matrix with `height` units in each column; `None` if its noise is too much. `lwe` is the
    /// encryption under H. The search passes parameters of another height, to share the rest.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for a matrix that does not exist.
    fn new(
        shape: &Shape,
        height: u64,
        failure: FailureBound,
        lwe: &LweParams,
        other: Option<&Self>,
    ) -> Result<Option<Self>>;

    /// Heights of all matrices.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] if there is none.
    fn heights(shape: &Shape) -> Result<RangeInclusive<u64>>;

    /// Height of the matrix with `columns` columns, or slightly fewer.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for records that are too long.
    fn height_for(shape: &Shape, columns: u64) -> Result<u64>;

    /// The matrix of bytes.
    fn layout(&self) -> &Layout;

    /// Sizes, security and failure probability.
    fn figures(&self) -> Figures;

    /// Work of the verbs without compression.
    fn work(&self) -> Work;

    /// Rows and columns in words.
    fn label(&self) -> String;

    /// Parameters by name.
    fn describe(&self) -> Vec<(&'static str, String)>;

    /// Encrypts the place of a record under a key under H, n bits, and otherwise fresh keys.
    fn encrypt(
        &self,
        seed: Seed,
        index: u64,
        key: &[u32],
        rng: &mut SecretRng,
    ) -> Encrypted<Self::Secret>;

    /// Decodes the record from all messages, the hint's rows first. Takes the same time whether it
    /// succeeds or not.
    ///
    /// # Errors
    /// [`papir_core::Error::NotDecodable`] for a distance beyond the bound.
    fn decode(&self, secret: &Self::Secret, rows: &[Row]) -> Result<Record>;

    /// Prepares the matrix of bytes.
    ///
    /// # Errors
    /// None for a matrix of this layout.
    fn prepare(
        &self,
        seed: Seed,
        database: ByteMatrix,
        progress: &dyn Progress,
    ) -> Result<Self::Stored>;

    /// The matrix of bytes.
    fn database(stored: &Self::Stored) -> &ByteMatrix;

    /// Returns a function from the number of a row of H to its n words.
    fn hint(&self, seed: Seed, stored: &Self::Stored) -> impl Fn(usize) -> Vec<u32> + Sync;

    /// LWE ciphertexts for each query, at least one, in one read of the matrices.
    fn select(&self, stored: &Self::Stored, queries: &[&[Vec<u32>]]) -> Vec<Selected>;

    /// Hint products of an update.
    fn change_cost(&self, changes: &[Change]) -> Counts;

    /// The matrices after these changes, in order; `None` if no byte changes.
    ///
    /// # Errors
    /// The errors of [`papir_core::scheme::check_changes`].
    fn change(
        &self,
        seed: Seed,
        stored: &Self::Stored,
        changes: &[Change],
        progress: &dyn Progress,
    ) -> Result<Option<Changed<Self::Stored>>>;

    /// Writes the sections of the matrices.
    ///
    /// # Errors
    /// The errors of the sink.
    fn save(&self, stored: &Self::Stored, sink: &mut dyn SectionSink) -> Result<()>;

    /// Reads the sections that [`Base::save`] wrote.
    ///
    /// # Errors
    /// [`papir_core::Error::MissingSection`] or [`papir_core::Error::Length`].
    fn load(&self, seed: Seed, source: &dyn SectionSource) -> Result<Self::Stored>;
}

/// Figures of a matrix.
pub struct Figures {
    /// Rows of H.
    pub hint_rows: usize,
    /// Number of words in each part of a query, and the bits of a word.
    pub query: Vec<(usize, u32)>,
    /// 16-bit words of the ciphertexts sent with their masks.
    pub online_words: usize,
    /// Bytes of the matrices that an answer reads, the database first.
    pub matrices: Vec<u64>,
    /// Bytes that the server keeps besides matrices and compressed hint.
    pub masks_bytes: u64,
    /// Security of encryption that is not under H.
    pub security: Option<Security>,
    /// log₂ of an answer's failure probability.
    pub failure_log2: f64,
    /// The bound on it.
    pub failure_bound: FailureBound,
}

/// An encrypted place.
pub struct Encrypted<S> {
    /// The secret that decodes the answer, in addition to the key under H.
    pub secret: S,
    /// Words of each part of the query.
    pub parts: Vec<Vec<u32>>,
}

/// LWE ciphertexts of an answer.
pub struct Selected {
    /// Bodies for all rows of H, modulo q.
    pub bodies: Vec<u32>,
    /// The others, each n mask words and a body in units of q/2¹⁶.
    pub online: Vec<u16>,
}

/// Matrices after changes.
pub struct Changed<S> {
    /// The new matrices.
    pub stored: S,
    /// Rows of H that changed; `None` for all.
    pub rows: Option<BTreeSet<usize>>,
}
