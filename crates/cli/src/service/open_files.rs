//! The limit on open files.

/// Open files that are not connections: snapshots, the registry, logs.
#[cfg(unix)]
const OTHERS: u64 = 256;

/// Raises the soft limit to the files of `connections` connections, at most to the hard limit.
/// Returns a warning if that is too low.
#[cfg(unix)]
pub(crate) fn raise_limit(connections: usize) -> Option<String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

    let needed = (connections as u64).saturating_add(OTHERS);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let allowed = maximum.unwrap_or(u64::MAX);
    let current = current.unwrap_or(u64::MAX);
    if current >= needed {
        return None;
    }

    // Raised even if it stays too low: some more connections fit.
    let raised = Rlimit {
        current: Some(needed.min(allowed)),
        maximum,
    };
    if setrlimit(Resource::Nofile, raised).is_ok() && allowed >= needed {
        return None;
    }
    Some(format!(
        "at most {allowed} files may be open: {connections} connections need {needed} \
         (LimitNOFILE= in a unit, or ulimit -n)"
    ))
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(crate) fn raise_limit(_connections: usize) -> Option<String> {
    None
}
