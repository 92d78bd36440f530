//! Private auditing of certificate transparency logs.
//!
//! This is the application of section 7 of the ZipPIR paper (Akhavan Mahdavi, Diao, Kerschbaum). A
//! server's certificate carries a signed certificate timestamp (SCT): a log's promise to include
//! the certificate. A browser could check the promise by asking the log for the certificate's hash,
//! but that would reveal its browsing history. Here an auditor asks with private information
//! retrieval. The log still sees when it is queried, so the auditor makes exactly one query per
//! interval: for a random one of the hashes it saw, or for a random hash that is not in the log if
//! it saw none.
//!
//! ZipPIR suits this application. The auditor registers once, with 448 bytes, and stores no data of
//! the log. Between intervals, the log prepares the ticket of the next query, and the auditor
//! decrypts the query's masks. If the log changes in between, it updates its tickets, so audits
//! always use the newest version.
//!
//! `cargo run --release -p papir --example sct_auditing -- [--entries N] [--growth N] [--intervals
//! N] [--seconds S]`

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use papir::{
    BucketTarget, Database, ErasedKeys, ErasedSession, ErasedState, Goal, Lookup, NoProgress, Options,
    Pending, Progress, client_of, system_rng,
};
use rand_core::Rng;

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// A log's identifier of a certificate: the SHA-256 hash of its leaf in the Merkle tree. This
/// example uses random hashes.
type Hash = [u8; 32];

fn main() -> Result<()> {
    let run = Run::from_arguments(std::env::args().skip(1))?;
    let (mut log, setup) = timed(|| Log::new(run.entries))?;
    describe(&log, setup);
    let ((mut auditor, keys), registration) = timed(|| Auditor::register(&log.database.bundle()))?;
    log.register(&keys)?;
    println!("registered  {} bytes of keys, made in {}\n", thousands(keys.len()), seconds(registration));
    let start = Instant::now();
    for number in 0..run.intervals {
        let ahead = work_ahead(&mut log, &mut auditor, run.growth)?;
        let seen = browse(&log, number, run.growth);
        wait_for_next_interval(start, run.interval);
        let audit = auditor.audit(&mut log, &seen)?;
        print_interval(number, &log, &ahead, &audit);
    }
    Ok(())
}

// The log.

/// A log: its entries (hash → entry number), and the auditor's keys and tickets.
struct Log {
    database: Database,
    /// The public list of entries, in order.
    entries: Vec<Hash>,
    auditor: Option<ErasedKeys>,
    /// Prepared tickets by number. Each is valid for one query: it is removed before its answer is
    /// computed. A real server keeps tickets on disk (`papir serve --registry`).
    tickets: BTreeMap<u64, Vec<u8>>,
}

/// The cost of adding entries.
struct Growth {
    update: Duration,
    follow: Duration,
    /// Number of ticket ciphertexts that were prepared again.
    ciphertexts: u64,
}

impl Log {
    fn new(count: u64) -> Result<Self> {
        let entries: Vec<Hash> = (0..count).map(|_| random_hash()).collect();
        let options = Options {
            scheme: "zip".to_owned(),
            goal: Goal::Balanced,
            // An entry takes 16 bytes. Short records make short columns, and thus few ciphertexts
            // per ticket.
            bucket: Some(BucketTarget::Grow(128)),
            room: 20,
            ..Options::default()
        };
        let database = Database::build((0u64..).zip(&entries).map(entry), &options)?;
        Ok(Self { database, entries, auditor: None, tickets: BTreeMap::new() })
    }

    fn register(&mut self, keys: &[u8]) -> Result<()> {
        self.auditor = Some(self.database.server().accept_keys(keys)?);
        Ok(())
    }

    fn keys(&self) -> Result<&ErasedKeys> {
        Ok(self.auditor.as_ref().ok_or("no auditor has registered")?)
    }

    fn prepare_ticket(&mut self, number: u64) -> Result<()> {
        let ticket = self.database.server().ticket(self.keys()?, number, &NoProgress)?;
        self.tickets.insert(number, ticket);
        Ok(())
    }

