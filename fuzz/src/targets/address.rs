//! Addresses, and the JSON description of databases.

use papir_client::parsers;
use papir_store::remote::{Location, Settings};

use crate::{Target, outcome};

/// Addresses of services and of object stores.
pub(super) fn address() -> Target {
    let seeds = [
        "http://127.0.0.1:7470",
        "https://host.example/pir/v1/databases/words/public",
        "s3://bucket/some/where.papir",
        "file:///data/words.papir",
    ];

    Target::new(
        seeds.map(|text| text.as_bytes().to_vec()).to_vec(),
        |input| {
            let text = String::from_utf8_lossy(input);
            let service = parsers::address(&text);
            if let Ok(url) = &service {
                assert!(
                    url.starts_with("http") && !url.contains(char::is_whitespace),
                    "{url:?}"
                );
            }

            let store = Location::parse(&text, Some("words.papir"), Settings::default());
            if let Ok(location) = &store {
                let shown = location.to_string();
                let (_, path) = shown.split_once("://").unwrap();
                assert!(
                    !path.split('/').any(|part| part == ".." || part == "."),
                    "{shown:?}"
                );
                assert!(
                    !location.name().is_empty() && !location.name().contains('/'),
                    "{shown:?}"
                );
            }

            format!("{} {}", outcome(&service), outcome(&store))
        },
    )
    .with_words(&[
        "://",
        "/v1/databases",
        "..",
        "/",
        "%2e%2e",
        "?",
        "#",
        "@",
        "s3://",
        "file:///",
        " ",
    ])
}

/// The JSON description of a database.
pub(super) fn info() -> Target {
    let database = r#"{"name":"words","scheme":"plain","version":"0102030405060708","records":5,
        "record_bits":8,"keyed":true,"lookups_per_key":1,"max_batch":64,"private":true,"sizes":{"bundle":1,
        "public":1,"hint":0,"keys":0,"query":1,"answer":1,"database":1,"material":0},"security_bits":128.5,
        "failure_log2":null,"parameters":{"a":"b"}}"#;
    let list = r#"{"databases":[{"name":"words","scheme":"plain","version":"0102030405060708","records":5,
        "record_bits":8,"keyed":true}]}"#;
    let refusal = r#"{"type":"urn:papir:problem:busy","title":"Busy","status":429,"detail":"later",
        "code":"busy","retryable":true}"#;

    let seeds = [database, list, refusal]
        .map(|text| text.as_bytes().to_vec())
        .to_vec();

    Target::new(seeds, |input| outcome(&parsers::json(input))).with_words(&[
        "null",
        "[[[[[[",
        "{\"",
        "1e999",
        "\\ud800",
        "\"name\":",
        "-1",
        "\"sizes\":{",
    ])
}
