//! Filters of keys: `papir build --prefilter`, and commands that use them.

use serde_json::Value;

use crate::support::{Folder, Service, fails, fails_with, papir, succeeds};

/// Builds a database of 300 words with a filter. Returns its file, and the lines on stderr.
fn build(folder: &Folder) -> (String, String) {
    let rows: String = (0..300)
        .map(|number| format!("word {number},meaning {number}\n"))
        .collect();
    let source = folder.write("words.csv", format!("word,meaning\n{rows}"));
    let out = folder.path("words.papir");
    let output = papir(&[
        "build",
        &source,
        "--out",
        &out,
        "--key",
        "word",
        "--value",
        "meaning",
        "--prefilter",
        "20",
    ]);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    let stdout = String::from_utf8(output.stdout).unwrap();
    assert!(
        stdout.contains("prefilter") && stdout.contains("20 bits"),
        "{stdout}"
    );
    (out, stderr)
}

/// The number of requests with queries of a lookup, and its exit code.
fn requests(arguments: &[&str]) -> (Option<u64>, Option<i32>) {
    let all = [&["get", "-v", "--json"], arguments].concat();
    let output = papir(&all);
    let costs: Value = serde_json::from_slice(&output.stderr).unwrap();
    (costs["requests"].as_u64(), output.status.code())
}

#[test]
fn a_build_says_what_its_filter_reveals() {
    let folder = Folder::new();
    let (words, said) = build(&folder);
    for part in ["probably present", "test keys without the service"] {
        assert!(said.contains(part), "{said}");
    }

    let text = succeeds(&["inspect", &words]);
    assert!(text.contains("20 bits"), "{text}");
    let json: Value = serde_json::from_str(&succeeds(&["inspect", &words, "--json"])).unwrap();
    assert_eq!(json["prefilter"]["bits"], 20);
    assert_eq!(json["prefilter"]["blake3"].as_str().unwrap().len(), 64);
}

#[test]
fn a_client_asks_only_for_keys_that_may_be_there() {
    let folder = Folder::new();
    let (words, _) = build(&folder);
    let service = Service::start(&[&words], &[]);
    let url = service.url.as_str();

    assert_eq!(succeeds(&["get", url, "word 7"]), "meaning 7");
    assert_eq!(requests(&[url, "word 7"]), (Some(1), Some(0)));
    assert_eq!(requests(&[url, "absent"]), (Some(0), Some(1)));
    let ignoring = [url, "absent", "--prefilter", "ignore"];
    assert_eq!(requests(&ignoring), (Some(1), Some(1)));

    let served: Value = serde_json::from_str(&succeeds(&["inspect", url, "--json"])).unwrap();
    let stored: Value = serde_json::from_str(&succeeds(&["inspect", &words, "--json"])).unwrap();
    assert_eq!(served["prefilter"], stored["prefilter"]);
}

#[test]
fn a_client_that_hides_times_sends_no_query() {
    let folder = Folder::new();
    let (words, _) = build(&folder);
    let others = Folder::new();
    let plain = others.words(50, "inspire");
    let service = Service::start(&[&words], &[]);
    let unfiltered = Service::start(&[&plain], &[]);

    // A key that is there, and one that the filter excludes.
    let present = [service.url.as_str(), "word 7", "--hide-times"];
    let absent = [service.url.as_str(), "absent", "--hide-times"];
    for lookup in [&present[..], &absent] {
        fails_with(
            &[&["get"], lookup].concat(),
            &[
                "no query was sent",
                "outside a schedule",
                "probably present",
                "--hide-times",
            ],
        );
    }

    let ignoring = [&present[..], &["--prefilter", "ignore"]].concat();
    let without = [unfiltered.url.as_str(), "key-7", "--hide-times"];
    for lookup in [&ignoring[..], &without] {
        let line = fails(&[&["get"], lookup].concat());
        assert!(line.contains("its time would be seen"), "{line}");
        assert!(!line.contains("probably present"), "{line}");
    }

    assert_eq!(service.answered("words"), 0);
    assert_eq!(unfiltered.answered("words"), 0);
}

#[test]
fn a_load_test_asks_for_absent_keys_too() {
    let folder = Folder::new();
    let (words, _) = build(&folder);
    let service = Service::start(&[&words], &[]);

    let load = [
        "load",
        &service.url,
        "--seconds",
        "1",
        "--clients",
        "1",
        "--json",
    ];
    let report: Value = serde_json::from_str(&succeeds(&load)).unwrap();
    assert!(report["lookups"].as_u64() > Some(0), "{report}");
}

#[test]
fn a_plan_shows_the_length_of_a_filter() {
    let plan = |more: &[&str]| {
        let keys = [
            "plan",
            "--keyed",
            "--records",
            "100000",
            "--record-bytes",
            "8",
        ];
        succeeds(&[&keys[..], more].concat())
    };
    let text = plan(&["--prefilter", "10"]);
    assert!(text.contains("prefilter"), "{text}");

    let json: Value = serde_json::from_str(&plan(&["--prefilter", "10", "--json"])).unwrap();
    let bytes = json["prefilter_bytes"].as_u64().unwrap();
    assert!((140_000..155_000).contains(&bytes), "{bytes}");
}

#[test]
fn filters_that_cannot_be_are_refused() {
    let folder = Folder::new();
    let source = folder.write("words.csv", "word,meaning\na,b\n");
    let out = folder.path("words.papir");
    let build = ["build", &source, "--out", &out, "--value", "meaning"];
    fails_with(
        &[&build[..], &["--prefilter", "8"]].concat(),
        &["prefilter", "without keys"],
    );

    let planned = [
        "plan",
        "--records",
        "1000",
        "--record-bytes",
        "8",
        "--prefilter",
        "8",
    ];
    fails_with(&planned, &["--prefilter", "--keyed"]);
    for bits in ["3", "25"] {
        let output = papir(&[&build[..], &["--key", "word", "--prefilter", bits]].concat());
        assert_eq!(output.status.code(), Some(2), "{bits}");
    }
}
