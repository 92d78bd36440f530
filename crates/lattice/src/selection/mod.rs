//! Selection of a matrix column under LWE, ready for packing.
//!
//! This is the first step of every scheme with ring packing. The client encrypts the unit vector of
//! a column under LWE ([`crate::lwe`]), and the server multiplies its matrix D by it. The product
//! holds the body of an LWE encryption of each word of the column. The masks H = D·A are public and
//! computed offline.
//!
//! | contents | module |
//! |---|---|
//! | D, online products D·b | [`matrix`]; with 4-bit words [`nibbles`] |
//! | D in either storage | [`storage`]; with several words in an entry [`stacked`] |
//! | H = D·A in the form that packing expects | [`masks`] |
//!
//! A [`crate::packing::RingPacking`] packs the result: offline from [`SelectorMasks::of_rows`],
//! online from [`WordMatrix::select`] by [`crate::packing::Bodies::from_sums`].

pub mod masks;
pub mod matrix;
pub mod nibbles;
pub mod stacked;
pub mod storage;

pub use masks::SelectorMasks;
pub use matrix::{
    WordMatrix, group_rows, matrix_bytes, matrix_words, place, read_column, write_columns,
};
pub use nibbles::NibbleMatrix;
pub use stacked::{StackedMatrix, Stacking};
pub use storage::{Matrix, Storage, words_of};
