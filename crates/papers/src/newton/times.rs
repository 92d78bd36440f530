//! Run times of NewtonPIR and its baseline (Tables 2 and 3).

use getrandom::SysRng;
use papir_core::scheme::{Client, Parameters, Server, Session};
use papir_core::{NoProgress, Progress, read_record};
use papir_measure::clock::{median, timed};
use papir_measure::records::Synthetic;
use papir_research::newton::client::NewtonClient;
use papir_research::newton::fhe::{Ring, encrypt};
use papir_research::newton::key::SecretKey;
use papir_research::newton::server::NewtonServer;
use papir_research::newton::{Symmetric, Variant, xu};
use rand_core::{Rng, UnwrapErr};
use serde::Serialize;

use super::setting::{cents, params};
use crate::printed::{self, RowFigures};
use crate::{Error, Result};

/// Bits per record in Tables 2 and 3.
const RECORD_BITS: u64 = 1024;
/// Number of timed products.
const STEPS: u32 = 50;
/// log₂ N of the first column of Table 3.
const FIRST: u32 = 12;

/// A column of Table 2.
#[derive(Clone, Debug, Serialize)]
pub struct Times {
    /// log₂ N.
    pub log_records: u32,
    /// Seconds to compute the coefficients for an n that is new to the server.
    pub setup_s: f64,
    /// Median time of a query.
    pub query_us: f64,
    /// Median time of an answer.
    pub answer_s: f64,
    /// Median time of extraction.
    pub extract_ms: f64,
    /// Cost by the price model.
    pub cents: f64,
    /// The paper's five figures, if printed.
    pub paper: Option<[f64; 5]>,
    /// True if every record was correct.
    pub correct: bool,
}

/// A column of Table 3.
#[derive(Clone, Debug, Serialize)]
pub struct Lagrange {
    /// log₂ N.
    pub log_records: u32,
    /// Hours of an answer: the measured time of one product in the ring, times N·(N − 1).
    pub predicted_answer_h: f64,
    /// Cost by the price model.
    pub predicted_cents: f64,
    /// The paper's hours.
    pub paper_h: f64,
    /// True if an answer for few records was correct.
    pub correct: bool,
}

/// Measures Table 2.
pub(super) fn measure(columns: &[u32], runs: usize, progress: &dyn Progress) -> Result<Vec<Times>> {
    progress.stage("columns", columns.len() as u64);
    columns
        .iter()
        .map(|&column| measure_column(column, runs).inspect(|_| progress.advance(1)))
        .collect()
}

fn measure_column(log_records: u32, runs: usize) -> Result<Times> {
    let params = params(1 << log_records, RECORD_BITS)?;
    let records = Synthetic::of(params.shape());
    let rng = &mut UnwrapErr(SysRng);
    let server = NewtonServer::<Symmetric>::setup(params.clone(), &records, rng, &NoProgress)?;
    // The server has the coefficients for its own n already, so another n is timed.
    let fresh = SecretKey::generate(Symmetric::MODULUS_BITS, rng)?;
    let (prepared, setup_s) = timed(|| server.coefficients(fresh.modulus(), &NoProgress));
    drop(prepared?);

    let client = NewtonClient::new(params.clone(), server.public().clone())?;
    let mut times = [(); 3].map(|()| Vec::new());
    let mut correct = true;

    for run in 0..=runs {
        // Another record in each run, although the time of an answer does not depend on it.
        let index = rng.next_u64() % params.shape().records();
        let (query, query_s) = timed(|| client.query(None, &[index], rng));
        let (secret, query) = query?;

        let (answer, answer_s) = timed(|| server.answer(Session::anonymous(), &query));
        let answer = answer?;

        let (found, extract_s) = timed(|| client.extract(secret, answer));
        correct &= found
            .is_ok_and(|found| read_record(&records, index).is_ok_and(|record| found == [record]));

        // The first run is a warm-up.
        if run > 0 {
            for (all, one) in times.iter_mut().zip([query_s, answer_s, extract_s]) {
                all.push(one);
            }
        }
    }

    let [query_s, answer_s, extract_s] = times.map(median);
    let sizes = params.describe().sizes;
    Ok(Times {
        log_records,
        setup_s,
        query_us: 1e6 * query_s,
        answer_s,
        extract_ms: 1e3 * extract_s,
        cents: cents(answer_s, sizes.query + sizes.answer),
        paper: printed_times(log_records)?,
        correct,
    })
}

