//! Servers with routes of their own: a relay, or an issuer.
//!
//! | file | contents |
//! |---|---|
//! | `server` | the listener, from its start to its stop |
//! | `refusal` | responses to requests that a server refuses |

mod refusal;
mod server;

pub(crate) use refusal::{BUSY_ADVICE, problem_response, refuse};
pub(crate) use server::{StandaloneServer, StandaloneSettings};
