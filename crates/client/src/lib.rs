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
//!
//! Where a scheme has client keys, a connection registers by itself and keeps its state in a
//! directory ([`Options::state`]); what a query uses up is on disk before the query leaves.

mod account;
mod address;
mod agent;
mod connection;
mod costs;
mod error;
mod info;
pub mod load;
mod options;
mod pins;
pub mod psi;
mod registering;
mod rng;
mod state;
mod transport;
#[cfg(unix)]
mod unix;
mod warm;

pub use connection::{Connection, ready};
pub use costs::Costs;
pub use error::{Error, Result};
pub use info::{DatabaseInfo, SizesInfo};
pub use options::{MoreSchemes, Options, Token, Watcher};
pub use registering::{ClientStatus, Registrations};
pub use rng::system_rng;
pub use state::{Passphrase, default_state_directory};

/// Parsers of what comes from outside by themselves, for fuzzing.
#[doc(hidden)]
pub mod parsers {
    use crate::info::{List, Refusal};
    use crate::state::{self, Record};
    use crate::{DatabaseInfo, Result};

    /// The list's address for an address that is accepted.
    ///
    /// # Errors
    /// [`crate::Error::BadUrl`].
    pub fn address(url: &str) -> Result<String> {
        crate::address::Address::parse(url).map(|address| address.list())
    }

    /// Whether bytes are any of the answers in JSON.
    ///
    /// # Errors
    /// The parser's own, of a database's description.
    pub fn json(bytes: &[u8]) -> std::result::Result<(), serde_json::Error> {
        let other =
            serde_json::from_slice::<List>(bytes).is_ok() || serde_json::from_slice::<Refusal>(bytes).is_ok();
        if other { Ok(()) } else { serde_json::from_slice::<DatabaseInfo>(bytes).map(drop) }
    }

    /// A file of client state in the clear.
    ///
    /// # Errors
    /// None of these.
    pub fn state_file(uploading: bool, state: &[u8]) -> papir_core::Result<Vec<u8>> {
        let record = Record {
            address: "http://127.0.0.1:7470/v1/databases/words".into(),
            client: "0".repeat(32),
            uploading,
            keys_bytes: 400,
            state: state.to_vec().into(),
        };
        Ok(state::write(&record, None)?.to_vec())
    }

    /// What a file of client state holds, as its file would hold it.
    ///
    /// # Errors
    /// The parser's own; one that wants a passphrase is refused.
    pub fn state(bytes: &[u8]) -> papir_core::Result<Vec<u8>> {
        let wanted = || papir_core::Error::malformed("a state file", "one with a passphrase", "one without");
        match state::parse(bytes, None) {
            Ok(record) => Ok(state::write(&record, None)?.to_vec()),
            Err(state::Unopened::Core(error)) => Err(error),
            Err(_) => Err(wanted()),
        }
    }
}
