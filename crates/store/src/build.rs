//! From a source file to a snapshot file.

use std::path::PathBuf;
use std::time::SystemTime;

use papir_core::erased::{ErasedScheme, ErasedServer};
use papir_core::sections::SectionSink;
use papir_core::{Description, Error as CoreError, Goal, Privacy, Progress, Records, Result as CoreResult};
use papir_lookup::{BucketTarget, KeywordLayout, OnDuplicate, TableOptions, TableReport};
use papir_schemes::registry;
use rand_core::CryptoRng;

use crate::indexed::padded;
use crate::map::MappedRecords;
use crate::metadata::{Metadata, SourceSummary, timestamp};
use crate::publish::publish;
use crate::snapshot::{KEYWORD, METADATA, SCHEME};
use crate::source::{Columns, Format, rows};
use crate::{Error, Result};

/// What to build, from what, how.
#[derive(Clone, Debug)]
pub struct BuildOptions {
    /// The source file. It must not change during the build.
    pub source: PathBuf,
    /// Its format; told by its extension where `None`.
    pub format: Option<Format>,
    /// The column of keys; without one, records are looked up by index.
    pub key: Option<String>,
    /// The columns of values; several become one JSON object.
    pub values: Vec<String>,
    /// Bytes of one record, for records that are looked up by index. Raw sources need it; others
    /// take the longest value's length without it. Shorter values are followed by zero bytes.
    pub record_bytes: Option<u64>,
    /// The scheme's name.
    pub scheme: String,
    /// What its parameters are chosen for.
    pub goal: Goal,
    /// Several entries of one key.
    pub on_duplicate: OnDuplicate,
    /// Bytes of a bucket of keys.
    pub bucket: BucketTarget,
    /// The snapshot file, replaced if there is one.
    pub out: PathBuf,
    /// The database's name; the snapshot file's stem where `None`.
    pub name: Option<String>,
    /// Whether a scheme without privacy may be used.
    pub allow_not_private: bool,
}

impl BuildOptions {
    /// Options with every default, scheme `inspire`.
    pub fn new(source: impl Into<PathBuf>, out: impl Into<PathBuf>) -> Self {
        Self {
            source: source.into(),
            format: None,
            key: None,
            values: Vec::new(),
            record_bytes: None,
            scheme: "inspire".to_owned(),
            goal: Goal::default(),
            on_duplicate: OnDuplicate::default(),
            bucket: BucketTarget::default(),
            out: out.into(),
            name: None,
            allow_not_private: false,
        }
    }

    fn format(&self) -> Format {
        self.format.unwrap_or_else(|| Format::of(&self.source))
    }

    /// The scheme, if it may be used.
    fn scheme(&self) -> Result<&'static dyn ErasedScheme> {
        let scheme = registry::by_name(&self.scheme)?;
        match scheme.privacy() {
            Privacy::NotPrivate(reason) if !self.allow_not_private => {
                Err(CoreError::NotPrivate { scheme: scheme.name(), reason }.into())
            }
            _ => Ok(scheme),
        }
    }

    /// Refuses options that do not go together.
    fn check(&self) -> Result<()> {
        let columns = self.key.is_some() || !self.values.is_empty();
        match (self.format(), columns, self.record_bytes) {
            (Format::Raw, true, _) => {
                Err(Error::options("key or value columns of a raw source", "a csv or jsonl source"))
            }
            (Format::Raw, _, None) => Err(Error::options("a raw source", "its record length in bytes")),
            (_, true, Some(_)) if self.key.is_some() => Err(Error::options(
                "a record length for a database of keys",
                "none: it is chosen from the values",
            )),
            (Format::Csv | Format::JsonLines, false, _) => {
                let found = format!("a {} source without columns", self.format().name());
                Err(Error::options(found, "a key column, value columns, or both"))
            }
            _ => Ok(()),
        }
    }
}

/// What a build gave.
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// What the snapshot says of itself.
    pub metadata: Metadata,
    /// The scheme's sizes, security and parameters.
    pub description: Description,
    /// The keyword table's cost; `None` where records are looked up by index.
    pub table: Option<TableReport>,
    /// The snapshot's length in bytes.
    pub snapshot_bytes: u64,
}

/// Records ready for a scheme.
struct Content {
    records: Box<dyn Records>,
    /// Rows of the source.
    entries: u64,
    keyword: Option<(KeywordLayout, TableReport)>,
}

