//! `papir build`: sources, options and failures.

use std::io::Write;
use std::process::Stdio;

use flate2::Compression;
use flate2::write::GzEncoder;

use crate::support::{Folder, Service, at_home, fails_with, papir, program, succeeds};

const PLAIN: [&str; 3] = ["--scheme", "plain", "--insecure-plain"];
const KEYED: [&str; 4] = ["--key", "word", "--value", "meaning"];

/// Writes `source` to a file `name` and builds it with the scheme `plain`. Expects a one-line error
/// that contains `parts`.
fn refused(name: &str, source: impl AsRef<[u8]>, more: &[&str], parts: &[&str]) {
    let folder = Folder::new();
    let source = folder.write(name, source);
    let out = folder.path("out.papir");
    let mut arguments = vec!["build", &source, "--out", &out];
    arguments.extend(PLAIN);
    arguments.extend(more);
    fails_with(&arguments, parts);
    assert_eq!(folder.names(), [name], "a failed build left files behind");
}

/// Builds `source` with the scheme `plain`, serves it and returns the output of `get`.
fn built(name: &str, source: impl AsRef<[u8]>, more: &[&str], get: &[&str]) -> Vec<u8> {
    let folder = Folder::new();
    let source = folder.write(name, source);
    let out = folder.path("out.papir");
    let mut arguments = vec!["build", &source, "--out", &out];
    arguments.extend(PLAIN);
    arguments.extend(more);
    succeeds(&arguments);
    let service = Service::start(&[&out], &["--allow-not-private"]);
    let output = papir(&[&["get", &service.url, "--allow-not-private"], get].concat());
    assert_eq!(
        output.status.code(),
        Some(0),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    output.stdout
}

#[test]
fn an_output_that_is_an_input_is_refused() {
    let folder = Folder::new();
    let source = folder.write("a.csv", "word,meaning\na,1\n");
    let key = folder.path("words.key");
    let mut arguments = vec!["build", &source, "--out", &key, "--encrypt", &key];
    arguments.extend(KEYED);
    fails_with(&arguments, &["words.key", "which is an input, too"]);
    assert_eq!(folder.names(), ["a.csv"], "no key was created");

    let mut arguments = vec!["build", &source, "--out", &source, "--force"];
    arguments.extend(KEYED);
    arguments.extend(PLAIN);
    fails_with(&arguments, &["a.csv", "which is an input, too"]);

    let notes = folder.write("notes.txt", "precious");
    let mut arguments = vec!["build", &source, "--out", &notes];
    arguments.extend(KEYED);
    arguments.extend(PLAIN);
    fails_with(&arguments, &["papir did not write it", "--force"]);
    arguments.push("--force");
    succeeds(&arguments);
}

#[test]
fn records_are_placed_rows_first_where_a_scheme_can() {
    let folder = Folder::new();
    let source = folder.write("a.bin", "aaabbbcccdddeee");
    let out = folder.path("a.papir");
    let raw = ["--format", "raw", "--record-bytes", "3", "--rows-first"];
    let mut arguments = vec!["build", &source, "--out", &out];
    arguments.extend(raw);
    fails_with(&arguments, &["inspire", "rows first"]);

    arguments.extend(["--scheme", "simple"]);
    succeeds(&arguments);
    let shown = succeeds(&["inspect", &out]);
    assert!(shown.contains("rows first"), "{shown}");

    arguments.push("--batch");
    arguments.push("4");
    fails_with(&arguments, &["--rows-first", "--batch"]);
}

#[test]
fn empty_and_oversized_sources_are_refused() {
    refused("a.csv", "", &KEYED, &["a.csv"]);
    refused(
        "a.csv",
        "word,meaning\n",
        &KEYED,
        &["the database is empty"],
    );
    refused("a.jsonl", "", &KEYED, &["the database is empty"]);
    refused(
        "a.bin",
        "",
        &["--format", "raw", "--record-bytes", "4"],
        &["the database is empty"],
    );
    let long = format!("word,meaning\nshort,1\nlong,{}\n", "x".repeat(262_145));
    refused("a.csv", long, &KEYED, &["line 3", "262145", "262144"]);
    refused(
        "a.bin",
        [7; 10],
        &["--format", "raw", "--record-bytes", "4"],
        &["10", "4"],
    );
    refused("a.bin", [7; 10], &["--format", "raw"], &["--record-bytes"]);
    refused(
        "a.bin",
        [7; 10],
        &["--format", "raw", "--record-bytes", "0"],
        &["record"],
    );
    refused(
        "a.bin",
        [7; 10],
        &["--format", "raw", "--record-bytes", "5", "--key", "word"],
        &["--key"],
    );
    let buckets = [
        "--format",
        "raw",
        "--record-bytes",
        "5",
        "--bucket-bytes",
        "64",
    ];
    refused("a.bin", [7; 10], &buckets, &["bucket length", "key column"]);
}

#[test]
fn malformed_sources_are_refused_with_the_line() {
    refused("a.csv", "term,meaning\na,1\n", &KEYED, &["`word`"]);
    refused("a.csv", "word,sense\na,1\n", &KEYED, &["`meaning`"]);
    refused("a.csv", "word,meaning\na,1\nb\n", &KEYED, &["line 3"]);
    refused(
        "a.jsonl",
        "{\"word\":\"a\",\"meaning\":\"1\"}\n{\"word\":\n",
        &KEYED,
        &["line 2"],
    );
    refused(
        "a.jsonl",
        "{\"word\":\"a\"}\n",
        &KEYED,
        &["`meaning`", "line 1"],
    );
    refused(
        "a.jsonl",
        b"{\"word\":\"a\",\"meaning\":\"\xff\"}\n",
        &KEYED,
        &["line 1", "UTF-8"],
    );
    refused("a.jsonl", "[1,2]\n", &KEYED, &["line 1"]);
}

#[test]
fn keys_in_another_encoding_need_an_option() {
    let latin = b"word,meaning\na,1\nK\xf6ln,2\n";
    refused("a.csv", latin, &KEYED, &["line 3", "Latin-1", "UTF-8"]);
    let binary = [&KEYED[..], &["--binary-keys"]].concat();
    assert_eq!(built("a.csv", latin, &binary, &["a"]), b"1");
}

#[test]
fn duplicate_keys_are_refused_by_default() {
    let source = "word,meaning\na,1\nb,2\na,3\n";
    refused("a.csv", source, &KEYED, &["`a`", "line 2", "line 4"]);
    let which = |rule| {
        built(
            "a.csv",
            source,
            &[&KEYED[..], &["--on-duplicate", rule]].concat(),
            &["a"],
        )
    };
    assert_eq!(
        (which("first"), which("last")),
        (b"1".to_vec(), b"3".to_vec())
    );
}

#[test]
fn invalid_schemes_and_files_are_refused() {
    let folder = Folder::new();
    let source = folder.write("a.csv", "word,meaning\na,1\n");
    let out = folder.path("out.papir");
    let build = |source: &str, out: &str, more: &[&str], parts: &[&str]| {
        fails_with(
            &[&["build", source, "--out", out], &KEYED[..], more].concat(),
            parts,
        );
    };
    build(
        &source,
        &out,
        &["--scheme", "nonsense"],
        &["nonsense", "plain"],
    );
    build(
        &source,
        &out,
        &["--scheme", "plain"],
        &["plain", "--insecure-plain"],
    );
    build(&folder.path("missing.csv"), &out, &PLAIN, &["missing.csv"]);
    build(
        &folder.path(""),
        &out,
        &[&PLAIN[..], &["--format", "csv"]].concat(),
        &["directory"],
    );
    build(
        &source,
        &folder.path("nowhere/out.papir"),
        &PLAIN,
        &["nowhere/.out.papir"],
    );
    let unnamed = folder.write("a.data", "\u{1}\n\u{2}\n");
    build(&unnamed, &out, &PLAIN, &["a.data", "--format"]);
    let mut names = folder.names();
    names.sort();
    assert_eq!(names, ["a.csv", "a.data"]);
}

#[test]
fn all_formats_are_read() {
    let csv = "word,kind,meaning\n\"a,b\",noun,\"one\ntwo\"\nc,verb,\n";
    assert_eq!(built("a.csv", csv, &KEYED, &["a,b"]), b"one\ntwo");
    assert_eq!(built("a.csv", csv, &KEYED, &["c"]), b"");
    let jsonl = "{\"word\":\"\u{e9}\",\"meaning\":\"x\"}\n{\"word\":\"b\",\"meaning\":\"y\"}\n";
    assert_eq!(built("a.jsonl", jsonl, &KEYED, &["\u{e9}"]), b"x");
    let renamed = [&KEYED[..], &["--format", "csv"]].concat();
    assert_eq!(
        built("a.txt", "word,meaning\nd,4\n", &renamed, &["d"]),
        b"4"
    );
    let raw = ["--format", "raw", "--record-bytes", "3"];
    assert_eq!(
        built("a.bin", b"abcdefghi", &raw, &["--index", "2"]),
        b"ghi"
    );
    assert_eq!(built("a.bin", b"abc", &raw, &["--index", "0"]), b"abc");
}

#[test]
fn delimiters_and_numbered_columns_are_read() {
    let tabs = "word\tmeaning\na\t1,5\n";
    assert_eq!(built("a.tsv", tabs, &KEYED, &["a"]), b"1,5");
    assert_eq!(built("a.tab", tabs, &KEYED, &["a"]), b"1,5");
    for delimiter in ["tab", "\\t"] {
        let with_tabs = [&KEYED[..], &["--delimiter", delimiter]].concat();
        assert_eq!(built("a.csv", tabs, &with_tabs, &["a"]), b"1,5");
    }

    let columns = ["--key", "1", "--value", "2"];
    let numbered = [&["--no-header", "--delimiter", ":"][..], &columns].concat();
    assert_eq!(built("a.csv", "a:1\nb:2\n", &numbered, &["a"]), b"1");
    refused("a.csv", "a:1\nb\n", &numbered, &["line 2", "the first row"]);
    refused("a.csv", "a,1\n", &numbered, &["`2`", "expected one of 1"]);
    refused("a.jsonl", "{}\n", &numbered, &["jsonl", "csv or tsv"]);
    let long = [&KEYED[..], &["--delimiter", "::"]].concat();
    refused("a.csv", "", &long, &["--delimiter", "2 bytes"]);
}

#[test]
fn a_large_build_says_first_what_it_needs() {
    let folder = Folder::large();
    let out = folder.path("out.papir");
    let build = |bytes: usize| {
        let source = folder.write("a.bin", vec![7; bytes]);
        let raw = [
            "build",
            &source,
            "--out",
            &out,
            "--format",
            "raw",
            "--record-bytes",
            "64",
        ];
        papir(&[&raw[..], &PLAIN].concat())
    };
    assert!(build(1 << 20).stderr.is_empty(), "small builds say nothing");
    let output = build(80 << 20);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let bytes = std::fs::metadata(&out).unwrap().len();
    let file = format!("a file of about {}", papir_plan::units::bytes(bytes));
    assert!(
        stderr.starts_with("papir: preparing ") && stderr.contains(&file),
        "{file}: {stderr}"
    );
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

#[test]
fn compressed_text_is_read() {
    assert_eq!(
        built("a.csv.gz", gzip("word,meaning\na,1\nb,2\n"), &KEYED, &["b"]),
        b"2"
    );
    let two = [
        gzip("{\"word\":\"a\",\"meaning\":\"1\"}\n"),
        gzip("{\"word\":\"b\",\"meaning\":\"2\"}\n"),
    ];
    assert_eq!(
        built("a.JSONL.gz", two.concat(), &KEYED, &["b"]),
        b"2",
        "two members in one file"
    );
    refused(
        "a.csv.gz",
        &gzip("word,meaning\na,1\n")[..30],
        &KEYED,
        &["a.csv.gz"],
    );
    refused("a.bin.gz", gzip("abc"), &[], &["a.bin.gz", "--format"]);
}

/// A short text as a zstd frame with a raw block.
#[cfg(feature = "zstd")]
fn zstd(text: &str) -> Vec<u8> {
    let length = u8::try_from(text.len()).unwrap();
    let block = (u32::from(length) << 3) | 1;
    let header = [0x28, 0xb5, 0x2f, 0xfd, 0x20, length];
    [&header[..], &block.to_le_bytes()[..3], text.as_bytes()].concat()
}

#[cfg(feature = "zstd")]
#[test]
fn text_and_records_compressed_by_zstd_are_read() {
    let rows = zstd("word,meaning\na,1\n");
    assert_eq!(built("a.csv.zst", &rows, &KEYED, &["a"]), b"1");
    assert_eq!(built("a.csv", &rows, &KEYED, &["a"]), b"1");
    refused("a.csv.zst", &rows[..20], &KEYED, &["a.csv.zst"]);

    let raw = ["--format", "raw", "--record-bytes", "3"];
    let last = built("a.bin.zst", zstd("abcdefghi"), &raw, &["--index", "2"]);
    assert_eq!(last, b"ghi");
}

#[test]
fn compressed_records_are_read() {
    let raw = ["--format", "raw", "--record-bytes", "3"];
    assert_eq!(
        built("a.bin.gz", gzip("abcdefghi"), &raw, &["--index", "2"]),
        b"ghi"
    );
    refused(
        "a.bin.gz",
        gzip("abcdefgh"),
        &raw,
        &["a.bin.gz", "8 bytes", "3"],
    );
    refused("a.bin.gz", &gzip("abcdefghi")[..20], &raw, &["a.bin.gz"]);
    // Records that begin as gzip does, under another name.
    assert_eq!(
        built("a.bin", b"\x1f\x8b\x08def", &raw, &["--index", "1"]),
        b"def"
    );
}

#[test]
fn a_private_scheme_is_the_default_and_every_goal_works() {
    let folder = Folder::new();
    let source = folder.write("a.csv", "word,meaning\na,1\nb,2\nc,3\n");
    let out = folder.path("a.papir");
    for goal in ["min-communication", "balanced", "min-time"] {
        let output = succeeds(
            &[
                &["build", &source, "--out", &out, "--goal", goal],
                &KEYED[..],
            ]
            .concat(),
        );
        let chosen = output.lines().find(|line| line.starts_with("chosen "));
        assert!(
            chosen.is_some_and(|line| line.contains(" a file of ")) && output.contains("overhead"),
            "{output}"
        );
        let service = Service::start(&[&out], &[]);
        assert_eq!(succeeds(&["get", &service.url, "b"]), "2", "{goal}");
    }
}

#[test]
fn the_failure_probability_is_chosen_and_kept_by_updates() {
    let folder = Folder::new();
    let source = folder.write("a.csv", "word,meaning\na,1\nb,2\nc,3\n");
    let out = folder.path("a.papir");
    let arguments = [&["build", &source, "--out", &out], &KEYED[..]].concat();
    let with = |more: &[&'static str]| [&arguments[..], more].concat();
    let build = |more: &[&'static str]| with(&[&["--scheme", "inspire"], more].concat());
    let failure = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with("failure"))
            .unwrap()
            .to_owned();
        let log2 = line
            .split_whitespace()
            .nth(1)
            .and_then(|word| word.strip_prefix("2^").map(str::to_owned));
        assert!(line.ends_with("that a lookup does not decode"), "{line}");
        log2.unwrap().parse::<f64>().unwrap()
    };
    assert!((-60.0..=-40.0).contains(&failure(&succeeds(&build(&[])))));
    assert!(failure(&succeeds(&build(&["--failure", "2^-128"]))) <= -128.0);
    assert!(failure(&succeeds(&["inspect", &out])) <= -128.0);
    let service = Service::start(&[&out], &[]);
    assert_eq!(succeeds(&["get", &service.url, "b"]), "2");
    drop(service);
    // Longer values need a new table, which is prepared under the same bound.
    let changes = folder.write("more.csv", format!("word,meaning\nd,{}\n", "4".repeat(300)));
    succeeds(&["update", &out, "--from", &changes]);
    assert!(failure(&succeeds(&["inspect", &out])) <= -128.0);
    for wrong in [
        "--failure=2^-39",
        "--failure=2^-129",
        "--failure=-128",
        "--failure=1e-40",
    ] {
        fails_with(
            &build(&[wrong]),
            &["--failure", &wrong["--failure=".len()..]],
        );
    }
    fails_with(
        &with(&["--failure", "2^-128", "--scheme", "respire"]),
        &["respire", "2^-128", "below 2^-40"],
    );
}

/// A file size limit stands in for a full disk.
#[cfg(unix)]
#[test]
fn a_full_disk_leaves_no_file() {
    let folder = Folder::new();
    let source = folder.write("a.bin", vec![7; 1 << 20]);
    let out = folder.path("out.papir");
    let script = "trap '' XFSZ; ulimit -f 64; exec \"$@\"";
    let output = at_home("bash")
        .args([
            "-c",
            script,
            "bash",
            env!("CARGO_BIN_EXE_papir"),
            "build",
            &source,
            "--out",
            &out,
        ])
        .args(["--format", "raw", "--record-bytes", "64"])
        .args(PLAIN)
        .output()
        .unwrap();
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(
        stderr.starts_with("papir: ")
            && stderr.lines().count() == 1
            && stderr.contains("out.papir"),
        "{stderr}"
    );
    assert_eq!(folder.names(), ["a.bin"]);
}

#[test]
fn a_killed_build_leaves_a_complete_database_or_none() {
    let folder = Folder::large();
    let source = folder.write("a.bin", vec![7; 32 << 20]);
    let out = folder.path("out.papir");
    let mut arguments = vec![
        "build",
        &source,
        "--out",
        &out,
        "--format",
        "raw",
        "--record-bytes",
        "64",
    ];
    arguments.extend(PLAIN);

    let mut build = program()
        .args(&arguments)
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    loop {
        // In this order: a build that ends in between has written its file.
        let ended = build.try_wait().unwrap();
        if folder.names().len() > 1 {
            break;
        }
        assert_eq!(ended, None, "the build ended without writing anything");
    }
    build.kill().unwrap();
    build.wait().unwrap();

    if folder.names().contains(&"out.papir".to_owned()) {
        succeeds(&["inspect", &out]);
    }
    succeeds(&arguments);
    let mut names = folder.names();
    names.sort();
    assert_eq!(
        names,
        ["a.bin", "out.papir"],
        "files of the killed build remain"
    );
}

/// Builds `source` with less space for data than `kib` KiB: memory of the program's own, without mapped
/// files.
#[cfg(target_os = "linux")]
fn built_within(kib: u64, source: &str, out: &str, more: &[&str]) -> std::process::Output {
    let limited = format!("ulimit -d {kib}; exec \"$0\" \"$@\"");
    let mut command = at_home("sh");
    command.args([
        "-c",
        &limited,
        env!("CARGO_BIN_EXE_papir"),
        "build",
        source,
        "--out",
        out,
        "--key",
        "word",
    ]);
    // Each thread needs memory of its own.
    command
        .env("RAYON_NUM_THREADS", "2")
        .args(["--value", "meaning", "--scheme", "inspire"])
        .args(more)
        .output()
        .unwrap()
}

/// A limit of 256 MiB holds for a database of 200 MB, which a build in memory exceeds.
#[cfg(target_os = "linux")]
#[test]
fn a_build_keeps_within_its_limit_of_memory() {
    let folder = Folder::large();
    let value = "x".repeat(4000);
    let rows: String = (0..50_000)
        .map(|row| format!("word-{row},{row}-{value}\n"))
        .collect();
    let source = folder.write("a.csv", format!("word,meaning\n{rows}"));
    let out = folder.path("a.papir");
    drop(rows);
    const KIB: u64 = 256 << 10;
    let in_memory = built_within(KIB, &source, &out, &[]);
    assert!(
        !in_memory.status.success(),
        "the test needs a larger database"
    );
    let bounded = built_within(KIB, &source, &out, &["--memory", "256MiB"]);
    assert!(
        bounded.status.success(),
        "{}",
        String::from_utf8_lossy(&bounded.stderr)
    );
    let service = Service::start(&[&out], &[]);
    let found = papir(&["get", &service.url, "word-49999"]);
    assert_eq!(found.stdout, format!("49999-{value}").into_bytes());
}

#[test]
fn a_limit_of_memory_needs_a_scheme_that_keeps_it() {
    let folder = Folder::new();
    let source = folder.write("a.csv", "word,meaning\none,1\n");
    let out = folder.path("a.papir");
    let all = [&["build", &source, "--out", &out], &KEYED[..]].concat();
    succeeds(&[&all[..], &["--memory", "8GiB"]].concat());
    assert_eq!(folder.names().len(), 2, "source and database");

    let elsewhere = Folder::new();
    let scratch = elsewhere.path("scratch");
    succeeds(&[&all[..], &["--memory", "8GiB", "--scratch", &scratch]].concat());
    assert_eq!(elsewhere.names(), ["scratch"]);
    assert_eq!(folder.names().len(), 2, "source and database");

    let refused = |more: &[&str], parts: &[&str]| fails_with(&[&all[..], more].concat(), parts);
    refused(
        &["--memory", "100MiB"],
        &["bytes of memory is 104857600", "at least"],
    );
    refused(
        &["--memory", "1GiB", "--scheme", "simple"],
        &["simple", "inspire or inspire2"],
    );
    refused(
        &["--memory", "1GiB", "--scheme", "auto"],
        &["--memory", "name one"],
    );
    refused(
        &["--memory", "1GiB", "--batch", "8"],
        &["--memory", "--batch"],
    );
    refused(&["--scratch", &scratch], &["--memory"]);
}
