//! Encrypted databases, from build to update.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{Folder, Service, fails_with, succeeds};

/// Rows with long values, which are easy to find in a file that stores them unencrypted.
fn rows(of: impl Iterator<Item = u32>) -> String {
    let row = |i: u32| format!("word {i},a rather long meaning {i}\n");
    format!("word,meaning\n{}", of.map(row).collect::<String>())
}

/// Columns of the rows, with room for more.
const COLUMNS: [&str; 6] = ["--key", "word", "--value", "meaning", "--room", "10"];

/// Builds a keyed database with further arguments.
fn build(source: &str, out: &str, more: &[&str]) -> String {
    succeeds(&[&["build", source, "--out", out][..], &COLUMNS, more].concat())
}

/// Returns true if a file contains the text of a value.
fn holds_a_value(file: &str) -> bool {
    fs::read(file)
        .unwrap()
        .windows(19)
        .any(|window| window == b"rather long meaning")
}

/// A keyed database of 60 rows, encrypted under its owner's key.
struct Encrypted {
    folder: Folder,
    sockets: Folder,
    source: String,
    key: String,
    words: String,
}

impl Encrypted {
    fn build() -> Self {
        let folder = Folder::new();
        let source = folder.write("words.csv", rows(0..60));
        let key = folder.path("words.key");
        let words = folder.path("words.papir");
        let built = build(&source, &words, &["--encrypt", &key]);
        assert!(built.contains("pirouette-encrypted"), "{built}");

        Self {
            folder,
            sockets: Folder::short(),
            source,
            key,
            words,
        }
    }

    /// The key of another encrypted database of the same rows.
    fn other_key(&self) -> String {
        let key = self.folder.path("other.key");
        let elsewhere = self.folder.path("elsewhere.papir");
        build(&self.source, &elsewhere, &["--encrypt", &key]);
        key
    }

    /// Only the owner and the clients have the key; the server has only the file.
    fn serve(&self) -> Service {
        let registry = self.folder.path("registry");
        let listen = self.sockets.socket();
        let options = [
            "--registry",
            &registry,
            "--list-clients",
            "--listen",
            &listen,
        ];
        Service::start(&[&self.words], &options)
    }

    /// Looks up a word with the first client's state.
    fn get(&self, service: &Service, word: &str, more: &[&str]) -> String {
        let state = self.folder.path("first");
        succeeds(&[&["get", &service.url, word, "--state", &state], more].concat())
    }

    fn assert_key_is_for_the_owner(&self) {
        let text = fs::read_to_string(&self.key).unwrap();
        assert!(text.starts_with("papir-owner-key-1-") && text.ends_with('\n'));
        assert_eq!(
            fs::metadata(&self.key).unwrap().permissions().mode() & 0o77,
            0
        );
    }

    fn assert_records_are_hidden(&self) {
        let inspected = succeeds(&["inspect", &self.words]);
        assert!(
            inspected.contains("parameter owner's key") && inspected.contains("for updates"),
            "{inspected}"
        );

        let plain = self.folder.path("plain.papir");
        let scheme = ["--scheme", "plain", "--insecure-plain"];
        build(&self.source, &plain, &scheme);
        assert!(
            holds_a_value(&plain) && !holds_a_value(&self.words),
            "an encrypted file contains plain records"
        );
    }

    fn assert_clients_need_the_key(&self, service: &Service, other: &str) {
        let state = self.folder.path("second");
        let ask = ["get", &service.url, "word 7", "--state", &state];
        fails_with(
            &ask,
            &[
                "no query was sent: an encrypted database needs its owner's key, ",
                "found none",
                "--decrypt",
            ],
        );
        fails_with(
            &[&ask[..], &["--decrypt", other]].concat(),
            &["needs its owner's key", "found key"],
        );
        fails_with(
            &[&ask[..], &["--decrypt", &self.source]].concat(),
            &["words.csv: an owner's key is malformed"],
        );
    }

