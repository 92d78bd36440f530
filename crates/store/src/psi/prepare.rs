//! Prepares a set for private intersection.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use papir_core::erased::ErasedServer;
use papir_core::scheme::Goal;
use papir_core::sections::SectionSink;
use papir_core::{Description, Run, Version};
use papir_lookup::oprf::Key;
use papir_lookup::psi::{Filter, Kind, Masked, mask};
use papir_lookup::{KeywordTable, TableOptions};
use papir_schemes::registry::{self, OfBatches};

use super::rows::rows;
use super::set::{FILTER, HEADER, KEY, PsiSummary};
use crate::error::{Error, Result};
use crate::file::{name_of, stem_of};
use crate::publish::{Keyword, Readers, SnapshotContents, check_output, publish, put};
use crate::snapshot::{KeywordSummary, Metadata, SourceSummary, timestamp};

/// Default number of lookups per batch; smaller for small tables.
const BATCH: u64 = 64;
/// Default number of a table's records per lookup of a batch.
const RECORDS_PER_LOOKUP: u64 = 64;

/// Options of preparing a set.
#[derive(Clone, Debug)]
pub struct PsiOptions {
    /// A text file of elements, one per line, or `-` for standard input.
    pub source: PathBuf,
    /// Reads a label from each line.
    pub labels: bool,
    /// The way in which receivers find their elements; `None` chooses the cheaper one. Labels are
    /// always looked up.
    pub kind: Option<Kind>,
    /// The scheme of the batched lookups.
    pub scheme: String,
    /// Number of lookups per batch.
    pub batch: Option<usize>,
    /// The file; an existing one is replaced. It must not be the source.
    pub out: PathBuf,
    /// Replaces a file at `out` that papir did not write.
    pub force: bool,
}

impl PsiOptions {
    /// Options with every default.
    pub fn new(source: impl Into<PathBuf>, out: impl Into<PathBuf>) -> Self {
        let source = source.into();
        let out = out.into();
        Self {
            source,
            labels: false,
            kind: None,
            scheme: "inspire".to_owned(),
            batch: None,
            out,
            force: false,
        }
    }
}

/// Result of preparing a set.
#[derive(Clone, Debug)]
pub struct PsiReport {
    /// Public facts about the set.
    pub summary: PsiSummary,
    /// Number of rows that repeat an earlier one.
    pub duplicates: u64,
    /// The filter's length in bytes, if receivers download one.
    pub filter_bytes: Option<u64>,
    /// The scheme's sizes and parameters, if receivers look elements up.
    pub description: Option<Description>,
    /// The file's length in bytes.
    pub file_bytes: u64,
}

/// Prepares a set under a fresh key. Masking takes about 60 µs per element and core. A set with
/// retrieval also needs the setup of a scheme.
///
/// # Errors
/// [`Error::Options`] for a filter of labels, errors of the source and of the scheme, and
/// [`papir_core::Error::Io`].
pub fn prepare(options: &PsiOptions, run: &mut Run<'_>) -> Result<PsiReport> {
    if options.labels && options.kind == Some(Kind::Filter) {
        return Err(Error::options(
            "a filter of a set with labels",
            "retrieval, or no labels",
        ));
    }

    // Before the elements are masked, which takes minutes for millions.
    let batches = registry::batches_over(&options.scheme)?;
    check_output(&options.out, &[&options.source], options.force)?;
    let rows = rows(&options.source, options.labels, run.progress)?;
    // Fresh for each set: elements of two sets masked under one key could be compared.
    let key = Key::generate(run.rng)?;
    let entries = rows.len() as u64;
    let masked = mask(&key, rows, options.labels, run.progress)
        .map_err(Error::of_source(&options.source))?;

    let set = Set {
        options,
        key,
        entries,
    };
    let kind = match options.kind {
        // A filter has no labels.
        _ if options.labels => Kind::Retrieval,
        // An empty set has no table.
        _ if masked.entries.is_empty() => Kind::Filter,
        Some(kind) => kind,
        None => set.cheaper(batches, &masked)?,
    };

    match kind {
        Kind::Filter => set.write_filter(&masked, run),
        Kind::Retrieval => set.write_table(batches, masked, run),
    }
}

/// A set being prepared.
struct Set<'a> {
    options: &'a PsiOptions,
    key: Key,
    /// Number of rows in the source.
    entries: u64,
}

