//! Random generator of clients.

pub use papir_core::hedge::system_rng;
