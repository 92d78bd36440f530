//! Runs every target on its seeds, and on up to 4000 inputs in half a second.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::time::Duration;

use papir_fuzz::driver::{Bounds, run};
use papir_fuzz::targets::ALL;

const BOUNDS: Bounds = Bounds {
    inputs: 4000,
    time: Duration::from_millis(500),
};
const SEED: u64 = 20_260;

#[test]
fn no_target_panics() {
    for (name, make) in ALL {
        let mut target = make();
        let seeds = target.seeds.len() as u64;
        let report = run(&mut target, SEED, BOUNDS);
        if let Some(input) = &report.finding {
            panic!("{name} panics on {input:02x?}");
        }
        // How many more there are depends on the speed of the machine.
        assert!(report.inputs >= seeds && seeds > 0, "{name}: {report:?}");
    }
}

#[test]
fn seeds_are_accepted() {
    for (name, make) in ALL {
        let mut target = make();
        let seeds = target.seeds.clone();
        let outcomes: Vec<String> = seeds.iter().map(|seed| (target.run)(seed)).collect();
        let good = |outcome: &String| {
            [
                "accepted",
                "200 OK",
                "records is expected none",
                "seed has bytes",
            ]
            .iter()
            .any(|word| outcome.contains(word))
        };
        assert!(outcomes.iter().any(good), "{name}: {outcomes:#?}");
    }
}
