//! `papir versions` and `papir rollback`.

use serde_json::Value;

use crate::support::{Folder, Service, fails_with, papir, succeeds};

const OPEN: &str = "--allow-not-private";

fn listed(places: &[&str]) -> Vec<Value> {
    let text = succeeds(&[&["versions", "--json"], places].concat());
    text.lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// Sets `key-3` to a value, and keeps the replaced version.
fn change(folder: &Folder, file: &str, value: &str, more: &[&str]) {
    let changes = folder.write("changes.csv", format!("word,meaning\nkey-3,{value}\n"));
    succeeds(&[&["update", file, "--from", &changes, "--keep", "2"], more].concat());
}

#[test]
fn a_rollback_is_a_new_version_with_the_earlier_records() {
    let folder = Folder::new();
    let words = folder.words(20, "plain");
    let first = listed(&[&words]);
    assert_eq!(
        (first.len(), &first[0]["state"], &first[0]["sequence"]),
        (1, &"newest".into(), &Value::Null)
    );
    fails_with(&["rollback", &words], &["is not kept", "--keep"]);
    change(&folder, &words, "second", &[]);
    let service = Service::start(&[&words], &[OPEN]);
    let get = || succeeds(&["get", &service.url, OPEN, "key-3"]);
    assert_eq!(get(), "second");

    let rolled: Value = serde_json::from_str(&succeeds(&["rollback", &words, "--json"])).unwrap();
    assert_eq!(rolled["mode"], "rolled_back");
    let all = listed(&[&words]);
    let states: Vec<&Value> = all.iter().map(|one| &one["state"]).collect();
    assert_eq!(states, ["newest", "kept", "kept"]);
    assert_eq!(
        (&all[0]["version"], &all[2]["version"]),
        (&rolled["version"], &first[0]["version"]),
        "{all:?}"
    );
    assert_ne!(
        all[0]["version"], first[0]["version"],
        "a number names one version"
    );
    assert!(all[0]["age_seconds"].as_u64() < Some(600), "{all:?}");
    #[cfg(unix)]
    {
        service.reload();
        assert_eq!(get(), "value-3");
        let served = listed(&[&service.url]);
        assert_eq!(
            (&served[0]["version"], &served[1]["state"]),
            (&rolled["version"], &"answered".into())
        );
    }
    // Back to the version that was rolled back, and only two are kept.
    let second = all[1]["version"].as_str().unwrap();
    succeeds(&["rollback", &words, "--to", second]);
    change(&folder, &words, "third", &[]);
    assert_eq!(listed(&[&words]).len(), 3);
    fails_with(
        &["rollback", &words, "--to", "0011223344556677"],
        &["0011223344556677", "is not kept"],
    );
    let other = folder.numbers(5, "plain");
    fails_with(
        &["rollback", &words, "--from", &other],
        &["`numbers`", "`words`"],
    );
}

#[test]
fn a_signed_rollback_has_the_next_sequence() {
    let folder = Folder::new();
    let key = folder.path("owner.key");
    let out = folder.path("words.papir");
    succeeds(&["checkpoint", "keygen", &key, "--name", "example.org/owner"]);
    let source = folder.write("words.csv", "word,meaning\nkey-3,first\nkey-4,other\n");
    let keyed = [
        "--key",
        "word",
        "--value",
        "meaning",
        "--scheme",
        "simple",
        "--verifiable",
    ];
    succeeds(
        &[
            &["build", &source, "--out", &out, "--sign", &key],
            &keyed[..],
        ]
        .concat(),
    );
    let monday = folder.path("monday.papir");
    std::fs::copy(&out, &monday).unwrap();
    let service = Service::start(&[&out], &[]);
    let state = folder.path("state");
    let get = || papir(&["get", &service.url, "key-3", "--state", &state]);
    assert_eq!(get().stdout, b"first");
    change(&folder, &out, "second", &["--sign", &key]);
    #[cfg(unix)]
    service.reload();
    #[cfg(unix)]
    assert_eq!(get().stdout, b"second");
    fails_with(
        &["rollback", &out, "--from", &monday],
        &["is signed", "--sign"],
    );
    succeeds(&["rollback", &out, "--from", &monday, "--sign", &key]);
    let sequences: Vec<Value> = listed(&[&out])
        .into_iter()
        .map(|mut one| one["sequence"].take())
        .collect();
    assert_eq!(sequences, [2, 1, 0]);
    #[cfg(unix)]
    {
        service.reload();
        // A client that has seen sequence 1 accepts the earlier records under sequence 2.
        let output = get();
        assert_eq!(
            output.stdout,
            b"first",
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
    }
}

#[cfg(feature = "cloud")]
#[test]
fn an_object_store_has_one_version() {
    let folder = Folder::new();
    let words = folder.words(5, "plain");
    let store = format!("file://{}", folder.path("store/words.papir"));
    succeeds(&["push", &words, &store]);
    let both = listed(&[&words, &store]);
    assert_eq!((both.len(), &both[0]["version"]), (2, &both[1]["version"]));
    assert!(succeeds(&["versions", &words]).contains("newest"));
}
