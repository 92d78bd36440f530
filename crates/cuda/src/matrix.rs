//! A matrix in the memory of a GPU, in the order of tensor cores.

use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, DriverError, LaunchConfig, PushKernelArg};
use papir_core::Result;
use papir_core::device::{HeldMatrix, TileShape, Tiles, Words};

use crate::gpu::Gpu;
use crate::program::ProductKernel;
use crate::spread::spread;
use crate::workspace::Workspace;

/// Rows of a block of the product.
pub(crate) const BLOCK_ROWS: usize = 128;
/// Rows of a fragment.
const FRAGMENT_ROWS: usize = 16;
/// Columns of a fragment.
const FRAGMENT_COLUMNS: usize = 32;
/// Bytes of a fragment.
const FRAGMENT_BYTES: usize = FRAGMENT_ROWS * FRAGMENT_COLUMNS;
/// Columns of digits in a fragment of the right side.
const DIGIT_COLUMNS: usize = 8;
/// Words of 64 bits in a fragment of the right side.
const DIGIT_WORDS: usize = FRAGMENT_COLUMNS * DIGIT_COLUMNS / size_of::<u64>();
/// Most tiles of 32 products whose 32-bit sum is exact: 4095·32·2¹⁴ is below 2³¹.
const MOST_K_TILES: usize = 4095;
/// Fewest such tiles for one block, so that its last additions take little time.
const FEWEST_K_TILES: usize = 64;
/// Blocks for each multiprocessor, so that none waits long for the last.
const BLOCKS_EACH: usize = 32;
/// Threads of a block.
const THREADS: usize = 256;
/// Bytes of tiles that are copied at a time.
const COPIED_BYTES: usize = 64 << 20;

/// A matrix in the memory of a GPU.
pub(crate) struct Matrix {
    gpu: Arc<Gpu>,
    shape: TileShape,
    fragments: CudaSlice<u32>,
}

impl Matrix {
    /// Bytes of the memory that a matrix takes.
    pub(crate) fn bytes(shape: TileShape) -> u64 {
        (padded_rows(shape) * k_tiles(shape) * FRAGMENT_COLUMNS) as u64
    }

    /// Copies a matrix.
    ///
    /// # Errors
    /// [`papir_core::Error::Device`], also if one product does not fit the workspace.
    pub(crate) fn copy(gpu: &Arc<Gpu>, tiles: Tiles<'_>) -> Result<Self> {
        let shape = tiles.shape();
        // A matrix whose products would never fit is refused before it takes memory.
        gpu.run(|_, workspace| {
            workspace.fitting(1, |count| Digits::LONGEST.words(shape, count).iter().sum())
        })?;

        // Whole row groups: the fragments of a part are then contiguous.
        let copied = (COPIED_BYTES / shape.group_bytes()).max(1) * shape.group_bytes();

        let (mut fragments, mut raw) = gpu.run(|gpu, _| {
            // The rows that pad the last block are never written and stay zero.
            let fragments = gpu
                .stream
                .alloc_zeros::<u32>(Self::bytes(shape) as usize / size_of::<u32>())?;
            Ok((
                fragments,
                gpu.stream
                    .alloc_zeros::<u8>(copied.min(tiles.bytes().len()))?,
            ))
        })?;

        let group_registers = group_fragments(shape) * FRAGMENT_BYTES / size_of::<u32>();
        let mut next = 0;
        // Locked for one part at a time, so that answers of other databases take turns.
        for bytes in tiles.bytes().chunks(copied) {
            let registers = bytes.len() / shape.group_bytes() * group_registers;
            gpu.run(|gpu, _| {
                gpu.stream.memcpy_htod(bytes, &mut raw)?;
                gpu.fragment(
                    shape,
                    &raw,
                    &mut fragments.slice_mut(next..next + registers),
                )?;
                gpu.stream.synchronize()
            })?;
            next += registers;
        }

        Ok(Self {
            gpu: gpu.clone(),
            shape,
            fragments,
        })
    }

    /// Its shape.
    pub(crate) fn shape(&self) -> TileShape {
        self.shape
    }

    /// Rows of the sums of a vector.
    pub(crate) fn sum_rows(&self) -> usize {
        padded_rows(self.shape)
    }

    /// Writes the products with `vectors` vectors, whose values are on the GPU, to the sums:
    /// without [`Self::added`], and modulo 2^64. `right` is memory for their digits. All have the
    /// lengths of [`Digits::words`].
    ///
    /// # Errors
    /// The driver's.
    pub(crate) fn multiply(
        &self,
        vectors: usize,
        digits: Digits,
        values: &CudaView<'_, u64>,
        right: &mut CudaViewMut<'_, u64>,
        sums: &mut CudaViewMut<'_, u64>,
    ) -> Result<(), DriverError> {
        self.gpu.digits(self, values, right, vectors, digits)?;
        // The blocks of a product add to the sums, which still hold those of the group before.
        self.gpu.stream.memset_zeros(sums)?;
        self.gpu.product(self, right, sums, vectors, digits)
    }