    /// Changes one word and adds one, which needs the owner's key.
    fn update(&self, other: &str) {
        let rows = "word,meaning\nword 7,changed\nword 60,new\n";
        let changes = self.folder.write("changes.csv", rows);
        let update = ["update", &self.words, "--from", &changes];
        fails_with(&update, &["needs its owner's key: found none", "--encrypt"]);
        fails_with(
            &[&update[..], &["--encrypt", other]].concat(),
            &["needs its owner's key", "found key"],
        );
        succeeds(&[&update[..], &["--encrypt", &self.key]].concat());
    }
}

/// The owner, the server and clients of a keyed database.
#[test]
fn a_server_answers_from_records_it_cannot_read() {
    let database = Encrypted::build();
    let other = database.other_key();
    database.assert_key_is_for_the_owner();
    database.assert_records_are_hidden();

    let service = database.serve();
    database.assert_clients_need_the_key(&service, &other);
    assert_eq!(
        database.get(&service, "word 7", &["--decrypt", &database.key]),
        "a rather long meaning 7"
    );
    // Afterwards, the client's state is sufficient.
    assert_eq!(
        database.get(&service, "word 59", &[]),
        "a rather long meaning 59"
    );
    drop(service);

    database.update(&other);
    let service = database.serve();
    assert_eq!(database.get(&service, "word 7", &[]), "changed");
    assert_eq!(database.get(&service, "word 60", &[]), "new");

    // An evicted client registers again from its state.
    service.evict_only_client();
    assert_eq!(
        database.get(&service, "word 8", &[]),
        "a rather long meaning 8"
    );
}

/// Updates of records by index, and options that conflict with encryption.
#[test]
fn owner_keys_are_only_for_encrypted_databases() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let numbers: Vec<u8> = (0..50u32).flat_map(u32::to_le_bytes).collect();
    let source = folder.write("numbers.bin", numbers);
    let key = folder.path("numbers.key");
    let out = folder.path("numbers.papir");
    let raw = [
        "build",
        &source,
        "--format",
        "raw",
        "--record-bytes",
        "4",
        "--out",
        &out,
    ];
    let refused = |more: &[&str], words: &[&str]| fails_with(&[&raw[..], more].concat(), words);
    refused(
        &["--scheme", "pirouette-encrypted"],
        &["give --encrypt KEYFILE"],
    );
    refused(
        &["--scheme", "inspire", "--encrypt", &key],
        &["inspire does not encrypt records"],
    );
    refused(
        &["--batch", "8", "--encrypt", &key],
        &["--batch", "--encrypt"],
    );
    refused(&["--encrypt", &source], &["numbers.bin"]);
    assert!(!fs::exists(&out).unwrap());
    succeeds(&[&raw[..], &["--encrypt", &key]].concat());
    refused(
        &["--verifiable", "--encrypt", &key],
        &["--verifiable", "--encrypt"],
    );

    let changes = folder.write("changes.csv", "index,value\n7,7777\n50,last\n");
    fails_with(
        &["update", &out, "--from", &changes],
        &["an encrypted database needs", "found none", "--encrypt"],
    );
    succeeds(&["update", &out, "--from", &changes, "--encrypt", &key]);
    let registry = folder.path("registry");
    let service = Service::start(
        &[&out],
        &["--registry", &registry, "--listen", &sockets.socket()],
    );
    let state = folder.path("state");
    let asked = [
        "get",
        &service.url,
        "--index",
        "7",
        "50",
        "--state",
        &state,
        "--decrypt",
        &key,
    ];
    let found = succeeds(&asked);
    assert!(
        found.contains("\"7777\"") && found.contains("\"last\""),
        "{found}"
    );
    drop(service);

    let plain = folder.numbers(50, "inspire");
    let service = Service::start(&[&plain], &[]);
    fails_with(
        &["get", &service.url, "--index", "7", "--decrypt", &key],
        &["no parameters of inspire fit: its databases are not encrypted"],
    );
}
