//! NewtonPIR: its flag, lookups, and the attack on it.

use papir_core::envelope;
use papir_research::newton::attack::challenge;
use papir_research::newton::key::SecretKey;

use crate::support::{Folder, Service, fails_with, succeeds};

/// A thousand records of four bytes.
fn source(folder: &Folder) -> String {
    folder.write(
        "numbers.bin",
        (0..1000u32).flat_map(u32::to_le_bytes).collect::<Vec<u8>>(),
    )
}

const RAW: [&str; 4] = ["--format", "raw", "--record-bytes", "4"];

#[test]
fn newton_needs_its_own_flag_to_be_built_served_and_queried() {
    let folder = Folder::new();
    let source = source(&folder);
    let out = folder.path("numbers.papir");
    let build = |scheme, more: &[&'static str]| {
        [
            &["build", &source, "--out", &out, "--scheme", scheme][..],
            &RAW,
            more,
        ]
        .concat()
    };
    for scheme in ["newton", "newtonsym"] {
        for word in [&[][..], &["--insecure-plain"]] {
            fails_with(
                &build(scheme, word),
                &[scheme, "not private", "--insecure-newton"],
            );
        }
    }
    fails_with(
        &build("plain", &["--insecure-newton"]),
        &["--insecure-plain"],
    );
    succeeds(&build("newtonsym", &["--insecure-newton"]));
    assert!(succeeds(&["inspect", &out]).contains("newtonsym (NOT PRIVATE: whoever sees a query"));

    fails_with(
        &["serve", &out, "--listen", "127.0.0.1:0"],
        &["newtonsym", "not private"],
    );
    let service = Service::start(&[&out], &["--insecure-newton"]);
    fails_with(
        &["get", &service.url, "--index", "7"],
        &["no query was sent", "not private"],
    );
    let found = succeeds(&["get", &service.url, "--index", "65", "--insecure-newton"]);
    assert_eq!(found, "A\0\0\0");
}

/// Section 4.3: batches, and records with digests.
#[test]
fn newton_in_batches_and_with_digests_needs_the_same_flag() {
    let folder = Folder::new();
    let source = source(&folder);
    let out = folder.path("numbers.papir");
    let build = |more: &[&'static str]| {
        [
            &["build", &source, "--out", &out, "--scheme", "newtonsym"][..],
            &RAW,
            more,
        ]
        .concat()
    };
    fails_with(
        &build(&["--batch", "8"]),
        &["newtonsym", "not private", "--insecure-newton"],
    );
    succeeds(&build(&["--batch", "8", "--insecure-newton"]));
    assert!(
        succeeds(&["inspect", &out]).contains("newtonsym-batch (NOT PRIVATE: whoever sees a query")
    );
    let service = Service::start(&[&out], &["--insecure-newton"]);
    let wanted = folder.write("wanted.txt", "65\n66\n65\n");
    let get = ["get", &service.url, "--batch", &wanted];
    fails_with(&get, &["no query was sent", "not private"]);
    let found = succeeds(&[&get[..], &["--insecure-newton"]].concat());
    assert!(found.contains('A') && found.contains('B'), "{found}");

    succeeds(&build(&["--params", "digests", "--insecure-newton"]));
    assert!(succeeds(&["inspect", &out]).contains("BLAKE3"));
    let service = Service::start(&[&out], &["--insecure-newton"]);
    assert_eq!(
        succeeds(&["get", &service.url, "--index", "65", "--insecure-newton"]),
        "A\0\0\0"
    );
}

/// Figure 2: a client registers a modulus, and the server prepares its coefficients for that
/// modulus.
#[test]
fn newton_clients_register_their_modulus() {
    let folder = Folder::new();
    let source = source(&folder);
    let out = folder.path("numbers.papir");
    let build = [
        "build",
        &source,
        "--out",
        &out,
        "--scheme",
        "newton",
        "--insecure-newton",
    ];
    succeeds(&[&build[..], &RAW].concat());
    let registry = folder.path("registry");
    let state = folder.path("state");
    let service = Service::start(
        &[&out],
        &[
            "--insecure-newton",
            "--registry",
            &registry,
            "--tickets-ahead",
            "1",
        ],
    );
    let get = |index: &str| {
        succeeds(&[
            "get",
            &service.url,
            "--index",
            index,
            "--state",
            &state,
            "--insecure-newton",
        ])
    };
    assert_eq!([get("65"), get("1")], ["A\0\0\0", "\u{1}\0\0\0"]);
}

#[test]
fn indices_are_recovered_from_queries() {
    let text = succeeds(&["attack", "newton", "--records", "1000", "--trials", "3"]);
    assert!(
        text.starts_with("3 of 3 indices of 1000 recovered"),
        "{text}"
    );
    let json = succeeds(&[
        "attack",
        "newton",
        "--records",
        "10",
        "--trials",
        "1",
        "--json",
    ]);
    let report: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(
        (&report["recovered"], &report["queries"]),
        (&1.into(), &1.into())
    );

    let folder = Folder::new();
    let rng = &mut papir::system_rng();
    let (index, query) = challenge(&SecretKey::generate(2048, rng).unwrap(), 5000, rng).unwrap();
    let header = envelope::Header {
        kind: envelope::Kind::Query,
        scheme: 9,
        version: papir_core::Version([1; 8]),
    };
    let sealed = folder.write("sealed.bin", envelope::seal(&header, &query));
    let bare = folder.write("bare.bin", query);
    for file in [&sealed, &bare] {
        let found = succeeds(&["attack", "newton", "--query", file, "--records", "5000"]);
        assert_eq!(found, format!("{index}\n"));
    }
    if index > 0 {
        let few = index.to_string();
        fails_with(
            &["attack", "newton", "--query", &bare, "--records", &few],
            &["none of the indices"],
        );
    }
    let none = folder.write("none.bin", [0; 100]);
    fails_with(&["attack", "newton", "--query", &none], &["malformed"]);
}
