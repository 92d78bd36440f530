//! The folder of a build: lock, options, seed and parts.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{BufWriter, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use papir_core::scratch::{PreparationRng, Scratch};
use papir_core::{AlignedBytes, Blob, FileLock, Progress, Result as CoreResult, Shape};
use papir_lookup::Result as LookupResult;
use papir_lookup::outside::{IdSeed, Runs, Storage, WritePart};
use rand_core::CryptoRng;
use serde::{Deserialize, Serialize};

use super::claim::{BUILD, LOCK, claim, clear};
use super::runs::RunFile;
use crate::build::options::BuildOptions;
use crate::build::parts::{RowColumns, RowParts};
use crate::build::random::{BuildRng, SEED_BYTES};
use crate::build::scratch::remove_part;
use crate::build::tasks::{BuildWork, TaskOptions, TaskPlan, UNFINISHED};
use crate::error::{Error, Result, io};
use crate::file::{check_disk, create_mapped, is_standard_input, map_blob};
use crate::publish::{only_one, split};
use crate::source::Format;

/// Suffix of the folder's name.
const FOLDER: &str = ".papir-build";
/// Suffix of files that are not parts, but needed to make one.
const RUNS: &str = ".runs";

/// The origin of the parts of a folder: parts of another origin do not fit together.
#[derive(Serialize, Deserialize)]
struct PartsOrigin {
    /// Version of the program, the source's length and time, and the options; `None` for a source
    /// that may have changed unnoticed.
    of: Option<String>,
    /// The seed of all random bytes.
    seed: [u8; SEED_BYTES],
}

impl PartsOrigin {
    /// The origin that a folder states; `None` without a readable one.
    fn read(folder: &Path) -> Option<Self> {
        let json = fs::read(folder.join(BUILD)).ok()?;
        serde_json::from_slice(&json).ok()
    }
}

/// A preparation that is divided among tasks.
struct Divided {
    tasks: TaskOptions,
    /// The file of the records.
    records: PathBuf,
    shape: Shape,
}

/// A folder beside the snapshot that is built, or in the place of the options for scratch files.
pub(in crate::build) struct BuildFolder {
    folder: PathBuf,
    /// Locked until the build ends.
    _lock: Option<FileLock>,
    origin: PartsOrigin,
    /// The memory of the build in bytes.
    memory: u64,
    /// Set if a part is finished: an interrupted build can then continue.
    started: bool,
    tasks: Option<Divided>,
}

impl BuildFolder {
    /// Opens the folder of an interrupted build with the same options and the same source, or a new
    /// one, whose seed `rng` draws. Refuses a second build of a file.
    pub(in crate::build) fn open(
        options: &BuildOptions,
        memory: u64,
        rng: &mut dyn CryptoRng,
    ) -> Result<Self> {
        let folder = place(options)?;
        claim(&folder)?;

        // Locked before it is read or cleared: another build may still write its parts there.
        let lock = folder.join(LOCK);
        let lock = File::options()
            .write(true)
            .create(true)
            .truncate(false)
            .open(&lock)
            .map_err(Error::io("creating", &lock))?;
        let lock = only_one("build", &options.out, lock)?;

        // A folder without an origin, or of another one, is cleared: parts under other random
        // bytes, or of other rows, would not fit together.
        let mut fresh = PartsOrigin {
            of: identity(options),
            seed: [0; SEED_BYTES],
        };
        rng.fill_bytes(&mut fresh.seed);
        let kept =
            PartsOrigin::read(&folder).filter(|kept| kept.of.is_some() && kept.of == fresh.of);
        let found = kept.is_some();

        let mut opened = Self {
            folder,
            _lock: lock,
            origin: kept.unwrap_or(fresh),
            memory,
            started: false,
            tasks: None,
        };
        if found {
            opened.started = opened.has_parts()?;
        } else {
            opened.begin()?;
        }
        Ok(opened)
    }

    /// Removes the parts of another build, and writes the description of this one.
    fn begin(&self) -> Result<()> {
        clear(&self.folder)?;

        let json = serde_json::to_vec_pretty(&self.origin).map_err(std::io::Error::from);
        let written = json.and_then(|json| fs::write(self.folder.join(BUILD), json));
        written.map_err(Error::io("writing", &self.folder))
    }

