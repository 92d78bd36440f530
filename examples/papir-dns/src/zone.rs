//! Zone file → table of names, and a name's records as text.
//!
//! The key is the name, and its value has all its records, one a line: `NAME TTL TYPE DATA`. Behind
//! an alias follow the records of its target, so that one lookup answers every type of a name.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use hickory_proto::rr::rdata::TXT;
use hickory_proto::rr::{Name, RData, Record, RecordType};
use hickory_proto::serialize::txt::Parser;

use crate::Result;
use crate::names::key_of;

/// Most aliases on the way from a name to its records.
const LONGEST_CHAIN: usize = 8;
/// The origin of relative names in a zone that has none. A name below it is an error.
const MISSING_ORIGIN: &str = "origin-is-missing.invalid.";

/// A name of a zone, and its records as text.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) records: String,
}

/// Reads a zone file.
pub(crate) fn rows_of_file(file: &Path, origin: Option<&Name>) -> Result<Vec<Row>> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    rows(&text, Some(file.to_owned()), origin)
        .map_err(|error| format!("{}: {error}", file.display()).into())
}

/// Returns the names of a zone, in order. `path` is the file for relative `$INCLUDE`.
fn rows(text: &str, path: Option<PathBuf>, origin: Option<&Name>) -> Result<Vec<Row>> {
    let missing = Name::from_ascii(MISSING_ORIGIN)?;
    let origin = origin.cloned().unwrap_or(missing);
    let (_, sets) = Parser::new(text, path, Some(origin)).parse()?;

    let mut table: BTreeMap<String, Vec<Record>> = BTreeMap::new();
    for set in sets.values() {
        if set.name().is_wildcard() {
            return Err(format!("{}: expected no wildcard", set.name()).into());
        }
        let records = table.entry(key_of(set.name())).or_default();
        records.extend(set.records_without_rrsigs().cloned());
    }

    let mut rows = Vec::with_capacity(table.len());
    for name in table.keys() {
        let mut records = String::new();
        for record in with_targets(name, &table)? {
            records.push_str(&line_of(record)?);
            records.push('\n');
        }
        rows.push(Row {
            name: name.clone(),
            records,
        });
    }
    Ok(rows)
}

/// Returns the records of a name, and of the names that its aliases lead to.
fn with_targets<'a>(
    name: &str,
    table: &'a BTreeMap<String, Vec<Record>>,
) -> Result<Vec<&'a Record>> {
    let mut records = Vec::new();
    let mut current = name.to_owned();

    for _ in 0..=LONGEST_CHAIN {
        let Some(found) = table.get(&current) else {
            return Err(format!("{name}: an alias of {current}, which the zone lacks").into());
        };
        records.extend(found);

        match found.iter().find_map(alias_of) {
            Some(target) => current = key_of(target),
            None => return Ok(records),
        }
    }
    Err(format!("{name}: expected at most {LONGEST_CHAIN} aliases in a row").into())
}

/// The target, if a record makes its name an alias.
pub(crate) fn alias_of(record: &Record) -> Option<&Name> {
    match &record.data {
        RData::CNAME(target) => Some(&target.0),
        _ => None,
    }
}

/// Writes a record as a line, and checks that the line is read as this record.
fn line_of(record: &Record) -> Result<String> {
    let data = match &record.data {
        RData::TXT(text) => quoted(text),
        data => data.to_string(),
    };
    let name = record.name.to_lowercase().to_ascii();
    let line = format!("{name} {} {} {data}", record.ttl, record.record_type());
    if line.contains(MISSING_ORIGIN) {
        return Err("a relative name: expected $ORIGIN in the file, or --origin".into());
    }

    // The text that the library prints for a rare type may lose a part of it.
    let is_read = !line.contains(['\n', '\r'])
        && record_of(&line).is_ok_and(|read| read.data == record.data && read.name == record.name);
    if !is_read {
        let kind = record.record_type();
        return Err(format!("{name} {kind}: its data cannot be written as text").into());
    }
    Ok(line)
}

/// Returns the strings of a TXT record, each between quotes.
fn quoted(text: &TXT) -> String {
    let mut strings = Vec::new();
    for string in &text.txt_data {
        let string = String::from_utf8_lossy(string);
        strings.push(format!(
            "\"{}\"",
            string.replace('\\', "\\\\").replace('"', "\\\"")
        ));
    }
    strings.join(" ")
}

