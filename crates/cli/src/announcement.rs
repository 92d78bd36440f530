//! What a build will need, said before it starts.

use std::path::Path;

use papir_core::Shape;
use papir_plan::units;

use crate::memory;

/// Prints on stderr the expected size of the file and the memory of the build, and a warning if this
/// machine has less. `prepared_bytes` are those of the prepared database.
///
/// At its peak a build holds the prepared database and its records.
pub(crate) fn print(out: &Path, records: &Shape, prepared_bytes: u64) {
    let needed = prepared_bytes.saturating_add(records.total_bytes());
    let (file, memory) = (units::bytes(prepared_bytes), units::bytes(needed));
    eprintln!("papir: preparing {}: a file of about {file}, with about {memory} of memory", out.display());
    if let Some(available) = memory::available().filter(|available| *available < needed) {
        eprintln!(
            "papir: warning: this machine has {} of memory available: a smaller --batch, another --goal or \
             --scheme may need less (papir plan compares them)",
            units::bytes(available)
        );
    }
}
