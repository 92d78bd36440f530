//! Output formats: lines of name and value, and JSON fields.

use std::io::Write;
use std::time::{Duration, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use papir_checkpoint::Leaf;
use papir_core::{Description, Privacy, Sizes, Version};
use papir_lookup::KeywordLayout;
use papir_lookup::prefilter::PrefilterSummary;
use papir_lookup::psi::Kind;
use papir_lookup::update::ChangeCounts;
use papir_store::psi::PsiSummary;
use papir_store::{
    BuildReport, DeltaMetadata, DeltaReport, KeywordSummary, Metadata, SectionInfo, UpdateReport,
};
use serde_json::{Value, json};

use papir_plan::units;

use crate::failure::one_line;

/// Lines of name and value.
pub(crate) type Lines = Vec<(String, String)>;

/// Creates a line.
pub(crate) fn line(name: &str, value: impl ToString) -> (String, String) {
    (name.to_owned(), value.to_string())
}

/// A time with its unit.
pub(crate) fn seconds(time: Duration) -> String {
    units::seconds(time.as_secs_f64())
}

/// A time in milliseconds.
pub(crate) fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// Writes the lines in two columns.
pub(crate) fn print(lines: &Lines, out: &mut dyn Write) -> std::io::Result<()> {
    let width = lines
        .iter()
        .map(|(name, _)| name.chars().count())
        .max()
        .unwrap_or_default();

    for (name, value) in lines {
        // A value may come from a file or a service: a line break in it would forge another line.
        writeln!(out, "{name:<width$}  {}", one_line(value))?;
    }
    Ok(())
}

/// A JSON field with bytes as text or, if they are not UTF-8, a field `…_base64` in base64.
pub(crate) fn json_field(name: &str, bytes: &[u8]) -> (String, Value) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (name.to_owned(), json!(text)),
        // Under another name, so that no program takes the base64 for the bytes themselves.
        Err(_) => (format!("{name}_base64"), json!(STANDARD.encode(bytes))),
    }
}

/// Describes the result of a build.
pub(crate) fn build(report: &BuildReport) -> Lines {
    let BuildReport {
        description,
        metadata,
        ..
    } = report;
    // A key of several chunks fails if one of its lookups does, so the bound is of all of them.
    let lookups = report
        .table
        .as_ref()
        .map_or(1, |table| table.lookups as usize);
    let query = units::bytes(description.sizes.query);
    let answer = units::bytes(description.sizes.answer);

    let mut lines = vec![
        line("name", &metadata.name),
        line(
            "scheme",
            format!("{}, version {}", description.scheme, metadata.version),
        ),
        line("records", records(description)),
    ];
    lines.extend(skipped(metadata));
    lines.extend(metadata.keyword.iter().flat_map(table));
    lines.extend(guarantees(description, lookups));

    // Printed by the build, since the owner publishes it to those who verify records.
    lines.extend(metadata.root.as_ref().map(|root| line("root", root)));
    lines.extend(report.checkpoint.as_ref().map(signed));
    lines.extend(report.prefilter.as_ref().map(prefilter));
    lines.push(line("query and answer", format!("{query} and {answer}")));
    lines.push(line("file", units::bytes(report.snapshot_bytes)));
    lines.extend(report.chosen.as_ref().map(|reason| line("chosen", reason)));
    lines
}

/// Describes the result of an update.
pub(crate) fn update(report: &UpdateReport) -> Lines {
    let ChangeCounts {
        inserted,
        replaced,
        deleted,
        absent,
        superseded,
    } = report.counts;
    let mut changes = format!("{inserted} new, {replaced} replaced, {deleted} deleted");
    // Only if there are any: zeros in every report would hide them.
    for (count, what) in [
        (absent, "deletions of absent keys"),
        (superseded, "superseded by a later row"),
    ] {
        if count > 0 {
            changes += &format!(", {count} {what}");
        }
    }

    let description = &report.description;
    let mut lines = vec![
        line("name", &report.metadata.name),
        line(
            "scheme",
            format!(
                "{}, version {}",
                description.scheme, report.metadata.version
            ),
        ),
        line("changes", changes),
        line("done", &report.way),
        line("records", records(description)),
    ];

    lines.extend(report.metadata.keyword.iter().flat_map(table));
    lines.extend(report.checkpoint.as_ref().map(signed));
    lines.push(line("file", units::bytes(report.snapshot_bytes)));
    let seen = report.shows_too_much();
    lines.extend(seen.map(|seen| line("clients see", seen)));
    lines
}

