//! `package-lock.json` and `npm-shrinkwrap.json`, of versions 2 and 3.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Packages;
use crate::Result;
use crate::ecosystem::Ecosystem;

/// The folder of dependencies, also within a dependency.
const MODULES: &str = "node_modules/";

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Lock {
    lockfile_version: Option<u64>,
    #[serde(default)]
    packages: BTreeMap<String, Entry>,
}

#[derive(Deserialize)]
struct Entry {
    /// The name, if the folder has another one: the package has an alias.
    name: Option<String>,
    version: Option<String>,
    resolved: Option<String>,
    #[serde(default)]
    link: bool,
}

/// Returns the packages of registries. Packages in folders are left out.
pub(super) fn parse(text: &str) -> Result<Packages> {
    let lock: Lock = serde_json::from_str(text)?;
    match lock.lockfile_version {
        Some(2 | 3) => {}
        Some(found) => return Err(format!("lockfileVersion {found}: expected 2 or 3").into()),
        None => return Err("no lockfileVersion: expected 2 or 3".into()),
    }

    let mut packages = Packages::default();
    for (path, entry) in &lock.packages {
        // The project itself, and the members of its workspace with the links to them.
        let Some((_, folder)) = path.rsplit_once(MODULES) else {
            continue;
        };
        if entry.link {
            continue;
        }
        let name = entry.name.as_deref().unwrap_or(folder);
        match (other_place(entry), &entry.version) {
            (Some(place), _) => packages.insert_other(name, place),
            (None, Some(version)) => packages.insert(Ecosystem::Npm, name, version),
            (None, None) => packages.insert_other(name, "no version"),
        }
    }
    Ok(packages)
}

/// The place of a package that is of no registry.
fn other_place(entry: &Entry) -> Option<&str> {
    let resolved = entry.resolved.as_deref()?;
    // Mirrors of the registry have addresses of their own.
    (!resolved.starts_with("https:") && !resolved.starts_with("http:")).then_some(resolved)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const LOCK: &str = r#"{
        "name": "own", "version": "1.0.0", "lockfileVersion": 3, "requires": true,
        "packages": {
            "": {"name": "own", "version": "1.0.0"},
            "packages/member": {"name": "member", "version": "1.0.0"},
            "node_modules/member": {"resolved": "packages/member", "link": true},
            "node_modules/@sample/left": {
                "version": "1.1.0", "resolved": "https://registry.npmjs.org/@sample/left/-/left-1.1.0.tgz"},
            "node_modules/a/node_modules/b": {"version": "2.0.0", "dev": true},
            "node_modules/alias": {"name": "real", "version": "3.0.0"},
            "node_modules/forked": {"version": "1.0.0", "resolved": "git+ssh://git@git.example/forked.git#00"},
            "node_modules/bare": {"resolved": "https://registry.npmjs.org/bare"}
        }
    }"#;

    #[test]
    fn packages_of_registries_count() {
        let packages = parse(LOCK).unwrap();
        let found: Vec<String> = packages
            .all
            .iter()
            .map(|one| format!("{} {}", one.key(), one.version))
            .collect();
        assert_eq!(
            found,
            ["npm/@sample/left 1.1.0", "npm/b 2.0.0", "npm/real 3.0.0"]
        );

        let others = packages.others;
        assert_eq!(others[0], "bare (no version)");
        assert!(others[1].starts_with("forked (git+ssh:"), "{others:?}");
        assert_eq!(others.len(), 2);
    }

    #[test]
    fn other_versions_are_refused() {
        let first = parse(r#"{"lockfileVersion": 1, "dependencies": {}}"#).unwrap_err();
        assert_eq!(first.to_string(), "lockfileVersion 1: expected 2 or 3");
        assert!(parse("{}").is_err());
        assert!(parse("[]").is_err());
        assert!(parse(&LOCK.replace("\"lockfileVersion\": 3", "\"lockfileVersion\": 2")).is_ok());
    }
}
