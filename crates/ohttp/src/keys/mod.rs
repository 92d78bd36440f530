//! Keys of gateways.

mod chosen_key;
mod gateway_key;
mod key_digest;
mod key_list;

pub use chosen_key::ChosenKey;
pub use gateway_key::{GatewayKey, Kem};
pub use key_digest::KeyDigest;
pub use key_list::KeyList;