/// Builds a snapshot: reads the source, arranges the keys, prepares the scheme's database, writes.
/// The snapshot appears under its name only when it is complete and durable.
///
/// # Errors
/// [`CoreError::NotPrivate`], [`CoreError::UnknownScheme`], [`Error::Options`], those of the
/// source ([`Error::MissingColumn`], [`Error::Line`], [`Error::PartialRecord`], [`Error::Source`]
/// naming duplicate keys and long values by line), of the scheme, and [`CoreError::Io`].
pub fn build(
    options: &BuildOptions,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<BuildReport> {
    let scheme = options.scheme()?;
    let prepare: &Preparation<'_> =
        &|records, rng, progress| scheme.setup(records, options.goal, rng, progress);
    build_with(options, prepare, rng, progress)
}

/// How a database is prepared once its records are known, and so their shape.
pub type Preparation<'a> =
    dyn Fn(&dyn Records, &mut dyn CryptoRng, &dyn Progress) -> CoreResult<Box<dyn ErasedServer>> + 'a;

/// As [`build()`], but `prepare` takes the place of the options' scheme and goal, and answers for
/// its privacy.
///
/// # Errors
/// As [`build()`], and those of `prepare`.
pub fn build_with(
    options: &BuildOptions,
    prepare: &Preparation<'_>,
    rng: &mut dyn CryptoRng,
    progress: &dyn Progress,
) -> Result<BuildReport> {
    options.check()?;
    let content = read(options, rng, progress)?;
    let server = prepare(content.records.as_ref(), rng, progress)?;
    let metadata = metadata(options, &content, server.as_ref())?;
    let Content { records, keyword, .. } = content;
    // The scheme has its own copy by now; free this one before the snapshot is written.
    drop(records);
    let (layout, table) = keyword.unzip();
    let snapshot_bytes =
        write(options, rng.next_u64(), &metadata, layout.as_ref(), server.as_ref(), progress)?;
    Ok(BuildReport { metadata, description: server.describe(), table, snapshot_bytes })
}

fn read(options: &BuildOptions, rng: &mut dyn CryptoRng, progress: &dyn Progress) -> Result<Content> {
    let format = options.format();
    if format == Format::Raw {
        let records = MappedRecords::open(&options.source, options.record_bytes.unwrap_or_default())?;
        return Ok(Content { entries: records.shape().records(), records: Box::new(records), keyword: None });
    }
    let columns = Columns { key: options.key.as_deref(), values: &options.values };
    let rows = rows(&options.source, format, columns, progress)?;
    let entries = rows.len() as u64;
    if options.key.is_none() {
        let records = Box::new(padded(&rows, options.record_bytes, &options.source)?);
        return Ok(Content { records, entries, keyword: None });
    }
    let table = TableOptions { bucket: options.bucket, on_duplicate: options.on_duplicate };
    let table =
        papir_lookup::build(rows, &table, rng, progress).map_err(Error::of_source(&options.source))?;
    Ok(Content { records: Box::new(table.records), entries, keyword: Some((table.layout, table.report)) })
}

fn metadata(options: &BuildOptions, content: &Content, server: &dyn ErasedServer) -> Result<Metadata> {
    let bytes = std::fs::metadata(&options.source).map_err(Error::io("reading", &options.source))?.len();
    let lossy = |part: Option<&std::ffi::OsStr>| part.unwrap_or_default().to_string_lossy().into_owned();
    let description = server.describe();
    Ok(Metadata {
        name: options.name.clone().unwrap_or_else(|| lossy(options.out.file_stem())),
        created: timestamp(SystemTime::now()),
        papir: env!("CARGO_PKG_VERSION").to_owned(),
        source: SourceSummary {
            file: lossy(options.source.file_name()),
            format: options.format().name().to_owned(),
            bytes,
            entries: content.entries,
        },
        scheme: description.scheme.to_owned(),
        version: server.version().to_string(),
        records: description.shape.records(),
        record_bits: description.shape.record_bits(),
        keyword: content.keyword.as_ref().map(|(_, report)| report.into()),
    })
}

fn write(
    options: &BuildOptions,
    nonce: u64,
    metadata: &Metadata,
    layout: Option<&KeywordLayout>,
    server: &dyn ErasedServer,
    progress: &dyn Progress,
) -> Result<u64> {
    progress.stage("writing", 1);
    let json = serde_json::to_vec_pretty(metadata)
        .map_err(|error| CoreError::malformed("the metadata", error, "what JSON can say"))?;
    let length = publish(&options.out, nonce, |sink| {
        sink.put(METADATA, &[&json])?;
        layout.map_or(Ok(()), |layout| sink.put(KEYWORD, &[&layout.encode()]))?;
        Ok(server.save(&mut SchemeSections { sink })?)
    })?;
    progress.advance(1);
    Ok(length)
}

/// Gives the scheme's sections names of their own.
struct SchemeSections<'a> {
    sink: &'a mut dyn SectionSink,
}

impl SectionSink for SchemeSections<'_> {
    fn put(&mut self, name: &str, parts: &[&[u8]]) -> CoreResult<()> {
        self.sink.put(&format!("{SCHEME}{name}"), parts)
    }
}
