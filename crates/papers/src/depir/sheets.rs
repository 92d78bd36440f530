//! Tables 2, 3 and 4 of Okada, Player, Pohmann and Weinert.

use papir_core::{Goal, Progress};
use papir_measure::effort::Effort;
use papir_measure::report::titles;
use papir_ring::prime::is_prime;
use papir_schemes::depir::simplex::Simplex;
use papir_schemes::depir::structure::levels::Steps;

use super::estimate::{TableCount, exact, one_step, two_steps};
use super::outline::Outline;
use super::set::{DepirConfig, DepirReport, Set, measure};
use super::sheet::{Sheet, SheetKind, SheetRows};
use crate::Result;
use crate::printed::{self, RowFigures};

/// ln t, the bound on ln ‖f‖.
const LN_T: f64 = 11.090_370;
/// Bits of a coefficient of f: a residue modulo t is lifted to an integer of absolute value up to
/// t/2.
const LOG2_F: f64 = 15.0;

/// All tables.
pub const SHEETS: &[Sheet] = &[
    Sheet {
        kind: SheetKind::Table,
        name: "depir-2",
        what: "Doubly-efficient PIR, Table 2: look-ups of a query and entries of tables, N = 2^20, Q = 2^1000, n = 2^16",
        run: |_, _, _| table_2(),
    },
    Sheet {
        kind: SheetKind::Table,
        name: "depir-3",
        what: "Doubly-efficient PIR, Table 3: tiny and small measured on lines, medium and large predicted",
        run: |sets, effort, progress| table_3(sets, effort, progress),
    },
    Sheet {
        kind: SheetKind::Table,
        name: "depir-4",
        what: "Doubly-efficient PIR, Table 4: costs per index, compared with printed figures of other schemes",
        run: |sets, effort, progress| table_4(sets, effort, progress),
    },
];

/// A row of Table 2: an optimization.
struct Optimization {
    name: &'static str,
    /// Its row among the printed figures.
    row: &'static str,
    /// Number of steps.
    steps: Steps,
    variables: usize,
    degree: usize,
    /// k; `None` without Fourier decomposition.
    roots: Option<u64>,
}

const NONE: &str = "none";
const FOURIER: &str = "+ Fourier decomposition";
const TOTAL: &str = "+ total degree";

const TABLE_2: [Optimization; 8] = [
    Optimization {
        name: NONE,
        row: "One step, none",
        steps: Steps::One,
        variables: 5,
        degree: 80,
        roots: None,
    },
    Optimization {
        name: FOURIER,
        row: "One step, Fourier decomposition",
        steps: Steps::One,
        variables: 5,
        degree: 80,
        roots: Some(83),
    },
    Optimization {
        name: TOTAL,
        row: "One step, total degree, m = 5",
        steps: Steps::One,
        variables: 5,
        degree: 39,
        roots: Some(41),
    },
    Optimization {
        name: TOTAL,
        row: "One step, total degree, m = 4",
        steps: Steps::One,
        variables: 4,
        degree: 69,
        roots: Some(71),
    },
    Optimization {
        name: NONE,
        row: "Two steps, none",
        steps: Steps::Two,
        variables: 5,
        degree: 80,
        roots: None,
    },
    Optimization {
        name: FOURIER,
        row: "Two steps, Fourier decomposition",
        steps: Steps::Two,
        variables: 5,
        degree: 80,
        roots: Some(83),
    },
    Optimization {
        name: TOTAL,
        row: "Two steps, total degree, m = 5",
        steps: Steps::Two,
        variables: 5,
        degree: 39,
        roots: Some(41),
    },
    Optimization {
        name: TOTAL,
        row: "Two steps, total degree, m = 4",
        steps: Steps::Two,
        variables: 4,
        degree: 69,
        roots: Some(71),
    },
];

const LOG2_Q: f64 = 1000.0;
const RING_DEGREE: f64 = 65_536.0;

