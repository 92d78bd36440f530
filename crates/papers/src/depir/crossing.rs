//! The figure of times on lines and by whole tables, by number of records.
//!
//! Times are counts of operations times rates, as in a plan ([`Outline::answer`]). The rates of this
//! machine are those of the sets that the figure measures; a model gives those of a large machine.

use papir_core::cost::{Operation, Rates};
use papir_core::{Goal, Progress};
use papir_measure::effort::Effort;
use papir_measure::report::titles;
use papir_plan::units::bytes as display;
use papir_schemes::depir::evaluation::{Points, Tables, Tabulated};
use papir_schemes::depir::outline::Outline;
use papir_schemes::depir::structure::levels::Steps;

use super::set::{Config, DepirReport, Set, measure};
use super::sheet::{Curve, Rows};
use crate::Result;

/// Numbers of records: of the paper's four sets, and others between them.
const RECORDS: [u64; 10] = [
    1 << 10,
    7315,
    46_376,
    1 << 18,
    1 << 19,
    1 << 20,
    1 << 22,
    15_020_334,
    1 << 26,
    185_250_786,
];
/// More variables have no whole tables that any memory holds.
const MOST_VARIABLES: usize = 12;
/// Variables of the paper's sets tiny and small.
const PAPER_VARIABLES: usize = 4;

/// The large machine: two sockets with all memory channels.
const CORES: usize = 64;
const MEMORY: u64 = 1 << 40;
const STREAMED_BYTES_PER_SECOND: f64 = 4e11;
const RANDOM_READS_PER_SECOND: f64 = 2e9;
/// Memory that no machine has; disks are slower than assumed.
const FAR_MEMORY: u64 = 1 << 50;

/// Bytes of coefficients that one product reads: a word for every block of 32 points.
const BYTES_PER_TERM: f64 = 4.0 / 32.0;

/// A machine on which times are predicted.
struct Machine {
    name: String,
    rates: Rates,
    memory: u64,
}

impl Machine {
    /// Seconds of the whole machine for each index of a query, with all cores busy.
    fn seconds(&self, outline: &Outline) -> f64 {
        let cores = self.rates.threads() as f64;
        outline.per_index(outline.answer().core_seconds(&self.rates) / cores)
    }
}

/// The measurements: on lines of both sets, and by whole tables of the first.
struct Measured {
    lines: Vec<DepirReport>,
    tables: DepirReport,
}

impl Measured {
    fn new([smaller, larger]: [Set; 2], effort: Effort, progress: &dyn Progress) -> Result<Self> {
        let of = |set| measure(Config::of(set), effort, progress);
        // The tables of the least set are short, for tests.
        let steps = (smaller == Set::Least).then_some(Steps::Two);
        let by = Some(Tables {
            tabulated: Tabulated::All,
            steps,
            points: Points::OnLines,
        });
        let tables = measure(
            Config {
                by,
                ..Config::of(smaller)
            },
            effort,
            progress,
        )?;
        Ok(Self {
            lines: vec![of(smaller)?, of(larger)?],
            tables,
        })
    }

    /// Core seconds of a product and of a look-up.
    fn rate(&self, operation: Operation) -> f64 {
        let seconds = |report: &DepirReport, count: u64| {
            report.evaluate_s * report.threads as f64 / count as f64
        };
        match (operation, self.lines.last()) {
            (Operation::Term, Some(report)) => seconds(report, report.work.multiplications),
            (Operation::Lookup, _) => seconds(&self.tables, self.tables.work.points),
            _ => Rates::BUILT_IN.one(operation),
        }
    }

    fn this_machine(&self, threads: usize) -> Result<Machine> {
        let all = |operation| self.rate(operation) / threads as f64;
        Ok(Machine {
            name: format!("this machine, {threads} cores"),
            rates: Rates::new(threads, |operation| self.rate(operation), all)?,
            memory: papir_store::free_memory().unwrap_or(MEMORY),
        })
    }

