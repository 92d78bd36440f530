//! Slow and stuck disks, and machines that pause.

use std::fs;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use papir_client::{Connection, Options, Pin};
use papir_testkit::GuardedChild;
use rustix::process::Signal;

use crate::replicas::Stop;
use crate::support::{Folder, PATIENCE, Service, fetch, look_up, metrics, program, send, until};

/// Functions of the C library in which the disk takes time. While the file of SLOW_DISK_HOLD
/// exists, writes wait, and so does the opening of files whose paths contain SLOW_DISK_FILE. The
/// first that waits makes the file of SLOW_DISK_SEEN.
const DISK: &str = r#"
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void wait_while_held(void) {
    const char *hold = getenv("SLOW_DISK_HOLD");
    const char *seen = getenv("SLOW_DISK_SEEN");
    while (hold && access(hold, F_OK) == 0) {
        int file = seen ? open(seen, O_CREAT | O_WRONLY, 0600) : -1;
        if (file >= 0) close(file);
        usleep(5000);
    }
}

static void wait_for_disk(void) {
    const char *milliseconds = getenv("SLOW_DISK_MS");
    if (milliseconds) usleep(1000 * atoi(milliseconds));
    wait_while_held();
}

int fsync(int file) {
    wait_for_disk();
    return syscall(SYS_fsync, file);
}

int fdatasync(int file) {
    wait_for_disk();
    return syscall(SYS_fdatasync, file);
}

int open64(const char *path, int flags, ...) {
    va_list more;
    va_start(more, flags);
    int mode = va_arg(more, int);
    va_end(more);
    const char *stuck = getenv("SLOW_DISK_FILE");
    if (stuck && strstr(path, stuck)) wait_while_held();
    return syscall(SYS_openat, AT_FDCWD, path, flags, mode);
}
"#;
/// Databases without clients, of which one may be on the stuck disk, and one with clients.
const FILES: [&str; 3] = ["words", "stuck", "registered"];
/// Keys of the databases without clients, and of the one with them.
const KEYS: usize = 200;
const REGISTERED_KEYS: usize = 20;
/// Lookups while the disk is stuck.
const LOOKUPS: usize = 50;
/// Clients that register while the disk is slow, and the lookups of each.
const CLIENTS: usize = 3;
const LOOKUPS_OF_CLIENT: usize = 2;

/// The databases of [`FILES`], and a disk that may be slow.
struct Disk {
    folder: Folder,
    library: String,
    hold: String,
    seen: String,
}

impl Disk {
    fn new() -> Self {
        let folder = Folder::new();
        let registered = folder.words(REGISTERED_KEYS, "zip");
        fs::rename(registered, folder.path("registered.papir")).unwrap();
        let words = folder.words(KEYS, "plain");
        fs::copy(words, folder.path("stuck.papir")).unwrap();

        let source = folder.write("disk.c", DISK);
        let library = folder.path("disk.so");
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-o", &library, &source])
            .status();
        assert!(compiled.unwrap().success());

        Self {
            library,
            hold: folder.path("hold"),
            seen: folder.path("seen"),
            folder,
        }
    }

    /// Serves all databases. Each write to the disk takes `milliseconds`.
    fn serve(&self, milliseconds: &str) -> Service {
        let files = FILES.map(|name| self.folder.path(&format!("{name}.papir")));
        let registry = self.folder.path("registry");
        let environment = [
            ("LD_PRELOAD", self.library.as_str()),
            ("SLOW_DISK_MS", milliseconds),
            ("SLOW_DISK_HOLD", self.hold.as_str()),
            ("SLOW_DISK_SEEN", self.seen.as_str()),
            ("SLOW_DISK_FILE", "/stuck.papir"),
        ];
        let more = ["--registry", &registry, "--tickets-ahead", "1"];
        Service::start_in(
            &environment,
            &files.each_ref().map(String::as_str),
            &[&more[..], &["--watch", "1", "--allow-not-private"]].concat(),
        )
    }

    /// The same database with one more key takes the place of a file, by renaming.
    fn replace(&self, file: &str) {
        let other = Folder::new();
        let next = self.folder.path("next");
        fs::copy(other.words(KEYS + 1, "plain"), &next).unwrap();
        fs::rename(next, self.folder.path(file)).unwrap();
    }

    /// Returns whether a new client finds the key that [`Disk::replace`] adds.
    fn is_replaced(&self, service: &Service, database: &str) -> bool {
        let last = format!("key-{KEYS}");
        let found = self.open(service, database).get_key(last.as_bytes());
        found.unwrap().is_some()
    }

    /// Looks up a key of the database with clients, in a process of its own.
    fn register(&self, service: &Service) -> GuardedChild {
        let state = self.folder.path("state");
        let get = ["get", &service.url, "key-7", "--state", &state];
        let mut command = program();
        command
            .args(get)
            .args(["--database", "registered"])
            .stdout(Stdio::null());
        GuardedChild::spawn(&mut command).unwrap()
    }

    /// A new client of a database.
    fn open(&self, service: &Service, database: &str) -> Connection {
        let options = Options {
            database: Some(database.into()),
            pin: Pin::Nothing,
            allow_not_private: true,
            state: Some(self.folder.path(&format!("client-of-{database}")).into()),
            patience: Some(PATIENCE),
            ..Options::default()
        };
        Connection::open_with(&service.url, &options).unwrap()
    }
}

