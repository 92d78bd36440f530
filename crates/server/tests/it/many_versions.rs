//! Many versions leave nothing behind, and a client that missed them catches up.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use papir_checkpoint::Log;
use papir_client::{Connection, Freshness, Options};
use papir_core::{NoProgress, Run};
use papir_server::ServerConfig;
use papir_store::{MergeOptions, Sign, UpdateOptions, merge, update_delta};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::support::files::{build, build_signed, owner, serving};
use crate::support::process::runs_alone;
use crate::support::tap::Tap;
use crate::support::{Running, get, key, rng, stateless, value};

/// The key whose value every version changes.
const CHANGED: u64 = 7;
/// Versions that a merge keeps next to the file.
const KEPT: usize = 2;
/// Old deltas that a service keeps: those within 1 GiB, of 32 MiB each.
const OLD_DELTAS: usize = 31;
/// Rounds before the first count: from then on, as many versions are kept as ever.
const WARM_UP: usize = 4;
/// Requests of a client that missed versions, however many: the query that is refused, the
/// description, the public parts of the base and of its delta, and the query again.
const CATCH_UP_REQUESTS: usize = 5;
/// The same if no merge has replaced the base: the client has its public part.
const CATCH_UP_REQUESTS_OF_DELTAS: usize = CATCH_UP_REQUESTS - 1;
/// A version each minute of a day.
const VERSIONS_OF_A_DAY: usize = 24 * 60;
/// Time of signing.
const START: u64 = 1_800_000_000;

/// Counts that must not grow with the number of versions.
#[derive(Debug, PartialEq, Eq)]
struct Left {
    /// Names in the folder of the database.
    files: usize,
    inodes: usize,
    /// Lines of the metrics.
    metrics: usize,
    /// Old versions in the description.
    described: usize,
}

/// Resources of the process, which vary a little.
#[derive(Debug)]
struct Used {
    descriptors: usize,
    threads: usize,
    resident: u64,
}

/// The cost of a client's first lookup after it was away.
#[derive(Debug)]
struct CatchUp {
    requests: u64,
    public_bytes: u64,
}

/// The lengths of a version's public parts.
struct PublicBytes {
    base: u64,
    delta: u64,
}

/// A service, and the owner who publishes one version after the other.
struct Published {
    folder: TempDir,
    file: PathBuf,
    server: Running,
    runtime: Runtime,
    sign: Option<Sign>,
    number: usize,
}

/// Number of entries of a folder of `/proc/self`.
fn entries(folder: &str) -> usize {
    fs::read_dir(Path::new("/proc/self").join(folder))
        .unwrap()
        .count()
}

/// Resident bytes of this process.
fn resident() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kibibytes = line.unwrap().trim().strip_suffix(" kB").unwrap();
    kibibytes.parse::<u64>().unwrap() << 10
}

fn text(bytes: Vec<u8>) -> String {
    String::from_utf8(bytes).unwrap()
}

impl Published {
    fn new(sign: Option<Sign>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let file = match &sign {
            Some(_) => build_signed(folder.path(), "words.papir", "0", START),
            None => build(folder.path(), "words.papir", 50, "0"),
        };
        let config = ServerConfig {
            keep_old: Duration::from_secs(24 * 3600),
            ..serving(&[&file])
        };

        let runtime = tokio::runtime::Builder::new_current_thread().build();
        Self {
            folder,
            file,
            server: Running::start_files(config).unwrap(),
            runtime: runtime.unwrap(),
            sign,
            number: 0,
        }
    }

    /// Publishes the next version, and waits until it is served.
    fn publish(&mut self) {
        self.number += 1;
        let row = format!("{},{}\n", text(key(CHANGED)), text(self.newest()));
        let changes = self.folder.path().join("changes.csv");
        fs::write(&changes, format!("key,value\n{row}")).unwrap();

        let options = UpdateOptions {
            sign: self.sign.clone(),
            ..UpdateOptions::new(&self.file, changes)
        };
        let published = update_delta(&options, None, &mut Run::new(&mut rng(), &NoProgress));
        assert!(published.unwrap().is_some());
        self.load();
    }

