//! Benchmark of NewtonPIR: Tables 2, 3 and 4 and Figures 3 and 4 of Lu and Qu.
//!
//! The scheme is not private and should not be used; it is measured for comparison only.
//!
//! - `times` is Table 2: records of 1,024 bits, on the given number of threads. `setup_s` is for an
//!   n that is new to the server.
//! - `lagrange` is Table 3: Xu et al.'s answer takes N·(N − 1) products in the ring. One product is
//!   timed, an answer for few records is checked, and the time for N records is extrapolated and
//!   marked `predicted`.
//! - `by_records` and `by_entry` are Table 4 and Figures 3 and 4: message lengths.
//!
//! Prices follow the paper's model: 1 cent per core hour and 9 cents per GB of traffic.

pub mod intersection;
mod messages;
mod setting;
mod times;

use papir_core::Progress;
use papir_kernels::Backend;
use papir_measure::effort::Effort;
use papir_measure::report::{titles, write_rows};
use serde::Serialize;

pub use messages::{Messages, Rival};
pub use times::{Lagrange, Times};

use crate::Result;

/// Inputs of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NewtonConfig {
    /// log₂ N of Table 2's columns.
    pub times: &'static [u32],
    /// Number of records for which the answer of Xu et al. is computed.
    pub lagrange: usize,
}

impl NewtonConfig {
    /// The full benchmark.
    pub const FULL: Self = Self {
        times: &[12, 13, 14, 15, 16, 17, 18],
        lagrange: 24,
    };
    /// A benchmark of about a second.
    pub const TINY: Self = Self {
        times: &[4, 6],
        lagrange: 3,
    };
}

/// Costs of NewtonPIR.
#[derive(Clone, Debug, Serialize)]
pub struct NewtonReport {
    /// "newton".
    pub part: &'static str,
    /// The kernels' backend.
    pub backend: &'static str,
    /// Threads.
    pub threads: usize,
    /// Table 2.
    pub times: Vec<Times>,
    /// Table 3.
    pub lagrange: Vec<Lagrange>,
    /// Figure 3: entries of 256 bytes; Table 4 is the row for 2²⁰.
    pub by_records: Vec<Messages>,
    /// Figure 4: 2²⁰ entries.
    pub by_entry: Vec<Messages>,
    /// The other schemes of Table 4, as printed.
    pub rivals: Vec<Rival>,
    /// True if every returned record was correct.
    pub correct: bool,
}

/// Runs the benchmark.
///
/// # Errors
/// [`crate::Error::Usage`] for threads or runs out of range, [`crate::Error::Backend`], those of
/// the scheme.
pub fn measure(
    config: NewtonConfig,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<NewtonReport> {
    let backend = Backend::try_from_env()?.name();
    effort.pool()?.install(|| {
        // In one pool, since Table 2 and the baseline of Table 3 are compared.
        let times = times::measure(config.times, effort.runs, progress)?;
        let lagrange = times::lagrange(config.lagrange, progress)?;
        let by_records = messages::by_records()?;
        let by_entry = messages::by_entry()?;

        let correct = times.iter().all(|one| one.correct) && lagrange.iter().all(|one| one.correct);
        let part = "newton";
        let threads = effort.threads;
        let rivals = messages::rivals()?;

        Ok(NewtonReport {
            part,
            backend,
            threads,
            times,
            lagrange,
            by_records,
            by_entry,
            rivals,
            correct,
        })
    })
}

impl NewtonReport {
    /// Writes the report as four tables.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        writeln!(
            out,
            "NOT PRIVATE: papir attack newton. {} threads, {}",
            self.threads, self.backend
        )?;

        writeln!(
            out,
            "\nRecords of 1,024 bits (NewtonPIR, Table 2), papir's figures followed by the paper's"
        )?;
        let first = titles(&[
            "log2 N", "setup", "paper", "query", "paper", "answer", "paper", "extract", "paper",
            "cents", "paper", "correct",
        ]);
        write_rows(out, first, self.times.iter().map(Times::line))?;

        writeln!(
            out,
            "\nXu et al. (Table 3): an answer, predicted from one product in the ring"
        )?;
        let first = titles(&["log2 N", "answer", "paper", "cents", "paper"]);
        write_rows(out, first, self.lagrange.iter().map(Lagrange::line))?;

        for (what, rows) in [
            (
                "entries of 256 B (Figure 3; Table 4 is the row of 2^20)",
                &self.by_records,
            ),
            ("2^20 entries (Figure 4)", &self.by_entry),
        ] {
            writeln!(out, "\nMessages, {what}")?;

            let first = titles(&[
                "log2 N",
                "entry",
                "query",
                "answer",
                "rate",
                "figures",
                "paper's query",
                "answer",
                "rate",
            ]);
            write_rows(out, first, rows.iter().map(Messages::line))?;
        }
        writeln!(
            out,
            "Messages depend on the length of an entry only, and no database was prepared for these rows. Rows of lengths only have more or longer records than papir takes (decision 17)."
        )?;

        writeln!(
            out,
            "\nOther schemes (Table 4), quoted from the paper: none of them was run here"
        )?;
        let first = titles(&["scheme", "query", "answer", "rate"]);
        write_rows(out, first, self.rivals.iter().map(Rival::line))
    }
}