impl Set<'_> {
    fn summary(&self, kind: Kind, masked: &Masked, version: Version) -> PsiSummary {
        let longest = masked.longest.map(|longest| longest as u32);
        PsiSummary {
            kind,
            elements: masked.entries.len() as u64,
            longest,
            version,
        }
    }

    fn write_filter(&self, masked: &Masked, run: &mut Run<'_>) -> Result<PsiReport> {
        let summary = self.summary(Kind::Filter, masked, Version::random(run.rng));
        let filter = Filter::new(masked.names()).encode();

        // Readable by the owner only: the file contains the key that masks the elements.
        run.progress.stage("writing", filter.len() as u64);
        let file_bytes = publish(
            &self.options.out,
            run.rng.next_u64(),
            Readers::Owner,
            |sink| {
                self.put(sink, &summary)?;
                Ok(sink.put(FILTER, &[&filter])?)
            },
        )?;

        Ok(PsiReport {
            summary,
            duplicates: masked.duplicates,
            filter_bytes: Some(filter.len() as u64),
            description: None,
            file_bytes,
        })
    }

    /// The kind that costs receivers less. The table is not built yet, so its shape is estimated.
    fn cheaper(&self, batches: OfBatches, masked: &Masked) -> Result<Kind> {
        let bytes: u64 = masked
            .entries
            .iter()
            .map(|entry| 8 + entry.value.len() as u64)
            .sum();
        let records = bytes.div_ceil(4096).max(1);
        let shape = papir_core::Shape::of_bytes(records, 4096)?;

        let table = batches
            .candidate(shape, Goal::Balanced, self.capacity(records))?
            .description;
        Ok(Kind::cheaper(
            masked.entries.len() as u64,
            &table.sizes,
            table.limits.batch,
        ))
    }

    fn capacity(&self, records: u64) -> usize {
        let default = (records / RECORDS_PER_LOOKUP).clamp(4, BATCH) as usize;
        self.options.batch.unwrap_or(default)
    }

    fn write_table(
        &self,
        batches: OfBatches,
        mut masked: Masked,
        run: &mut Run<'_>,
    ) -> Result<PsiReport> {
        // Taken, not copied: the entries may take much of the memory.
        let elements = masked.entries.len() as u64;
        let entries = std::mem::take(&mut masked.entries);
        let table = papir_lookup::build(entries, &TableOptions::default(), run.rng, run.progress)?;

        let shape = papir_core::Records::shape(&table.records);
        let candidate = batches.candidate(shape, Goal::Balanced, self.capacity(shape.records()))?;
        let server = batches.scheme.setup_candidate(
            &candidate.parameters,
            &table.records,
            run.rng,
            run.progress,
        )?;

        let summary = PsiSummary {
            elements,
            ..self.summary(Kind::Retrieval, &masked, server.version())
        };
        let file_bytes = self.publish_table(&summary, &table, server.as_ref(), run)?;

        Ok(PsiReport {
            summary,
            duplicates: masked.duplicates,
            filter_bytes: None,
            description: Some(candidate.description),
            file_bytes,
        })
    }

    /// Writes the file of a set with a table. Returns its length in bytes.
    fn publish_table(
        &self,
        summary: &PsiSummary,
        table: &KeywordTable,
        server: &dyn ErasedServer,
        run: &mut Run<'_>,
    ) -> Result<u64> {
        let metadata = self.metadata(table, server);
        let prepared = SnapshotContents {
            metadata: &metadata,
            keyword: Some(Keyword::new(None, &table.layout, &table.ids, run.rng)?),
            prefilter: None,
            commitment: None,
            server,
        };

        publish(
            &self.options.out,
            run.rng.next_u64(),
            Readers::Owner,
            |sink| {
                self.put(sink, summary)?;
                put(sink, &prepared, run.progress)
            },
        )
    }

    /// Writes the sections that every set has.
    fn put(&self, sink: &mut dyn SectionSink, summary: &PsiSummary) -> Result<()> {
        sink.put(HEADER, &[&summary.encode()])?;
        Ok(sink.put(KEY, &[self.key.seed()])?)
    }

    fn metadata(&self, table: &KeywordTable, server: &dyn ErasedServer) -> Metadata {
        let description = server.describe();
        let options = self.options;
        let source = SourceSummary {
            file: file_name(&options.source),
            format: "set".to_owned(),
            bytes: 0,
            entries: self.entries,
            skipped: 0,
            key: None,
            values: Vec::new(),
        };

        Metadata {
            name: stem_of(&options.out),
            created: timestamp(SystemTime::now()),
            papir: env!("CARGO_PKG_VERSION").to_owned(),
            source,
            scheme: description.scheme.to_owned(),
            version: server.version().to_string(),
            records: description.shape.records(),
            record_bits: description.shape.record_bits(),
            root: None,
            keyword: Some(KeywordSummary::new(
                &table.report,
                TableOptions::default().bucket,
            )),
            goal: Some(Goal::Balanced.name().to_owned()),
            clients_may_see: None,
            prefilter: None,
            updated: None,
            updates: 0,
            followed: None,
        }
    }
}

/// The source's file name, as text.
fn file_name(source: &Path) -> String {
    match source.file_name() {
        Some(name) => name.to_string_lossy().into_owned(),
        None => name_of(source),
    }
}
