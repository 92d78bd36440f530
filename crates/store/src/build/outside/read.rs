//! Reads the source of a build into records outside memory.

use std::fs::File;
use std::io::{BufReader, BufWriter, Read, Write};
use std::path::PathBuf;

use papir_core::scratch::Scratch;
use papir_core::{Error as CoreError, Progress, Shape};
use papir_lookup::outside::{
    self, AddedEntries, BUCKETS, EntryRuns, IdSeed, SpilledTable, Storage,
};
use papir_lookup::{Entry, Lengths, OnDuplicate, name_duplicate};

use super::folder::BuildFolder;
use super::stored::{self, RECORDS};
use crate::build::content::{
    ChooseBucket, Content, ID_BYTES, Ids, Keys, of_keys, read_raw, shape_of_values, table_options,
};
use crate::build::options::BuildOptions;
use crate::build::parts::{RowColumns, RowParts};
use crate::build::random::BuildRng;
use crate::build::tasks::TaskOptions;
use crate::error::{Error, Result};
use crate::file::is_standard_input;
use crate::publish::check_room;
use crate::source::{
    Format, Input, PackedRecords, SkippedRow, is_stream, raw_shape, rows_each, wanted_columns,
};

/// Reads the source, or finds the content that an interrupted build made of it.
pub(in crate::build) fn read(
    options: &BuildOptions,
    choose: &ChooseBucket<'_>,
    folder: &mut BuildFolder,
    rng: &mut BuildRng,
    progress: &dyn Progress,
) -> Result<Content<'static>> {
    // Its records are in a file already, and need no part of their own.
    if is_raw_file(options) {
        return read_raw(options, progress);
    }
    // The random bytes that the source took are drawn again there, so that the setup draws the same
    // ones after it.
    if let Some(content) = stored::find(folder, rng, progress)? {
        choose_again(options, choose, &content)?;
        return Ok(content);
    }

    let content = match (options.format() == Format::Raw, options.keyed()) {
        (true, _) => raw_stream(options, folder, progress),
        (false, true) => keyed(options, choose, folder, rng, progress),
        (false, false) => padded(options, folder, progress),
    }?;
    // After the records, which it describes: a crash before it makes the build read the source
    // again.
    stored::keep(&content, folder, rng)?;
    Ok(content)
}

/// Chooses the target of the buckets again, from the lengths that an interrupted build counted: the
/// scheme is chosen with it. The buckets themselves are kept.
fn choose_again(
    options: &BuildOptions,
    choose: &ChooseBucket<'_>,
    content: &Content<'_>,
) -> Result<()> {
    if let Some(keys) = &content.keyword {
        table_options(options, &keys.lengths, choose)?;
    }
    Ok(())
}

/// The part with the records that [`read`] returns; `None` if they are in the source.
pub(in crate::build) fn records_part(options: &BuildOptions) -> Option<&'static str> {
    match (is_raw_file(options), options.keyed()) {
        (true, _) => None,
        (false, true) => Some(BUCKETS),
        (false, false) => Some(RECORDS),
    }
}

/// Removes the part with the records that [`read`] returns, from which the database is prepared.
pub(in crate::build) fn remove_records(
    options: &BuildOptions,
    scratch: &mut dyn Scratch,
) -> Result<()> {
    // Proofs are hashed again from all records, and tasks name their file.
    let continues = !options.verifiable && options.tasks.is_none();
    match records_part(options) {
        Some(part) => Ok(stored::remove_records(part, continues, scratch)?),
        None => Ok(()),
    }
}

/// Returns whether the source is the file of the records itself.
fn is_raw_file(options: &BuildOptions) -> bool {
    options.format() == Format::Raw && !is_stream(&options.source)
}

/// Copies records from a stream to a file of the build.
fn raw_stream(
    options: &BuildOptions,
    folder: &mut BuildFolder,
    progress: &dyn Progress,
) -> Result<Content<'static>> {
    // A stream cannot be read again, and does not fit in memory.
    let mut input = Input::open_records(&options.source, progress)?;
    let mut file = BufWriter::new(folder.create(RECORDS)?);
    let copied = std::io::copy(&mut input, &mut file).and_then(|_| file.flush());
    copied.map_err(Error::io("copying", &options.source))?;
    // The length of a stream is known only at its end.
    let packed = folder.finish(RECORDS)?;

    let shape = raw_shape(
        &options.source,
        packed.len() as u64,
        options.record_bytes.unwrap_or_default(),
    )?;

    Ok(Content {
        entries: shape.records(),
        bytes: shape.total_bytes(),
        records: Box::new(PackedRecords::new(shape, packed)),
        skipped: Vec::new(),
        keyword: None,
    })
}

/// The entries of a source.
struct SourceEntries {
    runs: EntryRuns,
    entries: u64,
    bytes: u64,
    skipped: Vec<SkippedRow>,
}

