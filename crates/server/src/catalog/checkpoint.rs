//! The signed checkpoint of a database, ready to be sent.

use std::path::Path;

use bytes::Bytes;
use papir_checkpoint::{Error, Log, Result};

/// The checkpoint of one version, in the forms that the routes send.
pub(crate) struct Checkpoint {
    /// The signed note, for people and witnesses.
    pub(crate) note: Bytes,
    /// The proof of the newest version, for clients.
    pub(crate) proof: Bytes,
    /// The whole log, for comparisons.
    pub(crate) log: Bytes,
    /// Changes with every version, signature and certificate. Quoted, as an `ETag`.
    pub(crate) tag: String,
    pub(crate) sequence: u64,
    pub(crate) time: u64,
    /// Set if the owner names the keys of gateways. Clients behind a relay then read the proof
    /// without a token.
    pub(crate) names_gateways: bool,
}

impl Checkpoint {
    /// The checkpoint of a log that is served under `name`. Refuses the log of another name, whose
    /// checkpoint clients would refuse.
    pub(super) fn of(log: &Log, name: &str) -> Result<Self> {
        let newest = log.newest()?;
        if newest.database != name {
            return Err(Error::Database {
                found: newest.database.clone(),
                expected: name.to_owned(),
            });
        }

        let note = log.note().to_string();
        let proof = log.proof()?.encode()?;
        let bytes = log.encode()?;
        let tag = format!("\"{}\"", &blake3::hash(&bytes).to_hex()[..16]);

        let sequence = newest.sequence;
        let time = newest.time;
        let names_gateways = newest.gateways.is_some();
        Ok(Self {
            note: note.into(),
            proof: proof.into(),
            log: bytes.into(),
            tag,
            sequence,
            time,
            names_gateways,
        })
    }
}

/// The error for a file with a checkpoint that is not served.
pub(super) fn refused(file: &Path, error: Error) -> papir_store::Error {
    papir_store::Error::Checkpoint {
        file: file.display().to_string(),
        error,
    }
}
