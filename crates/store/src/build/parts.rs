//! Parts of the rows that tasks read and partition.
//!
//! All machines have the folder of the build.
//!
//! | step | by | files |
//! |---|---|---|
//! | draw the seed of the keys' ids | the build | `rows.json` |
//! | read and partition rows | [`add_rows`], a task a part | `rows-PART`, `summary-PART.json` |
//! | map the parts | the build | |

use std::fs::{self, File};
use std::io::Write;
use std::ops::Range;
use std::path::{Path, PathBuf};

use papir_core::{Blob, Error as CoreError, NoProgress, Progress, Result as CoreResult};
use papir_lookup::outside::{AddedEntries, EntryPart, HeapRuns, IdSeed, RUNS, ReadRuns};
use papir_lookup::{Lengths, MAX_VALUE_BYTES};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::lengths::StoredLengths;
use super::outside::{check_memory, most_bytes};
use super::tasks::{RunTasks, publish, publish_with};
use crate::error::{Error, Result, io};
use crate::file::{free_range, map_blob};
use crate::source::{
    ANY_KEY, Columns, DEFAULT_TEXT, Deletes, Format, Given, RowsRequest, Selection, rows_each,
};

/// The file with the columns and the seed.
const PLAN: &str = "rows.json";
/// Name of a part in errors. Row numbers in errors start at 1 in each part.
const NAME: &str = "a part of the rows";

/// The seed and the columns, for the tasks.
#[derive(Serialize, Deserialize)]
#[serde(expecting = "struct Plan")]
struct PartsPlan {
    /// The seed of the ids, which is public.
    seed: [u8; 32],
    key: String,
    values: Vec<String>,
}

/// Index and statistics of a part.
#[derive(Serialize, Deserialize)]
struct Summary {
    /// The ends of all runs in the file of the rows.
    ends: Vec<usize>,
    lengths: Option<StoredLengths>,
    /// Bytes of the cells that were read.
    bytes: u64,
}

/// The columns of rows that tasks read.
#[derive(Clone, Copy)]
pub(super) struct RowColumns<'a> {
    pub(super) key: &'a str,
    pub(super) values: &'a [String],
}

/// All parts that tasks have read.
pub(super) struct RowParts {
    pub(super) seed: IdSeed,
    pub(super) parts: Vec<EntryPart>,
    /// Bytes of all cells.
    pub(super) bytes: u64,
}

impl RowParts {
    /// Has tasks read the rows with these columns, for a build with `memory` bytes.
    pub(super) fn read(
        folder: PathBuf,
        columns: RowColumns<'_>,
        seed: IdSeed,
        memory: u64,
        runner: &dyn RunTasks,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let plan = PartsPlan {
            seed: seed.0,
            key: columns.key.to_owned(),
            values: columns.values.to_vec(),
        };
        // Before any task runs: a task reads the seed, and entries under another one could not be
        // joined.
        write(&folder, PLAN, &plan)?;

        let mut all = Self {
            seed,
            parts: Vec::new(),
            bytes: 0,
        };
        for name in runner.read_rows(&folder, progress)? {
            all.add(&folder, &name, memory)?;
        }
        Ok(all)
    }

    /// Maps a part. Refuses a part whose files do not fit each other.
    fn add(&mut self, folder: &Path, name: &str, memory: u64) -> Result<()> {
        let Summary {
            ends,
            lengths,
            bytes,
        } = read(folder, &summary_of(name))?;
        let path = folder.join(rows_of(name));
        let rows = map_blob(&path)?;
        // The two files of a part appear one after the other, and several tasks may have written
        // them. Ends of another file would cut rows.
        CoreError::check_length("the ends of a part's runs", ends.len(), RUNS)?;
        CoreError::check_length(NAME, rows.len(), ends.last().copied().unwrap_or_default())?;

        let rows_bytes = rows.len() as u64;
        let runs = Box::new(PartFile {
            file: file_that_frees(&path, rows_bytes),
            path,
            rows,
            ends,
            freed: 0,
            most: most_bytes(memory),
        });
        self.parts.push(EntryPart {
            runs,
            lengths: lengths.map(Lengths::from),
            bytes: rows_bytes,
        });
        self.bytes = self.bytes.saturating_add(bytes);
        Ok(())
    }
}

