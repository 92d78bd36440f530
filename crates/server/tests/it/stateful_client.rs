//! Connections of registered clients: durable state, single use of tickets, and recovery.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use crate::support::clients::{
    SMALL, clients_url, prepared_stateful, registry, start, start_with, stateful,
};
use crate::support::faulty::{Fault, FaultyDatabase};
use crate::support::memory::Memory;
use crate::support::tap::{Tap, Verdict};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::zip::{ZIP, zip};
use crate::support::{self, Running, config, entries, get, key, record, rng, send, until, value};
use papir_client::{Connection, Options, Passphrase, Schemes, StateEntry};
use papir_core::erased::Erased;
use papir_server::{Database, RegistryConfig, ServerConfig};
use papir_testkit::GuardedChild;
use papir_testkit::stateful::{self, Stateful};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

over_both_transports! {
    state_persists_across_connections,
    state_persists_in_a_storage_of_the_application,
    a_client_waits_for_its_tickets_and_uploads_each_query_once,
    the_use_of_a_ticket_is_on_disk_before_a_byte_is_sent,
    of_two_copies_of_a_state_one_is_refused_and_registers_again,
    an_evicted_client_registers_again_by_itself,
    a_new_version_is_followed_with_the_same_keys_if_they_fit,
    a_database_that_changes_while_a_client_registers_is_followed,
    an_interrupted_upload_resumes_with_the_next_connection,
    a_wrong_passphrase_is_reported_and_nothing_is_registered,
    threads_and_connections_share_one_state,
}

static STATEFUL: Erased<Stateful> =
    Erased::allowing_insecure(papir_core::NotPrivate::acknowledged());

/// Options that allow all schemes, with the state in `directory`.
fn options(directory: &Path) -> Options {
    Options {
        allow_not_private: true,
        state: Some(directory.to_owned()),
        schemes: Schemes::and(vec![&STATEFUL, &ZIP]),
        ..Options::default()
    }
}

/// The test scheme and ZipPIR.
fn both() -> [Database; 2] {
    [stateful(SMALL, 1), zip(1)]
}

fn open(url: &str, directory: &Path) -> Connection {
    open_over(url, directory)
}

fn open_over<C: AnyConnection>(url: &str, directory: &Path) -> C {
    let mut connection = C::open_with(url, &options(directory)).unwrap();
    connection.register().unwrap();
    connection
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for file in fs::read_dir(from).unwrap() {
        let file = file.unwrap();
        fs::copy(file.path(), to.join(file.file_name())).unwrap();
    }
}

/// Copies a state as it is in a machine that was restored with its memory: at the same place. A lock
/// file with two names is the same file.
fn copy_with_place(from: &Path, to: &Path) {
    copy(from, to);
    let locks = fs::read_dir(from).unwrap().map(|file| file.unwrap().path());
    for lock in locks.filter(|path| {
        path.extension()
            .is_some_and(|extension| extension == "lock")
    }) {
        let to = to.join(lock.file_name().unwrap());
        fs::remove_file(&to).unwrap();
        fs::hard_link(lock, to).unwrap();
    }
}

fn ids(server: &Running) -> Vec<String> {
    let list = get(&clients_url(server)).json();
    list["clients"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["id"].as_str().unwrap().to_owned())
        .collect()
}

fn state_persists_across_connections<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(registry(&folder.path().join("registry")));
    let tap = Tap::passing(server.address);
    let state = folder.path().join("state");
    for round in 0..3u64 {
        let mut connection = open_over::<C>(&tap.url(), &state);
        assert_eq!(connection.get_index(round).unwrap(), record(round));
        assert_eq!(
            connection.get_indices(&[9, 9]).unwrap(),
            [record(9), record(9)]
        );
    }
    let queries = tap.queries();
    let tickets: Vec<_> = queries
        .iter()
        .map(|(_, tickets)| tickets.as_str())
        .collect();
    assert_eq!(tickets, ["0", "1,2", "3", "4,5", "6", "7,8"]);
    assert!(
        queries.iter().all(|(client, _)| *client == ids(&server)[0]),
        "one registration"
    );
    // More queries than prepared tickets are sent in several requests.
    let many: Vec<u64> = (0..10).collect();
    let found = open_over::<C>(&tap.url(), &state)
        .get_indices(&many)
        .unwrap();
    assert!(
        found
            .iter()
            .zip(0..)
            .all(|(found, index)| *found == record(index))
    );
    let tickets: Vec<_> = tap
        .queries()
        .into_iter()
        .map(|(_, tickets)| tickets)
        .collect();
    assert_eq!(tickets, ["9,10,11,12", "13,14,15,16", "17,18"]);
}