    /// Returns whether a part is finished.
    fn has_parts(&self) -> Result<bool> {
        for name in self.files()? {
            let unfinished = name.ends_with(UNFINISHED) || name.ends_with(RUNS);
            if name != LOCK && name != BUILD && !unfinished {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The names of all files.
    fn files(&self) -> Result<Vec<String>> {
        let files = fs::read_dir(&self.folder).map_err(Error::io("reading", &self.folder))?;
        let mut names = Vec::new();
        for file in files {
            let file = file.map_err(Error::io("reading", &self.folder))?;
            names.push(file.file_name().to_string_lossy().into_owned());
        }
        Ok(names)
    }

    /// The random bytes of the build, from the first on.
    pub(in crate::build) fn rng(&self) -> BuildRng {
        BuildRng::new(self.origin.seed)
    }

    /// Has tasks read the rows with these columns of keys and values.
    pub(super) fn rows_by_tasks(
        &self,
        columns: RowColumns<'_>,
        seed: IdSeed,
        tasks: &TaskOptions,
        progress: &dyn Progress,
    ) -> Result<RowParts> {
        let folder = fs::canonicalize(&self.folder).map_err(Error::io("finding", &self.folder))?;
        let runner = &*tasks.runner;
        RowParts::read(folder, columns, seed, self.memory, runner, progress)
    }

    /// The path of a file of the build.
    fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name.replace('/', "-"))
    }

    /// The path of runs of the build.
    pub(super) fn runs_path(&self, kind: &str) -> PathBuf {
        self.path(&format!("{kind}{RUNS}"))
    }

    /// The path of an unfinished part.
    fn unfinished(&self, name: &str) -> PathBuf {
        self.path(&format!("{name}{UNFINISHED}"))
    }

    /// Gives a part, written under the name of an unfinished one, its final name.
    pub(super) fn finish(&mut self, name: &str) -> CoreResult<Blob> {
        let unfinished = self.unfinished(name);
        let path = self.path(name);

        // Synced before it is renamed: after a power loss, too, a part with its final name is
        // complete.
        File::options()
            .write(true)
            .open(&unfinished)
            .and_then(|file| file.sync_all())
            .and_then(|()| fs::rename(&unfinished, &path))
            .map_err(|source| io("writing", &path, source))?;

        // A source that may have changed unnoticed is read again, so its parts are worth nothing.
        self.started = self.origin.of.is_some();
        self.find(name)?
            .ok_or_else(|| io("writing", &path, ErrorKind::NotFound.into()))
    }

    /// Has the tasks of the options prepare the parts, from the records in a part or in the source.
    /// Without tasks, the build prepares them.
    pub(in crate::build) fn divide_by(
        &mut self,
        options: &BuildOptions,
        part: Option<&str>,
        shape: Shape,
    ) {
        let records = part.map_or_else(|| options.source.clone(), |part| self.path(part));
        self.tasks = options.tasks.clone().map(|tasks| Divided {
            tasks,
            records,
            shape,
        });
    }

    /// Creates the file of an unfinished part.
    pub(super) fn create(&self, name: &str) -> CoreResult<File> {
        let path = self.unfinished(name);
        File::create(&path).map_err(|source| io("creating", &path, source))
    }

    /// Removes the folder of a build that is complete.
    pub(in crate::build) fn remove(mut self) {
        self.started = false;
    }
}

impl Drop for BuildFolder {
    /// Removes the folder, unless an interrupted build can continue.
    fn drop(&mut self) {
        if !self.started {
            // In this order: a build that is killed now leaves a folder that the next one takes.
            let _ = clear(&self.folder);
            let _ = fs::remove_dir_all(&self.folder);
        }
    }
}

impl Scratch for BuildFolder {
    fn find(&self, name: &str) -> CoreResult<Option<Blob>> {
        let path = self.path(name);
        if path.exists() {
            map_blob(&path).map(Some)
        } else {
            Ok(None)
        }
    }

    fn discard(&mut self, name: &str) -> CoreResult<()> {
        remove_part(&self.path(name))
    }

    fn zeroed(&mut self, name: &str, bytes: usize) -> CoreResult<AlignedBytes> {
        let path = self.unfinished(name);
        if bytes == 0 {
            return Ok(AlignedBytes::zeroed(0));
        }
        // Under the name of an unfinished part: a crash during the filling leaves no part.
        let map = create_mapped(&path, bytes).map_err(|source| io("creating", &path, source))?;
        AlignedBytes::mapped(map)
    }

    fn keep(&mut self, name: &str, part: AlignedBytes) -> CoreResult<Blob> {
        if !part.is_mapped() {
            let path = self.unfinished(name);
            fs::write(&path, part.as_ref()).map_err(|source| io("writing", &path, source))?;
        }
        // Before the part is mapped again, so that only one of both takes memory.
        drop(part);
        self.finish(name)
    }

