//! Options of a build.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use papir_checkpoint::{Certificate, Leaf, Log};
use papir_core::erased::ErasedScheme;
use papir_core::{Error as CoreError, FailureBound, FileLock, Goal, NotPrivate, OwnerKey, Privacy};
use papir_lookup::prefilter::check_bits;
use papir_lookup::{BucketTarget, MAX_VALUE_BYTES, OnDuplicate};
use papir_schemes::default_scheme::{ClientsMaySee, DEFAULT, REFERENCE};
use papir_schemes::depir::evaluation::Tables;
use papir_schemes::registry;

use super::tasks::TaskOptions;
use crate::delta::lock_deltas;
use crate::error::{Error, Result};
use crate::file::{is_standard_input, stem_of};
use crate::postgres::Login;
use crate::publish::check_output;
use crate::snapshot::{Sign, Signing, check_name};
use crate::source::{
    Columns, Deletes, Format, Given, KeyForm, RowsRequest, Selection, TextForm, check_files,
    format_of_content,
};
use crate::versions::{log_to_continue, refuse_published, stored_log};

/// The least memory of a build in bytes: buffers, and a pack with its masks for each thread of this
/// machine (`RAYON_NUM_THREADS`).
pub fn least_memory() -> u64 {
    const BUFFERS: u64 = 64 << 20;
    const PACK: u64 = 96 << 20;
    BUFFERS + PACK * rayon::current_num_threads() as u64
}

/// Options of a build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The source: a file, a folder, or `-` for standard input. It must not change during the
    /// build.
    pub source: PathBuf,
    /// More files of the same format, with the requested columns: their rows follow in this order.
    pub more: Vec<PathBuf>,
    /// The rows of a table in this program, instead of a source to read. `source` then names them
    /// in errors and metadata.
    pub given: Option<Given>,
    /// Its format; `None` detects it by name. Standard input needs a format.
    pub format: Option<Format>,
    /// The form of a text source.
    pub text: TextForm,
    /// The table of an SQLite source; optional if it has only one.
    pub table: Option<String>,
    /// A query of an SQLite source, instead of a table; required for a server.
    pub query: Option<String>,
    /// The PostgreSQL server that runs the query. `source` is then its address.
    pub server: Option<Login>,
    /// The key column. Without one, records are looked up by index. Folders have their own keys.
    pub key: Option<String>,
    /// The form that all keys must have.
    pub keys: KeyForm,
    /// The value columns; several become one JSON object.
    pub values: Vec<String>,
    /// Length of a record in bytes, if records are looked up by index. Required for raw sources.
    /// For other sources the default is the length of the longest value. Shorter values are padded
    /// with zeros.
    pub record_bytes: Option<u64>,
    /// Maximum number of bad rows to skip. The report names them. One more fails the build.
    pub skip_bad: u64,
    /// The scheme's name, or [`DEFAULT`] to choose it by the records, as
    /// [`papir_schemes::default_scheme`] describes. Labels, batches, tables, tasks and an order of
    /// records belong to one scheme: with them, [`DEFAULT`] is [`REFERENCE`].
    pub scheme: String,
    /// The records that each client may see, if the scheme is chosen by the records.
    pub clients_may_see: ClientsMaySee,
    /// The goal that its parameters are chosen for.
    pub goal: Goal,
    /// The largest allowed probability that an answer does not decode.
    pub failure: FailureBound,
    /// Places neighbouring records in the same rows of the matrix, in schemes that can: a run of
    /// changed records then changes few rows of the public part. Later versions keep the order.
    pub rows_first: bool,
    /// Maximum number of records per batch; `None` for a scheme without batches.
    pub batch: Option<usize>,
    /// The rule for keys that have several entries.
    pub on_duplicate: OnDuplicate,
    /// Length of a bucket of keys; `None` chooses it for the scheme and the goal.
    pub bucket: Option<BucketTarget>,
    /// Label of the scheme's parameters, one of those that the planner prints; `None` chooses them
    /// for the goal.
    pub params: Option<String>,
    /// Evaluates by tables of these variables, in schemes that have tables.
    pub tables: Option<Tables>,
    /// With tables, keeps finished ones in this folder, from which an interrupted build continues.
    /// With a limit of memory, the folder of the build is in this folder, and not beside `out`.
    pub scratch: Option<PathBuf>,
    /// The memory of the build in bytes, at least [`least_memory`], without pages of mapped files;
    /// `None` for as much as it needs. Everything that grows with the database is then in a folder
    /// beside `out` or in `scratch`, which no other program may change during the build. An
    /// interrupted build continues there.
    pub memory: Option<u64>,
    /// Has tasks on many machines prepare the matrices, for a build with a limit of memory; all
    /// machines have the folder of `out`, or `scratch`.
    pub tasks: Option<TaskOptions>,
    /// Adds to each record a proof against the database's root; see [`papir_lookup::Commitment`].
    pub verifiable: bool,
    /// Adds a filter of the keys with these bits, with which clients look up only keys that may
    /// exist; `None` for no filter. The service then learns of a request that its client looked up
    /// a key that is probably present; see [`papir_lookup::prefilter`].
    pub prefilter: Option<u8>,
    /// Free room of the keyword table for keys added by later updates, in per cent.
    pub room: u32,
    /// The snapshot file; an existing one is replaced. It must not be the source. In the folder of
    /// a source, it and the files beside it are no records.
    pub out: PathBuf,
    /// Replaces a file at `out` that papir did not write.
    pub force: bool,
    /// The database's name; `None` takes the stem of the snapshot file.
    pub name: Option<String>,
    /// Allows schemes without privacy.
    pub allow_not_private: bool,
    /// The owner's key to encrypt records with, in the scheme over encrypted databases,
    /// [`registry::ENCRYPTED`].
    pub encrypt: Option<OwnerKey>,
    /// Signs the version with this key; `None` for an unsigned one.
    pub sign: Option<Sign>,
    /// The signed snapshot whose log this version extends; `None` for the file at `out`, if it
    /// exists.
    pub former: Option<PathBuf>,
    /// Allows an unsigned version in place of a signed one. Clients that pin its owner's key
    /// refuse it.
    pub unsigned: bool,
}

