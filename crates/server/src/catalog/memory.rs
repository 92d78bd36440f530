//! Memory held by databases and by the process.

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
    /// Sums over `versions`.
    pub(crate) fn of(versions: &[VersionView]) -> Self {
        versions.iter().fold(Self::default(), |sum, VersionView { database, .. }| {
            let sizes = &database.description().sizes;
            Self {
                versions: sum.versions + 1,
                snapshot: sum.snapshot + database.snapshot(),
                encoded: sum.encoded + sizes.database,
                material: sum.material + sizes.material,
                hint: sum.hint + sizes.hint,
            }
        })
    }

    /// The bytes by name.
    pub(crate) fn parts(&self) -> [(&'static str, u64); 4] {
        let Self { snapshot, encoded, material, hint, .. } = *self;
        [("snapshot", snapshot), ("encoded", encoded), ("material", material), ("hint", hint)]
    }
}

/// Logs the memory of a database and of the process.
pub(crate) fn report(database: &str, versions: &[VersionView]) {
    let MemoryUse { versions, snapshot, encoded, material, hint } = MemoryUse::of(versions);
    let resident = resident();
    tracing::info!(database, versions, snapshot, encoded, material, hint, resident, "memory");
}

/// Resident bytes of this process; `None` if the system does not report them.
pub(crate) fn resident() -> Option<u64> {
    // Not from `statm`, which counts pages without stating their size.
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