fn state_persists_in_a_storage_of_the_application<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(registry(&folder.path().join("registry")));
    let tap = Tap::passing(server.address);
    let memory = Memory::default();
    let directory = folder.path().join("state");
    let open = || {
        let options = Options {
            storage: Some(Arc::new(memory.clone())),
            ..options(&directory)
        };
        C::open_with(&tap.url(), &options).unwrap()
    };
    let mut connection = open();
    for round in 0..3u64 {
        assert_eq!(connection.get_index(round).unwrap(), record(round));
        connection = open();
    }
    assert!(
        memory.entries().contains(&StateEntry::Registration)
            && !memory.entries().contains(&StateEntry::Keys)
    );
    assert!(!directory.exists());
    // What is not stored is not used: no query leaves.
    memory.broken.store(true, Ordering::Relaxed);
    assert_eq!(connection.get_index(3).err().unwrap().code(), "state_file");
    memory.broken.store(false, Ordering::Relaxed);
    assert_eq!(connection.get_index(3).unwrap(), record(3));
    let queries = tap.queries();
    let tickets: Vec<_> = queries
        .iter()
        .map(|(_, tickets)| tickets.as_str())
        .collect();
    assert_eq!(tickets, ["0", "1", "2", "3"]);
    assert!(
        queries.iter().all(|(client, _)| *client == ids(&server)[0]),
        "one registration"
    );
}

/// Tickets take time, and the client looks up records faster than the service prepares them.
fn a_client_waits_for_its_tickets_and_uploads_each_query_once<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let registry = RegistryConfig {
        tickets_ahead: 2,
        ..registry(&folder.path().join("registry"))
    };
    let fault = Fault::SlowTickets(Duration::from_millis(300));
    let slow = FaultyDatabase {
        inner: prepared_stateful(SMALL, 1),
        scheme: 0xfff0,
        fault,
    };
    let server = start_with(registry, Database::new("table", Box::new(slow), None));
    let tap = Tap::passing(server.address);
    let mut connection = open_over::<C>(&tap.url(), &folder.path().join("state"));
    for index in 0..4 {
        assert_eq!(connection.get_index(index).unwrap(), record(index));
    }
    assert_eq!(
        connection.get_indices(&[7, 8]).unwrap(),
        [record(7), record(8)]
    );
    let heads = tap.take();
    let uploads: Vec<_> = heads
        .iter()
        .filter(|head| head.contains("/query "))
        .collect();
    let tickets: Vec<_> = uploads
        .iter()
        .map(|head| support::tap::header(head, "papir-ticket"))
        .collect();
    assert_eq!(tickets, ["0", "1", "2", "3", "4,5"]);
    let bytes = |head: &&String| {
        support::tap::header(head, "content-length")
            .parse::<u64>()
            .unwrap()
    };
    assert_eq!(
        uploads.iter().map(bytes).sum::<u64>(),
        connection.costs().query_bytes
    );
    assert_eq!(
        connection.costs().query_bytes,
        6 * connection.info().sizes.query
    );
}

