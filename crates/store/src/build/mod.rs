//! Builds a snapshot from a source.

mod choice;
mod content;
mod lengths;
mod options;
mod outside;
mod parts;
mod prefilter;
mod random;
mod scratch;
mod survey;
mod tasks;

use std::time::SystemTime;

use papir_checkpoint::{Leaf, Log};
use papir_core::erased::ErasedServer;
use papir_core::scratch::{InMemory, Scratch};
use papir_core::{
    Description, Error as CoreError, Goal, Records, Result as CoreResult, Run, Sizes,
};
use papir_lookup::prefilter::PrefilterSummary;
use papir_lookup::{Commitment, TableReport};
use rand_core::CryptoRng;

use crate::delta;
use crate::error::{Error, Result};
use crate::file::{is_standard_input, name_of};
use crate::publish::{
    Keyword, PrefilterContents, Readers, SnapshotContents, check_room, save, sign,
};
use crate::snapshot::{
    KeywordSummary, Metadata, Signing, SourceSummary, newest_leaf, prove, timestamp,
};
use crate::source::{Format, SkippedRow};
use choice::ByOptions;
use content::{Content, Ids, Keys, read};
use outside::BuildFolder;

pub use choice::Announce;
pub use content::ChooseBucket;
pub use options::{BuildOptions, least_memory};
pub use parts::add_rows;
pub use scratch::{ScratchFolder, check_memory};
pub use survey::{Survey, SurveyedKeys, survey};
pub use tasks::{RunTasks, TaskOptions, Tasks, encode_task, prepare_task};

/// Bytes of the hash tree in memory for each record of a verifiable database.
const TREE_BYTES: u64 = 64;

/// Result of a build.
#[derive(Clone, Debug)]
pub struct BuildReport {
    /// The snapshot's metadata.
    pub metadata: Metadata,
    /// The scheme's sizes, security and parameters.
    pub description: Description,
    /// Sizes of the keyword table; `None` if records are looked up by index.
    pub table: Option<TableReport>,
    /// Bits, length and hash of the filter of the keys; `None` without one.
    pub prefilter: Option<PrefilterSummary>,
    /// Rows of the source that were skipped.
    pub skipped: Vec<SkippedRow>,
    /// The snapshot's length in bytes.
    pub snapshot_bytes: u64,
    /// The leaf of a signed version.
    pub checkpoint: Option<Leaf>,
    /// The reason of the scheme, in a line, if the build chose it by the records.
    pub chosen: Option<String>,
}

/// A build of a snapshot: from the source of its options, or from records of a program.
pub struct Build<'a> {
    options: &'a BuildOptions,
    records: Option<&'a dyn Records>,
    announce: &'a Announce<'a>,
    preparation: Option<&'a Preparation<'a>>,
}

impl<'a> Build<'a> {
    /// A build with these options, which also choose scheme and parameters.
    pub fn new(options: &'a BuildOptions) -> Self {
        Self {
            options,
            records: None,
            announce: &silent,
            preparation: None,
        }
    }

    /// Takes the records of a program instead of a source. They are looked up by index. The
    /// options' source names them in errors and metadata, and their columns and format do not
    /// matter.
    #[must_use]
    pub fn records(self, records: &'a dyn Records) -> Self {
        Self {
            records: Some(records),
            ..self
        }
    }

    /// Passes the sizes of the database to `announce` once the source is read, before the database
    /// is prepared. Without effect on a build with a preparation of its own.
    #[must_use]
    pub fn announce(self, announce: &'a Announce<'a>) -> Self {
        Self { announce, ..self }
    }

    /// Chooses buckets and prepares the database with `preparation` instead of the options' scheme
    /// and goal. The caller must check that its scheme is private.
    #[must_use]
    pub fn prepared_by(self, preparation: &'a Preparation<'a>) -> Self {
        Self {
            preparation: Some(preparation),
            ..self
        }
    }

