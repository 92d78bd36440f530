//! Files of changes: upserts and deletions in order, and errors that name the line.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::common::{folder, source};
use papir_core::{NoProgress, Progress};
use papir_store::{ChangeColumns, ChangeRow, Error, Format, KeyForm, TextForm, read_changes};

fn columns(values: &[&str], delete: Option<&str>) -> ChangeColumns {
    ChangeColumns {
        key: "k".to_owned(),
        values: values.iter().map(|&name| name.to_owned()).collect(),
        delete: delete.map(str::to_owned),
        text: TextForm::default(),
        keys: KeyForm::default(),
        longest_value: 24,
    }
}

fn read(
    name: &str,
    bytes: impl AsRef<[u8]>,
    columns: &ChangeColumns,
) -> Result<Vec<ChangeRow>, Error> {
    let folder = folder();
    read_changes(
        &source(folder.path(), name, bytes),
        None,
        columns,
        &NoProgress,
    )
}

fn put(key: &str, value: &str, line: u64) -> ChangeRow {
    ChangeRow {
        key: key.as_bytes().to_vec(),
        value: Some(value.as_bytes().to_vec()),
        line,
    }
}

fn delete(key: &str, line: u64) -> ChangeRow {
    ChangeRow {
        key: key.as_bytes().to_vec(),
        value: None,
        line,
    }
}

#[test]
fn csv_deletions_are_marked_by_a_column() {
    let csv = "k,v,gone\na,1,\nb,2,0\na,3,no\nb,,Yes\nc,,1\nd,far longer than the longest value,TRUE\ne,\"5\n6\",false\nf,,\n";
    let changes = read("c.csv", csv, &columns(&["v"], Some("gone"))).unwrap();
    let expected = [
        put("a", "1", 2),
        put("b", "2", 3),
        put("a", "3", 4),
        delete("b", 5),
        delete("c", 6),
        delete("d", 7),
        put("e", "5\n6", 8),
        put("f", "", 10),
    ];
    assert_eq!(changes, expected);
    let all_upserts = read("c.csv", "k,v,_delete\na,1,1\n", &columns(&["v"], None)).unwrap();
    assert_eq!(all_upserts, [put("a", "1", 2)]);
    assert_eq!(
        read("c.csv", "k,v\na,1\n", &columns(&[], None)).unwrap(),
        [put("a", "", 2)]
    );
    assert_eq!(read("c.csv", "", &columns(&["v"], None)).unwrap(), []);
}

