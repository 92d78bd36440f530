//! Builds whose matrices are prepared by tasks on many machines.
//!
//! All machines have the folder of the build. The build arranges the records and writes the plan;
//! the tasks do the rest, and the build joins what they made.
//!
//! | step | by | files |
//! |---|---|---|
//! | read rows of keys | tasks, if the build has no source of its own | see [`super::parts`] |
//! | read the source, arrange the keys | the build | the records, `tasks.json` |
//! | encode a range of columns | a task each | `columns-I-of-N` |
//! | prepare a range of slices | a task each | `PART.slices-J-of-M`, then `slices-J-of-M` |
//! | join the slices of each part | the build | the parts |
//!
//! `slices-J-of-M` has the names of the parts. The names have the numbers of tasks, so that a build
//! which continues with other numbers finds nothing that belongs to other ranges.

use std::fmt;
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use papir_core::erased::ErasedScheme;
use papir_core::scratch::Piece;
use papir_core::{Blob, Error as CoreError, Progress, Result as CoreResult, Shape};
use papir_schemes::registry;
use serde::{Deserialize, Serialize};

use super::random::{BuildRng, SEED_BYTES};
use super::scratch::remove_part;
use crate::error::io;
use crate::file::map_blob;
use crate::source::FileRecords;

/// Suffix of an unfinished file of a build.
pub(super) const UNFINISHED: &str = ".unfinished";
/// The file that tells tasks what to do.
const PLAN: &str = "tasks.json";

/// Runs the tasks of a build.
pub trait RunTasks: Send + Sync {
    /// Has the rows of the source read in parts, each by [`add_rows`](super::add_rows) with
    /// `folder`, on any machine. Returns the names of the parts in the order of the source. Called
    /// only with [`TaskOptions::read_rows`]. Reports to `progress` how many parts are read.
    ///
    /// # Errors
    /// The first error of a task.
    fn read_rows(&self, folder: &Path, progress: &dyn Progress) -> CoreResult<Vec<String>>;

    /// Calls [`encode_task`] for all numbers below `tasks.encode`, on any machine, and once all of
    /// them have ended, [`prepare_task`] for all below `tasks.prepare`. Reports to `progress` how
    /// many are done.
    ///
    /// # Errors
    /// The first error of a task.
    fn run(&self, tasks: &Tasks, progress: &dyn Progress) -> CoreResult<()>;
}

/// The tasks of a build.
#[derive(Clone, Debug)]
pub struct Tasks {
    /// The folder of the build.
    pub folder: PathBuf,
    /// Number of tasks that encode columns.
    pub encode: usize,
    /// Number of tasks that prepare slices.
    pub prepare: usize,
}

/// Options of the tasks of a build.
#[derive(Clone)]
pub struct TaskOptions {
    /// Number of machines that the database is for. Each kind has at least as many tasks, and more
    /// if the memory of the build does not suffice for one.
    pub shards: usize,
    /// Tasks also read the rows of keys. [`super::BuildOptions::given`] then only names the
    /// columns.
    pub read_rows: bool,
    /// Runs the tasks.
    pub runner: Arc<dyn RunTasks>,
}

impl TaskOptions {
    /// Tasks that prepare what the build has read.
    pub fn new(shards: usize, runner: Arc<dyn RunTasks>) -> Self {
        Self {
            shards,
            read_rows: false,
            runner,
        }
    }
}

impl fmt::Debug for TaskOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TaskOptions({})", self.shards)
    }
}

/// The preparation that the tasks of a build share.
pub(super) struct BuildWork<'a> {
    pub(super) scheme: &'static str,
    pub(super) parameters: &'a [u8],
    /// The file with the packed records.
    pub(super) records: &'a Path,
    pub(super) shape: Shape,
}

