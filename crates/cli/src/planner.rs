//! Chooses a scheme and its parameters for a database, a line and a machine.

use papir_core::cost::{Operation, Rates};
use papir_core::{Candidate, Privacy, Shape};
use papir_schemes::registry;
use serde::Serialize;

use crate::failure::Failure;
use crate::units;

/// Bits a second that a line has where none is told: 10 Mbit/s.
pub(crate) const DEFAULT_LINE: f64 = 1e7;

/// What is asked of a database.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Demand {
    /// Records and their length.
    pub(crate) shape: Shape,
    /// Bytes that a client fetches once besides the scheme's public part.
    pub(crate) extra_bytes: u64,
    /// The client's line: bits a second up and down.
    pub(crate) line: (f64, f64),
    /// Bytes of the server's memory, where they are bounded.
    pub(crate) memory: Option<u64>,
    /// Threads that answer one query.
    pub(crate) threads: usize,
    /// Lookups over which what a client fetches once is spread.
    pub(crate) lookups: u64,
}

impl Demand {
    /// A demand with every default.
    pub(crate) fn new(shape: Shape, rates: &Rates) -> Self {
        let line = (DEFAULT_LINE, DEFAULT_LINE);
        Self { shape, extra_bytes: 0, line, memory: None, threads: rates.threads(), lookups: 1 }
    }
}

/// What a candidate costs under a demand.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Offer {
    pub(crate) scheme: &'static str,
    pub(crate) parameters: String,
    pub(crate) upload_bytes: u64,
    pub(crate) download_bytes: u64,
    /// What a client fetches once a version: public part, hint included.
    pub(crate) public_bytes: u64,
    pub(crate) hint_bytes: u64,
    pub(crate) answer_s: f64,
    /// Seconds of one core for an answer, other cores busy too.
    pub(crate) core_s: f64,
    /// Query and extraction.
    pub(crate) client_s: f64,
    pub(crate) transfer_s: f64,
    /// Fetching the public part, spread over the lookups.
    pub(crate) public_s: f64,
    /// All of it.
    pub(crate) lookup_s: f64,
    /// What a server keeps resident, the program itself left out.
    pub(crate) memory_bytes: u64,
    pub(crate) snapshot_bytes: u64,
    pub(crate) setup_s: f64,
    pub(crate) security_bits: Option<f64>,
    pub(crate) failure_log2: f64,
    /// Bytes of the database and the packing matrices that an answer reads.
    pub(crate) streamed_bytes: f64,
    pub(crate) external_products: f64,
    /// The parameters as bytes.
    #[serde(skip)]
    pub(crate) encoded: Vec<u8>,
}

impl Offer {
    fn of(candidate: Candidate, demand: &Demand, rates: &Rates) -> Self {
        let Candidate { label, description, parameters } = candidate;
        let (sizes, work) = (description.sizes, &description.work);
        let (up, down) = demand.line;
        let answer_s = work.answer.seconds(rates, demand.threads);
        let client_s = work.query.seconds(rates, 1) + work.extract.seconds(rates, 1);
        let transfer_s = 8.0 * (sizes.query as f64 / up + sizes.answer as f64 / down);
        let public_bytes = sizes.public + demand.extra_bytes;
        let public_s = 8.0 * public_bytes as f64 / down / demand.lookups as f64;
        let memory_bytes = sizes.database.saturating_add(sizes.material).saturating_add(sizes.hint);
        Self {
            scheme: description.scheme,
            parameters: label,
            upload_bytes: sizes.query,
            download_bytes: sizes.answer,
            public_bytes,
            hint_bytes: sizes.hint,
            answer_s,
            core_s: work.answer.core_seconds(rates),
            client_s,
            transfer_s,
            public_s,
            lookup_s: answer_s + client_s + transfer_s + public_s,
            memory_bytes,
            snapshot_bytes: memory_bytes.saturating_add(demand.extra_bytes),
            setup_s: work.setup.seconds(rates, demand.threads),
            security_bits: description.security.map(|security| security.bits),
            failure_log2: description.failure_log2,
            streamed_bytes: work.answer.streamed_bytes(),
            external_products: work.answer.times(Operation::ExternalProduct),
            encoded: parameters,
        }
    }

    /// Cores that so many lookups a second keep busy.
    pub(crate) fn cores(&self, lookups_a_second: f64) -> u64 {
        (self.core_s * lookups_a_second).ceil().max(1.0) as u64
    }

    /// Whether another offer is as good in bytes, time and memory, and better in one of them.
    fn is_beaten_by(&self, other: &Self) -> bool {
        let pairs = [
            (self.transfer_s, other.transfer_s),
            (self.public_bytes as f64, other.public_bytes as f64),
            (self.answer_s, other.answer_s),
            (self.client_s, other.client_s),
            (self.memory_bytes as f64, other.memory_bytes as f64),
            (self.setup_s, other.setup_s),
        ];
        pairs.iter().all(|(mine, theirs)| theirs <= mine) && pairs.iter().any(|(mine, theirs)| theirs < mine)
    }

    /// The scheme with its parameters.
    pub(crate) fn name(&self) -> String {
        format!("{} with {}", self.scheme, self.parameters)
    }
}

