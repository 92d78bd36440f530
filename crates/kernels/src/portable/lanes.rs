//! Registers of 32-bit lanes for the database kernels.
//!
//! A kernel is written once over [`Lanes`]. `Plain` defines its results, and each instruction set
//! has lanes of its own with the same results. All code between the entry of a kernel and a method
//! of [`Lanes`] must be `#[inline(always)]` and must not call one in a closure: code that is not
//! inlined is not compiled for the instruction set.

use bytemuck::Pod;

/// Operations on a register of `N` lanes of 32 bits.
///
/// A value of the implementing type proves the CPU features that its methods use.
pub(crate) trait Lanes<const N: usize>: Copy {
    /// The register.
    type Vector: Copy;

    /// Loads `N` cells of four bytes.
    fn load<T: Pod>(self, cells: &[T; N]) -> Self::Vector;

    /// [`Lanes::load`] of several registers.
    #[inline(always)]
    fn load_all<T: Pod, const S: usize>(self, cells: &[[T; N]; S]) -> [Self::Vector; S] {
        // A loop instead of `map`, whose closure would not be compiled for the instruction set.
        let mut values = [self.splat(0); S];
        for (value, cells) in values.iter_mut().zip(cells) {
            *value = self.load(cells);
        }
        values
    }

    /// Stores the lanes as cells of four bytes.
    fn store<T: Pod>(self, cells: &mut [T; N], value: Self::Vector);

    /// [`Lanes::store`] of several registers.
    #[inline(always)]
    fn store_all<const S: usize, const P: usize>(
        self,
        values: &[[Self::Vector; S]; P],
    ) -> [[[u32; N]; S]; P] {
        let mut words = [[[0; N]; S]; P];
        for (words, &value) in words
            .as_flattened_mut()
            .iter_mut()
            .zip(values.as_flattened())
        {
            self.store(words, value);
        }
        words
    }

    /// Puts a cell of four bytes into every lane.
    fn splat<T: Pod>(self, cell: T) -> Self::Vector;

    /// Adds to each sum the products of a pair of signed 16-bit words, modulo 2^32:
    /// `sum + a[0]·b[0] + a[1]·b[1]`.
    fn add_products(self, sum: Self::Vector, a: Self::Vector, b: Self::Vector) -> Self::Vector;
}

/// Lanes that multiply bytes as words.
pub(crate) trait ByteLanes<const N: usize>: Lanes<N> {
    /// Splits cells of four bytes into bytes 0 and 2, and bytes 1 and 3, as pairs of 16-bit words.
    fn split_bytes(self, cells: Self::Vector) -> [Self::Vector; 2];
}

/// Four lanes, for transposing squares of cells.
pub(crate) trait FourLanes: Lanes<4> {
    /// Interleaves the lanes: `a[0] b[0] a[1] b[1]`, and `a[2] b[2] a[3] b[3]`.
    fn zip(self, a: Self::Vector, b: Self::Vector) -> [Self::Vector; 2];
}

/// Four lanes in plain Rust.
#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
#[derive(Clone, Copy)]
pub(crate) struct Plain;

#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl Lanes<4> for Plain {
    type Vector = [u32; 4];

    #[inline(always)]
    fn load<T: Pod>(self, cells: &[T; 4]) -> [u32; 4] {
        cells.map(bytemuck::cast)
    }

    #[inline(always)]
    fn store<T: Pod>(self, cells: &mut [T; 4], value: [u32; 4]) {
        *cells = value.map(bytemuck::cast);
    }

    #[inline(always)]
    fn splat<T: Pod>(self, cell: T) -> [u32; 4] {
        [bytemuck::cast(cell); 4]
    }

    #[inline(always)]
    fn add_products(self, mut sum: [u32; 4], a: [u32; 4], b: [u32; 4]) -> [u32; 4] {
        let a: [i16; 8] = bytemuck::cast(a);
        let b: [i16; 8] = bytemuck::cast(b);
        for (i, sum) in sum.iter_mut().enumerate() {
            for j in [2 * i, 2 * i + 1] {
                *sum = sum.wrapping_add((i32::from(a[j]) * i32::from(b[j])) as u32);
            }
        }
        sum
    }
}

#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl ByteLanes<4> for Plain {
    #[inline(always)]
    fn split_bytes(self, cells: [u32; 4]) -> [[u32; 4]; 2] {
        let bytes = cells.map(|cell| bytemuck::cast::<u32, [u8; 4]>(cell).map(u16::from));
        [0, 1].map(|h| bytes.map(|b| bytemuck::cast([b[h], b[h + 2]])))
    }
}

#[cfg(any(test, not(any(target_arch = "x86_64", target_arch = "aarch64"))))]
impl FourLanes for Plain {
    #[inline(always)]
    fn zip(self, a: [u32; 4], b: [u32; 4]) -> [[u32; 4]; 2] {
        [[a[0], b[0], a[1], b[1]], [a[2], b[2], a[3], b[3]]]
    }
}
