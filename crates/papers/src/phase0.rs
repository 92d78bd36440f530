//! Benchmark of Pirouette's phase 0 under papir's keys.
//!
//! The paper's Figure 3 breaks its phase 0 down, as a drawing without numbers.
//!
//! The phase 0 of papir is measured beside the paper's, under the same keys and papir's parameters
//! ([`papir_schemes::pirouette::trial`] gives the reasons). Each run encrypts a fresh index, and
//! the index is read back from what each variant computed.

use getrandom::SysRng;
use papir_core::scheme::{Goal, Parameters};
use papir_core::{NoProgress, Progress, Shape};
use papir_kernels::Backend;
use papir_lattice::security::{self, Secret};
use papir_measure::clock::{StageClock, median};
use papir_measure::effort::Effort;
use papir_measure::report::{titles, write_columns};
use papir_schemes::pirouette::Standard;
use papir_schemes::pirouette::params::PirouetteParams;
use papir_schemes::pirouette::trial::{PRINTED_SWITCH, Split, Tables, Trial};
use papir_schemes::pirouette::wire::PirouetteQuery;
use rand_core::{Rng, UnwrapErr};
use serde::Serialize;

use crate::Result;
use crate::printed::{self, DataFault, RowFigures};

/// Inputs of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase0Config {
    /// Sizes of the paper's phase 0.
    pub split: Split,
}

impl Phase0Config {
    /// An index of 20 bits, as for the paper's 256 MB, in four digits of 5 bits.
    pub const FULL: Self = Self {
        split: Split {
            digits: 4,
            bits: 5,
            log2_rows: 11,
            gate: (8, 4),
        },
    };
    /// An index of 6 bits.
    pub const TINY: Self = Self {
        split: Split {
            digits: 2,
            bits: 3,
            log2_rows: 3,
            gate: (3, 7),
        },
    };
}

/// Bytes of an item, one of two in a polynomial.
const ITEM_BYTES: u64 = 1024;
/// Stages, in order.
const STAGES: [&str; 3] = ["bits", "gates", "selectors"];

/// Costs of one variant.
#[derive(Clone, Debug, Serialize)]
pub struct Variant {
    /// A description.
    pub variant: &'static str,
    /// Median times of the stages: bits of the index, RGSW encryptions, selectors.
    pub stages_ms: [f64; 3],
    /// Median time of all stages.
    pub total_ms: f64,
    /// Blind rotations under the short key for bits.
    pub bit_rotations: usize,
    /// Blind rotations under the longer key for digits.
    pub digit_rotations: usize,
    /// External products, those of rotations included.
    pub external_products: usize,
    /// Products with one half of an RGSW encryption.
    pub key_switches: usize,
    /// RGSW encryptions of bits that result.
    pub gates: usize,
    /// Digits of each.
    pub gate_digits: usize,
    /// Selectors that result.
    pub selectors: usize,
    /// True if every index was read back.
    pub correct: bool,
}

/// A parameter as printed and as used.
#[derive(Clone, Debug, Serialize)]
pub struct Changed {
    /// The parameter.
    pub parameter: &'static str,
    /// The paper's value.
    pub printed: String,
    /// The value used.
    pub used: String,
    /// The reason.
    pub why: String,
}

/// Costs of phase 0.
#[derive(Clone, Debug, Serialize)]
pub struct Phase0Report {
    /// "pirouette-phase0".
    pub part: &'static str,
    /// The kernels' backend.
    pub backend: &'static str,
    /// Threads.
    pub threads: usize,
    /// Bits of an index.
    pub index_bits: u32,
    /// papir's phase 0 and variants of the paper's.
    pub variants: Vec<Variant>,
    /// Parameters of the paper that were changed for its variants.
    pub changed: Vec<Changed>,
    /// True if every index was read back.
    pub correct: bool,
}

/// papir's phase 0 (`None`) and variants of the paper's.
const VARIANTS: [(&str, Option<Tables>); 3] = [
    ("papir", None),
    (
        "paper, a rotation for each bit's RGSW",
        Some(Tables::Together),
    ),
    (
        "paper, a rotation for each RGSW digit",
        Some(Tables::Single),
    ),
];

