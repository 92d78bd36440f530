//! The paper's private set intersection (section 5). **It hides neither set.**
//!
//! [`Receiver`] and [`Sender`] require [`papir_core::NotPrivate`].
//!
//! The receiver's set Y is hashed into bins, one element per bin. The sender's set X is hashed into
//! the same bins, each element into three of them. For each bin, the receiver sends its element y
//! encrypted. The sender answers with an encryption of r·Π (y − x) over its elements x of that bin:
//! zero if y is one of them, and otherwise as random as r.
//!
//! | section 5 | function |
//! |---|---|
//! | perform hashing, the receiver's | [`hashing::cuckoo`] |
//! | perform hashing, the sender's | [`hashing::Hashes::simple`] |
//! | encrypt Y | [`receiver::Receiver::request`] |
//! | intersect | [`sender::Sender::respond`] |
//! | decrypt and get the result | [`receiver::Receiver::intersection`] |
//! | windowing | [`windowing`] |
//! | partitioning | [`params::PsiParams::partitioned`] |
//! | OPRF masking | [`masking`] |
//!
//! # Attacks
//!
//! - **On Y.** An element is a root of a public polynomial, as an index is ([`super::attack`]), so
//!   [`observer`] recovers Y from the receiver's request.
//! - **On X.** An answer is r·g(c) in a ring of rank 9, and the receiver knows c. If g has degree 8
//!   or less, the receiver solves for g, whose roots are the bin's elements.
//!
//! Masking replaces elements by values of a pseudorandom function. The sender has the function's
//! key, so it still recovers Y. `docs/notes/newtonpir.md` also lists the differences from the
//! paper's text.

pub mod hashing;
pub mod masking;
pub mod observer;
pub mod params;
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
    Zeroizing::new(
        items
            .iter()
            .flat_map(|item| [*item as u64, (item >> 64) as u64])
            .collect(),
    )
}

/// Items in ascending order, each once.
fn distinct(items: &[Item]) -> Zeroizing<Vec<Item>> {
    let mut items = Zeroizing::new(items.to_vec());
    items.sort_unstable();
    items.dedup();
    items
}
