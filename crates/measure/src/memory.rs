//! Resident memory and free memory, as the operating system counts them.

use std::fs;
use std::time::Duration;

use papir_core::{Description, Sizes};
use papir_plan::units::bytes as display;

use crate::{Error, Result};

/// Resident memory of a server: the amount after setup plus the largest amount that an answer adds.
///
/// It counts the whole process: encoded database, material, hint, the program itself, and temporary
/// setup memory that the allocator has not returned. The source of the records uses no memory. The
/// client is not counted.
#[derive(Clone, Copy, Debug)]
pub struct Resident {
    after_setup: u64,
    before_answer: u64,
}

impl Resident {
    /// Reads the memory after setup. It must be called before a client is created. Returns `None`
    /// if the system does not report memory.
    pub fn after_setup() -> Option<Self> {
        let now = status("VmRSS:")?;
        Some(Self {
            after_setup: now,
            before_answer: now,
        })
    }

    /// Reads the memory just before an answer.
    pub fn before_answer(&mut self) {
        // Resets the peak. If that fails, the peak is that of setup, and the result is too large,
        // never too small.
        let _ = fs::write("/proc/self/clear_refs", "5");
        self.before_answer = status("VmRSS:").unwrap_or(self.before_answer);
    }

    /// Reads the memory right after the answer. Returns the resident memory in bytes.
    pub fn bytes(&self) -> u64 {
        // Memory of the client is in both numbers, and cancels out.
        let peak = status("VmHWM:").unwrap_or(self.before_answer);
        self.after_setup + peak.saturating_sub(self.before_answer)
    }
}

/// Refuses a database that does not fit into free memory.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_memory(description: &Description) -> Result<()> {
    check_needed(description.scheme, needed(description))
}

/// Returns the bytes of memory that a measurement needs: the prepared database, and the hint twice,
/// since the client has its own copy. Temporary memory of setup is not counted.
pub fn needed(description: &Description) -> u64 {
    let Sizes {
        database,
        material,
        hint,
        ..
    } = description.sizes;
    database.saturating_add(material).saturating_add(2 * hint)
}

/// Refuses to start something that needs more than the free memory.
///
/// # Errors
/// [`Error::Usage`].
pub fn check_needed(what: &str, needed: u64) -> Result<()> {
    match papir_store::free_memory() {
        Some(available) if needed > available => {
            let found = format!("{what} needs {} of memory", display(needed));
            Err(Error::usage(
                found,
                format!("at most {} of free memory", display(available)),
            ))
        }
        // A system that does not report its free memory refuses nothing.
        _ => Ok(()),
    }
}

/// Returns true if a database with this description fits into free memory.
pub fn fits_memory(description: &Description) -> bool {
    check_memory(description).is_ok()
}

/// Returns the processor time of all threads of this process so far, or `None` if the system does
/// not report it.
pub(crate) fn processor_time() -> Option<Duration> {
    #[cfg(unix)]
    {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
        Duration::try_from(time).ok()
    }
    #[cfg(not(unix))]
    None
}

/// Returns the size of the pages of most of this process's memory, or `None` if the system does not
/// report it.
pub(crate) fn pages() -> Option<&'static str> {
    // The database is nearly all of the memory, so its pages decide.
    let all = field("/proc/self/smaps_rollup", "Rss:")?;
    let huge = field("/proc/self/smaps_rollup", "AnonHugePages:")?;
    Some(if 2 * huge > all { "2 MiB" } else { "4 KiB" })
}

/// Returns a field of this process's status in bytes, or `None` if the system does not report it.
fn status(name: &str) -> Option<u64> {
    field("/proc/self/status", name)
}

fn field(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    // The kernel counts in units of 1024 bytes, which it writes as kB.
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn temporary_memory_of_an_answer_is_counted() {
        let mut resident = Resident::after_setup().unwrap();
        let client = black_box(vec![1u8; 512 << 20]);
        resident.before_answer();
        drop(black_box(vec![1u8; 640 << 20]));
        let added = resident.bytes() - resident.after_setup;
        // Other tests in this process allocate and free memory meanwhile.
        assert!(
            (448 << 20..1024 << 20).contains(&added),
            "{added} bytes with a client of {}",
            client.len()
        );
    }
}
