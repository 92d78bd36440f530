//! Services that restart during an update answer the version before it.
#![cfg(unix)]

use papir_client::{Connection, Options, Pin};
use rustix::process::Signal;

use crate::support::{Folder, Service, lasting_address, send, succeeds};

/// The arguments of a service, which keeps its address when it restarts.
struct Replica {
    arguments: Vec<String>,
    service: Service,
    /// The state of its clients.
    state: Folder,
}

impl Replica {
    fn new(place: &str, more: &[&str]) -> Self {
        let listen = lasting_address();
        let arguments = [&[place, "--listen", &listen], more].concat();
        let arguments: Vec<String> = arguments.into_iter().map(str::to_owned).collect();
        Self {
            service: Self::start(&arguments),
            arguments,
            state: Folder::new(),
        }
    }

    fn start(arguments: &[String]) -> Service {
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Service::start(&arguments[..1], &arguments[1..])
    }

    fn restart(&mut self) {
        send(Signal::TERM, &self.service);
        assert_eq!(self.service.wait(), Some(0));
        self.service = Self::start(&self.arguments);
    }
}

/// A client of the version that the service now answers. It moves to another version only if the
/// service refuses its own.
fn client(replica: &Replica) -> Connection {
    let state = Some(replica.state.path("").into());
    let options = Options {
        pin: Pin::Nothing,
        state,
        ..Options::default()
    };
    Connection::open_with(&replica.service.url, &options).unwrap()
}

/// The value of `key-15`, which the second version lacks.
fn look_up(client: &mut Connection) -> Option<Vec<u8>> {
    client.get_key(b"key-15").unwrap()
}

/// Two replicas restart one after the other, in the middle of an update.
fn replicas_restart(mut replicas: [Replica; 2], publish: impl FnOnce()) {
    let mut old = replicas.each_ref().map(client);
    publish();
    for replica in &mut replicas {
        replica.restart();
        // The client's query is for the old version: a newer one would say that there is no such key.
        for client in &mut old {
            assert_eq!(look_up(client).as_deref(), Some(&b"value-15"[..]));
        }
        assert_eq!(look_up(&mut client(replica)), None);
    }
    let listed = succeeds(&["versions", &replicas[0].service.url]);
    assert!(
        listed.lines().count() == 2 && listed.contains("answered for"),
        "{listed}"
    );
}

#[cfg(feature = "cloud")]
#[test]
fn a_restarted_replica_of_a_store_answers_the_previous_version() {
    let folder = Folder::new();
    let store = Folder::new();
    let url = format!("file://{}", store.path("words.papir"));
    succeeds(&["push", &folder.words(20, "simple"), &url]);
    let caches = ["first", "second"].map(|name| folder.path(name));
    let replicas = caches
        .each_ref()
        .map(|cache| Replica::new(&url, &["--cache", cache]));
    replicas_restart(replicas, || {
        succeeds(&["push", &folder.words(10, "simple"), &url]);
        // As if the second replica moved to another machine.
        std::fs::remove_dir_all(&caches[1]).unwrap();
    });
    let late = Service::start(&[&url], &["--cache", &caches[1], "--keep-old", "0"]);
    assert_eq!(succeeds(&["versions", &late.url]).lines().count(), 1);
}

#[test]
fn a_restarted_replica_of_a_file_answers_the_version_kept_next_to_it() {
    let folder = Folder::new();
    let words = folder.words(20, "simple");
    let replicas = [Replica::new(&words, &[]), Replica::new(&words, &[])];
    replicas_restart(replicas, || {
        let changes = folder.write("changes.csv", "word,meaning,gone\nkey-15,,yes\n");
        succeeds(&[
            "update",
            &words,
            "--from",
            &changes,
            "--delete-column",
            "gone",
            "--keep",
            "2",
        ]);
    });
    let late = Service::start(&[&words], &["--keep-old", "0"]);
    assert_eq!(succeeds(&["versions", &late.url]).lines().count(), 1);
}
