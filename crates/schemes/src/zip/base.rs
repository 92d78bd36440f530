//! Trait of the scheme below ZipPIR, and parameter sets.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::ops::RangeInclusive;

use papir_core::certificate::FailureCertificate;
use papir_core::cost::{Counts, Work};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Change, FailureBound, Privacy, Progress, Record, Result, Security, Shape};
use papir_lattice::lwe32::LweParams;
use papir_ring::prg::{SecretRng, Seed};

use super::noise::Level;
use super::slots::DecodedRow;
use crate::shared::byte_matrix::{ByteMatrix, Layout};

/// A parameter set: the length of clients' Paillier moduli, and the names of the schemes that use
/// it.
pub trait ParameterSet: Copy + Debug + Send + Sync + 'static {
    /// Name and number of ZipPIR over SimplePIR.
    const ZIP: (&'static str, u16);
    /// Name and number of ZipPIR over DoublePIR.
    const ZIP_DOUBLE: (&'static str, u16);
    /// Privacy of the schemes. It is private if the modulus is long enough.
    const PRIVACY: Privacy;

    /// Returns the parameters of Paillier's encryption, s = 1.
    ///
    /// # Errors
    /// [`papir_paillier::Error`] for refused parameters.
    fn paillier() -> papir_paillier::Result<papir_paillier::Params>;
}

/// Parameter set with moduli of 3,072 bits.
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

/// Parameters of the scheme below for one shape, and the steps in which one scheme below differs
/// from another.
///
/// The scheme's answers are LWE ciphertexts. The masks of most of them are the rows of the hint H
/// and are known at setup; ZipPIR compresses these. The other ciphertexts are sent with their
/// masks.
pub trait Base: Clone + Debug + Send + Sync + 'static {
    /// Parameter set, with the length of clients' moduli.
    type Set: ParameterSet;
    /// Matrices that the server keeps beside the compressed hint.
    type Stored: Clone + Send + Sync;
    /// Secret that decodes an answer, in addition to the key under H. It is erased on drop.
    type Secret: Send + 'static;

    /// Name of ZipPIR over this scheme.
    const NAME: &'static str;
    /// Number of ZipPIR over this scheme.
    const ID: u16;
    /// Name of the section of the seed.
    const SEED: &'static str;
    /// Progress stage of [`Base::select`].
    const SELECT: &'static str;
    /// Messages and noise of the LWE ciphertexts.
    const LEVEL: Level;
    /// Largest length of a record in bits.
    const MAX_RECORD_BITS: u64;

    /// Creates the matrix with `height` units in each column. Returns `None` if its noise is too
    /// large. `lwe` is the encryption under H. The search passes parameters of another height as
    /// `other`, to share the parts that do not depend on the height.
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

    /// Returns the range of the heights of all matrices.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] if there is no matrix.
    fn heights(shape: &Shape) -> Result<RangeInclusive<u64>>;

    /// Returns the height of the matrix with `columns` columns, or slightly fewer.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for records that are too long.
    fn height_for(shape: &Shape, columns: u64) -> Result<u64>;

    /// Returns the layout of the matrix of bytes.
    fn layout(&self) -> &Layout;

    /// Returns sizes, security and failure probability.
    fn figures(&self) -> Figures;

    /// Adds the parameters, the terms and the security of the encryptions to a certificate.
    ///
    /// # Errors
    /// [`papir_core::Error::Parameters`] for a number that no certificate has.
    fn certify(&self, certificate: &mut FailureCertificate) -> Result<()>;

    /// Returns the work of each operation, without compression.
    fn work(&self) -> Work;

    /// Returns the rows and columns in words, for a label.
    fn label(&self) -> String;

    /// Returns the parameters as pairs of name and value.
    fn describe(&self) -> Vec<(&'static str, String)>;

    /// Encrypts the place of a record. `key` is the key under H, n bits; all other keys are fresh.
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
    fn decode(&self, secret: &Self::Secret, rows: &[DecodedRow]) -> Result<Record>;

    /// Prepares the matrix of bytes.
    ///
    /// # Errors
    /// The errors of the scheme below. A matrix of this layout causes no error.
    fn prepare(
        &self,
        seed: Seed,
        database: ByteMatrix,
        progress: &dyn Progress,
    ) -> Result<Self::Stored>;

    /// Returns the matrix of bytes.
    fn database(stored: &Self::Stored) -> &ByteMatrix;

    /// Returns a function from the number of a row of H to its n words.
    fn hint(&self, seed: Seed, stored: &Self::Stored) -> impl Fn(usize) -> Vec<u32> + Sync;

    /// Computes the LWE ciphertexts for each query, of which there is at least one, in one read of
    /// the matrices.
    fn select(&self, stored: &Self::Stored, queries: &[&[Vec<u32>]]) -> Vec<Selected>;

    /// Returns the work of the hint products of an update.
    fn change_cost(&self, changes: &[Change]) -> Counts;

    /// Returns the matrices after these changes, which apply in order. Returns `None` if no byte
    /// changes.
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
    /// [`papir_core::Error::MissingSection`] or [`papir_core::Error::Length`], and the errors of
    /// the source.
    fn load(&self, seed: Seed, source: &dyn SectionSource) -> Result<Self::Stored>;
}

/// Figures of a matrix.
pub struct Figures {
    /// Number of rows of H.
    pub hint_rows: usize,
    /// Number of words in each part of a query, and the bits of a word.
    pub query: Vec<(usize, u32)>,
    /// Number of 16-bit words of the ciphertexts that are sent with their masks.
    pub online_words: usize,
    /// Bytes of the matrices that an answer reads, the database first.
    pub matrices: Vec<u64>,
    /// Bytes that the server keeps beside the matrices and the compressed hint.
    pub masks_bytes: u64,
    /// Security of encryption that is not under H, or `None` if there is none.
    pub security: Option<Security>,
    /// log₂ of a bound on an answer's failure probability.
    pub failure_log2: f64,
    /// Bound on the failure probability for which the parameters were chosen.
    pub failure_bound: FailureBound,
}

/// Encrypted place of a record.
pub struct Encrypted<S> {
    /// Secret that decodes the answer, in addition to the key under H.
    pub secret: S,
    /// Words of each part of the query.
    pub parts: Vec<Vec<u32>>,
}

/// LWE ciphertexts of an answer.
pub struct Selected {
    /// Bodies for all rows of H, modulo q.
    pub bodies: Vec<u32>,
    /// The other ciphertexts, each with n mask words and a body in units of q/2¹⁶.
    pub online: Vec<u16>,
}

/// Matrices after changes.
pub struct Changed<S> {
    /// New matrices.
    pub stored: S,
    /// Rows of H that changed, or `None` if all rows changed.
    pub rows: Option<BTreeSet<usize>>,
}
