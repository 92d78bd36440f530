//! The asynchronous client, for tokio: HTTP by reqwest, over TCP, TLS or Unix sockets.
//!
//! ```no_run
//! # async fn example() -> Result<(), papir_client::Error> {
//! let mut connection = papir_client::aio::Connection::open("http://127.0.0.1:7470", None).await?;
//! let value: Option<Vec<u8>> = connection.get_key(b"some key").await?;
//! # Ok(())
//! # }
//! ```
//!
//! It has the same operations, options and errors as the blocking client, and sends the same
//! requests. It needs a tokio runtime, of either kind, with I/O and time enabled. Encryption,
//! decryption and file access take milliseconds to seconds. They run on the runtime's blocking
//! threads, or [`in_place`](in_place()).
//!
//! A future may be dropped at any time. The step that is running may still finish. Then the
//! connection is as before the call, the state on disk is consistent, and its lock is released. A
//! ticket stays used if its use was already stored.

mod certificate_request;
mod connection;
mod failures;
mod forwarding;
mod gate;
mod http;
pub mod psi;
mod registrations;
mod relayed;
mod scheduled;
mod shared;
mod threads;
mod transport;

pub use connection::{Connection, detail, extract_message, fetch_log, ready};
pub use forwarding::Forwarding;
pub use registrations::Registrations;
pub use shared::SharedConnection;
pub use threads::in_place;
