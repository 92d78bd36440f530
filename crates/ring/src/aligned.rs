//! Words that start on a cache line.
//!
//! Vector registers are as long as a line. Loads from other places touch two lines each, which
//! makes products of rows about twice as slow. (`papir_core::AlignedBytes` holds databases; this
//! crate does not depend on `papir-core`.)

use std::fmt::Debug;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};

use bytemuck::{Pod, Zeroable};
use zeroize::Zeroize;

/// A word that holds a residue.
pub trait Word: Copy + Debug + Default + Eq + Send + Sync + Zeroize + bytemuck::Pod {}

impl Word for u32 {}
impl Word for u64 {}

/// One cache line; used only for its alignment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[repr(C, align(64))]
struct AlignedLine([u64; 8]);

/// A list of words of fixed length that starts on a cache line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Aligned<W: Word> {
    lines: Vec<AlignedLine>,
    length: usize,
    word: PhantomData<W>,
}

impl<W: Word> Aligned<W> {
    /// `length` zeros.
    pub fn zeroed(length: usize) -> Self {
        let lines = (length * size_of::<W>()).div_ceil(size_of::<AlignedLine>());
        Self {
            lines: vec![AlignedLine([0; 8]); lines],
            length,
            word: PhantomData,
        }
    }

    /// A copy of `words`.
    pub fn copy_of(words: &[W]) -> Self {
        let mut copy = Self::zeroed(words.len());
        copy.copy_from_slice(words);
        copy
    }
}

impl<W: Word> Default for Aligned<W> {
    fn default() -> Self {
        Self::zeroed(0)
    }
}

impl<W: Word> Deref for Aligned<W> {
    type Target = [W];

    fn deref(&self) -> &[W] {
        &bytemuck::cast_slice(&self.lines)[..self.length]
    }
}

impl<W: Word> DerefMut for Aligned<W> {
    fn deref_mut(&mut self) -> &mut [W] {
        &mut bytemuck::cast_slice_mut(&mut self.lines)[..self.length]
    }
}

impl<W: Word> Zeroize for Aligned<W> {
    /// Erases the words and empties the list.
    fn zeroize(&mut self) {
        // The rest of the last line was never written, so it holds nothing to erase.
        self.deref_mut().iter_mut().for_each(Zeroize::zeroize);
        self.lines = Vec::new();
        self.length = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_start_on_a_line_and_are_erased() {
        for length in [0, 1, 15, 16, 17, 100] {
            let mut words = Aligned::<u32>::zeroed(length);
            let on_a_line = |words: &[u32]| (words.as_ptr() as usize).is_multiple_of(64);
            assert!(words.len() == length && on_a_line(&words));
            words.fill(7);
            let copy = words.clone();
            assert!(copy == words && Aligned::copy_of(&copy) == words && on_a_line(&copy));
            words.zeroize();
            assert!(words.is_empty());
        }
    }
}
