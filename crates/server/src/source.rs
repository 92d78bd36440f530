//! Snapshots that lie elsewhere: their copies on this machine are brought up to date before they are
//! loaded.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use papir_core::NoProgress;
use papir_store::remote::{Location, Mirror, Settings};

/// Shortest time between two looks of a watch at what lies elsewhere: each is a request.
const LOOK: Duration = Duration::from_secs(10);

/// The copies on this machine of snapshots that lie in object stores.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    mirrors: BTreeMap<PathBuf, Arc<Mirror>>,
    /// When a watch looked last.
    looked: Arc<Mutex<Option<Instant>>>,
}

impl Sources {
    /// The file in `cache` that is brought to what lies at an address of an object store, at each load.
    ///
    /// # Errors
    /// [`papir_store::Error::Remote`] for a bad address, and [`papir_core::Error::Io`] for a folder that
    /// cannot be made.
    pub fn copy(&mut self, url: &str, cache: &Path, settings: &Settings) -> papir_store::Result<PathBuf> {
        let mirror = Mirror::new(Location::parse(url, None, settings.clone())?, cache)?;
        let file = mirror.file().to_owned();
        self.mirrors.insert(file.clone(), Arc::new(mirror));
        Ok(file)
    }

    /// Brings one file up to date, where it is a copy.
    ///
    /// # Errors
    /// Those of [`Mirror::refresh`]; then the copy is as it was.
    pub(crate) fn refresh(&self, file: &Path) -> papir_store::Result<()> {
        let Some(mirror) = self.mirrors.get(file) else {
            return Ok(());
        };
        let report = mirror.refresh(&NoProgress)?;
        let (location, bytes) = (mirror.location(), report.fetched_bytes);
        if bytes > 0 {
            tracing::info!(%location, version = %report.manifest.version, fetched = bytes, "up to date");
        }
        Ok(())
    }

    /// Brings every copy up to date, every now and then: for a watch that loads files when they
    /// change. Failures are logged; those copies are as they were.
    pub(crate) fn look(&self) {
        let mut looked = self.looked.lock().unwrap_or_else(PoisonError::into_inner);
        if looked.is_some_and(|last| last.elapsed() < LOOK) {
            return;
        }
        *looked = Some(Instant::now());
        self.refresh_all();
    }

    fn refresh_all(&self) {
        for (file, mirror) in &self.mirrors {
            if let Err(error) = self.refresh(file) {
                tracing::error!(location = %mirror.location(), %error, "not brought up to date");
            }
        }
    }
}

#[cfg(all(test, feature = "cloud"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use chacha20::ChaCha20Rng;
    use papir_store::remote::{PushOptions, push};
    use papir_store::{BuildOptions, build};
    use rand_core::SeedableRng;

    use super::*;

    #[test]
    fn copies_follow_what_lies_in_the_store() {
        let folder = tempfile::tempdir().unwrap();
        let source = folder.path().join("a.bin");
        std::fs::write(&source, [7; 64]).unwrap();
        let mut options = BuildOptions::new(source, folder.path().join("a.papir"));
        (options.scheme, options.allow_not_private) = ("plain".to_owned(), true);
        options.record_bytes = Some(8);
        build(&options, &mut ChaCha20Rng::from_seed([1; 32]), &NoProgress).unwrap();

        let (url, settings) =
            (format!("file://{}/store/a.papir", folder.path().display()), Settings::default());
        let mut sources = Sources::default();
        let copy = sources.copy(&url, &folder.path().join("cache"), &settings).unwrap();
        assert_eq!(sources.refresh(&copy).unwrap_err().code(), "no_such_object");
        sources.refresh_all();
        assert!(!copy.exists());
        let location = Location::parse(&url, None, settings).unwrap();
        push(&options.out, &location, PushOptions::default(), &NoProgress).unwrap();
        sources.refresh_all();
        assert_eq!(std::fs::read(&copy).unwrap(), std::fs::read(&options.out).unwrap());
        assert!(sources.refresh(Path::new("/a/file/of/this/machine")).is_ok());
    }
}
