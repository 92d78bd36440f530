//! One measurement: records, parameters, threads and runs.

use papir_core::{Choice, Records};

use crate::{Error, Result};

/// One measurement.
#[derive(Clone, Copy)]
pub struct MeasurementPlan<'a> {
    /// Source from which the database is prepared.
    pub records: &'a dyn Records,
    /// Records with which results are compared.
    pub expected: &'a dyn Records,
    /// Choice of the parameters.
    pub choice: Choice,
    /// Numbers of threads, runs and clients.
    pub effort: Effort,
}

impl MeasurementPlan<'_> {
    /// Returns true if clients hold their tickets in advance.
    pub(crate) fn holds(&self) -> bool {
        matches!(self.choice, Choice::Registered { hold: true, .. })
    }
}

/// Numbers of threads, runs and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Number of threads for setup and answers. It may exceed the number of cores.
    pub threads: usize,
    /// Number of timed runs, after a warm-up.
    pub runs: usize,
    /// Number of clients whose queries are answered together.
    pub clients: usize,
}

impl Effort {
    /// Largest number of threads.
    const MAX_THREADS: usize = 1024;
    /// Largest number of runs.
    const MAX_RUNS: usize = 1_000_000;
    /// Largest number of clients.
    const MAX_CLIENTS: usize = 4096;

    /// Returns the effort of one client alone.
    pub const fn alone(threads: usize, runs: usize) -> Self {
        Self {
            threads,
            runs,
            clients: 1,
        }
    }

    /// Creates the thread pool.
    ///
    /// # Errors
    /// [`Error::Usage`] if the number of threads, runs or clients is zero or too large, and
    /// [`Error::Threads`] if the threads cannot be started.
    pub fn pool(self) -> Result<rayon::ThreadPool> {
        self.check()?;

        Ok(rayon::ThreadPoolBuilder::new()
            .num_threads(self.threads)
            .build()?)
    }

    /// Refuses threads, runs or clients that are zero or too many.
    pub(crate) fn check(self) -> Result<()> {
        let Self {
            threads,
            runs,
            clients,
        } = self;

        for (what, found, most) in [
            ("threads", threads, Self::MAX_THREADS),
            ("runs", runs, Self::MAX_RUNS),
            ("clients", clients, Self::MAX_CLIENTS),
        ] {
            if !(1..=most).contains(&found) {
                return Err(Error::usage(
                    format!("{found} {what}"),
                    format!("1 to {most} {what}"),
                ));
            }
        }
        Ok(())
    }
}
