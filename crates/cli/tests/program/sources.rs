//! `papir build`: folders, SQLite databases, standard input, and skipped rows.

use std::fs;
use std::io::Write;
use std::process::{Output, Stdio};

use crate::support::{Folder, Service, fails_with, papir, program, succeeds};

const PLAIN: [&str; 3] = ["--scheme", "plain", "--insecure-plain"];
const KEYED: [&str; 4] = ["--key", "word", "--value", "meaning"];

/// Serves a prepared database and returns the output of `get`.
fn got(file: &str, get: &[&str]) -> Vec<u8> {
    let service = Service::start(&[file], &["--allow-not-private"]);
    let output = papir(&[&["get", &service.url, "--allow-not-private"], get].concat());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

/// Builds with the scheme `plain` from bytes on standard input.
fn piped(bytes: &[u8], out: &str, more: &[&str]) -> Output {
    let mut build = program()
        .args(["build", "-", "--out", out])
        .args(PLAIN)
        .args(more)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    // A build that rejects its options reads nothing.
    let _ = build.stdin.take().unwrap().write_all(bytes);
    build.wait_with_output().unwrap()
}

#[test]
fn standard_input_works_for_every_streaming_format() {
    let folder = Folder::new();
    let out = folder.path("out.papir");
    let build = |bytes: &[u8], more: &[&str]| {
        let output = piped(bytes, &out, more);
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    };
    build(
        b"word,meaning\na,1\nb,2\n",
        &[&KEYED[..], &["--format", "csv"]].concat(),
    );
    assert_eq!(got(&out, &["b"]), b"2");
    let described = succeeds(&["inspect", &out]);
    assert!(
        described.contains("standard input (csv, 21 B, 2 entries)"),
        "{described}"
    );
    build(
        b"{\"word\":\"a\",\"meaning\":[1, 2]}\n",
        &[&KEYED[..], &["--format", "jsonl"]].concat(),
    );
    assert_eq!(got(&out, &["a"]), b"[1,2]");
    build(b"abcdef", &["--format", "raw", "--record-bytes", "3"]);
    assert_eq!(got(&out, &["--index", "1"]), b"def");
}

#[test]
fn unusable_standard_input_is_refused() {
    let folder = Folder::new();
    let out = folder.path("out.papir");
    let refused = |bytes: &[u8], more: &[&str], expected: &str| {
        let output = piped(bytes, &out, more);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(
            (output.status.code(), stderr.lines().count()),
            (Some(2), 1),
            "{stderr}"
        );
        assert!(stderr.contains(expected), "{stderr}");
        assert_eq!(folder.names(), [""; 0]);
    };
    refused(b"word\n", &KEYED, "give --format");
    refused(b"", &["--record-bytes", "4"], "give --format");
    let csv = [&KEYED[..], &["--format", "csv"]].concat();
    refused(b"", &csv, "standard input: the database is empty");
    refused(
        b"word,meaning\na,1\nb\n",
        &csv,
        "standard input, line 3: 1 fields",
    );
    refused(
        b"abcde",
        &["--format", "raw", "--record-bytes", "3"],
        "standard input has 5 bytes: expected a multiple",
    );
    refused(
        b"",
        &[&KEYED[..], &["--format", "parquet"]].concat(),
        "parquet for standard input",
    );
}

/// The arguments of a build from these sources.
fn build_of<'a>(sources: &[&'a str], out: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [
        &["build"][..],
        sources,
        &["--out", out],
        &PLAIN,
        &KEYED,
        more,
    ]
    .concat()
}

#[test]
fn several_files_are_one_source() {
    let folder = Folder::new();
    let out = folder.path("out.papir");
    let first = folder.write("2.csv", "word,meaning\na,1\n");
    let second = folder.write("10.csv", "meaning,word\n2,b\n3\n4,d\n");
    let pattern = folder.path("*.csv");

    let short = "10.csv, line 3: 1 fields: expected 2";
    fails_with(&build_of(&[&first, &second], &out, &[]), &[short]);
    let named = [first.as_str(), second.as_str()];
    for sources in [&named[..], &[pattern.as_str()]] {
        let output = papir(&build_of(sources, &out, &["--skip-bad", "1"]));
        assert_eq!(output.status.code(), Some(0));
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert!(stderr.contains(short), "{stderr}");
        assert_eq!(stderr.matches(".csv").count(), 1, "{stderr}");
    }
    assert_eq!(got(&out, &["a"]), b"1");
    assert_eq!(got(&out, &["d"]), b"4");
    let described = succeeds(&["inspect", &out]);
    assert!(
        described.contains("10.csv and 1 more (csv, "),
        "{described}"
    );
}

