//! Builds a snapshot from a source.

use std::path::PathBuf;
use std::time::SystemTime;

use papir_core::erased::{ErasedScheme, ErasedServer};
use papir_core::{
    Description, Error as CoreError, Goal, NotPrivate, OwnerKey, Privacy, Progress, Records,
    Result as CoreResult,
};
use papir_lookup::{
    BucketTarget, Commitment, Entry, KeyIds, KeywordLayout, KeywordTable, MAX_VALUE_BYTES, OnDuplicate,
    TableOptions, TableReport,
};
use papir_schemes::registry::{self, OfBatches};
use rand_core::CryptoRng;

use crate::error::{Error, Result};
use crate::indexed::padded;
use crate::metadata::{KeywordSummary, Metadata, SourceSummary, timestamp};
use crate::names::{is_standard_input, name_of};
use crate::prove::prove;
use crate::save::{Keyword, Prepared, save};
use crate::source::{Columns, Deletes, Format, Request, Rows, Selection, SkippedRow, raw_records, rows};

/// Options of a build.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The source: a file, a folder, or `-` for standard input. It must not change during the
    /// build.
    pub source: PathBuf,
    /// Its format; `None` detects it by name, which standard input does not have.
    pub format: Option<Format>,
    /// The table of an SQLite source; optional if it has only one.
    pub table: Option<String>,
    /// A query of an SQLite source, instead of a table.
    pub query: Option<String>,
    /// The key column. Without one, records are looked up by index. Folders have their own keys.
    pub key: Option<String>,
    /// The value columns; several become one JSON object.
    pub values: Vec<String>,
    /// Bytes of a record, for records that are looked up by index. Required for raw sources; others
    /// default to the length of the longest value. Shorter values are padded with zeros.
    pub record_bytes: Option<u64>,
    /// Maximum number of bad rows to skip, each named in the report; one more fails the build.
    pub skip_bad: u64,
    /// The scheme's name.
    pub scheme: String,
    /// The goal that its parameters are chosen for.
    pub goal: Goal,
    /// Maximum number of records per batch, for batches over the scheme.
    pub batch: Option<usize>,
    /// The rule for keys that have several entries.
    pub on_duplicate: OnDuplicate,
    /// Length of a bucket of keys.
    pub bucket: BucketTarget,
    /// Whether every record carries a proof against the database's root; see
    /// [`papir_lookup::Commitment`].
    pub verifiable: bool,
    /// Free room of the keyword table for keys of later updates, in per cent.
    pub room: u32,
    /// The snapshot file; an existing one is replaced.
    pub out: PathBuf,
    /// The database's name; `None` takes the stem of the snapshot file.
    pub name: Option<String>,
    /// Whether a scheme without privacy is allowed.
    pub allow_not_private: bool,
    /// The owner's key that records are encrypted under, in the scheme over encrypted databases,
    /// [`registry::ENCRYPTED`].
    pub encrypt: Option<OwnerKey>,
}

