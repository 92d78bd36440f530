//! Memory of this machine.

/// Bytes that new allocations can use without swapping; `None` if the system does not report it.
pub(crate) fn available() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

/// The line `MemAvailable:  123 kB`.
fn parse(text: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    rest.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_available_memory_is_read() {
        assert_eq!(parse("MemTotal:  9 kB\nMemAvailable:    2048 kB\n"), Some(2 << 20));
        assert_eq!(parse("MemTotal:  9 kB\n"), None);
    }
}
