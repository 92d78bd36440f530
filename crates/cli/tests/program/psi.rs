//! `papir psi`: preparing, serving and intersecting sets.

use serde_json::Value;

use crate::support::{
    Folder, Service, fails_for_now, fails_with, has_metric, lasting_address, papir, succeeds, until,
};

/// A set of 300 elements with labels.
fn labelled(folder: &Folder) -> String {
    let rows: String = (0..300)
        .map(|i| format!("element {i}\tlabel of {i}\n"))
        .collect();
    folder.write("labelled.tsv", rows)
}

fn prepared(folder: &Folder, set: &str, more: &[&str]) -> String {
    let out = folder.path("set.psi");
    succeeds(&[&["psi", "prepare", set, "--out", &out], more].concat());
    out
}

/// Runs the receiver. Returns the printed matches and the costs.
fn intersect(folder: &Folder, service: &Service, elements: &str) -> (String, Value) {
    let mine = folder.write("mine.txt", elements);
    let run = [
        "psi",
        "run",
        &service.url,
        &mine,
        "--state",
        &folder.path("state"),
        "-v",
    ];
    let first = papir(&run);
    let printed = String::from_utf8(first.stdout).unwrap();
    let output = papir(&[&run[..], &["--json"]].concat());
    for code in [first.status.code(), output.status.code()] {
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(
            code,
            Some(i32::from(printed.is_empty())),
            "1 without a match: {stderr}"
        );
    }
    let lines = String::from_utf8(output.stdout).unwrap();
    assert_eq!(lines.lines().count(), printed.lines().count());
    let costs = String::from_utf8(output.stderr).unwrap();
    (
        printed,
        serde_json::from_str(costs.lines().last().unwrap()).unwrap(),
    )
}

#[test]
fn a_small_set_is_intersected_by_a_filter_fetched_once() {
    let folder = Folder::new();
    let set: String = (0..500).map(|i| format!("element {i}\n")).collect();
    let file = prepared(&folder, &folder.write("set.txt", set + "element 7\n"), &[]);
    let service = Service::psi(&file, &["--watch", "1"]);
    let (found, costs) = intersect(
        &folder,
        &service,
        "element 7\nelement 500\nelement 499\nelement 7\n",
    );
    assert_eq!(found, "element 7\nelement 499\nelement 7\n");
    // The first of the two runs fetched the filter.
    assert_eq!(
        (&costs["kind"], costs["download_bytes"].as_u64()),
        (&"filter".into(), Some(16 * 32))
    );
    assert_eq!(costs["elements_of_set"], 500);
    let (found, _) = intersect(&folder, &service, "none\nat all\n");
    assert_eq!(found, "");
    let examined = succeeds(&["doctor", &service.url]);
    assert!(examined.contains("set of 500 elements"), "{examined}");
    let described = succeeds(&["inspect", &file]);
    assert!(
        described.contains("papir psi serve") && described.contains("500"),
        "{described}"
    );
    let json: Value = serde_json::from_str(&succeeds(&["inspect", &file, "--json"])).unwrap();
    assert_eq!(json["set"]["elements"], 500);
    fails_with(&["serve", &file], &["set.psi", "papir psi serve"]);

    // The set is replaced while it is served, under another key, so the cached filter is stale.
    prepared(&folder, &folder.write("set.txt", "a\nb\n"), &[]);
    until("the new set is served", || {
        intersect(&folder, &service, "b\nelement 7\n").0 == "b\n"
    });
}

