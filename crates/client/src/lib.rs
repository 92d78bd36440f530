//! Network client for private lookups of keys and indices in a papir service.
//!
//! ```no_run
//! # #[cfg(feature = "blocking")] {
//! let mut connection = papir_client::Connection::open("http://127.0.0.1:7470", None)?;
//! let value: Option<Vec<u8>> = connection.get_key(b"some key")?;
//! # }
//! # Ok::<(), papir_client::Error>(())
//! ```
//!
//! The server learns the number of keys and nothing else. The traffic does not depend on the keys,
//! on their presence in the database, or on the decoding of answers. A [`Schedule`] also hides when
//! and how often keys are looked up: it sends requests of one size at fixed times.
//!
//! In schemes with client keys, a connection registers itself and stores its state in a directory
//! (`Options::state`). A query uses up part of that state. The change is on disk before the query
//! is sent.
//!
//! | module | contents |
//! |---|---|
//! | [`core`] | the protocol without I/O, for further transports |
//! | `state` (feature `files`) | client state, in files or in a storage of the application |
//! | `blocking` (feature `blocking`, on by default) | the blocking transport: [`Connection`] |
//! | `aio` (feature `aio`) | the asynchronous transport, for tokio |
//! | `load` (feature `blocking`) | load tests |
//!
//! The feature `all-schemes` is on by default. Without it the client has the schemes of the audit
//! only (`docs/audit.md`): `inspire`, `inspire1` and `simple`.

#[cfg(feature = "aio")]
pub mod aio;
#[cfg(feature = "blocking")]
mod blocking;
pub mod core;
mod error;
mod failure;
#[cfg(feature = "blocking")]
pub mod load;
#[cfg(feature = "files")]
mod rng;
#[cfg(feature = "files")]
mod state;
#[cfg(feature = "transport")]
mod transport;

#[cfg(feature = "blocking")]
pub use blocking::{
    Connection, HttpReceived, HttpSender, Probe, Registrations, detail, extract_message, fetch_log,
    probe, ready,
};
pub use core::{
    Awaited, CheckpointSettings, Costs, DownloadLimit, Freshness, KnownVersion, OwnedWanted,
    Patches, Pin, PrefilterUse, Rotation, Schedule, Scheduled, Schemes, ShownLog, Token, Watcher,
};
pub use error::{Error, ErrorGroup, Result, ServerFailure};
pub use failure::{FinalFailure, RelayFailure};
pub use papir_checkpoint::{Accepted, VerifyingKey};
pub use papir_protocol::{ClientStatus, DatabaseDetail, DatabaseInfo, SizesInfo};
#[cfg(feature = "transport")]
pub use papir_tls::RootSource;
#[cfg(feature = "files")]
pub use rng::system_rng;
#[cfg(feature = "files")]
pub use state::{Passphrase, StateEntry, StateStorage, default_state_directory};
#[cfg(feature = "transport")]
pub use transport::{
    certificate::CertificateSummary,
    identity::Identity,
    issuer::Issuer,
    options::Options,
    pinned::{Pins, pins, remove_pins},
    proxy::{ChosenProxy, ProxyAddress, ProxySetting, SharedProxy},
    relay::Relay,
    retry_observer::{RetryObserver, RetryPause},
};

/// Private set intersection.
pub mod psi {
    #[cfg(feature = "blocking")]
    pub use crate::blocking::psi::{describe, intersect, intersect_any};
    pub use crate::core::psi::Intersection;
    pub use papir_protocol::PsiInfo;
}

/// Parsers of untrusted input, for fuzzing.
#[cfg(feature = "files")]
#[doc(hidden)]
pub mod parsers {
    use papir_protocol::{DatabaseInfo, DatabaseList, ErrorBody};

    use crate::core::{Address, Place, SavedRegistration};
    use crate::error::Result;
    use crate::state;

    /// The name of the slot of all state files here.
    const SLOT: &str = "c6ea1f714556fb50dc4b4d987addd207";

    /// Parses the address of a service, and returns the address of its list of databases.
    ///
    /// # Errors
    /// [`crate::Error::BadUrl`] for an invalid address.
    pub fn address(url: &str) -> Result<String> {
        Address::parse(url).map(|address| address.list())
    }

    /// Parses bytes as JSON of a list of databases, an error or a database's description.
    ///
    /// # Errors
    /// The parser's error for a description, if the bytes do not parse as any of the three.
    pub fn json(bytes: &[u8]) -> std::result::Result<(), serde_json::Error> {
        let other = serde_json::from_slice::<DatabaseList>(bytes).is_ok()
            || ErrorBody::parse(bytes).is_some();
        if other {
            Ok(())
        } else {
            serde_json::from_slice::<DatabaseInfo>(bytes).map(drop)
        }
    }

    /// Encodes a state file without a passphrase, with these bytes as its scheme's state.
    ///
    /// # Errors
    /// None in practice.
    pub fn state_file(uploading: bool, state: &[u8]) -> papir_core::Result<Vec<u8>> {
        let saved = SavedRegistration {
            address: "http://127.0.0.1:7470/v1/databases/words".into(),
            client: "0".repeat(32),
            uploading,
            keys_bytes: 400,
            registered: 0,
            queries: 0,
            place: (!uploading).then_some(Place {
                slot: [1; 32],
                boot: [2; 32],
            }),
            state: state.to_vec().into(),
        };
        Ok(state::write(&saved, SLOT, None)?.to_vec())
    }

    /// Decodes the tokens that a client has not spent, and encodes them again.
    ///
    /// # Errors
    /// The decoder's error.
    #[cfg(feature = "transport")]
    pub fn unspent_tokens(record: &[u8]) -> papir_core::Result<Vec<u8>> {
        crate::core::wallet::reencoded(record)
    }

    /// Decodes a kept version with its waiting lookups, and encodes it again. Another layout of the
    /// same JSON becomes the same bytes.
    ///
    /// # Errors
    /// The decoder's error.
    pub fn kept_version(record: &[u8]) -> papir_core::Result<Vec<u8>> {
        crate::core::reencoded_version(record)
    }

    /// Encodes a kept version of a database with this description in JSON.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for another text.
    pub fn encoded_version(info: &str) -> papir_core::Result<Vec<u8>> {
        let parts: [&[u8]; 4] = [b"words", info.as_bytes(), b"", b"bundle"];
        let mut record = vec![1];
        for part in parts {
            record.extend_from_slice(&(part.len() as u64).to_le_bytes());
            record.extend_from_slice(part);
        }
        record.push(0);
        kept_version(&record)
    }

    /// Parses a file of client state and encodes it again.
    ///
    /// # Errors
    /// The parser's error; [`papir_core::Error::Malformed`] for a file that needs a passphrase.
    pub fn state(bytes: &[u8]) -> papir_core::Result<Vec<u8>> {
        match state::parse(bytes, SLOT, None) {
            Ok(parsed) => Ok(state::write(&parsed.saved, SLOT, None)?.to_vec()),
            Err(state::OpenError::Core(error)) => Err(error),
            Err(_) => Err(papir_core::Error::malformed(
                "a state file",
                "one with a passphrase",
                "one without",
            )),
        }
    }
}
