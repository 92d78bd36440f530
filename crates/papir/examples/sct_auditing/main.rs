//! Private auditing of certificate transparency logs, over a service.
//!
//! This is the application of section 7 of the ZipPIR paper (Akhavan Mahdavi, Diao, Kerschbaum). A
//! server's certificate comes with a signed certificate timestamp (SCT): a log's promise to include
//! the certificate. A browser could check the promise by asking the log for the hash of the
//! certificate's entry, but that would reveal its browsing history. Here the browser asks with private
//! information retrieval. The log still sees when it is queried and for how many hashes, so the
//! browser audits a batch of fixed size at regular intervals, on a schedule of the client
//! ([`Schedule`](papir::Schedule)). Random keys fill the batch, and certificates beyond the batch
//! wait for the next one.
//!
//! ZipPIR suits this application. The auditor registers once, with 448 bytes, and stores no data of
//! the log. Between intervals, the service prepares the tickets of the next batch, and the auditor
//! decrypts the masks of its queries. If the log grows in between, the service updates the tickets, so
//! audits always use the newest version.
//!
//! The certificates are real: the roots that Mozilla trusts. Their entries have made-up timestamps,
//! since this log is not one of the public ones.
//!
//! `cargo run --release -p papir --example sct_auditing -- [--entries N] [--growth N] [--intervals N]
//! [--seconds S]`
//!
//! | file | content |
//! |---|---|
//! | `certificates` | certificates, and the hashes of their entries (RFC 6962) |
//! | `log` | the log and its service |
//! | `auditor` | the client |

mod auditor;
mod certificates;
mod log;

use std::time::{Duration, Instant};

use auditor::{Audit, Auditor, LogConnection};
use certificates::{LeafHash, TimestampedCertificate};
use log::{Growth, Log};

type Result<T, E = Box<dyn std::error::Error + Send + Sync>> = std::result::Result<T, E>;

/// Number of hashes in each batch.
const BATCH: usize = 4;

fn main() -> Result<()> {
    let run = Run::from_arguments(std::env::args().skip(1))?;
    let (mut log, setup) = timed(|| Log::serve(run.entries))?;
    println!(
        "log         {} entries at {}, prepared in {}",
        log.entries(),
        log.url(),
        seconds(setup)
    );
    let ((mut auditor, keys), registration) = timed(|| Auditor::register(log.url(), run.interval))?;
    println!(
        "registered  {} bytes of keys, with a first lookup, in {}\n",
        keys,
        seconds(registration)
    );
    for number in 0..run.intervals {
        browse(&log, number).try_for_each(|hash| auditor.see(hash))?;
        let seen = auditor.waiting();
        let mut ahead = work_ahead(&mut log, &auditor, run.growth)?;
        auditor.wait_for_slot();
        let audit = auditor.audit(&mut ahead.prepared)?;
        print_interval(number, seen, &log, &ahead, &audit);
    }
    Ok(())
}

/// Work of both sides before an interval.
struct Ahead {
    growth: Growth,
    prepared: LogConnection,
}

/// Adds entries to the log and prepares the auditor for the new version.
fn work_ahead(log: &mut Log, auditor: &Auditor, growth: u64) -> Result<Ahead> {
    Ok(Ahead {
        growth: log.grow(growth)?,
        prepared: auditor.prepare()?,
    })
}

/// Returns the hashes of the certificates seen in an interval. Intervals cycle through four cases:
/// certificates in the log; none; more than a batch, with one that the log promised to include but
/// did not; and the newest.
fn browse(log: &Log, interval: u64) -> impl Iterator<Item = LeafHash> {
    let last = log.entries() - 1;
    let (entries, promised): (Vec<u64>, Option<u64>) = match interval % 4 {
        0 => (vec![0, last / 2], None),
        1 => (Vec::new(), None),
        2 => (
            (0..BATCH as u64).map(|number| number.min(last)).collect(),
            Some(interval),
        ),
        _ => (vec![last], None),
    };
    let included = entries.into_iter().map(TimestampedCertificate::of_entry);
    promised
        .map(TimestampedCertificate::never_included)
        .into_iter()
        .chain(included)
        .map(|one| one.leaf_hash())
}

// Output.