impl BuildOptions {
    /// Options with every default, scheme `inspire`.
    pub fn new(source: impl Into<PathBuf>, out: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            format: None,
            table: None,
            query: None,
            key: None,
            values: Vec::new(),
            record_bytes: None,
            skip_bad: 0,
            scheme: "inspire".to_owned(),
            goal: Goal::default(),
            batch: None,
            on_duplicate: OnDuplicate::default(),
            bucket: BucketTarget::default(),
            verifiable: false,
            room: 0,
            out: out.into(),
            name: None,
            allow_not_private: false,
            encrypt: None,
        }
    }

    fn format(&self) -> Format {
        self.format.unwrap_or_else(|| Format::of(&self.source))
    }

    /// The scheme, if it is allowed.
    fn scheme(&self) -> Result<Box<dyn ErasedScheme>> {
        let scheme = registry::by_name(&self.scheme)?;
        match scheme.privacy() {
            Privacy::NotPrivate(reason) if !self.allow_not_private => {
                Err(CoreError::NotPrivate { scheme: scheme.name(), reason }.into())
            }
            // For a private scheme the permission changes nothing.
            _ => Ok(scheme.allow_insecure(NotPrivate::acknowledged()).with_owner_key(self.encrypt.as_ref())),
        }
    }

    /// Refuses a key without encryption, encryption without a key, and a commitment to encrypted
    /// records.
    fn check_key(&self) -> Result<()> {
        let encrypted = self.scheme == registry::ENCRYPTED;
        match &self.encrypt {
            None if encrypted => Err(Error::options(format!("{} without a key", self.scheme), "the owner's")),
            Some(_) if !encrypted => Err(Error::options(
                format!("a key to encrypt under with {}", self.scheme),
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

    /// Whether records are looked up by key.
    fn keyed(&self) -> bool {
        self.key.is_some() || self.format() == Format::Folder
    }

    /// The request for the source's rows.
    fn request(&self) -> Request<'_> {
        let columns = Columns { key: self.key.as_deref(), values: &self.values, deletes: Deletes::None };
        let selection = match (&self.query, &self.table) {
            (Some(query), _) => Selection::Query(query),
            (None, Some(table)) => Selection::Table(table),
            (None, None) => Selection::Whole,
        };
        let limit = if self.keyed() { Some(MAX_VALUE_BYTES as u64) } else { self.record_bytes };
        Request {
            path: &self.source,
            format: self.format(),
            columns,
            selection,
            longest: limit.unwrap_or(u64::MAX),
            skip_bad: self.skip_bad,
        }
    }

    /// Refuses options that contradict each other.
    fn check(&self) -> Result<()> {
        self.check_key()?;
        let (format, columns) = (self.format(), self.key.is_some() || !self.values.is_empty());
        let source = format!("a {} source", format.name());
        self.check_stream(format)?;
        format.check_support(&self.source)?;
        if !format.has_columns() && columns {
            return Err(Error::options(format!("key or value columns of {source}"), "a source of columns"));
        }
        if format.has_columns() && !columns {
            return Err(Error::options(
                format!("{source} without columns"),
                "a key column, value columns, or both",
            ));
        }
        if self.room > 0 && !self.keyed() {
            return Err(Error::options("room for new keys in a database without keys", "a key column"));
        }
        match self.record_bytes {
            None if format == Format::Raw => Err(Error::options(source, "its record length in bytes")),
            Some(_) if self.keyed() => {
                let expected = "none: it is chosen from the values";
                Err(Error::options("a record length for a database of keys", expected))
            }
            _ => Ok(()),
        }?;
        self.check_selection(format)
    }

    fn check_selection(&self, format: Format) -> Result<()> {
        match (&self.table, &self.query) {
            (Some(_), Some(_)) => Err(Error::options("a table and a query", "one of them")),
            (None, None) => Ok(()),
            _ if format == Format::Sqlite => Ok(()),
            _ => Err(Error::options(format!("a table or query of a {} source", format.name()), "sqlite")),
        }
    }

    fn check_stream(&self, format: Format) -> Result<()> {
        if !is_standard_input(&self.source) || self.format.is_some() && format.streams() {
            return Ok(());
        }
        let found = self.format.map_or("no format", Format::name);
        Err(Error::options(format!("{found} for standard input"), "csv, jsonl or raw"))
    }
}

/// Result of a build.
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// The snapshot's metadata.
    pub metadata: Metadata,
    /// The scheme's sizes, security and parameters.
    pub description: Description,
    /// Sizes of the keyword table; `None` if records are looked up by index.
    pub table: Option<TableReport>,
    /// Rows of the source that were skipped.
    pub skipped: Vec<SkippedRow>,
    /// The snapshot's length in bytes.
    pub snapshot_bytes: u64,
}

/// Records ready to be prepared by a scheme.
struct Content {
    records: Box<dyn Records>,
    /// Number of rows in the source.
    entries: u64,
    /// Bytes of the source.
    bytes: u64,
    skipped: Vec<SkippedRow>,
    keyword: Option<Keys>,
}

/// A keyword table without its buckets.
struct Keys {
    layout: KeywordLayout,
    ids: KeyIds,
    report: TableReport,
    /// The bucket target.
    bucket: BucketTarget,
}

/// Builds a snapshot: reads the source, arranges the keys, prepares the scheme's database and
/// writes the file. The snapshot appears under its name once it is complete and durable.
///
/// # Errors
/// [`CoreError::NotPrivate`], [`CoreError::UnknownScheme`], [`Error::Options`],
/// [`Error::MissingFeature`], those of the source ([`Error::MissingColumn`], [`Error::Line`],
/// [`Error::Row`], [`Error::Unreadable`], [`Error::PartialRecord`], [`Error::DuplicateKey`],
/// [`Error::Source`] naming duplicate keys by line), of the scheme, and [`CoreError::Io`].
pub fn build(
    options: &BuildOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<BuildReport> {
    let scheme = options.scheme()?;
    let batches = options.batch.map(|capacity| Ok((registry::batches_over(scheme.name())?, capacity)));
    let batches: Option<(OfBatches, usize)> = batches.transpose().map_err(Error::Core)?;
    let prepare: &Preparation<'_> = &|records, rng, progress| {
        let Some((batches, capacity)) = batches else {
            return scheme.setup(records, options.goal, rng, progress);
        };
        let candidate = batches.candidate(records.shape(), options.goal, capacity)?;
        batches.scheme.setup_candidate(&candidate.parameters, records, rng, progress)
    };
    build_for(options, Some(options.goal), prepare, rng, progress)
}

/// Prepares a database once its records, and so their shape, are known.
pub type Preparation<'a> =
    dyn Fn(&dyn Records, &mut dyn CryptoRng, &dyn Progress) -> CoreResult<Box<dyn ErasedServer>> + 'a;

/// As [`build()`], but `prepare` replaces the options' scheme and goal. The caller is responsible
/// for its privacy.
///
/// # Errors
/// As [`build()`], and those of `prepare`.
pub fn build_with(
    options: &BuildOptions,
    prepare: &Preparation<'_>,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<BuildReport> {
    build_for(options, None, prepare, rng, progress)
}

/// Builds, and records in the metadata the goal that parameters were chosen for, if any.
fn build_for(
    options: &BuildOptions,
    goal: Option<Goal>,
    prepare: &Preparation<'_>,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<BuildReport> {
    options.check()?;
    let content = read(options, rng, progress)?;
    let (server, commitment) = prove(options.verifiable, content.records.as_ref(), progress, |records| {
        Ok(prepare(records, rng, progress)?)
    })?;
    let metadata = metadata(options, goal, &content, server.as_ref(), commitment.as_ref())?;
    let Content { records, keyword, skipped, .. } = content;
    // The scheme has its own copy by now. Free this one before the snapshot is written.
    drop(records);
    let owner = options.encrypt.as_ref();
    let owned = keyword.as_ref().map(|keys| Keyword::new(owner, &keys.layout, &keys.ids, rng)).transpose()?;
    let commitment = commitment.as_ref();
    let prepared = Prepared { metadata: &metadata, keyword: owned, commitment, server: server.as_ref() };
    let snapshot_bytes = save(&options.out, rng.next_u64(), &prepared, || Ok(()), progress)?;
    let table = keyword.map(|keys| keys.report);
    Ok(BuildReport { metadata, description: server.describe(), table, skipped, snapshot_bytes })
}

/// The bucket target, reduced for a verifiable database so that one query retrieves bucket and
/// proof.
fn bucket(options: &BuildOptions, rows: &[Entry]) -> BucketTarget {
    let BucketTarget::Grow(bytes) = options.bucket else {
        return options.bucket;
    };
    if !options.verifiable {
        return options.bucket;
    }
    let entries: u64 = rows.iter().map(|row| row.value.len() as u64 + 8).sum();
    // An estimate: tables have free room, and shorter buckets mean more of them.
    let buckets = entries / u64::from(bytes.max(1)) * 5 / 4 + 1;
    let room = bytes.saturating_sub(papir_lookup::proof_bytes(buckets) as u32);
    BucketTarget::Grow(room.max(bytes / 2))
}

fn read(options: &BuildOptions, rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Content> {
    if options.format() == Format::Raw {
        return read_raw(options, progress);
    }
    let Rows { entries: rows, bytes, skipped } = rows(&options.request(), progress)?;
    let entries = rows.len() as u64;
    if !options.keyed() {
        let records = Box::new(padded(&rows, options.record_bytes, &options.source)?);
        return Ok(Content { records, entries, bytes, skipped, keyword: None });
    }
    let BuildOptions { on_duplicate, room, .. } = *options;
    let table = TableOptions { bucket: bucket(options, &rows), on_duplicate, room };
    let wish = table.bucket;
    let KeywordTable { layout, ids, report, records } =
        papir_lookup::build(rows, &table, rng, progress).map_err(|error| of_keys(options, error))?;
    let keyword = Some(Keys { layout, ids, report, bucket: wish });
    Ok(Content { records: Box::new(records), entries, bytes, skipped, keyword })
}

fn read_raw(options: &BuildOptions, progress: &dyn Progress) -> Result<Content> {
    let records = raw_records(&options.source, options.record_bytes.unwrap_or_default(), progress)?;
    let (entries, bytes) = (records.shape().records(), records.shape().total_bytes());
    Ok(Content { records, entries, bytes, skipped: Vec::new(), keyword: None })
}

/// Converts an error of the keyword table: in Parquet and SQLite sources, entries are rows, not
/// lines.
fn of_keys(options: &BuildOptions, error: papir_lookup::Error) -> Error {
    match (options.format(), error) {
        (Format::Parquet | Format::Sqlite, papir_lookup::Error::DuplicateKey { key, first, line }) => {
            Error::DuplicateKey { file: name_of(&options.source), key, first, row: line }
        }
        (_, error) => Error::of_source(&options.source)(error),
    }
}

fn metadata(
    options: &BuildOptions,
    goal: Option<Goal>,
    content: &Content,
    server: &dyn ErasedServer,
    commitment: Option<&Commitment>,
) -> Result<Metadata> {
    let layout = content.keyword.as_ref().map(|keys| &keys.layout);
    let lossy = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let description = server.describe();
    Ok(Metadata {
        name: options.name.clone().unwrap_or_else(|| lossy(options.out.file_stem())),
        created: timestamp(SystemTime::now()),
        papir: env!("CARGO_PKG_VERSION").to_owned(),
        source: SourceSummary {
            file: match options.source.file_name() {
                Some(name) if !is_standard_input(&options.source) => lossy(Some(name)),
                _ => name_of(&options.source),
            },
            format: options.format().name().to_owned(),
            // For an encrypted database it would reveal the lengths of keys and values.
            bytes: if options.encrypt.is_some() { 0 } else { content.bytes },
            entries: content.entries,
            skipped: content.skipped.len() as u64,
            key: options.key.clone(),
            values: options.values.clone(),
        },
        scheme: description.scheme.to_owned(),
        version: server.version().to_string(),
        records: description.shape.records(),
        record_bits: description.shape.record_bits(),
        root: commitment.map(|commitment| commitment.root(layout).to_string()),
        keyword: content.keyword.as_ref().map(|keys| {
            let summary = KeywordSummary::new(&keys.report, keys.bucket);
            if options.encrypt.is_some() { summary.concealed() } else { summary }
        }),
        goal: goal.map(|goal| goal.name().to_owned()),
        updated: None,
        updates: 0,
    })
}
