//! The planner: chooses a scheme and its parameters for a database, connection and machine.

use papir_core::cost::{Operation, Rates};
use papir_core::scheme::Scheme;
use papir_core::{Candidate, Description, FailureBound, Goal, Privacy, Shape, Sizes, Target};
use papir_schemes::download::Download;
use papir_schemes::registry;
use serde::Serialize;

use crate::{Error, Result, units};

/// Default speed of a network connection: 10 Mbit/s, in bits per second.
pub const DEFAULT_SPEED: f64 = 1e7;

/// Most queries that a server is planned to answer together.
pub const MAX_GROUP: usize = 64;

/// Requirements on a database.
#[derive(Clone, Copy, Debug)]
pub struct Demand {
    /// Number and length of the records.
    pub shape: Shape,
    /// The largest allowed probability that an answer does not decode.
    pub failure: FailureBound,
    /// Bytes that a client fetches once in addition to the scheme's public part.
    pub extra_bytes: u64,
    /// Speed of the client's connection up and down, in bits per second.
    pub connection: (f64, f64),
    /// Bytes of the server's memory; `None` for no limit.
    pub memory: Option<u64>,
    /// Threads that answer one query.
    pub threads: usize,
    /// Number of lookups over which a client's one-time download is spread.
    pub lookups: u64,
    /// Lookups in one query; `None` for single lookups.
    pub batch: Option<usize>,
    /// Bytes of all records, compressed, as the scheme `download` sends them; `None` if they are not
    /// known, and then planned as records that do not compress.
    pub compressed_bytes: Option<u64>,
    /// Lookups per second of all clients together, which the server answers in groups; `None` for a
    /// client alone.
    pub load: Option<f64>,
}

impl Demand {
    /// Creates a demand with defaults for all other requirements.
    pub fn new(shape: Shape, rates: &Rates) -> Self {
        let connection = (DEFAULT_SPEED, DEFAULT_SPEED);
        let (failure, threads) = (FailureBound::DEFAULT, rates.threads());
        Self {
            shape,
            failure,
            extra_bytes: 0,
            connection,
            memory: None,
            threads,
            lookups: 1,
            batch: None,
            compressed_bytes: None,
            load: None,
        }
    }
}

impl Demand {
    /// The sizes of a candidate, for records that compress as these do.
    fn sizes(&self, description: &Description) -> Sizes {
        let Sizes { public, hint, database, .. } = description.sizes;
        match self.compressed_bytes {
            Some(compressed) if description.scheme == Download::NAME => {
                let saved = hint.saturating_sub(compressed);
                let (public, hint, database) = (public - saved, hint - saved, database - saved);
                Sizes { public, hint, database, ..description.sizes }
            }
            _ => description.sizes,
        }
    }

    /// The fewest queries that are answered together to keep up with the load on these threads, at most
    /// [`MAX_GROUP`], and their core seconds each, which `core_s` gives for a group.
    fn group(&self, core_s: impl Fn(usize) -> f64) -> (usize, f64) {
        let queries = self.load.unwrap_or(0.0) / self.batch.unwrap_or(1) as f64;
        let keeps_up = |clients: &usize| queries * core_s(*clients) <= self.threads as f64;
        let group = (1..MAX_GROUP).find(keeps_up).unwrap_or(MAX_GROUP);
        (group, core_s(group))
    }
}

/// Costs of a candidate under a demand. With batches, the costs of a batch.
#[derive(Clone, Debug, Serialize)]
pub struct Offer {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Label of the parameters.
    pub parameters: String,
    /// Lookups in one query.
    pub batch: usize,
    /// Bytes of a query.
    pub upload_bytes: u64,
    /// Bytes of an answer.
    pub download_bytes: u64,
    /// Bytes that a client fetches once per version: the public part with its hint.
    pub public_bytes: u64,
    /// Bytes of the hint.
    pub hint_bytes: u64,
    /// Seconds of an answer if nothing else runs on the machine; under a load, those of a group.
    pub answer_s: f64,
    /// Seconds of an answer on one core while all other cores are busy.
    pub core_s: f64,
    /// Queries that are answered together: the fewest that keep up with the load.
    pub group: usize,
    /// Core seconds of an answer in such a group.
    pub group_core_s: f64,
    /// Seconds of the client's work: query and extraction.
    pub client_s: f64,
    /// Seconds on the network: query and answer.
    pub transfer_s: f64,
    /// Seconds to fetch the public part, divided by the number of lookups.
    pub public_s: f64,
    /// Seconds of a lookup: the sum of the four times above.
    pub lookup_s: f64,
    /// Bytes that a server keeps in memory, without the program itself.
    pub memory_bytes: u64,
    /// Approximate size of the snapshot file in bytes.
    pub snapshot_bytes: u64,
    /// Seconds to prepare the database.
    pub setup_s: f64,
    /// Estimated security; `None` if the scheme encrypts nothing.
    pub security_bits: Option<f64>,
    /// log₂ of the probability that decoding an answer fails.
    pub failure_log2: f64,
    /// Bytes of the database and the packing matrices that an answer reads.
    pub streamed_bytes: f64,
    /// External products of an answer.
    pub external_products: f64,
    /// The encoded parameters.
    #[serde(skip)]
    pub encoded: Vec<u8>,
}