#[test]
fn files_that_are_not_one_source_are_refused() {
    let folder = Folder::new();
    let out = folder.path("out.papir");
    let first = folder.write("a.csv", "word,meaning\na,1\n");
    let second = folder.write("b.csv", "word,meaning\nx,1\na,2\n");
    let refused = |sources: &[&str], parts: &[&str]| {
        fails_with(&build_of(sources, &out, &[]), parts);
    };

    let twice = "b.csv, line 3: the key `a` was already in ";
    refused(&[&first, &second], &[twice, "a.csv, line 2: expected"]);
    let objects = folder.write("c.jsonl", "{}\n");
    refused(&[&first, &objects], &["c.jsonl", "csv files"]);
    refused(&[&first, "-"], &["standard input", "csv files"]);
    refused(&[&folder.path("*.tsv")], &["no file matches"]);

    let into_input = build_of(&[&first, &second], &second, &["--force"]);
    fails_with(&into_input, &["b.csv", "which is an input, too"]);
}

#[test]
fn lists_pairs_and_hosts_are_sources() {
    let folder = Folder::new();
    let out = folder.path("out.papir");
    let build = |source: &str, more: &[&str]| {
        succeeds(&[&["build", source, "--out", &out], &PLAIN[..], more].concat());
    };

    let list = folder.write("blocked.txt", "# blocked\n\nads.example\n");
    build(&list, &[]);
    assert_eq!(got(&out, &["ads.example"]), b"");
    let described = succeeds(&["inspect", &out]);
    assert!(described.contains("blocked.txt (list, "), "{described}");

    let pairs = folder.write("hashes", "00ff:3\n01aa:12\n");
    build(&pairs, &["--format", "pairs"]);
    assert_eq!(got(&out, &["01aa"]), b"12");

    let arrows = folder.write("arrows", "a: b => c => d\n");
    build(&arrows, &["--format", "pairs", "--separator", " => "]);
    assert_eq!(got(&out, &["a: b"]), b"c => d");

    let hosts = folder.write("hosts", "127.0.0.1 localhost me # here\n");
    build(&hosts, &["--format", "hosts"]);
    assert_eq!(got(&out, &["me"]), b"127.0.0.1");
}

#[test]
fn keys_of_another_form_are_refused_by_line() {
    let folder = Folder::new();
    let out = folder.path("out.papir");
    let source = folder.write("hashes.txt", "00ff:3\n01AA:1\n01a:12");
    let refused = |more: &[&str], parts: &[&str]| {
        let build = ["build", &source, "--out", &out, "--format", "pairs"];
        fails_with(&[&build[..], &PLAIN, more].concat(), parts);
    };

    let truncated = "line 3: the key `01a` has 3 bytes: expected 4";
    refused(&["--key-length", "4"], &[truncated]);
    refused(&["--key-length", "5..9"], &["line 1", "expected 5 to 9"]);
    refused(&["--key-hex"], &["line 2: the key `01AA`", "another case"]);
    refused(&["--key-length", "9..5"], &["--key-length", "8..64"]);
    let other =
        "line 2: the key `01AA` has 4 bytes, and does not match as a whole: expected `[0-9a-f]{4}`";
    refused(&["--key-pattern", "[0-9a-f]{4}"], &[other]);
    refused(
        &["--key-pattern", "[0-9"],
        &["--key-pattern", "unclosed character class"],
    );

    let plan = ["plan", &source, "--format", "pairs", "--key-length", "4"];
    fails_with(&plan, &[truncated]);
    let plan = [
        "plan",
        &source,
        "--format",
        "pairs",
        "--key-pattern",
        "[0-9a-f]{4}",
    ];
    fails_with(&plan, &[other]);
    let records = ["plan", "--records", "9", "--record-bytes", "9"];
    let without_source = [&records[..], &["--key-hex"]].concat();
    fails_with(&without_source, &["the form", "give SOURCE"]);
}

