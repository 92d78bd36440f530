//! Private set intersection: which of my few elements are among your many, and what you say of them.
//!
//! Both sides' elements are replaced by values of an oblivious pseudorandom function whose key is the
//! sender's ([`papir_oprf`]); the receiver gets the values of its own elements and learns nothing of others.
//! Then it looks for them
//!
//! - in a [`Filter`] of the sender's values, which it downloads once and keeps (small senders), or
//! - in a keyword table of them, by private lookups (large senders, and labels).
//!
//! | step | who | function |
//! |---|---|---|
//! | elements → masked entries | sender, once | [`mask`] |
//! | entries → filter or table, whichever costs a receiver less | sender, once | [`Filter::new`], [`crate::build`], [`Kind::cheaper`] |
//! | elements → blinded elements | receiver | [`Receiver::new`] |
//! | blinded → evaluated elements | sender | [`papir_oprf::Key::evaluate`] |
//! | evaluated elements → masked ones | receiver | [`Receiver::unmask`] |
//! | masked elements → intersection | receiver | [`Wanted::in_filter`], [`Wanted::names`] and [`Wanted::opened`] |
//!
//! The sender learns how many elements the receiver has, rounded up ([`padded`]), and how often it asks. The
//! receiver learns the intersection, its labels, and about how many elements the sender has. Both are held to
//! follow the protocol: a sender may evaluate under another key and so hide elements, and a receiver may
//! ask for elements that it does not have, as many as the sender answers.

mod filter;
mod kind;
mod label;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use filter::Filter;
pub use kind::Kind;
pub use label::sealed_bytes;
pub use receiver::{Match, Receiver, Wanted, padded};
pub use sender::{Masked, Row, mask};

use papir_oprf::{VALUE_BYTES, Value};
use zeroize::Zeroizing;

/// Bytes of a masked element's name.
pub const NAME_BYTES: usize = VALUE_BYTES / 2;

/// A masked element: the function's value in two halves.
struct Mask {
    /// What it is found by.
    name: Zeroizing<[u8; NAME_BYTES]>,
    /// What its label is sealed under.
    seal: Zeroizing<[u8; NAME_BYTES]>,
}

impl From<&Value> for Mask {
    fn from(value: &Value) -> Self {
        let (mut name, mut seal) = (Zeroizing::new([0; NAME_BYTES]), Zeroizing::new([0; NAME_BYTES]));
        name.copy_from_slice(&value[..NAME_BYTES]);
        seal.copy_from_slice(&value[NAME_BYTES..]);
        Self { name, seal }
    }
}
