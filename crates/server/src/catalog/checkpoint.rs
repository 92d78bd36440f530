//! The signed checkpoint of a database, ready to be sent.

use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;
use papir_checkpoint::{Error, Log, Result};

/// The checkpoint of one version, in the forms that the routes send.
pub(crate) struct Checkpoint {
    /// The signed note, for people and witnesses.
    pub(crate) note: Bytes,
    /// The proof of the newest version, for clients.
    pub(crate) proof: Bytes,
    /// The whole log; `None` once it is dropped.
    log: Mutex<Option<Bytes>>,
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
            log: Mutex::new(Some(bytes.into())),
            tag,
            sequence,
            time,
            names_gateways,
        })
    }

    /// The whole log, for comparisons; `None` after [`Self::drop_log`].
    pub(crate) fn log(&self) -> Option<Bytes> {
        let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
        log.clone()
    }

    /// Frees the log, which has all versions of the database. Only the log of the newest version is
    /// sent: kept for each old one, logs would take memory in the square of the versions.
    pub(super) fn drop_log(&self) {
        *self.log.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// The error for a file with a checkpoint that is not served.
pub(super) fn refused(file: &Path, error: Error) -> papir_store::Error {
    papir_store::Error::Checkpoint {
        file: file.display().to_string(),
        error,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_checkpoint::{Base, SigningKey, Statement};

    use super::*;

    /// The key of the examples of signed notes.
    const KEY: &str =
        "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";

    #[test]
    fn a_checkpoint_without_its_log_has_everything_else() {
        let key: SigningKey = KEY.parse().unwrap();
        let statement = Statement {
            database: "words".to_owned(),
            time: 1_700_000_000,
            base: Base::Content([1; 32]),
            delta_root: None,
            public_part: [2; 32],
        };
        let log = Log::append(None, &statement, &key, &[]).unwrap();
        let checkpoint = Checkpoint::of(&log, "words").unwrap();
        assert_eq!(checkpoint.log().unwrap(), log.encode().unwrap());

        checkpoint.drop_log();
        assert_eq!(checkpoint.log(), None);
        assert_eq!(checkpoint.note, log.note().to_string());
        assert_eq!(checkpoint.sequence, 0);
    }
}
