//! The figures of a crate or of the whole.

use std::collections::{BTreeMap, BTreeSet};

use crate::StyleMetric;
use crate::measured::{FileMeasures, Function};

/// Distribution of sizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Spread {
    /// Half of the sizes are at most this.
    pub median: usize,
    /// Nine in ten of the sizes are at most this.
    pub p90: usize,
    /// The largest size.
    pub max: usize,
}

impl Spread {
    /// The spread of `sizes`; zeros if there are none.
    #[must_use]
    pub fn of(mut sizes: Vec<usize>) -> Self {
        sizes.sort_unstable();
        Self {
            median: percentile(&sizes, 50),
            p90: percentile(&sizes, 90),
            max: percentile(&sizes, 100),
        }
    }
}

/// The smallest of `sorted` that at least `percent` in a hundred do not exceed.
fn percentile(sorted: &[usize], percent: usize) -> usize {
    let rank = (sorted.len() * percent).div_ceil(100);
    let size = sorted.get(rank.saturating_sub(1));
    size.copied().unwrap_or_default()
}

/// The figures of a crate or of the whole.
#[derive(Clone, Debug)]
pub struct StyleSummary {
    /// The number of functions with a body.
    pub functions: usize,
    /// Lines of a function, from the word `fn` to the brace that closes its body.
    pub function_lines: Spread,
    /// Tokens of a function, from and to there.
    pub function_tokens: Spread,
    /// The number of functions of 20 lines or more.
    pub long_functions: usize,
    /// Lines of comments in bodies.
    pub comments: usize,
    /// Lines of code in bodies.
    pub code: usize,
    /// The number of files.
    pub files: usize,
    /// Lines of a file, with the tests in it.
    pub file_lines: Spread,
    /// Tokens of code.
    pub tokens: usize,
    counts: BTreeMap<StyleMetric, usize>,
}

impl StyleSummary {
    pub(crate) fn of(files: &[&FileMeasures]) -> Self {
        let functions: Vec<&Function> = files.iter().flat_map(|file| &file.functions).collect();
        let lines = functions.iter().map(|function| function.lines);
        let tokens = functions.iter().map(|function| function.tokens);
        let long = functions.iter().filter(|function| function.is_long());

        Self {
            functions: functions.len(),
            function_lines: Spread::of(lines.collect()),
            function_tokens: Spread::of(tokens.collect()),
            long_functions: long.count(),
            comments: files.iter().map(|file| file.comments).sum(),
            code: files.iter().map(|file| file.code).sum(),
            files: files.len(),
            file_lines: Spread::of(files.iter().map(|file| file.lines).collect()),
            tokens: files.iter().map(|file| file.tokens).sum(),
            counts: counts(files),
        }
    }

    /// How often the code has what `metric` counts.
    #[must_use]
    pub fn count(&self, metric: StyleMetric) -> usize {
        self.counts.get(&metric).copied().unwrap_or_default()
    }
}

fn counts(files: &[&FileMeasures]) -> BTreeMap<StyleMetric, usize> {
    let mut counts: BTreeMap<StyleMetric, usize> = BTreeMap::new();
    let mut names = BTreeSet::new();
    for offence in files.iter().flat_map(|file| &file.offences) {
        // A name counts once, however many crates declare it.
        if !offence.metric.counts_names() || names.insert((offence.metric, &offence.name)) {
            *counts.entry(offence.metric).or_default() += 1;
        }
    }
    counts
}
