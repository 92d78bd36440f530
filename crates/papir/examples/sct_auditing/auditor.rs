//! Auditor: a registered client that sends a batch of fixed size in each interval.

use std::collections::VecDeque;
use std::time::Duration;

use papir::client::{Connection, Costs, Options};
use papir::system_rng;
use rand_core::Rng;
use tempfile::TempDir;

use crate::certificates::{LeafHash, key};
use crate::{BATCH, Result, timed};

/// An auditing browser: the directory of its client's keys, and certificates to audit.
pub(crate) struct Auditor {
    url: String,
    state: TempDir,
    /// Hashes seen and not audited yet, the oldest first.
    waiting: VecDeque<LeafHash>,
}

/// The auditor's connection to one version of the log. It has done the work that does not depend on
/// the audited certificates.
pub(crate) struct Prepared {
    connection: Connection,
    /// Time to decrypt the masks.
    pub(crate) masks: Duration,
}

/// The result and the cost of one audit.
pub(crate) struct Audit {
    /// Hashes audited, and the numbers of their entries: `None` if the log does not have the entry.
    pub(crate) audited: Vec<(LeafHash, Option<u64>)>,
    pub(crate) costs: Costs,
    pub(crate) time: Duration,
}

impl Auditor {
    /// Registers a new auditor. Returns the bytes of its keys, too.
    ///
    /// It looks up one random hash: a service prepares tickets for whole batches of clients that have
    /// queried.
    pub(crate) fn register(url: &str) -> Result<(Self, u64)> {
        let auditor = Self {
            url: url.to_owned(),
            state: TempDir::new()?,
            waiting: VecDeque::new(),
        };
        let mut connection = auditor.connect()?;
        connection.get_key(key(&dummy()).as_bytes())?;
        let registered = connection.costs().registration_bytes;
        Ok((auditor, registered))
    }

    fn connect(&self) -> Result<Connection> {
        let options = Options {
            state: Some(self.state.path().to_owned()),
            ..Options::default()
        };
        Ok(Connection::open_with(&self.url, &options)?)
    }

    /// Notes a certificate of a TLS handshake. Its audit is sent with one of the next batches.
    pub(crate) fn see(&mut self, hash: LeafHash) {
        self.waiting.push_back(hash);
    }

    /// Number of certificates to audit.
    pub(crate) fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Fetches the public part of the newest version, and decrypts the masks of one batch. This is
    /// nearly all of the client's work.
    pub(crate) fn prepare(&self) -> Result<Prepared> {
        let mut connection = self.connect()?;
        let ((), masks) = timed(|| Ok(connection.prepare_ahead(BATCH)?))?;
        Ok(Prepared { connection, masks })
    }

    /// Audits the oldest certificates that are waiting, at most [`BATCH`]. Random hashes fill the batch,
    /// so that its length does not depend on their number.
    pub(crate) fn audit(&mut self, prepared: &mut Prepared) -> Result<Audit> {
        let connection = &mut prepared.connection;
        let hashes: Vec<LeafHash> = self
            .waiting
            .drain(..self.waiting.len().min(BATCH))
            .collect();
        let dummies = std::iter::repeat_with(dummy);
        let keys: Vec<String> = hashes
            .iter()
            .copied()
            .chain(dummies)
            .take(BATCH)
            .map(|hash| key(&hash))
            .collect();
        let (values, time) = timed(|| Ok(connection.get_keys(&keys)?))?;
        let entries = values
            .into_iter()
            .map(|value| value.as_deref().map(entry_number).transpose());
        let audited = hashes
            .into_iter()
            .zip(entries)
            .map(|(hash, entry)| Ok((hash, entry?)));
        Ok(Audit {
            audited: audited.collect::<Result<_>>()?,
            costs: connection.costs(),
            time,
        })
    }
}

fn entry_number(value: &[u8]) -> Result<u64> {
    Ok(str::from_utf8(value)?.parse()?)
}

/// Returns a hash that no log has.
fn dummy() -> LeafHash {
    let mut hash = LeafHash::default();
    system_rng().fill_bytes(&mut hash);
    hash
}
