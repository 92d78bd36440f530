//! Builds that choose their scheme, and what keeps it.

use crate::operating::Logged;
use crate::support::{Folder, Service, fails_with, succeeds};

const KEYED: [&str; 4] = ["--key", "word", "--value", "meaning"];

/// The scheme of a prepared database.
fn scheme_of(file: &str) -> String {
    let inspected: serde_json::Value =
        serde_json::from_str(&succeeds(&["inspect", file, "--json"])).unwrap();
    inspected["scheme"].as_str().unwrap().to_owned()
}

#[test]
fn a_build_chooses_a_scheme_as_the_plan_says() {
    let folder = Folder::new();
    let out = folder.path("a.papir");
    let few = "word,meaning\napple,a fruit\nfern,a plant\n".to_owned();
    let many: String = (0..5000)
        .map(|i| format!("word-{i},meaning-{i}\n"))
        .collect();

    for (name, rows) in [
        ("few.csv", few),
        ("many.csv", format!("word,meaning\n{many}")),
    ] {
        let source = folder.write(name, rows);
        let build = [&["build", &source, "--out", &out], &KEYED[..]].concat();
        let built = succeeds(&build);
        let scheme = scheme_of(&out);
        let chosen = built.lines().find(|line| line.starts_with("chosen "));
        assert!(chosen.unwrap().contains(&format!(" {scheme}: ")), "{built}");

        let plan: serde_json::Value =
            serde_json::from_str(&succeeds(&["plan", &source, "--json"])).unwrap();
        assert_eq!(plan["built"], scheme.as_str(), "{name}");
        let printed = succeeds(&["plan", &source]);
        let line = format!("Built without --scheme: {scheme}: ");
        assert!(printed.contains(&line), "{printed}");

        let named = succeeds(&[&build[..], &["--scheme", "simple"]].concat());
        assert!(!named.contains("chosen"), "{named}");
        let all = [&build[..], &["--clients-may-see", "all"]].concat();
        succeeds(&all);
        assert_eq!(scheme_of(&out), "download", "{name}");
    }
}

#[test]
fn what_clients_may_see_belongs_to_a_scheme_that_is_chosen() {
    let folder = Folder::new();
    let source = folder.write("a.csv", "word,meaning\na,1\n");
    let out = folder.path("a.papir");
    let build = [&["build", &source, "--out", &out], &KEYED[..]].concat();
    let refused = |more: &[&str], parts: &[&str]| fails_with(&[&build[..], more].concat(), parts);
    refused(
        &["--clients-may-see", "none"],
        &["none", "records, column or all"],
    );
    refused(
        &["--clients-may-see", "all", "--scheme", "simple"],
        &["--clients-may-see", "--scheme"],
    );
    refused(
        &["--clients-may-see", "all", "--batch", "8"],
        &["--clients-may-see", "--batch"],
    );
}

/// Builds a database of two words, whose scheme is chosen.
fn two_words(folder: &Folder) -> String {
    let source = folder.write("a.csv", "word,meaning\na,1\nb,2\n");
    let out = folder.path("a.papir");
    succeeds(&[&["build", &source, "--out", &out], &KEYED[..]].concat());
    out
}

/// A file with so many words that the scheme for two of them shows clients more than allowed.
fn many_words(folder: &Folder) -> String {
    let rows: String = (0..2000)
        .map(|i| format!("word-{i},meaning-{i}\n"))
        .collect();
    folder.write("more.csv", format!("word,meaning\n{rows}"))
}

/// The number of lines that say that clients see more than allowed.
fn warnings(output: &str) -> usize {
    output
        .lines()
        .filter(|line| line.contains("clients see") && line.contains("`records` allows"))
        .count()
}

/// Updates keep the scheme, and say when a database has outgrown what its owner allowed.
#[test]
fn an_update_keeps_the_chosen_scheme() {
    let folder = Folder::new();
    let out = two_words(&folder);
    let scheme = scheme_of(&out);
    let one = folder.write("one.csv", "word,meaning\na,3\n");
    let updated = succeeds(&["update", &out, "--from", &one]);
    assert!(!updated.contains("clients see"), "{updated}");

    let more = many_words(&folder);
    let updated = succeeds(&["update", &out, "--from", &more]);
    assert_eq!(scheme_of(&out), scheme);
    assert_eq!(warnings(&updated), 1, "{updated}");
    let service = Service::start(&[&out], &[]);
    assert_eq!(succeeds(&["get", &service.url, "word-77"]), "meaning-77");
}

/// Options with which more than 10 KiB of changes are merged.
const MERGING: [&str; 4] = ["--merge-at", "1", "--delta-bytes", "1MiB"];

#[test]
fn a_follower_says_after_a_merge_what_clients_see() {
    let folder = Folder::new();
    let out = two_words(&folder);
    let more = many_words(&folder);
    let follow = ["follow", &more, "--publish", &out, "--once"];
    let followed = succeeds(&[&follow[..], &MERGING].concat());
    let merges = followed.matches("merged into version ").count();
    assert!(merges > 0, "{followed}");
    assert_eq!(warnings(&followed), merges, "{followed}");
}

#[test]
fn a_service_logs_after_a_merge_what_clients_see() {
    let folder = Folder::new();
    let out = two_words(&folder);
    let more = many_words(&folder);
    let service = Logged::start(
        &folder,
        &[&[out.as_str(), "--watch"], &MERGING[..]].concat(),
    );
    succeeds(&["update", &out, "--from", &more, "--delta"]);
    service.until("the merge is logged", || warnings(&service.log()) == 1);

    // A service that follows a source itself.
    let other = Folder::new();
    let out = two_words(&other);
    let follow = [out.as_str(), "--follow", &more];
    let service = Logged::start(&other, &[&follow[..], &MERGING].concat());
    service.until("the merge is logged", || warnings(&service.log()) == 1);
}
