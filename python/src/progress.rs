//! Progress of long work, passed to a Python function.

use std::sync::Mutex;
use std::sync::PoisonError;
use std::time::{Duration, Instant};

use papir_core::Progress;
use pyo3::prelude::*;

use crate::waiting::Interrupt;

/// Least time between two calls.
const INTERVAL: Duration = Duration::from_millis(100);

/// Calls `function(stage, done, of)` at most ten times a second, and at each new stage; ends the
/// work after Ctrl-C, and with an exception of the function.
pub(crate) struct Reporter<'a> {
    pub(crate) interrupt: &'a Interrupt,
    function: Option<Py<PyAny>>,
    state: Mutex<ProgressState>,
}

struct ProgressState {
    stage: String,
    done: u64,
    of: u64,
    called: Instant,
}

impl<'a> Reporter<'a> {
    pub(crate) fn new(interrupt: &'a Interrupt, function: Option<Py<PyAny>>) -> Self {
        let state = ProgressState {
            stage: String::new(),
            done: 0,
            of: 0,
            called: Instant::now(),
        };
        Self {
            interrupt,
            function,
            state: Mutex::new(state),
        }
    }

    fn report(&self, change: impl FnOnce(&mut ProgressState), always: bool) {
        self.interrupt.check();
        let Some(function) = &self.function else {
            return;
        };

        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        if !always && state.called.elapsed() < INTERVAL {
            return;
        }

        state.called = Instant::now();
        let arguments = (state.stage.clone(), state.done, state.of);
        // Released first: the function may take long, and other threads report meanwhile.
        drop(state);

        let called = Python::attach(|py| function.call1(py, arguments).map(drop));
        if let Err(exception) = called {
            self.interrupt.stop(exception);
        }
    }
}

impl Progress for Reporter<'_> {
    fn stage(&self, name: &str, steps: u64) {
        self.report(
            |state| (state.stage, state.done, state.of) = (name.to_owned(), 0, steps),
            true,
        );
    }

    fn advance(&self, steps: u64) {
        self.report(|state| state.done += steps, false);
    }
}
