//! Choice of a scheme and its parameters.
//!
//! The planner compares schemes and parameters for a database, a connection and a machine.

use papir_core::cost::Rates;
use papir_core::erased::ErasedScheme;
use papir_core::scheme::Scheme;
use papir_core::{Candidate, Goal, Limits, Privacy, Result as CoreResult, Shape, Target};
use papir_schemes::download::Download;
use papir_schemes::registry;
use serde::Serialize;

pub use crate::demand::{DEFAULT_SPEED, Demand, MAX_GROUP};
pub use crate::offer::Offer;
use crate::{Error, Result, units};

/// A scheme, or parameters of a scheme, that the planner left out.
#[derive(Clone, Debug, Serialize)]
pub struct LeftOut {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Label of the parameters; empty if the whole scheme was left out.
    pub parameters: String,
    /// The reason why it was left out.
    pub reason: String,
}

/// The offers that can serve a demand, and the schemes that cannot.
pub struct RankedOffers {
    /// The offer with the least time of a lookup.
    pub best: Offer,
    /// The other offers, the best first.
    pub others: Vec<Offer>,
    /// Schemes and parameters that were left out.
    pub left_out: Vec<LeftOut>,
}

impl RankedOffers {
    /// All offers, the best first.
    pub fn offers(&self) -> impl Iterator<Item = &Offer> {
        std::iter::once(&self.best).chain(&self.others)
    }

    /// Offers that no other offer of the same scheme dominates, the best first.
    pub fn undominated(&self) -> impl Iterator<Item = &Offer> {
        self.offers().filter(move |offer| !self.is_dominated(offer))
    }

    /// Returns true if another offer of the same scheme dominates the offer.
    fn is_dominated(&self, offer: &Offer) -> bool {
        self.offers()
            .any(|other| other.scheme == offer.scheme && offer.is_dominated_by(other))
    }

    /// The best offer, and the reason for it, in a sentence.
    pub fn reason(&self) -> String {
        let best = &self.best;
        let times = times_of(best);
        let next = self
            .others
            .iter()
            .find(|other| other.scheme != best.scheme)
            .or(self.others.first());

        let sentence = match next {
            None => format!("{times}; nothing else can serve it."),
            Some(next) => {
                let lookup = units::seconds(next.lookup_s);
                format!("{times}; {} takes {lookup}.", next.name())
            }
        };
        if best.scheme == Download::NAME {
            format!("{sentence} Every client has all records.")
        } else {
            sentence
        }
    }
}

/// The time of a lookup of the best offer, and its parts, in words.
fn times_of(best: &Offer) -> String {
    let parts = [
        (best.transfer_s, "transfer"),
        (best.answer_s, "server"),
        (best.client_s, "client"),
        (best.public_s, "share of the one-time download"),
    ];
    let parts = parts.map(|(value, name)| format!("{name} {}", units::seconds(value)));
    let parts = parts.join(", ");

    let name = best.name();
    let device = if best.device_bytes > 0 {
        ", answered by the device"
    } else {
        ""
    };
    let unit = if best.batch > 1 {
        format!("batch of {} lookups", best.batch)
    } else {
        "lookup".into()
    };
    let lookup = units::seconds(best.lookup_s);
    format!("{name}{device}: the least time of a {unit}, {lookup} ({parts})")
}

