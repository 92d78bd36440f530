//! The figure of times on lines and by whole tables, by number of records.
//!
//! Times are counts of operations times rates, as in a plan ([`Outline::answer`]). The rates of
//! this machine are those of the sets that the figure measures; a model gives those of a large
//! machine.

use papir_core::cost::{Operation, Rates};
use papir_core::{Goal, Progress};
use papir_measure::effort::Effort;
use papir_measure::report::titles;
use papir_plan::units::bytes as display;
use papir_schemes::depir::evaluation::{Points, Tables, Tabulated};
use papir_schemes::depir::structure::levels::Steps;

use super::outline::Outline;
use super::set::{DepirConfig, DepirReport, Set, measure};
use super::sheet::{Curve, SheetRows};
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

/// Titles of the figure's columns.
const COLUMNS: [&str; 12] = [
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

/// A machine on which times are predicted.
struct Machine {
    name: String,
    rates: Rates,
    memory: u64,
}

impl Machine {
    /// Seconds of the whole machine for each index of a query, with all cores busy.
    fn seconds(&self, outline: &Outline) -> f64 {
        // Queries of many clients keep all cores busy, and a query then costs its core time.
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
    fn new(sets: [Set; 2], effort: Effort, progress: &dyn Progress) -> Result<Self> {
        let [smaller, larger] = sets;

        // The tables of the least set are short, for tests.
        let steps = (smaller == Set::Least).then_some(Steps::Two);
        let by = Some(Tables {
            tabulated: Tabulated::All,
            steps,
            points: Points::OnLines,
        });
        let tables = measure(
            DepirConfig {
                by,
                ..DepirConfig::of(smaller)
            },
            effort,
            progress,
        )?;

        Ok(Self {
            lines: vec![
                measure(DepirConfig::of(smaller), effort, progress)?,
                measure(DepirConfig::of(larger), effort, progress)?,
            ],
            tables,
        })
    }

    /// Core seconds of a product and of a look-up.
    fn rate(&self, operation: Operation) -> f64 {
        match (operation, self.lines.last()) {
            // The larger set, which is closer to the numbers of records that are predicted.
            (Operation::Term, Some(report)) => core_seconds(report, report.work.multiplications),
            (Operation::Lookup, _) => core_seconds(&self.tables, self.tables.work.points),
            // Rates need all operations; outlines count products and look-ups only.
            _ => Rates::BUILT_IN.one(operation),
        }
    }

    fn this_machine(&self, threads: usize) -> Result<Machine> {
        Ok(Machine {
            name: format!("this machine, {threads} cores"),
            rates: Rates::new(
                threads,
                |operation| self.rate(operation),
                |operation| self.rate(operation) / threads as f64,
            )?,
            // Free memory, since these tables could be made now; a system without that figure has
            // the model's.
            memory: papir_store::free_memory().unwrap_or(MEMORY),
        })
    }

    /// Core seconds of an operation when all cores of the large machine are busy. A product reads
    /// its coefficient from memory, and a look-up is one random read.
    fn bounded_rate(&self, operation: Operation) -> f64 {
        // Cores add up until they wait for memory, which all of them share.
        let bound = match operation {
            Operation::Term => BYTES_PER_TERM / STREAMED_BYTES_PER_SECOND,
            Operation::Lookup => 1.0 / RANDOM_READS_PER_SECOND,
            _ => 0.0,
        };
        (self.rate(operation) / CORES as f64).max(bound)
    }

    /// The large machine, of the same cores.
    fn large_machine(&self) -> Result<Machine> {
        let rates = Rates::new(
            CORES,
            |operation| self.rate(operation),
            |operation| self.bounded_rate(operation),
        )?;
        Ok(Machine {
            name: format!("model, {CORES} cores"),
            rates,
            memory: MEMORY,
        })
    }
}

fn core_seconds(report: &DepirReport, count: u64) -> f64 {
    report.evaluate_s * report.threads as f64 / count as f64
}

/// A way of evaluation on a machine, by number of records; `None` where it is impossible.
struct Series<'a> {
    machine: &'a Machine,
    name: String,
    outlines: Vec<(u64, Option<Outline>)>,
}

/// Tables and lines for the same number of records.
struct Comparison<'a> {
    records: u64,
    tables: &'a Outline,
    /// Time by the tables over time on the lines.
    ratio: f64,
}

