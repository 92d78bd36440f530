//! `papir pin`, and a stolen key that its owner has replaced.

use std::fs;

use crate::signing::{build, get, keygen, rotate, serve_at};
use crate::support::{Folder, fails_with, lasting_address, papir, succeeds};

/// Runs papir, expecting that nothing is pinned.
fn finds_nothing(arguments: &[&str]) {
    let output = papir(arguments);
    assert_eq!(output.status.code(), Some(1), "papir {arguments:?}");
    assert!(output.stdout.is_empty(), "papir {arguments:?}");
    assert_eq!(output.stderr, b"nothing is pinned\n", "papir {arguments:?}");
}

#[cfg(unix)]
#[test]
fn a_stolen_key_that_was_replaced_is_not_brought_back() {
    let folder = Folder::new();
    let sockets = Folder::short();
    let listen = sockets.socket();
    let state = folder.path("state");
    let (stolen, old) = keygen(&folder, "stolen.key");
    let (next, new) = keygen(&folder, "next.key");
    let (stranger, other) = keygen(&folder, "stranger.key");
    let words = build(&folder, "words.papir", "value", &["--sign", &stolen]);
    let thiefs = folder.path("thiefs.papir");
    fs::copy(&words, &thiefs).unwrap();

    // The client sees the first version, and the next one under the new key.
    let service = serve_at(&listen, &words);
    let given = get(&listen, &state, &["--owner-pub", &old]);
    assert_eq!(succeeds(&given), "value-7");
    drop(service);
    rotate(&folder, &words, &stolen, &next);
    succeeds(&["checkpoint", "sign", &words, "--key", &next]);
    let service = serve_at(&listen, &words);
    assert_eq!(succeeds(&given), "value-7");
    drop(service);

    // The thief continues the first file, without the certificate.
    for number in 0..4 {
        let change = format!("word,meaning\nkey-7,forged-{number}\n");
        let changes = folder.write("changes.csv", change);
        succeeds(&["update", &thiefs, "--from", &changes, "--sign", &stolen]);
    }
    let service = serve_at(&listen, &thiefs);
    let refusals = ["no query was sent", "papir pin remove", new.as_str()];
    for more in [
        &["--owner-pub", &old][..],
        &[],
        &["--owner-pub", &new],
        &["--owner-pub", &old],
    ] {
        fails_with(&get(&listen, &state, more), &refusals);
    }
    let shown = succeeds(&["pin", "show", &listen, "--state", &state]);
    for part in ["words", &new, &old, "sequence"] {
        assert!(shown.contains(part), "{shown}");
    }
    drop(service);

    // Another owner's key is refused as long as one is pinned.
    let others = build(&folder, "others.papir", "other", &["--sign", &stranger]);
    let _service = serve_at(&listen, &others);
    let given = get(&listen, &state, &["--owner-pub", &other]);
    fails_with(&given, &refusals);
    finds_nothing(&[
        "pin",
        "remove",
        &listen,
        "--database",
        "x",
        "--state",
        &state,
    ]);
    assert_eq!(succeeds(&["pin", "remove", &listen, "--state", &state]), "");
    finds_nothing(&["pin", "show", &listen, "--state", &state]);
    finds_nothing(&["pin", "remove", &listen, "--state", &state]);
    assert_eq!(succeeds(&given), "other-7");
    let shown = succeeds(&["pin", "show", &listen, "--state", &state]);
    assert!(shown.contains(&other), "{shown}");
}

/// The pin of one of several servers holds for the others, until it is removed at each.
#[test]
fn the_pins_of_several_servers_are_removed_together() {
    let folder = Folder::new();
    let state = folder.path("state");
    let (owner, public) = keygen(&folder, "owner.key");
    let (stranger, _) = keygen(&folder, "stranger.key");
    let words = build(&folder, "words.papir", "value", &["--sign", &owner]);
    let others = build(&folder, "others.papir", "other", &["--sign", &stranger]);
    let addresses = [lasting_address(), lasting_address()];
    let [one, two] = addresses
        .each_ref()
        .map(|address| format!("http://{address}"));

    for address in &addresses {
        let service = serve_at(address, &words);
        let found = succeeds(&get(&service.url, &state, &[]));
        assert_eq!(found, "value-7");
    }
    let shown = succeeds(&["pin", "show", &one, &two, "--state", &state]);
    assert!(shown.contains(&one) && shown.contains(&two), "{shown}");
    assert_eq!(shown.matches(public.as_str()).count(), 2, "{shown}");

    let _service = serve_at(&addresses[0], &others);
    let several = get(&one, &state, &["--also", &two, "--json"]);
    assert_eq!(succeeds(&["pin", "remove", &one, "--state", &state]), "");
    assert_ne!(papir(&several).status.code(), Some(0), "still pinned");
    let both = ["pin", "remove", &one, &two, "--state", &state];
    assert_eq!(succeeds(&both), "");
    finds_nothing(&both);
    assert!(succeeds(&several).contains("other-7"));
}

#[test]
fn pins_of_a_bad_address_are_refused() {
    fails_with(&["pin", "show", "nowhere"], &["bad address", "nowhere"]);
    fails_with(&["pin", "remove", "nowhere"], &["bad address", "nowhere"]);
    fails_with(&["pin"], &["subcommand"]);
}
