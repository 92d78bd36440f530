//! Packages → padded lookups → findings.

use std::collections::{BTreeMap, BTreeSet};

use papir_client::Connection;

use crate::Result;
use crate::advisory::{self, Advisory};
use crate::lockfile::Package;

/// Keys of a request.
const BATCH: usize = 16;
/// The key of dummies, which is of no package. The service cannot tell it from other keys.
const DUMMY: &str = "none/";

/// An advisory that affects a package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    package: String,
    version: String,
    advisory: String,
    affected: String,
}

impl Finding {
    /// The columns of the finding. Names and versions are as the lockfile has them, without control
    /// characters.
    pub(crate) fn row(&self) -> [String; 4] {
        [&self.package, &self.version, &self.advisory, &self.affected]
            .map(|text| text.escape_debug().to_string())
    }
}

/// Returns keys and as many dummies as fill a multiple of `step`, at least one.
pub(crate) fn padded(keys: BTreeSet<String>, step: usize) -> Vec<String> {
    let count = keys.len().max(1).next_multiple_of(step);
    let mut keys: Vec<String> = keys.into_iter().collect();
    keys.resize(count, DUMMY.to_owned());
    keys
}

/// Looks keys up, in requests of one size. Returns the advisories of those that the database has.
pub(crate) fn look_up(
    connection: &mut Connection,
    keys: &[String],
) -> Result<BTreeMap<String, Vec<Advisory>>> {
    let mut values = Vec::with_capacity(keys.len());
    for batch in keys.chunks(BATCH) {
        values.extend(connection.get_keys(batch)?);
    }

    // After the last request, so that a value that cannot be read changes none.
    let mut advisories = BTreeMap::new();
    for (key, value) in keys.iter().zip(values) {
        if let Some(value) = value {
            let parsed = advisory::parse(&value).map_err(|error| format!("{key}: {error}"))?;
            advisories.insert(key.clone(), parsed);
        }
    }
    Ok(advisories)
}

/// Returns the advisories that affect packages. A version that cannot be compared counts as
/// affected.
pub(crate) fn findings(
    packages: &BTreeSet<Package>,
    advisories: &BTreeMap<String, Vec<Advisory>>,
) -> Vec<Finding> {
    let mut findings = Vec::new();
    for package in packages {
        let key = package.key();
        for advisory in advisories.get(&key).into_iter().flatten() {
            let doubt = match advisory.affects(package.ecosystem, &package.version) {
                Ok(true) => String::new(),
                Ok(false) => continue,
                Err(error) => format!(" (in doubt: {error})"),
            };
            let affected: Vec<String> = advisory.affected.iter().map(ToString::to_string).collect();
            findings.push(Finding {
                package: format!("{}/{}", package.ecosystem, package.name),
                version: package.version.clone(),
                advisory: advisory.id.clone(),
                affected: format!("{}{doubt}", affected.join(" ")),
            });
        }
    }
    findings
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::ecosystem::Ecosystem;

    fn package(version: &str) -> Package {
        Package {
            ecosystem: Ecosystem::Crates,
            name: "Sample_Tree".to_owned(),
            version: version.to_owned(),
        }
    }

    #[test]
    fn the_number_of_lookups_is_a_multiple_of_the_step() {
        let keys = |count: usize| (0..count).map(|i| format!("npm/{i}")).collect();
        for (count, expected) in [(0, 8), (1, 8), (8, 8), (9, 16), (17, 24)] {
            let padded = padded(keys(count), 8);
            assert_eq!(padded.len(), expected, "{count}");
            let dummies = padded.iter().filter(|key| *key == DUMMY).count();
            assert_eq!(dummies, expected - count);
        }
    }

    #[test]
    fn affected_packages_are_found_and_doubtful_ones_too() {
        let packages = ["1.0.0", "1.2.0", "main\x1b"].map(package).into();
        let known = advisory::parse(b"SAMPLE-1 ..1.1.0\nSAMPLE-2 9.0.0..").unwrap();
        let advisories = [("crates.io/sample-tree".to_owned(), known)].into();

        let rows: Vec<[String; 4]> = findings(&packages, &advisories)
            .iter()
            .map(Finding::row)
            .collect();
        assert_eq!(
            rows[0],
            ["crates.io/Sample_Tree", "1.0.0", "SAMPLE-1", "..1.1.0"]
        );
        assert_eq!(rows.len(), 3);
        for (row, id) in rows[1..].iter().zip(["SAMPLE-1", "SAMPLE-2"]) {
            assert_eq!(row[1..3], ["main\\u{1b}".to_owned(), id.to_owned()]);
            assert!(row[3].contains("in doubt"), "{row:?}");
        }
    }
}
