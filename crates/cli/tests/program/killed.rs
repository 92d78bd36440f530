//! Programs killed at any time: publishers, and services in use.
#![cfg(unix)]

use std::cell::RefCell;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::support::{
    Folder, PATIENCE, Service, lasting_address, look_up, papir, program, succeeds,
};

/// Number of kills of each command.
const KILLS: u32 = 10;
/// A command is killed at its start or at one of its first changes, in turn.
const STAGES: u32 = 4;
/// Runs that may end before a change is seen. After them, a command is killed at an earlier change.
const MISSES: u32 = 10;

/// The files under a folder, with their lengths.
fn listing(folder: &Path) -> Vec<(PathBuf, u64)> {
    let mut found = Vec::new();
    // What a running command removes meanwhile is left out.
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        match entry.metadata() {
            Ok(metadata) if metadata.is_dir() => found.extend(listing(&entry.path())),
            Ok(metadata) => found.push((entry.path(), metadata.len())),
            Err(_) => {}
        }
    }
    found.sort();
    found
}

/// Runs a command, and kills it once it has changed the files under a folder as often as `changes`. Returns
/// whether that came before its end.
fn killed(arguments: &[&str], folder: &Path, changes: u32) -> bool {
    let mut before = listing(folder);
    let mut command = program();
    command
        .args(arguments)
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn().unwrap();

    let mut seen = 0;
    while seen < changes && child.try_wait().unwrap().is_none() {
        let now = listing(folder);
        seen += u32::from(now != before);
        before = now;
    }
    child.kill().unwrap();

    let status = child.wait().unwrap();
    assert!(
        status.success() || status.signal().is_some(),
        "papir {arguments:?}: {status}"
    );
    !status.success()
}

/// Kills a command again and again while it changes the files under a folder, and repeats it to its end each
/// time. `prepare` makes the next change and returns the command; the checks run after a kill and after the
/// repetition. Returns the number of the last change.
fn kill_and_repeat(
    folder: &Path,
    prepare: impl Fn(u32) -> Vec<String>,
    after_kill: impl Fn(),
    at_end: impl Fn(),
) -> u32 {
    let mut number = 0;
    let mut kills = 0;
    let mut misses = 0;
    loop {
        let command = prepare(number);
        let command: Vec<&str> = command.iter().map(String::as_str).collect();
        // The first run makes the version that the checks expect after a kill.
        if number > 0 {
            let changes = (kills % STAGES).saturating_sub(misses / MISSES);
            let is_killed = killed(&command, folder, changes);
            (kills, misses) = if is_killed {
                (kills + 1, 0)
            } else {
                (kills, misses + 1)
            };
            after_kill();
        }

        succeeds(&command);
        at_end();
        if kills == KILLS {
            return number;
        }
        number += 1;
    }
}

#[test]
fn an_update_killed_at_any_time_leaves_the_old_or_the_new_file() {
    let folder = Folder::new();
    let words = folder.words(300, "simple");
    let before = RefCell::new(Vec::new());
    let update = |number: u32| {
        *before.borrow_mut() = fs::read(&words).unwrap();
        let changes = folder.write(
            "changes.csv",
            format!("word,meaning\nkey-3,changed-{number}\n"),
        );
        ["update", &words, "--from", &changes, "--keep", "2"]
            .map(str::to_owned)
            .to_vec()
    };
    let whole = || {
        if fs::read(&words).unwrap() != *before.borrow() {
            // Checks every checksum, and all that a service needs.
            let output = papir(&["serve", "--check-config", &words]);
            assert!(
                output.status.success(),
                "{}",
                String::from_utf8_lossy(&output.stderr)
            );
        }
    };
    let unfinished = || {
        folder
            .names()
            .into_iter()
            .find(|name| name.starts_with('.'))
    };
    let place = folder.path("");
    let last = kill_and_repeat(Path::new(&place), update, whole, || {
        assert_eq!(unfinished(), None)
    });
    let service = Service::start(&[&words], &[]);
    assert_eq!(
        succeeds(&["get", &service.url, "key-3"]),
        format!("changed-{last}")
    );
}

#[cfg(feature = "cloud")]
#[test]
fn a_push_killed_at_any_time_leaves_the_old_or_the_new_version() {
    let folder = Folder::new();
    let store = Folder::new();
    let url = format!("file://{}", store.path("words.papir"));
    let copy = folder.path("copy.papir");
    let versions = RefCell::new([Vec::new(), Vec::new()]);
    let push = |number: u32| {
        let words = folder.words(300 + number as usize, "simple");
        versions.borrow_mut().rotate_left(1);
        versions.borrow_mut()[1] = fs::read(&words).unwrap();
        ["push", &words, &url].map(str::to_owned).to_vec()
    };
    let pulled = || {
        let _ = fs::remove_file(&copy);
        succeeds(&["pull", &url, &copy]);
        fs::read(&copy).unwrap()
    };
    let one_of_both = || assert!(versions.borrow().contains(&pulled()), "neither version");
    let newest = || assert!(pulled() == versions.borrow()[1], "the new version");
    let place = store.path("");
    kill_and_repeat(Path::new(&place), push, one_of_both, newest);
    let cache = folder.path("cache");
    let service = Service::start(&[&url], &["--cache", &cache]);
    assert_eq!(succeeds(&["get", &service.url, "key-305"]), "value-305");
    let listed = succeeds(&["versions", &service.url]);
    assert_eq!(
        listed.lines().count(),
        2,
        "the version before is there, too: {listed}"
    );
}

