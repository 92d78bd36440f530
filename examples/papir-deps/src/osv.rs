//! OSV files → advisories (<https://ossf.github.io/osv-schema/>).

use serde::Deserialize;

use crate::Result;
use crate::advisory::{Advisory, Affected, End, is_word};
use crate::ecosystem::{Ecosystem, Version};

/// The version that stands for the beginning of all.
const BEGINNING: &str = "0";

/// A file of OSV, as far as it is read.
#[derive(Deserialize)]
struct Entry {
    id: String,
    withdrawn: Option<String>,
    #[serde(default)]
    affected: Vec<AffectedPackage>,
}

#[derive(Deserialize)]
struct AffectedPackage {
    package: Option<PackageName>,
    #[serde(default)]
    ranges: Vec<Range>,
    #[serde(default)]
    versions: Vec<String>,
}

#[derive(Deserialize)]
struct PackageName {
    ecosystem: String,
    name: String,
}

#[derive(Deserialize)]
struct Range {
    #[serde(rename = "type")]
    kind: String,
    events: Vec<Event>,
}

/// An event of a range, which has one of these fields.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Event {
    introduced: Option<String>,
    fixed: Option<String>,
    last_affected: Option<String>,
}

/// An advisory of one package.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) key: String,
    pub(crate) advisory: Advisory,
}

/// The advisories in a file: one for each package of an ecosystem that is looked up.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Rows {
    pub(crate) all: Vec<Row>,
    /// Packages whose versions the file does not name: it has commits only.
    pub(crate) without_versions: usize,
}

/// Reads a file. A withdrawn advisory has no rows.
///
/// # Errors
/// Text that is no OSV, and versions that have not the form of their ecosystem.
pub(crate) fn rows(json: &[u8]) -> Result<Rows> {
    let entry: Entry = serde_json::from_slice(json)?;
    if !is_word(&entry.id) {
        return Err(format!("id `{}`: expected ASCII without spaces", entry.id).into());
    }
    if entry.withdrawn.is_some() {
        return Ok(Rows::default());
    }

    let mut rows = Rows::default();
    for affected in &entry.affected {
        let Some(package) = &affected.package else {
            continue;
        };
        let Some(ecosystem) = Ecosystem::named(&package.ecosystem) else {
            continue;
        };
        let versions = affected_versions(ecosystem, affected)?;
        if versions.is_empty() {
            rows.without_versions += 1;
            continue;
        }
        rows.add(&entry.id, ecosystem.key(&package.name), versions);
    }
    Ok(rows)
}

impl Rows {
    /// Adds versions of a package, which the file may name several times.
    fn add(&mut self, id: &str, key: String, versions: Vec<Affected>) {
        if let Some(row) = self.all.iter_mut().find(|row| row.key == key) {
            row.advisory.affected.extend(versions);
            return;
        }
        let advisory = Advisory {
            id: id.to_owned(),
            affected: versions,
        };
        self.all.push(Row { key, advisory });
    }
}

/// Returns the intervals of a package, and the versions that are in none of them.
fn affected_versions(ecosystem: Ecosystem, package: &AffectedPackage) -> Result<Vec<Affected>> {
    let mut affected = Vec::new();
    for range in &package.ranges {
        if range.kind != "GIT" {
            affected.extend(intervals(ecosystem, &range.events)?);
        }
    }

    let mut singles = Vec::new();
    for text in &package.versions {
        if !is_word(text) {
            return Err(format!("version `{text}`: expected ASCII without spaces").into());
        }
        if !is_in(&affected, ecosystem, text)? {
            singles.push(Affected::Version(text.clone()));
        }
    }
    affected.extend(singles);
    Ok(affected)
}

/// Returns whether intervals have a version. A version of another form is in none.
fn is_in(intervals: &[Affected], ecosystem: Ecosystem, text: &str) -> Result<bool> {
    let Ok(version) = ecosystem.version(text) else {
        return Ok(false);
    };
    for interval in intervals {
        if interval.has(ecosystem, &version, text)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The kinds of events. At one version a fix counts before a new introduction, and the last
/// affected version after it: the doubtful version is affected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    Fixed,
    Introduced,
    LastAffected,
}

/// An event with its version; `None` for the beginning.
struct Change {
    kind: Kind,
    text: String,
    version: Option<Version>,
}

impl Change {
    fn of(ecosystem: Ecosystem, event: &Event) -> Result<Self> {
        let (kind, text) = match event {
            Event {
                introduced: Some(text),
                fixed: None,
                last_affected: None,
            } => (Kind::Introduced, text),
            Event {
                introduced: None,
                fixed: Some(text),
                last_affected: None,
            } => (Kind::Fixed, text),
            Event {
                introduced: None,
                fixed: None,
                last_affected: Some(text),
            } => (Kind::LastAffected, text),
            _ => return Err("an event: expected introduced, fixed or last_affected".into()),
        };

        let is_beginning = kind == Kind::Introduced && text == BEGINNING;
        let version = if is_beginning {
            None
        } else {
            Some(ecosystem.version(text)?)
        };
        Ok(Self {
            kind,
            text: text.clone(),
            version,
        })
    }

    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        match (&self.version, &other.version) {
            (Some(one), Some(other)) => one.compare(other),
            (one, other) => one.is_some().cmp(&other.is_some()),
        }
        .then(self.kind.cmp(&other.kind))
    }
}

