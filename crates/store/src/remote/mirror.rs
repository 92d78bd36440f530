//! Local copies of snapshots in object stores.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use papir_core::Progress;

#[cfg(feature = "cloud")]
use super::location::Location;
use super::manifest::Manifest;
#[cfg(feature = "cloud")]
use super::pull::{pull_newer, pull_previous};
use super::transfer::PullReport;
#[cfg(not(feature = "cloud"))]
use super::unavailable::{Location, pull_newer, pull_previous};
use crate::error::{Error, Result};
use crate::versions::{self, ReplacedVersion};

/// A snapshot in an object store and its copy in a cache folder.
#[derive(Debug)]
pub struct Mirror {
    location: Location,
    file: PathBuf,
    /// The manifest of the copy, once known.
    known: Mutex<Option<Manifest>>,
}

impl Mirror {
    /// Creates a folder for the copy below `cache`.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub fn new(location: Location, cache: &Path) -> Result<Self> {
        // By the whole address: two stores may have snapshots of one name.
        let name = blake3::hash(location.to_string().as_bytes()).to_hex();
        let folder = cache.join(&name[..16]);
        std::fs::create_dir_all(&folder).map_err(Error::io("creating", &folder))?;

        let file = folder.join(location.name());
        Ok(Self {
            location,
            file,
            known: Mutex::new(None),
        })
    }

    /// The path of the copy, which exists after the first successful [`Mirror::refresh`].
    pub fn file(&self) -> &Path {
        &self.file
    }

    /// The snapshot's location in the store.
    pub fn location(&self) -> &Location {
        &self.location
    }

    /// Fetches the manifest, and the parts that the copy lacks. On failure the copy stays
    /// unchanged.
    ///
    /// # Errors
    /// The errors of [`super::pull()`].
    pub fn refresh(&self, progress: &dyn Progress) -> Result<PullReport> {
        // Locked for the whole pull: a second one meanwhile would fetch the same parts.
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let pulled = pull_newer(&self.location, &self.file, known.as_ref(), progress);

        match &pulled {
            Ok(report) => *known = Some(report.manifest.clone()),
            // The copy is as before.
            Err(Error::Remote(error)) if error.is_temporary() => {}
            // The next call compares the whole copy again.
            Err(_) => *known = None,
        }
        pulled
    }

    /// Copies the version before the one in the store, if it was replaced no longer ago than
    /// `within`, and removes other copies of earlier versions. `None` if the store has no such
    /// version.
    ///
    /// # Errors
    /// The errors of [`super::pull()`].
    pub fn previous(
        &self,
        within: Duration,
        progress: &dyn Progress,
    ) -> Result<Option<ReplacedVersion>> {
        // Fetched before others are removed: a failure leaves what a service may serve.
        let previous = pull_previous(&self.location, &self.file, within, progress)?;
        let kept = previous.as_ref().map(|version| version.path.as_path());
        versions::remove_others(&self.file, kept)?;
        Ok(previous)
    }
}

/// Returns the folder `papir` in the user's cache folder: `%LOCALAPPDATA%` on Windows,
/// `~/Library/Caches` on macOS, otherwise `$XDG_CACHE_HOME` or `~/.cache`. `None` if the
/// environment does not name it.
pub fn default_cache() -> Option<PathBuf> {
    let base = if cfg!(windows) {
        absolute("LOCALAPPDATA")
    } else if cfg!(target_os = "macos") {
        absolute("HOME").map(|home| home.join("Library/Caches"))
    } else {
        absolute("XDG_CACHE_HOME").or_else(|| absolute("HOME").map(|home| home.join(".cache")))
    };

    base.map(|base| base.join("papir"))
}

/// The absolute path in an environment variable.
fn absolute(variable: &str) -> Option<PathBuf> {
    std::env::var_os(variable)
        .map(PathBuf::from)
        .filter(|path| path.is_absolute())
}
