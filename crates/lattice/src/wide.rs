//! Encryption over a ring modulo one prime below 2⁵⁰.

use papir_ring::wide::Ring;

use crate::{gadget, params, rlwe, rows, secret};

/// Parameters.
pub type RlweParams = params::RlweParams<Ring>;
/// A ring secret.
pub type SecretKey = secret::SecretKey<u64>;
/// An encryption in coefficient form.
pub type Rlwe = rlwe::Rlwe<u64>;
/// Encryptions in values.
pub type Rows = rows::Rows<u64>;
/// Buffers of products.
pub type Workspace = rows::Workspace<u64>;
/// A gadget decomposition.
pub type Gadget = gadget::Gadget<Ring>;
