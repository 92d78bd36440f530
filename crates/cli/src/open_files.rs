//! The limit on open files: every connection is one.

/// Files that are not connections: snapshots, the registry, logs.
#[cfg(unix)]
const OTHERS: u64 = 256;

/// Raises the soft limit to what `connections` need, at most to the hard limit. Returns what is
/// wrong if that is less.
#[cfg(unix)]
pub(crate) fn raise_limit(connections: usize) -> Option<String> {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let needed = (connections as u64).saturating_add(OTHERS);
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let allowed = maximum.unwrap_or(u64::MAX);
    let current = current.unwrap_or(u64::MAX);
    if current < needed {
        let raised = Rlimit {
            current: Some(needed.min(allowed)),
            maximum,
        };
        if setrlimit(Resource::Nofile, raised).is_err() || allowed < needed {
            return Some(format!(
                "at most {} files may be open: {connections} connections need {needed} (LimitNOFILE= in a \
                 unit, or ulimit -n)",
                allowed
            ));
        }
    }
    None
}

/// Other systems have no such limit.
#[cfg(not(unix))]
pub(crate) fn raise_limit(_connections: usize) -> Option<String> {
    None
}