/// The smallest primes that are 1 modulo 2nk and have a product of at least Q.
fn primes_for(roots: u64) -> Vec<u64> {
    // Such a prime has roots of unity of order 2n, for the ring, and of order k.
    let step = 2 * RING_DEGREE as u64 * roots;
    let mut primes = Vec::new();
    let mut left = LOG2_Q;
    let mut candidate = 1u64;

    while left > 0.0 {
        candidate += step;
        if is_prime(candidate) {
            left -= (candidate as f64).log2();
            primes.push(candidate);
        }
    }
    primes
}

impl Optimization {
    /// The estimate by Propositions 5.3 and 5.4.
    fn estimate(&self) -> TableCount {
        let degree = self.degree as f64;
        let (points, ln_q) = match self.roots {
            Some(roots) => {
                let primes = primes_for(roots);
                let largest = primes.last().map_or(1.0, |&q| (q as f64).ln());
                (RING_DEGREE * roots as f64 * primes.len() as f64, largest)
            }
            // One number for a whole ciphertext: ln (Q/2)^(D²n), from which the printed counts are
            // derived.
            None => (
                1.0,
                degree * degree * RING_DEGREE * (LOG2_Q - 1.0) * std::f64::consts::LN_2,
            ),
        };

        let variables = self.variables as f64;
        let count = match self.steps {
            Steps::One => one_step(degree, ln_q, variables),
            _ => two_steps(degree, ln_q, variables, LN_T),
        };

        TableCount {
            lookups: points * count.lookups,
            ..count
        }
    }

    /// Exact counts from lists of primes; `None` without Fourier decomposition, which has numbers
    /// of trillions of bits.
    fn exact(&self) -> Option<TableCount> {
        let roots = self.roots?;
        let simplex = Simplex {
            variables: self.variables,
            degree: self.degree,
        };

        // A list of small primes for each prime of Q, since a value modulo a larger one is longer.
        let counts: Vec<TableCount> = primes_for(roots)
            .into_iter()
            .map(|q| exact(simplex, LOG2_F, q as f64, self.steps))
            .collect();
        let lookups = counts.iter().map(|count| count.lookups).sum::<f64>();
        // The largest prime's tables serve the smaller ones as well: their primes are among its
        // own.
        let entries = counts.iter().map(|count| count.entries).fold(0.0, f64::max);

        Some(TableCount {
            lookups: RING_DEGREE * roots as f64 * lookups,
            entries,
        })
    }

    fn cells(&self) -> Result<Vec<String>> {
        let printed = RowFigures::of(printed::table(printed::DEPIR, "Table 2")?, self.row)?;
        let estimate = self.estimate();
        let exact = self.exact();
        let steps = if self.steps == Steps::One {
            "one"
        } else {
            "two"
        };

        Ok(vec![
            steps.to_owned(),
            self.name.to_owned(),
            self.variables.to_string(),
            printed_count(printed, "Queries")?,
            scientific(estimate.lookups),
            scientific_or_dash(exact.map(|count| count.lookups)),
            printed_count(printed, "Entries")?,
            scientific(estimate.entries),
            scientific_or_dash(exact.map(|count| count.entries)),
        ])
    }
}

/// A printed number, or a bound with its sign.
fn printed_count(figures: RowFigures<'_>, column: &str) -> Result<String> {
    // Only bounds are words in the file, since a number has no place for the sign.
    match figures.text(column) {
        Ok(bound) => Ok(bound.to_owned()),
        Err(_) => Ok(scientific(figures.number(column, "")?)),
    }
}

fn scientific(number: f64) -> String {
    format!("{number:.1e}")
}

fn scientific_or_dash(number: Option<f64>) -> String {
    number.map_or_else(|| "-".to_owned(), scientific)
}