    /// Adds certificates in a new version of the database, and updates the tickets.
    fn grow(&mut self, count: u64) -> Result<Growth> {
        let new: Vec<Hash> = (0..count).map(|_| random_hash()).collect();
        let numbered = (self.entries.len() as u64..).zip(&new).map(entry);
        let changes = numbered.map(|(hash, number)| (hash, Some(number)));
        let (next, update) = timed(|| Ok(self.database.update(changes)?))?;
        let counter = Counter::default();
        let (tickets, follow) = timed(|| self.updated_tickets(&next, &counter))?;
        (self.database, self.tickets) = (next, tickets);
        self.entries.extend(new);
        Ok(Growth { update, follow, ciphertexts: counter.0.into_inner() })
    }

    /// Updates the tickets for the next version. Ciphertexts whose rows of the hint did not change
    /// are kept.
    fn updated_tickets(&self, next: &Database, progress: &dyn Progress) -> Result<BTreeMap<u64, Vec<u8>>> {
        let follow = |(&number, ticket): (&u64, &Vec<u8>)| {
            let earlier = (self.database.server(), ticket.as_slice());
            Ok((number, next.server().follow(earlier, self.keys()?, number, progress)?))
        };
        self.tickets.iter().map(follow).collect()
    }

    /// Answers a query and consumes its ticket.
    fn answer(&mut self, number: u64, query: &[u8]) -> Result<Vec<u8>> {
        let ticket = self.tickets.remove(&number).ok_or("this ticket is not ready")?;
        let session = ErasedSession { keys: Some(self.keys()?), ticket: Some(&ticket) };
        Ok(self.database.server().answer(session, query)?)
    }
}

/// One key-value pair of the log's table.
fn entry((number, hash): (u64, &Hash)) -> (Hash, [u8; 8]) {
    (*hash, number.to_le_bytes())
}

/// Counts the progress steps of ticket preparation.
#[derive(Default)]
struct Counter(AtomicU64);

impl Progress for Counter {
    fn stage(&self, _name: &str, _total: u64) {}

    fn advance(&self, steps: u64) {
        self.0.fetch_add(steps, Ordering::Relaxed);
    }
}

// The auditor.

/// An auditing client: its keys and the number of tickets it has used.
struct Auditor {
    lookup: Lookup,
    state: ErasedState,
    /// The saved state, kept in memory in this example. A real client writes it to disk before it
    /// sends a query, because after a crash the next query must not use the same ticket.
    saved: Vec<u8>,
}

/// The result and the cost of one audit.
struct Audit {
    seen: usize,
    asked: Option<Hash>,
    /// The entry's number.
    found: Option<u64>,
    up: usize,
    down: usize,
    query: Duration,
    answer: Duration,
    extract: Duration,
}

impl Auditor {
    /// Creates an auditor and the keys that it registers.
    fn register(bundle: &[u8]) -> Result<(Self, Vec<u8>)> {
        let lookup = client_of(bundle)?;
        let registered = lookup.client().register(&mut system_rng())?;
        let (state, keys) = registered.ok_or("the scheme's clients register nothing")?;
        Ok((Self { lookup, state, saved: Vec::new() }, keys))
    }

    fn next_ticket(&self) -> Result<u64> {
        Ok(self.lookup.client().next_ticket(&self.state)?.ok_or("the scheme has no tickets")?)
    }

    /// Decrypts the next query's masks. This is nearly all of the client's work, and does not
    /// depend on the index.
    fn prepare(&mut self) -> Result<()> {
        Ok(self.lookup.client().prepare(&mut self.state, 1, &NoProgress)?)
    }

    /// Switches to another version of the log. Keys, state and masks are kept.
    fn switch_version(&mut self, bundle: &[u8]) -> Result<()> {
        self.lookup = client_of(bundle)?;
        Ok(())
    }

    /// Looks up a random one of `seen`, or a random hash if `seen` is empty.
    fn audit(&mut self, log: &mut Log, seen: &[Hash]) -> Result<Audit> {
        let asked = pick(seen);
        let (pending, query) = timed(|| self.prepare_query(&asked.unwrap_or_else(random_hash)))?;
        let ([number], [sent]) = (pending.tickets(), pending.queries()) else {
            return Err("a lookup of this table is more than one query".into());
        };
        let up = sent.len();
        let (answer, answering) = timed(|| log.answer(*number, sent))?;
        let down = answer.len();
        let (value, extract) = timed(|| Ok(pending.finish(&[answer])?))?;
        let found = value.and_then(|value| Some(u64::from_le_bytes(value.try_into().ok()?)));
        Ok(Audit { seen: seen.len(), asked, found, up, down, query, answer: answering, extract })
    }

