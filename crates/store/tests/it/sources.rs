//! Sources, from file to lookup, and errors that name the line.

use crate::common::{self, by_index, by_key, folder, keyed, options, refusal, run, source};
use papir_lookup::OnDuplicate;
use papir_store::{BuildOptions, Format, Snapshot};

fn opened(options: &BuildOptions) -> Snapshot {
    run(options).unwrap();
    Snapshot::open(&options.out).unwrap()
}

#[test]
fn csv_with_one_value_column() {
    let folder = folder();
    let csv = "\u{feff}name,city,age\nalice,\"Köln, Altstadt\",30\nbob,\"two\nlines\",\n\"\",empty key,1\n";
    let options = keyed(&source(folder.path(), "people.csv", csv), "name", &["city"]);
    let snapshot = opened(&options);
    assert_eq!(
        by_key(&snapshot, "alice").unwrap(),
        "Köln, Altstadt".as_bytes()
    );
    assert_eq!(by_key(&snapshot, "bob").unwrap(), b"two\nlines");
    assert_eq!(by_key(&snapshot, "").unwrap(), b"empty key");
    assert_eq!(by_key(&snapshot, "carol"), None);
    assert_eq!(snapshot.metadata.name, "people");
    assert_eq!(
        (
            snapshot.metadata.source.file.as_str(),
            snapshot.metadata.source.entries
        ),
        ("people.csv", 3)
    );
    assert_eq!(snapshot.metadata.keyword.as_ref().unwrap().entries, 3);
}

#[test]
fn csv_with_several_and_without_value_columns() {
    let folder = folder();
    let csv = "name,city,age\nalice,\"K \"\"x\"\"\",30\n";
    let path = source(folder.path(), "people.csv", csv);
    let snapshot = opened(&keyed(&path, "name", &["city", "age"]));
    assert_eq!(
        by_key(&snapshot, "alice").unwrap(),
        br#"{"city":"K \"x\"","age":"30"}"#
    );
    let snapshot = opened(&keyed(&path, "name", &[]));
    assert_eq!(by_key(&snapshot, "alice"), Some(vec![]));
    assert_eq!(by_key(&snapshot, "bob"), None);
}

