//! Changes of a replication slot of PostgreSQL.
//!
//! A slot keeps PostgreSQL's log from a place on. SQL functions peek at the changes after it. They
//! are published, and the slot advances to the place that the published version states. So every
//! change is in exactly once, even after an interruption.
//!
//! | module | task |
//! |---|---|
//! | [`message`] | parses the messages of `pgoutput` |
//! | [`rows`] | converts them to rows of JSON Lines, transaction by transaction |
//! | [`server`] | sends the queries |
//! | [`passed`] | notes how far the log was passed without a change |

mod message;
mod passed;
mod rows;
mod server;

use std::path::Path;
use std::time::{Duration, Instant};

use crate::postgres::{Connector, reason};
use papir_core::Error as CoreError;
use postgres::Client;

use super::arrived::{Arrived, REPLACED};
use super::options::SlotOptions;
use crate::error::{Error, Result};
use crate::snapshot::Followed;
use crate::source::ChangeColumns;
use passed::Passed;
use server::{Published, ServerSlot, may_pass, place, slot_of, table_of};

/// The slot's plugin.
const PLUGIN: &str = "pgoutput";
/// Maximum number of messages per peek, rounded up to whole transactions.
const AT_ONCE: i32 = 10_000;
/// Maximum number of bytes of messages in memory.
const MOST_BYTES: usize = 256 << 20;
/// Time from a look that finds nothing to the next one.
const LOOK: Duration = Duration::from_millis(200);
/// Pauses after a failed connection: the first, and the longest.
const PAUSES: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(60)];
/// Bytes of log without changes after which the slot advances over them.
const PASSED_BYTES: u64 = 16 << 20;

/// A slot, connected or not.
pub(super) struct ReplicationSlot {
    options: SlotOptions,
    connector: Connector,
    /// `None` after a failure.
    client: Option<Client>,
    /// Hash of the server's identity and the names of slot and publication.
    identity: String,
    /// The place that the newest version states.
    stated: Option<Followed>,
    passed: Passed,
    /// Number of messages per peek.
    at_once: i32,
    /// The publication's table, with its schema.
    table: String,
    /// Columns that were unique by a deferrable constraint only, when messages were last found.
    deferrable: Vec<String>,
    /// Set if the last messages were passed and there may be more.
    more: bool,
    /// The place up to which the slot has advanced.
    confirmed: u64,
    /// The end of the log at the last look that found no change.
    looked: Option<u64>,
    /// The time of the next look, and the pause after another failure.
    next: Instant,
    pause: Duration,
    trouble: Option<String>,
}

/// Messages of the slot, in order.
pub(super) struct Peeked(Vec<Vec<u8>>);

/// A failed request.
enum SlotFailure {
    Server(postgres::Error),
    /// Another attempt will not help.
    Refused(Error),
}

impl From<postgres::Error> for SlotFailure {
    fn from(error: postgres::Error) -> Self {
        if may_pass(&error) {
            Self::Server(error)
        } else {
            Self::Refused(refusal(&error))
        }
    }
}

impl ReplicationSlot {
    /// Connects to the server. `file` is the snapshot, whose newest version states the place
    /// `stated`. A slot or a publication that does not continue that place is refused.
    pub(super) fn open(
        options: SlotOptions,
        file: &Path,
        stated: Option<Followed>,
    ) -> Result<Self> {
        // An address that cannot be used is refused at once: no later attempt would help.
        let connector = Connector::new(&options.login).map_err(|error| Error::Unreadable {
            file: options.login.shown(),
            reason: error.to_string(),
        })?;
        let mut slot = Self {
            options,
            connector,
            client: None,
            identity: String::new(),
            stated,
            passed: Passed::beside(file)?,
            at_once: AT_ONCE,
            table: String::new(),
            deferrable: Vec::new(),
            more: false,
            confirmed: 0,
            looked: None,
            next: Instant::now(),
            pause: PAUSES[0],
            trouble: None,
        };

        match slot.connect() {
            Ok(()) => Ok(slot),
            Err(SlotFailure::Refused(error)) => Err(error),
            // A server that cannot be reached is tried again, as when it stops later.
            Err(SlotFailure::Server(error)) => {
                slot.later(&error);
                Ok(slot)
            }
        }
    }

