//! Lookups at two servers of one database, of which one or both are away or behind.
#![cfg(unix)]

use std::collections::BTreeSet;
use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use papir_client::{CheckpointSettings, Connection, Options, aio, ready};
use tokio::runtime::Builder;

use crate::replicas::Stop;
use crate::signing::{OPEN, build, keygen, serve_at};
use crate::support::{
    Folder, PATIENCE, Service, fails_for_now, fails_with, lasting_address, papir, succeeds,
};

/// The key that the tests look up, and its value.
const KEY: &str = "key-7";

/// `papir get` of a key at two servers, with this state and further arguments.
fn get<'a>(urls: [&'a str; 2], state: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let [first, second] = urls;
    let get = ["get", first, "--also", second, OPEN, KEY, "--state", state];
    [&get[..], more].concat()
}

#[test]
fn a_lookup_goes_to_the_server_that_is_there() {
    let folder = Folder::new();
    let state = folder.path("state");
    let (owner, public) = keygen(&folder, "owner.key");
    let words = build(&folder, "words.papir", "a", &["--sign", &owner]);
    let addresses = [lasting_address(), lasting_address()];
    let urls = addresses
        .each_ref()
        .map(|address| format!("http://{address}"));
    let urls = [urls[0].as_str(), &urls[1]];
    let trust = ["--owner-pub", &public];

    let first = serve_at(&addresses[0], &words);
    let second = serve_at(&addresses[1], &words);
    assert_eq!(succeeds(&get(urls, &state, &trust)), "a-7");
    drop(first);
    assert_eq!(succeeds(&get(urls, &state, &[])), "a-7");
    drop(second);
    let away = get(urls, &state, &["--json"]);
    fails_for_now(&away, &["none of the 2 servers", urls[0], urls[1]]);

    // No key, no pin and no signature: any server could answer for both.
    let unsigned = build(&folder, "unsigned.papir", "b", &[]);
    let others = [lasting_address(), lasting_address()];
    let servers = others.each_ref().map(|listen| serve_at(listen, &unsigned));
    let urls = [servers[0].url.as_str(), &servers[1].url];
    fails_with(
        &get(urls, &folder.path("other"), &[]),
        &[urls[0], urls[1], "no checkpoint"],
    );
}

#[test]
fn a_required_sequence_passes_over_a_server_that_is_behind() {
    let folder = Folder::new();
    let state = folder.path("state");
    let (owner, _) = keygen(&folder, "owner.key");
    let old = build(&folder, "old.papir", "a", &["--sign", &owner]);
    let new = folder.path("new.papir");
    fs::copy(&old, &new).unwrap();
    build(&folder, "new.papir", "b", &["--sign", &owner]);

    let behind = serve_at(&lasting_address(), &old);
    let current = serve_at(&lasting_address(), &new);
    let urls = [behind.url.as_str(), &current.url];
    let required = ["--sequence", "1", "--catch-up", "0s"];
    assert_eq!(succeeds(&get(urls, &state, &required)), "b-7");

    let single = ["get", urls[0], OPEN, KEY, "--state", &state];
    let refused = [&single[..], &required].concat();
    fails_with(&refused, &["sequence 0: expected at least 1 (--sequence)"]);
}

/// Builds a signed database `words.papir`, whose clients register and use tickets.
fn build_with_tickets(folder: &Folder) {
    let (owner, _) = keygen(folder, "owner.key");
    let rows: String = (0..60).map(|i| format!("key-{i},a-{i}\n")).collect();
    let source = folder.write("words.csv", format!("word,meaning\n{rows}"));
    let words = folder.path("words.papir");
    let table = ["build", &source, "--out", &words, "--key", "word"];
    let scheme = ["--value", "meaning", "--scheme", "zip", "--room", "10"];
    let goal = ["--goal", "min-communication", "--sign", &owner];
    succeeds(&[&table[..], &scheme, &goal].concat());
}

/// Serves the database of [`build_with_tickets`] at this address, with the registry of this number.
fn serve_clients(folder: &Folder, number: usize, address: &str) -> Service {
    let words = folder.path("words.papir");
    let registry = folder.path(&format!("registry-{number}"));
    let keys = ["--registry", &registry, "--tickets-ahead", "1"];
    let more = ["--list-clients", "--listen", address];
    Service::start(&[&words], &[&keys[..], &more].concat())
}

/// The number of clients that are registered with a service.
fn clients_of(service: &Service) -> usize {
    let listed = succeeds(&["clients", &service.url, "list"]);
    listed.matches("registered").count()
}

/// The registration at one server is of no use at another: the client registers with each. Takes
/// seconds with AVX-512 and longer without: a client with two 3,072-bit keys makes three lookups.
#[test]
fn a_registered_client_registers_with_each_server() {
    let folder = Folder::new();
    let state = folder.path("state");
    build_with_tickets(&folder);
    let addresses = [lasting_address(), lasting_address()];
    let first = serve_clients(&folder, 0, &addresses[0]);
    let second = serve_clients(&folder, 1, &addresses[1]);
    let [one, two] = [first.url.clone(), second.url.clone()];

    assert_eq!(succeeds(&get([&one, &two], &state, &[])), "a-7");
    drop(first);
    assert_eq!(succeeds(&get([&one, &two], &state, &[])), "a-7");
    let first = serve_clients(&folder, 0, &addresses[0]);
    assert_eq!(succeeds(&get([&one, &two], &state, &[])), "a-7");
    for service in [&first, &second] {
        assert_eq!(clients_of(service), 1);
    }
}

