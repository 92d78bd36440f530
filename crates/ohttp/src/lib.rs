//! Oblivious HTTP (RFC 9458) with binary HTTP (RFC 9292), without input or output.
//!
//! A client seals a request under a key of the gateway and sends it to a relay, which forwards it.
//! The relay learns who asks and not what, the gateway what is asked and not who asks.
//!
//! | side | steps |
//! |---|---|
//! | client | [`KeyList::parse`] → [`KeyList::choose`] → [`ChosenKey::seal`] → [`Opener::read`] |
//! | gateway | [`GatewayKey::derive`] → [`Gateway::open`] → [`ResponseSealer`] |
//!
//! Clients send the chunked form (draft-ietf-ohai-chunked-ohttp), of which neither side needs the
//! whole message in memory twice. A gateway takes both forms.
//!
//! Messages are padded with zeros (RFC 9292, section 3.8), see [`padded_length`]. Their sealed
//! lengths are those of [`sealed_request_bytes`] and [`sealed_response_bytes`].

mod client;
mod error;
mod gateway;
mod keys;
mod length;
mod message;
mod outbox;
mod ready;

pub use client::{Opener, SealedRequest};
pub use error::{Error, Result};
pub use gateway::{BodySealer, Gateway, OpenedRequest, ResponseSealer, SealForm};
pub use keys::{ChosenKey, GatewayKey, Kem, KeyDigest, KeyList};
pub use length::{sealed_request_bytes, sealed_response_bytes};
pub use message::{InnerHeader, InnerRequest, InnerResponse, ResponseHead, padded_length};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
