//! Ring packing: many LWE encryptions become coefficients of one RLWE encryption.

pub mod inspiring;
