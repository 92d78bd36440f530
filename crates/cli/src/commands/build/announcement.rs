//! Announcements of a build: size, memory, cost of queries.

use std::io::IsTerminal;
use std::path::Path;

use papir_core::cost::Rates;
use papir_core::scheme::Scheme;
use papir_core::{Description, Error, Privacy, Result, Shape, Sizes};
use papir_plan::{units, wording};
use papir_schemes::download::Download;

/// Builds that need less memory are not announced: they end within seconds.
const ANNOUNCED_BYTES: u64 = 256 << 20;
/// Queries that take less are not announced.
const SAID_SECONDS: f64 = 1.0;
/// A build of a database whose queries take longer needs the operator's agreement.
const ASKED_SECONDS: f64 = 60.0;
/// Memory of the program itself and of small buffers.
const OTHER_BYTES: u64 = 32 << 20;

/// Prints on stderr the expected size of the file and the memory of the build, and a warning if
/// this machine has less. `prepared_bytes` is the length of the prepared database.
pub(crate) fn print(out: &Path, records: &Shape, prepared_bytes: u64) {
    let needed = peak(prepared_bytes, records.total_bytes());
    let file = units::bytes(prepared_bytes);
    let memory = units::bytes(needed);
    if needed < ANNOUNCED_BYTES {
        return;
    }

    eprintln!(
        "papir: preparing {}: a file of about {file}, with about {memory} of memory",
        out.display()
    );

    if let Some(available) = papir_store::free_memory().filter(|available| *available < needed) {
        eprintln!(
            "papir: warning: this machine has {} of memory available: a smaller --batch, another --goal or \
             --scheme may need less (papir plan compares them)",
            units::bytes(available)
        );
    }
}

/// Prints on stderr the expected size of the file and the limits of a build with `memory` bytes.
pub(crate) fn print_bounded(out: &Path, prepared_bytes: u64, memory: u64) {
    let file = units::bytes(prepared_bytes);
    let memory = units::bytes(memory);

    eprintln!(
        "papir: preparing {}: a file of about {file}, with at most {memory} of memory besides mapped files",
        out.display()
    );
}

/// Prints on stderr what a filter of the keys reveals.
pub(crate) fn reveal_prefilter() {
    eprintln!(
        "papir: a prefilter: a request then tells the service that a client looked for a key that \
         is probably present, and when; anyone who may fetch the filter can test keys without the \
         service"
    );
}

/// Prints on stderr that all records together are shorter than the messages of one lookup, if so.
pub(crate) fn compare_with_download(description: &Description) {
    let Sizes { query, answer, .. } = description.sizes;
    let all = description.shape.total_bytes();
    let other = description.scheme != Download::NAME && !description.limits.owner_key;

    if all < query + answer && other && description.privacy == Privacy::Private {
        eprintln!(
            "papir: all records have {}, and one lookup sends {}: --scheme download would send every client \
             all of them, and nothing for a lookup",
            units::bytes(all),
            units::bytes(query + answer)
        );
    }
}

/// Prints on stderr the cost of a query that takes more than a second, and asks whether to continue
/// if it takes more than a minute. `agreed` is an agreement in advance. Without one, the error is
/// [`Error::OutOfBounds`].
pub(crate) fn agree_to_cost(description: &Description, rates: &Rates, agreed: bool) -> Result<()> {
    let seconds = description.work.answer.seconds(rates, rates.threads());
    if seconds < SAID_SECONDS {
        return Ok(());
    }

    let cost = wording::of_query(description, seconds);
    let must_ask = seconds >= ASKED_SECONDS && !agreed;
    // Without a terminal nobody could answer: the build would wait, or read its answer from a pipe.
    if must_ask && !(std::io::stdin().is_terminal() && confirmed(&cost)) {
        let expected = format!("at most {ASKED_SECONDS}, or --yes: {cost}");
        return Err(Error::out_of_bounds(
            "the number of seconds that a query takes",
            seconds as u64,
            expected,
        ));
    }

    eprintln!("papir: {}: {cost}", description.scheme);
    Ok(())
}

/// Asks the operator.
fn confirmed(cost: &str) -> bool {
    eprint!("papir: {cost}. Build it? [y/N] ");

    let mut line = String::new();
    std::io::stdin().read_line(&mut line).is_ok() && line.trim().eq_ignore_ascii_case("y")
}

/// Memory at the peak of a build: the prepared database with buffers of the setup, and the records
/// twice, as read and as encoded. The measured peaks of builds of 16 MiB to 1.3 GiB under
/// `inspire`, `inspire2`, `simple` and `inspire-batch` are 0.65 to 1.2 times this.
fn peak(prepared_bytes: u64, record_bytes: u64) -> u64 {
    let prepared = prepared_bytes.saturating_add(prepared_bytes / 4);

    prepared
        .saturating_add(record_bytes.saturating_mul(2))
        .saturating_add(OTHER_BYTES)
}
