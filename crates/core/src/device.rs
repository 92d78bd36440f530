//! Devices: processors with their own memory, such as GPUs, that hold a database's matrices.
//!
//! A [`Device`] holds copies of matrices and multiplies them with vectors, and may evaluate packed
//! polynomials as well. Its results are equal to the results of the CPU, bit for bit. If the device
//! fails, the server uses the matrices in its own memory.

use std::fmt::Debug;
use std::sync::Arc;

use crate::{Error, Result};

/// Number of rows in a row group of a tiled matrix.
const GROUP_ROWS: usize = 64;
/// Bytes of a cell: the adjacent words of one row that a step covers.
const CELL_BYTES: usize = 4;

/// A processor with its own memory.
pub trait Device: Debug + Send + Sync {
    /// The device's name and place, for example `cuda:0 (NVIDIA H200)`.
    fn name(&self) -> &str;

    /// Returns true after a permanent failure of the device. The CPU then does all the work.
    fn is_lost(&self) -> bool {
        false
    }

    /// The device's memory.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    fn memory(&self) -> Result<DeviceMemory>;

    /// Bytes of device memory that a matrix of this shape occupies.
    fn bytes(&self, shape: TileShape) -> u64;

    /// Copies a matrix to the device.
    ///
    /// # Errors
    /// [`Error::Device`] if the device's memory does not suffice, or the device fails.
    fn hold(&self, tiles: Tiles<'_>) -> Result<Arc<dyn HeldMatrix>>;

    /// Copies the matrices and packs of a database to the device. Returns `None` if the device can
    /// only multiply matrices, or does not support these parameters.
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
    /// Memory that is free for further matrices.
    pub free: u64,
    /// The total memory.
    pub total: u64,
}

/// The type of a matrix's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Words {
    /// Unsigned words of 8 bits.
    Unsigned8,
    /// Signed words of 16 bits.
    Signed16,
    /// Signed words of 32 bits.
    Signed32,
}

impl Words {
    /// Length of a word in bytes.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Unsigned8 => 1,
            Self::Signed16 => 2,
            Self::Signed32 => 4,
        }
    }
}

/// The shape of a tiled matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// The type of its words.
    pub words: Words,
    /// Number of rows, a multiple of 64.
    pub rows: usize,
    /// Number of columns, without padding.
    pub columns: usize,
}

impl TileShape {
    /// Number of four-byte cells that hold a row. The last cell is padded.
    pub const fn steps(self) -> usize {
        self.columns.div_ceil(CELL_BYTES / self.words.bytes())
    }

    /// Bytes of one row group.
    pub const fn group_bytes(self) -> usize {
        self.steps() * GROUP_ROWS * CELL_BYTES
    }
}

/// A tiled matrix: row groups of 64 rows, one after another. A row group consists of steps: step j
/// has for each of the 64 rows a cell of four bytes, which contains the row's words in the columns
/// 4·j/w to 4·(j + 1)/w − 1, where w is the length of a word in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Tiles<'a> {
    shape: TileShape,
    bytes: &'a [u8],
}

impl<'a> Tiles<'a> {
    /// A matrix with `columns` columns from the bytes of its row groups.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for fewer bytes than one row group, [`Error::Length`] if the last row
    /// group is incomplete.
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

    /// The matrix's shape.
    pub fn shape(&self) -> TileShape {
        self.shape
    }

    /// The bytes of all row groups, in order.
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }
}

/// A matrix in the memory of a device. Dropping it frees the memory.
pub trait HeldMatrix: Send + Sync {
    /// Multiplies the matrix with each vector: returns for each vector, for each row, Σ word·x
    /// modulo 2^`bits`. A vector has one value x for each column, whose bits above `bits` are
    /// ignored. All vectors share reads of the matrix.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    ///
    /// # Panics
    /// If the length of a vector is not the number of columns, or `bits` is outside 1 to 63.
    fn products(&self, vectors: &[&[u64]], bits: u32) -> Result<Vec<Vec<u64>>>;
}

/// R_q = Z_q\[X\]/(X^d + 1) for q = q₁·q₂. Elements are d residues modulo q₁, then d modulo q₂.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceRing {
    /// d, a power of two.
    pub degree: usize,
    /// q₁ and q₂, primes below 2²⁸.
    pub primes: [u32; 2],
    /// A primitive 2d-th root of unity ψ for each prime. Value k of an element is its value at
    /// ψ^(2·brv(k) + 1), where brv reverses the log₂ d bits of k.
    pub roots: [u32; 2],
}

/// A gadget decomposition into balanced digits. For x centred modulo q, x ≈ Σ digitᵢ·2^(drop +
/// i·log_base), rounded to nearest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeviceGadget {
    /// Number of digits.
    pub levels: usize,
    /// log₂ of the base of the digits.
    pub log_base: u32,
    /// Number of low bits that are rounded away.
    pub drop: u32,
}

/// The matrices of a database whose selected rows are packed, d at a time, into ring encryptions,
/// and the data that turns the packs into an answer (InsPIRe, Algorithm 9).
pub struct Packs<'a> {
    /// The ring.
    pub ring: DeviceRing,
    /// The database matrix D, with d rows for each pack.
    pub selected: Tiles<'a>,
    /// Sorted pairs (row, column) of the words of D that stand for +32768 and are stored as −32768.
    pub exceptions: &'a [[u32; 2]],
    /// Bits of the values that select a column: a query's selector is modulo 2^selector_bits.
    pub selector_bits: u32,
    /// The packing matrices of all packs, with the same number of rows as `selected`.
    pub packing: Tiles<'a>,
    /// Bits of the values of a packing key.
    pub key_bits: u32,
    /// Masks of the packed encryptions as coefficients, one ring element for each pack.
    pub masks: Vec<u32>,
    /// Digits of the last key switch of each pack as values at the roots, `last_levels` ring
    /// elements for each pack.
    pub last: Vec<u32>,
    /// Number ℓ of digits of the last key switch.
    pub last_levels: usize,
    /// Number of points of each variable of the polynomials whose coefficients are the packs, the
    /// innermost variable first.
    pub variables: Vec<usize>,
    /// Masks of the RGSW encryptions of all points as values at the roots: 2ℓ ring elements for
    /// each variable.
    pub point_masks: Vec<u32>,
    /// The gadget decomposition of the RGSW encryptions.
    pub gadget: DeviceGadget,
}

/// A query for [`HeldPacks::evaluate`].
#[derive(Clone, Copy, Debug)]
pub struct PackQuery<'a> {
    /// A value modulo 2^selector_bits for each column of D.
    pub selector: &'a [u64],
    /// A value modulo 2^key_bits for each column of the packing matrices.
    pub key: &'a [u64],
    /// The ring elements that the digits of the last key switch multiply, as values at the roots.
    pub last: &'a [u32],
    /// Bodies of the RGSW encryptions of all points, as values at the roots.
    pub points: &'a [u32],
}

/// The matrices and packs of a database in the memory of a device. Dropping them frees the memory.
pub trait HeldPacks: Send + Sync {
    /// Selects, packs and evaluates polynomials for each query. Returns for each query the
    /// resulting ring encryptions as coefficients: for each its mask, then its body. All queries
    /// share reads of the matrices.
    ///
    /// # Errors
    /// [`Error::Device`] if the device fails.
    ///
    /// # Panics
    /// If a part of a query has a length that does not match the parameters.
    fn evaluate(&self, queries: &[PackQuery<'_>]) -> Result<Vec<Vec<u32>>>;
}