    /// Reads the source, arranges the keys, prepares the scheme's database and writes the file. The
    /// snapshot appears under its name once it is complete and durable.
    ///
    /// # Errors
    /// [`papir_core::Error::NotPrivate`], [`papir_core::Error::UnknownScheme`], and
    /// [`crate::Error::Options`] and [`crate::Error::MissingFeature`]. Errors of the source:
    /// [`crate::Error::MissingColumn`], [`crate::Error::Line`], [`crate::Error::Row`],
    /// [`crate::Error::Unreadable`], [`crate::Error::PartialRecord`],
    /// [`crate::Error::DuplicateKey`], and [`crate::Error::Source`], which names duplicate keys by
    /// line. Errors of the scheme, of the announcement and of the preparation, and
    /// [`papir_core::Error::Io`].
    pub fn run(&self, run: &mut Run<'_>) -> Result<BuildReport> {
        let given = self.records;
        let without_columns = given.map(|records| of_records(self.options, records));
        let options = without_columns.as_ref().unwrap_or(self.options);

        if let Some(preparation) = self.preparation {
            // No goal chose its parameters.
            return self.build(options, None, preparation, run);
        }

        // First of all: a scheme that is unknown or not private is refused before its options are.
        let choice = ByOptions::new(options)?;
        let preparation = Preparation {
            bucket: &|lengths| choice.bucket(lengths),
            prepare: &|records, scratch, run| choice.prepare(records, self.announce, scratch, run),
        };
        let report = self.build(options, goal_of(options), &preparation, run)?;

        let chosen = choice.reason(report.description.scheme);
        Ok(BuildReport { chosen, ..report })
    }

    /// Builds with this preparation. `goal` is recorded in the metadata; `None` if no goal chose
    /// the parameters.
    fn build(
        &self,
        options: &BuildOptions,
        goal: Option<Goal>,
        preparation: &Preparation<'_>,
        run: &mut Run<'_>,
    ) -> Result<BuildReport> {
        options.check()?;
        let is_read = self.records.is_none() && options.given.is_none();
        options.check_output(is_read)?;
        self.check_records(options)?;

        // Read before anything that takes long: a signed file needs a key. Compared again under a
        // lock just before the file appears.
        let former = options.former_log()?;
        let signing = options.signing(former.clone())?;
        let finish = Finish {
            options,
            goal,
            prepare: preparation.prepare,
            former,
            signing: signing.as_ref(),
        };

        if let Some(memory) = options.memory {
            return build_bounded(&finish, memory, preparation.bucket, run);
        }
        let mut content = match self.records {
            Some(records) => content_of(records),
            None => read(options, preparation.bucket, run)?,
        };
        prefilter::add(options, &mut content)?;
        finish.run_in_memory(content, run)
    }

    /// Refuses a limit of memory for records that are in memory already.
    fn check_records(&self, options: &BuildOptions) -> Result<()> {
        if self.records.is_none() || options.memory.is_none() {
            return Ok(());
        }
        Err(Error::options(
            "records in memory with a limit of memory",
            "a file, or no limit",
        ))
    }
}

/// The announcement of a build that has none.
fn silent(_: &Description) -> CoreResult<()> {
    Ok(())
}

/// The options for records without columns.
fn of_records(options: &BuildOptions, records: &dyn Records) -> BuildOptions {
    BuildOptions {
        given: None,
        format: Some(Format::Raw),
        record_bytes: Some(records.shape().record_bytes() as u64),
        key: None,
        values: Vec::new(),
        ..options.clone()
    }
}

/// Records of a program as the content of a source.
fn content_of(records: &dyn Records) -> Content<'_> {
    let shape = records.shape();
    Content {
        records: Box::new(records),
        entries: shape.records(),
        bytes: shape.total_bytes(),
        skipped: Vec::new(),
        keyword: None,
    }
}

/// The goal that chooses the parameters; `None` if a label or tables do.
fn goal_of(options: &BuildOptions) -> Option<Goal> {
    (options.params.is_none() && options.tables.is_none()).then_some(options.goal)
}

/// Prepares the scheme's database, with memory of the scratch. Called once the records are read,
/// since a setup needs their shape.
pub type Prepare<'a> = dyn Fn(&dyn Records, &mut dyn Scratch, &mut Run<'_>) -> PreparedServer + 'a;

/// A prepared database.
pub type PreparedServer = CoreResult<Box<dyn ErasedServer>>;

/// The choices that a build leaves to its caller.
pub struct Preparation<'a> {
    /// Chooses the buckets of a keyed table, if the options do not.
    pub bucket: &'a ChooseBucket<'a>,
    /// Prepares the scheme's database.
    pub prepare: &'a Prepare<'a>,
}

