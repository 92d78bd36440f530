//! Files with credentials: token files and client state.

use std::fs;

use papir_client::parsers;
use papir_server::{NewToken, Scope, TokenFile};

use crate::{Target, outcome, repair};

/// A token file with two tokens.
fn token_file() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");

    for (name, databases) in [
        ("phone", None),
        ("watcher", Some(["words".to_owned()].into())),
    ] {
        let scopes = [Scope::Query, Scope::Metrics].into();
        let lifetime = Some(std::time::Duration::from_secs(3600));

        TokenFile::add(
            &path,
            NewToken {
                name: name.to_owned(),
                scopes,
                databases,
                lifetime,
            },
        )
        .unwrap();
    }

    fs::read(path).unwrap()
}

/// Token files.
pub(super) fn tokens() -> Target {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("tokens.toml");

    Target::new(vec![token_file()], move |input| {
        let _ = &folder;
        fs::write(&path, input).unwrap();

        let read = TokenFile::read(&path);
        if let Ok(file) = &read {
            let mut names: Vec<&str> = file
                .entries()
                .iter()
                .map(|entry| entry.name.as_str())
                .collect();
            names.sort_unstable();
            assert!(
                names.windows(2).all(|pair| pair[0] != pair[1]),
                "two tokens of one name"
            );
        }

        outcome(&read).replace(&*path.to_string_lossy(), "")
    })
    .with_words(&[
        "[[token]]\n",
        "format = ",
        "\"",
        "\n",
        "= ",
        "[[[[[[[[",
        "\"query\"",
        "1e999",
        "\\u0000",
        "9999-12-31",
    ])
}

/// Kept versions. What parses is encoded to bytes that parse.
pub(super) fn kept() -> Target {
    let info = r#"{"name":"a","scheme":"plain","version":"0102030405060708","records":5,
        "record_bits":8,"keyed":true,"lookups_per_key":1,"max_batch":64,"private":false,
        "sizes":{"bundle":1,"public":2,"hint":3,"keys":4,"query":5,"answer":6,"database":7,
        "material":8},"security_bits":null,"security_source":null,"failure_log2":null,
        "parameters":{}}"#;
    let empty = parsers::encoded_version(info).unwrap();

    // One lookup of an index, of which everything is as short as it can be.
    let mut waiting = empty.clone();
    waiting.pop();
    waiting.push(1);
    waiting.extend([7; 32]);
    waiting.extend([1, 8, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    waiting.extend([0; 24]);

    Target::new(vec![empty, waiting], |input| {
        let parsed = parsers::kept_version(input);
        if let Ok(again) = &parsed {
            assert!(parsers::kept_version(again).is_ok());
        }
        outcome(&parsed)
    })
}

/// Client state files, unchanged and with a repaired checksum.
pub(super) fn state() -> Target {
    let seeds = [(false, &b"some state"[..]), (true, b"")];
    let seeds = seeds
        .map(|(uploading, state)| parsers::state_file(uploading, state).unwrap())
        .to_vec();

    Target::new(seeds, |input| {
        let plain = outcome(&parsers::state(input));

        let repaired = repair::tail_sum(input);
        let parsed = parsers::state(&repaired);

        if let Ok(again) = &parsed {
            assert_eq!(again.len() >= 8, repaired.len() >= 8);
            assert!(
                parsers::state(again).is_ok(),
                "the parsed state cannot be read again"
            );
        }

        format!("{plain} {}", outcome(&parsed))
    })
    .with_words(&[
        "PIRSTATE",
        "\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}\u{0}",
        "\u{1}",
    ])
}

/// Blinded elements for set intersection, evaluated under a key.
pub(super) fn blinded() -> Target {
    let rng = &mut super::schemes::rng();
    let key = papir_lookup::oprf::Key::generate(rng).unwrap();
    let (_, sent) = papir_lookup::oprf::Blinding::new(&["a", "b"], rng).unwrap();
    Target::new(vec![sent], move |input| {
        let evaluated = key.evaluate(input);
        assert!(
            evaluated
                .as_ref()
                .is_ok_and(|bytes| bytes.len() == input.len())
                || evaluated.is_err()
        );
        outcome(&evaluated)
    })
}