/// A query that a relay passed on. `answered` is set once its answer came back.
struct Seen {
    ticket: (String, String),
    query: Vec<u8>,
    answered: bool,
}

/// Passes requests on to a service, and notes the queries.
struct Relay {
    address: String,
    seen: Mutex<Vec<Seen>>,
}

impl Relay {
    /// Runs until the test ends. Returns the relay and its URL.
    fn start(service: &str) -> (Arc<Self>, String) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let relay = Arc::new(Self {
            address: service.to_owned(),
            seen: Mutex::default(),
        });
        let shared = Arc::clone(&relay);
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                // A connection that breaks is the client's to try again.
                let _ = stream.and_then(|stream| shared.pass(stream));
            }
        });
        (relay, url)
    }

    /// Waits for a service that is starting, as a balancer does.
    fn connect(&self) -> std::io::Result<TcpStream> {
        let begin = Instant::now();
        loop {
            match TcpStream::connect(&self.address) {
                Err(_) if begin.elapsed() < PATIENCE => sleep(Duration::from_millis(10)),
                connected => return connected,
            }
        }
    }

    /// Passes on one request and its response, and closes the connection.
    fn pass(&self, mut client: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(client.try_clone()?);
        let mut head = String::new();
        while reader.read_line(&mut head)? > 0 && !head.ends_with("\r\n\r\n") {}
        let field = |name: &str| {
            let mut fields = head.lines().filter_map(|line| line.split_once(':'));
            fields
                .find(|(found, _)| found.eq_ignore_ascii_case(name))
                .map(|(_, text)| text.trim().to_owned())
        };
        let mut query = vec![0; field("content-length").map_or(0, |text| text.parse().unwrap())];
        reader.read_exact(&mut query)?;
        let kept = head
            .lines()
            .filter(|line| !line.to_ascii_lowercase().starts_with("connection:"));
        let kept: Vec<&str> = kept.take_while(|line| !line.is_empty()).collect();
        let mut server = self.connect()?;
        server
            .write_all(format!("{}\r\nconnection: close\r\n\r\n", kept.join("\r\n")).as_bytes())?;
        server.write_all(&query)?;
        let mut reply = Vec::new();
        let read = server.read_to_end(&mut reply);
        if let Some(ticket) = field("papir-client").zip(field("papir-ticket")) {
            let answered = reply.starts_with(b"HTTP/1.1 200");
            self.seen.lock().unwrap().push(Seen {
                ticket,
                query,
                answered,
            });
        }
        read?;
        client.write_all(&reply)
    }
}

/// Looks keys up as two clients, one after the other, each of which opens its state twice.
fn look_up_twice(url: &str, folder: &Folder) {
    for round in 0..4 {
        look_up(url, folder.path(&format!("state-{}", round / 2)), 3);
    }
}

/// Clients register and use tickets of a service that is killed again and again.
#[test]
#[ignore = "long"]
fn a_killed_service_loses_no_lookup_and_answers_no_ticket_twice() {
    let folder = Folder::new();
    let words = folder.words(20, "zip");
    let address = lasting_address();
    let registry = folder.path("registry");
    let serve = || Service::start(&[&words], &["--listen", &address, "--registry", &registry]);
    let mut service = Some(serve());
    let (relay, url) = Relay::start(&address);
    let mut delay = Duration::from_millis(100);
    let mut kills = 0;
    scope(|scope| {
        let client = scope.spawn(|| look_up_twice(&url, &folder));
        while !client.is_finished() {
            sleep(delay);
            // Killed when dropped.
            drop(service.take());
            service = Some(serve());
            (delay, kills) = (delay * 5 / 4, kills + 1);
        }
        client.join().expect("every lookup succeeds");
    });
    assert!(kills > 1, "{kills}");
    let seen = relay.seen.lock().unwrap();
    let answered: Vec<&Seen> = seen.iter().filter(|one| one.answered).collect();
    assert!(answered.len() >= 12, "{} answers", answered.len());
    for one in &answered {
        let twice = answered
            .iter()
            .any(|other| other.ticket == one.ticket && other.query != one.query);
        assert!(
            !twice,
            "two queries were answered with the ticket {:?}",
            one.ticket
        );
    }
}