/// Builds with at most `memory` bytes. Everything that grows with the database is in the folder of
/// the build.
fn build_bounded(
    finish: &Finish<'_>,
    memory: u64,
    bucket: &ChooseBucket<'_>,
    run: &mut Run<'_>,
) -> Result<BuildReport> {
    let options = finish.options;
    let mut folder = BuildFolder::open(options, memory, run.rng)?;

    // Drawn from the folder's seed: an interrupted build draws the same bytes again, so that the
    // parts which it left fit to those that are still missing.
    let mut rng = folder.rng();
    let mut content = outside::read(options, bucket, &mut folder, &mut rng, run.progress)?;
    prefilter::add_outside(options, &mut content, &mut folder)?;

    // Before hours of work: the scheme's form of the records is no shorter than they are.
    let least = content.records.shape().total_bytes() + keys_bytes(content.keyword.as_ref());
    check_room(&options.out, least)?;
    // Only now: a build that ends for want of disk costs no second reading of the source.
    outside::begin_preparing(&mut folder)?;

    folder.divide_by(
        options,
        outside::records_part(options),
        content.records.shape(),
    );
    let run = &mut Run::new(&mut rng, run.progress);
    let report = finish.run(content, &mut folder, run)?;

    // Only now: until the snapshot has its name, a crash must leave the parts.
    folder.remove();
    Ok(report)
}

/// The steps of a build once its source is read.
struct Finish<'a> {
    options: &'a BuildOptions,
    goal: Option<Goal>,
    prepare: &'a Prepare<'a>,
    /// The log of the former version at the start.
    former: Option<Log>,
    signing: Option<&'a Signing<'a>>,
}

impl Finish<'_> {
    /// [`Self::run`] without a limit of memory. Only tables may be kept in a folder.
    fn run_in_memory(&self, content: Content<'_>, run: &mut Run<'_>) -> Result<BuildReport> {
        match &self.options.scratch {
            None => self.run(content, &mut InMemory, run),
            Some(folder) => self.run(content, &mut ScratchFolder::open(folder)?, run),
        }
    }

    /// Prepares the database and writes the snapshot.
    fn run(
        &self,
        content: Content<'_>,
        scratch: &mut dyn Scratch,
        run: &mut Run<'_>,
    ) -> Result<BuildReport> {
        let options = self.options;

        // Before the setup: the tree is made first, and is in memory whatever the limit is.
        check_proofs(options, content.records.as_ref())?;
        let (server, commitment) = prove(
            options.verifiable,
            content.records.as_ref(),
            run.progress,
            |records| Ok((self.prepare)(records, scratch, run)?),
        )?;
        let metadata = metadata(
            options,
            self.goal,
            &content,
            server.as_ref(),
            commitment.as_ref(),
        );

        let Content {
            records,
            keyword,
            skipped,
            ..
        } = content;
        // The scheme has its own copy by now. Free this one before the snapshot is written: the
        // disk then holds only the snapshot and the parts that become its sections.
        drop(records);
        if options.memory.is_some() {
            outside::remove_records(options, scratch)?;
            self.check_room_of(server.as_ref(), keyword.as_ref())?;
        }
        let owned = match &keyword {
            Some(keys) => Some(owned(options, keys, run.rng)?),
            None => None,
        };
        let filter = keyword.as_ref().and_then(|keys| keys.prefilter.as_deref());
        let prefilter = match filter {
            Some(filter) => Some(PrefilterContents::new(filter)?),
            None => None,
        };
        let prepared = SnapshotContents {
            metadata: &metadata,
            keyword: owned,
            prefilter,
            commitment: commitment.as_ref(),
            server: server.as_ref(),
        };

        let (snapshot_bytes, log) = self.write(&prepared, run)?;
        Ok(BuildReport {
            metadata,
            description: server.describe(),
            prefilter: prefilter.map(|prefilter| prefilter.summary),
            table: keyword.map(|keys| keys.report),
            skipped,
            snapshot_bytes,
            checkpoint: newest_leaf(log.as_ref()),
            chosen: None,
        })
    }

    /// Refuses a disk without room for the snapshot.
    fn check_room_of(&self, server: &dyn ErasedServer, keyword: Option<&Keys>) -> Result<()> {
        let Sizes {
            database,
            material,
            hint,
            ..
        } = server.describe().sizes;
        check_room(
            &self.options.out,
            database + material + hint + keys_bytes(keyword),
        )
    }

    /// Writes the snapshot. Returns its length in bytes, and the log of a signed one.
    fn write(
        &self,
        prepared: &SnapshotContents<'_>,
        run: &mut Run<'_>,
    ) -> Result<(u64, Option<Log>)> {
        let options = self.options;
        let mut alone = None;

        let saved = save(
            &options.out,
            Readers::Kept,
            run.rng.next_u64(),
            prepared,
            |version, sink| {
                // Locked until the file has appeared: nobody publishes between check and rename.
                alone = options.exclude_others(&self.former)?;
                // A build that continues one that was killed once its file had appeared makes the
                // same version again. The changes beside it belong to that file.
                delta::remove(&options.out, prepared.server.version())?;
                sign(self.signing, version, sink)
            },
            run.progress,
        )?;

        drop(alone);
        Ok(saved)
    }
}

