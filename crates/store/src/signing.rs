//! Signs the version in a snapshot: appends it to the database's log.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use papir_checkpoint::{Base, Certificate, Leaf, Log, SigningKey, Statement, public_part_hash};
use papir_core::Result as CoreResult;
use papir_core::sections::SectionSink;
use papir_lookup::{Bundle, Commitment, KeywordLayout};

use crate::content_hash::content_hash;
use crate::error::{Error, Result};
use crate::format::Section;
use crate::map::map;
use crate::snapshot::Sections;
use crate::snapshot_names::CHECKPOINT;

/// The key that signs versions of a database.
#[derive(Clone, Debug)]
pub struct Sign {
    /// The owner's key, or that of a publisher.
    pub key: Arc<SigningKey>,
    /// Certificates to add to those of the log: delegations and rotations.
    pub certificates: Vec<Certificate>,
    /// Time of signing, seconds since 1970, UTC; `None` for the clock when the file is written.
    pub time: Option<u64>,
}

impl Sign {
    /// Signs with a key alone, at the time of the clock.
    pub fn new(key: SigningKey) -> Self {
        Self { key: Arc::new(key), certificates: Vec::new(), time: None }
    }

    pub(crate) fn time(&self) -> u64 {
        self.time.unwrap_or_else(now)
    }
}

/// The clock, in seconds since 1970, UTC.
fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())
}

/// A signature to be made once the version is prepared.
pub(crate) struct Signing<'a> {
    sign: &'a Sign,
    former: Option<Log>,
    /// The file, for errors.
    file: String,
}

/// The parts of a version that a leaf states, besides the sections of the file.
pub(crate) struct Signed<'a> {
    pub(crate) database: &'a str,
    pub(crate) public: Vec<u8>,
    pub(crate) keyword: Option<&'a KeywordLayout>,
    pub(crate) commitment: Option<&'a Commitment>,
}

impl<'a> Signing<'a> {
    /// Prepares to sign the next version of `database`, to be written to `file`. Signs a trial
    /// version, so that a key without a certificate is refused before the database is prepared.
    ///
    /// # Errors
    /// [`Error::Checkpoint`].
    pub(crate) fn new(sign: &'a Sign, former: Option<Log>, database: &str, file: &Path) -> Result<Self> {
        let signing = Self { sign, former, file: file.display().to_string() };
        let (base, public_part) = (Base::Content([0; 32]), [0; 32]);
        signing.append(&Statement { database: database.to_owned(), time: sign.time(), base, public_part })?;
        Ok(signing)
    }

    /// Writes the section of the log, after all others. Returns the newest leaf.
    ///
    /// # Errors
    /// [`Error::Checkpoint`]; errors of the sink.
    pub(crate) fn put(
        &self,
        version: &Signed<'_>,
        sections: &[Section],
        sink: &mut dyn SectionSink,
    ) -> Result<Leaf> {
        let base = match version.commitment {
            Some(commitment) => Base::Root(commitment.root(version.keyword).0),
            None => Base::Content(content_hash(sections)),
        };
        let (keyword, commitment_top) = (version.keyword.cloned(), version.commitment.map(|one| *one.top()));
        let bundle = Bundle { scheme_public: version.public.clone(), keyword, commitment_top }.encode();
        let (database, time) = (version.database.to_owned(), self.sign.time());
        let log = self.append(&Statement { database, time, base, public_part: public_part_hash(&bundle) })?;
        let bytes = log.encode().map_err(|error| self.failed(error))?;
        sink.put(CHECKPOINT, &[&bytes])?;
        Ok(log.newest().map_err(|error| self.failed(error))?.clone())
    }

    fn append(&self, statement: &Statement) -> Result<Log> {
        let Sign { key, certificates, .. } = self.sign;
        let log = Log::append(self.former.as_ref(), statement, key, certificates);
        log.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: papir_checkpoint::Error) -> Error {
        Error::Checkpoint { file: self.file.clone(), error }
    }
}

/// The log in a snapshot file; `None` if the database is not signed. Verifies the checksums of the
/// header, of the table and of the log only.
///
/// # Errors
/// [`Error::Snapshot`], [`Error::Checkpoint`], [`papir_core::Error::Io`].
pub fn stored_log(path: &Path) -> Result<Option<Log>> {
    let named = |error| Error::Snapshot { file: path.display().to_string(), error };
    let sections = Sections::read(map(path)?).map_err(named)?;
    sections.verify_named(&[CHECKPOINT]).map_err(named)?;
    let bytes: CoreResult<Option<_>> = sections
        .table()
        .iter()
        .find(|one| one.name == CHECKPOINT)
        .map(|one| sections.blob(&one.name))
        .transpose();
    let log = bytes.map_err(named)?.map(|bytes| Log::decode(&bytes)).transpose();
    log.map_err(|error| Error::Checkpoint { file: path.display().to_string(), error })
}

/// The log that the next version at `path` continues. If `sign` and `unsigned` are missing, a
/// signed file is refused: a version without a signature would lock out the clients that pin its
/// owner's key.
///
/// # Errors
/// [`Error::Signed`]; those of [`stored_log`].
pub(crate) fn log_to_continue(path: &Path, sign: Option<&Sign>, unsigned: bool) -> Result<Option<Log>> {
    if sign.is_some() && unsigned {
        return Err(Error::options("a key to sign with, and an unsigned version", "one of them"));
    }
    let log = stored_log(path)?;
    match log {
        Some(log) if sign.is_none() && !unsigned => {
            let file = path.display().to_string();
            Err(Error::Signed { file, sequence: log.leaves().len() as u64 - 1 })
        }
        log => Ok(log),
    }
}
