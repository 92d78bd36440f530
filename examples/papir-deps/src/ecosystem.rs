//! Ecosystems of packages: their names as keys, and the order of their versions.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use crate::Result;

/// An ecosystem whose advisories are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Ecosystem {
    Crates,
    Npm,
    PyPi,
}

impl Ecosystem {
    /// Returns the ecosystem with this name in OSV; `None` for another one. What follows a colon
    /// names a part of the ecosystem, which counts as the whole.
    pub(crate) fn named(name: &str) -> Option<Self> {
        let base = name.split(':').next().unwrap_or(name);
        [Self::Crates, Self::Npm, Self::PyPi]
            .into_iter()
            .find(|one| one.name() == base)
    }

    fn name(self) -> &'static str {
        match self {
            Self::Crates => "crates.io",
            Self::Npm => "npm",
            Self::PyPi => "PyPI",
        }
    }

    /// Returns the key of a package: `ecosystem/name`, with one form for all spellings of a name
    /// that the ecosystem holds for the same.
    pub(crate) fn key(self, name: &str) -> String {
        let normal = match self {
            Self::Crates => name.to_ascii_lowercase().replace('_', "-"),
            // Old packages differ in upper and lower case only.
            Self::Npm => name.to_owned(),
            Self::PyPi => without_runs(&name.to_ascii_lowercase()),
        };
        format!("{self}/{normal}")
    }

    /// Parses a version of this ecosystem.
    pub(crate) fn version(self, text: &str) -> Result<Version> {
        let version = match self {
            Self::Crates | Self::Npm => semver::Version::parse(text)
                .map(Version::Semantic)
                .map_err(|error| error.to_string()),
            Self::PyPi => pep440_rs::Version::from_str(text)
                .map(Version::Python)
                .map_err(|error| error.to_string()),
        };
        version.map_err(|error| format!("version `{text}` of {self}: {error}").into())
    }
}

impl fmt::Display for Ecosystem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Returns a name of PyPI with one hyphen in place of each run of `-`, `_` and `.` (PEP 503).
fn without_runs(name: &str) -> String {
    let parts: Vec<&str> = name
        .split(['-', '_', '.'])
        .filter(|part| !part.is_empty())
        .collect();
    parts.join("-")
}

/// A version, in the order of its ecosystem.
#[derive(Clone, Debug)]
pub(crate) enum Version {
    /// Of crates.io and npm: Semantic Versioning 2.0.
    Semantic(semver::Version),
    /// Of PyPI: PEP 440.
    Python(pep440_rs::Version),
}

impl Version {
    /// Compares two versions of one ecosystem. Metadata of a build has no order.
    pub(crate) fn compare(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Semantic(one), Self::Semantic(other)) => one.cmp_precedence(other),
            (Self::Python(one), Self::Python(other)) => one.cmp(other),
            (Self::Semantic(_), Self::Python(_)) => Ordering::Less,
            (Self::Python(_), Self::Semantic(_)) => Ordering::Greater,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_one_name_have_one_key() {
        assert_eq!(
            Ecosystem::Crates.key("Sample_Tree"),
            "crates.io/sample-tree"
        );
        assert_eq!(Ecosystem::Npm.key("@Sample/left"), "npm/@Sample/left");
        for name in ["Sample.Pkg", "sample__pkg", "SAMPLE-_.pkg"] {
            assert_eq!(Ecosystem::PyPi.key(name), "PyPI/sample-pkg");
        }
    }

    #[test]
    fn ecosystems_have_their_names_of_osv() {
        assert_eq!(Ecosystem::named("crates.io"), Some(Ecosystem::Crates));
        assert_eq!(Ecosystem::named("PyPI:a"), Some(Ecosystem::PyPi));
        assert_eq!(Ecosystem::named("Go"), None);
    }

    #[test]
    fn versions_have_the_order_of_their_ecosystem() {
        let ordered = [
            (
                Ecosystem::Crates,
                ["1.0.0-alpha.2", "1.0.0-alpha.10", "1.0.0"],
            ),
            (Ecosystem::Npm, ["0.9.10", "1.0.0-rc.1", "1.2.0"]),
            (Ecosystem::PyPi, ["1.0.dev3", "1.0rc1", "1.0.post1"]),
            (Ecosystem::PyPi, ["2.9", "2.10", "1!0.1"]),
        ];
        for (ecosystem, texts) in ordered {
            let versions = texts.map(|text| ecosystem.version(text).unwrap());
            for pair in versions.windows(2) {
                assert_eq!(pair[0].compare(&pair[1]), Ordering::Less, "{pair:?}");
            }
        }
    }

    #[test]
    fn equal_versions_may_be_spelled_differently() {
        let same = |ecosystem: Ecosystem, one: &str, other: &str| {
            let one = ecosystem.version(one).unwrap();
            one.compare(&ecosystem.version(other).unwrap()) == Ordering::Equal
        };
        assert!(same(Ecosystem::Crates, "1.0.0+a", "1.0.0+b"));
        assert!(same(Ecosystem::PyPi, "1.0", "1.0.0"));
        assert!(same(Ecosystem::PyPi, "v1.0RC1", "1.0-rc.1"));
    }
}
