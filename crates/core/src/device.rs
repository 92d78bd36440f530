//! Processors with a memory of their own, which hold the matrices of prepared databases.
//!
//! A [`Device`] holds copies of matrices and multiplies them with vectors, and may evaluate packed
//! polynomials as well. Its results are those of the CPU, bit for bit. If the device fails, the
//! server uses the matrices in its own memory.

use std::fmt::Debug;
use std::sync::Arc;

use crate::{Error, Result};

/// Rows that are stored together in the tiles of a matrix.
const GROUP_ROWS: usize = 64;
/// Bytes of one row in a step of a tile.
const CELL_BYTES: usize = 4;

/// A processor with its own memory.
pub trait Device: Debug + Send + Sync {
    /// Its name and place, as in `cuda:0 (NVIDIA H200)`.
    fn name(&self) -> &str;

    /// True after a failure that it does not recover from: the CPU does all the work.
    fn is_lost(&self) -> bool {
        false
    }

    /// Its memory, in bytes.
    ///
    /// # Errors
    /// [`Error::Device`].
    fn memory(&self) -> Result<DeviceMemory>;

    /// Bytes that a matrix takes.
    fn bytes(&self, shape: TileShape) -> u64;

    /// Copies a matrix to the device.
    ///
    /// # Errors
    /// [`Error::Device`] if the memory does not suffice, or the device fails.
    fn hold(&self, tiles: Tiles<'_>) -> Result<Arc<dyn HeldMatrix>>;

    /// Copies the matrices and packs of a database to the device. Returns `None` if the device only
    /// multiplies matrices, or does not support these parameters.
    ///
    /// # Errors
    /// The errors of [`Device::hold`].
    fn hold_packs(&self, _packs: &Packs<'_>) -> Result<Option<Arc<dyn HeldPacks>>> {
        Ok(None)
    }
}

/// The memory of a device, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceMemory {
    /// Free for further matrices.
    pub free: u64,
    /// All of it.
    pub total: u64,
}

/// The words of a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Bytes, 0 to 255.
    Unsigned8,
    /// Signed words of 16 bits.
    Signed16,
    /// Signed words of 32 bits.
    Signed32,
}

impl Words {
    /// Bytes of a word.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Unsigned8 => 1,
            Self::Signed16 => 2,
            Self::Signed32 => 4,
        }
    }
}

/// The shape of a matrix in tiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// Its words.
    pub words: Words,
    /// Rows, whole groups of 64.
    pub rows: usize,
    /// Columns without padding.
    pub columns: usize,
}

impl TileShape {
    /// Cells of four bytes that hold the columns of a row, the last one padded.
    pub const fn steps(self) -> usize {
        self.columns.div_ceil(CELL_BYTES / self.words.bytes())
    }

    /// Bytes of the tiles of one row group.
    pub const fn group_bytes(self) -> usize {
        self.steps() * GROUP_ROWS * CELL_BYTES
    }
}

/// A matrix in tiles: row groups of 64 rows, one after another; a group has cells of four bytes,
/// with the words of adjacent columns, 64 rows for each step of columns.
#[derive(Clone, Copy, Debug)]
pub struct Tiles<'a> {
    shape: TileShape,
    bytes: &'a [u8],
}

impl<'a> Tiles<'a> {
    /// Creates a matrix with `columns` columns from its tiles.
    ///
    /// # Errors
    /// [`Error::Length`] if they are not whole row groups, [`Error::OutOfBounds`] if there are
    /// none.
    pub fn new(words: Words, columns: usize, bytes: &'a [u8]) -> Result<Self> {
        let group = TileShape {
            words,
            rows: GROUP_ROWS,
            columns,
        }
        .group_bytes();

        let groups = bytes.len().checked_div(group).unwrap_or_default();
        if groups == 0 {
            return Err(Error::out_of_bounds(
                "the size of a matrix in bytes",
                bytes.len() as u64,
                "1 or more",
            ));
        }

        Error::check_length("the tiles of a matrix", bytes.len(), groups * group)?;

        Ok(Self {
            shape: TileShape {
                words,
                rows: groups * GROUP_ROWS,
                columns,
            },
            bytes,
        })
    }