    fn divide(
        &mut self,
        scheme: &'static str,
        parameters: &[u8],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> CoreResult<Option<PreparationRng>> {
        let Some(divided) = self.tasks.take() else {
            return Ok(None);
        };
        let TaskOptions { shards, runner, .. } = divided.tasks;

        let mut seed = [0; SEED_BYTES];
        rng.fill_bytes(&mut seed);
        let folder = absolute(&self.folder)?;
        let records = absolute(&divided.records)?;
        let work = BuildWork {
            scheme,
            parameters,
            records: &records,
            shape: divided.shape,
        };
        let plan = TaskPlan::new(&work, seed, shards, self.memory)?;

        // A part that is joined already was finished by a build that was interrupted after it.
        // Pieces go once their part is durable, so the disk has each twice for a short time only.
        for part in plan.run(&folder, runner.as_ref(), progress)? {
            if self.find(&part)?.is_none() {
                plan.join(&folder, &part, self.create(&part)?)?;
                self.finish(&part)?;
            }
            plan.remove_pieces(&folder, &part);
        }

        // Last: a task that is run again needs all of them.
        plan.remove_columns(&folder);
        Ok(Some(Box::new(plan.rng())))
    }
}

impl Storage for BuildFolder {
    fn runs(&mut self, kind: &'static str) -> CoreResult<Box<dyn Runs>> {
        Ok(Box::new(RunFile::create(
            self.runs_path(kind),
            self.memory,
        )?))
    }

    fn keep_written(&mut self, name: &str, write: &mut WritePart<'_>) -> LookupResult<Blob> {
        let mut file = BufWriter::new(self.create(name)?);
        write(&mut file)?;
        let flushed = file.flush();
        flushed.map_err(|source| io("writing", &self.unfinished(name), source))?;

        drop(file);
        Ok(self.finish(name)?)
    }

    fn check_room(&self, bytes: u64) -> CoreResult<()> {
        check_disk(&self.folder, &self.folder, bytes).map_err(|error| {
            let full = std::io::Error::new(ErrorKind::StorageFull, error.to_string());
            io("building in", &self.folder, full)
        })
    }
}

/// The path of the folder of a build, whose parent exists then.
fn place(options: &BuildOptions) -> Result<PathBuf> {
    let (directory, name) = split(&options.out)?;
    fs::create_dir_all(&directory).map_err(Error::io("creating", &directory))?;

    // Hidden, since it is no database.
    let mut hidden = OsString::from(".");
    hidden.push(name);
    let Some(scratch) = &options.scratch else {
        // Beside the snapshot, where tasks on other machines find it, too.
        hidden.push(FOLDER);
        return Ok(directory.join(hidden));
    };

    check_outside(options, scratch)?;
    fs::create_dir_all(scratch).map_err(Error::io("creating", scratch))?;
    // Snapshots of one name in several folders may share the place.
    let directory = fs::canonicalize(&directory).map_err(Error::io("finding", &directory))?;
    let hash = blake3::hash(directory.as_os_str().as_encoded_bytes()).to_hex();
    hidden.push(format!(".{}{FOLDER}", &hash[..16]));
    Ok(scratch.join(hidden))
}

/// Refuses a place for scratch files in the folder that is the source: they would be records.
fn check_outside(options: &BuildOptions, scratch: &Path) -> Result<()> {
    if options.format() != Format::Folder {
        return Ok(());
    }

    let source = &options.source;
    let source = fs::canonicalize(source).map_err(Error::io("finding", source))?;
    // Before the folder is created, so that a refusal leaves nothing in the source.
    let wanted = std::path::absolute(scratch).map_err(Error::io("finding", scratch))?;
    let existing = wanted
        .ancestors()
        .find_map(|path| fs::canonicalize(path).ok());
    if existing.is_none_or(|existing| !existing.starts_with(&source)) {
        return Ok(());
    }
    Err(Error::options(
        format!("scratch files in {}, in the source", scratch.display()),
        "a folder outside of it",
    ))
}

/// The path of a file of a build on every machine, without links.
fn absolute(path: &Path) -> CoreResult<PathBuf> {
    fs::canonicalize(path).map_err(|source| io("finding", path, source))
}

/// Describes program, source and options; `None` for rows of a program, a stream, a folder, or an
/// SQLite database with its log beside it, which may have changed unnoticed.
fn identity(options: &BuildOptions) -> Option<String> {
    if options.given.is_some() {
        return None;
    }

    let unnoticed = is_standard_input(&options.source) || options.format() == Format::Sqlite;
    if unnoticed {
        return None;
    }

    // Length and time of each file tell whether it has changed. A time that cannot be told makes it
    // a source that may have.
    let mut paths = Vec::new();
    let mut states = Vec::new();
    for file in options.files() {
        let metadata = fs::metadata(file).ok()?;
        if !metadata.is_file() {
            return None;
        }
        let changed = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
        states.push(format!("{} {changed:?}", metadata.len()));
        paths.push(fs::canonicalize(file).ok()?);
    }

    let mut paths = paths.into_iter();
    let source = paths.next()?;
    // Tasks draw other random bytes than a build without them, on any machine.
    let by_tasks = options.tasks.is_some();
    // Neither the place of the snapshot nor its signature changes a part.
    let options = BuildOptions {
        source,
        more: paths.collect(),
        out: PathBuf::new(),
        name: None,
        sign: None,
        former: None,
        unsigned: false,
        force: false,
        scratch: None,
        memory: None,
        tasks: None,
        ..options.clone()
    };

    let program = env!("CARGO_PKG_VERSION");
    let states = states.join(" ");
    Some(format!("{program} {states} {by_tasks} {options:?}"))
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::atomic::{AtomicU64, Ordering};

    use chacha20::ChaCha20Rng;
    use papir_lookup::outside::{self, AddedEntries, EntryRuns};
    use papir_lookup::{Entry, TableOptions};
    use rand_core::SeedableRng;
    use rustix::fs::SeekFrom;

    use super::*;
    use crate::file::free_range;

    const ROWS: u64 = 200_000;

    /// The bytes of a file outside its holes; 0 if it is removed meanwhile.
    fn data_bytes(path: &Path) -> u64 {
        let Ok(file) = File::open(path) else { return 0 };
        let mut bytes = 0;
        let mut at = 0;
        // Fails after the last byte, and so ends there.
        while let Ok(start) = rustix::fs::seek(&file, SeekFrom::Data(at)) {
            at = rustix::fs::seek(&file, SeekFrom::Hole(start)).unwrap();
            bytes += at - start;
        }
        bytes
    }

    /// The bytes of runs outside their holes, and those of parts, whose space is reserved.
    fn folder_bytes(folder: &Path) -> u64 {
        let mut bytes = 0;
        for file in fs::read_dir(folder).unwrap() {
            let file = file.unwrap();
            if file.file_name().to_string_lossy().ends_with(RUNS) {
                bytes += data_bytes(&file.path());
            } else {
                bytes += file.metadata().map_or(0, |found| found.len());
            }
        }
        bytes
    }

    /// Returns whether the file system frees single blocks of runs.
    fn has_holes(folder: &Path) -> bool {
        let path = folder.join("holes");
        let mut file = File::create(&path).unwrap();
        file.write_all(&[1; 1 << 16]).unwrap();
        file.sync_all().unwrap();
        free_range(&file, 1 << 15, 4096) && data_bytes(&path) < 1 << 16
    }

    /// Measures a folder while a table is built there.
    struct Peak<'a> {
        folder: &'a Path,
        reports: AtomicU64,
        most: AtomicU64,
    }