    /// Merges the delta, and waits until the next snapshot is served.
    fn merge(&self) {
        let options = MergeOptions {
            keep: Some(KEPT),
            sign: self.sign.clone(),
            ..MergeOptions::new(&self.file)
        };
        merge(&options, &mut Run::new(&mut rng(), &NoProgress)).unwrap();
        self.load();
    }

    fn load(&self) {
        let loaded = self.runtime.block_on(self.server.handle.load("words"));
        for one in loaded.unwrap() {
            one.outcome.unwrap();
        }
    }

    /// Rounds of a merge and then `every` versions.
    fn rounds(&mut self, count: usize, every: usize) {
        for _ in 0..count {
            self.merge();
            (0..every).for_each(|_| self.publish());
        }
    }

    /// The changed value of the newest version.
    fn newest(&self) -> Vec<u8> {
        value(CHANGED, &self.number.to_string())
    }

    /// A connection of the newest version, which stays at it as long as it is answered.
    fn connect(&self) -> Connection {
        self.connect_to(&self.server.url())
    }

    /// Like [`Published::connect`], at this address of the service.
    fn connect_to(&self, url: &str) -> Connection {
        let options = Options {
            database: Some("words".into()),
            freshness: Freshness(Duration::MAX),
            allow_not_private: true,
            ..stateless()
        };
        let mut connection = Connection::open_with(url, &options).unwrap();
        self.assert_newest(&mut connection);
        connection
    }

    fn assert_newest(&self, connection: &mut Connection) {
        let found = connection.get_key(&key(CHANGED)).unwrap();
        assert_eq!(found, Some(self.newest()));
    }

    /// Looks up with a connection whose version is no longer answered.
    fn catch_up(&self, connection: &mut Connection) -> CatchUp {
        let before = connection.costs();
        self.assert_newest(connection);

        let after = connection.costs();
        CatchUp {
            requests: after.requests - before.requests,
            public_bytes: after.public_bytes - before.public_bytes,
        }
    }

    /// The lengths of the newest version's public parts.
    fn public_bytes(&self) -> PublicBytes {
        let described = get(&format!("{}/v1/databases/words", self.server.url())).json();
        PublicBytes {
            base: described["sizes"]["bundle"].as_u64().unwrap(),
            delta: described["delta"]["public"].as_u64().unwrap(),
        }
    }

    fn left(&self) -> Left {
        let found = fs::read_dir(self.folder.path()).unwrap();
        let files: Vec<_> = found.map(|file| file.unwrap()).collect();
        let inodes: BTreeSet<u64> = files
            .iter()
            .map(|file| file.metadata().unwrap().ino())
            .collect();

        let url = self.server.url();
        let described = get(&format!("{url}/v1/databases/words")).json();
        let metrics = text(get(&format!("{url}/metrics")).body);
        Left {
            files: files.len(),
            inodes: inodes.len(),
            metrics: metrics.lines().count(),
            described: described["previous_versions"].as_array().unwrap().len(),
        }
    }
}

fn used() -> Used {
    Used {
        descriptors: entries("fd"),
        threads: entries("task"),
        resident: resident(),
    }
}

/// Publishes versions in rounds, and compares what they leave with what those of the first rounds
/// left. A client that missed all later ones needs what one needs that missed a few rounds.
fn versions_leave_nothing(rounds: usize, every: usize) {
    let mut published = Published::new(None);
    published.rounds(1, every);
    let mut early = published.connect();
    published.rounds(WARM_UP - 1, every);
    let caught_up = published.catch_up(&mut early);
    let mut away = published.connect();

    // The first look makes the lines of its own requests.
    published.left();
    let left = published.left();
    let used_first = used();
    assert_eq!(left.described, OLD_DELTAS);

    published.rounds(rounds - WARM_UP, every);
    assert_eq!(published.left(), left);
    let used_last = used();
    println!("{left:?}, {used_first:?}, {used_last:?}");
    assert!(used_last.descriptors <= used_first.descriptors + 8);
    assert!(used_last.threads <= used_first.threads + 8);
    let most = used_first.resident + used_first.resident / 4 + (32 << 20);
    assert!(used_last.resident <= most, "{used_last:?}");

    let late = published.catch_up(&mut away);
    assert_eq!(late.requests, caught_up.requests, "{late:?} {caught_up:?}");
    assert!(
        late.public_bytes < 2 * caught_up.public_bytes,
        "{late:?} {caught_up:?}"
    );
}

