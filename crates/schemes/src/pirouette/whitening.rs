//! Whitening of items by a public stream.
//!
//! A stored byte is the exclusive or of a record's byte and a byte of the stream. Setup draws the
//! seed of the stream after the records were chosen. So stored bytes are uniform for all records,
//! and the errors that they multiply cannot add up in a coefficient that somebody chose
//! ([`super::noise`]). The client removes the stream from an item after decryption.
//!
//! An update keeps the stream. The noise computation assumes that changed records do not depend on
//! it.

use papir_ring::prg::Seed;

use crate::shared::matrices;
use crate::shared::messages::{EmptyPublic, PublicSeed};

/// Label of the stream.
const LABEL: &str = "pirouette/whitening";

/// A public part that lets a client remove the whitening stream.
pub trait Whitening {
    /// Removes the stream from the bytes of an item, in all planes. No branch depends on the item.
    fn remove(&self, item: u64, bytes: &mut [u8]);
}

impl Whitening for PublicSeed {
    fn remove(&self, item: u64, bytes: &mut [u8]) {
        matrices::unwhiten(&self.seed, LABEL, item, bytes);
    }
}

/// Removes nothing: encrypted records are uniform without a stream.
impl Whitening for EmptyPublic {
    fn remove(&self, _item: u64, _bytes: &mut [u8]) {}
}

/// Adds the stream to item `number`, or removes it, on a server. Adjacent items of one polynomial
/// can be whitened together; `number` counts these runs of items then.
pub(super) fn whiten(seed: &Seed, number: u64, bytes: &mut [u8]) {
    let length = bytes.len();
    matrices::whiten(seed, LABEL, number, length, bytes);
}