#[test]
fn keys_that_do_not_match_count_among_the_skipped_rows() {
    let folder = Folder::new();
    let out = folder.path("out.papir");
    let source = folder.write(
        "phones",
        "+14155550100:spam\n555:short\n+4420:bank\nmixed:1\n",
    );
    let build = [
        &["build", &source, "--out", &out, "--format", "pairs"],
        &PLAIN[..],
        &["--key-pattern", r"\+[0-9]{4,}", "--skip-bad"],
    ]
    .concat();

    fails_with(
        &[&build[..], &["1"]].concat(),
        &["phones, line 4: the key `mixed`", "beyond the 1 bad rows"],
    );
    let output = papir(&[&build[..], &["2"]].concat());
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    assert!(
        stderr.contains("line 2: the key `555` has 3 bytes"),
        "{stderr}"
    );
    assert_eq!(got(&out, &["+4420"]), b"bank");
}

#[test]
fn a_name_that_says_nothing_leaves_the_format_to_the_content() {
    let folder = Folder::new();
    let out = folder.path("out.papir");
    let built = |text: &str, more: &[&str], format: &str| {
        let source = folder.write("data", text);
        succeeds(&[&["build", &source, "--out", &out], &PLAIN[..], more].concat());
        let described = succeeds(&["inspect", &out]);
        let expected = format!("data ({format}, ");
        assert!(described.contains(&expected), "{described}");
    };

    built("word,meaning\na,1\n", &KEYED, "csv");
    built("word\tmeaning\na\t1\n", &KEYED, "tsv");
    built("{\"word\":1,\"meaning\":2}\n", &KEYED, "jsonl");
    built("127.0.0.1 localhost\n", &[], "hosts");
    built("a:1\nb:2\n", &[], "pairs");
    built("a\nb\n", &[], "list");
    built("a,b\nc,d\n", &["--record-bytes", "4"], "raw");

    let source = folder.path("data");
    let plan = succeeds(&["plan", &source, "--record-bytes", "4"]);
    assert!(plan.contains("2 entries"), "{plan}");
    folder.write("data", "a:1\nb:2\nc:3\n");
    assert!(succeeds(&["plan", &source]).contains("3 entries"));
}

#[test]
fn options_that_lines_do_not_have_are_refused() {
    let folder = Folder::new();
    let source = folder.write("a.txt", "a:1\nb\n");
    let out = folder.path("out.papir");
    let refused = |more: &[&str], parts: &[&str]| {
        let build = ["build", &source, "--out", &out];
        fails_with(&[&build[..], &PLAIN, more].concat(), parts);
    };

    refused(&KEYED, &["--key and --value", "list"]);
    refused(&["--separator", ":"], &["separator", "list", "pairs"]);
    refused(&["--format", "pairs"], &["a.txt, line 2", "no `:`"]);
    refused(&["--format", "hosts"], &["a.txt, line 1", "`a:1`"]);
    let empty = ["--format", "pairs", "--separator", ""];
    refused(&empty, &["an empty separator"]);
}

#[test]
fn bad_rows_are_skipped_and_named() {
    let folder = Folder::new();
    let source = folder.write("a.csv", "word,meaning\na,1\nb\nc,3\nd,4,5\n");
    let out = folder.path("out.papir");
    let build = [
        &["build", &source, "--out", &out],
        &PLAIN[..],
        &KEYED,
        &["--skip-bad"],
    ]
    .concat();
    fails_with(
        &[&build[..], &["1"]].concat(),
        &[
            "a.csv, line 5: 3 fields: expected 2",
            "beyond the 1 bad rows",
        ],
    );
    let output = papir(&[&build[..], &["2"]].concat());
    assert_eq!(output.status.code(), Some(0));
    let stderr = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = stderr.lines().collect();
    assert_eq!(lines.len(), 2, "{stderr}");
    assert!(
        lines[0].starts_with("papir: skipped ") && lines[0].contains("a.csv, line 3: 1 fields"),
        "{stderr}"
    );
    assert!(lines[1].contains("a.csv, line 5: 3 fields"), "{stderr}");
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("2 bad rows of the source")
    );
    assert!(succeeds(&["inspect", &out]).contains("2 bad rows of the source"));
    assert_eq!(got(&out, &["c"]), b"3");
}

#[test]
fn a_folder_is_a_source() {
    let folder = Folder::new();
    fs::create_dir_all(folder.path("pages/en")).unwrap();
    let pages = folder.path("pages");
    let out = folder.path("out.papir");
    folder.write("pages/en/index.html", "<p>hello");
    succeeds(&[&["build", &pages, "--out", &out], &PLAIN[..]].concat());
    assert_eq!(got(&out, &["en/index.html"]), b"<p>hello");
    fails_with(
        &[&["build", &pages, "--out", &out], &PLAIN[..], &KEYED].concat(),
        &["--key and --value", "folder"],
    );
}