#[test]
fn each_record_of_a_key_lookup_uses_one_ticket() {
    let folder = TempDir::new().unwrap();
    let bucket = papir_lookup::BucketTarget::AtMost(64);
    let options = papir_lookup::TableOptions {
        bucket,
        ..Default::default()
    };
    let salt = "x".repeat(100);
    let table = papir_lookup::build(
        entries(100, &salt),
        &options,
        &mut rng(),
        &papir_core::NoProgress,
    )
    .unwrap();
    let lookups = table.layout.lookups();
    let prepared = stateful::setup(&table.records, SMALL, &mut rng()).unwrap();
    let database = Database::new("table", prepared, Some(table.layout));
    let server = start_with(registry(&folder.path().join("registry")), database);
    let mut connection = open(&server.url(), &folder.path().join("state"));
    assert!(lookups > 1);
    let found = connection.get_keys(&[key(7), key(700), key(99)]).unwrap();
    assert_eq!(found, [Some(value(7, &salt)), None, Some(value(99, &salt))]);
}

fn the_use_of_a_ticket_is_on_disk_before_a_byte_is_sent<C: AnyConnection>() {
    for database in both() {
        let folder = TempDir::new().unwrap();
        let server = start_with(registry(&folder.path().join("registry")), database);
        let state = folder.path().join("state");
        let seen = folder.path().join("seen");
        let cutting = Arc::new(AtomicBool::new(true));
        let from = state.clone();
        let to = seen.clone();
        let cut = Arc::clone(&cutting);
        let tap = Tap::new(server.address, move |head| {
            if head.contains("/query ") && cut.load(Ordering::Relaxed) {
                copy(&from, &to);
                return Verdict::Cut;
            }
            Verdict::Pass
        });
        let impatient = Options {
            patience: Some(Duration::from_secs(5)),
            ..options(&state)
        };
        let mut connection = C::open_with(&tap.url(), &impatient).unwrap();
        connection.register().unwrap();
        assert_eq!(connection.get_index(3).unwrap_err().code(), "transport");
        cutting.store(false, Ordering::Relaxed);
        assert_eq!(connection.get_index(3).unwrap(), record(3));
        drop(connection);
        let tickets = |tap: &Tap| {
            tap.queries()
                .into_iter()
                .map(|(_, tickets)| tickets)
                .collect::<Vec<_>>()
        };
        assert_eq!(tickets(&tap), ["0", "1"]);
        // The state on disk when the first query arrived records the use of ticket 0.
        let file = |folder: &Path| {
            fs::read_dir(folder)
                .unwrap()
                .map(|file| file.unwrap().path())
                .find(|path| path.extension().unwrap() == "state")
                .unwrap()
        };
        let bytes = fs::read(file(&seen)).unwrap();
        let next = &bytes[bytes.len() - 24..][..8];
        assert_eq!(next, 1u64.to_le_bytes(), "the number of the next ticket");
    }
}

/// The URL of the service and the state directory. Set in the process of the client to be killed
/// only.
const KILLED: &str = "PAPIR_CLIENT_TEST_KILLED";
/// Stands for the id of a process that is being started.
const STARTING: u32 = u32::MAX;

#[test]
fn a_killed_client_never_reuses_a_ticket() {
    if let Ok(told) = std::env::var(KILLED) {
        let (url, state) = told.split_once(' ').unwrap();
        let _ = open(url, Path::new(state)).get_index(3);
        return;
    }
    for database in both() {
        let folder = TempDir::new().unwrap();
        let server = start_with(registry(&folder.path().join("registry")), database);
        let state = folder.path().join("state");
        let victim = Arc::new(AtomicU32::new(0));
        let id = Arc::clone(&victim);
        let tap = Tap::new(server.address, move |head| {
            if head.contains("/query ") && id.load(Ordering::SeqCst) != 0 {
                while id.load(Ordering::SeqCst) == STARTING {
                    thread::yield_now();
                }
                let id = id.load(Ordering::SeqCst);
                kill_process(Pid::from_raw(id as i32).unwrap(), Signal::KILL).unwrap();
                return Verdict::Cut;
            }
            Verdict::Pass
        });
        victim.store(STARTING, Ordering::SeqCst);
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "--exact",
                "stateful_client::a_killed_client_never_reuses_a_ticket",
            ])
            .env(KILLED, format!("{} {}", tap.url(), state.display()))
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        let mut child = GuardedChild::spawn(&mut command).unwrap();
        victim.store(child.id(), Ordering::SeqCst);
        assert!(
            !child.wait().unwrap().success(),
            "the client was not killed"
        );
        victim.store(0, Ordering::SeqCst);
        assert_eq!(open(&tap.url(), &state).get_index(5).unwrap(), record(5));
        let tickets: Vec<_> = tap
            .queries()
            .into_iter()
            .map(|(_, tickets)| tickets)
            .collect();
        assert_eq!(tickets, ["0", "1"]);
    }
}

