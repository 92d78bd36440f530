//! Times on several threads.
//!
//! A row with a [`Scaling`] is measured on one thread and on all threads of this machine. For the
//! paper's number of cores, the time on one thread is divided by the speed-up that the cost model
//! predicts, from rates measured on several threads. Phase 0 and the rest are predicted apart,
//! because the bits of an index are extracted one after another.

use papir_core::cost::{Counts, Rates};
use papir_core::scheme::Parameters;
use papir_core::{Choice, Shape, envelope};
use papir_measure::cost::{Cost, Status};
use papir_schemes::pirouette::Standard;
use papir_schemes::pirouette::params::PirouetteParams;
use serde::Serialize;

use super::{Block, Published, Scaling, SharedWork};

/// Origin of papir's times.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Measured.
    Measured,
    /// Predicted by the cost model.
    Predicted,
    /// Measured or predicted, plus transciphering estimated from numbers of rotations.
    Estimated,
}

/// Times of a row, the paper's and papir's.
#[derive(Clone, Debug, Serialize)]
pub struct Scaled {
    /// papir's configuration.
    pub configuration: String,
    /// Cores of the paper's time.
    pub cores: usize,
    /// The work that they share.
    pub shared: SharedWork,
    /// AES blocks that are decrypted under encryption first.
    pub blocks: usize,
    /// Bytes of the database.
    pub database_bytes: u64,
    /// The paper's time.
    pub paper_ms: f64,
    /// papir's time on one thread.
    pub one_ms: Option<f64>,
    /// Threads of this machine.
    pub threads: usize,
    /// papir's time on all threads of this machine.
    pub all_ms: Option<f64>,
    /// Origin of papir's times.
    pub how: How,
    /// papir's time on as many threads as the paper's cores, predicted; null without rates of
    /// several threads.
    pub cores_ms: Option<f64>,
    /// Bytes of papir's query, without its envelope.
    pub query_bytes: Option<u64>,
    /// The printed factor by which Pirouette's query is smaller.
    pub paper_reduction: Option<f64>,
}

/// Stages of phase 0.
const PHASE_ZERO: [&str; 3] = ["bits", "gates", "selectors"];
/// Bytes of an AES block, of which the first of a transciphered query is the counter.
const BLOCK_BYTES: u64 = 16;
/// The scheme whose queries are compared with all others'.
pub(super) const SMALLEST: &str = "pirouette";

/// Milliseconds of phase 0 and of the rest of an answer.
#[derive(Clone, Copy, Debug)]
struct PhaseTimes {
    zero: f64,
    rest: f64,
}

/// Operation counts of a configuration.
pub(super) struct Counted {
    zero: Counts,
    whole: Counts,
    transciphering: Counts,
}

impl Counted {
    /// Counts the work of a row; `None` if papir has no parameters for it.
    pub(super) fn new(scaling: &Scaling, shape: Shape, whole: Counts) -> Option<Self> {
        let Choice::Goal(goal) = scaling.ours.choice else {
            return None;
        };
        let pirouette = PirouetteParams::<Standard>::choose(shape, goal).ok()?;

        // Respire's phase 0 has no parallel version in the paper.
        let zero = if scaling.ours.scheme == SMALLEST {
            pirouette.selection()
        } else {
            Counts::new()
        };

        Some(Self {
            zero,
            whole,
            transciphering: pirouette.transciphering(scaling.blocks),
        })
    }

    fn parts(&self, rates: &Rates, threads: usize) -> PhaseTimes {
        // The counts of the whole include phase 0, so the rest is a difference.
        let [zero, whole] =
            [&self.zero, &self.whole].map(|counts| 1e3 * counts.seconds(rates, threads));

        PhaseTimes {
            zero,
            rest: whole - zero,
        }
    }

    /// Milliseconds of both parts on `threads` threads, from their times on one.
    fn scaled_from(&self, one: PhaseTimes, rates: &Rates, threads: usize) -> PhaseTimes {
        let model = self.parts(rates, 1);
        let many = self.parts(rates, threads);

        PhaseTimes {
            zero: proportional(one.zero, model.zero, many.zero),
            rest: proportional(one.rest, model.rest, many.rest),
        }
    }