/// Describes an update of a delta.
pub(crate) fn delta_update(report: &DeltaReport) -> Lines {
    let DeltaReport {
        metadata,
        rows,
        superseded,
        bytes,
        most,
        checkpoint,
    } = report;
    let mut changes = format!("{rows} rows");
    if *superseded > 0 {
        changes += &format!(", of which {superseded} replace earlier changes");
    }

    let mut lines = vec![
        line("name", &metadata.name),
        line("changes", changes),
        line("delta", delta(metadata)),
        line(
            "bytes",
            format!(
                "{} of at most {}",
                units::bytes(*bytes),
                units::bytes(*most)
            ),
        ),
    ];
    lines.extend(checkpoint.as_ref().map(signed));
    lines
}

/// Describes a delta in one line.
pub(crate) fn delta(metadata: &DeltaMetadata) -> String {
    let DeltaMetadata {
        entries,
        base,
        version,
        scheme,
        ..
    } = metadata;
    format!("{entries} changes since version {base}, as version {version} ({scheme})")
}

/// Describes a set for private intersection.
pub(crate) fn set(summary: &PsiSummary) -> Lines {
    let matching = match summary.kind {
        Kind::Filter => "by a filter that is downloaded once",
        Kind::Retrieval => "by private lookups",
    };

    let mut lines = vec![
        line("elements", summary.elements),
        line("matching", matching),
        line("set version", summary.version),
    ];
    if let Some(longest) = summary.longest {
        lines.push(line("longest label", units::bytes(longest.into())));
    }
    lines
}

/// Describes the filter of a database's keys.
pub(crate) fn prefilter(summary: &PrefilterSummary) -> (String, String) {
    let PrefilterSummary { bits, bytes, .. } = *summary;
    line(
        "prefilter",
        format!(
            "{bits} bits, {} that clients fetch once per version",
            units::bytes(bytes)
        ),
    )
}

/// Describes a signed version by its place in the log.
pub(crate) fn signed(leaf: &Leaf) -> (String, String) {
    line(
        "signed",
        format!("sequence {}, {}", leaf.sequence, time(leaf.time)),
    )
}

/// Formats a time in seconds since 1970 as RFC 3339 in UTC.
pub(crate) fn time(seconds: u64) -> String {
    papir_store::timestamp(UNIX_EPOCH + Duration::from_secs(seconds.min(u64::from(u32::MAX))))
}

/// Describes the section of keys that only updates read. `None` if the file has no such section.
pub(crate) fn owner_keys(sections: &[SectionInfo]) -> Option<(String, String)> {
    // Sealed ones belong to an encrypted database. A snapshot has one of both.
    let names = [papir_store::OWNER_KEYS, papir_store::SEALED_OWNER_KEYS];
    let section = sections
        .iter()
        .find(|section| names.contains(&section.name.as_str()))?;

    Some(line(
        "owner's keys",
        format!(
            "{} for updates, which clients do not fetch",
            units::bytes(section.bytes)
        ),
    ))
}

/// Describes a database's keyed table, source and history.
pub(crate) fn origin(metadata: &Metadata) -> Lines {
    let source = &metadata.source;
    let entries = source.entries;
    let size = units::bytes(source.bytes);

    let mut lines: Lines = metadata.keyword.iter().flat_map(table).collect();
    lines.push(line(
        "source",
        format!(
            "{} ({}, {size}, {entries} entries)",
            source.file, source.format
        ),
    ));
    lines.extend(skipped(metadata));
    let allowed = metadata.clients_may_see.as_ref();
    lines.extend(allowed.map(|allowed| line("clients may see", allowed)));

    lines.push(line(
        "built",
        format!("{} by papir {}", metadata.created, metadata.papir),
    ));
    if let Some(time) = &metadata.updated {
        lines.push(line(
            "updated",
            format!("{} times, last {time}", metadata.updates),
        ));
    }
    lines
}

/// Describes the number of skipped rows, if any.
fn skipped(metadata: &Metadata) -> Option<(String, String)> {
    let skipped = metadata.source.skipped;
    (skipped > 0).then(|| line("skipped", format!("{skipped} bad rows of the source")))
}

/// Describes the snapshot file.
pub(crate) fn file(bytes: u64, sections: usize) -> (String, String) {
    line(
        "file",
        format!(
            "{} in {sections} sections, checksums verified",
            units::bytes(bytes)
        ),
    )
}

fn table(summary: &KeywordSummary) -> Lines {
    let KeywordSummary {
        entries,
        duplicates,
        table_bytes,
        tagged_bytes,
        ..
    } = summary;
    let table = units::bytes(*table_bytes);
    let minimum = units::bytes(*tagged_bytes);

    vec![
        line(
            "keys",
            format!("{entries}, {duplicates} duplicates left out"),
        ),
        line(
            "keyword overhead",
            format!(
                "{:.3} × ({table} for {minimum} of tags and values)",
                summary.overhead()
            ),
        ),
    ]
}

