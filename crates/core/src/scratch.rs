//! Storage for the parts of a long preparation.
//!
//! A preparation that was interrupted continues from its parts in storage.

use rand_core::CryptoRng;

use crate::{AlignedBytes, Blob, Error, Progress, Result};

/// The random generator of a preparation by tasks.
pub type PreparationRng = Box<dyn CryptoRng>;

/// The bytes of a part that belong to a range of slices. The pieces of all slices, in order, form
/// the whole part.
pub struct Piece {
    /// The part's name.
    pub part: String,
    /// The part's bytes for these slices.
    pub bytes: Blob,
}

/// Storage for the parts of a preparation. It contains only complete parts.
pub trait Scratch {
    /// Finds the part with this name; `None` if the storage does not have it.
    ///
    /// # Errors
    /// Errors of reading; any other error for a part that is known to be damaged.
    fn find(&self, name: &str) -> Result<Option<Blob>>;

    /// Removes the part with this name, if the storage has it. By default there is nothing to
    /// remove: the part is replaced when it is kept again.
    ///
    /// # Errors
    /// Errors of removing.
    fn discard(&mut self, _name: &str) -> Result<()> {
        Ok(())
    }

    /// Allocates zeroed memory for the part with this name, by default on the heap.
    ///
    /// # Errors
    /// Errors of storage outside the heap, for example a full disk.
    fn zeroed(&mut self, _name: &str, bytes: usize) -> Result<AlignedBytes> {
        Ok(AlignedBytes::zeroed(bytes))
    }

    /// Keeps a complete part, and returns its bytes. A name always has the same contents.
    ///
    /// # Errors
    /// Errors of writing.
    fn keep(&mut self, name: &str, part: AlignedBytes) -> Result<Blob>;

    /// Divides a preparation with these parameters among tasks, if this storage has tasks. The
    /// tasks make the parts, which [`Scratch::find`] then finds.
    ///
    /// Returns the tasks' random generator, which the preparation must use in place of `_rng`;
    /// `None` without tasks.
    ///
    /// # Errors
    /// Errors of the tasks and of the storage; [`crate::Error::Parameters`] for a scheme that
    /// prepares all slices together.
    fn divide(
        &mut self,
        _scheme: &'static str,
        _parameters: &[u8],
        _rng: &mut dyn CryptoRng,
        _progress: &dyn Progress,
    ) -> Result<Option<PreparationRng>> {
        Ok(None)
    }
}

/// Finds the part with this name, and returns what `read` makes of it; `None` if it is missing or
/// unusable. A part that is damaged, or that `read` refuses, is reported and discarded, so that its
/// preparation makes it again.
///
/// # Errors
/// Errors of reading and removing.
pub fn find_usable<T>(
    scratch: &mut dyn Scratch,
    name: &str,
    progress: &dyn Progress,
    read: impl FnOnce(Blob) -> Result<T>,
) -> Result<Option<T>> {
    let usable = match scratch.find(name) {
        Ok(None) => return Ok(None),
        Ok(Some(part)) => read(part),
        // The storage is at fault, not the part.
        Err(error @ Error::Io { .. }) => return Err(error),
        Err(damage) => Err(damage),
    };

    match usable {
        Ok(usable) => Ok(Some(usable)),
        Err(reason) => {
            let event = "of an interrupted build is unusable, and is made again";
            progress.notice(&format!("the part {name} {event}: {reason}"));
            scratch.discard(name)?;
            Ok(None)
        }
    }
}

/// Finds the part with this name and a length of `bytes` bytes. If it is missing or unusable, makes
/// it from zeros with `fill`, and keeps it.
///
/// # Errors
/// Errors of the storage and of `fill`.
pub fn find_or_make(
    scratch: &mut dyn Scratch,
    name: &str,
    bytes: usize,
    progress: &dyn Progress,
    fill: impl FnOnce(&mut AlignedBytes) -> Result<()>,
) -> Result<Blob> {
    // Only the length is checked: the name determines the contents.
    let found = find_usable(scratch, name, progress, |part| {
        Error::check_length("a kept part", part.len(), bytes)?;
        Ok(part)
    })?;
    if let Some(part) = found {
        return Ok(part);
    }

    let mut part = scratch.zeroed(name, bytes)?;
    fill(&mut part)?;
    scratch.keep(name, part)
}