    /// Its shape.
    pub fn shape(&self) -> TileShape {
        self.shape
    }

    /// The bytes, group after group.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// A matrix in the memory of a device, until it is dropped.
pub trait HeldMatrix: Send + Sync {
    /// Returns Σ word·x modulo 2^`bits` for each vector and row; a vector has one value for each
    /// column, whose bits above `bits` are ignored. All vectors share reads of the matrix.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    ///
    /// # Panics
    /// If a vector has another length, or `bits` is outside 1 to 63.
    fn products(&self, vectors: &[&[u64]], bits: u32) -> Result<Vec<Vec<u64>>>;
}

/// R_q = Z_q\[X\]/(X^d + 1) for q = q₁·q₂. Elements are d residues modulo q₁, then d modulo q₂.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRing {
    /// d, a power of two.
    pub degree: usize,
    /// q₁ and q₂, primes below 2²⁸.
    pub primes: [u32; 2],
    /// ψ for each prime: values are at ψ^(2·brv(k) + 1), where brv reverses the log₂ d bits of k.
    pub roots: [u32; 2],
}

/// Balanced digits of integers that are centred modulo q: x ≈ Σ digitᵢ·2^(drop + i·log_base),
/// rounded to nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceGadget {
    /// Number of digits.
    pub levels: usize,
    /// log₂ of the base.
    pub log_base: u32,
    /// Low bits that are rounded away.
    pub drop: u32,
}

/// The matrices of a database whose selected rows are packed, d at a time, into ring encryptions,
/// and what turns these into an answer (InsPIRe, Algorithm 9).
pub struct Packs<'a> {
    /// The ring.
    pub ring: DeviceRing,
    /// D, with d rows for each pack.
    pub selected: Tiles<'a>,
    /// Sorted (row, column) of words of D that stand for +32768 and are stored as −32768.
    pub exceptions: &'a [[u32; 2]],
    /// Bits of a selector's values.
    pub selector_bits: u32,
    /// The packing matrices, with as many rows.
    pub packing: Tiles<'a>,
    /// Bits of the values of a packing key.
    pub key_bits: u32,
    /// Masks of the packed encryptions in coefficients, one element for each pack.
    pub masks: Vec<u32>,
    /// Last digits in values, `last_levels` elements for each pack.
    pub last: Vec<u32>,
    /// ℓ of the last digits.
    pub last_levels: usize,
    /// Points of each variable of the polynomials whose coefficients the packs are, the innermost
    /// first.
    pub variables: Vec<usize>,
    /// Masks of the RGSW encryptions of all points in values: 2ℓ elements for each variable.
    pub point_masks: Vec<u32>,
    /// The gadget of the RGSW encryptions.
    pub gadget: DeviceGadget,
}

/// A query for [`HeldPacks::evaluate`].
#[derive(Clone, Copy, Debug)]
pub struct PackQuery<'a> {
    /// A value modulo 2^selector_bits for each column of D.
    pub selector: &'a [u64],
    /// A value modulo 2^key_bits for each column of the packing matrices.
    pub key: &'a [u64],
    /// The elements that multiply the last digits, in values.
    pub last: &'a [u32],
    /// Bodies of the RGSW encryptions of all points, in values.
    pub points: &'a [u32],
}

/// Matrices and packs of a database in the memory of a device, until they are dropped.
pub trait HeldPacks: Send + Sync {
    /// Selects, packs and evaluates: returns for each query the encryptions that remain in
    /// coefficients, for each its mask and then its body. All queries share reads of the matrices.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    ///
    /// # Panics
    /// If a part of a query has another length.
    fn evaluate(&self, queries: &[PackQuery<'_>]) -> Result<Vec<Vec<u32>>>;
}