fn print_interval(number: u64, seen: usize, log: &Log, ahead: &Ahead, audit: &Audit) {
    println!("interval {number}  {seen} to audit, a batch of {BATCH} sent");
    let Ahead {
        growth: Growth { update, reload },
        prepared: LogConnection { masks, .. },
    } = ahead;
    let entries = log.entries();
    let update = seconds(*update);
    let reload = seconds(*reload);
    println!(
        "    ahead   log of {entries} entries in {update}, loaded in {reload}; masks {}",
        seconds(*masks)
    );
    for (hash, entry) in &audit.audited {
        let outcome = entry.map_or_else(
            || "NOT IN THE LOG, a broken promise".to_owned(),
            |entry| format!("entry {entry}"),
        );
        println!("            {}…  {outcome}", &certificates::key(hash)[..8]);
    }
    let costs = &audit.costs;
    println!(
        "    audit   {}: {} bytes up, {} bytes down, in {} request; {} bytes of public data\n",
        seconds(audit.time),
        costs.query_bytes,
        costs.answer_bytes,
        costs.requests,
        costs.public_bytes
    );
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

/// Arguments of the command line.
struct Run {
    entries: u64,
    growth: u64,
    intervals: u64,
    interval: Duration,
}

impl Run {
    fn from_arguments(mut arguments: impl Iterator<Item = String>) -> Result<Self> {
        let mut run = Self {
            entries: 4000,
            growth: 3,
            intervals: 8,
            interval: Duration::from_secs(1),
        };
        while let Some(name) = arguments.next() {
            let value = arguments
                .next()
                .ok_or_else(|| format!("{name} needs a number"))?;
            match name.as_str() {
                "--entries" => run.entries = value.parse()?,
                "--growth" => run.growth = value.parse()?,
                "--intervals" => run.intervals = value.parse()?,
                "--seconds" => run.interval = Duration::try_from_secs_f64(value.parse()?)?,
                _ => {
                    return Err(format!(
                        "{name}: expected --entries, --growth, --intervals or --seconds"
                    )
                    .into());
                }
            }
        }
        let least = Duration::from_millis(1);
        if run.entries == 0 || run.growth == 0 || run.interval < least {
            return Err(
                "expected at least one entry, one new entry per interval, and one millisecond"
                    .into(),
            );
        }
        Ok(run)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Entries of the log in tests.
    const ENTRIES: u64 = 200;

    struct Setup {
        log: Log,
        auditor: Auditor,
    }

    impl Setup {
        fn new() -> Result<Self> {
            let log = Log::serve(ENTRIES)?;
            let (auditor, keys) = Auditor::register(log.url(), Duration::from_secs(1))?;
            assert!(keys < 450, "{keys} bytes of keys");
            Ok(Self { log, auditor })
        }

        /// Adds an entry, and audits `numbers` and a promise that was not kept, if `broken`. Checks
        /// the outcome. Returns the bytes sent and received, and the number of requests.
        fn audit(&mut self, numbers: &[u64], broken: bool) -> Result<[u64; 3]> {
            let included = numbers
                .iter()
                .map(|&number| (TimestampedCertificate::of_entry(number), Some(number)));
            let promised = broken.then(|| (TimestampedCertificate::never_included(3), None));
            let expected: Vec<_> = included
                .chain(promised)
                .map(|(one, entry)| (one.leaf_hash(), entry))
                .collect();
            expected
                .iter()
                .try_for_each(|(hash, _)| self.auditor.see(*hash))?;
            let mut ahead = work_ahead(&mut self.log, &self.auditor, 1)?;
            let audit = self.auditor.audit(&mut ahead.prepared)?;
            let now = expected.len().min(BATCH);
            assert_eq!(audit.audited, expected[..now]);
            assert_eq!(self.auditor.waiting(), expected.len() - now);
            Ok([
                audit.costs.query_bytes,
                audit.costs.answer_bytes,
                audit.costs.requests,
            ])
        }
    }

    #[test]
    fn the_newest_entry_is_found_and_a_broken_promise_too() -> Result<()> {
        let traffic = Setup::new()?.audit(&[ENTRIES], true)?;
        assert_eq!(traffic[2], 1);
        Ok(())
    }

    #[test]
    #[ignore = "a minute without AVX-512 IFMA"]
    fn audits_look_alike_however_many_certificates_were_seen() -> Result<()> {
        let mut setup = Setup::new()?;
        let nothing = setup.audit(&[], false)?;
        let full = setup.audit(&[0, 1, 2, 3], false)?;
        let too_many = setup.audit(&[7, 8, 9, 10, 11], false)?;
        assert_eq!([full, too_many], [nothing, nothing]);
        assert_eq!(setup.auditor.waiting(), 1);
        Ok(())
    }
}
