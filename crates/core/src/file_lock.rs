//! Exclusive locks of files.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind};
use std::process;

/// A file with an exclusive lock, which dropping this value releases. While it is held, no other
/// opening of the file can take the lock, in this process or another one.
///
/// Closing the file would not be enough. If another thread starts a process, that process has
/// copies of all open files until it runs its own program, and a lock lasts until its last copy is
/// closed.
#[derive(Debug)]
pub struct FileLock {
    file: File,
    /// The process that took the lock.
    process: u32,
}

impl FileLock {
    /// Waits for the lock. A signal does not end the wait.
    ///
    /// # Errors
    /// The errors of [`File::lock`], for example on a file system without locks.
    pub fn wait(file: File) -> io::Result<Self> {
        uninterrupted(|| file.lock())?;
        Ok(Self {
            file,
            process: process::id(),
        })
    }

    /// Takes the lock, if no other opening of the file has it.
    ///
    /// # Errors
    /// [`TryLockError::WouldBlock`] if another opening has it; the other errors of
    /// [`File::try_lock`].
    pub fn try_new(file: File) -> Result<Self, TryLockError> {
        file.try_lock()?;
        Ok(Self {
            file,
            process: process::id(),
        })
    }

    /// The locked file.
    pub fn file(&self) -> &File {
        &self.file
    }
}

impl Drop for FileLock {
    fn drop(&mut self) {
        // A fork of the process that took the lock shares it, and must not end it.
        if self.process == process::id() {
            // Where this fails, closing the file unlocks it.
            let _ = self.file.unlock();
        }
    }
}

/// Waits again whenever a signal interrupts the wait.
fn uninterrupted(mut wait: impl FnMut() -> io::Result<()>) -> io::Result<()> {
    loop {
        match wait() {
            // The lock was not taken: nothing is undone by waiting again.
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            waited => return waited,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn open(file: &tempfile::NamedTempFile) -> File {
        file.reopen().unwrap()
    }

    #[test]
    fn a_file_has_one_lock_at_a_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock = FileLock::wait(open(&file)).unwrap();
        assert!(matches!(
            FileLock::try_new(open(&file)),
            Err(TryLockError::WouldBlock)
        ));
        drop(lock);
        FileLock::try_new(open(&file)).unwrap();
    }

    #[test]
    fn a_copy_of_the_file_does_not_keep_the_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock = FileLock::wait(open(&file)).unwrap();
        // As a process that is being started has it.
        let copy = lock.file().try_clone().unwrap();
        drop(lock);
        FileLock::try_new(open(&file)).unwrap();
        drop(copy);
    }

    #[test]
    fn a_fork_does_not_end_the_lock() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let lock = FileLock::wait(open(&file)).unwrap();
        let of_fork = FileLock {
            file: lock.file().try_clone().unwrap(),
            process: lock.process + 1,
        };
        drop(of_fork);
        assert!(matches!(
            FileLock::try_new(open(&file)),
            Err(TryLockError::WouldBlock)
        ));
    }

    #[test]
    fn signals_do_not_end_a_wait() {
        let mut outcomes = [ErrorKind::WouldBlock, ErrorKind::Interrupted]
            .map(io::Error::from)
            .into_iter();
        let failed = uninterrupted(|| outcomes.next_back().map_or(Ok(()), Err));
        assert_eq!(
            failed.map_err(|error| error.kind()),
            Err(ErrorKind::WouldBlock)
        );
    }
}
