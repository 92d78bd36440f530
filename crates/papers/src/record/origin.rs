//! The origin of a record: machine, commit, command and date.

use std::fs;
use std::process::{Command, Stdio};
use std::time::SystemTime;

use papir_kernels::Backend;
use serde::Serialize;

use crate::Result;

/// The origin of a record.
#[derive(Clone, Debug, Serialize)]
pub(super) struct RecordOrigin {
    machine: RecordedMachine,
    /// The commit of the checkout in the current folder, or null outside one.
    commit: Option<String>,
    /// True if tracked files differ from the commit.
    changed: bool,
    /// The command line.
    command: String,
    /// The time at which the measurement began, in UTC.
    date: String,
}

/// The machine, as far as its system says.
#[derive(Clone, Debug, Serialize)]
struct RecordedMachine {
    /// The processor's name.
    processor: Option<String>,
    /// Threads that run at once.
    threads: usize,
    /// Bytes of memory.
    memory_bytes: Option<u64>,
    /// The kernels' backend.
    backend: &'static str,
    /// The operating system and the architecture.
    system: String,
}

impl RecordOrigin {
    /// The origin of what is measured now.
    pub(super) fn now(command: &str) -> Result<Self> {
        let commit = git(&["rev-parse", "HEAD"]);
        let status = git(&["status", "--porcelain", "--untracked-files=no"]);

        Ok(Self {
            machine: RecordedMachine::this()?,
            changed: commit.is_some() && status.is_none_or(|status| !status.is_empty()),
            commit,
            command: command.to_owned(),
            date: humantime::format_rfc3339_seconds(SystemTime::now()).to_string(),
        })
    }
}

impl RecordedMachine {
    fn this() -> Result<Self> {
        Ok(Self {
            processor: field("/proc/cpuinfo", "model name"),
            threads: std::thread::available_parallelism().map_or(1, usize::from),
            memory_bytes: field("/proc/meminfo", "MemTotal").and_then(|text| kibibytes(&text)),
            backend: Backend::try_from_env()?.name(),
            system: format!("{}, {}", std::env::consts::OS, std::env::consts::ARCH),
        })
    }
}

/// The value of the first line `name : value` of a file of the system.
fn field(file: &str, name: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find(|line| line.starts_with(name))?;
    let (_, value) = line.split_once(':')?;
    Some(value.trim().to_owned())
}

/// Bytes of a number of KiB, which the kernel writes as kB.
fn kibibytes(text: &str) -> Option<u64> {
    let count: u64 = text.strip_suffix("kB")?.trim_end().parse().ok()?;
    count.checked_mul(1024)
}

/// The output of a command of git, or `None` if it failed.
fn git(arguments: &[&str]) -> Option<String> {
    let mut command = Command::new("git");
    command.args(arguments).stdin(Stdio::null());
    let output = command.stderr(Stdio::null()).output().ok()?;
    if !output.status.success() {
        return None;
    }
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_read_in_kibibytes() {
        assert_eq!(kibibytes("24689316 kB"), Some(24_689_316 * 1024));
        assert_eq!(kibibytes("many kB"), None);
        assert_eq!(kibibytes("24689316"), None);
    }

    #[test]
    fn a_record_names_its_command_and_date() {
        let origin = RecordOrigin::now("papir-papers --record x").unwrap();
        assert_eq!(origin.command, "papir-papers --record x");
        assert!(origin.date.starts_with("20") && origin.date.ends_with('Z'));
        assert!(origin.machine.threads > 0);
    }
}