    /// The large machine, of the same cores. A product reads its coefficient from memory, and a look-up
    /// is one random read.
    fn large_machine(&self) -> Result<Machine> {
        let all = |operation| {
            let bound = match operation {
                Operation::Term => BYTES_PER_TERM / STREAMED_BYTES_PER_SECOND,
                Operation::Lookup => 1.0 / RANDOM_READS_PER_SECOND,
                _ => 0.0,
            };
            (self.rate(operation) / CORES as f64).max(bound)
        };
        let rates = Rates::new(CORES, |operation| self.rate(operation), all)?;
        Ok(Machine {
            name: format!("model, {CORES} cores"),
            rates,
            memory: MEMORY,
        })
    }
}

/// A way of evaluation on a machine, by number of records; `None` where it is impossible.
struct Series<'a> {
    machine: &'a Machine,
    name: String,
    outlines: Vec<(u64, Option<Outline>)>,
}

impl<'a> Series<'a> {
    fn new(machine: &'a Machine, name: String, outline: impl Fn(u64) -> Option<Outline>) -> Self {
        Self {
            machine,
            name,
            outlines: RECORDS.map(|records| (records, outline(records))).to_vec(),
        }
    }

    fn lines(machine: &'a Machine) -> Self {
        Self::new(machine, "lines".to_owned(), |records| {
            Outline::best(records, Goal::MinTime).ok()
        })
    }

    fn tables(machine: &'a Machine, memory: u64) -> Self {
        let name = format!("whole tables in {}", display(memory));
        Self::new(machine, name, |records| {
            Outline::by_tables(records, 1..=MOST_VARIABLES, memory as f64)
        })
    }

    /// On lines with the paper's number of variables.
    fn paper_lines(machine: &'a Machine) -> Self {
        let name = format!("lines, m = {PAPER_VARIABLES}");
        Self::new(machine, name, |records| {
            Outline::with_variables(records, PAPER_VARIABLES)
        })
    }

    /// By tables of any length, with the paper's number of variables.
    fn paper_tables(machine: &'a Machine) -> Self {
        let name = format!("whole tables of any length, m = {PAPER_VARIABLES}");
        Self::new(machine, name, |records| {
            Outline::by_tables(records, PAPER_VARIABLES..=PAPER_VARIABLES, f64::INFINITY)
        })
    }

    fn possible(&self) -> impl Iterator<Item = (u64, &Outline)> {
        self.outlines
            .iter()
            .filter_map(|(records, outline)| Some((*records, outline.as_ref()?)))
    }

    fn curve(&self) -> Curve {
        let point = |(records, outline): (u64, &Outline)| {
            (records as f64, 1e3 * self.machine.seconds(outline))
        };
        Curve {
            name: format!("{}: {}", self.machine.name, self.name),
            points: self.possible().map(point).collect(),
        }
    }

    fn rows(&self) -> Vec<Vec<String>> {
        let row = |(records, outline): (u64, &Outline)| {
            let seconds = self.machine.seconds(outline);
            vec![
                records.to_string(),
                self.machine.name.clone(),
                self.name.clone(),
                outline.simplex.variables.to_string(),
                outline.simplex.degree.to_string(),
                outline.ring_degree.to_string(),
                format!("{:.1e}", outline.multiplications),
                format!("{:.1e}", outline.lookups),
                display(outline.table_bytes as u64),
                format!("{:.3}", seconds * outline.indices() as f64),
                format!("{:.4}", 1e3 * seconds),
                "predicted".to_owned(),
            ]
        };
        self.possible().map(row).collect()
    }

    /// A sentence on where these tables are faster than these lines.
    fn against(&self, lines: &Self) -> String {
        let both = self.outlines.iter().zip(&lines.outlines);
        let times: Vec<(u64, &Outline, f64)> = both
            .filter_map(|((records, tables), (_, lines))| {
                let tables = tables.as_ref()?;
                let lines = lines.as_ref()?;
                let ratio = self.machine.seconds(tables) / self.machine.seconds(lines);
                Some((*records, tables, ratio))
            })
            .collect();
        let who = format!("{}: {}", self.machine.name, self.name);
        let Some((most, longest, ratio)) = times.last() else {
            return format!("{who} hold none of these numbers of records.");
        };
        match times.iter().find(|(_, _, ratio)| *ratio < 1.0) {
            Some((records, tables, ratio)) => format!(
                "{who} are faster than {} from {records} records on, in {}: {ratio:.2} of the time.",
                lines.name,
                display(tables.table_bytes as u64),
            ),
            None => format!(
                "{who} never cross {}: they hold at most {most} of these numbers of records, in {}, and take \
                 {ratio:.2} times as long there.",
                lines.name,
                display(longest.table_bytes as u64),
            ),
        }
    }
}

