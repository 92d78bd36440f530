//! The memory that this process can still use.

use std::fs;
use std::path::Path;

/// The folder of control groups, version 2.
const GROUPS: &str = "/sys/fs/cgroup";

/// Bytes of memory that this process can use without swapping and within the limits of its control
/// groups (version 2), as in a container; `None` if the system does not say.
pub fn free_memory() -> Option<u64> {
    // In a container the machine has more memory than the process may take.
    let groups = fs::read_to_string("/proc/self/cgroup").ok();
    let in_groups = groups.and_then(|groups| free_in_groups(Path::new(GROUPS), &groups));
    [free_in_machine(), in_groups].into_iter().flatten().min()
}

/// The memory that the system reports as available.
fn free_in_machine() -> Option<u64> {
    let text = fs::read_to_string("/proc/meminfo").ok()?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.trim()
        .strip_suffix("kB")?
        .trim()
        .parse::<u64>()
        .ok()?
        .checked_mul(1024)
}

/// The least memory that is free in the group of a process or one above it. `groups` is the text of
/// `/proc/self/cgroup`.
fn free_in_groups(root: &Path, groups: &str) -> Option<u64> {
    let own = groups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    root.join(own)
        .ancestors()
        .take_while(|group| group.starts_with(root))
        .filter_map(free_in_group)
        .min()
}

/// Memory that is free in a group; `None` if it has no limit. Pages of files do not count as used,
/// since the system takes them back first.
fn free_in_group(group: &Path) -> Option<u64> {
    let limit = number_in(&group.join("memory.max"))?;
    let used = number_in(&group.join("memory.current"))?;

    // A mapped snapshot fills the group with pages that cost nothing to drop.
    let statistics = fs::read_to_string(group.join("memory.stat")).unwrap_or_default();
    let files = bytes_of(&statistics, "inactive_file ")
        .saturating_add(bytes_of(&statistics, "active_file "));
    Some(limit.saturating_sub(used.saturating_sub(files)))
}

/// The number in a file; `None` for a file without one.
fn number_in(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// The number after a name in statistics; 0 without that name.
fn bytes_of(statistics: &str, name: &str) -> u64 {
    let line = statistics.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|bytes| bytes.trim().parse().ok())
        .unwrap_or_default()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_least_limit_of_a_group_and_those_above_it_counts() {
        let root = tempfile::tempdir().unwrap();
        let own = root.path().join("pods/one");
        fs::create_dir_all(&own).unwrap();

        let write = |group: &Path, max: &str, current: u64, stat: &str| {
            for (name, text) in [
                ("max", max),
                ("current", &current.to_string()),
                ("stat", stat),
            ] {
                fs::write(group.join(format!("memory.{name}")), format!("{text}\n")).unwrap();
            }
        };
        let free = || free_in_groups(root.path(), "1:name=systemd:/\n0::/pods/one\n");

        assert_eq!(free(), None);
        write(&own, "max", 700, "");
        assert_eq!(free(), None, "no limit");
        write(
            &own,
            "1000",
            700,
            "anon 500\nactive_file 50\ninactive_file 100",
        );
        assert_eq!(free(), Some(450));

        write(own.parent().unwrap(), "2000", 1900, "");
        assert_eq!(free(), Some(100));

        assert_eq!(free_in_groups(root.path(), "0::/\n"), None);
        assert_eq!(free_in_groups(root.path(), ""), None);
    }

    #[test]
    fn this_machine_has_free_memory() {
        assert!(free_memory().is_none_or(|free| free > 0));
    }
}
