//! Lists, pairs and hosts files, from file to lookup.

use crate::common::{by_key, folder, options, refusal, run, source};
use papir_lookup::OnDuplicate;
use papir_store::{BuildOptions, Format, Snapshot};

fn opened(options: &BuildOptions) -> Snapshot {
    run(options).unwrap();
    Snapshot::open(&options.out).unwrap()
}

#[test]
fn a_list_is_a_set_of_keys() {
    let folder = folder();
    let text = "\u{feff}# blocked\r\n\r\nads.example\r\n  tracker.example \r\n#a\r\nKöln";
    let snapshot = opened(&options(&source(folder.path(), "blocked.txt", text)));
    for key in ["ads.example", "tracker.example", "Köln"] {
        assert_eq!(by_key(&snapshot, key), Some(vec![]), "{key}");
    }
    for absent in ["", "#a", "# blocked", "a"] {
        assert_eq!(by_key(&snapshot, absent), None, "{absent}");
    }

    let summary = &snapshot.metadata.source;
    assert_eq!((summary.format.as_str(), summary.entries), ("list", 3));
}

#[test]
fn a_text_of_records_is_no_list() {
    let folder = folder();
    let mut options = options(&source(folder.path(), "a.txt", "abcdef"));
    options.record_bytes = Some(3);
    assert_eq!(opened(&options).metadata.source.format, "raw");
}

#[cfg(feature = "zstd")]
#[test]
fn damaged_and_compressed_text_is_read_or_refused() {
    use crate::common::zstd_frame;

    let folder = folder();
    let packed = zstd_frame("a\nb\n");
    let path = source(folder.path(), "a.txt.zst", &packed);
    assert_eq!(by_key(&opened(&options(&path)), "b"), Some(vec![]));

    for damaged in [&packed[..packed.len() - 1], &packed[..5]] {
        let path = source(folder.path(), "b.txt.zst", damaged);
        let error = refusal(&options(&path));
        assert_eq!(error.code(), "io", "{error}");
        assert!(error.to_string().contains("b.txt.zst"), "{error}");
    }
}

#[test]
fn errors_of_lines_name_them() {
    let folder = folder();
    for (name, format, text, expected) in [
        (
            "a",
            Format::Pairs,
            &b"a:1\r\n\r\nb\r\n"[..],
            "a, line 3: no `:`: expected a key and a value around it",
        ),
        (
            "b",
            Format::Pairs,
            b"a:1\rb:2\ra:3",
            "b: line 3: the key `a` was already on line 1",
        ),
        (
            "c",
            Format::Hosts,
            b"0.0.0.0 a\n# b\nads.example\n",
            "c, line 3: `ads.example` is no address",
        ),
        (
            "d",
            Format::List,
            b"a\nK\xf6ln\n",
            "d, line 2: the key is not UTF-8 from byte 2 on, perhaps Latin-1",
        ),
        (
            "e",
            Format::Hosts,
            b"\xff\xfe0\0",
            "e, line 1: UTF-16: expected UTF-8",
        ),
        ("f", Format::List, b"#\n\n", "f: the database is empty"),
    ] {
        let mut options = options(&source(folder.path(), name, text));
        options.format = Some(format);
        let error = refusal(&options).to_string();
        assert!(error.contains(expected), "{name}: {error}");
    }
}

#[test]
fn keys_of_another_form_are_named_by_line() {
    let folder = folder();
    let text = "00ff:1\n01a:2\n0Zff:3\n01FF:4\n";
    let mut options = options(&source(folder.path(), "a", text));
    options.format = Some(Format::Pairs);
    options.keys.bytes = Some(4..=4);
    let error = refusal(&options).to_string();
    let expected = "a, line 2: the key `01a` has 3 bytes: expected 4";
    assert!(error.ends_with(expected), "{error}");

    options.keys.hex = true;
    options.skip_bad = 3;
    let places = run(&options).unwrap().skipped;
    let places: Vec<_> = places.into_iter().map(|row| row.place).collect();
    assert_eq!(places, ["line 2", "line 3", "line 4"]);
}

#[test]
fn a_form_of_keys_needs_keys() {
    let folder = folder();
    let mut options = options(&source(folder.path(), "a.csv", "v\n1\n"));
    options.values = vec!["v".to_owned()];
    options.keys.hex = true;
    assert_eq!(refusal(&options).code(), "options");
}

#[test]
fn options_that_lines_do_not_have_are_refused() {
    let folder = folder();
    let path = source(folder.path(), "a.txt", "a:1\n");
    let list = options(&path);
    let mut key = list.clone();
    key.key = Some("k".to_owned());
    let mut header = list.clone();
    header.text.no_header = true;
    let mut separator = list.clone();
    separator.text.separator = Some(b":".to_vec());
    let mut empty = list;
    empty.format = Some(Format::Pairs);
    empty.text.separator = Some(vec![]);

    for options in [key, header, separator, empty] {
        assert_eq!(refusal(&options).code(), "options");
    }
}

#[test]
fn a_name_with_two_addresses_is_a_duplicate() {
    let folder = folder();
    let text = "127.0.0.1 localhost me\n::1 localhost\n";
    let mut options = options(&source(folder.path(), "a", text));
    options.format = Some(Format::Hosts);
    let error = refusal(&options).to_string();
    let expected = "line 2: the key `localhost` was already on line 1";
    assert!(error.contains(expected), "{error}");

    options.on_duplicate = OnDuplicate::First;
    let snapshot = opened(&options);
    assert_eq!(by_key(&snapshot, "localhost").unwrap(), b"127.0.0.1");
    assert_eq!(by_key(&snapshot, "me").unwrap(), b"127.0.0.1");
}
