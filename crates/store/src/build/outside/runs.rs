//! Runs of bytes in one file.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;

use papir_core::{Blob, Error as CoreError, Result as CoreResult};
use papir_lookup::outside::{RUNS, ReadRuns, Runs};

use crate::error::io;
use crate::file::{free_range, map_blob};

/// Bytes of a block, a multiple of the least: a run's bytes wait in memory until they fill one.
/// Whole pages of the file can be freed.
const BLOCK_BYTES: [usize; 2] = [4096, 1 << 18];
/// The buffers of one kind of runs take at most this share of the memory of a build, unless blocks
/// have the least length. Three kinds exist together, and four while items and their entries are
/// hashed again for another placement seed.
const SHARE: u64 = 16 * 3;

/// Runs whose blocks follow each other in a file in the order in which they were filled. The file
/// is removed with them.
pub(super) struct RunFile {
    path: PathBuf,
    file: File,
    /// Length of the file in blocks.
    blocks: u64,
    block_bytes: usize,
    /// The most bytes of a run that may be read.
    most: u64,
    /// Set if the file system gives back the space of blocks.
    frees: bool,
    runs: Vec<RunBlocks>,
    /// The file, mapped once it is complete: its pages are not memory of the build.
    sealed: Option<Blob>,
}

#[derive(Clone, Default)]
struct RunBlocks {
    /// The full blocks in the file.
    blocks: Vec<u64>,
    /// The bytes after them.
    rest: Vec<u8>,
}

impl RunFile {
    /// Creates empty runs of a build with this memory in bytes.
    pub(super) fn create(path: PathBuf, memory: u64) -> CoreResult<Self> {
        let file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(true)
            .open(&path);
        let file = file.map_err(|source| io("creating", &path, source))?;

        let [least, most] = BLOCK_BYTES;
        let share = (memory / SHARE) as usize / RUNS;
        let block_bytes = (share / least * least).clamp(least, most);
        // The file is empty, so this changes nothing, and shows whether the file system can.
        let frees = free_range(&file, 0, block_bytes as u64);

        let runs = vec![RunBlocks::default(); RUNS];
        Ok(Self {
            path,
            file,
            blocks: 0,
            block_bytes,
            most: most_bytes(memory),
            frees,
            runs,
            sealed: None,
        })
    }

    /// Appends bytes, and writes the run's first block if it is full.
    fn append_part(&mut self, run: usize, mut part: &[u8]) -> CoreResult<()> {
        let run = &mut self.runs[run];
        while run.rest.len() + part.len() >= self.block_bytes {
            // Blocks have one length, so that the place of a block is its number.
            let (now, later) = part.split_at(self.block_bytes - run.rest.len());
            run.rest.extend_from_slice(now);
            self.file
                .write_all(&run.rest)
                .map_err(|source| io("writing", &self.path, source))?;
            run.blocks.push(self.blocks);
            run.rest.clear();
            self.blocks += 1;
            part = later;
        }
        run.rest.extend_from_slice(part);
        Ok(())
    }
}

impl ReadRuns for RunFile {
    fn read(&mut self, run: usize, out: &mut Vec<u8>) -> CoreResult<()> {
        let RunBlocks { blocks, rest } = &self.runs[run];
        let start = out.len();
        let in_blocks = start + blocks.len() * self.block_bytes;
        // Before the memory is taken: all rows of one key are in one run, however many there are.
        check_memory(in_blocks + rest.len(), self.most)?;
        out.reserve_exact(in_blocks + rest.len() - start);
        out.resize(in_blocks, 0);

        let in_file = out[start..].chunks_exact_mut(self.block_bytes);
        for (&block, out) in blocks.iter().zip(in_file) {
            self.file
                .seek(SeekFrom::Start(block * self.block_bytes as u64))
                .and_then(|_| self.file.read_exact(out))
                .map_err(|source| io("reading", &self.path, source))?;
        }
        out.extend_from_slice(rest);

        // Appends go to the end.
        self.file
            .seek(SeekFrom::Start(self.blocks * self.block_bytes as u64))
            .map_err(|source| io("reading", &self.path, source))?;
        Ok(())
    }

    fn free(&mut self, run: usize) {
        let block_bytes = self.block_bytes as u64;
        for block in std::mem::take(&mut self.runs[run]).blocks {
            // A block that stays takes space only until the file is removed.
            free_range(&self.file, block * block_bytes, block_bytes);
        }
    }

    fn frees(&self) -> bool {
        self.frees
    }
}

impl Runs for RunFile {
    fn append(&mut self, run: usize, parts: &[&[u8]]) -> CoreResult<()> {
        for part in parts {
            self.append_part(run, part)?;
        }
        Ok(())
    }

