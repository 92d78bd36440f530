//! How much memory stays resident, as the kernel of the operating system counts it.

use std::fs;

/// What a server keeps in memory: what was resident after setup, plus the most that one answer
/// added to it.
///
/// The whole process is counted: encoded database, material, hint, the program itself, and what the
/// allocator has not given back of the memory that setup used for a while. The source of the records
/// takes none. The client is not counted.
#[derive(Clone, Copy, Debug)]
pub struct Resident {
    after_setup: u64,
    before_answer: u64,
}

impl Resident {
    /// Call it when setup is done and there is no client yet; `None` where the system does not tell.
    pub fn after_setup() -> Option<Self> {
        let now = status("VmRSS:")?;
        Some(Self { after_setup: now, before_answer: now })
    }

    /// Call it just before an answer.
    pub fn before_answer(&mut self) {
        // Where the system refuses, the peak is that of setup, and the figure too large, not too small.
        let _ = fs::write("/proc/self/clear_refs", "5");
        self.before_answer = status("VmRSS:").unwrap_or(self.before_answer);
    }

    /// Call it right after the answer: the bytes.
    pub fn bytes(&self) -> u64 {
        let peak = status("VmHWM:").unwrap_or(self.before_answer);
        self.after_setup + peak.saturating_sub(self.before_answer)
    }
}

/// Bytes that a program could take now; `None` where the system does not tell.
pub(crate) fn available() -> Option<u64> {
    field("/proc/meminfo", "MemAvailable:")
}

/// A field of this process's status, in bytes.
fn status(name: &str) -> Option<u64> {
    field("/proc/self/status", name)
}

fn field(file: &str, name: &str) -> Option<u64> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(all(test, target_os = "linux"))]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::hint::black_box;

    #[test]
    fn memory_that_an_answer_takes_for_a_while_is_counted() {
        let mut resident = Resident::after_setup().unwrap();
        let client = black_box(vec![1u8; 512 << 20]);
        resident.before_answer();
        drop(black_box(vec![1u8; 256 << 20]));
        let added = resident.bytes() - resident.after_setup;
        // Other tests of this process take and return memory meanwhile.
        assert!((192 << 20..640 << 20).contains(&added), "{added} bytes with a client of {}", client.len());
    }
}
