//! Lockfiles → packages.

mod cargo;
mod npm;
mod pip;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use crate::Result;
use crate::ecosystem::Ecosystem;

/// A package of a registry, in one version.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Package {
    pub(crate) ecosystem: Ecosystem,
    pub(crate) name: String,
    pub(crate) version: String,
}

impl Package {
    /// The key of the package in the database.
    pub(crate) fn key(&self) -> String {
        self.ecosystem.key(&self.name)
    }
}

/// The packages of lockfiles.
#[derive(Debug, Default)]
pub(crate) struct Packages {
    pub(crate) all: BTreeSet<Package>,
    /// Dependencies that are of no registry, with the place where they come from.
    pub(crate) others: Vec<String>,
}

impl Packages {
    /// Adds the packages of a further lockfile.
    pub(crate) fn add(&mut self, more: Self) {
        self.all.extend(more.all);
        self.others.extend(more.others);
    }

    fn insert(&mut self, ecosystem: Ecosystem, name: &str, version: &str) {
        self.all.insert(Package {
            ecosystem,
            name: name.to_owned(),
            version: version.to_owned(),
        });
    }

    /// Notes a dependency that cannot be looked up. Its text may be of anybody.
    fn insert_other(&mut self, name: &str, place: &str) {
        let name = name.escape_debug();
        let place = place.escape_debug();
        self.others.push(format!("{name} ({place})"));
    }
}

/// Reads a lockfile, whose name tells its form.
pub(crate) fn read(file: &Path) -> Result<Packages> {
    let name = file
        .file_name()
        .and_then(|name| name.to_str())
        .unwrap_or("");
    let parse = match name {
        "Cargo.lock" => cargo::parse,
        "package-lock.json" | "npm-shrinkwrap.json" => npm::parse,
        _ if name.ends_with(".txt") => pip::parse,
        _ => {
            let expected = "expected Cargo.lock, package-lock.json, npm-shrinkwrap.json or .txt";
            return Err(format!("{}: {expected}", file.display()).into());
        }
    };

    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    parse(&text).map_err(|error| format!("{}: {error}", file.display()).into())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_name_tells_the_form() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).unwrap();
            path
        };

        let pinned = read(&write("requirements-dev.txt", "a==1.0\n")).unwrap();
        assert_eq!(pinned.all.len(), 1);
        let unknown = read(&write("yarn.lock", "")).unwrap_err().to_string();
        assert!(unknown.contains("expected Cargo.lock"), "{unknown}");
        let bad = read(&write("Cargo.lock", "[")).unwrap_err().to_string();
        assert!(bad.contains("Cargo.lock: "), "{bad}");
        assert!(read(&folder.path().join("absent.txt")).is_err());
    }
}
