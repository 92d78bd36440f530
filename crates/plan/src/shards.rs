//! Plans of databases that are divided among machines.

use papir_core::cost::{Counts, Operation, Rates};
use papir_core::{DividedDescription, Result as CoreResult};
use papir_schemes::registry;
use serde::Serialize;

use crate::demand::Demand;
use crate::offer::Offer;
use crate::planner::{LeftOut, RankedOffers};
use crate::{Error, Result, units};

/// Seconds of the calls to all shards for a query, besides sending it, as measured with Ray on one
/// machine.
const CALL_S: f64 = 5e-3;
/// Number of queries that shards and front answer together under load.
const GROUP: usize = 16;
/// Maximum number of queries in progress at the front.
const UNDER_WAY: usize = 2 * GROUP;

/// Default speed of the network between machines: 10 Gbit/s, in bits per second.
pub const DEFAULT_NETWORK: f64 = 1e10;

/// Machines of equal kind for the shards of a database.
#[derive(Clone, Copy, Debug)]
pub struct Machines {
    /// Number of shards, each on a machine of its own.
    pub shards: usize,
    /// Speed of the network between the machines, in bits per second.
    pub network: f64,
}

/// A shard's part of the database, and its costs.
#[derive(Clone, Debug, Serialize)]
pub struct ShardOffer {
    /// Number of the shard's slices.
    pub slices: usize,
    /// Maximum bytes that the shard keeps in memory, besides the program itself.
    pub memory_bytes: u64,
    /// Seconds of the shard's part of an answer on an otherwise idle machine.
    pub answer_s: f64,
}

/// Predicted costs of a database on several machines.
#[derive(Clone, Debug, Serialize)]
pub struct ShardsPlan {
    /// Always true, for readers of the JSON: the costs are predicted, not measured.
    pub predicted: bool,
    /// The scheme and its parameters, with the costs on a single machine.
    pub single: Offer,
    /// Number of slices of the database.
    pub slices: usize,
    /// The shards.
    pub shards: Vec<ShardOffer>,
    /// Seconds of an answer on the machine in front, which reads the query and combines the partial
    /// answers.
    pub front_s: f64,
    /// Maximum bytes that the machine in front keeps in memory, besides the program itself.
    pub front_memory_bytes: u64,
    /// Seconds of calls and transfers between the machines.
    pub calls_s: f64,
    /// Seconds of an answer: the sum for the slowest shard, the front and the calls.
    pub answer_s: f64,
    /// Seconds of a lookup.
    pub lookup_s: f64,
    /// Lookups per second that all machines together can answer, including the machine in front.
    pub lookups_per_second: f64,
}

impl ShardsPlan {
    /// The predicted costs of an offer whose database is divided. Refuses a scheme that cannot be
    /// divided, and more machines than slices.
    fn of(offer: &Offer, demand: &Demand, rates: &Rates, machines: Machines) -> CoreResult<Self> {
        let scheme = registry::by_name(offer.scheme)?.require_divided()?;
        let DividedDescription { division, work } = scheme.describe(&offer.encoded)?;
        let ranges = division.split(machines.shards)?;
        let threads = demand.threads;

        // Words of partial answers are written and read, besides the work on one machine.
        let words = Counts::new().with(Operation::Word, division.words as f64, 1);
        let divided = Divided {
            offer,
            slices: division.slices(),
            of_slices: work.slices.and(words.clone()),
            of_shard: work.shard,
        };
        let front = work.combiner.and(words);

        let shards: Vec<ShardOffer> = ranges
            .iter()
            .map(|range| divided.shard(range.len(), rates, threads))
            .collect();
        let slowest = shards
            .iter()
            .map(|shard| shard.answer_s)
            .fold(0.0, f64::max);

        // The machine in front sends each query to all shards, and receives the words.
        let sent = machines.shards as f64 * offer.upload_bytes as f64;
        let received = (division.words * division.word_bytes()) as f64;
        let transfer_s = 8.0 * (sent + received) / machines.network;
        let front_s = front.seconds(rates, threads);
        let calls_s = CALL_S + transfer_s;
        let answer_s = slowest + front_s + calls_s;

        // Of each query under way: its bytes, and the words of all shards, packed and unpacked.
        let word_bytes = division.word_bytes() + 8;
        let query_bytes = offer.upload_bytes + (division.words * word_bytes) as u64;

        // The busiest machine: a shard with the most slices, the one in front, or its network.
        let most = ranges.iter().map(|range| range.len()).max().unwrap_or(0);
        let busy = divided.group_seconds(most, rates);
        let busiest = busy.max(front.group_seconds(rates, GROUP)) / threads as f64;
        Ok(Self {
            predicted: true,
            single: offer.clone(),
            slices: divided.slices,
            shards,
            front_s,
            front_memory_bytes: work.combiner_bytes + UNDER_WAY as u64 * query_bytes,
            calls_s,
            answer_s,
            lookup_s: answer_s + offer.client_s + offer.transfer_s + offer.public_s,
            lookups_per_second: 1.0 / busiest.max(transfer_s),
        })
    }

    /// Returns true if every machine has enough memory.
    fn fits(&self, demand: &Demand) -> bool {
        let shards = self.shards.iter().map(|shard| shard.memory_bytes);
        shards
            .chain([self.front_memory_bytes])
            .all(|bytes| demand.fits(bytes))
    }

    /// The chosen offer, and its costs, in a sentence.
    pub fn reason(&self) -> String {
        let memory = self
            .shards
            .iter()
            .map(|shard| shard.memory_bytes)
            .max()
            .unwrap_or(0);

        format!(
            "{} on {} machines with {} of memory each, and {} in front, predicted: an answer takes {} ({} on one \
             machine), a lookup {}; together they keep up with {:.0} lookups per second.",
            self.single.name(),
            self.shards.len(),
            units::bytes(memory),
            units::bytes(self.front_memory_bytes),
            units::seconds(self.answer_s),
            units::seconds(self.single.answer_s),
            units::seconds(self.lookup_s),
            self.lookups_per_second,
        )
    }
}

