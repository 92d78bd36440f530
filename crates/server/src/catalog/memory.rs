//! Memory held by databases and by the process.

use papir_core::Sizes;

use super::database::Database;
use super::versions::VersionView;

/// Bytes held by the answered versions of one database, in total.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct MemoryUse {
    /// Number of versions.
    pub(crate) versions: usize,
    /// Bytes of snapshot files, in memory or mapped.
    pub(crate) snapshot: u64,
    /// Bytes of the encoded databases, whether in snapshot files or not.
    pub(crate) encoded: u64,
    /// Bytes of other precomputed data.
    pub(crate) material: u64,
    /// Bytes of the hints that clients download.
    pub(crate) hint: u64,
}

impl MemoryUse {
    /// Sums over `versions`. Versions that differ in their deltas only share one snapshot.
    pub(crate) fn of(versions: &[VersionView]) -> Self {
        let mut sum = Self {
            versions: versions.len(),
            ..Self::default()
        };

        for database in bases(versions) {
            sum.add(&database.description().sizes, database.snapshot());
        }
        for VersionView { database, .. } in versions {
            if let Some(delta) = database.delta() {
                sum.add(&delta.description.sizes, delta.snapshot);
            }
        }
        sum
    }

    /// Bytes of snapshots that are not verified yet.
    pub(crate) fn unverified(versions: &[VersionView]) -> u64 {
        bases(versions)
            .iter()
            .map(|database| database.unverified())
            .sum()
    }

    fn add(&mut self, sizes: &Sizes, snapshot: u64) {
        self.snapshot += snapshot;
        self.encoded += sizes.database;
        self.material += sizes.material;
        self.hint += sizes.hint;
    }

    /// The bytes by name.
    pub(crate) fn parts(&self) -> [(&'static str, u64); 4] {
        let Self {
            snapshot,
            encoded,
            material,
            hint,
            ..
        } = *self;

        [
            ("snapshot", snapshot),
            ("encoded", encoded),
            ("material", material),
            ("hint", hint),
        ]
    }
}

/// One version of each snapshot.
fn bases(versions: &[VersionView]) -> Vec<&Database> {
    let mut bases: Vec<&Database> = Vec::new();
    for VersionView { database, .. } in versions {
        if bases
            .iter()
            .all(|base| base.base_version() != database.base_version())
        {
            bases.push(database);
        }
    }
    bases
}

/// Logs the memory of a database and of the process.
pub(crate) fn report(database: &str, versions: &[VersionView]) {
    let MemoryUse {
        versions,
        snapshot,
        encoded,
        material,
        hint,
    } = MemoryUse::of(versions);
    let resident = resident();

    tracing::info!(
        database, versions, snapshot, encoded, material, hint, resident, "memory"
    );
}

/// Resident bytes of this process; `None` if the system does not report them.
pub(crate) fn resident() -> Option<u64> {
    // Not from `statm`, which counts pages without stating their size.
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes = line.trim().strip_suffix("kB")?.trim();
    kibibytes.parse::<u64>().ok()?.checked_mul(1024)
}