impl Offer {
    fn of(candidate: Candidate, demand: &Demand, rates: &Rates) -> Self {
        let Candidate { label, description, parameters } = candidate;
        let (sizes, work) = (demand.sizes(&description), &description.work);
        let (up, down) = demand.connection;
        let (group, group_core_s) = demand.group(|clients| work.answer.group_seconds(rates, clients));
        let answer_s = match group {
            1 => work.answer.seconds(rates, demand.threads),
            _ => group as f64 * group_core_s / demand.threads as f64,
        };
        let client_s = work.query.seconds(rates, 1) + work.extract.seconds(rates, 1);
        let transfer_s = 8.0 * (sizes.query as f64 / up + sizes.answer as f64 / down);
        let public_bytes = sizes.public + demand.extra_bytes;
        let public_s = 8.0 * public_bytes as f64 / down / demand.lookups as f64;
        let memory_bytes = sizes.database.saturating_add(sizes.material).saturating_add(sizes.hint);
        Self {
            scheme: description.scheme,
            parameters: label,
            batch: demand.batch.unwrap_or(1),
            upload_bytes: sizes.query,
            download_bytes: sizes.answer,
            public_bytes,
            hint_bytes: sizes.hint,
            answer_s,
            core_s: work.answer.core_seconds(rates),
            group,
            group_core_s,
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

    /// Number of cores that this many lookups per second keep busy.
    pub fn cores(&self, lookups_per_second: f64) -> u64 {
        (self.group_core_s * self.queries(lookups_per_second)).ceil().max(1.0) as u64
    }

    /// Bandwidth of this many lookups per second in bits per second: what the server receives, and
    /// what it sends. The one-time download is not counted.
    pub fn bandwidth(&self, lookups_per_second: f64) -> (f64, f64) {
        let bits = 8.0 * self.queries(lookups_per_second);
        (bits * self.upload_bytes as f64, bits * self.download_bytes as f64)
    }

    /// Queries per second, with full batches.
    fn queries(&self, lookups_per_second: f64) -> f64 {
        lookups_per_second / self.batch as f64
    }

    /// Returns whether another offer is at least as good in bytes, time and memory, and better in
    /// one of them.
    fn is_dominated_by(&self, other: &Self) -> bool {
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

    /// The scheme's name and parameters.
    pub fn name(&self) -> String {
        format!("{} with {}", self.scheme, self.parameters)
    }
}

/// A scheme, or parameters of it, that cannot be used.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Label of the parameters; empty if the whole scheme was left out.
    pub parameters: String,
    /// The reason why it was left out.
    pub reason: String,
}

/// The offers that can serve a demand.
pub struct Choice {
    /// The offer with the least time of a lookup.
    pub best: Offer,
    /// The other offers, the best first.
    pub others: Vec<Offer>,
    /// Schemes and parameters that were left out.
    pub left_out: Vec<LeftOut>,
}

impl Choice {
    /// All offers, the best first.
    pub fn offers(&self) -> impl Iterator<Item = &Offer> {
        std::iter::once(&self.best).chain(&self.others)
    }

    /// Offers that no other offer of the same scheme dominates, the best first.
    pub fn undominated(&self) -> impl Iterator<Item = &Offer> {
        let dominated = |offer: &Offer| {
            self.offers().any(|other| other.scheme == offer.scheme && offer.is_dominated_by(other))
        };
        self.offers().filter(move |offer| !dominated(offer))
    }

    /// The best offer and the reason for it, in a sentence.
    pub fn reason(&self) -> String {
        let best = &self.best;
        let parts = [
            (best.transfer_s, "transfer"),
            (best.answer_s, "server"),
            (best.client_s, "client"),
            (best.public_s, "share of the one-time download"),
        ];
        let parts: Vec<String> =
            parts.iter().map(|(value, name)| format!("{name} {}", units::seconds(*value))).collect();
        let (name, lookup) = (best.name(), units::seconds(best.lookup_s));
        let what = if best.batch > 1 { format!("batch of {} lookups", best.batch) } else { "lookup".into() };
        let why = format!("{name}: the least time of a {what}, {lookup} ({})", parts.join(", "));
        let next = match self.others.iter().find(|other| other.scheme != best.scheme).or(self.others.first())
        {
            None => format!("{why}; nothing else can serve it."),
            Some(next) => format!("{why}; {} takes {}.", next.name(), units::seconds(next.lookup_s)),
        };
        match best.scheme == Download::NAME {
            true => format!("{next} Every client has all records."),
            false => next,
        }
    }
}

/// Compares all parameters of all private schemes and chooses the fastest.
///
/// # Errors
/// [`Error::NothingFits`] with the reason of each scheme.
pub fn choose(demand: &Demand, rates: &Rates) -> Result<Choice> {
    let (offers, mut left_out) = match demand.batch {
        Some(capacity) => batch_offers(demand, rates, capacity),
        None => single_offers(demand, rates),
    };
    let (mut fit, too_large): (Vec<_>, Vec<_>) =
        offers.into_iter().partition(|offer| demand.memory.is_none_or(|most| offer.memory_bytes <= most));
    fit.sort_by(|a, b| a.lookup_s.total_cmp(&b.lookup_s));
    let least = too_large.iter().map(|offer| offer.memory_bytes).min();
    left_out.extend(too_large.into_iter().map(|offer| exceeds_memory(offer, demand)));
    let mut fit = fit.into_iter();
    let best = fit.next().ok_or_else(|| nothing_fits(demand, least, &left_out))?;
    Ok(Choice { best, others: fit.collect(), left_out })
}

/// Offers of the schemes of batches, with the parameters that `papir build --batch` would choose for
/// each goal.
fn batch_offers(demand: &Demand, rates: &Rates, capacity: usize) -> (Vec<Offer>, Vec<LeftOut>) {
    let (mut offers, mut left_out): (Vec<Offer>, _) = (Vec::new(), Vec::new());
    for batches in registry::of_batches() {
        for goal in Goal::ALL {
            let target = Target { goal, failure: demand.failure };
            match batches.candidate(demand.shape, target, capacity) {
                Ok(candidate) => {
                    let offer = Offer::of(candidate, demand, rates);
                    if offers.iter().all(|other| other.encoded != offer.encoded) {
                        offers.push(offer);
                    }
                }
                Err(error) => {
                    let reason = error.to_string();
                    left_out.push(LeftOut {
                        scheme: batches.scheme.name(),
                        parameters: String::new(),
                        reason,
                    });
                    break;
                }
            }
        }
    }
    (offers, left_out)
}

/// Offers of all schemes of single lookups.
fn single_offers(demand: &Demand, rates: &Rates) -> (Vec<Offer>, Vec<LeftOut>) {
    let (mut offers, mut left_out) = (Vec::new(), Vec::new());
    for scheme in registry::all().iter().filter(|scheme| scheme.privacy() == Privacy::Private) {
        // Batch schemes answer many lookups at once; a single lookup uses the underlying scheme.
        let batches = registry::batches_named(scheme.name());
        if batches.is_some_and(|batches| !batches.serves_single_lookups()) {
            let reason = "for many lookups at once: chosen by `papir build --batch`".to_owned();
            left_out.push(LeftOut { scheme: scheme.name(), parameters: String::new(), reason });
            continue;
        }
        match scheme.candidates(demand.shape, demand.failure) {
            // Registered clients depend on precomputation, which `Work` does not count.
            Ok(candidates) if candidates.iter().any(|one| one.description.limits.client_keys) => {
                let reason = "its clients register first: available only by name".to_owned();
                left_out.push(LeftOut { scheme: scheme.name(), parameters: String::new(), reason });
            }
            Ok(candidates)
                if batches.is_none() && candidates.iter().any(|one| one.description.limits.batch > 1) =>
            {
                let reason = "for thousands of lookups at once: available only by name".to_owned();
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
    (offers, left_out)
}

fn exceeds_memory(offer: Offer, demand: &Demand) -> LeftOut {
    let (needed, most) = (units::bytes(offer.memory_bytes), units::bytes(demand.memory.unwrap_or(u64::MAX)));
    let reason = format!("needs {needed} of memory, above {most}");
    LeftOut { scheme: offer.scheme, parameters: offer.parameters, reason }
}

/// The error if no candidate meets the demand.
fn nothing_fits(demand: &Demand, least: Option<u64>, left_out: &[LeftOut]) -> Error {
    let shape = demand.shape;
    let database = format!("{} records of {}", shape.records(), units::bits(shape.record_bits()));
    let of_schemes = left_out.iter().filter(|one| one.parameters.is_empty());
    let mut reasons: Vec<String> = of_schemes.map(|one| format!("{}: {}", one.scheme, one.reason)).collect();
    if let (Some(least), Some(most)) = (least, demand.memory) {
        let (least, most) = (units::bytes(least), units::bytes(most));
        reasons.push(format!("the candidates need {least} of memory at least, and {most} is available"));
    }
    Error::NothingFits { database, reasons: reasons.join("; ") }
}
