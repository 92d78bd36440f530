//! Files as bytes: mapped, or read into memory.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use memmap2::{Mmap, MmapMut};
use papir_core::{Blob, Error as CoreError};

use super::memory::free_memory;
use super::open::open_regular;
use crate::error::{Error, Result, io};

/// Maps a whole file for reading. Refuses an empty one.
pub(crate) fn map(path: &Path) -> Result<Arc<Mmap>> {
    let (file, _) = open(path)?;

    // SAFETY: reading a mapping is undefined behaviour if the file changes meanwhile, and no
    // program can keep others from changing it. papir itself never writes to a finished file: it
    // replaces snapshots by renaming, which leaves the mapped file unchanged. Runs of a build are
    // the exception: the space of one is freed when nothing borrows the mapping, and its bytes are
    // not read again. The documentation of `Build` and `Snapshot::open` asks operators to leave
    // sources and snapshots alone as well.
    #[allow(unsafe_code)]
    let map = unsafe { Mmap::map(&file) };
    Ok(Arc::new(map.map_err(Error::io("mapping", path))?))
}

/// Maps a whole file for reading; no bytes for an empty one.
pub(crate) fn map_blob(path: &Path) -> papir_core::Result<Blob> {
    let metadata = std::fs::metadata(path).map_err(|source| io("mapping", path, source))?;
    if metadata.len() == 0 {
        return Ok(Blob::copy_of(&[]));
    }

    let map = map(path).map_err(|error| io("mapping", path, std::io::Error::other(error)))?;
    let bytes = 0..map.len();
    Blob::part_of(map, bytes)
}

/// Reads a whole file into memory, in huge pages where the system has them. Later changes of the
/// file do not change these bytes. Refuses a file that does not fit into the free memory.
pub(crate) fn read(path: &Path) -> Result<Arc<Mmap>> {
    let (mut file, bytes) = open(path)?;
    let free = free_memory();
    if free.is_some_and(|free| free < bytes) {
        let file = path.display().to_string();
        let free = free.unwrap_or_default();
        return Err(Error::Memory { file, bytes, free });
    }

    let length = usize::try_from(bytes).unwrap_or(usize::MAX);
    let mut memory = MmapMut::map_anon(length).map_err(Error::io("reserving memory for", path))?;
    // Without huge pages, the memory is only a little slower.
    #[cfg(target_os = "linux")]
    let _ = memory.advise(memmap2::Advice::HugePage);

    file.read_exact(&mut memory)
        .map_err(Error::io("reading", path))?;
    let memory = memory
        .make_read_only()
        .map_err(Error::io("reading", path))?;
    Ok(Arc::new(memory))
}

/// Creates a file of zeros and maps it for writing. Its blocks are reserved, so that a full disk is
/// found here and not by a write to memory.
pub(crate) fn create_mapped(path: &Path, bytes: usize) -> std::io::Result<MmapMut> {
    let file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(true)
        .open(path)?;
    reserve(&file, bytes as u64)?;

    // SAFETY: the file was created by this build in a folder of its own, which it has locked. That
    // others leave it alone is asked of operators in the documentation of `BuildOptions::memory`.
    #[allow(unsafe_code)]
    unsafe {
        MmapMut::map_mut(&file)
    }
}

/// Reserves the blocks of a file. Where the file system cannot, only sets its length.
fn reserve(file: &File, bytes: u64) -> std::io::Result<()> {
    #[cfg(target_os = "linux")]
    match rustix::fs::fallocate(file, rustix::fs::FallocateFlags::empty(), 0, bytes) {
        Err(rustix::io::Errno::OPNOTSUPP | rustix::io::Errno::NOSYS) => {}
        done => return Ok(done?),
    }
    file.set_len(bytes)
}

/// Opens a regular file that is not empty. Returns its length in bytes, too.
fn open(path: &Path) -> Result<(File, u64)> {
    let file = open_regular(path).map_err(Error::io("opening", path))?;
    let metadata = file.metadata().map_err(Error::io("opening", path))?;
    if metadata.len() == 0 {
        return Err(Error::of_source(path)(CoreError::EmptyDatabase.into()));
    }
    Ok((file, metadata.len()))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_memory_does_not_change_with_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, [7; 10_000]).unwrap();

        let bytes = read(&path).unwrap();
        std::fs::write(&path, [8; 10]).unwrap();
        assert_eq!(bytes[..], [7; 10_000]);

        assert!(matches!(
            read(folder.path()),
            Err(Error::Core(CoreError::Io { .. }))
        ));

        std::fs::write(&path, []).unwrap();
        assert!(matches!(read(&path), Err(Error::Source { .. })));
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_pipe_is_refused_without_waiting_for_a_writer() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};

        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("pipe");
        mknodat(CWD, &path, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();

        // In a thread: if the pipe were opened, this would wait for ever.
        let (send, refused) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let both = [read(&path).map(drop), map(&path).map(drop)];
            send.send(both.map(|one| one.unwrap_err().to_string()))
        });
        let refused = refused.recv_timeout(std::time::Duration::from_secs(60));
        for error in refused.unwrap() {
            assert!(error.contains("expected a regular file"), "{error}");
        }
    }
}
