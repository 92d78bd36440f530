//! Whitening of items by a public stream.
//!
//! A stored byte is the exclusive or of a record's byte and a byte of the stream, whose seed setup
//! draws after the records were chosen. Stored bytes are then uniform whatever the records are, and
//! the errors that they multiply cannot add up in a coefficient that somebody chose
//! ([`super::noise`]). The client removes the stream from an item after decryption.
//!
//! An update keeps the stream. The noise computation then assumes that changed records do not
//! depend on it.

use papir_ring::prg::Seed;

use crate::shared::matrices;
use crate::shared::messages::{EmptyPublic, PublicSeed};

/// Removal of the stream by a client.
pub trait Whitening {
    /// Removes the stream from the bytes of an item, in all planes. No branch depends on the item.
    fn remove(&self, item: u64, bytes: &mut [u8]);
}

impl Whitening for PublicSeed {
    fn remove(&self, item: u64, bytes: &mut [u8]) {
        whiten(&self.seed, item, bytes);
    }
}

/// Encrypted records are uniform without a stream.
impl Whitening for EmptyPublic {
    fn remove(&self, _item: u64, _bytes: &mut [u8]) {}
}

/// Adds the stream to item `number`, or removes it. Adjacent items of one polynomial are whitened
/// together, with `number` counting such runs.
pub(super) fn whiten(seed: &Seed, number: u64, bytes: &mut [u8]) {
    matrices::whiten(
        seed,
        "pirouette/whitening",
        number * bytes.len() as u64,
        bytes,
    );
}
