//! The paper's private set intersection (section 5). **It hides neither set.** [`Receiver`] and
//! [`Sender`] require [`papir_core::NotPrivate`].
//!
//! The receiver's set Y is hashed into bins, one element in each; each element of the sender's set X is
//! in three of the same bins. For each bin the receiver sends its element y encrypted, and the sender
//! answers with r·Π (y − x) over its elements x of that bin, encrypted: zero if y is one of them,
//! otherwise as random as r.
//!
//! | section 5 | function |
//! |---|---|
//! | perform hashing, the receiver's | [`cuckoo::fill`] |
//! | perform hashing, the sender's | [`hashing::Hashes::bins_of`] |
//! | encrypt Y | [`receiver::Receiver::request`] |
//! | intersect | [`sender::Sender::respond`], [`intersect`] |
//! | decrypt and get the result | [`receiver::Receiver::intersection`] |
//! | windowing | [`windowing`] |
//! | partitioning | [`params::PsiParams::partitioned`], [`partition`] |
//! | OPRF masking | [`masking`] |
//!
//! What is lost: an element is a root of a public polynomial, as an index is ([`super::attack`]), so
//! [`observer`] finds Y in the receiver's request. And an answer is r·g(c) in a ring of rank 9, where
//! the receiver knows c: for a g of degree up to 8 it solves for g, whose roots are the bin's elements.
//! With masking these are values of a pseudorandom function, but its owner, the sender, still finds Y.
//! See `docs/notes/newtonpir.md`, which also lists what differs from the paper's text.

pub mod cuckoo;
pub mod hashing;
pub mod intersect;
pub mod masking;
pub mod observer;
pub mod params;
pub mod partition;
pub mod receiver;
pub mod sender;
#[cfg(test)]
mod tests;
pub mod windowing;
pub mod wire;

pub use params::PsiParams;
pub use receiver::Receiver;
pub use sender::Sender;
use zeroize::Zeroizing;

/// An element of a set, or its masked value.
pub type Item = u128;

/// Words of an item.
const ITEM_WORDS: usize = 2;

/// Items as integers of [`ITEM_WORDS`] words.
fn integers(items: &[Item]) -> Zeroizing<Vec<u64>> {
    Zeroizing::new(items.iter().flat_map(|item| [*item as u64, (item >> 64) as u64]).collect())
}

/// Items in ascending order, each once.
fn distinct(items: &[Item]) -> Zeroizing<Vec<Item>> {
    let mut items = Zeroizing::new(items.to_vec());
    items.sort_unstable();
    items.dedup();
    items
}