/// Reads the rows of a part for the build in `folder`, and partitions them in memory. The name of a
/// part has letters and digits of ASCII; the same rows may be added again under the same name.
///
/// # Errors
/// Errors of the rows, [`CoreError::Malformed`] for another name, and [`CoreError::Io`].
pub fn add_rows(folder: &Path, name: &str, rows: &Given) -> Result<()> {
    if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(CoreError::malformed(
            "the name of a part",
            name,
            "letters and digits of ASCII",
        )
        .into());
    }

    // The name is known to be safe by now: it becomes a part of file names.
    let PartsPlan { seed, key, values } = read(folder, PLAN)?;
    let path = Path::new(NAME);
    let request = RowsRequest {
        path,
        more: &[],
        format: Format::Given,
        text: &DEFAULT_TEXT,
        columns: Columns {
            key: Some(&key),
            values: &values,
            deletes: Deletes::None,
        },
        keys: &ANY_KEY,
        selection: Selection::Whole,
        given: Some(rows),
        out: None,
        longest: MAX_VALUE_BYTES as u64,
        skip_bad: 0,
    };

    // In memory: one part is a small share of the source.
    let mut added = AddedEntries::new(IdSeed(seed), Box::<HeapRuns>::default());
    let (bytes, _) = rows_each(&request, &NoProgress, &mut |entry| {
        added.add(&entry).map_err(Error::of_source(path))
    })?;
    let EntryPart { runs, lengths, .. } = added.finish();

    // The rows are written first, since the summary has their ends.
    let summary = Summary {
        ends: write_runs(folder, name, runs)?,
        lengths: lengths.map(StoredLengths::from),
        bytes,
    };
    write(folder, &summary_of(name), &summary)
}

/// Writes all runs of a part to one file. Returns their ends.
fn write_runs(folder: &Path, name: &str, mut runs: Box<dyn ReadRuns>) -> Result<Vec<usize>> {
    let mut ends = Vec::with_capacity(RUNS);
    publish_with(folder, &rows_of(name), &mut |file| {
        let mut end = 0;
        // Run after run, so that the build maps one file and finds each run by its ends.
        for run in 0..RUNS {
            let mut bytes = Vec::new();
            runs.read(run, &mut bytes).map_err(std::io::Error::other)?;
            runs.free(run);
            file.write_all(&bytes)?;
            end += bytes.len();
            ends.push(end);
        }
        Ok(())
    })?;
    Ok(ends)
}

fn rows_of(name: &str) -> String {
    format!("rows-{name}")
}

fn summary_of(name: &str) -> String {
    format!("summary-{name}.json")
}

fn write(folder: &Path, name: &str, value: &impl Serialize) -> Result<()> {
    let json =
        serde_json::to_vec(value).map_err(|error| CoreError::malformed(NAME, error, "text"))?;
    Ok(publish(folder, name, &json)?)
}

fn read<T: DeserializeOwned>(folder: &Path, name: &str) -> Result<T> {
    let path = folder.join(name);
    let json = fs::read(&path).map_err(|source| io("reading", &path, source))?;
    let found = serde_json::from_slice(&json)
        .map_err(|error| CoreError::malformed(NAME, error, "that of this version"))?;
    Ok(found)
}

/// Bytes of a hole that shows whether a file system makes holes.
const HOLE_BYTES: u64 = 4096;
/// A multiple of the bytes of a file system's blocks, of which only whole ones are freed.
const BLOCK_BYTES: usize = 1 << 16;

/// Opens a file of this length, if its file system gives back the space of a range.
fn file_that_frees(path: &Path, bytes: u64) -> Option<File> {
    let file = File::options().read(true).write(true).open(path).ok()?;
    // Behind the last byte, so this changes nothing.
    free_range(&file, bytes, HOLE_BYTES).then_some(file)
}

