//! Ring packing: many LWE encryptions into one RLWE encryption.
//!
//! All masks, of the LWE encryptions and of the keys, are public and fixed before any
//! query. A packing therefore has an offline part on masks and an online part on the bodies that a
//! client sends. Each algorithm implements [`RingPacking`]; [`Packing`] adds the rest:
//!
//! | algorithm | source | packs | matrices of the key | noise in switches |
//! |---|---|---|---|---|
//! | [`Inspiring`] | InsPIRe, Algorithm 1 | d | τ₅(s), τ₋₁(s) | d − 1 (Theorem 2) |
//! | [`PartialInspiring`] | InsPIRe, Algorithm 2 | γ ≤ d/2 | τ_{2d/γ+1}(s) | γ − 1 (Theorem 4) |
//! | [`Cdks`] | Chen, Dai, Kim, Song 2021 | d | τ₃(s), τ₅(s), τ₉(s), … (log₂ d) | (d² − 1)/3 |
//!
//! [`Inspiring`]: inspiring::Inspiring
//! [`PartialInspiring`]: inspiring::PartialInspiring
//! [`Cdks`]: cdks::Cdks
//!
//! LWE encryption k becomes coefficient k. The packed body is the polynomial of the LWE bodies plus
//! a term linear in the client's key, which [`Packing::pack`] returns.

pub mod bodies;
pub mod cdks;
pub mod checked;
pub mod error;
pub mod inspiring;
pub mod key;
pub mod key_shape;
pub mod lwe_masks;
pub mod ring_packing;

pub use bodies::Bodies;
pub use checked::Packing;
pub use error::{MAX_ENTRY, PackingError};
pub use key::{KeyBodies, OnlineKey, RoundedKey, RoundedMatrix, Setup, SwitchMasks};
pub use key_shape::KeyShape;
pub use lwe_masks::LweMasks;
pub use ring_packing::{Preprocessed, RingPacking, Scratch};
