//! Filters of keys: their route, and clients that use them.

use std::path::Path;

use papir_lookup::Bundle;
use papir_lookup::prefilter::Prefilter;
use papir_server::ServerConfig;
use tempfile::TempDir;

use crate::deltas::publish;
use crate::support::files::{build, build_filtered, serving};
use crate::support::{Running, get, key, send};

fn start(file: &Path) -> Running {
    let config: ServerConfig = serving(&[file]);
    Running::start_files(config).unwrap()
}

#[test]
fn the_filter_that_the_public_part_states_is_served() {
    let folder = TempDir::new().unwrap();
    let file = build_filtered(folder.path(), "words.pir", 300, "a");
    let server = start(&file);
    let url = format!("{}/v1/databases/words", server.url());

    let info = get(&url).json();
    let public = get(&format!("{url}/public"));
    assert_eq!(info["sizes"]["bundle"], public.body.len());
    let bundle = Bundle::decode(&public.body).unwrap();
    let stated = bundle.prefilter.unwrap();
    assert_eq!(info["prefilter"]["bits"], stated.bits);
    assert_eq!(info["prefilter"]["bytes"], stated.bytes);
    let hash = blake3::Hash::from_bytes(stated.hash).to_string();
    assert_eq!(info["prefilter"]["blake3"], hash);

    let reply = get(&format!("{url}/prefilter"));
    assert_eq!(reply.status, 200);
    let version = info["version"].as_str().unwrap();
    assert_eq!(reply.header("papir-version"), Some(version));
    let filter = Prefilter::verified(reply.body, &stated).unwrap();
    let layout = bundle.keyword.unwrap();
    assert!((0..300).all(|number| filter.may_have_vartime(&layout, &key(number))));
    assert!(!filter.may_have_vartime(&layout, b"absent"));

    let tag = format!("\"{version}\"");
    let headers = [("if-none-match", tag.as_str())];
    let confirmed = send("GET", &format!("{url}/prefilter"), &headers, &[]);
    assert_eq!((confirmed.status, confirmed.body.len()), (304, 0));
}

#[test]
fn a_delta_has_its_filter_in_its_public_part() {
    let folder = TempDir::new().unwrap();
    let file = build_filtered(folder.path(), "words.pir", 300, "a");
    let without = start(&file);
    let url = format!("{}/v1/databases/words", without.url());
    let before = get(&format!("{url}/prefilter")).body;
    drop(without);

    publish(&file, "b", &[1], &[2]);
    let server = start(&file);
    let url = format!("{}/v1/databases/words", server.url());
    let info = get(&url).json();
    let delta = info["delta"]["version"].as_str().unwrap();

    // Of either version, the filter is that of the base.
    for address in [
        format!("{url}/prefilter"),
        format!("{url}/prefilter?version={delta}"),
    ] {
        let reply = get(&address);
        assert!(reply.body == before, "{address}");
        assert_eq!(reply.header("papir-version"), info["version"].as_str());
    }
    let part = get(&format!("{url}/public?version={delta}")).body;
    let part = papir_lookup::delta::DeltaPart::decode(&part).unwrap();
    assert_eq!(part.prefilter.unwrap().keys(), 2);
}

#[test]
fn a_database_without_a_filter_has_none() {
    let folder = TempDir::new().unwrap();
    let server = start(&build(folder.path(), "words.pir", 300, "a"));
    let url = format!("{}/v1/databases/words", server.url());
    assert!(get(&url).json().get("prefilter").is_none());

    let reply = get(&format!("{url}/prefilter"));
    assert_eq!((reply.status, reply.code()), (404, "no_prefilter".into()));
    let other = get(&format!("{url}/prefilter?version=0000000000000000"));
    assert_eq!((other.status, other.code()), (409, "wrong_version".into()));
}
