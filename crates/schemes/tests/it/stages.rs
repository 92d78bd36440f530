//! A progress that records the stages of an operation.

use std::sync::Mutex;

use papir_core::Progress;

/// Names and steps of the stages.
#[derive(Default)]
pub(crate) struct Stages(pub(crate) Mutex<Vec<(String, u64, u64)>>);

impl Progress for Stages {
    fn stage(&self, name: &str, total: u64) {
        self.0.lock().unwrap().push((name.to_owned(), total, 0));
    }

    fn advance(&self, steps: u64) {
        self.0.lock().unwrap().last_mut().unwrap().2 += steps;
    }
}