/// Returns the intervals between the events of a range.
fn intervals(ecosystem: Ecosystem, events: &[Event]) -> Result<Vec<Affected>> {
    let mut changes: Vec<Change> = events
        .iter()
        .map(|event| Change::of(ecosystem, event))
        .collect::<Result<_>>()?;
    changes.sort_by(Change::compare);

    let mut intervals: Vec<Affected> = Vec::new();
    let mut is_open = false;
    for change in changes {
        let end = match change.kind {
            Kind::Introduced => {
                if !is_open {
                    let from = change.version.is_some().then_some(change.text);
                    let end = End::Never;
                    intervals.push(Affected::Interval { from, end });
                }
                is_open = true;
                continue;
            }
            Kind::Fixed => End::Before(change.text),
            Kind::LastAffected => End::UpTo(change.text),
        };

        // An end without a beginning says nothing.
        let last = intervals.last_mut().filter(|_| is_open);
        if let Some(Affected::Interval { end: open_end, .. }) = last {
            *open_end = end;
        }
        is_open = false;
    }
    Ok(intervals)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// A file about one package.
    fn file(ecosystem: &str, name: &str, affected: &str) -> String {
        format!(
            r#"{{"id": "SAMPLE-1", "summary": "made up", "affected": [
                {{"package": {{"ecosystem": "{ecosystem}", "name": "{name}"}}, {affected}}}]}}"#
        )
    }

    fn range(kind: &str, events: &str) -> String {
        format!(r#""ranges": [{{"type": "{kind}", "events": [{events}]}}]"#)
    }

    /// The line of the only row.
    fn line(json: &str) -> String {
        let rows = rows(json.as_bytes()).unwrap();
        assert_eq!(rows.all.len(), 1, "{rows:?}");
        rows.all[0].advisory.to_string()
    }

    fn line_of_crate(events: &str) -> String {
        line(&file("crates.io", "sample", &range("SEMVER", events)))
    }

    #[test]
    fn events_become_intervals() {
        let fixed = line_of_crate(r#"{"introduced": "0"}, {"fixed": "1.2.3"}"#);
        assert_eq!(fixed, "SAMPLE-1 ..1.2.3");
        let open = line_of_crate(r#"{"introduced": "2.0.0"}"#);
        assert_eq!(open, "SAMPLE-1 2.0.0..");
        let last = line_of_crate(r#"{"introduced": "1.0.0"}, {"last_affected": "1.0.0"}"#);
        assert_eq!(last, "SAMPLE-1 1.0.0..=1.0.0");
    }

    #[test]
    fn events_are_read_in_the_order_of_their_versions() {
        let events = r#"{"fixed": "1.10.0"}, {"introduced": "2.0.0"}, {"introduced": "1.9.0"},
            {"fixed": "2.0.1"}, {"fixed": "1.2.0"}, {"introduced": "0"}"#;
        assert_eq!(
            line_of_crate(events),
            "SAMPLE-1 ..1.2.0 1.9.0..1.10.0 2.0.0..2.0.1"
        );
    }

    #[test]
    fn versions_within_intervals_are_left_out() {
        let range = range("ECOSYSTEM", r#"{"introduced": "0"}, {"fixed": "1.2"}"#);
        let versions = r#""versions": ["1.0", "1.1.9", "1.2", "3.0", "0-old-style"]"#;
        let json = file("PyPI", "Sample_Pkg", &format!("{range}, {versions}"));
        assert_eq!(line(&json), "SAMPLE-1 ..1.2 =1.2 =3.0 =0-old-style");
        assert_eq!(rows(json.as_bytes()).unwrap().all[0].key, "PyPI/sample-pkg");
    }

    #[test]
    fn a_package_that_is_named_twice_has_one_row() {
        let json = r#"{"id": "SAMPLE-1", "affected": [
            {"package": {"ecosystem": "npm", "name": "a"}, "versions": ["1.0.0"]},
            {"package": {"ecosystem": "npm", "name": "b"}, "versions": ["1.0.0"]},
            {"package": {"ecosystem": "Go", "name": "a"}, "versions": ["1.0.0"]},
            {"versions": ["1.0.0"]},
            {"package": {"ecosystem": "npm", "name": "a"}, "versions": ["2.0.0"]}]}"#;
        let rows = rows(json.as_bytes()).unwrap();
        let lines: Vec<String> = rows
            .all
            .iter()
            .map(|row| format!("{} {}", row.key, row.advisory))
            .collect();
        assert_eq!(
            lines,
            ["npm/a SAMPLE-1 =1.0.0 =2.0.0", "npm/b SAMPLE-1 =1.0.0"]
        );
    }

    #[test]
    fn withdrawn_advisories_and_commits_have_no_rows() {
        let withdrawn = br#"{"id": "SAMPLE-1", "withdrawn": "2026-01-01T00:00:00Z", "affected": [
            {"package": {"ecosystem": "npm", "name": "a"}, "versions": ["1.0.0"]}]}"#;
        assert_eq!(rows(withdrawn).unwrap(), Rows::default());

        let commits = file("npm", "a", &range("GIT", r#"{"introduced": "0"}"#));
        let rows = rows(commits.as_bytes()).unwrap();
        assert!(rows.all.is_empty());
        assert_eq!(rows.without_versions, 1);
    }

    #[test]
    fn other_text_is_an_error() {
        let limit = range("SEMVER", r#"{"introduced": "0"}, {"limit": "1.0.0"}"#);
        let two = range("SEMVER", r#"{"introduced": "0", "fixed": "1.0.0"}"#);
        let version = range("SEMVER", r#"{"introduced": "0"}, {"fixed": "one"}"#);
        for affected in [limit, two, version] {
            assert!(
                rows(file("npm", "a", &affected).as_bytes()).is_err(),
                "{affected}"
            );
        }
        assert!(rows(b"{}").is_err());
        assert!(rows(br#"{"id": "a b"}"#).is_err());
    }
}