    /// The product of a vector and the constant that bytes are stored without.
    pub(crate) fn added(&self, vector: &[u64]) -> u64 {
        let total = vector.iter().fold(0u64, |total, &x| total.wrapping_add(x));
        let constant =
            (0..biased_bytes(self.shape.words)).fold(0, |all, byte| all + (128u64 << (8 * byte)));
        constant.wrapping_mul(total)
    }

    /// The products with one group of vectors modulo 2^bits.
    fn pass(
        &self,
        workspace: &mut Workspace,
        vectors: &[&[u64]],
        bits: u32,
    ) -> Result<Vec<Vec<u64>>, DriverError> {
        let digits = Digits::of(bits);
        let stream = &self.gpu.stream;
        let [values, right, sums] = digits.words(self.shape, vectors.len());
        workspace.lock(stream, values.max(sums))?;
        let (host, device) = workspace.parts()?;
        let (mut value_part, mut rest) = device.split_at_mut(values);
        let (mut right_part, mut rest) = rest.split_at_mut(right);
        let mut sum_part = rest.slice_mut(..sums);

        let parts = host[..values].chunks_exact_mut(self.shape.columns);
        spread(parts.zip(vectors).collect(), |(part, vector)| {
            part.copy_from_slice(vector)
        });
        stream.memcpy_htod(&host[..values], &mut value_part)?;
        self.multiply(
            vectors.len(),
            digits,
            &value_part.as_view(),
            &mut right_part,
            &mut sum_part,
        )?;
        // The stream runs in order: the values have left this memory when the sums arrive.
        stream.memcpy_dtoh(&sum_part, &mut host[..sums])?;
        stream.synchronize()?;

        let kept = host[..sums].chunks_exact(self.sum_rows()).zip(vectors);
        Ok(spread(kept.collect(), |(sums, vector)| {
            let added = self.added(vector);
            // Sums wrap modulo 2⁶⁴, which 2^bits divides: their low bits are right.
            let mask = (1u64 << bits) - 1;
            sums[..self.shape.rows]
                .iter()
                .map(|sum| sum.wrapping_add(added) & mask)
                .collect()
        }))
    }
}

impl HeldMatrix for Matrix {
    fn products(&self, vectors: &[&[u64]], bits: u32) -> Result<Vec<Vec<u64>>> {
        assert!((1..=63).contains(&bits), "{bits} bits: expected 1 to 63");
        for vector in vectors {
            assert_eq!(vector.len(), self.shape.columns, "values of the vector");
        }
        let digits = Digits::of(bits);

        let mut all = Vec::with_capacity(vectors.len());
        while all.len() < vectors.len() {
            let rest = &vectors[all.len()..];
            all.extend(self.gpu.run(|_, workspace| {
                let count = workspace.fitting(rest.len(), |count| {
                    digits.words(self.shape, count).iter().sum()
                })?;
                self.pass(workspace, &rest[..count], bits)
            })?);
        }
        Ok(all)
    }
}

/// Digits of the values of a vector.
#[derive(Clone, Copy)]
pub(crate) struct Digits {
    /// Bytes of a value.
    count: usize,
    /// Columns for each vector: an even number, so that a thread has two columns of one vector.
    columns: usize,
}

impl Digits {
    /// Digits of the longest values.
    const LONGEST: Self = Self {
        count: 8,
        columns: 8,
    };

    /// The digits of values modulo 2^bits.
    pub(crate) fn of(bits: u32) -> Self {
        let count = bits.div_ceil(8) as usize;
        Self {
            count,
            columns: count.next_multiple_of(2),
        }
    }

    /// Words of 64 bits for values, digits and sums of a group of vectors.
    pub(crate) fn words(self, shape: TileShape, vectors: usize) -> [usize; 3] {
        // Whole blocks of the widest kernel.
        let columns = (vectors * self.columns).next_multiple_of(if vectors > 1 {
            128
        } else {
            DIGIT_COLUMNS
        });
        let digits = k_tiles(shape) * columns / DIGIT_COLUMNS * DIGIT_WORDS;

        [
            vectors * shape.columns,
            digits,
            vectors * padded_rows(shape),
        ]
    }
}

impl Gpu {
    /// Rewrites whole row groups as fragments.
    fn fragment(
        &self,
        shape: TileShape,
        tiles: &CudaSlice<u8>,
        fragments: &mut CudaViewMut<'_, u32>,
    ) -> Result<(), DriverError> {
        let count = fragments.len() as u64;
        let steps = shape.steps() as u32;
        let bytes = shape.words.bytes() as u32;
        let k_tiles = k_tiles(shape) as u32;
        let biased = biased_bytes(shape.words) as u32;

        let mut launch = self.stream.launch_builder(&self.program.fragment);
        launch
            .arg(tiles)
            .arg(fragments)
            .arg(&count)
            .arg(&steps)
            .arg(&bytes)
            .arg(&k_tiles)
            .arg(&biased);
        // SAFETY: the arguments are those of `fragment` in product.cu; tiles and fragments hold the
        // same whole row groups.
        unsafe { launch.launch(one_thread_each(count as usize)) }.map(drop)
    }

