//! Stopwatches: for the stages that setup announces, and for the parts of an answer.

use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use papir_core::Progress;

/// Listens to the stages of a setup and passes them on.
pub struct StageClock<'a> {
    listener: &'a dyn Progress,
    marks: Mutex<Vec<(String, Instant)>>,
}

impl<'a> StageClock<'a> {
    /// A clock in front of a listener.
    pub fn new(listener: &'a dyn Progress) -> Self {
        Self { listener, marks: Mutex::new(Vec::new()) }
    }

    /// Seconds of each stage in order; the last one ends now.
    pub fn stages(self) -> Vec<(String, f64)> {
        let marks = self.marks.into_inner().unwrap_or_else(PoisonError::into_inner);
        let ends: Vec<Instant> = marks.iter().skip(1).map(|mark| mark.1).chain([Instant::now()]).collect();
        let lasted = |((name, start), end): ((String, Instant), Instant)| (name, (end - start).as_secs_f64());
        marks.into_iter().zip(ends).map(lasted).collect()
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
}

/// Times the parts of one answer.
#[derive(Debug, Default)]
pub struct Laps {
    laps: Vec<(&'static str, f64)>,
}

impl Laps {
    /// Runs and times one part.
    pub fn time<T>(&mut self, name: &'static str, part: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let result = part();
        self.laps.push((name, start.elapsed().as_secs_f64()));
        result
    }

    /// Seconds of each part, in order.
    pub fn laps(&self) -> &[(&'static str, f64)] {
        &self.laps
    }
}
