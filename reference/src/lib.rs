//! Naive oracles: one page a subject, slow and plain, for tests only.

pub mod cdks;
pub mod gadget;
pub mod inspiring;
pub mod interpolation;
pub mod matrix;
pub mod poly;
pub mod simplex;