    /// Splits the values of vectors into digits.
    fn digits(
        &self,
        matrix: &Matrix,
        values: &CudaView<'_, u64>,
        right: &mut CudaViewMut<'_, u64>,
        vectors: usize,
        digits: Digits,
    ) -> Result<(), DriverError> {
        let shape = matrix.shape;

        // A register has 32 bits, half of a word of `right`.
        let registers = 2 * right.len() as u64;
        let n_tiles = (right.len() / DIGIT_WORDS / k_tiles(shape)) as u32;
        let [columns, vectors, bytes] =
            [shape.columns, vectors, shape.words.bytes()].map(|n| n as u32);
        let planes = digits.count as u32;
        let each = digits.columns as u32;

        let mut launch = self.stream.launch_builder(&self.program.digits);
        launch
            .arg(values)
            .arg(right)
            .arg(&registers)
            .arg(&columns)
            .arg(&vectors)
            .arg(&bytes);
        launch.arg(&planes).arg(&each).arg(&n_tiles);
        // SAFETY: the arguments are those of `digits` in product.cu, of the lengths of
        // `Digits::words`.
        unsafe { launch.launch(one_thread_each(registers as usize)) }.map(drop)
    }

    /// Adds the products of a matrix and the digits of vectors to the sums.
    fn product(
        &self,
        matrix: &Matrix,
        right: &CudaViewMut<'_, u64>,
        sums: &mut CudaViewMut<'_, u64>,
        vectors: usize,
        digits: Digits,
    ) -> Result<(), DriverError> {
        let k_tiles = k_tiles(matrix.shape);
        let all_rows = padded_rows(matrix.shape);
        let columns = vectors * digits.columns;

        let ProductKernel {
            columns: width,
            function,
        } = self.program.product(columns);

        let n_blocks = columns.div_ceil(*width);
        let blocks = all_rows / BLOCK_ROWS * n_blocks;
        let chunk = self.chunk(k_tiles, blocks);

        let config = LaunchConfig {
            grid_dim: (blocks as u32, k_tiles.div_ceil(chunk) as u32, 1),
            block_dim: (THREADS as u32, 1, 1),
            shared_mem_bytes: 0,
        };

        let n_tiles = (right.len() / DIGIT_WORDS / k_tiles) as u32;
        let [k_tiles, chunk, n_blocks] = [k_tiles, chunk, n_blocks].map(|n| n as u32);
        let each = digits.columns as u32;
        let vectors = vectors as u32;
        let rows = all_rows as u64;
        let right = right.as_view();

        let mut launch = self.stream.launch_builder(function);
        launch
            .arg(&matrix.fragments)
            .arg(&right)
            .arg(sums)
            .arg(&k_tiles)
            .arg(&chunk);
        launch
            .arg(&n_tiles)
            .arg(&n_blocks)
            .arg(&each)
            .arg(&vectors)
            .arg(&rows);
        // SAFETY: the arguments are those of `product` in product.cu, of the lengths of
        // `Digits::words`, which has whole blocks of columns.
        unsafe { launch.launch(config) }.map(drop)
    }

    /// Tiles of columns for each block: few enough for exact sums, and for blocks on all
    /// multiprocessors.
    fn chunk(&self, k_tiles: usize, blocks: usize) -> usize {
        let wanted = (BLOCKS_EACH * self.multiprocessors).div_ceil(blocks);
        // Exact sums outrank the wish for few parts: their bound may raise the number.
        let parts = wanted
            .min(k_tiles / FEWEST_K_TILES)
            .max(k_tiles.div_ceil(MOST_K_TILES))
            .max(1);
        k_tiles.div_ceil(parts)
    }
}

/// Rows in whole blocks.
fn padded_rows(shape: TileShape) -> usize {
    shape.rows.next_multiple_of(BLOCK_ROWS)
}

/// Tiles of 32 columns of one byte of the words.
fn k_tiles(shape: TileShape) -> usize {
    shape.columns.div_ceil(FRAGMENT_COLUMNS) * shape.words.bytes()
}

/// Fragments of a row group.
fn group_fragments(shape: TileShape) -> usize {
    64 / FRAGMENT_ROWS * k_tiles(shape)
}

/// Low bytes of a word that are stored minus 128.
fn biased_bytes(words: Words) -> usize {
    match words {
        Words::Unsigned8 => 1,
        Words::Signed16 => 1,
        Words::Signed32 => 3,
    }
}

/// The launch of a thread for each of `count` items.
pub(crate) fn one_thread_each(count: usize) -> LaunchConfig {
    let blocks = count.div_ceil(THREADS) as u32;
    LaunchConfig {
        grid_dim: (blocks, 1, 1),
        block_dim: (THREADS as u32, 1, 1),
        shared_mem_bytes: 0,
    }
}