#[test]
fn json_lines_keep_every_digit() {
    let folder = folder();
    let lines = concat!(
        r#"{"id": 7, "v": "a\u00e9\n", "w": [1, 2.50]}"#,
        "\n\n",
        r#"{"w": null, "id": "x", "v": 123456789012345678901234567890}"#,
        "\r\n",
        r#"{"id": 8, "v": { "a" : true }, "w": "last"}"#,
    );
    let path = source(folder.path(), "items.jsonl", lines);
    let snapshot = opened(&keyed(&path, "id", &["v"]));
    assert_eq!(by_key(&snapshot, "7").unwrap(), "aé\n".as_bytes());
    assert_eq!(
        by_key(&snapshot, "x").unwrap(),
        b"123456789012345678901234567890"
    );
    assert_eq!(by_key(&snapshot, "8").unwrap(), br#"{"a":true}"#);
    let snapshot = opened(&keyed(&path, "id", &["w", "v"]));
    assert_eq!(
        by_key(&snapshot, "7").unwrap(),
        r#"{"w":[1,2.50],"v":"a\u00e9\n"}"#.as_bytes()
    );
}

#[test]
fn rows_without_keys_are_records_of_one_length() {
    let folder = folder();
    let path = source(folder.path(), "words.csv", "word\none\nthree\nsix\n");
    let mut options = options(&path);
    options.values = vec!["word".to_owned()];
    let snapshot = opened(&options);
    assert_eq!(
        (by_index(&snapshot, 0), by_index(&snapshot, 1)),
        (b"one\0\0".to_vec(), b"three".to_vec())
    );
    assert!(snapshot.keyword.is_none());
    options.record_bytes = Some(8);
    assert_eq!(by_index(&opened(&options), 2), b"six\0\0\0\0\0");
    options.record_bytes = Some(4);
    std::fs::remove_file(&options.out).unwrap();
    let error = refusal(&options).to_string();
    assert!(
        error.ends_with("words.csv, line 3: the value has 5 bytes: expected at most 4"),
        "{error}"
    );
}

#[test]
fn raw_records_are_mapped() {
    let folder = folder();
    let bytes: Vec<u8> = (0..7 * 129u32).map(|i| (i * 37) as u8).collect();
    let path = source(folder.path(), "records.bin", &bytes);
    let mut options = options(&path);
    options.record_bytes = Some(129);
    let snapshot = opened(&options);
    for index in 0..7 {
        assert_eq!(
            by_index(&snapshot, index),
            bytes[index as usize * 129..][..129],
            "record {index}"
        );
    }
    options.record_bytes = Some(903);
    assert_eq!(by_index(&opened(&options), 0), bytes);
    std::fs::remove_file(&options.out).unwrap();
    options.record_bytes = Some(100);
    let error = refusal(&options);
    assert!(
        error
            .to_string()
            .ends_with("has 903 bytes: expected a multiple of the record length, 100")
    );
    options.record_bytes = Some(0);
    assert_eq!(refusal(&options).code(), "out_of_bounds");
    options.record_bytes = None;
    assert_eq!(refusal(&options).code(), "options");
}

#[test]
fn errors_name_file_and_line() {
    let folder = folder();
    let cases: &[(&str, &[u8], &str)] = &[
        (
            "a.csv",
            b"k,w\n1,2\n",
            "no column `v`: expected one of k, w",
        ),
        (
            "b.csv",
            b"k,v\n1,2\n3\n",
            "b.csv, line 3: 1 fields: expected 2, as in the header",
        ),
        (
            "c.csv",
            b"k,v\n1,2\n3,4\n1,5\n",
            "c.csv: line 4: the key `1` was already on line 2",
        ),
        ("d.csv", b"", "d.csv: the database is empty"),
        ("e.csv", b"k,v\n", "e.csv: the database is empty"),
        (
            "f.jsonl",
            b"{\"k\":1,\"v\":2}\n{\"k\":1}\n",
            "f.jsonl, line 2: no column `v`: expected one of k",
        ),
        (
            "g.jsonl",
            b"\n{\"k\":\"\xff\",\"v\":2}\n",
            "g.jsonl, line 2: not UTF-8 from byte 7 on",
        ),
        (
            "h.jsonl",
            b"{\"k\":1,\"v\":}\n",
            "h.jsonl, line 1: expected value in column 12: expected one JSON",
        ),
        (
            "i.jsonl",
            b"[1,2]\n",
            "i.jsonl, line 1: invalid type: sequence, expected a map in column",
        ),
        (
            "j.jsonl",
            b"{\"k\":1,\"v\":2} 3\n",
            "j.jsonl, line 1: trailing characters in column 15",
        ),
        (
            "k.jsonl",
            b"{\"k\":1,\"v\":\"\\ud800\"}\n",
            "k.jsonl, line 1: ",
        ),
        ("l.jsonl", b"", "l.jsonl: the database is empty"),
        (
            "m.ndjson",
            b"{\"k\":\"x\",\"v\":1}\n{\"v\":2,\"k\":\"x\"}",
            "line 2: the key `x` was already on line 1",
        ),
    ];
    for (name, bytes, expected) in cases {
        let error = refusal(&keyed(&source(folder.path(), name, bytes), "k", &["v"]));
        assert!(error.to_string().contains(expected), "{name}: {error}");
    }
    let long = format!("k,v\n1,2\n2,{}\n", "x".repeat(262_145));
    let error = refusal(&keyed(&source(folder.path(), "n.csv", long), "k", &["v"]));
    assert!(
        error
            .to_string()
            .ends_with("n.csv, line 3: the value has 262145 bytes: expected at most 262144")
    );
    let latin = source(folder.path(), "o.csv", b"k,v,w\n1,\xff,2\n");
    let error = refusal(&keyed(&latin, "k", &["v", "w"])).to_string();
    assert!(
        error.contains("o.csv, line 2: column `v` is not UTF-8"),
        "{error}"
    );
    assert_eq!(
        by_key(&opened(&keyed(&latin, "k", &["v"])), "1"),
        Some(vec![0xff])
    );
}

#[test]
fn duplicates_by_rule() {
    let folder = folder();
    let mut options = keyed(
        &source(folder.path(), "d.csv", "k,v\na,1\nb,2\na,3\n"),
        "k",
        &["v"],
    );
    for (rule, value) in [(OnDuplicate::First, b"1"), (OnDuplicate::Last, b"3")] {
        options.on_duplicate = rule;
        let snapshot = opened(&options);
        assert_eq!(by_key(&snapshot, "a").as_deref(), Some(&value[..]));
        assert_eq!(snapshot.metadata.keyword.unwrap().duplicates, 1);
    }
}

#[test]
fn unreadable_files_are_refused() {
    let folder = folder();
    let missing = folder.path().join("missing.csv");
    assert!(
        refusal(&keyed(&missing, "k", &[]))
            .to_string()
            .contains("missing.csv: No such file")
    );
    for name in ["folder.csv", "folder.jsonl", "folder.bin"] {
        let path = folder.path().join(name);
        std::fs::create_dir(&path).unwrap();
        let mut options = keyed(&path, "k", &[]);
        options.format = Some(Format::Csv);
        if name == "folder.jsonl" {
            options.format = Some(Format::JsonLines);
        }
        if name == "folder.bin" {
            options = common::options(&path);
            options.format = Some(Format::Raw);
            options.record_bytes = Some(1);
        }
        options.out = folder.path().join("out.pir");
        assert_eq!(refusal(&options).code(), "io", "{name}");
    }
    let empty = source(folder.path(), "empty.bin", b"");
    let mut options = options(&empty);
    options.record_bytes = Some(4);
    assert!(
        refusal(&options)
            .to_string()
            .ends_with("empty.bin: the database is empty: expected at least one record")
    );
}

#[test]
fn contradictory_options_are_refused() {
    let folder = folder();
    let csv = source(folder.path(), "a.csv", "k,v\n1,2\n");
    let mut with_length = keyed(&csv, "k", &["v"]);
    with_length.record_bytes = Some(4);
    let mut columns_of_raw = keyed(&csv, "k", &["v"]);
    columns_of_raw.format = Some(Format::Raw);
    for options in [options(&csv), with_length, columns_of_raw] {
        assert_eq!(refusal(&options).code(), "options");
    }
    let mut private = keyed(&csv, "k", &["v"]);
    private.allow_not_private = false;
    assert_eq!(refusal(&private).code(), "not_private");
    private.scheme = "nothing".to_owned();
    assert_eq!(refusal(&private).code(), "unknown_scheme");
    assert_eq!("xml".parse::<Format>().unwrap_err().code(), "malformed");
}

#[test]
fn a_byte_order_mark_is_no_part_of_the_first_key() {
    let folder = folder();
    for (name, text) in [
        ("a.csv", "\u{feff}\"k\",v\na,1\n"),
        ("b.jsonl", "\u{feff}{\"k\":\"a\",\"v\":1}\n"),
        ("c.jsonl", "\u{feff}\n{\"k\":\"a\",\"v\":1}\n"),
    ] {
        let options = keyed(&source(folder.path(), name, text), "k", &["v"]);
        assert_eq!(by_key(&opened(&options), "a").unwrap(), b"1", "{name}");
    }
}

#[test]
fn a_requested_column_that_is_there_twice_is_refused() {
    let folder = folder();
    for (name, text, expected) in [
        (
            "a.csv",
            "k,v,v\na,1,2\n",
            "a.csv: 2 columns `v`: expected one",
        ),
        (
            "b.jsonl",
            "{\"k\":\"a\",\"v\":1,\"v\":2}\n",
            "b.jsonl, line 1: several fields `v`: expected one",
        ),
        (
            "c.jsonl",
            "{\"k\":\"a\",\"v\":1}\n{\"k\":\"b\",\"k\":\"c\",\"v\":2}\n",
            "c.jsonl, line 2: several fields `k`: expected one",
        ),
    ] {
        let error = refusal(&keyed(&source(folder.path(), name, text), "k", &["v"]));
        assert!(error.to_string().ends_with(expected), "{name}: {error}");
    }

    // Other columns may be there twice.
    let path = source(folder.path(), "d.csv", "k,v,,\na,1,2,3\n");
    assert_eq!(
        by_key(&opened(&keyed(&path, "k", &["v"])), "a").unwrap(),
        b"1"
    );
    let path = source(
        folder.path(),
        "e.jsonl",
        "{\"k\":\"a\",\"v\":1,\"w\":2,\"w\":3}\n",
    );
    assert_eq!(
        by_key(&opened(&keyed(&path, "k", &["v"])), "a").unwrap(),
        b"1"
    );
}
