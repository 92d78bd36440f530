//! Many databases in one service.

use std::fs;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::scope;

use serde_json::Value;

use crate::replicas::Stop;
use crate::support::{Folder, Service, fetch, metrics, papir, succeeds, until};

const OPEN: &str = "--allow-not-private";
/// The longest list that clients read, in bytes.
const LONGEST_LIST: usize = 1 << 20;
/// Lines of the metrics about one database that nobody has asked, at most.
const LINES: usize = 24;
/// Databases that get another version.
const RELOADED: usize = 10;
/// Memory of a database besides its file, at most.
const OVERHEAD: u64 = 256 << 10;

/// The resources of a process.
#[derive(Debug)]
struct Usage {
    descriptors: usize,
    threads: usize,
    resident: u64,
}

impl Usage {
    fn of(service: &Service) -> Self {
        let process = format!("/proc/{}", service.id());
        let entries = ["fd", "task"].map(|folder| {
            let folder = fs::read_dir(format!("{process}/{folder}"));
            folder.unwrap().count()
        });
        let status = fs::read_to_string(format!("{process}/status")).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
        let kibibytes = line.unwrap().trim().strip_suffix(" kB").unwrap();

        Self {
            descriptors: entries[0],
            threads: entries[1],
            resident: kibibytes.parse::<u64>().unwrap() << 10,
        }
    }
}

/// The name of a database.
fn name(number: usize) -> String {
    format!("db-{number:04}")
}

/// The databases of one service, which are copies of one.
struct Many {
    folder: Folder,
    files: Vec<String>,
}

impl Many {
    fn new(count: usize) -> Self {
        let folder = Folder::new();
        let words = folder.words(10, "plain");
        let mut files = Vec::new();
        for number in 0..count {
            let file = folder.path(&format!("{}.papir", name(number)));
            fs::copy(&words, &file).unwrap();
            files.push(file);
        }
        Self { folder, files }
    }

    /// Serves the first `count` databases.
    fn serve(&self, count: usize) -> Service {
        let files: Vec<&str> = self.files[..count].iter().map(String::as_str).collect();
        Service::start(&files, &[OPEN, "--watch", "1", "--keep-old", "0"])
    }

    /// Gives the first databases another version, all at once.
    fn replace_some(&self) {
        let words = self.folder.words(20, "plain");
        let next = self.folder.path("next");
        for file in &self.files[..RELOADED] {
            fs::copy(&words, &next).unwrap();
            fs::rename(&next, file).unwrap();
        }
    }
}

/// The value of a key, which is empty without one.
fn look_up(service: &Service, number: usize, key: &str) -> Vec<u8> {
    let database = name(number);
    let get = ["get", &service.url, key, OPEN, "--database", &database];
    papir(&get).stdout
}

/// Lines of the metrics about one database.
fn lines_of(text: &str, number: usize) -> usize {
    let label = format!("database=\"{}\"", name(number));
    text.lines().filter(|line| line.contains(&label)).count()
}

fn serve_many(count: usize) {
    let many = Many::new(count);
    let alone = Usage::of(&many.serve(1));
    let service = many.serve(count);
    let last = count - 1;
    for number in [0, 1, count / 2, last] {
        assert_eq!(look_up(&service, number, "key-7"), b"value-7");
    }

    let (status, list) = fetch(&format!("{}/v1/databases", service.url));
    let listed: Value = serde_json::from_str(&list).unwrap();
    assert_eq!(status, 200);
    assert_eq!(listed["databases"].as_array().unwrap().len(), count);
    assert!(list.len() < LONGEST_LIST, "{}", list.len());

    let (status, refused) = fetch(&format!("{}/v1/databases/none", service.url));
    assert_eq!(status, 404);
    assert!(refused.len() < 1000 && refused.contains(" more "));

    let text = metrics(&service.url);
    assert!((1..=LINES).contains(&lines_of(&text, 3)), "{text}");
    assert_eq!(lines_of(&text, 3), lines_of(&text, last - 1));

    // Ten new versions at once. The others stay as they are.
    many.replace_some();
    for number in 0..RELOADED {
        until("the new version is answered", || {
            look_up(&service, number, "key-15") == b"value-15"
        });
    }
    assert_eq!(look_up(&service, RELOADED, "key-15"), b"");
    assert_eq!(look_up(&service, last, "key-7"), b"value-7");

    let used = Usage::of(&service);
    println!("1 database: {alone:?}, {count} databases: {used:?}");
    assert!(used.descriptors <= alone.descriptors + 16);
    // Threads of tokio that have blocked wait for more work for a while.
    assert!(used.threads <= alone.threads + 24);
    let length = fs::metadata(&many.files[last]).unwrap().len();
    let most = alone.resident + count as u64 * (4 * length + OVERHEAD) + (64 << 20);
    assert!(used.resident <= most, "{most}");
}

#[test]
fn sixty_databases_are_served_by_one_service() {
    serve_many(60);
}

#[test]
#[ignore = "long"]
fn a_thousand_databases_are_served_by_one_service() {
    serve_many(1000);
}

/// A delta is published more often than the watch checks for it.
#[test]
fn a_delta_that_always_changes_is_answered() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let service = Service::start(&[&words], &[OPEN, "--watch", "1"]);
    let done = AtomicBool::new(false);
    scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !done.load(Ordering::SeqCst) {
                number += 1;
                let row = format!("word,meaning\nkey-7,changed-{number}\n");
                let changes = folder.write("changes.csv", row);
                succeeds(&["update", &words, "--from", &changes, "--delta"]);
            }
        });

        // Answered although the publisher goes on.
        let _stop = Stop(&done);
        let get = ["get", &service.url, "key-7", OPEN];
        until("a change is answered", || {
            papir(&get).stdout.starts_with(b"changed-")
        });
    });
}