    /// Returns whether messages were passed, so that there may be more.
    pub(super) fn has_more(&self) -> bool {
        self.more
    }

    /// Peeks at fewer messages from now on. Returns false if it is one transaction already.
    pub(super) fn take_less(&mut self) -> bool {
        // A transaction cannot be divided: its changes are in one version, or in none.
        let some_are_left = self.at_once > 1;
        self.at_once = (self.at_once / 2).max(1);
        some_are_left
    }

    /// Takes the failure of the last look, which is tried again.
    pub(super) fn take_trouble(&mut self) -> Option<String> {
        self.trouble.take()
    }

    /// Looks for messages; `None` if there are none yet, or while the server cannot be reached. An
    /// error means that another look will fail too, for example if the slot was dropped.
    pub(super) fn peek(&mut self) -> Result<Option<Peeked>> {
        if Instant::now() < self.next {
            return Ok(None);
        }

        match self.look() {
            Ok(found) => {
                // After messages the next look is at once: a peek does not return all of them.
                let wait = match found {
                    Some(_) => Duration::ZERO,
                    None => LOOK,
                };
                self.pause = PAUSES[0];
                self.next = Instant::now() + wait;
                Ok(found)
            }
            Err(SlotFailure::Refused(error)) => Err(error),
            Err(SlotFailure::Server(error)) => {
                self.later(&error);
                Ok(None)
            }
        }
    }

    /// Asks the server for messages, unless its log has not grown since nothing was found.
    fn look(&mut self) -> Result<Option<Peeked>, SlotFailure> {
        self.connect()?;
        let Some(client) = &mut self.client else {
            return Ok(None);
        };

        // Asked before the messages: if there are none, nothing up to this end is a change.
        let end = server::end_of_log(client)?;
        if self.looked == Some(end) {
            return Ok(None);
        }

        let found = loop {
            match server::peek(client, &self.options, self.at_once, MOST_BYTES)? {
                Some(found) => break found,
                None if self.at_once > 1 => self.at_once /= 2,
                None => {
                    let found = format!("a transaction of more than {MOST_BYTES} bytes");
                    return Err(self.refused(format!(
                        "{found}: expected shorter ones; build the database again"
                    )));
                }
            }
        };

        if found.is_empty() {
            self.looked = Some(end);

            // Not at every look: an advance writes a durable note and asks the server.
            if end.saturating_sub(self.confirmed) >= PASSED_BYTES {
                self.pass(end)?;
            }
            return Ok(None);
        }

        self.deferrable = server::deferrable_keys(client, &self.table)?;
        Ok(Some(Peeked(found)))
    }

    /// Converts messages to rows of all transactions after the place `from`. `stated` is the place
    /// that the database states now. Changes that do not state what happens to every key are
    /// refused, and so is a database that was replaced by one without the changes that were
    /// followed.
    pub(super) fn accept(
        &mut self,
        peeked: &Peeked,
        from: Option<&Followed>,
        stated: Option<&Followed>,
        columns: &ChangeColumns,
    ) -> Result<Option<Arrived>> {
        self.more = false;
        self.check_database(stated, columns)?;

        let followed = rows::Followed {
            table: &self.table,
            columns,
        };
        let all =
            rows::transactions(&peeked.0, &followed).map_err(|reason| self.unreadable(reason))?;

        // The slot may begin before this place: it advances after a version is durable, and a crash
        // in between leaves it behind.
        let start = bytes_at(from);
        let new: Vec<_> = all
            .into_iter()
            .filter(|transaction| transaction.end > start)
            .collect();
        let Some(end) = new.last().map(|transaction| transaction.end) else {
            // The slot was not told of the newest place.
            self.unchanged(start)?;
            return Ok(None);
        };

        let rows: String = new
            .into_iter()
            .map(|transaction| transaction.rows)
            .collect();
        if rows.is_empty() {
            self.unchanged(end)?;
            return Ok(None);
        }

        let lines = from.map_or(0, |from| from.lines);
        Ok(Some(self.arrived(rows, lines, end)))
    }

