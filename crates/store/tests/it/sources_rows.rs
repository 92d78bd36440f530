//! Folders of files, and skipping of bad rows.

use std::fs;

use crate::common::{self, by_key, folder, keyed, options, refusal, run, source};
use papir_store::{BuildOptions, Format, Metadata, Snapshot};

fn opened(options: &BuildOptions) -> Snapshot {
    run(options).unwrap();
    Snapshot::open(&options.out).unwrap()
}

/// The positions of the rows that a build skips, or its error.
fn skipped(options: &BuildOptions, skip_bad: u64) -> Result<Vec<String>, String> {
    let options = BuildOptions {
        skip_bad,
        ..options.clone()
    };
    let report = run(&options).map_err(|error| error.to_string())?;
    assert_eq!(report.metadata.source.skipped, report.skipped.len() as u64);
    Ok(report.skipped.into_iter().map(|row| row.place).collect())
}

#[cfg(unix)]
#[test]
fn a_folder_of_files() {
    let (folder, outside) = (folder(), folder());
    let pages = folder.path().join("pages.csv");
    fs::create_dir_all(pages.join("a/b")).unwrap();
    fs::create_dir(pages.join("nothing")).unwrap();
    for (name, content) in [
        ("a/b/c.txt", "deep"),
        ("a-b", "before a/"),
        ("é", "accent"),
        ("empty", ""),
        (".x", "dot"),
    ] {
        source(&pages, name, content);
    }
    source(outside.path(), "secret", "outside");
    std::os::unix::fs::symlink(outside.path().join("secret"), pages.join("link")).unwrap();
    std::os::unix::fs::symlink(outside.path(), pages.join("links")).unwrap();
    let mut options = options(&pages);
    options.out = folder.path().join("pages.pir");
    let snapshot = opened(&options);
    for (key, value) in [
        ("a/b/c.txt", "deep"),
        ("a-b", "before a/"),
        ("é", "accent"),
        ("empty", ""),
        (".x", "dot"),
    ] {
        assert_eq!(by_key(&snapshot, key).unwrap(), value.as_bytes(), "{key}");
    }
    for absent in ["link", "links/secret", "nothing", "a", "a/b", "/a-b"] {
        assert_eq!(by_key(&snapshot, absent), None, "{absent}");
    }
    let summary = &snapshot.metadata.source;
    assert_eq!(
        (summary.file.as_str(), summary.format.as_str()),
        ("pages.csv", "folder")
    );
    assert_eq!((summary.entries, summary.bytes), (5, 4 + 9 + 6 + 3));

    options.key = Some("path".to_owned());
    fs::remove_file(&options.out).unwrap();
    assert_eq!(refusal(&options).code(), "options");
    options.key = None;
    options.record_bytes = Some(4);
    assert_eq!(refusal(&options).code(), "options");
}

#[cfg(unix)]
#[test]
fn invalid_files_of_a_folder_are_refused_or_skipped() {
    let folder = papir_testkit::sockets::folder();
    let pages = folder.path().join("pages");
    fs::create_dir(&pages).unwrap();
    let mut options = options(&pages);
    options.out = folder.path().join("out.pir");
    assert!(
        refusal(&options)
            .to_string()
            .ends_with("pages: the database is empty: expected at least one record")
    );
    source(&pages, "most", vec![7; 262_144]);
    run(&options).unwrap();
    fs::remove_file(&options.out).unwrap();
    source(&pages, "long", vec![7; 262_145]);
    let error = refusal(&options).to_string();
    assert!(
        error.ends_with("pages/long: the file has 262145 bytes: expected at most 262144"),
        "{error}"
    );
    let socket = std::os::unix::net::UnixListener::bind(pages.join("socket")).unwrap();
    assert_eq!(skipped(&options, 2).unwrap(), ["long", "socket"]);
    let error = skipped(&options, 1).unwrap_err();
    assert!(
        error.contains("pages/socket: neither a file nor a folder: expected a file"),
        "{error}"
    );
    drop(socket);
    options.format = Some(Format::Folder);
    options.source = pages.join("most");
    assert_eq!(run(&options).unwrap_err().code(), "io");
}

