//! Times of stages, and medians.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use papir_core::Progress;

/// A [`Progress`] that records the start of each stage and forwards all calls.
pub struct StageClock<'a> {
    listener: &'a dyn Progress,
    start: Instant,
    marks: Mutex<Vec<(String, Instant)>>,
}

impl<'a> StageClock<'a> {
    /// Starts the clock. Progress is forwarded to `listener`.
    pub fn new(listener: &'a dyn Progress) -> Self {
        Self {
            listener,
            start: Instant::now(),
            marks: Mutex::new(Vec::new()),
        }
    }

    /// Stops the clock. Returns the seconds of each stage, in order, and the total seconds. The
    /// first stage counts from the start of the clock, because it allocates memory before it is
    /// announced.
    pub fn stop(self) -> (Vec<(String, f64)>, f64) {
        let now = Instant::now();
        let marks = self
            .marks
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner);
        let (names, times): (Vec<String>, Vec<Instant>) = marks.into_iter().unzip();

        // A stage ends where the next one starts, the last one now.
        let starts = std::iter::once(self.start).chain(times.iter().copied().skip(1));
        let ends = times.iter().copied().skip(1).chain([now]);
        let lasted = starts
            .zip(ends)
            .map(|(start, end)| (end - start).as_secs_f64());
        (
            names.into_iter().zip(lasted).collect(),
            (now - self.start).as_secs_f64(),
        )
    }
}

impl Progress for StageClock<'_> {
    fn stage(&self, name: &str, total: u64) {
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        marks.push((name.to_owned(), Instant::now()));
        self.listener.stage(name, total);
    }

    fn advance(&self, steps: u64) {
        self.listener.advance(steps);
    }

    fn notice(&self, line: &str) {
        self.listener.notice(line);
    }
}

/// Returns the median. It is the mean of the middle two for an even number of values, and zero for
/// no values.
pub fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = |i: usize| values.get(i).copied().unwrap_or_default();
    (middle(values.len().saturating_sub(1) / 2) + middle(values.len() / 2)) / 2.0
}

/// Runs `work`. Returns its result and its time in seconds.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let start = Instant::now();
    let result = work();
    (result, start.elapsed().as_secs_f64())
}

/// Runs `work`. Returns its result and its time in milliseconds.
pub fn milliseconds<T>(work: impl FnOnce() -> T) -> (T, f64) {
    let (result, seconds) = timed(work);
    (result, 1e3 * seconds)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::thread::sleep;
    use std::time::Duration;

    use papir_core::NoProgress;

    use super::*;

    #[test]
    fn medians_are_computed() {
        for (values, expected) in [
            (vec![], 0.0),
            (vec![3.0], 3.0),
            (vec![9.0, 1.0], 5.0),
            (vec![9.0, 1.0, 2.0], 2.0),
        ] {
            assert!(
                (median(values.clone()) - expected).abs() < 1e-12,
                "{values:?}"
            );
        }
    }

    #[test]
    fn stages_add_up_to_the_total() {
        let clock = StageClock::new(&NoProgress);
        let wait = |ms| sleep(Duration::from_millis(ms));
        wait(20);
        clock.stage("encode", 1);
        clock.stage("pack", 1);
        wait(40);
        let (stages, all) = clock.stop();
        let names: Vec<&str> = stages.iter().map(|stage| stage.0.as_str()).collect();
        assert_eq!(names, ["encode", "pack"]);
        assert!(stages[0].1 >= 0.02 && stages[1].1 >= 0.04, "{stages:?}");
        assert!(
            (stages[0].1 + stages[1].1 - all).abs() < 1e-9,
            "{stages:?} of {all}"
        );
    }

    /// Keeps all reports.
    #[derive(Default)]
    struct Reports(Mutex<Vec<String>>);

    impl Reports {
        fn add(&self, report: String) {
            self.0.lock().unwrap().push(report);
        }
    }

    impl Progress for Reports {
        fn stage(&self, name: &str, total: u64) {
            self.add(format!("{name} of {total}"));
        }

        fn advance(&self, steps: u64) {
            self.add(steps.to_string());
        }

        fn notice(&self, line: &str) {
            self.add(line.to_owned());
        }
    }

    #[test]
    fn all_reports_are_forwarded() {
        let reports = Reports::default();
        let clock = StageClock::new(&reports);
        clock.stage("encode", 7);
        clock.advance(3);
        clock.notice("a part is made again");
        drop(clock);

        let reports = reports.0.into_inner().unwrap();
        assert_eq!(reports, ["encode of 7", "3", "a part is made again"]);
    }

    #[test]
    fn without_stages_there_is_only_the_total() {
        let (stages, all) = StageClock::new(&NoProgress).stop();
        assert!(stages.is_empty() && all >= 0.0);
    }
}