    /// Rows after `lines` earlier ones, up to the place `end`.
    fn arrived(&self, rows: String, lines: u64, end: u64) -> Arrived {
        let count = rows.bytes().filter(|&byte| byte == b'\n').count() as u64;
        let after = Followed {
            bytes: end,
            lines: lines + count,
            before: self.identity.clone(),
        };

        Arrived {
            header: Vec::new(),
            rows: rows.into_bytes(),
            lines,
            after: Some(after),
        }
    }

    /// Refuses a database that is older than before, and a key that two rows can have for a time.
    fn check_database(&self, stated: Option<&Followed>, columns: &ChangeColumns) -> Result<()> {
        // The server may have forgotten its log up to the later place: these changes cannot be
        // fetched again.
        if bytes_at(stated) < bytes_at(self.stated.as_ref()) {
            return Err(self.unreadable(REPLACED));
        }

        if self.deferrable.contains(&columns.key) {
            let table = &self.table;
            let key = &columns.key;
            let expected = "one that is not deferrable, and a database that is built after that";
            return Err(self.unreadable(format!(
                "`{key}` of {table} is unique by a deferrable constraint: expected {expected}"
            )));
        }
        Ok(())
    }

    /// Lets the server forget its log up to the place of a version that is durable. If that fails,
    /// the server forgets it after the next version.
    pub(super) fn published(&mut self, at: &Followed) {
        self.stated = Some(at.clone());
        // Back to more messages after a large transaction, step by step.
        self.at_once = (2 * self.at_once).min(AT_ONCE);

        if self.advance(at.bytes).is_err() {
            self.client = None;
        }
    }

    /// Lets the server forget its log up to a place before which nothing changes the database. Only
    /// a place that cannot be noted is an error.
    pub(super) fn unchanged(&mut self, end: u64) -> Result<()> {
        match self.pass(end) {
            Err(SlotFailure::Refused(error)) => Err(error),
            Err(SlotFailure::Server(_)) => {
                self.client = None;
                Ok(())
            }
            Ok(()) => {
                self.more = true;
                Ok(())
            }
        }
    }

    /// Advances to `end`. No change lies between the place that the version states and `end`.
    fn pass(&mut self, end: u64) -> Result<(), SlotFailure> {
        // Noted first: an advanced slot without a note is refused, since it may have lost changes.
        if let Some(stated) = &self.stated {
            self.passed
                .note(&self.identity, stated.bytes, end)
                .map_err(SlotFailure::Refused)?;
        }
        self.advance(end)
    }

    fn advance(&mut self, to: u64) -> Result<(), SlotFailure> {
        self.connect()?;
        if let Some(client) = &mut self.client {
            server::advance(client, &self.options.slot, to)?;
            self.confirmed = self.confirmed.max(to);
        }
        Ok(())
    }

    /// Connects, unless there is a connection, and checks that the slot is the one that was
    /// followed and has not advanced beyond what is known.
    fn connect(&mut self) -> Result<(), SlotFailure> {
        if self
            .client
            .as_ref()
            .is_some_and(|client| !client.is_closed())
        {
            return Ok(());
        }

        // Looked up at every connection: another session may have dropped the slot or changed the
        // publication.
        let mut client = self.connector.connect()?;
        let found = self.find_slot(&mut client)?;
        self.table = self.find_table(&mut client)?;
        self.identity = self.identity_on(&found.server);

        // The client is kept only after this check: without one, the next look checks again.
        self.check_place(found.confirmed)?;
        self.confirmed = found.confirmed;
        self.client = Some(client);
        Ok(())
    }