/// Compares all parameters of all private schemes, and chooses those with the least time of a
/// lookup. Schemes that it does not compare are left out with the reason.
///
/// # Errors
/// [`Error::NothingFits`] with the reason of each scheme, if no offer fits.
pub fn choose(demand: &Demand, rates: &Rates) -> Result<RankedOffers> {
    let CollectedOffers {
        offers,
        mut left_out,
    } = match demand.batch {
        Some(capacity) => batch_offers(demand, rates, capacity),
        None => single_offers(demand, rates),
    };

    let (mut fit, too_large): (Vec<_>, Vec<_>) = offers
        .into_iter()
        .partition(|offer| demand.fits(offer.memory_bytes));
    // A stable sort: offers of equal time stay in the order of schemes.
    fit.sort_by(|a, b| a.lookup_s.total_cmp(&b.lookup_s));

    // Counted before the offers are moved into the list: the error names it if nothing fits.
    let least = too_large.iter().map(|offer| offer.memory_bytes).min();
    for offer in too_large {
        left_out.push(exceeds_memory(offer, demand));
    }

    let mut fit = fit.into_iter();
    let Some(best) = fit.next() else {
        return Err(nothing_fits(demand, least, &left_out));
    };
    Ok(RankedOffers {
        best,
        others: fit.collect(),
        left_out,
    })
}

/// The offers of a scheme under a demand, with the best length of buckets. `candidates` returns the
/// scheme's candidates for a shape.
fn offers(
    demand: &Demand,
    rates: &Rates,
    candidates: impl Fn(Shape) -> CoreResult<Vec<Candidate>>,
) -> CoreResult<Vec<Offer>> {
    let demand = demand.with_best_buckets(|demand| {
        let offers = all_offers(candidates(demand.shape)?, demand, rates);
        Ok(least_time(&offers, demand))
    })?;

    // Several choices can have the same parameters, which are offered once.
    let mut offers: Vec<Offer> = Vec::new();
    for offer in all_offers(candidates(demand.shape)?, &demand, rates) {
        if offers.iter().all(|other| other.encoded != offer.encoded) {
            offers.push(offer);
        }
    }
    Ok(offers)
}

/// The offers of all candidates under a demand.
fn all_offers(candidates: Vec<Candidate>, demand: &Demand, rates: &Rates) -> Vec<Offer> {
    candidates
        .into_iter()
        .map(|candidate| Offer::of(candidate, demand, rates))
        .collect()
}

/// The least seconds of a lookup among offers that fit in memory; infinite if none fits.
fn least_time(offers: &[Offer], demand: &Demand) -> f64 {
    offers
        .iter()
        .filter(|offer| demand.fits(offer.memory_bytes))
        .map(|offer| offer.lookup_s)
        // Infinite without such an offer, so that other buckets are preferred.
        .fold(f64::INFINITY, f64::min)
}

/// Offers, and schemes that were left out.
#[derive(Default)]
struct CollectedOffers {
    offers: Vec<Offer>,
    left_out: Vec<LeftOut>,
}

impl CollectedOffers {
    /// Adds the offers of a scheme, or leaves it out with the error.
    fn add(&mut self, scheme: &'static str, offers: CoreResult<Vec<Offer>>) {
        match offers {
            Ok(offers) => self.offers.extend(offers),
            Err(error) => self.leave_out(scheme, error.to_string()),
        }
    }

    /// Leaves a scheme out with a reason.
    fn leave_out(&mut self, scheme: &'static str, reason: String) {
        self.left_out.push(LeftOut {
            scheme,
            parameters: String::new(),
            reason,
        });
    }
}

/// The offers for batches of `capacity` lookups: of the schemes for batches, with the parameters
/// that `papir build --batch` would choose for each goal, and of schemes whose queries can hold
/// that number of lookups.
fn batch_offers(demand: &Demand, rates: &Rates, capacity: usize) -> CollectedOffers {
    let mut found = CollectedOffers::default();
    for batches in registry::of_batches() {
        let offers = offers(demand, rates, |shape| {
            batches.candidates(shape, demand.failure, capacity)
        });
        found.add(batches.scheme.name(), offers);
    }

    // Batches over other schemes were offered above.
    for scheme in private().filter(|scheme| registry::batches_named(scheme.name()).is_none()) {
        let most = limits_of(scheme, demand).map_or(1, |limits| limits.batch);
        // A scheme of single lookups has no batches to offer, and needs no reason for that.
        if most == 1 {
            continue;
        }
        if most < capacity {
            let reason = format!("its queries hold {most} lookups at most");
            found.leave_out(scheme.name(), reason);
            continue;
        }
        found.add(scheme.name(), offers_of(scheme, demand, rates));
    }
    found
}