fn records(description: &Description) -> String {
    let shape = &description.shape;
    let records = shape.records();
    let total = units::bytes(shape.total_bytes());
    format!(
        "{records} of {}, {total} in total",
        units::bits(shape.record_bits())
    )
}

/// Describes a prepared database: shape, lookup, security, sizes and parameters.
pub(crate) fn database(
    description: &Description,
    version: Version,
    keyword: Option<&KeywordLayout>,
) -> Lines {
    let lookups = keyword.map_or(1, KeywordLayout::lookups);

    let mut lines = identity(description, version);
    match keyword {
        Some(layout) => lines.extend(keys(layout)),
        None => lines.push(line("lookup", "by index")),
    }
    lines.extend(guarantees(description, lookups));

    lines.extend(sizes(&description.sizes));
    for (name, value) in &description.parameters {
        lines.push(line(&format!("parameter {name}"), value));
    }
    lines
}

fn identity(description: &Description, version: Version) -> Lines {
    let privacy = match description.privacy {
        Privacy::Private => "private".to_owned(),
        Privacy::NotPrivate(reason) => format!("NOT PRIVATE: {reason}"),
    };

    vec![
        line("scheme", format!("{} ({privacy})", description.scheme)),
        line("version", version),
        line("records", records(description)),
    ]
}

fn keys(layout: &KeywordLayout) -> Lines {
    let chance = layout.false_positive_log2();

    vec![
        line(
            "lookup",
            format!("by key, {} record(s) each", layout.lookups()),
        ),
        line("longest value", units::bytes(layout.longest_value() as u64)),
        line("key layout", units::bytes(layout.encode().len() as u64)),
        line(
            "false positives",
            format!("2^{chance:.1} that an absent key is found"),
        ),
    ]
}

/// Describes security and failures of a lookup that fetches `records` records.
fn guarantees(description: &Description, records: usize) -> Lines {
    // A private scheme without an estimate hides the index from unbounded servers, too: it rests on
    // no assumption that could be estimated.
    let security = match (&description.security, description.privacy) {
        (Some(security), _) => format!("{:.1} bits ({})", security.bits, security.source),
        (None, Privacy::Private) => "perfect: a query does not depend on the index".to_owned(),
        (None, Privacy::NotPrivate(_)) => "none: nothing is encrypted".to_owned(),
    };

    // A batch decodes as a whole or not at all.
    let what = if description.limits.batch > 1 {
        "batch"
    } else {
        "lookup"
    };
    let failure = match description.lookup_failure_log2(records) {
        f64::NEG_INFINITY => "never: every answer decodes".to_owned(),
        log2 => format!("2^{log2:.1} that a {what} does not decode"),
    };

    vec![line("security", security), line("failure", failure)]
}

fn sizes(sizes: &Sizes) -> Lines {
    let rows = [
        ("public part", sizes.public),
        ("  incl. hint", sizes.hint),
        ("client keys", sizes.keys),
        ("query", sizes.query),
        ("  incl. keys", sizes.query_keys),
        ("answer", sizes.answer),
        ("encoded database", sizes.database),
        ("other material", sizes.material),
    ];

    rows.into_iter()
        // Most schemes have no keys, hint or material: a zero would need an explanation.
        .filter(|(_, count)| *count > 0)
        .map(|(name, count)| line(name, units::bytes(count) + &exact(count)))
        .collect()
}

/// The exact number of bytes, where the unit rounds it.
pub(crate) fn exact(count: u64) -> String {
    if count < 1024 {
        String::new()
    } else {
        format!(" ({count} bytes)")
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Shape;

    use super::*;

    #[test]
    fn a_plan_of_every_scheme_is_described() {
        // Small enough for every scheme.
        let shape = Shape::of_bytes(30_000, 8).unwrap();
        papir_research::register().unwrap();

        for scheme in papir_schemes::registry::all() {
            let description = scheme.plan(shape, papir_core::Goal::Balanced).unwrap();
            let lines = database(&description, Version([1; 8]), None);
            let value = |name: &str| {
                lines
                    .iter()
                    .find(|(found, _)| found == name)
                    .map(|(_, value)| value.as_str())
            };

            assert!(value("scheme").unwrap().starts_with(scheme.name()));
            assert_eq!(value("version"), Some("0101010101010101"));
            assert_eq!(value("records"), Some("30000 of 8 B, 234 KiB in total"));
            assert!(value("security").is_some() && value("failure").is_some());
        }
    }
}