#[test]
fn a_restored_backup_registers_again_and_repeats_no_query() {
    for database in both() {
        let folder = TempDir::new().unwrap();
        let server = start_with(registry(&folder.path().join("registry")), database);
        let tap = Tap::passing(server.address);
        let state = folder.path().join("state");
        let backup = folder.path().join("backup");
        drop(open(&tap.url(), &state));
        copy_with_place(&state, &backup);
        assert_eq!(
            open(&tap.url(), &state).get_indices(&[1, 2]).unwrap(),
            [record(1), record(2)]
        );
        assert_eq!(open(&tap.url(), &backup).get_index(3).unwrap(), record(3));
        assert_eq!(open(&tap.url(), &state).get_index(4).unwrap(), record(4));
        let queries = tap.queries();
        let tickets: Vec<_> = queries
            .iter()
            .map(|(_, tickets)| tickets.as_str())
            .collect();
        assert_eq!(tickets, ["0", "1", "0", "2"]);
        assert_ne!(
            queries[0].0, queries[2].0,
            "the backup has an older state and registered again"
        );
        assert_eq!(queries[0].0, queries[3].0, "the newer state continues");
    }
}

fn of_two_copies_of_a_state_one_is_refused_and_registers_again<C: AnyConnection>() {
    for database in both() {
        let folder = TempDir::new().unwrap();
        let server = start_with(registry(&folder.path().join("registry")), database);
        let state = folder.path().join("state");
        let backup = folder.path().join("backup");
        drop(open_over::<C>(&server.url(), &state));
        copy_with_place(&state, &backup);
        // Both see at the start that tickets are ready, and do not ask again before their queries.
        let ready = || {
            let client = get(&clients_url(&server)).json()["clients"][0].clone();
            client["tickets_ready"] == client["tickets_ahead"]
        };
        until("the tickets are ready", ready);
        let mut first = open_over::<C>(&server.url(), &state);
        let mut second = open_over::<C>(&server.url(), &backup);
        assert_eq!(first.get_index(1).unwrap(), record(1));
        let refused = second.get_index(2).unwrap_err();
        assert_eq!(refused.code(), "state_copied", "{refused}");
        assert_eq!(second.get_index(2).unwrap(), record(2));
        assert_eq!(first.get_index(3).unwrap(), record(3));
        assert_eq!(ids(&server).len(), 2);
    }
}

/// The copy is known by its place: the service is not asked about the client before.
#[test]
fn a_copied_folder_registers_anew_before_it_says_a_word() {
    for database in both() {
        let folder = TempDir::new().unwrap();
        let server = start_with(registry(&folder.path().join("registry")), database);
        let tap = Tap::passing(server.address);
        let state = folder.path().join("state");
        let copied = folder.path().join("copy");
        assert_eq!(open(&tap.url(), &state).get_index(1).unwrap(), record(1));
        let [id] = <[String; 1]>::try_from(ids(&server)).unwrap();
        copy(&state, &copied);
        tap.take();
        assert_eq!(open(&tap.url(), &copied).get_index(2).unwrap(), record(2));
        assert!(tap.take().iter().all(|head| !head.contains(&id)));
        // The state at its place goes on.
        assert_eq!(open(&tap.url(), &state).get_index(3).unwrap(), record(3));
        assert_eq!(tap.queries(), [(id, "1".to_owned())]);
        // A copy in the place of the state, as after a restore.
        fs::remove_dir_all(&state).unwrap();
        copy(&copied, &state);
        assert_eq!(open(&tap.url(), &state).get_index(4).unwrap(), record(4));
        assert_eq!((ids(&server).len(), tap.queries()[0].1.as_str()), (3, "0"));
    }
}