fn table_2() -> Result<SheetRows> {
    let columns = titles(&[
        "steps",
        "optimization",
        "m",
        "look-ups",
        "formula",
        "exact",
        "entries",
        "formula",
        "exact",
    ]);

    let rows = TABLE_2.iter().map(Optimization::cells);
    let mut rows: Vec<Vec<String>> = rows.collect::<Result<_>>()?;
    // papir's row is for the same number of entries, where a secure ring exists.
    if let Ok(outline) = Outline::best(1 << 20, Goal::MinTime) {
        let mut ours = titles(&["none", "papir: on lines", "", "", "", "0", "", "", ""]);
        // The other columns count look-ups, which lines do not have.
        ours[2] = outline.simplex.variables.to_string();
        ours[8] = scientific(outline.simplex.len() as f64);
        rows.push(ours);
    }

    let notes = titles(&[
        "Look-ups and entries as printed, by Propositions 5.3 and 5.4 with the exact primes of Q, and by exact lists of small primes.",
        "The printed entries lack the propositions' factor 1/(m + 1), and the last row's are a tenth of what the same rule gives. The counts for `none` are those of (Q/2)^(D^2 n), not of the printed D^3 n.",
        "On lines nothing is looked up: f's own coefficients are the table, and a query costs multiplications.",
    ]);
    Ok(SheetRows {
        columns,
        rows,
        notes,
        correct: true,
        ..SheetRows::default()
    })
}

/// A row of Table 3: a parameter set.
struct Published {
    name: &'static str,
    records: u64,
    /// D and m.
    polynomial: [usize; 2],
    modulus_bits: f64,
    /// MB up, MB down.
    megabytes: [f64; 2],
    /// GB of memory.
    memory_gb: f64,
    /// TB of disk.
    disk_tb: f64,
    preprocess_s: f64,
    runtime_s: f64,
    amortized_ms: f64,
}

/// A note of the tables with predictions.
const RATES: &str = "A prediction has the rate of one measured set. papir-papers depir --set large predicts large from the rates of the machine (papir plan --calibrate): the results may differ by a factor of ten.";

/// The sets of Table 3, as printed.
fn published_sets() -> Result<Vec<Published>> {
    let table = printed::table(printed::DEPIR, "Table 3")?;

    let mut sets = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let figures = RowFigures::new(table, row);
        sets.push(Published {
            name: &row.row,
            records: figures.count("N")?,
            polynomial: [
                figures.count("Polynomial degree")? as usize,
                figures.count("Variable number")? as usize,
            ],
            modulus_bits: figures.number("Ciphertext modulus", "bits")?,
            megabytes: [
                figures.number("Query", "MB")?,
                figures.number("Reply", "MB")?,
            ],
            memory_gb: figures.number("RAM", "GB")?,
            disk_tb: figures.number("Disk", "TB")?,
            preprocess_s: figures.number("Preprocessing", "s")?,
            runtime_s: figures.number("Runtime", "s")?,
            amortized_ms: figures.number("Amortized", "ms")?,
        });
    }
    Ok(sets)
}

impl Published {
    fn cells(&self) -> Vec<String> {
        let [up, down] = self.megabytes;

        vec![
            self.name.to_owned(),
            "paper, 16 threads".to_owned(),
            self.records.to_string(),
            self.polynomial[1].to_string(),
            self.polynomial[0].to_string(),
            self.modulus_bits.to_string(),
            up.to_string(),
            down.to_string(),
            format!("{} GB + {} TB", self.memory_gb, self.disk_tb),
            // Printed in hours, of which a conversion keeps no other decimals.
            format!("{:.0}", self.preprocess_s),
            self.runtime_s.to_string(),
            self.amortized_ms.to_string(),
        ]
    }
}

