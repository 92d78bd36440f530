//! Signed databases: from key to refusal, with the real program.

use std::fs;
use std::process::Output;
use std::thread::sleep;
use std::time::Duration;

use papir_checkpoint::{Kind, Note, SigningKey, cosign};

use crate::support::{Folder, Service, fails_with, papir, succeeds};

pub(crate) const OPEN: &str = "--allow-not-private";

/// Creates a key file; returns its path and the public key.
pub(crate) fn keygen(folder: &Folder, name: &str) -> (String, String) {
    let file = folder.path(name);
    let public = succeeds(&["checkpoint", "keygen", &file, "--name", "example.org/owner"]);
    (file, public.trim().to_owned())
}

/// Builds a database `words` of 50 keys, with further arguments.
pub(crate) fn build(folder: &Folder, file: &str, salt: &str, more: &[&str]) -> String {
    let csv = (0..50).fold("word,meaning\n".to_owned(), |csv, i| {
        csv + &format!("key-{i},{salt}-{i}\n")
    });
    let source = folder.write("words.csv", csv);
    let out = folder.path(file);
    let build = [
        "build", &source, "--out", &out, "--name", "words", "--key", "word", "--value", "meaning",
    ];
    let plain = ["--scheme", "plain", "--insecure-plain", "--room", "10"];
    succeeds(&[&build[..], &plain, more].concat());
    out
}

fn serve(file: &str) -> Service {
    Service::start(&[file], &[OPEN, "--name", "words", "--keep-old", "0"])
}

/// Serves a database at this address.
pub(crate) fn serve_at(listen: &str, file: &str) -> Service {
    let name = ["--name", "words", "--keep-old", "0"];
    Service::start(&[file], &[&[OPEN, "--listen", listen][..], &name].concat())
}

/// Attaches a certificate by which the next key replaces the one before.
pub(crate) fn rotate(folder: &Folder, words: &str, key: &str, next: &str) {
    let rotation = folder.path("rotation.cert");
    let rotate = ["checkpoint", "rotate", "--key", key, "--to", next];
    succeeds(&[&rotate[..], &["--overlap", "30d", "--out", &rotation]].concat());
    succeeds(&["checkpoint", "attach", words, "--certificate", &rotation]);
}

/// `papir get` of key-7 with this state, and further arguments.
pub(crate) fn get<'a>(url: &'a str, state: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    [&["get", url, OPEN, "key-7", "--state", state], more].concat()
}

/// The program prints the key's public part again, and replaces no file of a key.
fn assert_key_file(owner: &str, public: &str) {
    assert!(public.starts_with("example.org/owner+"), "{public}");
    assert_eq!(succeeds(&["checkpoint", "public", owner]).trim(), public);
    let of_log = succeeds(&["checkpoint", "public", owner, "--database", "words"]);
    assert!(of_log.starts_with("example.org/owner/words+"), "{of_log}");
    fails_with(
        &["checkpoint", "keygen", owner, "--name", "other"],
        &["owner.key", "exists"],
    );
    #[cfg(unix)]
    {
        let mode =
            std::os::unix::fs::PermissionsExt::mode(&fs::metadata(owner).unwrap().permissions());
        assert_eq!(mode & 0o77, 0);
    }
}

/// A file or a service names the owner and the first version.
fn assert_describes_first_version(place: &str, public: &str) {
    let facts: serde_json::Value =
        serde_json::from_str(&succeeds(&["inspect", place, "--json"])).unwrap();
    assert_eq!(
        (&facts["owner"], &facts["sequence"]),
        (&public.into(), &0.into())
    );
    assert!(
        facts["signed_at"].as_u64() > Some(0) && facts["delta_root"].is_null(),
        "{facts}"
    );
}