#[test]
fn bad_rows_of_csv() {
    let folder = folder();
    let long = "x".repeat(262_145);
    let csv = [
        &b"k,v,w\na,1,2\nb,1\n\"c\nd\",1,2,3\ne,\xff,1\nf,"[..],
        long.as_bytes(),
        b",1\ng,3,4\n",
    ]
    .concat();
    let options = keyed(&source(folder.path(), "a.csv", csv), "k", &["v", "w"]);
    // The quoted line break makes a row of two lines.
    assert_eq!(
        skipped(&options, 4).unwrap(),
        ["line 3", "line 4", "line 6", "line 7"]
    );
    let snapshot = Snapshot::open(&options.out).unwrap();
    assert_eq!(by_key(&snapshot, "a").unwrap(), br#"{"v":"1","w":"2"}"#);
    assert_eq!(by_key(&snapshot, "g").unwrap(), br#"{"v":"3","w":"4"}"#);
    assert_eq!(
        (by_key(&snapshot, "b"), by_key(&snapshot, "f")),
        (None, None)
    );
    assert_eq!(
        (
            snapshot.metadata.source.entries,
            snapshot.metadata.source.skipped
        ),
        (2, 4)
    );
    let error = skipped(&options, 3).unwrap_err();
    let expected =
        "a.csv, line 7: the value has 262161 bytes: expected at most 262144 (beyond the 3 bad rows";
    assert!(error.contains(expected), "{error}");
    let error = skipped(&options, 0).unwrap_err();
    assert!(
        error.ends_with("a.csv, line 3: 2 fields: expected 3, as in the header"),
        "{error}"
    );
}

#[test]
fn a_stray_quote_costs_its_own_row_only() {
    let folder = folder();
    let mut rows = "rank,word\n".to_owned();
    for rank in 1..=3000 {
        let quote = if [700, 2200].contains(&rank) {
            "\""
        } else {
            ""
        };
        rows += &format!("{rank},{quote}word {rank}\n");
    }
    let options = keyed(&source(folder.path(), "a.csv", rows), "rank", &["word"]);
    let error = skipped(&options, 0).unwrap_err();
    assert!(
        error.contains("a.csv, line 701: text after the closing quote"),
        "{error}"
    );
    assert_eq!(skipped(&options, 2).unwrap(), ["line 701", "line 2201"]);

    let snapshot = Snapshot::open(&options.out).unwrap();
    assert_eq!(snapshot.metadata.source.entries, 2998);
    for rank in ["699", "701", "1500", "2201", "3000"] {
        let value = format!("word {rank}").into_bytes();
        assert_eq!(by_key(&snapshot, rank), Some(value), "{rank}");
    }
    assert_eq!(
        (by_key(&snapshot, "700"), by_key(&snapshot, "2200")),
        (None, None)
    );

    for (rows, fault) in [
        (
            "k,v\na,1\nb,\"2\nc,3\n",
            "line 3: a quote opens a field and is not closed",
        ),
        (
            "k,v\na,1\n\"b\"x,2\n",
            "line 3: text after the closing quote",
        ),
        (
            "k,v\na,1\nb,\"A \"B\" C\"\n",
            "line 3: text after the closing quote",
        ),
        (
            "k,v\na,1\nb,\"half of a val",
            "line 3: a quote opens a field and is not closed",
        ),
        (
            "k,\"v\na,1\n",
            "line 1: a quote opens a field and is not closed",
        ),
    ] {
        let options = keyed(&source(folder.path(), "b.csv", rows), "k", &["v"]);
        let error = skipped(&options, 0).unwrap_err();
        assert!(error.contains(fault), "{rows:?}: {error}");
    }
}

#[test]
fn lines_are_counted_in_every_line_ending() {
    let folder = folder();
    for end in ["\n", "\r\n", "\r"] {
        let rows = ["k,v", "a,1", "", "b,\"two", "lines\"", "c", "d,4"].join(end);
        let options = keyed(&source(folder.path(), "a.csv", rows), "k", &["v"]);
        assert_eq!(skipped(&options, 1).unwrap(), ["line 6"], "{end:?}");
        let snapshot = Snapshot::open(&options.out).unwrap();
        let two = format!("two{end}lines").into_bytes();
        assert_eq!(by_key(&snapshot, "b"), Some(two));
        assert_eq!(by_key(&snapshot, "d").unwrap(), b"4");
    }
}

#[test]
fn fields_may_have_another_delimiter_and_no_header() {
    let folder = folder();
    let rows = "k\tv\r\na\tx,y\r\n\"b\t\"\t2\r\n";
    let tab = source(folder.path(), "a.tsv", rows);
    let snapshot = opened(&keyed(&tab, "k", &["v"]));
    assert_eq!(by_key(&snapshot, "a").unwrap(), b"x,y");
    assert_eq!(by_key(&snapshot, "b\t").unwrap(), b"2");
    assert_eq!(snapshot.metadata.source.format, "tsv");

    let rows = "\u{feff}a;1;x\n\nb;2;y\nc;3\n";
    let path = source(folder.path(), "b.csv", rows);
    let mut options = keyed(&path, "1", &["3", "2"]);
    options.text.delimiter = Some(b';');
    options.text.no_header = true;
    let error = skipped(&options, 0).unwrap_err();
    let expected = "b.csv, line 4: 2 fields: expected 3, as in the first row";
    assert!(error.ends_with(expected), "{error}");
    assert_eq!(skipped(&options, 1).unwrap(), ["line 4"]);

    let snapshot = Snapshot::open(&options.out).unwrap();
    assert_eq!(by_key(&snapshot, "a").unwrap(), br#"{"3":"x","2":"1"}"#);
    assert_eq!(by_key(&snapshot, "b").unwrap(), br#"{"3":"y","2":"2"}"#);
    assert_eq!(snapshot.metadata.source.key.as_deref(), Some("1"));

    options.values = vec!["4".to_owned()];
    let error = skipped(&options, 0).unwrap_err();
    let expected = "no column `4`: expected one of 1, 2, 3";
    assert!(error.contains(expected), "{error}");
}

#[test]
fn a_form_that_the_format_does_not_have_is_refused() {
    let folder = folder();
    let objects = source(folder.path(), "a.jsonl", "{\"k\":1}\n");
    let mut options = keyed(&objects, "k", &[]);
    options.text.no_header = true;
    assert_eq!(refusal(&options).code(), "options");

    let rows = source(folder.path(), "a.csv", "k,v\n");
    for delimiter in *b"\"\r\n" {
        let mut options = keyed(&rows, "k", &[]);
        options.text.delimiter = Some(delimiter);
        assert_eq!(refusal(&options).code(), "options", "{delimiter}");
    }
}

/// A text in UTF-16, with this order of bytes.
fn utf_16(text: &str, bytes_of: fn(u16) -> [u8; 2]) -> Vec<u8> {
    text.encode_utf16().flat_map(bytes_of).collect()
}

#[test]
fn text_in_another_encoding_is_named_with_its_line() {
    let folder = folder();
    let rows = "k,v\na,1\n";
    let objects = "{\"k\":\"a\",\"v\":1}\n";
    let marked = |text: &str| format!("\u{feff}{text}");
    for (name, bytes, expected) in [
        (
            "a.csv",
            utf_16(&marked(rows), u16::to_le_bytes),
            "a.csv, line 1: the header is UTF-16: expected UTF-8",
        ),
        (
            "b.csv",
            utf_16(&marked(rows), u16::to_be_bytes),
            "b.csv, line 1: the header is UTF-16: expected UTF-8",
        ),
        (
            "c.csv",
            utf_16(rows, u16::to_le_bytes),
            "c.csv, line 1: the header is text with NUL bytes, perhaps UTF-16",
        ),
        (
            "d.csv",
            utf_16("\"k\",v\r\n", u16::to_le_bytes),
            "d.csv, line 1: a quote beside NUL bytes, perhaps UTF-16",
        ),
        (
            "e.csv",
            b"k,gr\xf6\xdfe\na,1\n".to_vec(),
            "e.csv, line 1: the header is not UTF-8 from byte 3 on, perhaps Latin-1",
        ),
        (
            "f.csv",
            b"k,v\r\na,1\r\nK\xf6ln,2\r\n".to_vec(),
            "f.csv, line 3: the key is not UTF-8 from byte 2 on, perhaps Latin-1: expected UTF-8",
        ),
        (
            "g.jsonl",
            utf_16(&marked(objects), u16::to_le_bytes),
            "g.jsonl, line 1: UTF-16: expected JSON text in UTF-8",
        ),
        (
            "h.jsonl",
            utf_16(objects, u16::to_be_bytes),
            "h.jsonl, line 1: text with NUL bytes, perhaps UTF-16: expected JSON text",
        ),
        (
            "i.jsonl",
            b"{\"k\":1,\"v\":1}\n{\"k\":\"\xf6\",\"v\":1}\n".to_vec(),
            "i.jsonl, line 2: not UTF-8 from byte 7 on, perhaps Latin-1: expected JSON text",
        ),
    ] {
        let options = keyed(&source(folder.path(), name, bytes), "k", &["v"]);
        let error = skipped(&options, 0).unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn keys_of_any_bytes_are_kept_if_they_are_allowed() {
    let folder = folder();
    let latin = source(folder.path(), "a.csv", b"k,v\na,1\nK\xf6ln,2\n");
    let mut options = keyed(&latin, "k", &["v"]);
    assert_eq!(skipped(&options, 1).unwrap(), ["line 3"]);

    options.keys.binary = true;
    let snapshot = opened(&options);
    assert_eq!(by_key(&snapshot, b"K\xf6ln").unwrap(), b"2");
    assert_eq!(by_key(&snapshot, "Köln"), None);
}

#[test]
fn every_row_of_a_list_is_read_or_named() {
    let folder = folder();
    let read = |text: &str| {
        let path = source(folder.path(), "keys.csv", text);
        let mut rows = Vec::new();
        let read = papir_store::each_csv_row(&path, |line, row| {
            let fields: Vec<_> = row.iter().map(|field| field.to_vec()).collect();
            rows.push((line, fields.join(&b'|')));
            Ok(())
        });
        read.map(|()| rows).map_err(|error| error.to_string())
    };

    let rows = read("\u{feff}k,v\r\na,1\r\n\r\n\"b\"\"\",2").unwrap();
    assert_eq!(rows, [(2, b"a|1".to_vec()), (4, b"b\"|2".to_vec())]);
    assert!(read("k,v\na\n").unwrap_err().contains("line 2: 1 fields"));
    assert!(
        read("k,v\na,\"1\n")
            .unwrap_err()
            .contains("line 2: a quote")
    );
    assert_eq!(read("").unwrap(), []);
}

#[test]
fn bad_rows_of_json_lines() {
    let folder = folder();
    let lines = [
        &b"{\"k\":1,\"v\":2}\n{\"k\":\n\n{\"k\":2}\n{\"k\":\"\xff\",\"v\":1}\n{\"k\":3,\"v\":\""[..],
        &vec![b' '; 16 << 20],
        b"\"}\n{\"k\":4,\"v\":5}\n[]",
    ]
    .concat();
    let options = keyed(&source(folder.path(), "a.jsonl", lines), "k", &["v"]);
    assert_eq!(
        skipped(&options, 5).unwrap(),
        ["line 2", "line 4", "line 5", "line 6", "line 8"]
    );
    let snapshot = Snapshot::open(&options.out).unwrap();
    assert_eq!(
        (
            by_key(&snapshot, "1").unwrap(),
            by_key(&snapshot, "4").unwrap()
        ),
        (b"2".to_vec(), b"5".to_vec())
    );
    assert_eq!(by_key(&snapshot, "3"), None);
    let error = skipped(&options, 1).unwrap_err();
    assert!(
        error.contains("a.jsonl, line 4: no column `v`: expected one of k (beyond the 1 bad"),
        "{error}"
    );
}

#[test]
fn duplicates_and_faults_of_the_whole_source_are_not_skipped() {
    let folder = folder();
    for (name, bytes, expected) in [
        (
            "a.csv",
            "k,v\na,1\na,2\n",
            "line 3: the key `a` was already on line 2",
        ),
        ("b.csv", "k,w\na,1\n", "no column `v`"),
        ("c.csv", "k,v\na\nb\n", "the database is empty"),
    ] {
        let options = keyed(&source(folder.path(), name, bytes), "k", &["v"]);
        let error = skipped(&options, 9).unwrap_err();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn values_longer_than_the_record_are_skipped() {
    let folder = folder();
    let mut options = options(&source(folder.path(), "a.csv", "v\none\nthree\nsix\n"));
    options.values = vec!["v".to_owned()];
    options.record_bytes = Some(4);
    assert_eq!(skipped(&options, 1).unwrap(), ["line 3"]);
    let snapshot = Snapshot::open(&options.out).unwrap();
    assert_eq!(common::by_index(&snapshot, 1), b"six\0");
}

#[test]
fn standard_input_needs_a_streaming_format() {
    let folder = folder();
    let mut options = keyed("-".as_ref(), "k", &["v"]);
    options.out = folder.path().join("out.pir");
    for format in [None, Some(Format::Parquet), Some(Format::Sqlite)] {
        options.format = format;
        let error = refusal(&options).to_string();
        let expected = "standard input: expected csv, tsv, jsonl, list, pairs, hosts, arrow or raw";
        assert!(error.ends_with(expected), "{error}");
    }
}

#[test]
fn metadata_without_a_count_of_skipped_rows_is_read() {
    let folder = folder();
    let options = keyed(&source(folder.path(), "a.csv", "k,v\na,1\n"), "k", &["v"]);
    let metadata = opened(&options).metadata;
    let mut json = serde_json::to_value(&metadata).unwrap();
    json["source"]
        .as_object_mut()
        .unwrap()
        .remove("skipped")
        .unwrap();
    assert_eq!(serde_json::from_value::<Metadata>(json).unwrap(), metadata);
}