/// The plan of the tasks.
#[derive(Serialize, Deserialize)]
#[serde(expecting = "struct Plan")]
pub(super) struct TaskPlan {
    scheme: String,
    parameters: Vec<u8>,
    /// The file with the packed records.
    records: PathBuf,
    /// Number of records, and bits of each.
    shape: (u64, u64),
    seed: [u8; SEED_BYTES],
    encode: usize,
    prepare: usize,
}

impl TaskPlan {
    /// Plans as many tasks of each kind as there are shards; more if the share of one in the
    /// records is longer than a quarter of `memory` bytes.
    pub(super) fn new(
        work: &BuildWork<'_>,
        seed: [u8; SEED_BYTES],
        shards: usize,
        memory: u64,
    ) -> CoreResult<Self> {
        // Checked before any task starts: tasks of a scheme without slices would fail one by one.
        let scheme = registry::by_name(work.scheme)?.require_divided()?;
        let division = scheme.describe(work.parameters)?.division;
        // Fails if there are more shards than slices.
        division.split(shards)?;
        let for_memory = (work.shape.total_bytes() / (memory / 4).max(1)) as usize + 1;
        let tasks = shards.max(for_memory);

        Ok(Self {
            scheme: work.scheme.to_owned(),
            parameters: work.parameters.to_vec(),
            records: work.records.to_owned(),
            shape: (work.shape.records(), work.shape.record_bits()),
            seed,
            encode: scheme.tasks()?.column_ranges(work.parameters, tasks)?.len(),
            prepare: tasks.min(division.slices()),
        })
    }

    fn read(folder: &Path) -> CoreResult<Self> {
        let path = folder.join(PLAN);
        let json = fs::read(&path).map_err(|source| io("reading", &path, source))?;
        serde_json::from_slice(&json).map_err(|error| {
            CoreError::malformed("the plan of a build", error, "that of this version")
        })
    }

    fn write(&self, folder: &Path) -> CoreResult<()> {
        let json = serde_json::to_vec(self)
            .map_err(|error| CoreError::malformed("the plan of a build", error, "text"))?;
        publish(folder, PLAN, &json)
    }

