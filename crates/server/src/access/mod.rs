//! Access control: bearer tokens, trusted proxies, listed relays, and web origins.

mod grant;
mod origins;
mod proxies;
mod relays;
mod token_file;
mod tokens;

pub(crate) use grant::Grant;
pub use grant::Scope;
pub use origins::Origin;
pub use proxies::TrustedProxies;
pub use relays::ListedRelays;
pub use token_file::{NewToken, TokenEntry, TokenFile};
pub use tokens::TokenSource;
pub(crate) use tokens::Tokens;