/// Reads all entries.
fn source(
    options: &BuildOptions,
    folder: &mut BuildFolder,
    rng: &mut BuildRng,
    progress: &dyn Progress,
) -> Result<SourceEntries> {
    let seed = IdSeed::random(rng);
    // The seed comes first: a row is in the run of its id, so ids are hashed as the rows are read.
    let mut added = AddedEntries::new(seed, folder.runs("entries")?);
    let mut entries = 0u64;

    let (bytes, skipped) = rows_each(&options.request(), progress, &mut |entry| {
        entries += 1;
        added.add(&entry).map_err(|error| of_keys(options, error))?;
        // Not at each row: the system is asked.
        if !entries.is_multiple_of(ROWS_BETWEEN_LOOKS) {
            return Ok(());
        }
        check_rows(options, added.lengths())
    })?;

    Ok(SourceEntries {
        runs: EntryRuns::new(seed, vec![added.finish()]),
        entries,
        bytes,
        skipped,
    })
}

/// Rows between two looks at the free disk.
const ROWS_BETWEEN_LOOKS: u64 = 1 << 20;

/// Refuses more rows than the disk of the snapshot holds, if each of them has to be a key: a stream
/// does not say how long it will be. The snapshot has their ids and values. What else it has takes
/// no less than the rows take beside the parts that replace them.
fn check_rows(options: &BuildOptions, lengths: Option<Lengths>) -> Result<()> {
    let Some(lengths) = lengths.filter(|_| options.on_duplicate == OnDuplicate::Refuse) else {
        return Ok(());
    };
    let ids = lengths.count.saturating_mul(ID_BYTES);
    check_room(&options.out, ids.saturating_add(lengths.total))
}

/// Has tasks read all entries.
fn source_by_tasks(
    options: &BuildOptions,
    tasks: &TaskOptions,
    key: &str,
    folder: &BuildFolder,
    rng: &mut BuildRng,
    progress: &dyn Progress,
) -> Result<SourceEntries> {
    let seed = IdSeed::random(rng);
    // Refuses a missing column before any task starts.
    if let Some(given) = &options.given {
        wanted_columns(given, &options.source, options.request().columns)?;
    }

    let columns = RowColumns {
        key,
        values: &options.values,
    };
    let RowParts { seed, parts, bytes } = folder.rows_by_tasks(columns, seed, tasks, progress)?;
    let runs = EntryRuns::new(seed, parts);
    let entries = runs.lengths().map_or(0, |lengths| lengths.count);
    Ok(SourceEntries {
        runs,
        entries,
        bytes,
        skipped: Vec::new(),
    })
}

/// Arranges the entries of a source in the buckets of a keyword table.
fn keyed(
    options: &BuildOptions,
    choose: &ChooseBucket<'_>,
    folder: &mut BuildFolder,
    rng: &mut BuildRng,
    progress: &dyn Progress,
) -> Result<Content<'static>> {
    let SourceEntries {
        mut runs,
        entries,
        bytes,
        skipped,
    } = match (&options.tasks, &options.key) {
        (Some(tasks), Some(key)) if tasks.read_rows => {
            source_by_tasks(options, tasks, key, folder, rng, progress)?
        }
        _ => source(options, folder, rng, progress)?,
    };
    // Counted as the rows were added, duplicates among them: they only choose the target.
    let lengths = runs
        .lengths()
        .ok_or_else(|| of_keys(options, CoreError::EmptyDatabase.into()))?;
    let table = table_options(options, &lengths, choose)?;

    let built = outside::build(&mut runs, &table, folder, rng, progress).map_err(|error| {
        let named = name_duplicate(error, |lines| key_on(options, lines, progress));
        of_keys(options, named)
    })?;
    let SpilledTable {
        layout,
        buckets,
        ids,
        report,
    } = built;

    // The buckets are the records that the scheme prepares.
    let shape = Shape::of_bytes(layout.records(), layout.record_bytes() as u64)?;
    let keyword = Some(Keys {
        layout,
        ids: Ids::Stored(ids),
        report,
        lengths,
        bucket: table.bucket,
        prefilter: None,
    });
    Ok(Content {
        records: Box::new(PackedRecords::new(shape, buckets)),
        entries,
        bytes,
        skipped,
        keyword,
    })
}

/// Reads the source again for the key on both of these lines, which ascend. Returns `None` if the
/// source is no file, or has changed.
fn key_on(options: &BuildOptions, lines: [u64; 2], progress: &dyn Progress) -> Option<Vec<u8>> {
    let [first, second] = lines;
    // A stream, a pipe or a program gives its rows once.
    let is_once = options.given.is_some() || is_standard_input(&options.source);
    if is_once || !options.source.is_file() {
        return None;
    }

    let mut earlier = None;
    let mut found = None;
    // The error only ends the reading: it takes the place of the one that is to be named.
    let _ = rows_each(&options.request(), progress, &mut |entry| {
        if entry.line == first {
            earlier = Some(entry.key);
            return Ok(());
        }
        if entry.line < second {
            return Ok(());
        }
        found = earlier.take().filter(|earlier| *earlier == entry.key);
        Err(CoreError::EmptyDatabase.into())
    });
    found
}