/// The offers of all candidates of a scheme.
fn offers_of(scheme: &dyn ErasedScheme, demand: &Demand, rates: &Rates) -> CoreResult<Vec<Offer>> {
    offers(demand, rates, |shape| {
        scheme.candidates(shape, demand.failure)
    })
}

/// The limits of a scheme for the records of the demand, or for short records if it does not
/// support these; `None` if it supports neither.
fn limits_of(scheme: &dyn ErasedScheme, demand: &Demand) -> Option<Limits> {
    const SHORT_BYTES: u64 = 8;
    let target = Target {
        goal: Goal::default(),
        failure: demand.failure,
    };
    let short = Shape::of_bytes(demand.shape.records(), SHORT_BYTES);

    for shape in [Ok(demand.shape), short].into_iter().flatten() {
        if let Ok(candidate) = scheme.candidate_for(shape, target) {
            return Some(candidate.description.limits);
        }
    }
    None
}

/// All private schemes.
fn private() -> impl Iterator<Item = &'static dyn ErasedScheme> {
    registry::all()
        .into_iter()
        .filter(|scheme| scheme.properties().privacy == Privacy::Private)
}

/// The offers of all schemes for single lookups.
fn single_offers(demand: &Demand, rates: &Rates) -> CollectedOffers {
    let mut found = CollectedOffers::default();
    for scheme in private() {
        match not_weighed(scheme, demand) {
            Some(reason) => found.leave_out(scheme.name(), reason.to_owned()),
            None => found.add(scheme.name(), offers_of(scheme, demand, rates)),
        }
    }
    found
}

/// The reason not to compare a scheme with others for single lookups; `None` to compare it.
fn not_weighed(scheme: &dyn ErasedScheme, demand: &Demand) -> Option<&'static str> {
    const AT_ONCE: &str = "for many lookups at once: papir plan --batch weighs it";
    let batches = registry::batches_named(scheme.name());
    if batches.is_some_and(|batches| !batches.serves_single_lookups()) {
        return Some(AT_ONCE);
    }

    let limits = limits_of(scheme, demand)?;
    // A public table is not compared with an encrypted one, which has other uses.
    if limits.owner_key {
        return Some("its records are encrypted under their owner's key: papir build --encrypt");
    }
    if limits.tickets {
        return Some(
            "each query takes a ticket that the server prepares in idle time, which is not weighed here",
        );
    }
    (batches.is_none() && limits.batch > 1).then_some(AT_ONCE)
}

/// The entry for an offer that needs more memory than the demand allows.
fn exceeds_memory(offer: Offer, demand: &Demand) -> LeftOut {
    let needed = units::bytes(offer.memory_bytes);
    let most = units::bytes(demand.memory.unwrap_or(u64::MAX));
    let reason = format!("needs {needed} of memory, above {most}");
    LeftOut {
        scheme: offer.scheme,
        parameters: offer.parameters,
        reason,
    }
}

/// The error if no candidate meets the demand. `least` is the smallest memory that an offer needs.
fn nothing_fits(demand: &Demand, least: Option<u64>, left_out: &[LeftOut]) -> Error {
    let shape = demand.shape;
    let database = format!(
        "{} records of {}",
        shape.records(),
        units::bits(shape.record_bits())
    );

    // Reasons of single parameters are summed up in the last one, on memory.
    let of_schemes = left_out.iter().filter(|one| one.parameters.is_empty());
    let mut reasons: Vec<String> = of_schemes
        .map(|one| format!("{}: {}", one.scheme, one.reason))
        .collect();
    if let (Some(least), Some(most)) = (least, demand.memory) {
        let least = units::bytes(least);
        let most = units::bytes(most);
        reasons.push(format!(
            "the candidates need {least} of memory at least, and {most} is available"
        ));
    }

    Error::NothingFits {
        database,
        reasons: reasons.join("; "),
    }
}
