//! Verifiable databases, end to end.

use crate::support::{Folder, Service, fails_with, succeeds};

/// Builds a verifiable database of 50 keys; returns its path and the root that `inspect` prints.
fn verifiable(folder: &Folder, name: &str, salt: &str) -> (String, String) {
    let csv = (0..50).fold("word,meaning\n".to_owned(), |csv, i| {
        csv + &format!("key-{i},{salt}-{i}\n")
    });
    let source = folder.write("words.csv", csv);
    let out = folder.path(name);
    let columns = [
        "--key",
        "word",
        "--value",
        "meaning",
        "--scheme",
        "plain",
        "--insecure-plain",
    ];
    let built = succeeds(
        &[
            &["build", &source, "--out", &out, "--verifiable"][..],
            &columns,
        ]
        .concat(),
    );
    let inspected = succeeds(&["inspect", &out]);
    let root = |text: &str| {
        let line = text
            .lines()
            .find(|line| line.starts_with("root "))
            .expect("a root");
        line.split_whitespace().last().unwrap().to_owned()
    };
    assert_eq!(root(&built), root(&inspected));
    (out, root(&inspected))
}

#[test]
fn a_root_is_printed_and_enforced() {
    let folder = Folder::new();
    let (words, root) = verifiable(&folder, "words.papir", "value");
    let (_, other) = verifiable(&folder, "other.papir", "another");
    assert_ne!(root, other);
    let service = Service::start(&[&words], &["--allow-not-private"]);
    let state = folder.path("state");
    let get = [
        "get",
        &service.url,
        "--allow-not-private",
        "key-7",
        "--state",
        &state,
        "--root",
    ];
    assert_eq!(succeeds(&[&get[..], &[&root]].concat()), "value-7");
    assert!(succeeds(&["inspect", &service.url]).contains(&root));
    fails_with(&[&get[..], &[&other]].concat(), &[&root, &other]);
    fails_with(
        &[&get[..], &["xyz"]].concat(),
        &["xyz", "64 hexadecimal digits"],
    );
}

#[cfg(unix)]
#[test]
fn a_root_is_pinned_at_first_use() {
    let folder = Folder::new();
    let (words, first) = verifiable(&folder, "words.papir", "value");
    let service = Service::start(&[&words], &["--allow-not-private", "--keep-old", "0"]);
    let url = service.url.clone();
    let state = folder.path("state");
    let get = [
        "get",
        &url,
        "--allow-not-private",
        "key-7",
        "--state",
        &state,
    ];
    assert_eq!(succeeds(&get), "value-7");
    let (_, second) = verifiable(&folder, "words.papir", "another");
    service.reload();
    fails_with(&get, &[&first, &second, "no query was sent", "--root"]);
    assert_eq!(
        succeeds(&[&get[..], &["--root", &second]].concat()),
        "another-7"
    );
    assert_eq!(succeeds(&get), "another-7");
    // Removing the proofs is detected too.
    folder.words(50, "plain");
    service.reload();
    fails_with(&get, &[&second, "not verifiable"]);
}