/// Values of a database without keys in the order of the source, each with its length before it.
/// They wait in a file until the longest is known.
struct Values {
    path: PathBuf,
    file: BufWriter<File>,
    count: u64,
    longest: u64,
}

impl Values {
    fn create(path: PathBuf) -> Result<Self> {
        let file = File::create(&path).map_err(Error::io("creating", &path))?;
        Ok(Self {
            path,
            file: BufWriter::new(file),
            count: 0,
            longest: 0,
        })
    }

    fn add(&mut self, value: &[u8]) -> Result<()> {
        // The length of a record is that of the longest value, which may be the last one: until
        // then each value has its own length before it.
        write_value(&mut self.file, value).map_err(Error::io("writing", &self.path))?;
        self.count += 1;
        self.longest = self.longest.max(value.len() as u64);
        Ok(())
    }

    /// Writes all values to zeroed records of this length.
    fn pad(mut self, records: &mut [u8], record_bytes: usize) -> Result<()> {
        self.file
            .flush()
            .map_err(Error::io("writing", &self.path))?;
        let file = File::open(&self.path).map_err(Error::io("opening", &self.path))?;

        // As many values as records: `count` made the shape.
        let mut file = BufReader::new(file);
        for record in records.chunks_exact_mut(record_bytes) {
            read_value(&mut file, record).map_err(Error::io("reading", &self.path))?;
        }
        Ok(())
    }
}

/// The first byte of a value whose length follows in eight more bytes. Shorter values have their
/// length there, so that values and records together take at most three times the records.
const LONG: u8 = u8::MAX;

/// Writes a value after its length.
fn write_value(file: &mut impl Write, value: &[u8]) -> std::io::Result<()> {
    let short = u8::try_from(value.len()).unwrap_or(LONG);
    file.write_all(&[short])?;
    if short == LONG {
        file.write_all(&(value.len() as u64).to_le_bytes())?;
    }
    file.write_all(value)
}

/// Reads the next value into the first bytes of a record.
fn read_value(file: &mut impl Read, record: &mut [u8]) -> std::io::Result<()> {
    let mut short = [0];
    file.read_exact(&mut short)?;
    let mut length = u64::from(short[0]);
    if short[0] == LONG {
        let mut long = [0; 8];
        file.read_exact(&mut long)?;
        length = u64::from_le_bytes(long);
    }
    file.read_exact(&mut record[..length as usize])
}

impl Drop for Values {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

/// Reads values, and pads them to records of one length.
fn padded(
    options: &BuildOptions,
    folder: &mut BuildFolder,
    progress: &dyn Progress,
) -> Result<Content<'static>> {
    let mut values = Values::create(folder.runs_path("values"))?;
    let (bytes, skipped) = rows_each(
        &options.request(),
        progress,
        &mut |Entry { value, .. }| values.add(&value),
    )?;

    let entries = values.count;
    let shape = shape_of_values(options, entries, values.longest)?;

    // Mapped, and zero where values are shorter. From here on the disk has both, until the values
    // are removed with `values`.
    let mut records = folder.zeroed(RECORDS, shape.total_bytes() as usize)?;
    progress.stage("padding", entries);
    values.pad(records.bytes_mut(), shape.record_bytes())?;
    progress.advance(entries);

    let records = Box::new(PackedRecords::new(shape, folder.keep(RECORDS, records)?));
    Ok(Content {
        records,
        entries,
        bytes,
        skipped,
        keyword: None,
    })
}

#[cfg(all(test, unix))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn values_take_at_most_twice_their_records_until_they_are_padded() {
        let folder = tempfile::tempdir().unwrap();
        for lengths in [
            &[0, 1, 1, 1][..],
            &[254, 255, 0, 256],
            &[254, 254],
            &[300, 7000],
        ] {
            let path = folder.path().join("values");
            let mut values = Values::create(path.clone()).unwrap();
            for &length in lengths {
                values.add(&vec![7; length]).unwrap();
            }
            values.file.flush().unwrap();
            let longest = values.longest as usize;
            let mut records = vec![0; lengths.len() * longest];
            let taken = std::fs::metadata(&path).unwrap().len();
            assert!(taken <= 2 * records.len() as u64, "{lengths:?}: {taken}");

            values.pad(&mut records, longest).unwrap();
            for (record, &length) in records.chunks(longest).zip(lengths) {
                assert_eq!(record[..length], vec![7; length]);
                assert_eq!(record[length..], vec![0; longest - length]);
            }
            assert!(!path.exists());
        }
    }

    #[test]
    fn rows_that_the_disk_does_not_hold_are_refused_while_they_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let mut options = BuildOptions::new("-", folder.path().join("a.papir"));
        let few = Lengths::equal(1000, 3);
        let many = Lengths::equal(1 << 60, 1 << 10);

        check_rows(&options, None).unwrap();
        check_rows(&options, Some(few)).unwrap();
        let error = check_rows(&options, Some(many)).unwrap_err();
        assert_eq!(error.code(), "disk");

        // Most of them may have the same keys.
        options.on_duplicate = OnDuplicate::Last;
        check_rows(&options, Some(many)).unwrap();
    }
}
