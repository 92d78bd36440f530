//! Connections to several servers of one database.

use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use papir_checkpoint::{Kind, SigningKey};
use papir_client::{CheckpointSettings, Error, ErrorGroup, Options, Pin};
use papir_core::{NoProgress, Run};
use papir_lookup::Error as LookupError;
use papir_server::ServerConfig;
use papir_store::{Sign, sign};
use tempfile::TempDir;

use crate::support::files::{build, build_signed, owner, serving};
use crate::support::memory::Memory;
use crate::support::tap::{Tap, Verdict, header};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{Running, key, own_address, rng, stateless, value};
use crate::verifiable;

const START: u64 = 1_800_000_000;

over_both_transports!(
    a_server_that_stops_is_passed_over,
    a_client_moves_to_a_newer_version_with_a_fresh_query,
    a_server_that_is_behind_is_passed_over,
    a_server_of_another_owner_is_passed_over,
    a_server_without_the_required_sequence_is_passed_over,
    a_server_with_another_root_is_passed_over,
    a_server_whose_database_has_another_name_is_passed_over,
    a_silent_server_leaves_time_for_the_others,
    the_error_names_all_servers,
    clients_that_would_believe_any_server_are_refused,
    the_choice_of_a_server_does_not_depend_on_the_keys,
    an_answer_that_does_not_verify_leads_to_no_other_server,
);

/// A client with its own storage, which tries no server again.
pub(crate) fn options() -> Options {
    let checkpoint = CheckpointSettings {
        catch_up: Some(Duration::ZERO),
        ..CheckpointSettings::default()
    };
    Options {
        allow_not_private: true,
        no_cache: true,
        checkpoint,
        storage: Some(Arc::new(Memory::default())),
        patience: Some(Duration::ZERO),
        ..Options::default()
    }
}

/// Builds versions of the signed database `words`, each in its own folder, with these values.
fn versions(directory: &Path, salts: &[&str]) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> = Vec::new();
    for (number, salt) in (0..).zip(salts) {
        let folder = directory.join(format!("{number}"));
        fs::create_dir(&folder).unwrap();
        // The log of the former version is continued.
        if let Some(former) = files.last() {
            fs::copy(former, folder.join("words.papir")).unwrap();
        }
        let time = START + 60 * number;
        files.push(build_signed(&folder, "words.papir", salt, time));
    }
    files
}

/// Builds a database `words` that another owner of this name has signed.
fn of_a_stranger(directory: &Path, name: &str) -> PathBuf {
    let path = build(directory, "words.papir", 50, "z");
    let name = name.parse().unwrap();
    let stranger = Sign {
        time: Some(START),
        ..Sign::new(SigningKey::generate(name, Kind::Note, &mut rng()))
    };
    sign(&path, &stranger, &mut Run::new(&mut rng(), &NoProgress)).unwrap();
    path
}

/// Serves a file at an address where nothing else listens later.
fn serve(file: &Path) -> Running {
    let config = ServerConfig {
        listen: own_address(),
        ..serving(&[file])
    };
    Running::start_files(config).unwrap()
}

fn assert_value<C: AnyConnection>(connection: &mut C, salt: &str) {
    let found = connection.get_key(&key(7)).unwrap();
    assert_eq!(found, Some(value(7, salt)));
}

fn a_server_that_stops_is_passed_over<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let files = versions(directory.path(), &["a"]);
    let first = serve(&files[0]);
    let second = serve(&files[0]);
    let urls = [first.url(), second.url()];

    let mut connection = C::open_any(&urls, &options()).unwrap();
    assert_value(&mut connection, "a");
    assert_eq!(connection.server(), urls[0]);
    let fetched = connection.costs().public_bytes;

    first.finish();
    for _ in 0..3 {
        assert_value(&mut connection, "a");
        assert_eq!(connection.server(), urls[1]);
    }
    let again = connection.costs().public_bytes;
    assert_eq!(again, fetched, "the same version is not fetched again");

    let mut late = C::open_any(&urls, &options()).unwrap();
    assert_value(&mut late, "a");
    assert_eq!(late.server(), urls[1]);
}

fn a_client_moves_to_a_newer_version_with_a_fresh_query<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let files = versions(directory.path(), &["a", "b"]);
    let old = serve(&files[0]);
    let new = serve(&files[1]);
    let urls = [old.url(), new.url()];

    let mut connection = C::open_any(&urls, &options()).unwrap();
    assert_value(&mut connection, "a");
    old.finish();
    assert_value(&mut connection, "b");
    assert_eq!(connection.server(), urls[1]);
}