/// Seconds of setup, µs of a query, seconds of an answer, ms of extraction and cents of Table 2;
/// `None` for numbers of records that it does not have.
fn printed_times(log_records: u32) -> Result<Option<[f64; 5]>> {
    let table = printed::table(printed::NEWTON, "Table 2")?;
    let name = format!("2^{log_records}");
    let Some(row) = table.rows.iter().find(|row| row.row == name) else {
        return Ok(None);
    };

    let figures = RowFigures::new(table, row);
    Ok(Some([
        figures.number("Setup", "s")?,
        figures.number("Query Generation", "µs")?,
        figures.number("Response Generation", "s")?,
        figures.number("Extraction Process", "ms")?,
        figures.number("Server Cost", "cents")?,
    ]))
}

/// Predicts Table 3.
pub(super) fn lagrange(count: usize, progress: &dyn Progress) -> Result<Vec<Lagrange>> {
    progress.stage("Lagrange", 1);
    let rng = &mut UnwrapErr(SysRng);
    let key = SecretKey::generate(Symmetric::MODULUS_BITS, rng)?;
    let n = &**key.modulus();
    let mut values = vec![0; count * n.words()];
    for word in values.iter_mut().step_by(n.words()) {
        *word = rng.next_u64();
    }

    // Records count from 1: this is the last one.
    let (ciphertext, point) = encrypt(n, count as u64, rng);
    let (ring, c) = Ring::of(n, &ciphertext);
    let answer = xu::answer(&ring, &c, &n.enter(&values, n.words())).map_err(Error::parameters)?;
    let correct = point.open(n, &answer)[..] == values[(count - 1) * n.words()..];

    // Products of one chain, so that none can start before the one before it is done.
    let mut product = ring.one();
    let ((), time) = timed(|| {
        for j in 1..=STEPS {
            product = xu::step(&ring, &c, &product, i64::from(j));
        }
    });
    let step = time / f64::from(STEPS);
    progress.advance(1);

    // Messages have the same length for all numbers of records.
    let sizes = params(1 << FIRST, RECORD_BITS)?.describe().sizes;
    let table = printed::table(printed::NEWTON, "Table 3")?;
    let mut columns = Vec::with_capacity(table.rows.len());
    for (log_records, row) in (FIRST..).zip(&table.rows) {
        let paper_h = RowFigures::new(table, row).number("Response Generation", "h")?;
        let records = f64::from(log_records).exp2();
        // Each of N summands is a product of N − 1 factors.
        let answer = step * records * (records - 1.0);
        columns.push(Lagrange {
            log_records,
            predicted_answer_h: answer / 3600.0,
            predicted_cents: cents(answer, sizes.query + sizes.answer),
            paper_h,
            correct,
        });
    }
    Ok(columns)
}

impl Times {
    pub(super) fn line(&self) -> Vec<String> {
        vec![
            self.log_records.to_string(),
            format!("{:.2} s", self.setup_s),
            self.paper_cell(0, "s"),
            format!("{:.1} µs", self.query_us),
            self.paper_cell(1, "µs"),
            format!("{:.3} s", self.answer_s),
            self.paper_cell(2, "s"),
            format!("{:.2} ms", self.extract_ms),
            self.paper_cell(3, "ms"),
            format!("{:.5}", self.cents),
            self.paper_cell(4, ""),
            if self.correct { "yes" } else { "NO" }.to_owned(),
        ]
    }

    fn paper_cell(&self, i: usize, unit: &str) -> String {
        self.paper.map_or_else(
            || "-".to_owned(),
            |paper| format!("{} {unit}", paper[i]).trim_end().to_owned(),
        )
    }
}

impl Lagrange {
    pub(super) fn line(&self) -> Vec<String> {
        vec![
            self.log_records.to_string(),
            format!("{:.2} h", self.predicted_answer_h),
            format!("{} h", self.paper_h),
            format!("{:.3}", self.predicted_cents),
            format!("{}", cents(3600.0 * self.paper_h, 0)),
        ]
    }
}