/// A measured set as a row.
fn measured(report: &DepirReport, name: &str) -> Vec<String> {
    vec![
        name.to_owned(),
        format!("papir, measured, {} threads", report.threads),
        report.records.to_string(),
        report.variables.to_string(),
        report.degree.to_string(),
        format!("{:.0}", report.log2_modulus),
        megabytes(report.query_bytes as f64),
        megabytes(report.answer_bytes as f64),
        // On lines the coefficients of f are all that is stored, in words of 32 bits.
        bytes(4.0 * report.records as f64),
        format!("{:.1}", report.preprocess_s),
        format!("{:.2}", report.answer_s),
        format!("{:.3}", report.answer_ms_per_index),
    ]
}

/// Predictions for a set that was not measured.
struct Predicted {
    outline: Outline,
    seconds: f64,
}

impl Predicted {
    /// Predicts from a measured rate: seconds of evaluation per product.
    fn new(records: u64, report: &DepirReport) -> Result<Self> {
        // The ring that is fastest for as many records, and not the ring of the measured set.
        let outline = Outline::best(records, Goal::MinTime)?;
        let rate = report.evaluate_s / report.work.multiplications as f64;
        Ok(Self {
            seconds: rate * outline.multiplications,
            outline,
        })
    }

    fn amortized_ms(&self) -> f64 {
        1e3 * self.seconds / self.outline.ring_degree as f64
    }

    fn cells(&self, name: &str, records: u64, threads: usize) -> Vec<String> {
        let Outline {
            simplex,
            modulus_bits,
            query_bytes,
            answer_bytes,
            ..
        } = self.outline;

        vec![
            name.to_owned(),
            format!("papir, predicted, {threads} threads"),
            records.to_string(),
            simplex.variables.to_string(),
            simplex.degree.to_string(),
            format!("{modulus_bits:.0}"),
            megabytes(query_bytes),
            megabytes(answer_bytes),
            bytes(4.0 * simplex.len() as f64),
            "-".to_owned(),
            format!("{:.0}", self.seconds),
            format!("{:.3}", self.amortized_ms()),
        ]
    }

    /// Cells of Table 4: costs per index.
    fn per_index_cells(&self, records: u64, threads: usize) -> Vec<String> {
        let Outline {
            ring_degree,
            query_bytes,
            answer_bytes,
            simplex,
            ..
        } = self.outline;

        vec![
            format!("DEPIR, papir, predicted, {threads} threads"),
            bytes(4.0 * simplex.len() as f64),
            ring_degree.to_string(),
            format!("{:.0}", self.amortized_ms()),
            format!(
                "{:.1}",
                (query_bytes + answer_bytes) / 1e3 / ring_degree as f64
            ),
            records.to_string(),
            "2 B".to_owned(),
        ]
    }
}

/// Formats bytes in decimal units.
fn bytes(bytes: f64) -> String {
    let units = [
        ("PB", 1e15),
        ("TB", 1e12),
        ("GB", 1e9),
        ("MB", 1e6),
        ("kB", 1e3),
    ];
    for (unit, size) in units {
        if bytes >= size {
            return format!("{:.1} {unit}", bytes / size);
        }
    }
    format!("{bytes:.0} B")
}

fn megabytes(bytes: f64) -> String {
    format!("{:.1}", bytes / 1e6)
}

