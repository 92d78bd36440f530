//! `Cargo.lock`, of all versions.

use serde::Deserialize;

use super::Packages;
use crate::Result;
use crate::ecosystem::Ecosystem;

/// The sources of crates.io, by its two protocols.
const CRATES_IO: [&str; 2] = [
    "registry+https://github.com/rust-lang/crates.io-index",
    "sparse+https://index.crates.io/",
];

#[derive(Deserialize)]
struct Lock {
    #[serde(default)]
    package: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    name: String,
    version: String,
    /// `None` for a package in a folder, such as those of the workspace.
    source: Option<String>,
}

/// Returns the packages of crates.io. Packages in folders are left out.
pub(super) fn parse(text: &str) -> Result<Packages> {
    let lock: Lock = toml::from_str(text)?;
    let mut packages = Packages::default();
    for Entry {
        name,
        version,
        source,
    } in &lock.package
    {
        match source.as_deref() {
            Some(source) if CRATES_IO.contains(&source) => {
                packages.insert(Ecosystem::Crates, name, version);
            }
            Some(source) => packages.insert_other(name, source),
            None => {}
        }
    }
    Ok(packages)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn packages_of_crates_io_count() {
        let lock = r#"
version = 4

[[package]]
name = "own"
version = "0.1.0"
dependencies = ["sample-tree 1.2.0", "sample-tree 2.0.0", "forked"]

[[package]]
name = "sample-tree"
version = "1.2.0"
source = "registry+https://github.com/rust-lang/crates.io-index"
checksum = "00"

[[package]]
name = "sample-tree"
version = "2.0.0"
source = "sparse+https://index.crates.io/"

[[package]]
name = "forked"
version = "1.0.0"
source = "git+https://git.example/forked#0000"
"#;
        let packages = parse(lock).unwrap();
        let found: Vec<String> = packages
            .all
            .iter()
            .map(|one| format!("{} {}", one.key(), one.version))
            .collect();
        assert_eq!(
            found,
            ["crates.io/sample-tree 1.2.0", "crates.io/sample-tree 2.0.0"]
        );
        assert_eq!(
            packages.others,
            ["forked (git+https://git.example/forked#0000)"]
        );
        assert!(parse("").unwrap().all.is_empty());
        assert!(parse("package = 1").is_err());
    }
}