#[test]
fn a_signed_database_is_pinned_at_first_use_or_by_its_key() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let (owner, public) = keygen(&folder, "owner.key");
    let (_, stranger) = keygen(&folder, "stranger.key");
    assert_key_file(&owner, &public);

    let words = build(&folder, "words.papir", "value", &["--sign", &owner]);
    let inspected = succeeds(&["inspect", &words]);
    assert!(
        inspected.contains("sequence 0, 20") && inspected.contains(&public),
        "{inspected}"
    );
    let service = serve(&words);
    assert!(succeeds(&["inspect", &service.url]).contains("sequence 0, 20"));
    for place in [&words, &service.url] {
        assert_describes_first_version(place, &public);
    }

    let states = ["pinned", "given", "wrong"].map(|name| folder.path(name));
    assert_eq!(succeeds(&get(&service.url, &states[0], &[])), "value-7");
    assert_eq!(
        succeeds(&get(&service.url, &states[1], &["--owner-pub", &public])),
        "value-7"
    );
    let wrong = get(&service.url, &states[2], &["--owner-pub", &stranger]);
    fails_with(
        &wrong,
        &[
            "no query was sent",
            "not signed under the owner's key",
            &stranger,
            "--owner-pub",
        ],
    );
    drop(service);

    // Another owner's database at the same address, and one that is not signed.
    let listen = sockets.socket();
    let first = serve_at(&listen, &words);
    assert_eq!(succeeds(&get(&listen, &states[0], &[])), "value-7");
    drop(first);
    let other = build(
        &folder,
        "other.papir",
        "other",
        &["--sign", &folder.path("stranger.key")],
    );
    let second = serve_at(&listen, &other);
    fails_with(
        &get(&listen, &states[0], &[]),
        &["no query was sent", &public],
    );
    drop(second);
    let plain = build(&folder, "plain.papir", "plain", &[]);
    let third = serve_at(&listen, &plain);
    fails_with(
        &get(&listen, &states[0], &[]),
        &["no query was sent", "the database has no checkpoint"],
    );
    assert_eq!(succeeds(&get(&third.url, &states[2], &[])), "plain-7");
}

#[cfg(unix)]
#[test]
fn updates_are_signed_and_followed_by_pinned_clients() {
    let folder = Folder::new();
    let (owner, public) = keygen(&folder, "owner.key");
    let words = build(
        &folder,
        "words.papir",
        "value",
        &["--verifiable", "--sign", &owner],
    );
    let service = serve(&words);
    let state = folder.path("state");
    let url = service.url.clone();
    assert_eq!(
        succeeds(&get(&url, &state, &["--owner-pub", &public])),
        "value-7"
    );
    let old = folder.path("old.papir");
    fs::copy(&words, &old).unwrap();

    let changes = folder.write("changes.csv", "word,meaning\nkey-7,changed\n");
    let update = ["update", &words, "--from", &changes];
    fails_with(
        &update,
        &["is signed (sequence 0)", "--sign KEY", "--unsigned"],
    );
    fails_with(
        &[&update[..], &["--unsigned", "--sign", &owner]].concat(),
        &["--unsigned"],
    );
    assert!(succeeds(&[&update[..], &["--sign", &owner]].concat()).contains("sequence 1, 20"));
    service.reload();
    // The owner vouches for the new root: no --root is needed.
    assert_eq!(succeeds(&get(&url, &state, &[])), "changed");
    let verified = succeeds(&[
        "checkpoint",
        "verify",
        &url,
        "--owner-pub",
        &public,
        "--max-age",
        "1h",
    ]);
    assert!(
        verified.contains("sequence 1, 20") && verified.contains("root "),
        "{verified}"
    );

    // A service that returns to the old version is refused.
    fs::copy(&old, &words).unwrap();
    fs::rename(&old, &words).unwrap();
    service.reload();
    let at_once = ["--catch-up", "0s"];
    fails_with(
        &get(&url, &state, &at_once),
        &["no query was sent", "sequence 0, but sequence 1"],
    );
    fails_with(
        &get(&url, &state, &["--catch-up", "1s"]),
        &["sequence 0, but sequence 1"],
    );
    assert_eq!(
        succeeds(&get(&url, &folder.path("fresh"), &at_once)),
        "value-7"
    );
}