    /// The parts of a status on `threads` threads. Returns `None` if it has no time, or if the
    /// model knows no rates of several threads.
    fn of_status(&self, status: &Status, rates: &Rates, threads: usize) -> Option<PhaseTimes> {
        match status {
            Status::Measured(Cost {
                server_ms, stages, ..
            }) if !self.zero.is_empty() => {
                let stages = stages
                    .0
                    .iter()
                    .filter(|stage| PHASE_ZERO.contains(&stage.0.as_str()));
                let zero = stages.map(|stage| stage.1).sum();

                server_ms.map(|total| PhaseTimes {
                    zero,
                    rest: total - zero,
                })
            }
            Status::Measured(Cost { server_ms, .. }) => {
                server_ms.map(|rest| PhaseTimes { zero: 0.0, rest })
            }
            Status::Predicted(_) => known(rates, threads).then(|| self.parts(rates, threads)),
            Status::NotCompared | Status::NotBuiltIn | Status::NoParameters { .. } => None,
        }
    }
}

/// Scales a time as the model's time changes; keeps it if the model has none.
fn proportional(one: f64, model: f64, many: f64) -> f64 {
    if model > 0.0 { one * many / model } else { one }
}

/// True if the model can predict times on this number of threads.
fn known(rates: &Rates, threads: usize) -> bool {
    threads == 1 || rates.threads() > 1
}

/// A row with its scaling, and papir's results on one thread and on `threads` threads.
pub(super) struct ScaledRow<'a> {
    pub(super) block: &'a Block,
    pub(super) published: &'a Published,
    pub(super) scaling: &'a Scaling,
    pub(super) counted: &'a Counted,
    pub(super) rates: &'a Rates,
    pub(super) threads: usize,
    pub(super) one: &'a Status,
    pub(super) all: &'a Status,
}

impl ScaledRow<'_> {
    /// Combines the results.
    pub(super) fn scaled(&self) -> Scaled {
        let Scaling {
            ours,
            cores,
            shared,
            blocks,
            reduction,
        } = *self.scaling;
        let Self {
            counted,
            rates,
            threads,
            ..
        } = *self;

        let one = counted.of_status(self.one, rates, 1);
        // A printed time whose cores share nothing is one of a single core.
        let several = threads > 1 && shared != SharedWork::Nothing;
        let all = if several {
            counted.of_status(self.all, rates, threads)
        } else {
            None
        };
        let beyond = one
            .filter(|_| shared != SharedWork::Nothing && known(rates, cores))
            .map(|one| counted.scaled_from(one, rates, cores));

        Scaled {
            configuration: ours.to_string(),
            cores,
            shared,
            blocks,
            database_bytes: self.block.entries * self.block.entry_bits / 8,
            paper_ms: self.published.server_ms,
            one_ms: self.total(one, one, 1),
            threads,
            all_ms: self.total(one, all, threads),
            how: self.how(),
            cores_ms: self.total(one, beyond, cores),
            query_bytes: self.query_bytes(),
            paper_reduction: reduction,
        }
    }

    /// Milliseconds of an answer whose shared parts take the times of `many`, and the others those
    /// of `one`.
    fn total(
        &self,
        one: Option<PhaseTimes>,
        many: Option<PhaseTimes>,
        threads: usize,
    ) -> Option<f64> {
        let one = one?;
        let many = many?;
        let time = match self.scaling.shared {
            SharedWork::Nothing => one.zero + one.rest,
            SharedWork::PhaseZero => many.zero + one.rest,
            SharedWork::Everything => many.zero + many.rest,
        };
        Some(time + self.transciphering(threads)?)
    }

    /// Milliseconds of transciphering; `None` without rates for this number of threads.
    fn transciphering(&self, threads: usize) -> Option<f64> {
        if self.scaling.blocks == 0 {
            return Some(0.0);
        }
        if !known(self.rates, threads) {
            return None;
        }
        Some(1e3 * self.counted.transciphering.seconds(self.rates, threads))
    }

    fn how(&self) -> How {
        match self.one {
            _ if self.scaling.blocks > 0 => How::Estimated,
            Status::Measured(_) => How::Measured,
            _ => How::Predicted,
        }
    }

    fn query_bytes(&self) -> Option<u64> {
        match self.scaling.blocks {
            0 => {
                let cost = self.one.cost()?;
                Some(cost.query_bytes.saturating_sub(envelope::OVERHEAD as u64))
            }
            blocks => Some((blocks as u64 + 1) * BLOCK_BYTES),
        }
    }
}
