//! Checks of a prepared file and of its future host.

use std::path::Path;

use papir_core::Privacy;
use papir_plan::units;
use papir_store::psi::PsiSet;
use papir_store::{Delta, OpenOptions, Snapshot, stored_log};

use super::finding::Finding;
use super::host::{self, HostArguments};
use super::machine;
use crate::arguments::network::Network;
use crate::describe;
use crate::relayed_sizes;

/// Versions of a database that a service keeps at most while it swaps them.
const KEPT_VERSIONS: u64 = 3;

/// Checks a file.
pub(super) fn check(file: &Path, host: &HostArguments, network: &Network) -> Vec<Finding> {
    // A set first: opened as a database, its file would be called damaged.
    let mut findings = match PsiSet::open(file) {
        Ok(set) => {
            vec![Finding::ok(
                "file",
                format!(
                    "a set of {} elements (papir psi serve)",
                    set.summary.elements
                ),
            )]
        }
        Err(_) => database(file, host, network),
    };

    // Of a file that is missing the finding above says so already.
    if let Ok(metadata) = std::fs::metadata(file) {
        findings.push(memory(metadata.len(), papir_store::free_memory()));
    }
    findings.extend(host::tls(host));
    findings.push(machine::processor());
    findings.push(machine::open_files());
    findings
}

fn database(file: &Path, host: &HostArguments, network: &Network) -> Vec<Finding> {
    let snapshot = match Snapshot::open_with(file, OpenOptions::default()) {
        Ok(snapshot) => snapshot,
        Err(error) => {
            // A typing error in the path is likelier than damage.
            let fix = match file.exists() {
                true => "build it again (papir build), or restore it",
                false => "give the path of a file that papir build wrote",
            };
            return vec![Finding::fail("file", error, fix)];
        }
    };

    let description = snapshot.server.describe();
    let detail = format!(
        "{} with {}, all checksums match",
        snapshot.metadata.name, description.scheme
    );
    let mut findings = vec![match description.privacy {
        Privacy::Private => Finding::ok("file", detail),
        Privacy::NotPrivate(reason) => Finding::fail(
            "file",
            format!("{detail}; not private: {reason}"),
            "build it with another --scheme",
        ),
    }];

    findings.extend(delta(file, &snapshot));
    findings.extend(signature(file));
    findings.extend(host::registry(
        host,
        description.limits.client_keys,
        network,
    ));
    findings.extend(host::tokens(host, &snapshot.metadata.name));
    findings
}

/// Checks the delta beside a file, if it has one, and reports the lengths of messages.
fn delta(file: &Path, snapshot: &Snapshot) -> Vec<Finding> {
    let delta = match Delta::of(file, snapshot.server.version(), &OpenOptions::default()) {
        Ok(delta) => delta,
        Err(error) => {
            let fix = "restore it, or publish its changes again";
            return vec![Finding::fail("delta", error, fix)];
        }
    };

    let sealed = relayed_sizes::of_snapshot(snapshot, delta.as_ref());
    let described = delta.map(|delta| Finding::ok("delta", describe::delta(&delta.metadata)));
    let mut findings = Vec::from_iter(described);
    findings.push(Finding::ok("messages", relayed_sizes::sentence(sealed)));
    findings
}

/// The newest signature of a file, if it is signed.
fn signature(file: &Path) -> Option<Finding> {
    // A damaged log is a failure of the file, which was reported above.
    let log = stored_log(file).ok()??;
    let leaf = log.newest().ok()?;

    Some(Finding::ok(
        "signature",
        format!("sequence {}, by {}", leaf.sequence, log.owner()),
    ))
}

/// Compares a file with the free memory.
fn memory(file: u64, free: Option<u64>) -> Finding {
    let Some(free) = free else {
        return Finding::ok(
            "memory",
            format!(
                "{} are needed; this system does not tell its memory",
                units::bytes(file)
            ),
        );
    };

    let detail = format!(
        "{} for the file, {} free",
        units::bytes(file),
        units::bytes(free)
    );

    // The file alone: a service that maps it needs less, and one that swaps versions needs more.
    if free < file {
        let fix = "a machine with more memory, or papir serve --mapped";
        return Finding::fail("memory", detail, fix);
    }

    match free < file.saturating_mul(KEPT_VERSIONS) {
        true => Finding::warn(
            "memory",
            detail,
            "a swap keeps up to three versions in memory: more memory, --keep-old 0, or --mapped",
        ),
        false => Finding::ok("memory", detail),
    }
}

#[cfg(test)]
mod tests {
    use super::super::finding::Status;
    use super::*;

    #[test]
    fn a_file_is_compared_with_the_memory() {
        for (file, free, status) in [
            (10, Some(9), Status::Fail),
            (10, Some(29), Status::Warn),
            (10, Some(30), Status::Ok),
            (10, None, Status::Ok),
        ] {
            assert_eq!(memory(file, free).status, status, "{file} of {free:?}");
        }
    }
}
