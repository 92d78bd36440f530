//! Keys of gateways.

mod gateway_key;
mod key_list;

pub use gateway_key::{GatewayKey, Kem};
pub use key_list::{KeyDigest, KeyList};