#[test]
fn a_hundred_versions_leave_nothing() {
    if runs_alone("many_versions::a_hundred_versions_leave_nothing") {
        // More versions in a round than old ones are kept.
        versions_leave_nothing(5, 33);
    }
}

/// The client that is away misses 9,000 versions.
#[test]
#[ignore = "long"]
fn ten_thousand_versions_leave_nothing() {
    if runs_alone("many_versions::ten_thousand_versions_leave_nothing") {
        versions_leave_nothing(40, 250);
    }
}

/// A client that missed all versions of some rounds, each of a merge and `every` deltas, downloads
/// the newest version's public parts whole, and no version between.
fn a_client_catches_up(rounds: usize, every: usize) {
    let mut published = Published::new(None);
    published.publish();
    let tap = Tap::passing(published.server.address);
    let mut away = published.connect_to(&tap.url());

    published.rounds(rounds, every);
    tap.take();
    let late = published.catch_up(&mut away);
    let heads = tap.take();
    assert!(heads.len() <= CATCH_UP_REQUESTS, "{heads:#?}");

    let PublicBytes { base, delta } = published.public_bytes();
    assert!(late.public_bytes <= base + delta, "{late:?}");
    assert_eq!(late.requests, 2, "refused, and answered");
}

#[test]
fn a_client_that_missed_merges_catches_up_with_five_requests() {
    // More merges than old snapshots are answered.
    a_client_catches_up(3, 4);
}

#[test]
#[ignore = "long"]
fn a_client_that_was_away_for_a_day_catches_up_with_five_requests() {
    a_client_catches_up(4, VERSIONS_OF_A_DAY / 4);
}

/// Old deltas are dropped by number and by bytes, so that the service refuses a client that has
/// missed more. The base is the same, and its public part is not fetched again.
#[test]
fn a_client_that_missed_more_deltas_than_are_kept_downloads_the_newest() {
    let mut published = Published::new(None);
    published.publish();
    let tap = Tap::passing(published.server.address);
    let mut away = published.connect_to(&tap.url());

    // The last one of those that are still answered needs nothing but its query.
    for _ in 0..OLD_DELTAS {
        published.publish();
    }
    let kept = value(CHANGED, "1");
    tap.take();
    assert_eq!(away.get_key(&key(CHANGED)).unwrap(), Some(kept));
    assert_eq!(tap.take().len(), 1);

    published.publish();
    let late = published.catch_up(&mut away);
    let heads = tap.take();
    assert!(heads.len() <= CATCH_UP_REQUESTS_OF_DELTAS, "{heads:#?}");
    let most = published.public_bytes().delta;
    assert!(late.public_bytes <= most, "{late:?}");
}

/// The log of each old version is dropped, and that of the newest one is sent.
#[test]
fn the_newest_log_has_all_versions() {
    let sign = Sign {
        time: Some(START),
        ..Sign::new(owner())
    };
    let mut published = Published::new(Some(sign));
    let url = format!(
        "{}/v1/databases/words/checkpoint/log",
        published.server.url()
    );

    for versions in 2..6 {
        published.publish();
        let log = Log::decode(&get(&url).body).unwrap();
        assert_eq!(log.leaves().len(), versions);
    }
    published.merge();
    published.publish();
    let log = Log::decode(&get(&url).body).unwrap();
    assert_eq!(log.leaves().len(), 7);
}