    /// The slot on the server, with the expected plugin and all of its log.
    fn find_slot(&self, client: &mut Client) -> Result<ServerSlot, SlotFailure> {
        let slot = &self.options.slot;
        let Some(found) = slot_of(client, slot)? else {
            let made = format!("SELECT pg_create_logical_replication_slot('{slot}', '{PLUGIN}')");
            let again = if self.stated.is_some() {
                ", and a database that is built after that"
            } else {
                ""
            };
            return Err(self.refused(format!(
                "no slot `{slot}` in this database: expected one, made by {made}{again}"
            )));
        };

        if found.plugin != PLUGIN {
            let plugin = found.plugin;
            return Err(self.refused(format!(
                "the slot `{slot}` uses {plugin}: expected {PLUGIN}"
            )));
        }
        // The server may remove log that a slot needs, by its own limit, and says so only here.
        if found.lost {
            let again = "make another one, and build the database again";
            return Err(self.refused(format!("the slot `{slot}` has lost its log: {again}")));
        }
        Ok(found)
    }

    /// The table of the publication, with its schema.
    fn find_table(&self, client: &mut Client) -> Result<String, SlotFailure> {
        let publication = &self.options.publication;
        match table_of(client, publication)? {
            Published::Table(table) => Ok(table),
            Published::Other(found) => {
                let expected = "a publication of one table with all of its rows, inserts, updates, deletes and \
                     truncations";
                Err(self.refused(format!(
                    "the publication `{publication}` {found}: expected {expected}"
                )))
            }
        }
    }

    /// Hash of the server's identity and the names of slot and publication.
    fn identity_on(&self, server: &str) -> String {
        let SlotOptions {
            slot, publication, ..
        } = &self.options;
        // Places of another server, or after a failover, count another log.
        let text = format!("{server}\n{slot}\n{publication}");
        blake3::hash(text.as_bytes()).to_hex().to_string()
    }

    /// Checks that the slot has the changes after the place that the database states.
    fn check_place(&self, confirmed: u64) -> Result<(), SlotFailure> {
        let Some(stated) = &self.stated else {
            return Ok(());
        };

        if stated.before != self.identity {
            let expected = "the source that was followed, or a database that is built again";
            return Err(self.refused(format!(
                "another server, slot or publication: expected {expected}"
            )));
        }

        // A slot beyond this place advanced for another reason, and its changes are lost.
        let known = self.passed.after(&self.identity, stated.bytes);
        if confirmed > known {
            let found = place(confirmed);
            let known = place(known);
            let missing = "what lies between is lost, so build the database again";
            return Err(self.refused(format!(
                "the slot begins at {found}: expected at most {known}; {missing}"
            )));
        }
        Ok(())
    }

    /// Keeps a temporary failure for the caller, and sets the time of the next look.
    fn later(&mut self, error: &postgres::Error) {
        self.client = None;
        self.trouble = Some(format!(
            "{}: trying again in {} s",
            self.unreachable(error),
            self.pause.as_secs()
        ));

        self.next = Instant::now() + self.pause;
        self.pause = (2 * self.pause).min(PAUSES[1]);
    }

    fn unreachable(&self, error: &postgres::Error) -> Error {
        let source = std::io::Error::other(reason(error));
        CoreError::Io {
            what: format!("following {}", self.options.login.shown()),
            source,
        }
        .into()
    }

    fn unreadable(&self, reason: impl Into<String>) -> Error {
        Error::Unreadable {
            file: self.options.login.shown(),
            reason: reason.into(),
        }
    }

    fn refused(&self, reason: String) -> SlotFailure {
        SlotFailure::Refused(self.unreadable(reason))
    }
}

/// The place in the log after the changes of a database; 0 before the first one.
fn bytes_at(place: Option<&Followed>) -> u64 {
    place.map_or(0, |place| place.bytes)
}

/// The error for a request that the server refuses.
fn refusal(error: &postgres::Error) -> Error {
    Error::Unreadable {
        file: "PostgreSQL".to_owned(),
        reason: reason(error),
    }
}
