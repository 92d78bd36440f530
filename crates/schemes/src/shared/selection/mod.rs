//! Packed selection of a matrix column.
//!
//! YPIR, InsPIRe₀ and SimpleYPIR share this module. The client sends the encrypted unit vector of a
//! column and a packing key. The server multiplies its matrix with the vector and packs the result
//! with the key.
//!
//! A word that is made online from the same selector is coefficient 0 of a ring encryption, as its
//! mask depends on the query. With CDKS a few of these encryptions are packed while the query
//! waits. With InspiRING this would take as long as preparing a whole pack, so they are sent
//! unpacked.
//!
//! | part | here |
//! |---|---|
//! | packings, and the schemes that use them | [`variant`] |
//! | rings | [`ring`] |
//! | counts, noise, bits of all messages | [`bits`], chosen in `choice` |
//! | checked parameters, exact sizes | [`params`] |
//! | H = D·A and its packs; selection, packing, rounding | [`server`] |
//! | query and decryption; messages as bytes | [`client`] |
//! | the public part | [`public`] |
//!
//! The masks of the packed answer depend on the snapshot alone. Either every answer carries them,
//! so that a client starts from a seed, or the public part has them as a hint ([`Masks`]).

pub mod bits;
mod certificate;
mod choice;
pub mod client;
pub mod params;
pub mod public;
pub mod ring;
pub mod server;
pub mod variant;

pub use bits::{Selection, SelectionBits};
pub use client::{SelectionAnswer, SelectionClient, SelectionQuery, Selects};
pub use params::SelectionParams;
pub use public::SelectionPublic;
pub use ring::SelectionRing;
pub use server::{PackedMatrix, Selected};
pub use variant::{ByCdks, ByInspiring, DoubleVariant, Key, Masks, PackedVariant, SimpleVariant};