#[test]
fn deltas_of_a_signed_database_are_versions_in_its_log() {
    let folder = Folder::new();
    let (owner, public) = keygen(&folder, "owner.key");
    let words = build(&folder, "words.papir", "value", &["--sign", &owner]);
    let changes = folder.write("changes.csv", "word,meaning\nkey-7,changed\n");
    let update = ["update", &words, "--from", &changes, "--delta"];
    fails_with(&update, &["sequence 0", "--sign KEY"]);
    let signed = ["--sign", &owner];
    assert!(succeeds(&[&update[..], &signed].concat()).contains("sequence 1, 20"));
    assert!(
        succeeds(&["checkpoint", "show", &words]).contains("\n2\n"),
        "of two versions"
    );
    assert!(succeeds(&["inspect", &words]).contains("sequence 1, 20"));
    let doctor = || String::from_utf8(papir(&["doctor", &words]).stdout).unwrap();
    assert!(
        doctor().contains("sequence 1, by ") && doctor().contains("\nok    delta "),
        "{}",
        doctor()
    );
    let service = serve(&words);
    let state = folder.path("state");
    let pinned = get(
        &service.url,
        &state,
        &["--owner-pub", &public, "--catch-up", "0s"],
    );
    assert_eq!(succeeds(&pinned), "changed");

    // A service that hides the delta shows an older version.
    let delta = fs::read_dir(fs::canonicalize(&words).unwrap().parent().unwrap())
        .unwrap()
        .flatten();
    let delta = delta
        .map(|one| one.path())
        .find(|path| path.extension().is_some_and(|end| end == "delta"));
    let delta = delta.unwrap();
    let hidden = folder.path("hidden");
    fs::rename(&delta, &hidden).unwrap();
    fs::write(&delta, "damaged").unwrap();
    assert!(doctor().contains("\nfail  delta "), "{}", doctor());
    fs::remove_file(&delta).unwrap();
    service.reload();
    fails_with(
        &pinned,
        &["no query was sent", "sequence 0, but sequence 1"],
    );
    fs::rename(&hidden, &delta).unwrap();
    service.reload();
    assert_eq!(succeeds(&pinned), "changed");

    let source = folder.write(
        "changes.jsonl",
        "{\"word\":\"key-7\",\"meaning\":\"again\"}\n",
    );
    let follow = ["follow", &source, "--publish", &words, "--once"];
    fails_with(&follow, &["sequence 1", "--sign KEY"]);
    succeeds(&[&follow[..], &signed].concat());
    succeeds(&["merge", &words, "--sign", &owner]);
    service.reload();
    assert_eq!(succeeds(&pinned), "again");
    assert!(
        succeeds(&["checkpoint", "show", &words]).contains("\n4\n"),
        "of four versions"
    );
}

#[test]
fn old_checkpoints_are_refused_until_the_version_is_signed_again() {
    let folder = Folder::new();
    let (owner, public) = keygen(&folder, "owner.key");
    let words = build(&folder, "words.papir", "value", &[]);
    fails_with(
        &["checkpoint", "show", &words],
        &["not signed", "papir checkpoint sign"],
    );
    let sign = ["checkpoint", "sign", &words, "--key", &owner];
    assert!(succeeds(&sign).contains("sequence 0, 20"));
    sleep(Duration::from_millis(2100));
    let aged = ["--owner-pub", &public, "--max-age", "1s"];
    let service = serve(&words);
    fails_with(
        &get(&service.url, &folder.path("state"), &aged),
        &["s old: expected at most 1 s (--max-age)"],
    );
    drop(service);
    assert!(succeeds(&sign).contains("sequence 1, 20"));
    let service = serve(&words);
    let day = ["--owner-pub", &public, "--max-age", "1d"];
    assert_eq!(
        succeeds(&get(&service.url, &folder.path("state"), &day)),
        "value-7"
    );
}