/// Looks up a key that no test changes.
fn check(connection: &mut Connection, key: usize) {
    let value = connection.get_key(format!("key-{key}").as_bytes());
    assert_eq!(value.unwrap(), Some(format!("value-{key}").into_bytes()));
}

/// No ticket was refused as used, and the service is ready.
fn assert_intact(service: &Service) {
    let text = metrics(&service.url);
    let twice = "papir_query_requests_total{database=\"registered\",code=\"ticket_used\"}";
    assert!(!text.contains(twice), "{text}");
    assert!(text.contains("papir_registry_failing 0"), "{text}");
    assert_eq!(fetch(&format!("{}/readyz", service.url)).0, 200);
}

#[test]
fn a_stuck_disk_holds_up_registrations_and_nothing_else() {
    let disk = Disk::new();
    let service = disk.serve("0");
    fs::write(&disk.hold, "").unwrap();
    let mut registering = disk.register(&service);
    until("a registration waits for the disk", || {
        fs::exists(&disk.seen).unwrap()
    });

    // New clients, too, and an operator.
    let mut connection = disk.open(&service, "words");
    for number in 0..LOOKUPS {
        check(&mut connection, number);
    }
    assert_eq!(fetch(&format!("{}/readyz", service.url)).0, 200);
    assert_eq!(registering.try_wait().unwrap(), None);

    fs::remove_file(&disk.hold).unwrap();
    assert!(registering.wait().unwrap().success());
    assert!(service.answered("words") >= LOOKUPS as u64);
    assert_intact(&service);
}

#[test]
fn a_file_on_a_stuck_disk_holds_up_no_other_new_version() {
    let disk = Disk::new();
    let service = disk.serve("0");
    fs::write(&disk.hold, "").unwrap();
    disk.replace("stuck.papir");
    until("the file is opened", || fs::exists(&disk.seen).unwrap());

    disk.replace("words.papir");
    until("the other new version is answered", || {
        disk.is_replaced(&service, "words")
    });
    assert!(!disk.is_replaced(&service, "stuck"), "its old version");
    assert_eq!(fetch(&format!("{}/readyz", service.url)).0, 200);

    fs::remove_file(&disk.hold).unwrap();
    until("its new version is answered, too", || {
        disk.is_replaced(&service, "stuck")
    });
}

#[test]
fn lookups_go_on_while_each_write_to_the_disk_takes_long() {
    let disk = Disk::new();
    let service = disk.serve("200");
    let done = AtomicBool::new(false);
    let lookups = AtomicUsize::new(0);
    let url = format!("{}/v1/databases/registered", service.url);

    scope(|scope| {
        scope.spawn(|| {
            let mut connection = disk.open(&service, "words");
            while !done.load(Ordering::SeqCst) {
                let number = lookups.fetch_add(1, Ordering::SeqCst);
                check(&mut connection, number % KEYS);
            }
        });

        let _stop = Stop(&done);
        let clients: Vec<_> = (0..CLIENTS)
            .map(|client| {
                let state = disk.folder.path(&format!("client-{client}"));
                let url = &url;
                scope.spawn(move || look_up(url, state, LOOKUPS_OF_CLIENT))
            })
            .collect();
        for client in clients {
            client.join().unwrap();
        }
    });

    // A registration alone takes several writes, and a lookup takes milliseconds.
    let count = lookups.load(Ordering::SeqCst);
    println!("{count} lookups during {CLIENTS} registrations");
    assert!(count > 10, "{count}");
    let answered = service.answered("registered");
    assert!(
        answered >= (CLIENTS * LOOKUPS_OF_CLIENT) as u64,
        "{answered}"
    );
    assert_intact(&service);
}

/// Clients of both databases look up before, during and after a pause, and a version is published
/// in the middle of it.
fn pause(length: Duration) {
    let disk = Disk::new();
    let service = disk.serve("0");
    let done = AtomicBool::new(false);
    let counts = [AtomicUsize::new(0), AtomicUsize::new(0)];

    scope(|scope| {
        for (database, count) in ["words", "registered"].into_iter().zip(&counts) {
            let disk = &disk;
            let service = &service;
            let done = &done;
            scope.spawn(move || {
                let mut connection = disk.open(service, database);
                while !done.load(Ordering::SeqCst) {
                    check(&mut connection, 1 + count.load(Ordering::SeqCst) % 10);
                    count.fetch_add(1, Ordering::SeqCst);
                }
            });
        }

        let _stop = Stop(&done);
        let reached = |least: [usize; 2]| {
            let found = counts.each_ref().map(|count| count.load(Ordering::SeqCst));
            found[0] >= least[0] && found[1] >= least[1]
        };
        until("both databases are looked up", || reached([1, 1]));

        send(Signal::STOP, &service);
        disk.replace("words.papir");
        let before = counts.each_ref().map(|count| count.load(Ordering::SeqCst));
        sleep(length);
        send(Signal::CONT, &service);
        until("both go on", || reached(before.map(|count| count + 2)));
    });

    until("the version of the pause is answered", || {
        disk.is_replaced(&service, "words")
    });
    assert_intact(&service);
}

#[test]
fn a_pause_of_the_machine_loses_nothing() {
    pause(Duration::from_secs(3));
}

/// Longer than the times that a service and its clients wait for each other.
#[test]
#[ignore = "long"]
fn a_pause_of_ninety_seconds_loses_nothing() {
    pause(Duration::from_secs(90));
}