    fn prepare_query(&mut self, hash: &Hash) -> Result<Pending> {
        let pending = self.lookup.prepare_key_with(Some(&mut self.state), hash, &mut system_rng())?;
        self.saved = self.lookup.client().save_state(&self.state)?.to_vec();
        Ok(pending)
    }
}

fn pick(seen: &[Hash]) -> Option<Hash> {
    let count = u64::try_from(seen.len()).ok().filter(|count| *count > 0)?;
    seen.get((system_rng().next_u64() % count) as usize).copied()
}

// Between intervals, and simulated data.

/// Costs of the work of both sides before an interval.
struct Ahead {
    ticket: Duration,
    growth: Growth,
    masks: Duration,
    bundle: usize,
}

/// Prepares the log's ticket, adds entries, updates the ticket and decrypts the auditor's masks in
/// parallel; then the auditor fetches the public data of the new version.
fn work_ahead(log: &mut Log, auditor: &mut Auditor, growth: u64) -> Result<Ahead> {
    let number = auditor.next_ticket()?;
    let (logs, masks) = thread::scope(|scope| {
        let masks = scope.spawn(|| timed(|| auditor.prepare()));
        let logs =
            timed(|| log.prepare_ticket(number)).and_then(|((), ticket)| Ok((ticket, log.grow(growth)?)));
        (logs, masks.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
    });
    let ((ticket, growth), ((), masks)) = (logs?, masks?);
    let bundle = log.database.bundle();
    auditor.switch_version(&bundle)?;
    Ok(Ahead { ticket, growth, masks, bundle: bundle.len() })
}

/// The certificates seen in an interval. Intervals cycle through: some in the log, none, one of the
/// newest, and one that the log promised to include but did not.
fn browse(log: &Log, interval: u64, growth: u64) -> Vec<Hash> {
    let newest = (growth as usize).min(log.entries.len());
    match interval % 4 {
        0 => log.entries.iter().step_by(log.entries.len().div_ceil(3).max(1)).copied().collect(),
        1 => Vec::new(),
        2 => pick(&log.entries[log.entries.len() - newest..]).into_iter().collect(),
        _ => vec![random_hash()],
    }
}

fn random_hash() -> Hash {
    let mut hash = [0; 32];
    system_rng().fill_bytes(&mut hash);
    hash
}

/// Sleeps until the next multiple of the interval, so that query times do not depend on the
/// browsing history.
fn wait_for_next_interval(start: Instant, interval: Duration) {
    let past = start.elapsed().as_nanos() % interval.as_nanos();
    thread::sleep(interval - Duration::from_nanos(past as u64));
}

// Output.

fn describe(log: &Log, setup: Duration) {
    let description = log.database.describe();
    let (shape, sizes) = (description.shape, description.sizes);
    println!(
        "log         {} entries in {} records, prepared in {}",
        log.entries.len(),
        shape.records(),
        seconds(setup)
    );
    println!("ticket      {} bytes, one per query", thousands(sizes.ticket as usize));
    if let Some(security) = description.security {
        println!("security    {} bits; failure 2^{:.0}", security.bits, description.failure_log2);
    }
}

fn print_interval(number: u64, log: &Log, ahead: &Ahead, audit: &Audit) {
    let Ahead { ticket, growth, masks, bundle } = ahead;
    println!("interval {number}  {}", outcome(audit));
    println!("    ahead   ticket {}; masks {}, in parallel", seconds(*ticket), seconds(*masks));
    println!(
        "            log grown to {} entries in {}; ticket updated in {}, {} of {} ciphertexts prepared again",
        log.entries.len(),
        seconds(growth.update),
        seconds(growth.follow),
        growth.ciphertexts,
        parameter(log, "ciphertexts"),
    );
    println!("            {} bytes of public data for all clients of the version", thousands(*bundle));
    println!(
        "    audit   query {}, {} bytes up; answer {}, {} bytes down; extract {}\n",
        seconds(audit.query),
        thousands(audit.up),
        seconds(audit.answer),
        thousands(audit.down),
        seconds(audit.extract),
    );
}

fn parameter(log: &Log, name: &str) -> String {
    let mut parameters = log.database.describe().parameters.into_iter();
    parameters.find(|(other, _)| *other == name).map_or_else(String::new, |(_, value)| value)
}

fn outcome(audit: &Audit) -> String {
    let name = |hash: &Hash| hash[..4].iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match (&audit.asked, audit.found) {
        (None, _) => "nothing seen: queried for a random hash".to_owned(),
        (Some(hash), Some(entry)) => {
            format!("of {} seen, queried for {}…: entry {entry}", audit.seen, name(hash))
        }
        (Some(hash), None) => {
            format!("of {} seen, queried for {}…: NOT IN THE LOG, a broken promise", audit.seen, name(hash))
        }
    }
}

fn timed<T>(work: impl FnOnce() -> Result<T>) -> Result<(T, Duration)> {
    let start = Instant::now();
    Ok((work()?, start.elapsed()))
}

fn seconds(duration: Duration) -> String {
    if duration < Duration::from_secs(1) {
        return format!("{:.1} ms", 1000.0 * duration.as_secs_f64());
    }
    format!("{:.2} s", duration.as_secs_f64())
}

/// A number with thousands separators.
fn thousands(number: usize) -> String {
    let digits = number.to_string();
    let groups: Vec<&str> =
        digits.as_bytes().rchunks(3).rev().filter_map(|group| str::from_utf8(group).ok()).collect();
    groups.join(",")
}

/// The command-line arguments.
struct Run {
    entries: u64,
    growth: u64,
    intervals: u64,
    interval: Duration,
}

impl Run {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut run = Self { entries: 4000, growth: 3, intervals: 8, interval: Duration::from_secs(1) };
        while let Some(name) = arguments.next() {
            let value = arguments.next().ok_or_else(|| format!("{name} needs a number"))?;
            match name.as_str() {
                "--entries" => run.entries = value.parse()?,
                "--growth" => run.growth = value.parse()?,
                "--intervals" => run.intervals = value.parse()?,
                "--seconds" => run.interval = Duration::try_from_secs_f64(value.parse()?)?,
                _ => {
                    return Err(
                        format!("{name}: expected --entries, --growth, --intervals or --seconds").into()
                    );
                }
            }
        }
        let least = Duration::from_millis(1);
        if run.entries == 0 || run.growth == 0 || run.interval < least {
            return Err("expected at least one entry, one new entry per interval, and one millisecond".into());
        }
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Setup {
        log: Log,
        auditor: Auditor,
    }

    impl Setup {
        fn new() -> Result<Self> {
            let mut log = Log::new(200)?;
            let (auditor, keys) = Auditor::register(&log.database.bundle())?;
            assert!(keys.len() < 450);
            log.register(&keys)?;
            Ok(Self { log, auditor })
        }

        /// Runs one interval and checks its audit; returns the bytes sent and received.
        fn audit(&mut self, interval: u64) -> Result<[usize; 2]> {
            let (log, auditor) = (&mut self.log, &mut self.auditor);
            let number = auditor.next_ticket()?;
            work_ahead(log, auditor, 1)?;
            let audit = auditor.audit(log, &browse(log, interval, 1))?;
            let expected = audit.asked.and_then(|hash| log.entries.iter().position(|entry| *entry == hash));
            assert_eq!(audit.found, expected.map(|entry| entry as u64), "interval {interval}");
            assert!(log.tickets.is_empty(), "the ticket is consumed");
            assert_eq!(auditor.next_ticket()?, number + 1);
            Ok([audit.up, audit.down])
        }
    }

    #[test]
    fn the_newest_entry_is_found() -> Result<()> {
        Setup::new()?.audit(2).map(drop)
    }

    #[test]
    #[ignore = "half a minute without AVX-512 IFMA"]
    fn audits_look_alike() -> Result<()> {
        let mut setup = Setup::new()?;
        let (seen, nothing, missing) = (setup.audit(0)?, setup.audit(1)?, setup.audit(3)?);
        assert_eq!([nothing, missing], [seen, seen]);
        Ok(())
    }
}