/// Bytes of the keys in a snapshot.
fn keys_bytes(keyword: Option<&Keys>) -> u64 {
    keyword.map_or(0, Keys::stored_bytes)
}

/// The keys of a snapshot.
fn owned<'a>(
    options: &BuildOptions,
    keys: &'a Keys,
    rng: &mut dyn CryptoRng,
) -> Result<Keyword<'a>> {
    Ok(match &keys.ids {
        Ids::InMemory(ids) => Keyword::new(options.encrypt.as_ref(), &keys.layout, ids, rng)?,
        Ids::Stored(ids) => Keyword::encoded(&keys.layout, ids),
    })
}

/// Refuses proofs whose tree does not fit in the memory of the build.
fn check_proofs(options: &BuildOptions, records: &dyn Records) -> Result<()> {
    let Some(memory) = options.memory else {
        return Ok(());
    };
    // The other half is for the setup, which follows while the tree is still needed.
    let half = memory / 2;
    let needed = records.shape().records().saturating_mul(TREE_BYTES);
    if !options.verifiable || needed <= half {
        return Ok(());
    }

    let expected = format!("at most {half}, half of the memory allowed");
    Err(CoreError::out_of_bounds(
        "the number of bytes of all proofs' hashes",
        needed,
        expected,
    )
    .into())
}

/// The metadata of a new snapshot.
fn metadata(
    options: &BuildOptions,
    goal: Option<Goal>,
    content: &Content<'_>,
    server: &dyn ErasedServer,
    commitment: Option<&Commitment>,
) -> Metadata {
    let layout = content.keyword.as_ref().map(|keys| &keys.layout);
    let description = server.describe();
    let keyword = content.keyword.as_ref().map(|keys| {
        let summary = KeywordSummary::new(&keys.report, keys.bucket);
        if options.encrypt.is_some() {
            summary.concealed()
        } else {
            summary
        }
    });

    Metadata {
        name: options.name(),
        created: timestamp(SystemTime::now()),
        papir: env!("CARGO_PKG_VERSION").to_owned(),
        source: source_of(options, content),
        scheme: description.scheme.to_owned(),
        version: server.version().to_string(),
        records: description.shape.records(),
        record_bits: description.shape.record_bits(),
        root: commitment.map(|commitment| commitment.root(layout).to_string()),
        keyword,
        goal: goal.map(|goal| goal.name().to_owned()),
        // With a preparation of its own, the caller chose the scheme, and there is no goal.
        clients_may_see: goal
            .filter(|_| options.chooses_scheme())
            .map(|_| options.clients_may_see.name().to_owned()),
        prefilter: options.prefilter,
        updated: None,
        updates: 0,
        followed: None,
    }
}

/// The source in the metadata of a new snapshot.
fn source_of(options: &BuildOptions, content: &Content<'_>) -> SourceSummary {
    let file = match options.source.file_name() {
        Some(name) if !is_standard_input(&options.source) => name.to_string_lossy().into_owned(),
        _ => name_of(&options.source),
    };
    let file = match &options.server {
        Some(server) => server.database().to_owned(),
        None => file,
    };
    let file = match options.more.len() {
        0 => file,
        more => format!("{file} and {more} more"),
    };
    // The length of the source would reveal the lengths of encrypted keys and values.
    let bytes = if options.encrypt.is_some() {
        0
    } else {
        content.bytes
    };

    SourceSummary {
        file,
        format: options.format().name().to_owned(),
        bytes,
        entries: content.entries,
        skipped: content.skipped.len() as u64,
        key: options.key.clone(),
        values: options.values.clone(),
    }
}