fn a_server_that_is_behind_is_passed_over<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let files = versions(directory.path(), &["a", "b"]);
    let old = serve(&files[0]);
    let new = serve(&files[1]);
    let urls = [old.url(), new.url()];

    // Seen at the other server only, whose pins hold for both.
    let options = options();
    C::open_with(&urls[1], &options).unwrap();
    let mut connection = C::open_any(&urls, &options).unwrap();
    assert_value(&mut connection, "b");
    assert_eq!(connection.server(), urls[1]);

    new.finish();
    let error = connection.get_key(&key(7)).unwrap_err().to_string();
    for part in [urls[0].as_str(), &urls[1], "sequence 0, but sequence 1"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

fn a_server_of_another_owner_is_passed_over<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let files = versions(directory.path(), &["a"]);
    let strange = of_a_stranger(directory.path(), "example.org/stranger");
    let servers = [serve(&strange), serve(&files[0]), serve(&strange)];
    let urls = servers.each_ref().map(Running::url);

    let mut given = options();
    given.checkpoint.owner = Some(owner().public());
    // The one that was pinned at its first use, at one server only.
    let pinned = options();
    C::open_with(&urls[1], &pinned).unwrap();

    for options in [given, pinned.clone()] {
        let mut connection = C::open_any(&urls, &options).unwrap();
        assert_value(&mut connection, "a");
        assert_eq!(connection.server(), urls[1]);
    }

    // The pin of a server that is away holds for the others, and the error says whose it is.
    let [_before, good, _after] = servers;
    good.finish();
    let folder = TempDir::new().unwrap();
    let namesake = serve(&of_a_stranger(folder.path(), "PeterNeumann"));
    let both = [namesake.url(), urls[1].clone()];
    let error = C::open_any(&both, &pinned).err().unwrap().to_string();
    let pinned_of = format!("which is pinned of {}", urls[1]);
    assert_eq!(error.matches(&pinned_of).count(), 1, "{error}");

    let mut given = options();
    given.checkpoint.owner = Some(owner().public());
    let strangers = [urls[0].clone(), urls[2].clone()];
    let error = C::open_any(&strangers, &given).err().unwrap();
    assert_eq!(error.group(), ErrorGroup::Verification);
    let text = error.to_string();
    for part in [urls[0].as_str(), &urls[2], "example.org/stranger"] {
        assert!(text.contains(part), "{part}: {text}");
    }
}

fn a_server_without_the_required_sequence_is_passed_over<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let files = versions(directory.path(), &["a", "b"]);
    let servers = [serve(&files[0]), serve(&files[1]), serve(&files[0])];
    let urls = servers.each_ref().map(Running::url);
    let mut options = options();
    options.checkpoint.sequence = Some(1);

    let mut connection = C::open_any(&urls, &options).unwrap();
    assert_value(&mut connection, "b");
    assert_eq!(connection.server(), urls[1]);

    let old = [urls[0].clone(), urls[2].clone()];
    let error = C::open_any(&old, &options).err().unwrap().to_string();
    let refusals = error.matches("sequence 0: expected at least 1").count();
    assert_eq!(refusals, 2, "{error}");
}

fn a_server_with_another_root_is_passed_over<C: AnyConnection>() {
    let (other, _) = verifiable::serve("honest", "b");
    let (good, root) = verifiable::serve("honest", "a");
    let urls = [other.url(), good.url()];

    let given = verifiable::trusting(root);
    // The one that was pinned at its first use, at one server only.
    let pinned = Options {
        pin: Pin::OwnerAndRoot,
        ..options()
    };
    C::open_with(&urls[1], &pinned).unwrap();

    for options in [given, pinned] {
        let mut connection = C::open_any(&urls, &options).unwrap();
        assert_value(&mut connection, "a");
        assert_eq!(connection.server(), urls[1]);
    }
}

fn a_server_whose_database_has_another_name_is_passed_over<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let files = versions(directory.path(), &["a"]);
    let other = build_signed(directory.path(), "other.papir", "z", START);
    let servers = [serve(&other), serve(&files[0])];
    let urls = servers.each_ref().map(Running::url);

    // Unnamed, so that its name is pinned, at one server only.
    let options = options();
    C::open_with(&urls[1], &options).unwrap();
    let mut connection = C::open_any(&urls, &options).unwrap();
    assert_value(&mut connection, "a");
    assert_eq!(connection.server(), urls[1]);
}

fn a_silent_server_leaves_time_for_the_others<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let files = versions(directory.path(), &["a"]);
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let good = serve(&files[0]);
    let urls = [
        format!("http://{}", silent.local_addr().unwrap()),
        good.url(),
    ];
    let options = Options {
        timeout: Some(Duration::from_secs(8)),
        ..options()
    };

    let mut connection = C::open_any(&urls, &options).unwrap();
    assert_value(&mut connection, "a");
    assert_eq!(connection.server(), urls[1]);
}