#[cfg(feature = "sqlite")]
#[test]
fn sqlite_tables_and_queries_are_sources() {
    let folder = Folder::new();
    let source = folder.path("shop.db");
    let out = folder.path("out.papir");
    let tables =
        "CREATE TABLE prices (word, meaning); INSERT INTO prices VALUES ('tea', 3), ('bread', 2.5);
        CREATE TABLE empty (word, meaning);";
    rusqlite::Connection::open(&source)
        .unwrap()
        .execute_batch(tables)
        .unwrap();
    let build = [&["build", &source, "--out", &out], &PLAIN[..], &KEYED].concat();
    fails_with(
        &build,
        &["shop.db: 2 tables: expected the name of one of empty, prices"],
    );
    fails_with(
        &[&build[..], &["--table", "none"]].concat(),
        &["no table `none`"],
    );
    fails_with(
        &[&build[..], &["--table", "empty"]].concat(),
        &["the database is empty"],
    );
    succeeds(&[&build[..], &["--table", "prices"]].concat());
    assert_eq!(got(&out, &["bread"]), b"2.5");
    let query = "SELECT word, meaning + 1 AS meaning FROM prices";
    succeeds(&[&build[..], &["--query", query]].concat());
    assert_eq!(got(&out, &["tea"]), b"4");
    let csv = folder.write("a.csv", "word,meaning\na,1\n");
    let build = [&["build", &csv, "--out", &out], &PLAIN[..], &KEYED].concat();
    fails_with(
        &[&build[..], &["--query", query]].concat(),
        &["--table and --query", "csv"],
    );
}

#[cfg(feature = "postgres")]
#[test]
fn a_query_of_postgresql_is_a_source() {
    let server = papir_testkit::postgres::Server::start("fsync = off");
    server.sql("papir", "CREATE TABLE words (word text, meaning text)");
    server.sql(
        "papir",
        "INSERT INTO words VALUES ('tea', '3'), ('bread', '2.5')",
    );
    let folder = Folder::new();
    let out = folder.path("out.papir");
    // The superuser needs no password.
    let address = server.address("papir").replace("papir@", "postgres@");
    let build = [&["build", &address, "--out", &out], &PLAIN[..], &KEYED].concat();

    fails_with(&build, &["a PostgreSQL server needs a query", "--query"]);
    fails_with(
        &[&build[..], &["--table", "words"]].concat(),
        &["a PostgreSQL server needs a query"],
    );
    let query = ["--query", "SELECT word, meaning FROM words"];
    succeeds(&[&build[..], &query].concat());
    assert_eq!(got(&out, &["bread"]), b"2.5");
    let described = succeeds(&["inspect", &out]);
    assert!(described.contains("papir (postgres, "), "{described}");

    let other = ["--query", "SELECT 1 AS word; SELECT 2"];
    fails_with(&[&build[..], &other].concat(), &["multiple commands"]);
    let delimiter = [&query[..], &["--delimiter", ";"]].concat();
    fails_with(
        &[&build[..], &delimiter].concat(),
        &["delimiter or header of a postgres source"],
    );
    let plan = [&["plan", &address][..], &KEYED, &query].concat();
    assert!(succeeds(&plan).contains("2 entries"));
    let proxied = [&build[..], &query, &["--proxy", "http://127.0.0.1:1"]].concat();
    let reached = papir(&proxied);
    assert_eq!(reached.status.code(), Some(0), "a socket has no proxy");
}

#[cfg(feature = "postgres")]
#[test]
fn a_server_behind_a_proxy_and_a_password_in_its_address_are_refused() {
    let folder = Folder::new();
    let out = folder.path("out.papir");
    let build = |address: &str, more: &[&str], parts: &[&str]| {
        let build = [
            "build",
            address,
            "--out",
            &out,
            "--query",
            "SELECT 1 AS word",
        ];
        let all = [&build[..], &PLAIN, &["--key", "word"], more].concat();
        let output = papir(&all);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(!stderr.contains("secret"), "{stderr}");
        assert!(parts.iter().all(|part| stderr.contains(part)), "{stderr}");
    };

    let proxy = ["--proxy", "http://127.0.0.1:1"];
    build(
        "postgres://papir@db.invalid/shop",
        &proxy,
        &["go through no proxy", "--proxy none"],
    );
    let address = "postgres://papir:secret@127.0.0.1:1/shop";
    build(
        address,
        &[],
        &["its address contains a password", "PGPASSWORD"],
    );
}
