//! No cryptography: the client sends the indices in the clear, the server sends the records back.
//!
//! For testing what surrounds a scheme, and as the floor that every cost is compared with. It is
//! not private and is served only when told so. A query holds up to [`BATCH`] indices in slots of
//! fixed number, so that its length does not depend on how many are used, as in a private scheme.
//!
//! | verb | function |
//! |---|---|
//! | setup | [`server::PlainServer`]: a copy of the packed records |
//! | query | [`client::PlainClient`]: a nonce and the indices |
//! | answer | the nonce and the records |
//! | extract | compares the nonce |

pub mod client;
pub mod params;
pub mod server;
pub mod wire;

use papir_core::Privacy;
use papir_core::scheme::{Never, Scheme};

use crate::shared::empty_public::EmptyPublic;

/// The most indices in one query.
pub const BATCH: usize = 4;

/// The scheme without cryptography.
pub struct Plain;

impl Scheme for Plain {
    const NAME: &'static str = "plain";
    const ID: u16 = 0;
    const PRIVACY: Privacy = Privacy::NotPrivate("it sends the index in the clear");

    type Params = params::PlainParams;
    type Public = EmptyPublic;
    type Query = wire::PlainQuery;
    type Answer = wire::PlainAnswer;
    type Secret = client::PlainSecret;
    type ClientKeys = Never;
    type ClientState = Never;
    type Ticket = Never;
    type Server = server::PlainServer;
    type Client = client::PlainClient;
}