fn the_error_names_all_servers<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let files = versions(directory.path(), &["a"]);
    let servers = [serve(&files[0]), serve(&files[0])];
    let urls = servers.each_ref().map(Running::url);
    let mut connection = C::open_any(&urls, &options()).unwrap();
    for server in servers {
        server.finish();
    }

    let errors = [
        C::open_any(&urls, &options()).err().unwrap(),
        connection.get_key(&key(7)).unwrap_err(),
    ];
    for error in errors {
        assert!(matches!(&error, Error::NoServer { failures } if failures.len() == 2));
        assert!(error.is_retryable(), "{error}");
        let text = error.to_string();
        assert!(urls.iter().all(|url| text.contains(url)), "{text}");
    }
}

fn clients_that_would_believe_any_server_are_refused<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let unsigned = build(directory.path(), "words.papir", 50, "a");
    let servers = [serve(&unsigned), serve(&unsigned)];
    let urls = servers.each_ref().map(Running::url);

    let error = C::open_any(&urls, &stateless()).err().unwrap();
    assert_eq!(error.code(), "servers", "{error}");
    let error = C::open_any(&urls, &options()).err().unwrap().to_string();
    assert_eq!(error.matches("has no checkpoint").count(), 2, "{error}");

    // With a single address, it is the address that is trusted.
    let mut connection = C::open_any(&urls[..1], &options()).unwrap();
    assert_value(&mut connection, "a");
}

/// The requests that two servers receive for lookups of these keys, while the first server goes
/// away after the first lookup: their first lines and the lengths of their bodies.
fn observed<C: AnyConnection>(files: &[PathBuf], keys: &[Vec<u8>]) -> [Vec<String>; 2] {
    let servers = [serve(&files[0]), serve(&files[0])];
    let is_away = Arc::new(AtomicBool::new(false));
    let cuts = Arc::clone(&is_away);
    let first = Tap::new(servers[0].address, move |_| {
        match cuts.load(Ordering::SeqCst) {
            true => Verdict::Cut,
            false => Verdict::Pass,
        }
    });
    let second = Tap::passing(servers[1].address);

    let urls = [first.url(), second.url()];
    let mut connection = C::open_any(&urls, &options()).unwrap();
    connection.get_key(&keys[0]).unwrap();
    is_away.store(true, Ordering::SeqCst);
    connection.get_key(&keys[1]).unwrap();
    connection.get_keys(keys).unwrap();

    [first.take(), second.take()].map(|heads| heads.iter().map(|head| summary(head)).collect())
}

/// The first line of a request, and the length of its body.
fn summary(head: &str) -> String {
    let line = head.lines().next().unwrap_or_default();
    format!("{line} {}", header(head, "content-length"))
}

/// The number of queries among requests.
fn queries(requests: &[String]) -> usize {
    let queries = requests.iter().filter(|one| one.starts_with("POST "));
    queries.count()
}

fn the_choice_of_a_server_does_not_depend_on_the_keys<C: AnyConnection>() {
    let directory = TempDir::new().unwrap();
    let files = versions(directory.path(), &["a"]);
    let present: Vec<_> = (0..3).map(key).collect();
    let same = vec![key(3); 3];
    let absent: Vec<_> = (900..903).map(key).collect();

    let [first, second] = observed::<C>(&files, &present);
    assert!(queries(&first) >= 2, "the second one was cut: {first:?}");
    assert_eq!(queries(&second), 2, "{second:?}");
    let public = second.iter().filter(|one| one.contains("/public"));
    assert_eq!(public.count(), 0, "the same version: {second:?}");

    for keys in [same, absent] {
        let observed = observed::<C>(&files, &keys);
        assert_eq!(observed, [first.clone(), second.clone()]);
    }
}

fn an_answer_that_does_not_verify_leads_to_no_other_server<C: AnyConnection>() {
    let (lying, root) = verifiable::serve("lying", "a");
    let (other, _) = verifiable::serve("honest", "a");
    let tap = Tap::passing(other.address);
    let urls = [lying.url(), tap.url()];

    let mut connection = C::open_any(&urls, &verifiable::trusting(root)).unwrap();
    let refused = connection.get_key(&key(1)).unwrap_err();
    let is_wrong = matches!(refused, Error::Lookup(LookupError::NotCommitted));
    assert!(is_wrong, "{refused}");
    assert_eq!(connection.server(), urls[0]);
    assert_eq!(
        tap.take(),
        Vec::<String>::new(),
        "it would tell the servers"
    );
}
