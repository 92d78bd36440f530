//! Command line of the benches and agreement between backends.
#![allow(dead_code, reason = "no bench uses all of it")]

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::time::Instant;

use papir_kernels::Backend;

/// One run of a bench, timed or as a test.
///
/// `cargo bench` passes `--bench`: cases are timed. Otherwise, as under `cargo test --benches`,
/// each case runs once on a tiny size, and all backends must give the same results.
pub(crate) struct Bench {
    timed: bool,
    filters: Vec<String>,
    mebibytes: Option<usize>,
    /// The first backend that ran a case, and the hash of its result.
    results: HashMap<String, (Backend, u64)>,
}

impl Bench {
    /// Reads the arguments: filters, which are parts of the names of cases, `--bench`, `--test` and
    /// `--mib=N`. Other flags are those of libtest and are ignored.
    ///
    /// Returns `None` for `--list`, as there are no tests to list.
    pub(crate) fn from_args() -> Option<Self> {
        let (flags, filters): (Vec<_>, Vec<_>) = std::env::args()
            .skip(1)
            .partition(|argument| argument.starts_with("--"));
        let has = |flag: &str| flags.iter().any(|found| found == flag);
        if has("--list") {
            return None;
        }
        let timed = has("--bench") && !has("--test");
        let mebibytes = flags
            .iter()
            .find_map(|flag| flag.strip_prefix("--mib=")?.parse().ok());
        Some(Self {
            timed,
            filters,
            mebibytes,
            results: HashMap::new(),
        })
    }

    /// True if cases are timed, false if they run once.
    pub(crate) fn timed(&self) -> bool {
        self.timed
    }

    /// The size in MiB that `--mib` asks for.
    pub(crate) fn mebibytes(&self) -> Option<usize> {
        self.mebibytes
    }

    /// The first value if cases are timed, the second in a test.
    pub(crate) fn pick<T>(&self, timed: T, tiny: T) -> T {
        if self.timed { timed } else { tiny }
    }

    /// True if the case matches a filter or there is none.
    pub(crate) fn selects(&self, name: &str) -> bool {
        self.filters.is_empty() || self.filters.iter().any(|filter| name.contains(filter))
    }

    /// In a test, panics if an earlier backend got another result in the case of this name.
    ///
    /// A timed case has no comparable result, since backends repeat it different numbers of times. Nor has
    /// one that a filter may have left out.
    pub(crate) fn agree<T: Hash>(
        &mut self,
        name: &str,
        backend: Backend,
        result: impl FnOnce() -> T,
    ) {
        if self.timed || !self.filters.is_empty() {
            return;
        }
        let mut hasher = DefaultHasher::new();
        result().hash(&mut hasher);
        let found = hasher.finish();
        let (first, expected) = *self
            .results
            .entry(name.to_owned())
            .or_insert((backend, found));
        assert_eq!(
            found, expected,
            "{name}: the results of {backend} and {first} differ"
        );
    }
}

/// Seconds that a call takes.
pub(crate) fn seconds(call: impl FnOnce()) -> f64 {
    let start = Instant::now();
    call();
    start.elapsed().as_secs_f64()
}

/// The median; sorts the values.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