/// Runs the benchmark.
///
/// # Errors
/// [`crate::Error::Usage`] for threads or runs out of range, [`crate::Error::Backend`], those of
/// the scheme.
pub fn measure(
    config: Phase0Config,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<Phase0Report> {
    let backend = Backend::try_from_env()?.name();
    let split = config.split;
    let index_bits = split.index_bits();
    let shape = Shape::of_bytes(1 << index_bits, ITEM_BYTES)?;
    // Parameters of papir for as many items as the paper's index has, so that both find the same
    // bits.
    let params = PirouetteParams::<Standard>::choose(shape, Goal::Balanced)?;

    effort.pool()?.install(|| {
        progress.stage("register", 1);
        // One client for all variants, so that they differ in the work and not in the keys.
        let trial = Trial::new(params, &mut UnwrapErr(SysRng))?;
        let variants = VARIANTS.map(|(name, tables)| {
            progress.stage(name, effort.runs as u64 + 1);
            variant(&trial, split, name, tables, effort.runs, progress)
        });
        let variants: Vec<Variant> = variants.into_iter().collect::<Result<_>>()?;

        let correct = variants.iter().all(|variant| variant.correct);
        let part = "pirouette-phase0";
        let threads = effort.threads;
        let changed = changed(&trial, split)?;

        Ok(Phase0Report {
            part,
            backend,
            threads,
            index_bits,
            variants,
            changed,
            correct,
        })
    })
}

/// Results of one run of a variant.
struct VariantRun {
    /// The index read back, if any.
    found: Option<u64>,
    /// Names and seconds of the stages.
    stages: Vec<(String, f64)>,
    /// Seconds of all stages.
    total: f64,
}

impl VariantRun {
    fn stage_seconds(&self, name: &str) -> f64 {
        self.stages
            .iter()
            .find(|stage| stage.0 == name)
            .map_or(0.0, |stage| stage.1)
    }
}

/// Runs a variant on one query. The clock stops before the index is read back.
fn run_variant(
    trial: &Trial<Standard>,
    split: Split,
    tables: Option<Tables>,
    query: &PirouetteQuery,
) -> Result<VariantRun> {
    // The progress of a run is its number, which the caller reports.
    let clock = StageClock::new(&NoProgress);

    let Some(tables) = tables else {
        let selection = trial.run(query, &clock);
        let (stages, total) = clock.stop();
        return Ok(VariantRun {
            found: selection.and_then(|selection| trial.item(&selection)),
            stages,
            total,
        });
    };

    let printed = trial.run_printed(query, (split, tables), &clock)?;
    let (stages, total) = clock.stop();
    Ok(VariantRun {
        found: trial.printed_item(split, &printed)?,
        stages,
        total,
    })
}

/// Measures a variant: a warm-up, then `runs` indices.
fn variant(
    trial: &Trial<Standard>,
    split: Split,
    variant: &'static str,
    tables: Option<Tables>,
    runs: usize,
    progress: &dyn Progress,
) -> Result<Variant> {
    // A list for each stage and one for the total, whose median is not the sum of the others.
    let mut times = vec![Vec::new(); STAGES.len() + 1];
    let mut correct = true;

    for number in 0..=runs {
        // A warm-up, then both ends of the range, then random indices.
        let last = (1u64 << split.index_bits()) - 1;
        let item = match number {
            1 => 0,
            2 => last,
            _ => UnwrapErr(SysRng).next_u64() & last,
        };

        let query = trial.query(item, &mut UnwrapErr(SysRng));
        let run = run_variant(trial, split, tables, &query)?;
        correct &= run.found == Some(item);
        progress.advance(1);

        if number == 0 {
            continue;
        }

        let stages = STAGES.map(|name| run.stage_seconds(name));
        for (times, seconds) in times.iter_mut().zip(stages.into_iter().chain([run.total])) {
            times.push(1e3 * seconds);
        }
    }

    // The stages come first and the total last, as they were appended.
    let mut medians = times.into_iter().map(median);
    let stages_ms = STAGES.map(|_| medians.next().unwrap_or_default());

    let operations = match tables {
        None => trial.operations(),
        Some(tables) => trial.printed_operations(split, tables),
    };
    let (levels, rows, index_bits) = trial.sizes();
    let (gates, gate_digits, selectors) = match tables {
        // The other bits select the row.
        None => (
            (index_bits - rows.next_power_of_two().trailing_zeros()) as usize,
            levels,
            rows,
        ),
        Some(_) => (
            split.index_bits() as usize,
            split.gate.0,
            1 << split.log2_rows,
        ),
    };

    Ok(Variant {
        variant,
        stages_ms,
        total_ms: medians.next().unwrap_or_default(),
        bit_rotations: operations.bit_rotations,
        digit_rotations: operations.digit_rotations,
        external_products: operations.external_products,
        key_switches: operations.key_switches,
        gates,
        gate_digits,
        selectors,
        correct,
    })
}

/// The parameters of the paper that its variants do not use.
fn changed(trial: &Trial<Standard>, split: Split) -> Result<Vec<Changed>, DataFault> {
    // Computed from the parameters in use, so that the table changes with them.
    let [short, long] = trial.dimensions();
    let [used_margin, printed_margin] = trial.margins(split.bits);

    // Tables 2 and 3 have one row each.
    let bits = RowFigures::of(printed::table(printed::PIROUETTE, "Table 2")?, "Value")?;
    let gates = RowFigures::of(printed::table(printed::PIROUETTE, "Table 3")?, "Value")?;
    let log2_ring = gates.count("log2 N")?;
    let log2_modulus = gates.count("log2 Q")?;
    let query = bits.count("n_in")?;
    let digits = bits.count("n_out")?;
    let log2_switch = bits.count("log2 Q_ksk")?;
    let gate = gates.count("n")?;
    let log2_gate = gates.count("log2 q")?;

    Ok(vec![
        changed_parameter(
            "ring",
            format!("N = {}, Q = 2^{log2_modulus}, binary", 1u64 << log2_ring),
            "N = 2048, Q = 2^50, ternary".to_owned(),
            format!(
                "the printed one has {}",
                binary_security(1 << log2_ring, log2_modulus)
            ),
        ),
        changed_parameter(
            "query",
            format!("n = {query}, q = 2^{}, binary", bits.count("log2 q_in")?),
            "under the ring's key, q = 2^32".to_owned(),
            format!(
                "the rest of the query would have to be switched back into n = {query}, with too large an error"
            ),
        ),
        changed_parameter(
            "key for digits",
            format!("n = {digits}, Q_ksk = 2^{log2_switch}"),
            format!("n = {long}, Q_ksk = 2^20"),
            format!(
                "the printed one has {}; at 2^{} it has {}, but half the distance between digits is \
                 {printed_margin:.1} standard deviations (here {used_margin:.1})",
                binary_security(digits, log2_switch),
                PRINTED_SWITCH.log2_q,
                binary_security(digits, PRINTED_SWITCH.log2_q.into()),
            ),
        ),
        changed_parameter(
            "key for LWE to RGSW",
            format!("n = {gate}, q = 2^{log2_gate}"),
            format!("n = {short}, q = 2^15"),
            format!("the printed one has {}", binary_security(gate, log2_gate)),
        ),
        changed_parameter(
            "gadgets of rotations and automorphisms",
            format!(
                "base 2^{}, base 2^{}",
                bits.count("log2 B")?,
                gates.count("log2 B")?
            ),
            "papir's".to_owned(),
            "the modulus is smaller".to_owned(),
        ),
    ])
}

fn changed_parameter(
    parameter: &'static str,
    printed: String,
    used: String,
    why: String,
) -> Changed {
    Changed {
        parameter,
        printed,
        used,
        why,
    }
}

/// Describes the security of an LWE problem with a binary secret and σ = 3.19.
fn binary_security(n: u64, log2_q: u64) -> String {
    match security::estimate(n as usize, log2_q as f64, Secret::Binary, 3.19) {
        Some(row) => format!("{:.1} bits of security", row.matzov),
        None => "security not estimated".to_owned(),
    }
}

impl Phase0Report {
    /// Writes the report as two tables.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        let Self {
            index_bits,
            threads,
            backend,
            ..
        } = self;
        writeln!(
            out,
            "Pirouette's phase 0 for an index of {index_bits} bits; threads: {threads}, {backend}; the paper draws its own in Figure 3, without numbers"
        )?;

        let first = std::iter::once(String::new())
            .chain(self.variants.iter().map(|one| one.variant.to_owned()));
        let mut lines = vec![first.collect()];
        for (title, cell) in ROWS {
            let cells = self.variants.iter().map(cell);
            lines.push(std::iter::once((*title).to_owned()).chain(cells).collect());
        }
        write_columns(out, &lines)?;

        writeln!(
            out,
            "\nThe paper's phase 0 runs under papir's keys. Parameters that differ from its own:"
        )?;

        let first = titles(&["", "printed", "used", "reason"]);
        let mut lines = vec![first];
        for one in &self.changed {
            lines.push(vec![
                one.parameter.to_owned(),
                one.printed.clone(),
                one.used.clone(),
                one.why.clone(),
            ]);
        }
        write_columns(out, &lines)
    }
}

/// A row of the first table: its title, and the function that formats a variant's cell.
type VariantRow = (&'static str, fn(&Variant) -> String);

const ROWS: &[VariantRow] = &[
    ("bits", |one| milliseconds(one.stages_ms[0])),
    ("gates", |one| milliseconds(one.stages_ms[1])),
    ("selectors", |one| milliseconds(one.stages_ms[2])),
    ("total", |one| milliseconds(one.total_ms)),
    ("rotations, key for bits", |one| {
        one.bit_rotations.to_string()
    }),
    ("rotations, key for digits", |one| {
        one.digit_rotations.to_string()
    }),
    ("external products", |one| one.external_products.to_string()),
    ("key switches", |one| one.key_switches.to_string()),
    ("result: gates", |one| {
        format!("{} of {} digits", one.gates, one.gate_digits)
    }),
    ("result: selectors", |one| one.selectors.to_string()),
    ("index read back", |one| {
        if one.correct { "yes" } else { "NO" }.to_owned()
    }),
];

fn milliseconds(value: f64) -> String {
    format!("{value:.1} ms")
}