    impl Peak<'_> {
        fn look(&self) {
            self.most
                .fetch_max(folder_bytes(self.folder), Ordering::Relaxed);
        }
    }

    impl Progress for Peak<'_> {
        fn stage(&self, _name: &str, _total: u64) {
            self.look();
        }

        fn advance(&self, _steps: u64) {
            if self
                .reports
                .fetch_add(1, Ordering::Relaxed)
                .is_multiple_of(16)
            {
                self.look();
            }
        }
    }

    #[test]
    fn the_folder_holds_the_entries_about_once() {
        let beside = tempfile::tempdir().unwrap();
        if !has_holes(beside.path()) {
            return;
        }

        let mut rng = ChaCha20Rng::from_seed([1; SEED_BYTES]);
        let options = BuildOptions::new("a program", beside.path().join("a.papir"));
        // Blocks of the least length: most bytes are then in files, and not in buffers.
        let mut folder = BuildFolder::open(&options, 4 << 20, &mut rng).unwrap();
        let path = folder.folder.clone();

        let seed = IdSeed::random(&mut rng);
        let mut added = AddedEntries::new(seed, folder.runs("entries").unwrap());
        for line in 1..=ROWS {
            let entry = Entry {
                key: format!("{line:040}").into_bytes(),
                value: b"ab".to_vec(),
                line,
            };
            added.add(&entry).unwrap();
        }

        let mut entries = EntryRuns::new(seed, vec![added.finish()]);
        let peak = Peak {
            folder: &path,
            reports: AtomicU64::new(0),
            most: AtomicU64::new(0),
        };
        let table = TableOptions::default();
        outside::build(&mut entries, &table, &mut folder, &mut rng, &peak).unwrap();
        peak.look();

        // Ids and numbers of 20 bytes beside buckets; keys have 40 bytes and are not kept.
        let most = peak.most.into_inner();
        assert!(most > ROWS * 10, "{most} bytes were measured");
        assert!(most < ROWS * 38, "{most} bytes");
    }
}