fn an_evicted_client_registers_again_by_itself<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(registry(&folder.path().join("registry")));
    let mut connection = open_over::<C>(&server.url(), &folder.path().join("state"));
    let mut clone = connection.clone();
    assert_eq!(connection.get_index(1).unwrap(), record(1));
    let [id] = <[String; 1]>::try_from(ids(&server)).unwrap();
    assert_eq!(
        send(
            "DELETE",
            &format!("{}/{id}", clients_url(&server)),
            &[],
            &[]
        )
        .status,
        204
    );
    assert_eq!(connection.get_index(2).unwrap(), record(2));
    assert_eq!(clone.get_index(3).unwrap(), record(3));
    let [again] = <[String; 1]>::try_from(ids(&server)).unwrap();
    assert_ne!(id, again, "one new registration for both");
}

fn a_new_version_is_followed_with_the_same_keys_if_they_fit<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(registry(&folder.path().join("registry")));
    let mut connection = open_over::<C>(&server.url(), &folder.path().join("state"));
    assert_eq!(connection.get_index(1).unwrap(), record(1));
    let before = ids(&server);
    server.handle.replace(stateful(SMALL, 2)).unwrap();
    assert_eq!(connection.get_index(2).unwrap(), record(2));
    assert_eq!(ids(&server), before);
    server.handle.replace(stateful(SMALL + 8, 3)).unwrap();
    assert_eq!(connection.get_index(3).unwrap(), record(3));
    let mut later = open_over::<C>(&server.url(), &folder.path().join("state"));
    assert_eq!(later.get_index(4).unwrap(), record(4));
}

/// A tap that installs a database with keys of this length when the first matching request arrives.
fn swapping(server: &Running, (method, part): (&'static str, &'static str), keys: u64) -> Tap {
    let handle = server.handle.clone();
    let count = AtomicUsize::new(0);
    Tap::new(server.address, move |head| {
        if head.starts_with(method)
            && head.contains(part)
            && count.fetch_add(1, Ordering::SeqCst) == 0
        {
            handle.replace(stateful(keys, 9)).unwrap();
        }
        Verdict::Pass
    })
}

fn a_database_that_changes_while_a_client_registers_is_followed<C: AnyConnection>() {
    for keys in [SMALL, SMALL + 8] {
        let folder = TempDir::new().unwrap();
        let server = start(registry(&folder.path().join("registry")));
        let tap = swapping(&server, ("POST", "/clients "), keys);
        let mut connection = open_over::<C>(&tap.url(), &folder.path().join("state"));
        assert_eq!(connection.get_index(5).unwrap(), record(5));
        assert_eq!(ids(&server).len(), 1);
        let heads = tap.take();
        let registering = heads
            .iter()
            .filter(|head| head.starts_with("POST") && head.contains("/clients "));
        let versions: Vec<String> = registering
            .map(|head| support::tap::header(head, "papir-version"))
            .collect();
        assert_eq!(
            (versions.len(), &versions[1]),
            (2, &connection.lookup().version().to_string())
        );
        assert_ne!(versions[0], versions[1]);
    }
}

#[test]
fn a_database_that_changes_while_keys_are_uploaded_is_followed() {
    let folder = TempDir::new().unwrap();
    let large = 5 << 20;
    let server = start_with(
        registry(&folder.path().join("registry")),
        stateful(large, 1),
    );
    let tap = swapping(&server, ("PATCH", "/keys "), large + 8);
    let mut connection = open(&tap.url(), &folder.path().join("state"));
    assert_eq!(connection.get_index(5).unwrap(), record(5));
    assert_eq!(ids(&server).len(), 1);
}