#[test]
fn labels_are_looked_up_privately() {
    let folder = Folder::new();
    let file = prepared(
        &folder,
        &labelled(&folder),
        &["--labels", "--scheme", "simple"],
    );
    let service = Service::psi(&file, &[]);
    let (found, costs) = intersect(&folder, &service, "element 299\nelement 300\nelement 0\n");
    assert_eq!(found, "element 299\tlabel of 299\nelement 0\tlabel of 0\n");
    let described = succeeds(&["inspect", &file]);
    for part in ["papir psi serve", "longest label", "simple-batch"] {
        assert!(described.contains(part), "no {part} in {described}");
    }
    assert_eq!(costs["kind"], "retrieval");
    let (_, more) = intersect(
        &folder,
        &service,
        &(0..16)
            .map(|i| format!("element {i}\n"))
            .collect::<String>(),
    );
    for bytes in ["upload_bytes", "download_bytes"] {
        assert_eq!(
            costs[bytes], more[bytes],
            "the server learns only a rounded number"
        );
    }
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(&file).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "the file contains the key");
    }
    // The set is replaced while it is served, under another key.
    #[cfg(unix)]
    {
        prepared(
            &folder,
            &folder.write("other.tsv", "new\tfirst\nelement 0\tagain\n"),
            &["--labels", "--scheme", "simple"],
        );
        service.reload();
        assert_eq!(
            intersect(&folder, &service, "element 0\nelement 1\n").0,
            "element 0\tagain\n"
        );
    }
    drop(service);
    #[cfg(feature = "cloud")]
    {
        let store = format!("file://{}", folder.path("store/set.psi"));
        fails_with(&["push", &file, &store], &["set.psi", "key"]);
    }
    let changes = folder.write("changes.csv", "element,label\nx,y\n");
    fails_with(
        &["update", &file, "--from", &changes],
        &["set.psi", "papir psi prepare"],
    );
}

#[test]
fn a_set_is_intersected_at_the_server_that_is_there() {
    let folder = Folder::new();
    let file = prepared(&folder, &folder.write("set.txt", "a\nb\n"), &[]);
    let mine = folder.write("mine.txt", "b\nc\n");
    let state = folder.path("state");

    let first = Service::psi(&file, &["--listen", &lasting_address()]);
    let second = Service::psi(&file, &["--listen", &lasting_address()]);
    let [one, two] = [first.url.clone(), second.url.clone()];
    let run = [
        "psi", "run", &one, &mine, "--also", &two, "--state", &state, "--json",
    ];
    let expected = "{\"element\":\"b\"}\n";
    assert_eq!(succeeds(&run), expected);
    drop(first);
    assert_eq!(succeeds(&run), expected);
    drop(second);
    fails_for_now(&run, &["none of the 2 servers", &one, &two]);
}

#[test]
fn invalid_intersections_are_refused_in_one_line() {
    let folder = Folder::new();
    let set = labelled(&folder);
    let out = folder.path("x.psi");
    let refused = |more: &[&str], parts: &[&str]| {
        fails_with(
            &[&["psi", "prepare", &set, "--out", &out], more].concat(),
            parts,
        );
    };
    refused(
        &["--labels", "--kind", "filter"],
        &["a filter of a set with labels"],
    );
    refused(
        &["--labels", "--scheme", "zip"],
        &["zip", "inspire, simple, download for batches"],
    );
    let bare = folder.write("bare.txt", "a\tb\nc\n");
    fails_with(
        &["psi", "prepare", &bare, "--out", &out, "--labels"],
        &["bare.txt", "line 2", "no label"],
    );
    let twice = folder.write("twice.txt", "a\tb\na\tc\n");
    fails_with(
        &["psi", "prepare", &twice, "--out", &out, "--labels"],
        &["twice.txt", "line 2", "line 1"],
    );
    fails_with(
        &["psi", "prepare", &folder.path("no.txt"), "--out", &out],
        &["no.txt"],
    );
    fails_with(&["psi", "serve", &bare], &["bare"]);
    // A server without a set.
    let words = folder.words(50, "plain");
    fails_with(&["psi", "serve", &words], &["words", "psi"]);
    let service = Service::start(&[&words], &["--allow-not-private"]);
    fails_with(
        &["psi", "run", &service.url, &bare],
        &["404", "papir psi serve"],
    );
}

/// Waits until the gauge of failed loads has a value.
fn wait_for_failing(service: &Service, value: u32) {
    let line = format!("papir_load_failing{{database=\"set\"}} {value}");
    until(&line, || has_metric(&service.url, &line));
}

#[test]
fn a_set_that_fails_to_load_shows_in_the_metrics() {
    let folder = Folder::new();
    let elements = folder.write("set.txt", "a\nb\nc\n");
    let labelled = labelled(&folder);
    for (set, more) in [
        (&elements, &[][..]),
        (&labelled, &["--labels", "--scheme", "simple"]),
    ] {
        let file = prepared(&folder, set, more);
        let service = Service::psi(&file, &["--watch", "1"]);
        wait_for_failing(&service, 0);
        let good = folder.path("good.psi");
        std::fs::rename(&file, &good).unwrap();
        folder.write("set.psi", "damaged");
        wait_for_failing(&service, 1);
        std::fs::rename(&good, &file).unwrap();
        wait_for_failing(&service, 0);
    }
}
