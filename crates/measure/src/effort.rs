//! One measurement: records, parameters, threads and runs.

use papir_core::{Choice, Records};

use crate::{Error, Result};

/// One measurement.
#[derive(Clone, Copy)]
pub struct Plan<'a> {
    /// The source from which the database is prepared.
    pub records: &'a dyn Records,
    /// The records that results are compared with.
    pub expected: &'a dyn Records,
    /// The parameters.
    pub choice: Choice,
    /// Threads, runs and clients.
    pub effort: Effort,
}

impl Plan<'_> {
    /// Returns true if clients hold their tickets in advance.
    pub(crate) fn holds(&self) -> bool {
        matches!(self.choice, Choice::Registered { hold: true, .. })
    }
}

/// Numbers of threads, runs and clients.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Effort {
    /// Threads for setup and answers; may exceed the number of cores.
    pub threads: usize,
    /// Number of timed runs, after a warm-up.
    pub runs: usize,
    /// Number of clients whose queries are answered together.
    pub clients: usize,
}

impl Effort {
    /// Maximum number of threads.
    const MAX_THREADS: usize = 1024;
    /// Maximum number of runs.
    const MAX_RUNS: usize = 1_000_000;
    /// Maximum number of clients.
    const MAX_CLIENTS: usize = 4096;

    /// One client alone.
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
    /// [`Error::Usage`] if threads, runs or clients are zero or too many, and [`Error::Threads`].
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
