//! A device in the CPU's memory, which multiplies as its interface says and fails on demand.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use papir_core::device::{Device, DeviceMemory, HeldMatrix, TileShape, Tiles, Words};
use papir_core::{Error, Result};

const NAME: &str = "a device of the tests";

/// A device that holds matrices as tiles and multiplies them word by word.
#[derive(Clone, Debug, Default)]
pub struct PlainDevice(Arc<DeviceState>);

#[derive(Debug, Default)]
struct DeviceState {
    failing: AtomicBool,
    products: AtomicUsize,
    full: AtomicBool,
}

impl PlainDevice {
    /// Lets all products fail from now on, or succeed again.
    pub fn fail(&self, failing: bool) {
        self.0.failing.store(failing, Ordering::Relaxed);
    }

    /// Has no memory for further matrices.
    pub fn fill(&self) {
        self.0.full.store(true, Ordering::Relaxed);
    }

    /// Number of products so far that did not fail.
    pub fn products(&self) -> usize {
        self.0.products.load(Ordering::Relaxed)
    }
}

impl Device for PlainDevice {
    fn name(&self) -> &str {
        NAME
    }

    fn is_lost(&self) -> bool {
        self.0.failing.load(Ordering::Relaxed)
    }

    fn memory(&self) -> Result<DeviceMemory> {
        let total = 1 << 40;
        Ok(DeviceMemory {
            free: if self.0.full.load(Ordering::Relaxed) {
                0
            } else {
                total
            },
            total,
        })
    }

    fn bytes(&self, shape: TileShape) -> u64 {
        (shape.rows / 64 * shape.group_bytes()) as u64
    }

    fn hold(&self, tiles: Tiles<'_>) -> Result<Arc<dyn HeldMatrix>> {
        if self.bytes(tiles.shape()) > self.memory()?.free {
            return Err(failure("no memory"));
        }
        Ok(Arc::new(PlainMatrix {
            device: self.clone(),
            shape: tiles.shape(),
            tiles: tiles.bytes().to_vec(),
        }))
    }
}

/// A matrix of a [`PlainDevice`].
struct PlainMatrix {
    device: PlainDevice,
    shape: TileShape,
    tiles: Vec<u8>,
}

impl PlainMatrix {
    /// The word of a row and a column, by the definition of tiles.
    fn word(&self, row: usize, column: usize) -> u64 {
        let bytes = self.shape.words.bytes();
        let each = 4 / self.shape.words.bytes();
        let cell = (row / 64 * self.shape.steps() + column / each) * 64 + row % 64;
        let word = &self.tiles[4 * cell + column % each * bytes..][..bytes];
        match (self.shape.words, word) {
            (Words::Unsigned8, &[byte]) => byte.into(),
            (Words::Signed16, &[a, b]) => i64::from(i16::from_le_bytes([a, b])) as u64,
            (Words::Signed32, &[a, b, c, d]) => i64::from(i32::from_le_bytes([a, b, c, d])) as u64,
            _ => unreachable!("as many bytes as a word has"),
        }
    }

    /// A row times a vector, modulo 2^`bits`.
    fn sum(&self, row: usize, vector: &[u64], bits: u32) -> u64 {
        let terms = vector.iter().enumerate();
        let sum = terms.fold(0u64, |sum, (c, x)| {
            sum.wrapping_add(self.word(row, c).wrapping_mul(*x))
        });
        sum & ((1 << bits) - 1)
    }
}

impl HeldMatrix for PlainMatrix {
    fn products(&self, vectors: &[&[u64]], bits: u32) -> Result<Vec<Vec<u64>>> {
        if self.device.0.failing.load(Ordering::Relaxed) {
            return Err(failure("lost"));
        }
        self.device.0.products.fetch_add(1, Ordering::Relaxed);

        let rows = 0..self.shape.rows;
        Ok(vectors
            .iter()
            .map(|vector| {
                let rows = rows.clone();
                rows.map(|row| self.sum(row, vector, bits)).collect()
            })
            .collect())
    }
}

fn failure(reason: &str) -> Error {
    Error::Device {
        device: NAME.to_owned(),
        reason: reason.to_owned(),
    }
}
