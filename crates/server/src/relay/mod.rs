//! Relay of Oblivious HTTP (RFC 9458, sections 2 and 8.2).
//!
//! Clients send sealed requests to `POST /AUTHORITY`, where the authority is that of a listed
//! gateway, and receive sealed responses. The relay sees who asks, and neither what is asked nor
//! the answer; the gateway sees the opposite. This holds only if different organisations run the
//! two.
//!
//! | file | contents |
//! |---|---|
//! | `config` | settings, and the transport to a gateway |
//! | `server` | starts and stops a relay |
//! | `routes` | routes, and the two handlers |
//! | `limits` | limits on requests, of each client and in total |
//! | `upload`, `download` | bodies on their way to and from a gateway |
//! | `content_type` | content types of requests and responses |
//! | `keys` | the gateways' key configurations |
//! | `problem` | errors as status and problem details |

mod config;
mod content_type;
mod download;
mod keys;
mod limits;
mod problem;
mod routes;
mod server;
mod upload;

pub use config::{GatewayFailure, RelayConfig, RelayExchange, RelayGateway, RelayTransport};
pub use problem::RelayProblem;
pub use server::BoundRelay;
pub use upload::RelayUpload;