impl<'a> Series<'a> {
    fn new(machine: &'a Machine, name: String, outline: impl Fn(u64) -> Option<Outline>) -> Self {
        Self {
            machine,
            name,
            // All numbers of records, also those that are impossible: series are compared place by
            // place.
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
        let points = self
            .possible()
            .map(|(records, outline)| (records as f64, 1e3 * self.machine.seconds(outline)))
            .collect();

        Curve {
            name: format!("{}: {}", self.machine.name, self.name),
            points,
        }
    }

    fn rows(&self) -> Vec<Vec<String>> {
        self.possible()
            .map(|(records, outline)| self.row(records, outline))
            .collect()
    }

    fn row(&self, records: u64, outline: &Outline) -> Vec<String> {
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
    }

    /// Compares these tables with lines, where both are possible.
    fn comparisons(&self, lines: &Self) -> Vec<Comparison<'_>> {
        let mut comparisons = Vec::new();
        for ((records, tables), (_, lines)) in self.outlines.iter().zip(&lines.outlines) {
            if let (Some(tables), Some(lines)) = (tables, lines) {
                comparisons.push(Comparison {
                    records: *records,
                    tables,
                    ratio: self.machine.seconds(tables) / self.machine.seconds(lines),
                });
            }
        }
        comparisons
    }

    /// A sentence on where these tables are faster than these lines.
    fn against(&self, lines: &Self) -> String {
        let comparisons = self.comparisons(lines);
        let who = format!("{}: {}", self.machine.name, self.name);
        // Comparisons ascend by records: the last one is of the most.
        let Some(Comparison {
            records: most,
            tables: longest,
            ratio,
        }) = comparisons.last()
        else {
            return format!("{who} hold none of these numbers of records.");
        };

        match comparisons.iter().find(|found| found.ratio < 1.0) {
            Some(Comparison {
                records,
                tables,
                ratio,
            }) => format!(
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

/// Lines, and the tables that are compared with them.
struct CurvePair<'a> {
    lines: Series<'a>,
    tables: Series<'a>,
}

/// Measures the sets and predicts the other points.
pub(super) fn crossing(
    sets: [Set; 2],
    effort: Effort,
    progress: &dyn Progress,
) -> Result<SheetRows> {
    let measured = Measured::new(sets, effort, progress)?;
    let this = measured.this_machine(effort.threads)?;
    let large = measured.large_machine()?;

    let pairs = [
        CurvePair {
            lines: Series::lines(&this),
            tables: Series::tables(&this, this.memory),
        },
        CurvePair {
            lines: Series::lines(&large),
            tables: Series::tables(&large, large.memory),
        },
        CurvePair {
            lines: Series::paper_lines(&this),
            tables: Series::paper_tables(&this),
        },
        CurvePair {
            lines: Series::paper_lines(&large),
            tables: Series::paper_tables(&large),
        },
    ];
    // Tables at this size show where they would be faster if memory were no limit.
    let far = Series::tables(&large, FAR_MEMORY);

    let mut rows: Vec<_> = measured
        .lines
        .iter()
        .chain([&measured.tables])
        .map(measured_row)
        .collect();
    let mut curves = vec![
        Curve {
            name: "measured: lines".to_owned(),
            points: measured.lines.iter().map(measured_point).collect(),
        },
        Curve {
            name: "measured: whole tables".to_owned(),
            points: vec![measured_point(&measured.tables)],
        },
    ];

    for CurvePair { lines, tables } in &pairs {
        rows.extend(lines.rows().into_iter().chain(tables.rows()));
        curves.extend([lines.curve(), tables.curve()]);
    }
    // Last, since it is on no machine.
    rows.extend(far.rows());
    curves.push(far.curve());

    let correct = measured
        .lines
        .iter()
        .chain([&measured.tables])
        .all(|report| report.correct);

    Ok(SheetRows {
        columns: titles(&COLUMNS),
        rows,
        notes: notes(&measured, &pairs, &far),
        curves,
        axes: ["records", "ms per index"],
        correct,
    })
}

fn notes(measured: &Measured, pairs: &[CurvePair<'_>], far: &Series<'_>) -> Vec<String> {
    let mut notes: Vec<String> = pairs
        .iter()
        .map(|pair| pair.tables.against(&pair.lines))
        .collect();
    notes.push(far.against(&pairs[1].lines));

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
    notes
}

fn measured_point(report: &DepirReport) -> (f64, f64) {
    (report.records as f64, report.answer_ms_per_index)
}

fn measured_row(report: &DepirReport) -> Vec<String> {
    // A set on lines counts points as well, of which none is looked up.
    let looked_up = report.tabulated.is_some();

    vec![
        report.records.to_string(),
        format!("this machine, {} cores", report.threads),
        if looked_up { "whole tables" } else { "lines" }.to_owned(),
        report.variables.to_string(),
        report.degree.to_string(),
        report.ring_degree.to_string(),
        scientific(report.work.multiplications),
        scientific(if looked_up { report.work.points } else { 0 }),
        display(report.table_bytes),
        format!("{:.3}", report.answer_s),
        format!("{:.4}", report.answer_ms_per_index),
        "measured".to_owned(),
    ]
}

fn scientific(number: u64) -> String {
    format!("{:.1e}", number as f64)
}