/// Measures the sets and predicts the other points.
pub(super) fn crossing(sets: [Set; 2], effort: Effort, progress: &dyn Progress) -> Result<Rows> {
    let measured = Measured::new(sets, effort, progress)?;
    let this = measured.this_machine(effort.threads)?;
    let large = measured.large_machine()?;
    // Lines, then the tables that are compared with them.
    let pairs = [
        (Series::lines(&this), Series::tables(&this, this.memory)),
        (Series::lines(&large), Series::tables(&large, large.memory)),
        (Series::paper_lines(&this), Series::paper_tables(&this)),
        (Series::paper_lines(&large), Series::paper_tables(&large)),
    ];
    let far = Series::tables(&large, FAR_MEMORY);
    let point = |report: &DepirReport| (report.records as f64, report.answer_ms_per_index);
    let mut rows: Vec<_> = measured
        .lines
        .iter()
        .chain([&measured.tables])
        .map(measured_row)
        .collect();
    let mut curves = vec![
        Curve {
            name: "measured: lines".to_owned(),
            points: measured.lines.iter().map(point).collect(),
        },
        Curve {
            name: "measured: whole tables".to_owned(),
            points: vec![point(&measured.tables)],
        },
    ];
    for (lines, tables) in &pairs {
        rows.extend(lines.rows().into_iter().chain(tables.rows()));
        curves.extend([lines.curve(), tables.curve()]);
    }
    rows.extend(far.rows());
    curves.push(far.curve());
    let mut notes: Vec<String> = pairs
        .iter()
        .map(|(lines, tables)| tables.against(lines))
        .collect();
    notes.push(far.against(&pairs[1].0));
    notes.push(format!(
        "Predicted: counts of operations times {:.1e} s a product and {:.1e} s a look-up on one core, as \
         measured here. Lines have the fastest number of variables, as papir chooses it, and tables the one \
         with the fewest look-ups.",
        measured.rate(Operation::Term),
        measured.rate(Operation::Lookup),
    ));
    notes.push(format!(
        "The model: {CORES} such cores, {} of memory, {STREAMED_BYTES_PER_SECOND:.0e} bytes/s streamed and \
         {RANDOM_READS_PER_SECOND:.0e} random reads/s. A product streams its coefficient once for 32 points; a \
         look-up is one random read. {} of memory at that speed is on no machine.",
        display(MEMORY),
        display(FAR_MEMORY)
    ));
    notes.push(
        "Rings of degree 2^16 and degrees above 38 are predicted only. Such a ring has 2^15 slots."
            .to_owned(),
    );
    let columns = [
        "records",
        "machine",
        "way",
        "m",
        "D",
        "n",
        "products",
        "look-ups",
        "tables",
        "s per query",
        "ms per index",
        "source",
    ];
    let correct = measured
        .lines
        .iter()
        .chain([&measured.tables])
        .all(|report| report.correct);
    Ok(Rows {
        columns: titles(&columns),
        rows,
        notes,
        curves,
        axes: ["records", "ms per index"],
        correct,
    })
}

fn measured_row(report: &DepirReport) -> Vec<String> {
    let looked_up = report.tabulated.is_some();
    let count = |number: u64| format!("{:.1e}", number as f64);
    vec![
        report.records.to_string(),
        format!("this machine, {} cores", report.threads),
        if looked_up { "whole tables" } else { "lines" }.to_owned(),
        report.variables.to_string(),
        report.degree.to_string(),
        report.ring_degree.to_string(),
        count(report.work.multiplications),
        count(if looked_up { report.work.points } else { 0 }),
        display(report.table_bytes),
        format!("{:.3}", report.answer_s),
        format!("{:.4}", report.answer_ms_per_index),
        "measured".to_owned(),
    ]
}