    fn scheme(&self) -> CoreResult<&'static dyn ErasedScheme> {
        registry::by_name(&self.scheme)
    }

    /// The random bytes of all tasks, from the first on.
    pub(super) fn rng(&self) -> BuildRng {
        BuildRng::new(self.seed)
    }

    /// Opens the records.
    fn records(&self) -> CoreResult<FileRecords> {
        let (records, bits) = self.shape;
        FileRecords::of_shape(&self.records, Shape::new(records, bits)?)
    }

    /// Has the tasks run if results are missing. Returns the names of the parts.
    pub(super) fn run(
        &self,
        folder: &Path,
        runner: &dyn RunTasks,
        progress: &dyn Progress,
    ) -> CoreResult<Vec<String>> {
        // Written at every start: a build that continues may have other numbers of tasks.
        self.write(folder)?;
        self.forget_incomplete(folder, progress)?;

        // These files are written last of all that a task writes, so that a task that was killed
        // counts as missing.
        let done = (0..self.prepare).all(|task| folder.join(self.slices_file(task)).exists());
        if !done {
            let tasks = Tasks {
                folder: folder.to_owned(),
                encode: self.encode,
                prepare: self.prepare,
            };
            runner.run(&tasks, progress)?;
        }

        self.names(folder)
    }

    /// Makes tasks of an interrupted build run again whose pieces are neither there nor joined.
    fn forget_incomplete(&self, folder: &Path, progress: &dyn Progress) -> CoreResult<()> {
        let mut forgotten = 0;
        for task in 0..self.prepare {
            let path = folder.join(self.slices_file(task));
            if path.exists() && !self.has_pieces(folder, task)? {
                remove_part(&path)?;
                forgotten += 1;
            }
        }

        if forgotten > 0 {
            let event = "of an interrupted build are incomplete, and are prepared again";
            progress.notice(&format!("the slices of {forgotten} tasks {event}"));
        }
        Ok(())
    }

    /// Returns whether each piece of a task that has ended is there, or joined to its part.
    fn has_pieces(&self, folder: &Path, task: usize) -> CoreResult<bool> {
        let path = folder.join(self.slices_file(task));
        let bytes = fs::read(&path).map_err(|source| io("reading", &path, source))?;
        let names = String::from_utf8_lossy(&bytes);

        let has_all = names.lines().all(|part| {
            let joined = folder.join(part.replace('/', "-"));
            joined.is_file() || folder.join(self.piece_file(part, task)).is_file()
        });
        Ok(has_all && !names.is_empty())
    }

    /// Encodes the columns of a task.
    fn encode_columns(
        &self,
        folder: &Path,
        task: usize,
        progress: &dyn Progress,
    ) -> CoreResult<()> {
        let scheme = self.scheme()?.require_divided()?;
        let tasks = scheme.tasks()?;
        let parameters = &self.parameters;
        // Before the records are opened: the number comes from the caller of the task.
        let columns = range(tasks.column_ranges(parameters, self.encode)?, task)?;

        let records = self.records()?;
        let encoded = tasks.encode(parameters, columns, &records, &mut self.rng(), progress)?;
        publish(folder, &self.columns_file(task), encoded.as_ref())
    }

    /// Prepares the slices of a task from the encoded columns.
    fn prepare_slices(
        &self,
        folder: &Path,
        task: usize,
        progress: &dyn Progress,
    ) -> CoreResult<Vec<Piece>> {
        let scheme = self.scheme()?.require_divided()?;
        let parameters = &self.parameters;
        let division = scheme.describe(parameters)?.division;
        let slices = range(division.split(self.prepare)?, task)?;
        // Mapped: together they are as long as the matrix, and a task reads its rows of each.
        let encoded = (0..self.encode)
            .map(|task| map_blob(&folder.join(self.columns_file(task))))
            .collect::<CoreResult<Vec<Blob>>>()?;

        let tasks = scheme.tasks()?;
        tasks.prepare(parameters, slices, &encoded, &mut self.rng(), progress)
    }

    /// Writes the pieces of a part to its file.
    pub(super) fn join(&self, folder: &Path, part: &str, mut file: File) -> CoreResult<()> {
        for task in 0..self.prepare {
            let path = folder.join(self.piece_file(part, task));
            let copied =
                File::open(&path).and_then(|mut piece| std::io::copy(&mut piece, &mut file));
            copied.map_err(|source| io("joining", &path, source))?;
        }
        Ok(())
    }

    /// Removes the pieces of a part that is complete.
    pub(super) fn remove_pieces(&self, folder: &Path, part: &str) {
        for task in 0..self.prepare {
            let _ = fs::remove_file(folder.join(self.piece_file(part, task)));
        }
    }

    /// Removes the encoded columns.
    pub(super) fn remove_columns(&self, folder: &Path) {
        for task in 0..self.encode {
            let _ = fs::remove_file(folder.join(self.columns_file(task)));
        }
    }

    /// The names of all parts, as the first task has written them.
    fn names(&self, folder: &Path) -> CoreResult<Vec<String>> {
        let path = folder.join(self.slices_file(0));
        let text = fs::read_to_string(&path).map_err(|source| io("reading", &path, source))?;
        Ok(text.lines().map(str::to_owned).collect())
    }

    fn columns_file(&self, task: usize) -> String {
        format!("columns-{task}-of-{}", self.encode)
    }

    fn slices_file(&self, task: usize) -> String {
        format!("slices-{task}-of-{}", self.prepare)
    }

    fn piece_file(&self, part: &str, task: usize) -> String {
        format!("{}.{}", part.replace('/', "-"), self.slices_file(task))
    }
}