/// An offer whose work is divided among shards.
struct Divided<'a> {
    offer: &'a Offer,
    slices: usize,
    /// Work of all slices together.
    of_slices: Counts,
    /// Work of each shard, with any number of slices.
    of_shard: Counts,
}

impl Divided<'_> {
    /// The fraction of the database that a shard with `slices` slices has.
    fn share(&self, slices: usize) -> f64 {
        slices as f64 / self.slices as f64
    }

    /// The part of the database on a machine with `slices` slices, and its costs.
    fn shard(&self, slices: usize, rates: &Rates, threads: usize) -> ShardOffer {
        let share = self.share(slices);
        let bytes = (self.offer.memory_bytes - self.offer.hint_bytes) as f64;
        let of_slices = share * self.of_slices.seconds(rates, threads);
        ShardOffer {
            slices,
            memory_bytes: (share * bytes) as u64,
            answer_s: of_slices + self.of_shard.seconds(rates, threads),
        }
    }

    /// Core seconds of a shard with `slices` slices for each query of a group.
    fn group_seconds(&self, slices: usize, rates: &Rates) -> f64 {
        let of_slices = self.share(slices) * self.of_slices.group_seconds(rates, GROUP);
        of_slices + self.of_shard.group_seconds(rates, GROUP)
    }
}

/// Chooses the offer with the least time of a lookup on these machines. Each machine, including the
/// one in front, has the demand's memory and threads.
///
/// # Errors
/// [`Error::NothingFits`] with the reason of each scheme, if no offer fits.
pub fn plan(
    choice: &RankedOffers,
    demand: &Demand,
    rates: &Rates,
    machines: Machines,
) -> Result<ShardsPlan> {
    let mut plans = Vec::new();
    let mut left_out = choice.left_out.clone();
    for offer in choice.offers() {
        match ShardsPlan::of(offer, demand, rates, machines) {
            Ok(plan) if plan.fits(demand) => plans.push(plan),
            Ok(_) => {
                let reason = "a part of it does not fit in the memory of a machine";
                left_out.push(leave_out(offer, reason));
            }
            Err(error) => left_out.push(leave_out(offer, error)),
        }
    }

    let least = plans
        .into_iter()
        .min_by(|a, b| a.lookup_s.total_cmp(&b.lookup_s));
    least.ok_or_else(|| Error::NothingFits {
        database: format!("{} shards", machines.shards),
        reasons: reasons(&left_out),
    })
}

/// The entry for an offer that is left out.
fn leave_out(offer: &Offer, reason: impl ToString) -> LeftOut {
    LeftOut {
        scheme: offer.scheme,
        parameters: offer.parameters.clone(),
        reason: reason.to_string(),
    }
}

/// The first reason of each scheme.
fn reasons(left_out: &[LeftOut]) -> String {
    let mut first: Vec<&LeftOut> = Vec::new();
    for one in left_out {
        if first.iter().all(|other| other.scheme != one.scheme) {
            first.push(one);
        }
    }
    first
        .iter()
        .map(|one| format!("{}: {}", one.scheme, one.reason))
        .collect::<Vec<_>>()
        .join("; ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::Shape;

    use super::*;
    use crate::planner::choose;

    /// A machine on which every operation takes a nanosecond.
    fn rates() -> Rates {
        Rates::new(2, |_| 1e-9, |_| 1e-9).unwrap()
    }

    fn demand() -> Demand {
        Demand::new(Shape::of_bytes(1 << 20, 64).unwrap(), &rates())
    }

    fn plan_of(demand: &Demand, shards: usize) -> Result<ShardsPlan> {
        let choice = choose(
            &Demand {
                memory: None,
                ..*demand
            },
            &rates(),
        )
        .unwrap();

        plan(
            &choice,
            demand,
            &rates(),
            Machines {
                shards,
                network: DEFAULT_NETWORK,
            },
        )
    }

    fn planned(shards: usize) -> ShardsPlan {
        plan_of(&demand(), shards).unwrap()
    }

    #[test]
    fn shards_have_all_slices_and_share_the_memory() {
        let plan = planned(4);
        assert_eq!(
            plan.shards.iter().map(|shard| shard.slices).sum::<usize>(),
            plan.slices
        );
        let memory: u64 = plan.shards.iter().map(|shard| shard.memory_bytes).sum();
        let single = plan.single.memory_bytes - plan.single.hint_bytes;
        assert!(memory.abs_diff(single) <= 4, "{memory}, {single}");
        assert!(
            plan.front_memory_bytes < single,
            "{} in front",
            plan.front_memory_bytes
        );
    }

    #[test]
    fn more_machines_answer_sooner_and_more_often() {
        let [one, four] = [1, 4].map(planned);
        assert!(four.answer_s < one.answer_s && four.lookups_per_second > one.lookups_per_second);

        // A single shard does the work of the single machine, besides the calls and words in
        // between.
        let same = (one.shards[0].answer_s + one.front_s) / one.single.answer_s;
        assert!((1.0..1.1).contains(&same), "{same}");
    }

    #[test]
    fn machines_that_are_too_small_or_too_many_are_refused() {
        let small = Demand {
            memory: Some(1 << 10),
            ..demand()
        };
        let refused = plan_of(&small, 2).unwrap_err().to_string();
        assert!(refused.contains("memory of a machine"), "{refused}");
        let refused = plan_of(&demand(), 1 << 30).unwrap_err().to_string();
        assert!(refused.contains("number of slices"), "{refused}");
    }
}