    fn seal(&mut self) -> CoreResult<()> {
        if self.sealed.is_none() {
            self.sealed = Some(map_blob(&self.path)?);
        }
        Ok(())
    }

    fn copy(&self, run: usize, mut at: u64, mut out: &mut [u8]) {
        let sealed = self.sealed.as_deref().unwrap_or_default();
        let block_bytes = self.block_bytes as u64;
        let RunBlocks { blocks, rest } = &self.runs[run];
        while !out.is_empty() {
            let within = (at % block_bytes) as usize;
            // From the mapping, by several threads at once, which one file position would not
            // allow.
            let block = match blocks.get((at / block_bytes) as usize) {
                Some(block) => &sealed[(block * block_bytes) as usize..][..self.block_bytes],
                None => rest,
            };

            let count = out.len().min(block.len() - within);
            let (now, later) = out.split_at_mut(count);
            now.copy_from_slice(&block[within..][..count]);
            at += count as u64;
            out = later;
        }
    }
}

/// The most bytes of a run that a build with this memory in bytes sorts.
pub(in crate::build) fn most_bytes(memory: u64) -> u64 {
    memory / 8
}

/// Refuses a run of more bytes than allowed.
pub(in crate::build) fn check_memory(bytes: usize, most: u64) -> CoreResult<()> {
    if bytes as u64 <= most {
        return Ok(());
    }
    Err(CoreError::out_of_bounds(
        "the number of bytes that are sorted together, as all rows of a key are,",
        bytes as u64,
        format!("at most {most}, an eighth of the memory allowed"),
    ))
}

impl Drop for RunFile {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.path);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(runs: &mut RunFile, run: usize) -> Vec<u8> {
        let mut bytes = vec![7];
        // The bytes before the run count, too.
        runs.most += 1;
        runs.read(run, &mut bytes).unwrap();
        runs.most -= 1;
        assert_eq!(bytes.remove(0), 7);
        bytes
    }

    #[test]
    fn runs_come_back_whole_and_their_file_goes_with_them() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs");
        let mut runs = RunFile::create(path.clone(), 1 << 22).unwrap();
        let mut expected = vec![Vec::new(); RUNS];

        for step in 0..3000usize {
            let run = step * step % 7;
            let part = vec![step as u8; step % 53];
            runs.append(run, &[&part, b"-"]).unwrap();
            expected[run].extend([&part[..], b"-"].concat());
            if step == 1500 {
                assert_eq!(
                    read(&mut runs, run),
                    expected[run],
                    "read, then appended to"
                );
            }
        }

        runs.append(8, &[&vec![1; 3 * 4096]]).unwrap();
        expected[8] = vec![1; 3 * 4096];
        runs.seal().unwrap();

        for (run, expected) in expected.iter().enumerate() {
            assert_eq!(read(&mut runs, run), *expected, "run {run}");
            for at in (0..expected.len()).step_by(97) {
                let mut part = vec![0; 5000.min(expected.len() - at)];
                runs.copy(run, at as u64, &mut part);
                assert!(part == expected[at..][..part.len()], "run {run}, byte {at}");
            }
        }

        drop(runs);
        assert!(!path.exists());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn freed_runs_give_back_their_space_and_leave_the_others() {
        use std::os::unix::fs::MetadataExt;

        let folder = tempfile::tempdir().unwrap();
        let mut runs = RunFile::create(folder.path().join("runs"), 1 << 30).unwrap();
        // A file system without holes, such as some of a network.
        if !runs.frees() {
            return;
        }

        for step in 0..64u8 {
            runs.append(step as usize % 4, &[&[step; 1 << 16]]).unwrap();
        }
        runs.seal().unwrap();
        runs.file.sync_all().unwrap();
        let blocks = |runs: &RunFile| runs.file.metadata().unwrap().blocks();
        let before = blocks(&runs);
        let kept = read(&mut runs, 3);

        for run in 0..3 {
            runs.free(run);
        }
        runs.file.sync_all().unwrap();
        assert!(blocks(&runs) <= before / 2, "{before} blocks before");
        assert!(read(&mut runs, 0).is_empty());
        assert_eq!(read(&mut runs, 3), kept);

        let mut part = vec![0; 1 << 16];
        runs.copy(3, 1 << 16, &mut part);
        assert_eq!(part, kept[1 << 16..2 << 16]);
    }

    #[test]
    fn a_run_that_does_not_fit_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut runs = RunFile::create(folder.path().join("runs"), 1 << 16).unwrap();
        runs.append(0, &[&[1; 8192]]).unwrap();
        assert_eq!(read(&mut runs, 0).len(), 8192);

        runs.append(0, &[b"1"]).unwrap();
        assert_eq!(
            runs.read(0, &mut Vec::new()).unwrap_err().code(),
            "out_of_bounds"
        );
    }
}
