//! Ring packing: many LWE encryptions become coefficients of one RLWE encryption.
//!
//! All masks (of the LWE encryptions and of the keys) are public and fixed before any query, so a
//! packing has an offline part on masks and an online part on what a client sends. Both parts of
//! all three packings are behind [`RingPacking`]:
//!
//! | packing | source | packs | keys | noise |
//! |---|---|---|---|---|
//! | [`inspiring::Inspiring`] | InsPIRe, Algorithm 1 | d | 2 matrices: τ₅(s), τ₋₁(s) | d − 1 switches (Theorem 2) |
//! | [`inspiring::PartialInspiring`] | InsPIRe, Algorithm 2 | γ ≤ d/2 | 1 matrix: τ_{2d/γ+1}(s) | γ − 1 switches (Theorem 4) |
//! | [`cdks::Cdks`] | Chen, Dai, Kim, Song 2021 | d | log₂ d matrices: τ₃(s), τ₅(s), τ₉(s), … | (d² − 1)/3 switches |
//!
//! In all of them LWE encryption k becomes coefficient k, and the packed body is the polynomial of
//! the LWE bodies plus something linear in the client's key: [`RingPacking::pack`] gives the second.

pub mod bodies;
pub mod cdks;
pub mod error;
pub mod inspiring;
pub mod key;
pub mod key_shape;
pub mod lwe_masks;
pub mod ring_packing;

pub use bodies::Bodies;
pub use error::{MatrixError, PackingError};
pub use key::{KeyBodies, OnlineKey, Setup, SwitchMasks};
pub use key_shape::KeyShape;
pub use lwe_masks::LweMasks;
pub use ring_packing::{Preprocessed, RingPacking, Scratch};
