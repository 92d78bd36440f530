//! Signatures of versions, appended to the database's log.

use std::path::Path;
use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use papir_checkpoint::{Base, Certificate, Leaf, Log, SigningKey, Statement, public_part_hash};
use papir_core::sections::SectionSink;
use papir_lookup::prefilter::PrefilterSummary;
use papir_lookup::{Bundle, Commitment, KeywordLayout};

use super::content_hash::content_hash;
use super::name::check_name;
use crate::error::{Error, Result};
use crate::file::{CHECKPOINT, Section};

/// The key that signs versions of a database.
#[derive(Clone, Debug)]
pub struct Sign {
    /// The owner's key, or that of a publisher.
    pub key: Arc<SigningKey>,
    /// Certificates to add to the log: delegations and rotations.
    pub certificates: Vec<Certificate>,
    /// Time of signing, seconds since 1970, UTC; `None` for the clock when the file is written.
    pub time: Option<u64>,
}

impl Sign {
    /// Signs with a key alone, at the time of the clock.
    pub fn new(key: SigningKey) -> Self {
        Self {
            key: Arc::new(key),
            certificates: Vec::new(),
            time: None,
        }
    }

    pub(crate) fn time(&self) -> u64 {
        self.time.unwrap_or_else(now)
    }
}

/// The clock, in seconds since 1970, UTC.
fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs())
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
    pub(crate) prefilter: Option<PrefilterSummary>,
    pub(crate) commitment: Option<&'a Commitment>,
}

impl<'a> Signing<'a> {
    /// Prepares to sign the next version of `database`, to be written to `file`. Signs a trial
    /// version, so that a key without a certificate is refused before the database is prepared.
    pub(crate) fn new(
        sign: &'a Sign,
        former: Option<Log>,
        database: &str,
        file: &Path,
    ) -> Result<Self> {
        // The first leaf of a log fixes the name.
        if former.is_none() {
            check_name(database)?;
        }

        let signing = Self {
            sign,
            former,
            file: file.display().to_string(),
        };

        // The same checks as for the real leaf, before the database is prepared. The trial is
        // dropped.
        signing.append(&Statement {
            database: database.to_owned(),
            time: sign.time(),
            base: Base::Content([0; 32]),
            delta_root: None,
            public_part: [0; 32],
        })?;
        Ok(signing)
    }

    /// Like [`Self::new`]; `None` without a key.
    pub(crate) fn of(
        sign: Option<&'a Sign>,
        former: Option<Log>,
        database: &str,
        file: &Path,
    ) -> Result<Option<Self>> {
        match sign {
            Some(sign) => Self::new(sign, former, database, file).map(Some),
            None => Ok(None),
        }
    }

    /// Signs a version, and writes the section of its log after all others. Returns the log.
    pub(crate) fn put(
        &self,
        version: &Signed<'_>,
        sections: &[Section],
        sink: &mut dyn SectionSink,
    ) -> Result<Log> {
        // The statement of a verifiable database is its root, which clients compare with each
        // answer.
        let base = match version.commitment {
            Some(commitment) => Base::Root(commitment.root(version.keyword).0),
            None => Base::Content(content_hash(sections)),
        };
        // As clients fetch it: they hash the bytes that the service sends.
        let bundle = Bundle {
            scheme_public: version.public.clone(),
            keyword: version.keyword.cloned(),
            commitment_top: version.commitment.map(|one| *one.top()),
            prefilter: version.prefilter,
        };
        let public = bundle.encode();

        let statement = Statement {
            database: version.database.to_owned(),
            time: self.sign.time(),
            base,
            delta_root: None,
            public_part: public_part_hash(&public),
        };
        self.write(&statement, sink)
    }

    /// Signs a delta with this public part, beside the base that the newest leaf states. Writes the
    /// section of the log, and returns the log.
    pub(crate) fn put_delta(&self, part: &[u8], sink: &mut dyn SectionSink) -> Result<Log> {
        // A delta is stated beside its base, so the log must have a leaf of the base.
        let former = self
            .former
            .as_ref()
            .ok_or_else(|| unsigned_base(&self.file))?;
        let Leaf {
            database,
            base,
            public_part,
            ..
        } = former.newest().map_err(|error| self.failed(error))?.clone();

        let statement = Statement {
            database,
            time: self.sign.time(),
            base,
            delta_root: Some(public_part_hash(part)),
            public_part,
        };
        self.write(&statement, sink)
    }

    /// Appends a leaf to the log, and writes the section of the log.
    fn write(&self, statement: &Statement, sink: &mut dyn SectionSink) -> Result<Log> {
        // Signed last: the hash of the content covers the sections before this one.
        let log = self.append(statement)?;
        let encoded = match statement.delta_root {
            // The base has the leaves before. Whole logs in each of many deltas would take space
            // in the square of the versions.
            Some(_) => log.encode_delta(),
            None => log.encode(),
        };
        let bytes = encoded.map_err(|error| self.failed(error))?;
        sink.put(CHECKPOINT, &[&bytes])?;
        Ok(log)
    }

    fn append(&self, statement: &Statement) -> Result<Log> {
        let Sign {
            key, certificates, ..
        } = self.sign;
        let log = Log::append(self.former.as_ref(), statement, key, certificates);
        log.map_err(|error| self.failed(error))
    }

    fn failed(&self, error: papir_checkpoint::Error) -> Error {
        Error::Checkpoint {
            file: self.file.clone(),
            error,
        }
    }
}

/// The newest leaf of a signed version.
pub(crate) fn newest_leaf(log: Option<&Log>) -> Option<Leaf> {
    log.and_then(|log| log.newest().ok()).cloned()
}

/// The error for a signed delta beside a database that is not signed.
pub(crate) fn unsigned_base(file: &str) -> Error {
    Error::options(
        format!("a signed delta beside {file}, which is not signed"),
        "a signed base: `papir checkpoint sign`",
    )
}