/// The runs of a part, in a file that is removed with them. Its pages are not memory of the build.
struct PartFile {
    path: PathBuf,
    /// The same file, to give back the space of runs; `None` if its file system cannot.
    file: Option<File>,
    rows: Blob,
    ends: Vec<usize>,
    /// The end of the runs that are freed in their order, from the first on.
    freed: usize,
    /// The most bytes of a run of all parts.
    most: u64,
}

impl PartFile {
    /// The bytes of a run in the file. Ends come from a file, so they may be out of order or beyond
    /// it.
    fn range(&self, run: usize) -> Range<usize> {
        let start = run.checked_sub(1).map_or(0, |before| self.ends[before]);
        start..self.ends[run]
    }
}

impl ReadRuns for PartFile {
    fn read(&mut self, run: usize, out: &mut Vec<u8>) -> CoreResult<()> {
        let found = self
            .rows
            .get(self.range(run))
            .ok_or_else(|| CoreError::malformed(NAME, "runs out of order", "ascending ends"))?;

        // The runs of all parts are joined in `out` before they are sorted.
        check_memory(out.len() + found.len(), self.most)?;
        out.extend_from_slice(found);
        Ok(())
    }

    fn free(&mut self, run: usize) {
        let range = self.range(run);
        let Some(file) = &self.file else { return };
        if range.is_empty() {
            return;
        }

        let mut start = range.start;
        if start == self.freed {
            // Short runs share a block, which goes with the last of them.
            start -= start % BLOCK_BYTES;
            self.freed = range.end;
        }
        // Space that stays is taken only until the file is removed.
        free_range(file, start as u64, (range.end - start) as u64);
    }

    fn frees(&self) -> bool {
        self.file.is_some()
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::os::unix::fs::MetadataExt;

    use super::*;

    /// A part with runs of one length, each filled with its number; `None` on a file system without
    /// holes, such as some of a network.
    fn part_of(folder: &Path, runs: u8, run_bytes: usize) -> Option<PartFile> {
        let path = folder.join(rows_of("0"));
        let rows: Vec<u8> = (0..runs).flat_map(|run| vec![run; run_bytes]).collect();
        fs::write(&path, &rows).unwrap();
        File::open(&path).unwrap().sync_all().unwrap();

        let file = file_that_frees(&path, rows.len() as u64);
        assert_eq!(fs::read(&path).unwrap(), rows, "nothing is freed yet");
        Some(PartFile {
            file: Some(file?),
            rows: map_blob(&path).unwrap(),
            path,
            ends: (1..=usize::from(runs)).map(|run| run * run_bytes).collect(),
            freed: 0,
            most: u64::MAX,
        })
    }

    /// Blocks of a part's file on the disk.
    fn blocks(part: &PartFile) -> u64 {
        part.file.as_ref().unwrap().sync_all().unwrap();
        fs::metadata(&part.path).unwrap().blocks()
    }

    #[test]
    fn rows_that_are_read_give_back_their_space() {
        let folder = tempfile::tempdir().unwrap();
        // Runs of many blocks, and short ones that share blocks.
        for (runs, run_bytes) in [(4, 1 << 16), (200, 1000)] {
            let Some(mut part) = part_of(folder.path(), runs, run_bytes) else {
                return;
            };
            assert!(part.frees());
            let before = blocks(&part);
            let last = runs - 1;
            for run in 0..last {
                let mut bytes = Vec::new();
                part.read(run.into(), &mut bytes).unwrap();
                assert_eq!(bytes, vec![run; run_bytes]);
                part.free(run.into());
            }

            let after = blocks(&part);
            let freed = format!("{run_bytes}: {before} blocks before, {after} after");
            assert!(after <= before / 2, "{freed}");
            let mut rest = Vec::new();
            part.read(last.into(), &mut rest).unwrap();
            assert_eq!(rest, vec![last; run_bytes]);

            let path = part.path.clone();
            drop(part);
            assert!(!path.exists());
        }
    }
}
