//! A column of a matrix of words, selected under LWE and packed into ring encryptions: what YPIR,
//! InsPIRe₀ and SimpleYPIR share.
//!
//! The client sends the encrypted unit vector of a column and a packing key; the server multiplies its
//! matrix with the one and packs the result with the other. Words that are made online, from the same
//! selector, are not packed: each is coefficient 0 of a ring encryption of its own.
//!
//! | what | here |
//! |---|---|
//! | which packing, with which gadgets | [`family`], [`inspiring`] |
//! | counts, noise, and the bits of all messages | [`bits`] |
//! | checked parameters, exact sizes | [`params`] |
//! | H = D·A and its packs; selection, packing, rounding | [`server`] |
//! | the query, and what an answer decrypts to | [`client`] |
//! | both messages as bytes | [`wire`] |
//!
//! The masks of the packed answer follow from the snapshot alone. They could be published once, as a
//! hint; here they travel with every answer, so that a client starts from a seed.

pub mod bits;
pub mod client;
pub mod family;
pub mod inspiring;
pub mod params;
pub mod server;
pub mod wire;

pub use bits::{Selection, SelectionBits};
pub use client::SelectionClient;
pub use family::{CdksFamily, Family};
pub use inspiring::{AnyInspiring, InspiringFamily};
pub use params::SelectionParams;
pub use server::{PackedMatrix, Selected};
pub use wire::{SelectionAnswer, SelectionQuery};
