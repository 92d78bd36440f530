//! What databases and the process hold in memory.

use serde::Serialize;
use utoipa::ToSchema;

use crate::catalog::Catalog;
use crate::versions::Standing;

/// Bytes that a database's answered versions hold, added up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, ToSchema)]
pub(crate) struct Memory {
    /// Versions that are answered, the newest among them.
    versions: usize,
    /// Bytes of snapshot files that are mapped; the system keeps as much of them in memory as it can.
    mapped: u64,
    /// Bytes of the encoded databases, whether in mapped files or not.
    encoded: u64,
    /// Bytes of what else was precomputed.
    material: u64,
    /// Bytes of the hints that clients fetch.
    hint: u64,
}

/// What these versions hold.
pub(crate) fn of(standing: &[Standing]) -> Memory {
    standing.iter().fold(Memory::default(), |sum, Standing { database, .. }| {
        let sizes = &database.info().sizes;
        Memory {
            versions: sum.versions + 1,
            mapped: sum.mapped + database.mapped(),
            encoded: sum.encoded + sizes.database,
            material: sum.material + sizes.material,
            hint: sum.hint + sizes.hint,
        }
    })
}

impl Memory {
    /// The bytes by name.
    pub(crate) fn parts(&self) -> [(&'static str, u64); 4] {
        let Self { mapped, encoded, material, hint, .. } = *self;
        [("mapped", mapped), ("encoded", encoded), ("material", material), ("hint", hint)]
    }
}

/// One line for the operator: what a database of the catalog holds, and the process.
pub(crate) fn report(catalog: &Catalog, database: &str) {
    let Ok(standing) = catalog.standing(database) else { return };
    let Memory { versions, mapped, encoded, material, hint } = of(&standing);
    let resident = resident();
    tracing::info!(database, versions, mapped, encoded, material, hint, resident, "memory");
}

/// Resident bytes of this process; `None` where the system does not tell.
pub(crate) fn resident() -> Option<u64> {
    // Not from statm, which counts in pages of a length that it does not say.
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}
