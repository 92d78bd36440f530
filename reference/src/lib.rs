//! Reference implementations for tests: naive, slow and short.

pub mod cdks;
pub mod gadget;
pub mod inspiring;
pub mod interpolation;
pub mod matrix;
pub mod poly;
pub mod simplex;
pub mod vectors;
pub mod wide;
