//! Signed databases: their checkpoints are served and change with the version.

use std::path::Path;

use crate::support::files::{build, build_signed, owner, serving};
use crate::support::{Running, get, key, rng, value};
use papir_checkpoint::{Log, Note, Policy, Proof};
use papir_client::{Connection, Options};
use papir_core::{NoProgress, Run};
use papir_server::{DatabaseConfig, Error, ServerConfig};
use papir_store::{Sign, sign};
use tempfile::TempDir;

const START: u64 = 1_800_000_000;

fn address(server: &Running, path: &str) -> String {
    format!("{}/v1/databases/words{path}", server.url())
}

/// Checks what a service shows as a client would that pins the owner's key. Returns the sequence
/// and the version.
fn accepted(server: &Running) -> (u64, String) {
    let reply = get(&address(server, "/checkpoint/proof"));
    let proof = Proof::parse(&reply.body).unwrap();
    let public = get(&address(server, "/public"));
    let owner = owner().public();
    let accepted = Policy::new(&owner, "words", START).accept(&proof).unwrap();
    accepted.leaf.check_public_part(&public.body).unwrap();
    let version = reply.header("papir-version").unwrap().to_owned();
    assert_eq!(Some(version.as_str()), public.header("papir-version"));
    let note = Note::parse(&get(&address(server, "/checkpoint")).body).unwrap();
    assert_eq!(note, proof.note);
    let log = Log::decode(&get(&address(server, "/checkpoint/log")).body).unwrap();
    assert_eq!((log.note(), log.newest().unwrap()), (&note, &accepted.leaf));
    let info = get(&address(server, "")).json();
    assert_eq!(
        info["checkpoint"]["sequence"].as_u64(),
        Some(accepted.seen.sequence)
    );
    assert_eq!(
        info["checkpoint"]["time"].as_u64(),
        Some(accepted.leaf.time)
    );
    (accepted.seen.sequence, version)
}

#[test]
fn checkpoints_change_together_with_the_version() {
    let directory = TempDir::new().unwrap();
    let path = build_signed(directory.path(), "words.papir", "old", START);
    let server = Running::start_files(serving(&[&path])).unwrap();
    let (sequence, first) = accepted(&server);
    assert_eq!(sequence, 0);
    let tag = get(&address(&server, "/checkpoint"))
        .header("etag")
        .unwrap()
        .to_owned();
    build_signed(directory.path(), "words.papir", "new", START + 60);
    reload(&server);
    let (sequence, second) = accepted(&server);
    assert_eq!(sequence, 1);
    assert_ne!(first, second);
    assert_ne!(
        get(&address(&server, "/checkpoint")).header("etag"),
        Some(tag.as_str())
    );
}

fn reload(server: &Running) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    let reloaded = runtime
        .block_on(server.handle.reload())
        .unwrap()
        .pop()
        .unwrap();
    assert!(reloaded.outcome.is_ok(), "{reloaded:?}");
}

#[test]
fn a_version_that_is_signed_again_keeps_its_clients() {
    let directory = TempDir::new().unwrap();
    let path = build_signed(directory.path(), "words.papir", "a", START);
    let server = Running::start_files(serving(&[&path])).unwrap();
    let before = accepted(&server);
    let state = Some(directory.path().join("state"));
    let options = Options {
        allow_not_private: true,
        state,
        ..Options::default()
    };
    let mut connection = Connection::open_with(&server.url(), &options).unwrap();
    let again = Sign {
        time: Some(START + 60),
        ..Sign::new(owner())
    };
    sign(&path, &again, &mut Run::new(&mut rng(), &NoProgress)).unwrap();
    reload(&server);
    assert_eq!(accepted(&server), (before.0 + 1, before.1));
    // The version is the same: queries need no new public part.
    let fetched = connection.costs().public_bytes;
    assert_eq!(connection.get_key(&key(7)).unwrap(), Some(value(7, "a")));
    assert_eq!(connection.costs().public_bytes, fetched);
}

#[test]
fn databases_without_a_checkpoint_say_so() {
    let directory = TempDir::new().unwrap();
    let path = build(directory.path(), "words.papir", 50, "a");
    let server = Running::start_files(serving(&[&path])).unwrap();
    for form in ["", "/proof", "/log"] {
        let reply = get(&address(&server, &format!("/checkpoint{form}")));
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (404, "no_checkpoint")
        );
    }
    assert!(
        get(&address(&server, ""))
            .json()
            .get("checkpoint")
            .is_none()
    );
    let unknown = get(&format!("{}/v1/databases/other/checkpoint", server.url()));
    assert_eq!(unknown.code(), "unknown_database");
}

fn serve_as(path: &Path, name: &str) -> Result<Running, Error> {
    let databases = vec![DatabaseConfig::new(path, Some(name.to_owned()))];
    Running::start_files(ServerConfig {
        databases,
        ..serving(&[])
    })
}

#[test]
fn a_signed_database_is_served_under_its_own_name_only() {
    let directory = TempDir::new().unwrap();
    let path = build_signed(directory.path(), "words.papir", "a", START);
    assert!(serve_as(&path, "words").is_ok());
    let error = serve_as(&path, "other").err().unwrap().to_string();
    assert!(
        error.contains("the checkpoint is for the database `words`: expected `other`"),
        "{error}"
    );
}

/// The limits of the interface hold every proof and log.
#[test]
fn limits_fit_the_formats() {
    assert_eq!(
        papir_protocol::limit::CHECKPOINT_BYTES,
        papir_checkpoint::MAX_PROOF_BYTES as u64
    );
    assert_eq!(
        papir_protocol::limit::LOG_BYTES,
        papir_checkpoint::MAX_LOG_BYTES
    );
}
