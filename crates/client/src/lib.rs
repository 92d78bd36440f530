//! The network client: looks keys and indices up in a papir service without telling it which.
//!
//! ```no_run
//! let mut connection = papir_client::Connection::open("http://127.0.0.1:7470", None)?;
//! let value: Option<Vec<u8>> = connection.get_key(b"some key")?;
//! # Ok::<(), papir_client::Error>(())
//! ```
//!
//! What the server sees depends on the number of keys alone: not on the keys, not on whether they
//! exist, not on whether an answer decodes.

mod address;
mod connection;
mod costs;
mod error;
mod info;
mod rng;
mod transport;

pub use connection::Connection;
pub use costs::Costs;
pub use error::{Error, Result};
pub use info::{DatabaseInfo, SizesInfo};
pub use rng::system_rng;