#[test]
fn an_evicted_client_registers_again_with_a_new_version() {
    let folder = TempDir::new().unwrap();
    let registry = Some(registry(&folder.path().join("registry")));
    // The old version is still answered, but the missing client is reported first.
    let config = ServerConfig {
        registry,
        keep_old: Duration::from_secs(600),
        ..config()
    };
    let server = Running::start(config, vec![stateful(SMALL, 1)]);
    let mut connection = open(&server.url(), &folder.path().join("state"));
    let [id] = <[String; 1]>::try_from(ids(&server)).unwrap();
    assert_eq!(
        send(
            "DELETE",
            &format!("{}/{id}", clients_url(&server)),
            &[],
            &[]
        )
        .status,
        204
    );
    server.handle.replace(stateful(SMALL + 8, 9)).unwrap();
    assert_eq!(connection.get_index(5).unwrap(), record(5));
    assert_eq!(ids(&server).len(), 1);
}

fn an_interrupted_upload_resumes_with_the_next_connection<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let large = 10 << 20;
    let server = start_with(
        registry(&folder.path().join("registry")),
        stateful(large, 1),
    );
    let parts = Arc::new(AtomicUsize::new(0));
    let count = Arc::clone(&parts);
    let tap = Tap::new(server.address, move |head| {
        let cut = head.starts_with("PATCH") && count.fetch_add(1, Ordering::SeqCst) == 1;
        if cut { Verdict::Cut } else { Verdict::Pass }
    });
    let state = folder.path().join("state");
    let broken = C::open_with(&tap.url(), &options(&state))
        .unwrap()
        .register()
        .unwrap_err();
    assert_eq!(broken.code(), "transport", "{broken}");
    let extensions = |folder: &Path| {
        let files = fs::read_dir(folder).unwrap();
        let mut names: Vec<_> = files
            .map(|file| {
                file.unwrap()
                    .path()
                    .extension()
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned()
            })
            .collect();
        names.sort();
        names
    };
    assert_eq!(extensions(&state), ["keys", "lock", "state"]);
    assert_eq!(
        open_over::<C>(&tap.url(), &state).get_index(5).unwrap(),
        record(5)
    );
    assert_eq!(extensions(&state), ["lock", "state"]);
    let offsets: Vec<String> = tap
        .take()
        .iter()
        .filter(|head| head.starts_with("PATCH"))
        .map(|head| support::tap::header(head, "papir-upload-offset"))
        .collect();
    let part = 4 << 20;
    assert_eq!(
        offsets,
        [0, part, part, 2 * part].map(|offset: usize| offset.to_string())
    );
}

fn a_wrong_passphrase_is_reported_and_nothing_is_registered<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(registry(&folder.path().join("registry")));
    let state = folder.path().join("state");
    let with = |passphrase: Option<&str>| Options {
        passphrase: passphrase.map(Passphrase::new),
        ..options(&state)
    };
    let mut connection = C::open_with(&server.url(), &with(Some("right"))).unwrap();
    assert!(
        !state.exists() && ids(&server).is_empty(),
        "opening registers nothing"
    );
    assert_eq!(connection.get_index(1).unwrap(), record(1));
    for wrong in [Some("wrong"), None] {
        let refused = C::open_with(&server.url(), &with(wrong))
            .unwrap()
            .get_index(1)
            .unwrap_err();
        assert_eq!(refused.code(), "passphrase", "{refused}");
    }
    assert_eq!(connection.get_index(2).unwrap(), record(2));
    assert_eq!(ids(&server).len(), 1);
}

fn threads_and_connections_share_one_state<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let server = start(registry(&folder.path().join("registry")));
    let state = folder.path().join("state");
    let first = open_over::<C>(&server.url(), &state);
    thread::scope(|scope| {
        for number in 0..4u64 {
            let mut connection = if number % 2 == 0 {
                first.clone()
            } else {
                open_over::<C>(&server.url(), &state)
            };
            scope.spawn(move || {
                for i in 0..3 {
                    let index = number * 7 + i;
                    assert_eq!(connection.get_index(index).unwrap(), record(index));
                    thread::sleep(Duration::from_millis(1));
                }
            });
        }
    });
    let list = get(&clients_url(&server)).json();
    assert_eq!(
        (ids(&server).len(), &list["clients"][0]["next_ticket"]),
        (1, &12.into())
    );
}
