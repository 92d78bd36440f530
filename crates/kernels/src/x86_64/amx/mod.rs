//! Products of bytes in tiles (AMX), for several queries that share one pass over a matrix.
//!
//! A tile is a register of 16 rows of 64 bytes. One instruction multiplies 16 rows of digits by 16
//! rows of a matrix, over 64 columns: a quad of columns of 16 rows of [`crate::matvec_u8`] is one
//! row of a tile. A single query has too few rows to pay; it keeps the code of AVX-512.
//!
//! | module | contents |
//! |---|---|
//! | [`unit`] | the instructions, their detection, and a unit in software for the tests |
//! | [`product`] | digits times the bytes of a row group |
//! | [`passes`] | matrices of bytes, of 4-bit words and of 16-bit words |

pub(crate) mod passes;
mod product;
pub(crate) mod unit;
