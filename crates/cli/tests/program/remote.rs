//! `papir push`, `papir pull` and `papir serve` with an object store, here a folder.

use std::fs;

#[cfg(unix)]
use rustix::process::Signal;

use crate::signing::{build, keygen};
use crate::support::{Folder, fails_with, succeeds};
#[cfg(unix)]
use crate::support::{Service, papir, program, send, until};

const OPEN: &str = "--allow-not-private";

/// The URL of the folder's object `words.papir`.
fn url(folder: &Folder) -> String {
    format!("file://{}", folder.path("words.papir"))
}

#[test]
fn a_pushed_database_can_be_pulled() {
    let folder = Folder::new();
    let store = Folder::new();
    let words = folder.words(500, "plain");
    let text = succeeds(&["push", &words, &format!("file://{}", store.path(""))]);
    for part in ["pushed", "words.papir", "version", "uploaded"] {
        assert!(text.contains(part), "no `{part}` in {text}");
    }
    assert!(succeeds(&["push", &words, &url(&store), "--prune"]).contains("0 B in 0 parts"));

    let copy = folder.path("copy.papir");
    assert!(succeeds(&["pull", &url(&store), &copy]).contains("in 1 parts"));
    assert_eq!(fs::read(&copy).unwrap(), fs::read(&words).unwrap());
    assert!(succeeds(&["pull", &url(&store), &copy]).contains("0 B in 0 parts"));
}

#[test]
fn a_pull_under_an_owners_key_checks_the_name_of_the_database() {
    let folder = Folder::new();
    let store = Folder::new();
    let (owner, public) = keygen(&folder, "owner.key");
    let words = build(&folder, "words.papir", "value", &["--sign", &owner]);
    let others = format!("file://{}", store.path("others.papir"));
    succeeds(&["push", &words, &others]);

    let copy = folder.path("copy.papir");
    let pull = ["pull", &others, &copy, "--owner-pub", &public];
    fails_with(&pull, &["`words`: expected `others`", "--name"]);
    assert!(!fs::exists(&copy).unwrap());
    succeeds(&[&pull[..], &["--name", "words"]].concat());
}

#[test]
fn invalid_pushes_and_pulls_are_refused_in_one_line() {
    let folder = Folder::new();
    let store = Folder::new();
    let words = folder.words(100, "plain");
    let copy = folder.path("copy.papir");
    fails_with(
        &["pull", &url(&store), &copy],
        &["no such object", "words.papir.manifest.json"],
    );
    fails_with(
        &["push", &words, "ftp://host/words.papir"],
        &["ftp://host/words.papir", "s3://"],
    );
    fails_with(
        &["push", &words, "file:///tmp/../etc/words.papir"],
        &["bad address"],
    );
    fails_with(
        &["push", &folder.write("text.papir", "text"), &url(&store)],
        &["text.papir"],
    );
    fails_with(
        &["push", &folder.path("none.papir"), &url(&store)],
        &["none.papir"],
    );
    fails_with(
        &["pull", &format!("file://{}", store.path("")), &copy],
        &["names no object"],
    );
    assert!(!fs::exists(&copy).unwrap());

    succeeds(&["push", &words, &url(&store)]);
    let parts = store.path("words.papir.parts");
    let part = fs::read_dir(&parts)
        .unwrap()
        .next()
        .unwrap()
        .unwrap()
        .path();
    let mut bytes = fs::read(&part).unwrap();
    bytes[70] ^= 1;
    fs::write(&part, bytes).unwrap();
    fails_with(
        &["pull", &url(&store), &copy],
        &["part 1 of 1 is damaged", part.to_str().unwrap()],
    );
}

#[cfg(unix)]
#[test]
fn a_pushed_database_is_served_and_reloaded_on_sighup() {
    let folder = Folder::new();
    let store = Folder::new();
    let cache = folder.path("cache");
    succeeds(&["push", &folder.words(10, "plain"), &url(&store)]);
    let service = Service::start(&[&url(&store)], &[OPEN, "--cache", &cache]);
    assert_eq!(
        succeeds(&["get", &service.url, OPEN, "key-3", "--database", "words"]),
        "value-3"
    );

    succeeds(&["push", &folder.words(30, "plain"), &url(&store)]);
    send(Signal::HUP, &service);
    let get = || papir(&["get", &service.url, OPEN, "key-20"]).status.code();
    until("the new snapshot is served", || get() == Some(0));
    let nowhere = format!("file://{}", store.path("none.papir"));
    fails_with(
        &[
            "serve",
            "--listen",
            "127.0.0.1:0",
            &nowhere,
            "--cache",
            &cache,
        ],
        &["`none`", "no such object", "none.papir.manifest.json"],
    );
}

#[cfg(unix)]
#[test]
fn the_variable_for_files_takes_urls() {
    let folder = Folder::short();
    let store = Folder::short();
    succeeds(&["push", &folder.words(10, "plain"), &url(&store)]);
    let files = format!("{}:{}", url(&store), folder.numbers(5, "plain"));
    let output = program()
        .args([
            "serve",
            "--check-config",
            OPEN,
            "--cache",
            &folder.path("cache"),
        ])
        .env("PAPIR_SERVE_FILES", files)
        .output()
        .unwrap();
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let printed: toml::Table = String::from_utf8(output.stdout).unwrap().parse().unwrap();
    let databases = printed["database"].as_array().unwrap();
    assert_eq!(databases[0]["path"].as_str(), Some(url(&store).as_str()));
    assert_eq!(
        databases[1]["path"].as_str(),
        Some(folder.path("numbers.papir").as_str())
    );
}
