//! Selecting a column of a matrix of words under LWE, ready for packing.
//!
//! The first step of every scheme that packs: the client encrypts the unit vector of a column under
//! LWE ([`crate::lwe`]), the server multiplies its matrix D with it. That gives an LWE encryption of
//! each word of the column, body by body; their masks H = D·A are public and made ahead.
//!
//! | what | here |
//! |---|---|
//! | D, and D·b online | [`matrix`] |
//! | H = D·A in the form that packing takes | [`masks`] |
//!
//! What is selected is packed by a [`crate::packing::RingPacking`]: offline from
//! [`SelectorMasks::of_rows`], online from [`WordMatrix::select`] by
//! [`crate::packing::Bodies::from_sums`].

pub mod masks;
pub mod matrix;

pub use masks::SelectorMasks;
pub use matrix::{WordMatrix, group_rows, matrix_words, place, read_column, write_columns};