/// Keys that are sent ahead go to the server that lookups use. Takes seconds with AVX-512 and
/// longer without, for the same reason.
#[test]
fn keys_are_sent_ahead_to_the_server_that_is_there() {
    let folder = Folder::new();
    build_with_tickets(&folder);
    let addresses = [lasting_address(), lasting_address()];
    let first = serve_clients(&folder, 0, &addresses[0]);
    let second = serve_clients(&folder, 1, &addresses[1]);
    let urls = [first.url.clone(), second.url.clone()];

    // The first server goes away after the connection is open.
    let options = Options {
        state: Some(folder.path("state").into()),
        patience: Some(PATIENCE),
        ..Options::default()
    };
    let mut connection = Connection::open_any(&urls, &options).unwrap();
    assert_eq!(connection.address().base(), urls[0]);
    drop(first);
    assert_eq!(connection.hold_ahead(1).unwrap(), 1);
    assert_eq!(connection.address().base(), urls[1]);

    // It is away from the start.
    let state = folder.path("other");
    let hold = ["hold", &urls[0], "--also", &urls[1], "--state", &state];
    assert_eq!(succeeds(&hold).trim(), "1 lookup(s) prepared");
    assert_eq!(clients_of(&second), 2);
    let held = get([&urls[0], &urls[1]], &state, &[]);
    assert_eq!(succeeds(&held), "a-7");
    assert_eq!(clients_of(&second), 2, "the lookup registered again");

    let first = serve_clients(&folder, 0, &addresses[0]);
    assert_eq!(succeeds(&held), "a-7");
    assert_eq!(clients_of(&first), 1, "it registers with each");
}

#[test]
fn an_address_twice_is_refused() {
    let urls = ["http://127.0.0.1:1", "http://127.0.0.1:1/"];
    let [first, second] = urls;
    let commands = [
        get(urls, "state", &[]),
        vec!["hold", first, "--also", second],
    ];
    for command in commands {
        let output = papir(&command);
        let stderr = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{stderr}");
        assert!(stderr.contains("given twice"), "{stderr}");
    }
}

/// The kills of two servers in turn.
#[derive(Clone, Copy)]
struct Rhythm {
    /// The time from one kill to the next. The server is away for half of it.
    period: Duration,
    kills: usize,
}

/// The lookups of a client, and the servers that it used.
#[derive(Default)]
struct Lookups {
    count: usize,
    servers: BTreeSet<String>,
}

impl Lookups {
    fn note(&mut self, found: papir_client::Result<Option<Vec<u8>>>, server: &str) {
        assert_eq!(found.unwrap().as_deref(), Some(&b"a-7"[..]));
        self.count += 1;
        self.servers.insert(server.to_owned());
    }
}

/// Looks a key up again and again over one blocking connection.
fn look_up(urls: &[String], options: &Options, done: &AtomicBool) -> Lookups {
    let mut lookups = Lookups::default();
    let mut connection = Connection::open_any(urls, options).unwrap();
    while !done.load(Ordering::SeqCst) {
        let found = connection.get_key(KEY.as_bytes());
        lookups.note(found, connection.address().base());
    }
    lookups
}

/// Looks a key up again and again over one asynchronous connection.
fn look_up_async(urls: &[String], options: &Options, done: &AtomicBool) -> Lookups {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut lookups = Lookups::default();
        let mut connection = aio::Connection::open_any(urls, options).await.unwrap();
        while !done.load(Ordering::SeqCst) {
            let found = connection.get_key(KEY.as_bytes()).await;
            lookups.note(found, connection.address().base());
        }
        lookups
    })
}

/// Kills the servers in turn, and starts each again, while two clients look a key up.
fn kill_in_turn(rhythm: Rhythm) {
    let folder = Folder::new();
    let (owner, public) = keygen(&folder, "owner.key");
    let words = build(&folder, "words.papir", "a", &["--sign", &owner]);
    let addresses = [lasting_address(), lasting_address()];
    let urls = addresses
        .each_ref()
        .map(|address| format!("http://{address}"));
    let mut servers = addresses
        .each_ref()
        .map(|address| Some(serve_at(address, &words)));

    let checkpoint = CheckpointSettings {
        owner: Some(public.parse().unwrap()),
        ..CheckpointSettings::default()
    };
    let options = Options {
        allow_not_private: true,
        checkpoint,
        state: Some(folder.path("state").into()),
        patience: Some(PATIENCE),
        ..Options::default()
    };

    let done = AtomicBool::new(false);
    let lookups = scope(|scope| {
        let blocking = scope.spawn(|| look_up(&urls, &options, &done));
        let asynchronous = scope.spawn(|| look_up_async(&urls, &options, &done));
        let stop = Stop(&done);
        for kill in 0..rhythm.kills {
            let number = kill % servers.len();
            servers[number] = None;
            sleep(rhythm.period / 2);
            servers[number] = Some(serve_at(&addresses[number], &words));
            ready(&urls[number], &Options::default()).unwrap();
            sleep(rhythm.period / 2);
        }
        drop(stop);
        [blocking.join().unwrap(), asynchronous.join().unwrap()]
    });

    for client in lookups {
        assert!(client.count > 5 * rhythm.kills, "{}", client.count);
        assert_eq!(client.servers.len(), 2, "{:?}", client.servers);
    }
}

#[test]
fn no_lookup_fails_while_one_of_two_servers_is_killed() {
    kill_in_turn(Rhythm {
        period: Duration::from_secs(3),
        kills: 4,
    });
}

/// Ten minutes.
#[test]
#[ignore = "long"]
fn no_lookup_fails_in_ten_minutes_of_kills() {
    kill_in_turn(Rhythm {
        period: Duration::from_secs(60),
        kills: 10,
    });
}
