//! Private set intersection with labels.
//!
//! A receiver has few elements, a sender many. Both sides' elements are replaced by values of an
//! oblivious pseudorandom function under the sender's key ([`crate::oprf`]). The receiver learns
//! only the values of its own elements. It then searches for these values
//!
//! - in a [`Filter`] of the sender's values, which it downloads once and keeps (small senders), or
//! - in a keyword table of them, by private lookups (large senders, and labels).
//!
//! | step | who | function |
//! |---|---|---|
//! | elements → masked entries | sender, once | [`mask()`] |
//! | entries → filter or table | sender, once | [`Filter::new`] or [`crate::build`] |
//! | the choice between both | sender, once | [`Kind::cheaper`] |
//! | elements → blinded elements | receiver | [`Receiver::new`] |
//! | blinded → evaluated elements | sender | [`crate::oprf::Key::evaluate`] |
//! | evaluated elements → masked ones | receiver | [`Receiver::unmask`] |
//! | masked elements → intersection | receiver | [`Wanted::in_filter`] |
//! | the same, by lookups | receiver | [`Wanted::names`] and [`Wanted::opened`] |
//!
//! The sender learns the number of the receiver's elements, rounded up ([`padded`]), and the number
//! of its requests. The receiver learns the intersection, its labels, and roughly the number of the
//! sender's elements. Both sides are assumed to follow the protocol. A sender can hide elements by
//! evaluating under another key, and a receiver can submit elements that it does not have, up to
//! the number that the sender answers.

mod filter;
mod kind;
mod label;
mod mask;
mod receiver;
mod sender;
#[cfg(test)]
mod tests;

pub use filter::Filter;
pub use kind::Kind;
pub use label::sealed_bytes;
pub use mask::NAME_BYTES;
pub use receiver::{Match, Receiver, Wanted, padded};
pub use sender::{Masked, Row, mask};
