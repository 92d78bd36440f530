//! Remote snapshots, mirrored to local files before they are loaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use papir_core::NoProgress;
use papir_store::ReplacedVersion;
use papir_store::remote::{Location, Mirror, Settings};

use super::parallel::{LOADS_AT_ONCE, in_parallel};

/// Shortest interval between two polls of the remote stores. Each poll costs requests.
const POLL_INTERVAL: Duration = Duration::from_secs(10);

/// Local copies of snapshots in object stores.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    mirrors: BTreeMap<PathBuf, Arc<Mirror>>,
    /// Time of the last poll.
    polled: Arc<Mutex<Option<Instant>>>,
}

impl Sources {
    /// Mirrors the snapshot at `url` to a file in `cache`, updated on each load. Returns the file's
    /// path.
    ///
    /// # Errors
    /// [`papir_store::Error::Remote`] for an invalid URL, and [`papir_core::Error::Io`] if the
    /// cache directory cannot be created.
    pub fn copy(
        &mut self,
        url: &str,
        cache: &Path,
        settings: &Settings,
    ) -> papir_store::Result<PathBuf> {
        let mirror = Mirror::new(Location::parse(url, None, settings.clone())?, cache)?;
        let file = mirror.file().to_owned();
        self.mirrors.insert(file.clone(), Arc::new(mirror));
        Ok(file)
    }

    /// Returns whether a file is the copy of a remote snapshot.
    pub fn is_copy(&self, file: &Path) -> bool {
        self.mirrors.contains_key(file)
    }

    /// Updates one file, if it is a copy. On error, the copy is unchanged.
    pub(crate) fn refresh(&self, file: &Path) -> papir_store::Result<()> {
        let Some(mirror) = self.mirrors.get(file) else {
            return Ok(());
        };

        let report = mirror.refresh(&NoProgress)?;

        let location = mirror.location();
        let bytes = report.fetched_bytes;
        if bytes > 0 {
            tracing::info!(%location, version = %report.manifest.version, fetched = bytes, "snapshot fetched");
        }
        Ok(())
    }

    /// The versions of a file that were replaced no longer ago than `within`, the newest first: the
    /// versions kept next to it or, if it is a copy, the previous one in its store.
    pub(crate) fn replaced(
        &self,
        file: &Path,
        within: Duration,
    ) -> papir_store::Result<Vec<ReplacedVersion>> {
        match self.mirrors.get(file) {
            Some(mirror) => Ok(mirror.previous(within, &NoProgress)?.into_iter().collect()),
            None => papir_store::replaced(file, within),
        }
    }

    /// Updates all copies, unless the last poll was recent. Returns them, and whether their stores
    /// could be reached. Logs failures and leaves those copies unchanged.
    pub(crate) fn poll(&self) -> Vec<(PathBuf, bool)> {
        let mut polled = self.polled.lock().unwrap_or_else(PoisonError::into_inner);
        if polled.is_some_and(|last| last.elapsed() < POLL_INTERVAL) {
            return Vec::new();
        }

        *polled = Some(Instant::now());

        // Unlocked before the poll: the stores may be slow.
        drop(polled);
        self.refresh_all()
    }

    fn refresh_all(&self) -> Vec<(PathBuf, bool)> {
        let mirrors: Vec<&Mirror> = self.mirrors.values().map(Arc::as_ref).collect();
        in_parallel(&mirrors, LOADS_AT_ONCE, |mirror| {
            let outcome = self.refresh(mirror.file());
            if let Err(error) = &outcome {
                tracing::error!(location = %mirror.location(), %error, "not updated");
            }
            (mirror.file().to_owned(), outcome.is_ok())
        })
    }
}

#[cfg(all(test, feature = "cloud"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use papir_core::Run;
    use papir_store::remote::{PushOptions, push};
    use papir_store::{Build, BuildOptions};
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn copies_follow_the_remote_store() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.bin");
        std::fs::write(&source, [7; 64]).unwrap();

        let mut options = BuildOptions::new(source, folder.path().join("a.papir"));
        (options.scheme, options.allow_not_private) = ("plain".to_owned(), true);
        options.record_bytes = Some(8);

        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        Build::new(&options)
            .run(&mut Run::new(&mut rng, &NoProgress))
            .unwrap();

        let url = format!("file://{}/store/a.papir", folder.path().display());
        let settings = Settings::default();
        let mut sources = Sources::default();
        let copy = sources
            .copy(&url, &folder.path().join("cache"), &settings)
            .unwrap();

        assert_eq!(sources.refresh(&copy).unwrap_err().code(), "no_such_object");
        sources.refresh_all();
        assert!(!copy.exists());

        let location = Location::parse(&url, None, settings).unwrap();
        push(&options.out, &location, PushOptions::default(), &NoProgress).unwrap();
        sources.refresh_all();

        assert_eq!(
            std::fs::read(&copy).unwrap(),
            std::fs::read(&options.out).unwrap()
        );

        assert!(
            sources
                .refresh(Path::new("/a/file/of/this/machine"))
                .is_ok()
        );
    }
}
