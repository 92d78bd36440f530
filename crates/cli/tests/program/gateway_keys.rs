//! Keys of gateways, which the owner of a database signs.

use std::fs;

use papir_ohttp::{GatewayKey, Kem, KeyDigest, KeyList};

use crate::signing::{build, keygen};
use crate::support::{Folder, Service, fails_with, succeeds};

/// Writes the list of one key of a gateway. Returns its path, and the hash of the key.
fn key_list(folder: &Folder, seed: u8) -> (String, String) {
    let key = GatewayKey::derive(seed, Kem::X25519, &[seed; 32]).unwrap();
    let hash = KeyDigest::of(&key.configuration().unwrap()).to_string();
    let list = KeyList::of_keys(&[key]).unwrap().encode();
    (folder.write(&format!("keys-{seed}"), list), hash)
}

/// Names keys of gateways under the owner's key. Returns the certificate's path, and what the
/// program prints.
pub(crate) fn certify(folder: &Folder, owner: &str, keys: &[&str]) -> (String, String) {
    let out = folder.path("gateways.cert");
    let mut command = vec!["checkpoint", "gateways", "--key", owner];
    for list in keys {
        command.extend(["--keys", *list]);
    }
    command.extend(["--database", "words", "--for", "60d", "--out", &out]);
    let printed = succeeds(&command);
    (out, printed)
}

#[test]
fn a_version_commits_to_the_keys_of_gateways_that_its_owner_signs() {
    let folder = Folder::new();
    let (owner, public) = keygen(&folder, "owner.key");
    let words = build(&folder, "words.papir", "value", &["--sign", &owner]);
    let (first, hash_of_first) = key_list(&folder, 1);
    let (second, hash_of_second) = key_list(&folder, 2);

    let (certificate, printed) = certify(&folder, &owner, &[&first, &second, &first]);
    let mut expected = [hash_of_first, hash_of_second];
    expected.sort();
    assert_eq!(printed.lines().collect::<Vec<_>>(), expected);
    let text = fs::read_to_string(&certificate).unwrap();
    assert!(
        text.starts_with("papir-certificate-2\ngateways\n"),
        "{text}"
    );

    // Without a new leaf, one client could be shown another certificate than the next.
    let attach = [
        "checkpoint",
        "attach",
        &words,
        "--certificate",
        &certificate,
    ];
    fails_with(&attach, &["keys of gateways", "papir checkpoint sign"]);
    let sign = ["checkpoint", "sign", &words, "--key", &owner];
    succeeds(&[&sign[..], &["--certificate", &certificate]].concat());

    let options = ["--allow-not-private", "--name", "words"];
    let service = Service::start(&[&words], &options);
    let verify = ["checkpoint", "verify", &service.url, "--owner-pub", &public];
    let verified = succeeds(&verify);
    assert!(verified.contains("gateway keys"), "{verified}");
    assert!(verified.contains("sequence 1,"), "{verified}");
}

#[test]
fn other_lists_of_keys_are_refused() {
    let folder = Folder::new();
    let (owner, _) = keygen(&folder, "owner.key");
    let out = folder.path("gateways.cert");
    let page = folder.write("page", "<html>");
    let lists: Vec<String> = (1..=9).map(|seed| key_list(&folder, seed).0).collect();

    let command = ["checkpoint", "gateways", "--key", &owner, "--for", "60d"];
    let rest = ["--all-databases", "--out", &out, "--keys"];
    fails_with(
        &[&command[..], &rest, &[page.as_str()]].concat(),
        &["page: "],
    );
    let mut many = [&command[..], &rest[..3]].concat();
    for list in &lists {
        many.extend(["--keys", list]);
    }
    fails_with(&many, &["9 keys of gateways: expected 1 to 8"]);
}