fn measured_sets(
    sets: [Set; 2],
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Vec<DepirReport>> {
    sets.iter()
        .map(|&set| measure(DepirConfig::of(set), effort, progress))
        .collect()
}

fn table_3(sets: [Set; 2], effort: Effort, progress: &dyn Progress) -> Result<SheetRows> {
    let reports = measured_sets(sets, effort, progress)?;

    let columns = titles(&[
        "set",
        "source",
        "N",
        "m",
        "D",
        "log2 Q",
        "query MB",
        "reply MB",
        "storage",
        "preprocessing s",
        "runtime s",
        "ms per index",
    ]);

    let mut rows = Vec::new();
    for (place, published) in published_sets()?.iter().enumerate() {
        rows.push(published.cells());
        // Two sets are measured: a query of the others takes minutes, or more memory than there is.
        rows.push(match reports.get(place) {
            Some(report) => measured(report, published.name),
            None => Predicted::new(published.records, &reports[1])?.cells(
                published.name,
                published.records,
                effort.threads,
            ),
        });
    }

    let mut notes = titles(&[
        "The paper's times are for 16 threads; those of medium and large are its own extrapolations. Its preprocessing of tiny was 14 CPU-days as coded.",
        "Its modulus of 804 bits for small does not decrypt, its 1817 bits at n = 2^16 give 123 bits of security, and its rings of degree 2^16 have 2^15 slots, not 2^16.",
        "Storage of papir's rows is computed, in all of them: the coefficients of f, in four bytes each. The paper's is memory and disk.",
        "papir's medium and large are secure rings for the same numbers of records, predicted at the rate measured for small. papir-papers depir --set medium measures medium.",
        RATES,
    ]);
    notes.extend(printed::table(printed::DEPIR, "Table 3")?.corrections());

    let correct = reports.iter().all(|report| report.correct);
    Ok(SheetRows {
        columns,
        rows,
        notes,
        correct,
        ..SheetRows::default()
    })
}

/// The paper's own rows of Table 4: the medium set, and the large one.
const OWN_ROWS: [&str; 2] = ["Small DB, ours", "Large DB, ours"];

/// Other schemes of Table 4, by their rows: beside the medium set, and beside the large one.
const RIVALS: [&[(&str, &str)]; 2] = [
    &[("FrodoPIR", "Small DB, FrodoPIR")],
    &[
        ("PianoPIR", "Large DB, PianoPIR"),
        ("OnionPIR", "Large DB, OnionPIR"),
    ],
];

/// The cells of a printed row of Table 4.
fn per_index_cells(name: &str, row: &str) -> Result<Vec<String>> {
    let figures = RowFigures::of(printed::table(printed::DEPIR, "Table 4")?, row)?;
    // Seconds are printed with one decimal: others come from their conversion.
    let milliseconds = figures.number("Am. runtime", "ms")?;
    let milliseconds = (10.0 * milliseconds).round() / 10.0;

    Ok(vec![
        format!("{name}, printed"),
        figures.text("Storage")?.to_owned(),
        figures.number("Am. queries", "")?.to_string(),
        milliseconds.to_string(),
        figures.number("Am. comm.", "KB")?.to_string(),
        figures.count("N")?.to_string(),
        figures.text("Entry size")?.to_owned(),
    ])
}

fn table_4(sets: [Set; 2], effort: Effort, progress: &dyn Progress) -> Result<SheetRows> {
    // Tiny and small are not compared with other schemes.
    let published = published_sets()?;
    let larger = published.iter().skip(2);

    // The smaller set only, since a rate is all that is needed of it.
    let reports = measured_sets([sets[0]; 2], effort, progress)?;
    let columns = titles(&[
        "scheme",
        "storage",
        "queries",
        "ms per query",
        "KB per query",
        "N",
        "entry",
    ]);

    let mut rows = Vec::new();
    for ((published, own_row), rivals) in larger.zip(OWN_ROWS).zip(RIVALS) {
        let predicted = Predicted::new(published.records, &reports[0])?;

        rows.push(per_index_cells("DEPIR", own_row)?);
        rows.push(predicted.per_index_cells(published.records, effort.threads));
        for (name, row) in rivals {
            rows.push(per_index_cells(name, row)?);
        }
    }

    let notes = titles(&[
        "Rows marked as printed are quoted from the paper: none of these schemes was run here.",
        "The paper's own rows are extrapolated. They divide by 2^16 indices, but the rings have 2^15 slots.",
        "papir's rows are predicted at the rate measured for tiny. papir-papers depir --set medium measures medium.",
        RATES,
    ]);
    let correct = reports.iter().all(|report| report.correct);
    Ok(SheetRows {
        columns,
        rows,
        notes,
        correct,
        ..SheetRows::default()
    })
}
