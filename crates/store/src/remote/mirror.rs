//! A file of this machine that is kept at what lies in an object store.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use papir_core::Progress;

use super::manifest::Manifest;
use super::objects::Objects;
use super::pull::{PullReport, fetch};
use super::{Location, worker};
use crate::{Error, Result};

/// A snapshot in a store and its copy in a cache folder.
#[derive(Debug)]
pub struct Mirror {
    location: Location,
    file: PathBuf,
    /// What the copy is known to be.
    known: Mutex<Option<Manifest>>,
}

impl Mirror {
    /// A copy in `cache`, in a folder of its own there, which is made.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub fn new(location: Location, cache: &Path) -> Result<Self> {
        let name = blake3::hash(location.to_string().as_bytes()).to_hex();
        let folder = cache.join(&name[..16]);
        std::fs::create_dir_all(&folder).map_err(Error::io("creating", &folder))?;
        let file = folder.join(location.name());
        Ok(Self { location, file, known: Mutex::new(None) })
    }

    /// The copy, which is there after the first [`Mirror::refresh`].
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The place in the store.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Fetches the manifest, and what has changed since the last time. Where that fails, the copy
    /// stays as it was.
    ///
    /// # Errors
    /// As [`super::pull()`].
    pub fn refresh(&self, progress: &dyn Progress) -> Result<PullReport> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let last = known.take();
        let (location, file) = (&self.location, &self.file);
        let report = worker::run(|| async move {
            let objects = Objects::open(location)?;
            let manifest = objects.manifest().await?;
            if last.as_ref() == Some(&manifest) && file.exists() {
                return Ok(PullReport { manifest, changed: false, fetched_parts: 0, fetched_bytes: 0 });
            }
            fetch(&objects, manifest, file, progress).await
        })?;
        *known = Some(report.manifest.clone());
        Ok(report)
    }
}

/// The user's folder of caches, and `papir` in it: `$XDG_CACHE_HOME`, `~/Library/Caches` or
/// `~/.cache`, `%LOCALAPPDATA%`. `None` where the system tells none.
pub fn default_cache() -> Option<PathBuf> {
    let of = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let base = if cfg!(windows) {
        of("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        of("HOME").map(|home| home.join("Library/Caches"))
    } else {
        of("XDG_CACHE_HOME").or_else(|| of("HOME").map(|home| home.join(".cache")))
    };
    base.map(|base| base.join("papir"))
}