/// Encodes the columns of a task of the build in this folder. Does nothing if they are encoded
/// already.
///
/// # Errors
/// The errors of [`ErasedTasks::encode`](papir_core::erased::ErasedTasks::encode),
/// [`CoreError::OutOfBounds`] for a task that does not exist, and [`CoreError::Io`].
pub fn encode_task(folder: &Path, task: usize, progress: &dyn Progress) -> CoreResult<()> {
    let plan = TaskPlan::read(folder)?;
    if folder.join(plan.columns_file(task)).exists() {
        return Ok(());
    }
    plan.encode_columns(folder, task, progress)
}

/// Prepares the slices of a task of the build in this folder, once all columns are encoded. Does
/// nothing if they are prepared already. Encodes the columns again if they are damaged.
///
/// # Errors
/// The errors of [`ErasedTasks::prepare`](papir_core::erased::ErasedTasks::prepare) and
/// [`encode_task`].
pub fn prepare_task(folder: &Path, task: usize, progress: &dyn Progress) -> CoreResult<()> {
    let plan = TaskPlan::read(folder)?;
    let name = plan.slices_file(task);
    if folder.join(&name).exists() {
        return Ok(());
    }

    let pieces = match plan.prepare_slices(folder, task, progress) {
        // The columns may be of an interrupted build, and damaged meanwhile. They are replaced one
        // by one, never removed: another task may be about to read them.
        Err(reason @ (CoreError::Length { .. } | CoreError::Malformed { .. })) => {
            let event = "of an interrupted build are unusable, and are encoded again";
            progress.notice(&format!("the columns {event}: {reason}"));
            for columns in 0..plan.encode {
                plan.encode_columns(folder, columns, progress)?;
            }
            plan.prepare_slices(folder, task, progress)?
        }
        prepared => prepared?,
    };

    let mut parts = Vec::with_capacity(pieces.len());
    for Piece { part, bytes } in pieces {
        publish(folder, &plan.piece_file(&part, task), &bytes)?;
        parts.push(part);
    }

    // Written last: it tells the build that all pieces of this task are complete.
    publish(folder, &name, parts.join("\n").as_bytes())
}

/// The range of a task. Refuses the number of a task that does not exist.
fn range<T>(ranges: Vec<T>, task: usize) -> CoreResult<T> {
    let all = ranges.len();
    let found = ranges.into_iter().nth(task);
    found.ok_or_else(|| {
        CoreError::out_of_bounds("the number of a task", task as u64, format!("below {all}"))
    })
}

/// Writes a file that appears once it is complete and durable. Several tasks may write the same
/// one.
pub(super) fn publish(folder: &Path, name: &str, bytes: &[u8]) -> CoreResult<()> {
    publish_with(folder, name, &mut |file| file.write_all(bytes))
}

/// Like [`publish`], with the bytes that `write` writes.
pub(super) fn publish_with(
    folder: &Path,
    name: &str,
    write: &mut dyn FnMut(&mut BufWriter<File>) -> std::io::Result<()>,
) -> CoreResult<()> {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    // A name of its own: several tasks may write the same file.
    let own = format!(
        "{name}.{}-{}{UNFINISHED}",
        std::process::id(),
        NEXT.fetch_add(1, Ordering::Relaxed)
    );
    let own = folder.join(own);
    let path = folder.join(name);
    write_and_rename(&own, &path, write).map_err(|source| io("writing", &path, source))
}

/// Writes the file `own`, makes it durable, and renames it to `path`.
fn write_and_rename(
    own: &Path,
    path: &Path,
    write: &mut dyn FnMut(&mut BufWriter<File>) -> std::io::Result<()>,
) -> std::io::Result<()> {
    // Synced before the rename: after a power loss the name must not stand for missing bytes. The
    // folder itself is not synced, since a name that is lost only repeats its task.
    let mut file = BufWriter::new(File::create(own)?);
    write(&mut file)?;
    file.into_inner()?.sync_all()?;
    fs::rename(own, path)
}
