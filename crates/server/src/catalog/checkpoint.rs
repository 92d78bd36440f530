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
        Ok(Self {
            note: note.into(),
            proof: proof.into(),
            log: bytes.into(),
            tag,
            sequence,
            time,
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