impl BuildOptions {
    /// Options with every default. The scheme is chosen by the records.
    pub fn new(source: impl Into<PathBuf>, out: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            more: Vec::new(),
            given: None,
            format: None,
            text: TextForm::default(),
            table: None,
            query: None,
            server: None,
            key: None,
            keys: KeyForm::default(),
            values: Vec::new(),
            record_bytes: None,
            skip_bad: 0,
            scheme: DEFAULT.to_owned(),
            clients_may_see: ClientsMaySee::default(),
            goal: Goal::default(),
            failure: FailureBound::default(),
            rows_first: false,
            batch: None,
            on_duplicate: OnDuplicate::default(),
            bucket: None,
            params: None,
            tables: None,
            scratch: None,
            memory: None,
            tasks: None,
            verifiable: false,
            prefilter: None,
            room: 0,
            out: out.into(),
            force: false,
            name: None,
            allow_not_private: false,
            encrypt: None,
            sign: None,
            former: None,
            unsigned: false,
        }
    }

    /// The database's name.
    pub(super) fn name(&self) -> String {
        self.name.clone().unwrap_or_else(|| stem_of(&self.out))
    }

    /// The log of the former version, which this one continues if it is signed. Refuses an unsigned
    /// version in place of a signed one, and a former version without a log.
    pub(super) fn former_log(&self) -> Result<Option<Log>> {
        let sign = self.sign.as_ref();
        let Some(former) = &self.former else {
            return match stored_log(&self.out) {
                Ok(log) => log_to_continue(log, &self.out, sign, self.unsigned),
                Err(error) if self.replaces(&error) => {
                    log_to_continue(None, &self.out, sign, self.unsigned)
                }
                Err(error) => Err(error),
            };
        };
        if sign.is_none() {
            return Err(Error::options(
                "a log to continue without a key",
                "a key to sign with",
            ));
        }

        // The former file may be elsewhere, and `out` a first version: only its log continues.
        let log = log_to_continue(stored_log(former)?, former, sign, self.unsigned)?;
        let log = log.ok_or_else(|| {
            Error::options(
                format!("{} without a checkpoint", former.display()),
                "a signed database, to continue its log",
            )
        })?;
        Ok(Some(log))
    }

    /// The signature to be made as the next one of the former version's log; `None` without a key.
    pub(super) fn signing(&self, former: Option<Log>) -> Result<Option<Signing<'_>>> {
        Signing::of(self.sign.as_ref(), former, &self.name(), &self.out)
    }

    /// Waits until no other program publishes at `out`, and refuses this version if the log that it
    /// continues, `former`, has changed meanwhile. Others wait until the result is dropped.
    pub(super) fn exclude_others(&self, former: &Option<Log>) -> Result<Option<FileLock>> {
        // A first version has no delta, and without a signature no log.
        let needed = self.sign.is_some() || self.out.exists();
        let lock = if needed {
            lock_deltas(&self.out)?
        } else {
            None
        };

        // Read again under the lock: the first reading was before the build, which may take hours.
        let now = self.former_log()?;
        let file = self.former.as_deref().unwrap_or(&self.out);
        refuse_published(file, &continued(former.as_ref()), &continued(now.as_ref()))?;
        Ok(lock)
    }

    /// Returns whether a build may replace the file at `out` although its log could not be read. A
    /// signed build replaces no damaged snapshot: it would start a new log, whose sequences are
    /// below those that clients have seen.
    fn replaces(&self, error: &Error) -> bool {
        match error {
            Error::Core(CoreError::Io { source, .. }) if source.kind() == ErrorKind::NotFound => {
                true
            }
            // These are refusals, not damage: the file can be read.
            Error::Signed { .. } | Error::Options { .. } => false,
            _ => self.sign.is_none(),
        }
    }

    /// The format of the source: the given one, or by its name.
    pub fn format(&self) -> Format {
        if self.server.is_some() {
            return Format::Postgres;
        }
        match (&self.given, self.format) {
            (Some(_), _) => Format::Given,
            (None, Some(format)) => format,
            (None, None) if self.record_bytes.is_some() => Format::of_records(&self.source),
            (None, None) => Format::of(&self.source),
        }
    }

    /// Sets the format from the first bytes of the source, if neither the options nor its name tell
    /// it. A format that the bytes do not tell either stays open.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`], and [`Error::MissingFeature`] for a compressed source.
    pub fn tell_format(&mut self) -> Result<()> {
        let is_named = self.format.is_some() || self.format() != Format::Raw;
        // Records with a length are raw, whatever they begin with.
        let is_raw = self.record_bytes.is_some() || is_standard_input(&self.source);
        if !is_named && !is_raw {
            self.format = format_of_content(&self.source)?;
        }
        Ok(())
    }

    /// Returns whether the build chooses the scheme once it has counted the records.
    pub(super) fn chooses_scheme(&self) -> bool {
        // A label is one of a scheme's, and the others need a scheme with a capability.
        let needs_one = self.params.is_some()
            || self.batch.is_some()
            || self.tables.is_some()
            || self.tasks.is_some()
            || self.rows_first;
        self.scheme == DEFAULT && !needs_one
    }

    /// The name of the scheme; that of the reference until one is chosen.
    fn scheme_name(&self) -> &str {
        if self.scheme == DEFAULT {
            REFERENCE
        } else {
            &self.scheme
        }
    }

    /// The scheme, or the reference until one is chosen, checked against the permission for schemes
    /// without privacy.
    pub(super) fn scheme(&self) -> Result<Box<dyn ErasedScheme>> {
        let scheme = registry::by_name(self.scheme_name())?;
        match scheme.properties().privacy {
            Privacy::NotPrivate(reason) if !self.allow_not_private => Err(CoreError::NotPrivate {
                scheme: scheme.name(),
                reason,
            }
            .into()),
            // `allow_insecure` does not affect a private scheme.
            _ => Ok(scheme
                .allow_insecure(NotPrivate::acknowledged())
                .with_owner_key(self.encrypt.as_ref())),
        }
    }

    /// Refuses a key for a scheme without encryption, encryption without a key, and a commitment to
    /// encrypted records.
    fn check_key(&self) -> Result<()> {
        // Only this scheme encrypts. A key beside another one would be ignored, and the records be
        // served in the clear.
        let encrypted = self.scheme_name() == registry::ENCRYPTED;

        match &self.encrypt {
            None if encrypted => Err(Error::options(
                format!("{} without a key", self.scheme_name()),
                "the owner's",
            )),
            Some(_) if !encrypted => Err(Error::options(
                format!("a key to encrypt under with {}", self.scheme_name()),
                registry::ENCRYPTED,
            )),
            Some(_) if self.verifiable => {
                let found = "a commitment to encrypted records";
                Err(Error::options(
                    found,
                    "one or the other: the commitment's hashes reveal something about the records",
                ))
            }
            _ => Ok(()),
        }
    }

    /// Refuses a filter of no keys, of keys that are secret, and of other bits.
    fn check_prefilter(&self) -> Result<()> {
        let Some(bits) = self.prefilter else {
            return Ok(());
        };
        check_bits(bits)?;

        if self.encrypt.is_some() {
            return Err(Error::options(
                "a prefilter of an encrypted database",
                "none: it would show the service which keys there are",
            ));
        }
        if !self.keyed() {
            return Err(Error::options(
                "a prefilter of a database without keys",
                "a key column",
            ));
        }
        Ok(())
    }

    /// Returns whether records are looked up by key.
    pub(super) fn keyed(&self) -> bool {
        self.key.is_some() || self.format().has_keys()
    }

    /// The request for the source's rows.
    pub(super) fn request(&self) -> RowsRequest<'_> {
        let columns = Columns {
            key: self.key.as_deref(),
            values: &self.values,
            deletes: Deletes::None,
        };
        let selection = match (&self.server, &self.query, &self.table) {
            (Some(server), query, _) => Selection::OfServer(server, query.as_deref().unwrap_or("")),
            (None, Some(query), _) => Selection::Query(query),
            (None, None, Some(table)) => Selection::Table(table),
            (None, None, None) => Selection::Whole,
        };
        // A value that is too long is refused as it is read, before it takes memory among the
        // others.
        let limit = if self.keyed() {
            Some(MAX_VALUE_BYTES as u64)
        } else {
            self.record_bytes
        };

        RowsRequest {
            path: &self.source,
            more: &self.more,
            format: self.format(),
            text: &self.text,
            columns,
            keys: &self.keys,
            selection,
            given: self.given.as_ref(),
            out: Some(&self.out),
            longest: limit.unwrap_or(u64::MAX),
            skip_bad: self.skip_bad,
        }
    }

    /// Refuses an output that is the source, if that is read, or that papir did not write.
    pub(super) fn check_output(&self, is_read: bool) -> Result<()> {
        // Rows of a program have a name there and no file.
        let inputs: Vec<&Path> = if is_read {
            self.files().collect()
        } else {
            Vec::new()
        };
        check_output(&self.out, &inputs, self.force)
    }

    /// The files of the source, in order.
    pub(super) fn files(&self) -> impl Iterator<Item = &Path> {
        let more = self.more.iter().map(PathBuf::as_path);
        std::iter::once(self.source.as_path()).chain(more)
    }

    /// Refuses several files that are not one source.
    fn check_files(&self, format: Format) -> Result<()> {
        if self.more.is_empty() {
            return Ok(());
        }
        if matches!(
            format,
            Format::Folder | Format::Raw | Format::Given | Format::Postgres
        ) {
            return Err(Error::options(
                format!("several {} sources", format.name()),
                "one, or files with rows",
            ));
        }

        check_files(self.files(), self.format, format)
    }

    /// Refuses options that contradict each other.
    pub(super) fn check(&self) -> Result<()> {
        if let Some(name) = &self.name {
            check_name(name)?;
        }
        // Before the source is looked at: these refusals need no file, and a missing file would
        // hide them.
        self.check_key()?;
        self.check_prefilter()?;
        self.check_tasks()?;
        self.check_memory()?;

        let format = self.format();
        self.check_files(format)?;
        self.check_source(format)?;
        self.text.check(format)?;
        self.check_table()?;
        self.check_record_bytes(format)?;
        self.check_selection(format)
    }

    /// Refuses a source that does not fit its format or its columns.
    fn check_source(&self, format: Format) -> Result<()> {
        if self.server.is_some() && (self.given.is_some() || self.format.is_some()) {
            return Err(Error::options(
                "a format or given rows beside a server",
                "none: its query has columns",
            ));
        }
        if self.given.is_some() && self.format.is_some() {
            return Err(Error::options(
                "a format of given rows",
                "none: they have columns",
            ));
        }
        self.check_stream(format)?;
        format.check_support(&self.source)?;

        let columns = self.key.is_some() || !self.values.is_empty();
        if !format.has_columns() && columns {
            return Err(Error::options(
                format!("key or value columns of a {} source", format.name()),
                "a source of columns",
            ));
        }
        // Without columns, every record would be empty.
        if format.has_columns() && !columns {
            return Err(Error::options(
                format!("a {} source without columns", format.name()),
                "a key column, value columns, or both",
            ));
        }
        Ok(())
    }

    /// Refuses options of a keyed table without keys, and of the scheme's tables without tables.
    fn check_table(&self) -> Result<()> {
        if self.room > 0 && !self.keyed() {
            return Err(Error::options(
                "room for new keys in a database without keys",
                "a key column",
            ));
        }

        if self.keys != KeyForm::default() && !self.keyed() {
            return Err(Error::options(
                "a form of keys in a database without keys",
                "a key column",
            ));
        }

        // Each of the three chooses the parameters alone.
        if self.tables.is_some() && (self.params.is_some() || self.batch.is_some()) {
            return Err(Error::options(
                "tables beside parameters by label or batches",
                "one of them",
            ));
        }
        if self.scratch.is_some() && self.tables.is_none() && self.memory.is_none() {
            return Err(Error::options(
                "a folder for scratch files",
                "tables to keep there, or a limit of memory",
            ));
        }

        if self.bucket.is_some() && !self.keyed() {
            return Err(Error::options(
                "a bucket length for a database without keys",
                "a key column",
            ));
        }
        Ok(())
    }

    /// Refuses a raw source without a record length, and a record length for a database of keys.
    fn check_record_bytes(&self, format: Format) -> Result<()> {
        match self.record_bytes {
            None if format == Format::Raw => Err(Error::options(
                format!("a {} source", format.name()),
                "its record length in bytes",
            )),
            Some(_) if self.keyed() => Err(Error::options(
                "a record length for a database of keys",
                "none: it is chosen from the values",
            )),
            _ => Ok(()),
        }
    }

    /// Refuses a limit of memory where it would not hold.
    fn check_memory(&self) -> Result<()> {
        let Some(memory) = self.memory else {
            return match &self.tasks {
                Some(_) => Err(Error::options(
                    "tasks without a limit of memory",
                    "that of each task",
                )),
                None => Ok(()),
            };
        };

        // Buffers and packs would exceed a smaller limit.
        let least = least_memory();
        if memory < least {
            let expected = format!(
                "at least {least} for {} threads",
                rayon::current_num_threads()
            );
            return Err(CoreError::out_of_bounds(
                "the number of bytes of memory",
                memory,
                expected,
            )
            .into());
        }

        // Only a scheme that takes its large buffers from the folder of the build keeps the limit.
        let found = match (
            self.batch,
            &self.tables,
            self.scheme()?.properties().bounded_memory,
        ) {
            (Some(_), ..) => "batches with a limit of memory".to_owned(),
            (_, Some(_), _) => "tables with a limit of memory".to_owned(),
            (_, _, false) => format!("{} with a limit of memory", self.scheme_name()),
            _ => return Ok(()),
        };

        let names = names_of(|scheme| scheme.properties().bounded_memory);
        Err(Error::options(
            found,
            format!("{names}, without batches or tables"),
        ))
    }

    /// Refuses tasks that could not prepare this database.
    fn check_tasks(&self) -> Result<()> {
        let found = match &self.tasks {
            Some(tasks)
                if tasks.read_rows
                    && (self.given.is_none()
                        || self.key.is_none()
                        || self.keys != KeyForm::default()
                        || self.skip_bad > 0) =>
            {
                let expected = "rows of a program, with a key column, none checked or skipped";
                return Err(Error::options("rows that tasks read", expected));
            }
            Some(_) if self.verifiable => "tasks for a verifiable database".to_owned(),
            Some(_) if !by_tasks(&*self.scheme()?) => format!("tasks for {}", self.scheme_name()),
            _ => return Ok(()),
        };

        let names = names_of(by_tasks);
        Err(Error::options(found, format!("{names}, not verifiable")))
    }

    /// Refuses a table or a query where there is none to select.
    fn check_selection(&self, format: Format) -> Result<()> {
        match (&self.table, &self.query) {
            (Some(_), Some(_)) => Err(Error::options("a table and a query", "one of them")),
            (_, None) if format == Format::Postgres => Err(Error::options(
                "a PostgreSQL server without a query",
                "one, as in `SELECT word, meaning FROM words`",
            )),
            (None, None) => Ok(()),
            _ if matches!(format, Format::Sqlite | Format::Postgres) => Ok(()),
            _ => Err(Error::options(
                format!("a table or query of a {} source", format.name()),
                "sqlite, or a PostgreSQL server",
            )),
        }
    }

    /// Refuses standard input without a format that can be read from a stream.
    fn check_stream(&self, format: Format) -> Result<()> {
        // The name `-` of a source says nothing about its format, and a stream cannot be read twice
        // to find out.
        let named = self.given.is_some() || !is_standard_input(&self.source);
        if named || self.format.is_some() && format.streams() {
            return Ok(());
        }

        let found = self.format.map_or("no format", Format::name);
        Err(Error::options(
            format!("{found} for standard input"),
            "csv, tsv, jsonl, list, pairs, hosts, arrow or raw",
        ))
    }
}

/// The parts of a log that the next leaf continues. Cosignatures are left out: they may arrive
/// during a build.
fn continued(log: Option<&Log>) -> Option<(&[Leaf], &[Certificate])> {
    log.map(|log| (log.leaves(), log.certificates()))
}

/// True if tasks can prepare databases of a scheme.
fn by_tasks(scheme: &dyn ErasedScheme) -> bool {
    scheme
        .divided()
        .is_some_and(|divided| divided.tasks().is_ok())
}

/// The names of the schemes with a property, joined by `or`.
fn names_of(has: impl Fn(&dyn ErasedScheme) -> bool) -> String {
    let schemes = registry::all().into_iter().filter(|scheme| has(*scheme));
    let names: Vec<_> = schemes.map(|scheme| scheme.name()).collect();
    names.join(" or ")
}