/// A [`Scratch`] in memory, which finds no parts.
#[derive(Clone, Copy, Debug, Default)]
pub struct InMemory;

impl Scratch for InMemory {
    fn find(&self, _name: &str) -> Result<Option<Blob>> {
        Ok(None)
    }

    fn keep(&mut self, _name: &str, part: AlignedBytes) -> Result<Blob> {
        Ok(part.into())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::BTreeMap;
    use std::sync::Mutex;

    use super::*;

    /// Storage whose parts may be damaged.
    #[derive(Default)]
    struct Parts {
        parts: BTreeMap<String, Vec<u8>>,
        is_lost: bool,
    }

    impl Scratch for Parts {
        fn find(&self, name: &str) -> Result<Option<Blob>> {
            if self.is_lost {
                let source = std::io::ErrorKind::PermissionDenied.into();
                let what = "reading".to_owned();
                return Err(Error::Io { what, source });
            }

            let found = self.parts.get(name);
            if found.is_some_and(|part| part.starts_with(b"damaged")) {
                let what = name.to_owned();
                return Err(Error::Checksum { what });
            }
            Ok(found.map(|part| Blob::copy_of(part)))
        }

        fn discard(&mut self, name: &str) -> Result<()> {
            self.parts.remove(name);
            Ok(())
        }

        fn keep(&mut self, name: &str, part: AlignedBytes) -> Result<Blob> {
            self.parts.insert(name.to_owned(), part.as_ref().to_vec());
            Ok(part.into())
        }
    }

    /// Collects all notices.
    #[derive(Default)]
    struct Notices(Mutex<Vec<String>>);

    impl Progress for Notices {
        fn stage(&self, _name: &str, _total: u64) {}

        fn advance(&self, _steps: u64) {}

        fn notice(&self, line: &str) {
            self.0.lock().unwrap().push(line.to_owned());
        }
    }

    #[test]
    fn an_unusable_part_is_reported_removed_and_made_again() {
        for wrong in [&b"damaged"[..], b"short", b""] {
            let mut scratch = Parts::default();
            scratch.parts.insert("rows".to_owned(), wrong.to_vec());
            let notices = Notices::default();

            let found = find_usable::<()>(&mut scratch, "rows", &notices, |_| {
                Err(Error::EmptyDatabase)
            });
            assert!(found.unwrap().is_none() && scratch.parts.is_empty());
            let lines = notices.0.into_inner().unwrap();
            assert_eq!(lines.len(), 1);
            assert!(
                lines[0].starts_with("the part rows ") && lines[0].contains("made again"),
                "{lines:?}"
            );
        }

        let mut scratch = Parts::default();
        scratch.parts.insert("rows".to_owned(), b"short".to_vec());
        for notices in [1, 0] {
            let seen = Notices::default();
            let made = find_or_make(&mut scratch, "rows", 64, &seen, |part| {
                part.bytes_mut().fill(7);
                Ok(())
            });
            assert_eq!(*made.unwrap(), [7; 64]);
            assert_eq!(seen.0.into_inner().unwrap().len(), notices);
        }
    }

    #[test]
    fn a_part_that_cannot_be_read_is_left() {
        let mut scratch = Parts {
            is_lost: true,
            ..Parts::default()
        };
        scratch.parts.insert("rows".to_owned(), b"whole".to_vec());

        let found = find_usable(&mut scratch, "rows", &crate::NoProgress, Ok);
        assert_eq!(found.unwrap_err().code(), "io");
        assert_eq!(scratch.parts.len(), 1);
    }
}
