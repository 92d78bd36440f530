//! Tables of doubly-efficient PIR as mapped files.
//!
//! There is one file per prime, in the format of a snapshot with its checksums. An interrupted
//! build continues with the first missing table. Checksums detect accidental damage, not tampering:
//! anyone who can write to the folder controls the contents of the tables.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use papir_core::codec::Writer;
use papir_core::sections::SectionSink;
use papir_core::{AlignedBytes, Blob, Result as CoreResult};
use papir_schemes::depir::structure::table::{Key, Store};

use crate::error::{Error, Result};
use crate::map::map;
use crate::publish::{Readers, publish};
use crate::snapshot::Sections;

const KEY: &str = "key";
const TABLE: &str = "table";

/// A folder of tables.
pub struct TableFolder {
    folder: PathBuf,
}

impl TableFolder {
    /// Opens a folder, creating it if necessary.
    ///
    /// # Errors
    /// [`papir_core::Error::Io`].
    pub fn open(folder: &Path) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(Error::io("creating", folder))?;
        Ok(Self { folder: folder.to_owned() })
    }

    fn path(&self, key: &Key) -> PathBuf {
        let name: String = key.fingerprint[..8].iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(format!("{name}-{}-{}.papir-table", key.prime, key.tabulated))
    }

    /// Reads the table of a key; `None` if its file is missing or belongs to another key.
    fn read(&self, key: &Key) -> CoreResult<Option<Blob>> {
        let Ok(map) = map(&self.path(key)) else {
            return Ok(None);
        };
        let sections = Sections::read(map)?;
        sections.verify()?;
        if *sections.blob(KEY)? != *encoded(key) {
            return Ok(None);
        }
        sections.blob(TABLE).map(Some)
    }
}

impl Store for TableFolder {
    /// Finds a table. A damaged file counts as missing, so that it is built again.
    fn find(&self, key: &Key) -> CoreResult<Option<Blob>> {
        Ok(self.read(key).unwrap_or_default().filter(|table| table.len() as u64 == key.bytes))
    }

    fn keep(&mut self, key: &Key, table: AlignedBytes) -> CoreResult<Blob> {
        let path = self.path(key);
        // Process id and counter: unique among processes, and among the threads of one process.
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let nonce = u64::from(std::process::id()) << 32 | NEXT.fetch_add(1, Ordering::Relaxed);
        let published = publish(&path, nonce, Readers::Default, |writer| {
            writer.put(KEY, &[&encoded(key)])?;
            Ok(writer.put(TABLE, &[table.as_ref()])?)
        });
        match published {
            Ok(_) => {}
            Err(Error::Core(error)) => return Err(error),
            Err(error) => {
                let source = std::io::Error::other(error.to_string());
                return Err(papir_core::Error::Io { what: format!("writing {}", path.display()), source });
            }
        }
        drop(table);
        self.read(key)?.ok_or_else(|| papir_core::Error::Checksum { what: path.display().to_string() })
    }
}

fn encoded(key: &Key) -> Vec<u8> {
    let mut writer = Writer::new();
    writer.u32(key.prime).u32(key.tabulated as u32).u64(key.bytes).raw(&key.fingerprint);
    writer.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::NoProgress;
    use papir_schemes::depir::simplex::Simplex;
    use papir_schemes::depir::structure::levels::Steps;
    use papir_schemes::depir::structure::{Modulus, Points, Structure};

    use super::*;

    const SIMPLEX: Simplex = Simplex { variables: 3, degree: 2 };

    fn build(folder: &Path, seed: u32) -> Structure {
        let coefficients: Vec<u32> = (0..SIMPLEX.len() as u32).map(|i| (i * 7919 + seed) % 65_537).collect();
        let mut store = TableFolder::open(folder).unwrap();
        Structure::new(SIMPLEX, &coefficients, 97, (Steps::One, 2), &mut store, &NoProgress).unwrap()
    }

    fn files(folder: &Path) -> Vec<PathBuf> {
        let mut files: Vec<PathBuf> =
            std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        files
    }

    /// Existing tables are reused; missing and damaged ones, and those of another polynomial, are
    /// built.
    #[test]
    fn an_interrupted_build_resumes() {
        let folder = tempfile::tempdir().unwrap();
        let points =
            || Points { modulus: Modulus::new(97), rows: vec![vec![5, 96], vec![50, 7], vec![1, 60]] };
        let expected = build(folder.path(), 1).evaluate(&[points()]);
        let all = files(folder.path());
        assert!(all.len() > 5 && expected.1.table_bytes > 0);
        let times = || -> Vec<_> {
            files(folder.path()).iter().map(|file| file.metadata().unwrap().modified().unwrap()).collect()
        };
        let before = times();
        assert_eq!(build(folder.path(), 1).evaluate(&[points()]), expected);
        assert_eq!(times(), before, "built again");
        std::fs::remove_file(&all[0]).unwrap();
        let mut damaged = std::fs::read(&all[1]).unwrap();
        *damaged.last_mut().unwrap() ^= 1;
        std::fs::write(&all[1], damaged).unwrap();
        std::fs::write(&all[2], b"half").unwrap();
        assert_eq!(build(folder.path(), 1).evaluate(&[points()]), expected);
        assert_eq!(files(folder.path()), all);
        // Another polynomial gets its own files.
        build(folder.path(), 2);
        assert_eq!(files(folder.path()).len(), 2 * all.len());
    }
}