/// What was left out, and why.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct LeftOut {
    pub(crate) scheme: &'static str,
    /// Empty where the whole scheme is.
    pub(crate) parameters: String,
    pub(crate) reason: String,
}

/// What can serve a demand, the best first, at least one.
pub(crate) struct Choice {
    pub(crate) best: Offer,
    pub(crate) others: Vec<Offer>,
    pub(crate) left_out: Vec<LeftOut>,
}

impl Choice {
    /// All offers, the best first.
    pub(crate) fn offers(&self) -> impl Iterator<Item = &Offer> {
        std::iter::once(&self.best).chain(&self.others)
    }

    /// Those that no other of the same scheme beats in everything, the best first.
    pub(crate) fn sensible(&self) -> impl Iterator<Item = &Offer> {
        let beaten = |offer: &Offer| {
            self.offers().any(|other| other.scheme == offer.scheme && offer.is_beaten_by(other))
        };
        self.offers().filter(move |offer| !beaten(offer))
    }

    /// Which, and why, in a sentence.
    pub(crate) fn reason(&self) -> String {
        let best = &self.best;
        let parts = [
            (best.transfer_s, "transfer"),
            (best.answer_s, "server"),
            (best.client_s, "client"),
            (best.public_s, "share of what is fetched once"),
        ];
        let parts: Vec<String> =
            parts.iter().map(|(value, name)| format!("{name} {}", units::seconds(*value))).collect();
        let (name, lookup) = (best.name(), units::seconds(best.lookup_s));
        let why = format!("{name}: the least time of a lookup, {lookup} ({})", parts.join(", "));
        match self.others.iter().find(|other| other.scheme != best.scheme).or(self.others.first()) {
            None => format!("{why}; nothing else can serve it."),
            Some(next) => format!("{why}; {} takes {}.", next.name(), units::seconds(next.lookup_s)),
        }
    }
}

/// Weighs all parameters of all private schemes.
///
/// # Errors
/// One line that says why, when nothing can serve the demand.
pub(crate) fn choose(demand: &Demand, rates: &Rates) -> Result<Choice, Failure> {
    let (mut offers, mut left_out) = (Vec::new(), Vec::new());
    for scheme in registry::all().iter().filter(|scheme| scheme.privacy() == Privacy::Private) {
        // For single lookups there is what is below.
        if registry::batches_named(scheme.name()).is_some() {
            let reason = "for many lookups at once: chosen by `papir build --batch`".to_owned();
            left_out.push(LeftOut { scheme: scheme.name(), parameters: String::new(), reason });
            continue;
        }
        match scheme.candidates(demand.shape) {
            // Who registers waits for what is done ahead, which `Work` does not count.
            Ok(candidates) if candidates.iter().any(|one| one.description.limits.client_keys) => {
                let reason = "its clients register first: chosen by name only".to_owned();
                left_out.push(LeftOut { scheme: scheme.name(), parameters: String::new(), reason });
            }
            Ok(candidates) if candidates.iter().any(|one| one.description.limits.batch > 1) => {
                let reason = "for thousands of lookups at once: chosen by name only".to_owned();
                left_out.push(LeftOut { scheme: scheme.name(), parameters: String::new(), reason });
            }
            Ok(candidates) => {
                offers.extend(candidates.into_iter().map(|candidate| Offer::of(candidate, demand, rates)));
            }
            Err(error) => {
                let (scheme, reason) = (scheme.name(), error.to_string());
                left_out.push(LeftOut { scheme, parameters: String::new(), reason });
            }
        }
    }
    let (mut fit, too_large): (Vec<_>, Vec<_>) =
        offers.into_iter().partition(|offer| demand.memory.is_none_or(|most| offer.memory_bytes <= most));
    fit.sort_by(|a, b| a.lookup_s.total_cmp(&b.lookup_s));
    let least = too_large.iter().map(|offer| offer.memory_bytes).min();
    left_out.extend(too_large.into_iter().map(|offer| beyond(offer, demand)));
    let mut fit = fit.into_iter();
    let best = fit.next().ok_or_else(|| nothing(demand, least, &left_out))?;
    Ok(Choice { best, others: fit.collect(), left_out })
}

fn beyond(offer: Offer, demand: &Demand) -> LeftOut {
    let (needed, most) = (units::bytes(offer.memory_bytes), units::bytes(demand.memory.unwrap_or(u64::MAX)));
    let reason = format!("needs {needed} of memory, above {most}");
    LeftOut { scheme: offer.scheme, parameters: offer.parameters, reason }
}

/// Why nothing serves a demand.
fn nothing(demand: &Demand, least: Option<u64>, left_out: &[LeftOut]) -> Failure {
    let shape = demand.shape;
    let what = format!("{} records of {}", shape.records(), units::bits(shape.record_bits()));
    let of_schemes = left_out.iter().filter(|one| one.parameters.is_empty());
    let mut reasons: Vec<String> = of_schemes.map(|one| format!("{}: {}", one.scheme, one.reason)).collect();
    if let (Some(least), Some(most)) = (least, demand.memory) {
        let (least, most) = (units::bytes(least), units::bytes(most));
        reasons.push(format!("what can needs {least} of memory at least, and there are {most}"));
    }
    Failure::new(format!("nothing can serve {what}: {}", reasons.join("; ")))
}