#[test]
fn comparisons_find_services_that_show_different_versions() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let (owner, public) = keygen(&folder, "owner.key");
    let words = build(&folder, "words.papir", "value", &["--sign", &owner]);
    let changes = folder.write("changes.csv", "word,meaning\nkey-7,changed\n");
    let behind = folder.path("behind.papir");
    let mirror = folder.path("mirror.papir");
    fs::copy(&words, &behind).unwrap();
    succeeds(&["update", &words, "--from", &changes, "--sign", &owner]);
    fs::copy(&words, &mirror).unwrap();
    // The same key signs other content under the same sequence.
    let other = folder.write("other.csv", "word,meaning\nkey-7,only for you\n");
    let forked = folder.path("forked.papir");
    succeeds(&[
        "update", &behind, "--from", &other, "--sign", &owner, "--out", &forked,
    ]);

    let [honest, honest_too, slow, lying] =
        [&words, &mirror, &behind, &forked].map(|file| serve(file));
    let compare = |urls: &[&str]| papir(&[&["checkpoint", "compare"], urls].concat());
    let same = succeeds(&[
        "checkpoint",
        "compare",
        &honest.url,
        &honest_too.url,
        &slow.url,
        &words,
    ]);
    assert!(
        same.contains("sequence 1") && same.contains("sequence 0"),
        "{same}"
    );
    assert!(!same.contains("different"), "{same}");
    for urls in [[&honest.url, &lying.url], [&lying.url, &honest.url]] {
        let output = compare(&urls.map(String::as_str));
        let text = String::from_utf8(output.stdout).unwrap();
        assert_eq!(output.status.code(), Some(1), "{text}");
        assert!(
            text.contains("different under sequence 1") && text.contains("public part"),
            "{text}"
        );
        assert!(
            text.contains(&honest.url) && text.contains(&lying.url),
            "{text}"
        );
    }
    // Both alone satisfy a client: only the comparison finds the difference.
    for service in [&honest, &lying] {
        succeeds(&["checkpoint", "verify", &service.url, "--owner-pub", &public]);
    }
    // A client that has seen one version refuses the other under the same sequence.
    let listen = sockets.socket();
    let state = folder.path("state");
    let first = serve_at(&listen, &words);
    assert_eq!(succeeds(&get(&listen, &state, &[])), "changed");
    drop(first);
    let _second = serve_at(&listen, &forked);
    fails_with(
        &get(&listen, &state, &[]),
        &[
            "no query was sent",
            "two different versions under sequence 1",
        ],
    );
}

#[test]
fn comparisons_need_checkpoints_of_one_owner() {
    let folder = Folder::new();
    let (owner, _) = keygen(&folder, "owner.key");
    let (stranger, _) = keygen(&folder, "stranger.key");
    let honest = serve(&build(&folder, "words.papir", "value", &["--sign", &owner]));
    let foreign = serve(&build(
        &folder,
        "foreign.papir",
        "value",
        &["--sign", &stranger],
    ));
    let output = papir(&["checkpoint", "compare", &honest.url, &foreign.url]);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        String::from_utf8(output.stdout)
            .unwrap()
            .contains("is not signed under the owner's key")
    );

    let unsigned = serve(&build(&folder, "unsigned.papir", "value", &[]));
    fails_with(
        &["checkpoint", "compare", &honest.url, &unsigned.url],
        &["no checkpoint"],
    );
}

/// A signed database that several keys update, and a client that has pinned it.
struct Published {
    folder: Folder,
    words: String,
    listen: String,
    state: String,
}

impl Published {
    /// The values that the client prints.
    fn look_up(&self, more: &[&str]) -> String {
        let _service = serve_at(&self.listen, &self.words);
        succeeds(&get(&self.listen, &self.state, more))
    }

    /// Changes key-7 under this key.
    fn change(&self, meaning: &str, key: &str, more: &[&str]) -> Output {
        let change = format!("word,meaning\nkey-7,{meaning}\n");
        let changes = self.folder.write("changes.csv", change);
        let update = ["update", &self.words, "--from", &changes, "--sign", key];
        papir(&[&update[..], more].concat())
    }