/// Reads the value of a name in the database.
///
/// # Errors
/// The first line that is no record.
pub(crate) fn records_of(value: &[u8]) -> Result<Vec<Record>> {
    str::from_utf8(value)?.lines().map(record_of).collect()
}

fn record_of(line: &str) -> Result<Record> {
    let parts: Vec<&str> = line.splitn(4, ' ').collect();
    let &[name, ttl, record_type, data] = parts.as_slice() else {
        let found = parts.len();
        return Err(format!("a record of {found} parts: expected NAME TTL TYPE DATA").into());
    };

    let mut name = Name::from_ascii(name)?;
    name.set_fqdn(true);
    let record_type = RecordType::from_str(record_type)?;
    let data = RData::try_from_str(record_type, data)?;
    Ok(Record::from_rdata(name, ttl.parse()?, data))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const ZONE: &str = "\
$ORIGIN example.
$TTL 3600
@      IN SOA ns.example. admin.example. 1 7200 3600 1209600 300
       IN NS  ns
ns     IN A   192.0.2.53
Host   IN A   192.0.2.1
       IN A   192.0.2.2
       300 IN AAAA 2001:db8::1
       IN TXT \"a \\\"quoted\\\" text; with \\\\ more\" \"second\"
       IN MX  10 ns
       IN CAA 0 issue \"ca.example\"
_sip._tcp IN SRV 1 2 5060 host
www    60 IN CNAME web
web    IN CNAME host.example.
";

    fn error(zone: &str) -> String {
        rows(zone, None, None).unwrap_err().to_string()
    }

    #[test]
    fn a_name_has_its_records_and_those_of_its_target() {
        let rows = rows(ZONE, None, None).unwrap();
        let names: Vec<&str> = rows.iter().map(|row| row.name.as_str()).collect();
        let expected = [
            "_sip._tcp.example",
            "example",
            "host.example",
            "ns.example",
            "web.example",
            "www.example",
        ];
        assert_eq!(names, expected);

        let www: Vec<&str> = rows[5].records.lines().collect();
        assert_eq!(www[0], "www.example. 60 CNAME web.example.");
        assert_eq!(www[1], "web.example. 3600 CNAME host.example.");
        assert!(www.contains(&"host.example. 3600 A 192.0.2.2"), "{www:?}");
        assert!(
            www.contains(&"host.example. 300 AAAA 2001:db8::1"),
            "{www:?}"
        );
    }

    #[test]
    fn records_are_read_as_they_were_written() {
        for row in rows(ZONE, None, None).unwrap() {
            let records = records_of(row.records.as_bytes()).unwrap();
            let lines: Vec<String> = records.iter().map(|one| line_of(one).unwrap()).collect();
            assert_eq!(lines.join("\n") + "\n", row.records);
        }
    }

    #[test]
    fn the_sample_is_a_zone() {
        let rows = rows(include_str!("../sample/home.zone"), None, None).unwrap();
        let www = rows.iter().find(|row| row.name == "www.home.example");
        let records = &www.unwrap().records;
        assert!(
            records.contains("nas.home.example. 600 A 192.0.2.10\n"),
            "{records}"
        );
        assert_eq!(rows.len(), 6);
    }

    #[test]
    fn a_zone_that_cannot_be_served_is_refused() {
        let head = "$ORIGIN example.\n$TTL 60\n";
        assert!(error(&format!("{head}* IN A 192.0.2.1\n")).contains("wildcard"));
        let outside = error(&format!("{head}a IN CNAME b.other.\n"));
        assert!(
            outside.contains("b.other, which the zone lacks"),
            "{outside}"
        );
        let circle = error(&format!("{head}a IN CNAME b\nb IN CNAME a\n"));
        assert!(circle.contains("at most 8 aliases"), "{circle}");
        let relative = error("a 60 IN A 192.0.2.1\n");
        assert!(relative.contains("--origin"), "{relative}");
        let target = error("a.example. 60 IN MX 1 mail\n");
        assert!(target.contains("--origin"), "{target}");
    }

    #[test]
    fn a_value_that_is_no_record_is_an_error() {
        for value in [
            &b"\xff"[..],
            b"a 60 A",
            b"a x A 192.0.2.1",
            b"a 60 A 192.0.2",
        ] {
            assert!(records_of(value).is_err(), "{value:?}");
        }
        assert!(records_of(b"").unwrap().is_empty());
    }
}