#[test]
fn json_lines_deletions_are_marked_by_a_field() {
    let lines = concat!(
        "{\"k\": 1, \"v\": \"x\", \"w\": [1, 2]}\n",
        "\n",
        "{\"k\": 1, \"_delete\": true}\n",
        "{\"k\": 2, \"_delete\": false, \"v\": 3, \"w\": null, \"gone\": \"0\"}\n",
        "{\"k\": 3, \"gone\": 1}\n",
        "{\"k\": 4, \"gone\": null, \"_delete\": \"yes\"}",
    );
    let changes = read("c.jsonl", lines, &columns(&["v", "w"], Some("gone"))).unwrap();
    let expected = [
        put("1", r#"{"v":"x","w":[1,2]}"#, 1),
        delete("1", 3),
        put("2", r#"{"v":3,"w":null}"#, 4),
        delete("3", 5),
        delete("4", 6),
    ];
    assert_eq!(changes, expected);
    let error = read("c.jsonl", lines, &columns(&["v", "w"], None)).unwrap_err();
    assert!(
        error
            .to_string()
            .ends_with("c.jsonl, line 5: no column `v`: expected one of gone, k"),
        "{error}"
    );
}

/// Counts the bytes that were read.
#[derive(Default)]
struct Bytes(AtomicU64);

impl Progress for Bytes {
    fn stage(&self, _name: &str, _total: u64) {}

    fn advance(&self, bytes: u64) {
        self.0.fetch_add(bytes, Ordering::Relaxed);
    }
}

#[test]
fn a_row_whose_quotes_are_not_closed_does_not_fill_the_memory() {
    let folder = folder();
    // Longer than what may be read of it.
    let long = "x\n".repeat(10 << 20);
    for (begin, line) in [("k,v\n1,a\n2,\"", 3), ("k,\"v", 1)] {
        let path = source(folder.path(), "c.csv", format!("{begin}{long}"));
        let read = Bytes::default();
        let error = read_changes(&path, None, &columns(&["v"], None), &read)
            .unwrap_err()
            .to_string();
        let expected = format!("c.csv, line {line}: a quote opens a field and is not closed");
        assert!(error.contains(&expected), "{error}");
        assert!(read.0.into_inner() < 18 << 20);
    }
}

#[test]
fn a_row_without_an_end_does_not_fill_the_memory() {
    let folder = folder();
    let text = format!("k,v\n1,{}", "x".repeat(20 << 20));
    let path = source(folder.path(), "c.csv", text);
    let read = Bytes::default();
    let error = read_changes(&path, None, &columns(&["v"], None), &read)
        .unwrap_err()
        .to_string();
    let expected = "c.csv, line 2: a row of 16777216 bytes or more: expected a shorter one";
    assert!(error.ends_with(expected), "{error}");
    assert!(read.0.into_inner() < 18 << 20);
}

#[test]
fn a_quote_opened_in_one_row_and_closed_in_the_next_is_refused() {
    for text in [
        "k,v\n\"a,1\n\"b,2\n",
        "k,v\na,1\nb,\"2\n",
        "k,v\na,\"1\"x\n",
    ] {
        let error = read("q.csv", text, &columns(&["v"], None))
            .unwrap_err()
            .to_string();
        let line = if text.starts_with("k,v\na,1") { 3 } else { 2 };
        assert!(error.contains(&format!("q.csv, line {line}: ")), "{error}");
    }
}

#[test]
fn errors_name_file_and_line() {
    let marked = columns(&["v"], Some("gone"));
    for (name, bytes, expected) in [
        (
            "a.csv",
            "k,v,gone\na,1,\nb,2,maybe\n",
            "a.csv, line 3: the deletion mark is `maybe`: expected 1, true",
        ),
        (
            "b.csv",
            "k,v\na,1\n",
            "b.csv: no column `gone`: expected one of k, v",
        ),
        (
            "c.csv",
            "k,v,gone\na,1,0\nb,1\n",
            "c.csv, line 3: 2 fields: expected 3, as in the header",
        ),
        (
            "d.csv",
            "k,v,gone\na,1234567890123456789012345,\n",
            "d.csv, line 2: the value has 25 bytes: expected at most 24",
        ),
        (
            "e.jsonl",
            "{\"k\":1,\"_delete\":2}\n",
            "e.jsonl, line 1: the deletion mark is `2`: expected 1, true",
        ),
        (
            "f.jsonl",
            "{\"k\":1,\"v\":2}\n{\"v\":2}\n",
            "f.jsonl, line 2: no column `k`: expected one of v",
        ),
        (
            "g.jsonl",
            "{\"_delete\":true}\n",
            "g.jsonl, line 1: no column `k`",
        ),
        (
            "h.bin",
            "",
            "changes from a raw source: expected csv, tsv, jsonl, list, pairs or hosts",
        ),
    ] {
        let error = read(name, bytes, &marked).unwrap_err().to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
    let missing = read_changes(
        "missing.csv".as_ref(),
        Some(Format::Csv),
        &marked,
        &NoProgress,
    );
    assert_eq!(missing.unwrap_err().code(), "io");
}

#[test]
fn changes_have_the_forms_of_other_text() {
    let numbered = |text: TextForm| ChangeColumns {
        key: "1".to_owned(),
        text,
        ..columns(&["2"], None)
    };
    let semicolons = numbered(TextForm {
        delimiter: Some(b';'),
        no_header: true,
        ..TextForm::default()
    });
    let expected = [put("a", "1", 1), put("b", "2", 2)];
    assert_eq!(read("c.csv", "a;1\nb;2\n", &semicolons).unwrap(), expected);

    let plain = columns(&["v"], Some("gone"));
    let tsv = read("c.tsv", "k\tv\tgone\na\t1\t\nb\t\t1\n", &plain).unwrap();
    assert_eq!(tsv, [put("a", "1", 2), delete("b", 3)]);

    let none = columns(&[], None);
    let list = read("c.txt", "# keys\na\n\nb\n", &none).unwrap();
    assert_eq!(list, [put("a", "", 2), put("b", "", 4)]);
}

#[test]
fn keys_of_changes_have_a_form() {
    let checked = ChangeColumns {
        keys: KeyForm {
            pattern: "[a-z]+".parse().ok(),
            ..KeyForm::default()
        },
        ..columns(&["v"], None)
    };
    let error = read("c.csv", "k,v\na,1\nB,2\n", &checked).unwrap_err();
    let expected = "c.csv, line 3: the key `B` has 1 bytes, and does not match as a whole";
    assert!(error.to_string().contains(expected), "{error}");
}