    /// A certificate by which the owner lets another key sign.
    fn delegate(&self, owner: &str, publisher: &str) -> String {
        let grant = self.folder.path("publisher.cert");
        let delegate = [
            "checkpoint",
            "delegate",
            "--key",
            owner,
            "--to",
            publisher,
            "--database",
            "words",
        ];
        succeeds(&[&delegate[..], &["--for", "90d", "--out", &grant]].concat());
        grant
    }
}

#[test]
fn publishers_and_new_keys_lock_no_client_out() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let (owner, public) = keygen(&folder, "owner.key");
    let (new, of_new) = keygen(&folder, "new.key");
    let publisher = folder.path("publisher.key");
    let name = ["--name", "publisher.example"];
    let of_publisher = succeeds(&[&["checkpoint", "keygen", &publisher][..], &name].concat());
    let words = build(&folder, "words.papir", "value", &["--sign", &owner]);
    let database = Published {
        words,
        listen: sockets.socket(),
        state: folder.path("state"),
        folder,
    };
    assert_eq!(database.look_up(&["--owner-pub", &public]), "value-7");

    let output = database.change("by the publisher", &publisher, &[]);
    let refused = String::from_utf8(output.stderr).unwrap();
    assert!(
        refused.contains("not signed under the owner's key") && refused.contains("--certificate"),
        "{refused}"
    );
    let grant = database.delegate(&owner, of_publisher.trim());
    let output = database.change("by the publisher", &publisher, &["--certificate", &grant]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(database.look_up(&[]), "by the publisher");
    // The certificate is carried to the next version.
    let output = database.change("by the publisher again", &publisher, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(database.look_up(&[]), "by the publisher again");

    // Attached before the first version of the new key: clients that know only that key follow too.
    rotate(&database.folder, &database.words, &owner, &new);
    for key in [&public, &of_new] {
        let service = serve(&database.words);
        let fresh = database.folder.path(&format!("fresh-{}", key.len()));
        let _ = fs::remove_dir_all(&fresh);
        assert_eq!(
            succeeds(&get(&service.url, &fresh, &["--owner-pub", key])),
            "by the publisher again"
        );
    }
    let output = database.change("under the new key", &new, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(database.look_up(&[]), "under the new key");
    let output = database.change("under the new key again", &new, &[]);
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        database.look_up(&["--owner-pub", &of_new]),
        "under the new key again"
    );
}

#[test]
fn witnesses_cosign_what_the_program_prints() {
    let folder = Folder::new();
    let (owner, public) = keygen(&folder, "owner.key");
    let words = build(&folder, "words.papir", "value", &["--sign", &owner]);
    let request = succeeds(&["checkpoint", "request", &words]);
    let (old, note) = request.split_once("\n\n").unwrap();
    assert_eq!(old, "old 0");
    let note = Note::parse(note.as_bytes()).unwrap();
    let name = "witness.example".parse().unwrap();
    let witness = SigningKey::generate(name, Kind::Cosignature, &mut papir::system_rng());
    let of_witness = witness.public().to_string();
    let response = folder.write(
        "response",
        format!("{}\n", cosign(&note, &witness, 1_800_000_000)),
    );
    let attach = [
        "checkpoint",
        "attach",
        &words,
        "--cosignatures",
        &response,
        "--witness",
        &of_witness,
    ];
    let required = [
        "--owner-pub",
        &public,
        "--witness",
        &of_witness,
        "--cosignatures",
        "1",
    ];
    {
        let service = serve(&words);
        let state = folder.path("state");
        let refused = get(&service.url, &state, &required);
        fails_with(
            &refused,
            &["0 of the known witnesses", "at least 1", "--cosignatures"],
        );
    }
    assert_eq!(succeeds(&attach), "1 cosignature(s) added\n");
    let service = serve(&words);
    assert_eq!(
        succeeds(&get(&service.url, &folder.path("state"), &required)),
        "value-7"
    );
    let shown = succeeds(&["checkpoint", "show", &service.url]);
    assert_eq!(shown.matches('\u{2014}').count(), 2, "{shown}");
    assert!(shown.starts_with("example.org/owner/words\n1\n"), "{shown}");
}
