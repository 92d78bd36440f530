//! The order of the faults, by a seed.

use super::faults::Fault;
use super::services::Place;

/// Random numbers by a seed (SplitMix64: Steele, Lea and Flood, 2014), the same on each machine.
pub(super) struct Random(u64);

impl Random {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// A number below `bound`. Its bias is that of 64 bits.
    pub(super) fn below(&mut self, bound: usize) -> usize {
        (self.draw() % bound as u64) as usize
    }

    /// One of several values.
    fn choose<T: Copy>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())]
    }

    /// Brings values into a random order.
    fn shuffle<T>(&mut self, values: &mut [T]) {
        for end in (1..values.len()).rev() {
            let other = self.below(end + 1);
            values.swap(end, other);
        }
    }
}

/// Each kind of fault once, in a random order. `Second` neither restarts nor is killed, so that its
/// memory shows growth over the whole run.
pub(super) fn round(random: &mut Random) -> Vec<Fault> {
    let restarting = [Place::First, Place::Alone];
    let hours = random.choose(&[2, 26]);
    let mut faults = vec![
        Fault::Restart(random.choose(&restarting)),
        Fault::Kill(random.choose(&restarting)),
        Fault::Pause(random.choose(&Place::ALL)),
        Fault::SlowSync,
        Fault::FullDisk,
        Fault::TruncatedFile,
        Fault::RegistryAway,
        Fault::ClockJump { hours },
        Fault::ClockJump { hours: -hours },
        Fault::LyingReplica,
        Fault::MemoryLimit,
    ];
    random.shuffle(&mut faults);
    faults
}

#[test]
fn a_seed_gives_one_schedule_with_every_fault() {
    let names = |seed| -> Vec<String> {
        let faults = round(&mut Random::new(seed));
        faults.iter().map(|fault| fault.name().to_owned()).collect()
    };
    assert_eq!(names(7), names(7));
    assert!((0..10).any(|seed| names(seed) != names(7)));

    for seed in 0..10 {
        let mut sorted = names(seed);
        sorted.sort();
        sorted.dedup();
        assert_eq!(sorted.len(), 10, "{sorted:?}");
    }
}
