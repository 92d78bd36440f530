//! Access control: bearer tokens, their scopes and databases, and trusted proxies.

mod grant;
mod proxies;
mod token_file;
mod tokens;

pub(crate) use grant::Grant;
pub use grant::Scope;
pub use proxies::TrustedProxies;
pub use token_file::{NewToken, TokenEntry, TokenFile};
pub use tokens::TokenSource;
pub(crate) use tokens::Tokens;
