//! Runs a target on mutated inputs, within bounds.

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};

use crate::Target;
use crate::mutate::{below, mutate};

/// Maximum number of inputs, seeds included, kept as a base for mutations.
const KEPT: usize = 512;

/// Limits of a run, which ends when either is reached. The time does not count before all seeds
/// have run.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Maximum number of inputs.
    pub inputs: u64,
    /// Maximum time.
    pub time: Duration,
}

/// Result of a run.
#[derive(Clone, Debug, Default)]
pub struct Report {
    /// Number of inputs run.
    pub inputs: u64,
    /// Number of different outcomes.
    pub outcomes: usize,
    /// Longest time of one input.
    pub slowest: Duration,
    /// The first input that made the target panic; the run ends with it.
    pub finding: Option<Vec<u8>>,
}

/// Runs the seeds, then mutated inputs, until a bound is reached or an input makes the target
/// panic. The panic's message is on stderr.
pub fn run(target: &mut Target, seed: u64, bounds: Bounds) -> Report {
    let mut rng = ChaCha20Rng::seed_from_u64(seed);
    let mut report = Report::default();
    let mut seen = HashSet::new();

    let start = Instant::now();
    let mut kept = target.seeds.clone();
    let mut seeds = target.seeds.clone().into_iter();

    while report.inputs < bounds.inputs
        && (!seeds.as_slice().is_empty() || start.elapsed() < bounds.time)
    {
        let input = seeds
            .next()
            .unwrap_or_else(|| changed(&kept, target.words, &mut rng));

        let begin = Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| (target.run)(&input)));
        report.slowest = report.slowest.max(begin.elapsed());
        report.inputs += 1;

        let Ok(outcome) = outcome else {
            report.finding = Some(input);
            break;
        };

        if seen.insert(outcome) && kept.len() < KEPT {
            kept.push(input);
        }
    }

    report.outcomes = seen.len();
    report
}

/// A mutation of a kept input; with probability ½, of one of the last eight.
fn changed(kept: &[Vec<u8>], words: &[&str], rng: &mut ChaCha20Rng) -> Vec<u8> {
    let recent = if rng.next_u32() & 1 == 0 {
        kept.len()
    } else {
        kept.len().min(8)
    };
    let input = &kept[kept.len() - 1 - below(rng, recent)];
    let other = &kept[below(rng, kept.len())];
    mutate(input, other, words, rng)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fragile() -> Target {
        Target::new(vec![b"seed".to_vec()], |input| {
            assert!(!input.starts_with(b"see\xff"), "found");
            input.len().to_string()
        })
    }

    const BOUNDS: Bounds = Bounds {
        inputs: 1 << 20,
        time: Duration::from_secs(60),
    };

    #[test]
    fn a_panic_is_found_and_found_again_by_the_same_seed() {
        let first = run(&mut fragile(), 5, BOUNDS);
        assert!(first.finding.as_ref().unwrap().starts_with(b"see\xff"));
        let again = run(&mut fragile(), 5, BOUNDS);
        assert_eq!((first.finding, first.inputs), (again.finding, again.inputs));
    }

    #[test]
    fn a_run_ends_at_its_bounds() {
        let mut target = Target::new(vec![vec![1], vec![2]], |_| String::new());
        let report = run(
            &mut target,
            1,
            Bounds {
                inputs: 100,
                ..BOUNDS
            },
        );
        assert_eq!(
            (report.inputs, report.outcomes, report.finding),
            (100, 1, None)
        );
        let seeds = run(
            &mut target,
            1,
            Bounds {
                inputs: 100,
                time: Duration::ZERO,
            },
        );
        assert_eq!(seeds.inputs, 2, "seeds run however slow the machine is");
        assert_eq!(
            run(
                &mut target,
                1,
                Bounds {
                    inputs: 0,
                    ..BOUNDS
                }
            )
            .inputs,
            0
        );
    }
}
