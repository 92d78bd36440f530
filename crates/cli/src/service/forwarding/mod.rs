//! Connections to the services of others: the gateways of a relay, and the issuer of tokens.

#[cfg(not(feature = "relay"))]
mod absent;
#[cfg(feature = "relay")]
mod http;

#[cfg(not(feature = "relay"))]
pub(crate) use absent::{to_gateway, to_issuer};
#[cfg(feature = "relay")]
pub(crate) use http::{to_gateway, to_issuer};
