//! Calibration of a machine's rates for [`papir_core::cost`].
//!
//! The caller prepares and queries four databases, on one thread and then on all threads:
//!
//! | database | rates derived from it |
//! |---|---|
//! | InsPIRe, short records, t = 1 | `select16`, `encode16`, `hint_transform` |
//! | the same database's client | `encrypt`, `decrypt` |
//! | InsPIRe, long records, t = 4 | `matrix`, `external_product`, `pack`, `interpolate` |
//! | SimplePIR | `select8`, `encode8`, `hint_product8`, `encrypt_column`, `decrypt_row` |
//! | InsPIRe with t = 1 and words of 4 bits | `select4` |
//!
//! Operations of other schemes are timed by themselves: `copy`, `term`, `deflate` and `lookup` on
//! one thread, and `wide_product`, Pirouette's external product, on one thread and on all.
//!
//! Both InsPIRe databases spend setup time on the same two operations, whose rates solve a system
//! of two linear equations. Like real databases, all databases are larger than usual caches.

mod alone;

use papir_core::cost::{GROUP, Operation, Rates, Work};
use papir_core::{Choice, Goal, Shape};

use alone::{
    ProductPasses, compression_seconds, copy_seconds, evaluation_seconds, lookup_seconds,
    product_seconds,
};

/// A database to prepare and query.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Number and length of the records.
    pub shape: Shape,
    /// The choice of parameters.
    pub choice: Choice,
    /// Number of threads for setup and answers.
    pub threads: usize,
    /// Number of timed queries.
    pub runs: usize,
    /// Number of times that the database is prepared and queried; the shortest times are kept.
    pub repeats: usize,
    /// Number of clients whose queries are answered together, after the queries of a single client.
    pub clients: usize,
}

/// The measured times of a database.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Operation counts of the database's parameters.
    pub work: Work,
    /// Names and milliseconds of the stages of an answer.
    pub stages: Vec<(String, f64)>,
    /// Milliseconds of an answer.
    pub answer_ms: f64,
    /// Core milliseconds of an answer for each client that is answered together with the others.
    pub core_ms: f64,
    /// Milliseconds to create a query.
    pub query_ms: f64,
    /// Milliseconds to decode an answer.
    pub extract_ms: f64,
    /// Seconds of setup spent on encoding the database.
    pub encode_s: f64,
    /// Seconds of setup spent on the hint.
    pub hint_s: f64,
    /// Seconds of setup spent on the data that only the server uses.
    pub material_s: f64,
    /// Bytes of the data that only the server uses.
    pub material_bytes: u64,
}

/// Sizes of the measured databases, and numbers of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CalibrationConfig {
    /// Number of columns, of 4 KiB each, of the InsPIRe database with short records.
    pub selected_columns: u64,
    /// Number of columns, of 32 KiB each, of the InsPIRe database with long records.
    pub packed_columns: u64,
    /// Bytes of the SimplePIR database, and of the one with words of 4 bits.
    pub simple_bytes: u64,
    /// Number of timed queries.
    pub runs: usize,
    /// Number of times that each database is prepared and queried; the shortest times are kept.
    pub repeats: usize,
    /// Number of gates, of 128 KiB each, whose external products are timed.
    pub gates: usize,
}

impl CalibrationConfig {
    /// The passes over the gates, a few in each measurement.
    fn products(&self) -> ProductPasses {
        ProductPasses {
            gates: self.gates,
            passes: self.runs.min(4),
            repeats: self.repeats,
        }
    }

    /// Sizes for real measurements: 160 MiB, 64 MiB with 256 MiB of packing matrices, twice 160
    /// MiB, and 64 MiB of gates.
    pub const WHOLE: Self = Self {
        selected_columns: 40 << 10,
        packed_columns: 2 << 10,
        simple_bytes: 160 << 20,
        runs: 9,
        repeats: 2,
        gates: 512,
    };
    /// Sizes for tests of the calibration itself: the databases fit into caches. The first database
    /// has several blocks of d columns, because otherwise its setup time would be proportional to
    /// that of the second.
    pub const TINY: Self = Self {
        selected_columns: 6 << 10,
        packed_columns: 16,
        simple_bytes: 1 << 18,
        runs: 1,
        repeats: 1,
        gates: 8,
    };
}

/// Measures the rates of this machine on one thread and on `threads` threads, from databases that
/// `measure` prepares and queries.
///
/// # Errors
/// Errors of `measure` and of [`Rates::new`].
pub fn calibrate<E: From<papir_core::Error>>(
    config: CalibrationConfig,
    threads: usize,
    mut measure: impl FnMut(Measurement) -> Result<Observation, E>,
) -> Result<Rates, E> {
    let observed = Observed::on(config, 1, &mut measure)?;
    let mut one = observed.one_thread();
    one.set(
        Operation::WideProduct,
        product_seconds(config.products(), 1)?,
    );
    // Refused here if a rate is not a number: the bounds below are multiples of these rates.
    let single = Rates::new(1, |op| one.of(op), |op| one.of(op))?;

    // Shared reads cost each client of a group at most as much as one alone.
    let measured = observed.group(&one);
    let group = |op| {
        let alone = one.of(op);
        measured.of(op).clamp(alone / GROUP as f64, alone)
    };
    if threads <= 1 {
        return Ok(single.with_groups(group)?);
    }

    let mut all = Observed::on(config, threads, &mut measure)?.all_threads(&one);
    all.set(
        Operation::WideProduct,
        product_seconds(config.products(), threads)?,
    );

    // All threads together are at least as fast as one, and at most `threads` times as fast.
    let rates = Rates::new(
        threads,
        |op| one.of(op),
        |op| all.of(op).clamp(one.of(op) / threads as f64, one.of(op)),
    )?;
    Ok(rates.with_groups(group)?)
}

impl Observation {
    /// Total seconds of the stages of an answer with these names.
    fn stages(&self, names: &[&str]) -> f64 {
        let mut sum = 0.0;
        for (name, milliseconds) in &self.stages {
            if names.contains(&name.as_str()) {
                sum += milliseconds / 1e3;
            }
        }
        sum
    }

    /// Seconds of setup after encoding.
    fn after_encoding(&self) -> f64 {
        self.hint_s + self.material_s
    }

    /// Number of times that setup performs an operation.
    fn setup(&self, operation: Operation) -> f64 {
        self.work.setup.times(operation)
    }

    /// Number of times that an answer performs an operation.
    fn answer(&self, operation: Operation) -> f64 {
        self.work.answer.times(operation)
    }

    /// Seconds of an operation, if a query consists only of it.
    fn of_query(&self, operation: Operation) -> f64 {
        self.query_ms / 1e3 / self.work.query.times(operation)
    }

    /// Seconds of an operation, if an extraction consists only of it.
    fn of_extract(&self, operation: Operation) -> f64 {
        self.extract_ms / 1e3 / self.work.extract.times(operation)
    }

    /// Core seconds of the reads of an answer that a group shares: the measured time without the
    /// other operations, whose rates are in `one`.
    fn shared_reads(&self, one: &Seconds) -> f64 {
        let mut left = self.core_ms / 1e3;
        for count in self.work.answer.iter() {
            let operation = count.operation;
            if !SHARED.contains(&operation) {
                left -= one.of(operation) * self.answer(operation);
            }
        }
        left
    }
}

/// Operations whose reads a group of clients shares.
const SHARED: [Operation; 4] = [
    Operation::Select16,
    Operation::Select8,
    Operation::Select4,
    Operation::Matrix,
];

/// A linear equation of two rates: first · rate₁ + second · rate₂ = seconds, where `first` and
/// `second` are the counts of the two operations.
struct Equation {
    first: f64,
    second: f64,
    seconds: f64,
}

impl Equation {
    /// The rates of two operations whose seconds were measured together in two databases.
    fn solve(one: &Self, two: &Self) -> [f64; 2] {
        // Cramer's rule. It is not 0 as long as the databases have the operations in different
        // proportions.
        let determinant = one.first * two.second - one.second * two.first;
        let first = one.seconds * two.second - one.second * two.seconds;
        let second = one.first * two.seconds - two.first * one.seconds;
        [first / determinant, second / determinant]
    }
}

/// The observations of the four databases with one number of threads.
struct Observed {
    selected: Observation,
    packed: Observation,
    simple: Observation,
    short: Observation,
}

/// The stages of InsPIRe's answer that only process words of messages.
const WORD_STAGES: [&str; 4] = ["parse", "read_keys", "switch", "seal"];

impl Observed {
    /// Measures the four databases.
    fn on<E: From<papir_core::Error>>(
        config: CalibrationConfig,
        threads: usize,
        measure: &mut impl FnMut(Measurement) -> Result<Observation, E>,
    ) -> Result<Self, E> {
        let CalibrationConfig {
            selected_columns,
            packed_columns,
            simple_bytes,
            runs,
            repeats,
            ..
        } = config;
        let short = Shape::of_bytes(selected_columns * 64, 64)?;
        let long = Shape::of_bytes(packed_columns * 4, 8192)?;
        let bytes = Shape::of_bytes(simple_bytes / 64, 64)?;

        // The rates of groups are core seconds, which one thread gives.
        let clients = if threads == 1 { GROUP } else { 1 };
        let mut run = |scheme, shape, choice| {
            measure(Measurement {
                scheme,
                shape,
                choice,
                threads,
                runs,
                repeats,
                clients,
            })
        };

        let short_columns = simple_bytes / SHORT_COLUMN;
        Ok(Self {
            selected: run("inspire", short, Choice::Columns(selected_columns))?,
            packed: run("inspire", long, Choice::Columns(packed_columns))?,
            simple: run("simple", bytes, Choice::Goal(Goal::Balanced))?,
            short: run("inspire1", bytes, Choice::Columns(short_columns))?,
        })
    }

    /// Seconds of each operation on one thread.
    fn one_thread(&self) -> Seconds {
        let [hint_transform, pack] = self.solve_material();
        let mut seconds = self.shared(self.word(), hint_transform, pack);

        let encrypt = self.selected.of_query(Operation::Encrypt);
        let decrypt = self.selected.of_extract(Operation::Decrypt);
        seconds.set(Operation::Encrypt, encrypt);
        seconds.set(Operation::Decrypt, decrypt);
        let encrypt = self.simple.of_query(Operation::EncryptColumn);
        let decrypt = self.simple.of_extract(Operation::DecryptRow);
        seconds.set(Operation::EncryptColumn, encrypt);
        seconds.set(Operation::DecryptRow, decrypt);

        let copied = self.packed.material_bytes as usize;
        seconds.set(Operation::Copy, copy_seconds(copied));
        seconds.set(Operation::Term, evaluation_seconds());
        seconds.set(Operation::Deflate, compression_seconds());
        seconds.set(Operation::Lookup, lookup_seconds());
        seconds
    }

    /// Core seconds of each operation for each of [`GROUP`] clients. Clients share only reads of a
    /// matrix. The other operations take as long as for a single client, as in `one`.
    fn group(&self, one: &Seconds) -> Seconds {
        let mut seconds = Seconds(Operation::ALL.map(|op| one.of(op)));
        let Self {
            selected,
            packed,
            simple,
            short,
        } = self;

        // Both InsPIRe databases are read in words and in packing matrices.
        let [selected, packed] = [selected, packed].map(|case| Equation {
            first: case.answer(Operation::Select16),
            second: case.answer(Operation::Matrix),
            seconds: case.shared_reads(one),
        });
        let [select, matrix] = Equation::solve(&selected, &packed);
        seconds.set(Operation::Select16, select);
        seconds.set(Operation::Matrix, matrix);

        let reads = simple.shared_reads(one);
        let select = reads / simple.answer(Operation::Select8);
        seconds.set(Operation::Select8, select);

        let matrix = seconds.of(Operation::Matrix);
        let reads = short.shared_reads(one) - matrix * short.answer(Operation::Matrix);
        let select = reads / short.answer(Operation::Select4);
        seconds.set(Operation::Select4, select);
        seconds
    }

    /// Wall time in seconds per operation when all threads share the work. An operation that runs
    /// on one thread for each query is set to 0, which [`calibrate`] raises to its time in `one`
    /// divided by the number of threads.
    fn all_threads(&self, one: &Seconds) -> Seconds {
        // The first database has one pack, which is prepared on one thread.
        let selected = self.selected.after_encoding() - one.of(Operation::Pack);
        let hint = selected / self.selected.setup(Operation::HintTransform);
        // The difference of two noisy times may be below 0, or above the time of one thread.
        let hint = hint.clamp(0.0, one.of(Operation::HintTransform));
        let packed =
            self.packed.after_encoding() - hint * self.packed.setup(Operation::HintTransform);
        let mut seconds = self.shared(
            one.of(Operation::Word),
            hint,
            packed / self.packed.setup(Operation::Pack),
        );

        let alone = [
            Operation::Encrypt,
            Operation::Decrypt,
            Operation::EncryptColumn,
            Operation::DecryptRow,
        ];
        // Different clients or queries run these on different threads, independently. `calibrate`
        // raises 0 to the single-thread time divided by the number of threads.
        let independent = [
            Operation::Word,
            Operation::Encode8,
            Operation::Copy,
            Operation::Term,
            Operation::Deflate,
            Operation::Lookup,
        ];
        for op in alone.into_iter().chain(independent) {
            seconds.set(op, 0.0);
        }
        seconds
    }

    /// Seconds of the operations whose rates are derived in the same way for one thread and for
    /// all. The rates of three operations are given.
    fn shared(&self, word: f64, hint_transform: f64, pack: f64) -> Seconds {
        let Self {
            selected,
            packed,
            simple,
            short,
        } = self;
        let mut seconds = Seconds::default();
        seconds.set(Operation::Word, word);
        seconds.set(Operation::HintTransform, hint_transform);
        seconds.set(Operation::Pack, pack);

        // A selection stage splits and lifts words besides its reads.
        let lifting = word * self.selecting_words();
        let reads = selected.stages(&["select"]) - lifting;
        seconds.set(
            Operation::Select16,
            reads / selected.answer(Operation::Select16),
        );
        let words = word * simple.answer(Operation::Word);
        let reads = simple.answer_ms / 1e3 - words;
        seconds.set(
            Operation::Select8,
            reads / simple.answer(Operation::Select8),
        );
        let lifting = word * short_words(short);
        let reads = short.stages(&["select"]) - lifting;
        seconds.set(Operation::Select4, reads / short.answer(Operation::Select4));

        let pack = packed.stages(&["pack"]);
        seconds.set(Operation::Matrix, pack / packed.answer(Operation::Matrix));
        let products = packed.answer(Operation::ExternalProduct);
        let evaluate = packed.stages(&["evaluate"]);
        seconds.set(Operation::ExternalProduct, evaluate / products);

        self.set_encoding(&mut seconds);
        seconds
    }

    /// Sets the rates of the operations that encode databases and compute SimplePIR's hint.
    fn set_encoding(&self, seconds: &mut Seconds) {
        let Self {
            selected,
            packed,
            simple,
            ..
        } = self;

        let encode = selected.encode_s / selected.setup(Operation::Encode16);
        seconds.set(Operation::Encode16, encode);
        let levels = packed.encode_s - encode * packed.setup(Operation::Encode16);
        seconds.set(
            Operation::Interpolate,
            levels / packed.setup(Operation::Interpolate),
        );
        let encode = simple.encode_s / simple.setup(Operation::Encode8);
        seconds.set(Operation::Encode8, encode);
        let hint = simple.hint_s / simple.setup(Operation::HintProduct8);
        seconds.set(Operation::HintProduct8, hint);
    }

    /// Seconds per word, from the stages of both InsPIRe databases' answers that only process
    /// words.
    fn word(&self) -> f64 {
        let seconds = self.selected.stages(&WORD_STAGES) + self.packed.stages(&WORD_STAGES);
        let words = self.selected.answer(Operation::Word) + self.packed.answer(Operation::Word);
        // The selections process these words, and their stages are not among the timed ones.
        let lifted = self.selecting_words() + Self::columns_and_rows(&self.packed);
        seconds / (words - lifted)
    }

    /// Number of words that the selection stage of the first database processes: columns split into
    /// planes, and rows lifted.
    fn selecting_words(&self) -> f64 {
        Self::columns_and_rows(&self.selected)
    }

    /// Number of columns and rows of an InsPIRe database, which are one word each.
    fn columns_and_rows(case: &Observation) -> f64 {
        // Rows times columns are the words of the database.
        let rows = case.answer(Operation::Matrix) / MATRIX_ROW_BYTES;
        rows + case.setup(Operation::Encode16) / rows
    }

    /// Seconds of a hint transform and of a pack, solved from the setup times of both InsPIRe
    /// databases.
    fn solve_material(&self) -> [f64; 2] {
        let [selected, packed] = [&self.selected, &self.packed].map(|case| Equation {
            first: case.setup(Operation::HintTransform),
            second: case.setup(Operation::Pack),
            seconds: case.after_encoding(),
        });
        Equation::solve(&selected, &packed)
    }
}

/// Number of words that the selection stage of the fourth database processes: columns split into
/// planes, and rows lifted, two for each byte.
fn short_words(case: &Observation) -> f64 {
    let bytes = SHORT_COLUMN as f64;
    2.0 * bytes + 2.0 * case.setup(Operation::Encode16) / bytes
}

/// Bytes of a column of the fourth database, which has two packs.
const SHORT_COLUMN: u64 = 2 << 10;
/// Bytes of a packing matrix per row: two digits of 2048 words of 32 bits.
const MATRIX_ROW_BYTES: f64 = 2.0 * 2048.0 * 4.0;

/// Seconds of each operation.
#[derive(Default)]
struct Seconds([f64; Operation::ALL.len()]);

impl Seconds {
    /// Lower bound of a measured time in seconds, below the time for one byte in any cache. It
    /// keeps the difference of two noisy times positive.
    const LEAST: f64 = 1e-12;

    fn set(&mut self, operation: Operation, seconds: f64) {
        self.0[operation as usize] = seconds;
    }

    fn of(&self, operation: Operation) -> f64 {
        let seconds = self.0[operation as usize];
        // `max` prefers a number to NaN: a rate that was not measured would become the least one.
        if seconds.is_nan() {
            seconds
        } else {
            seconds.max(Self::LEAST)
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_below_the_least_is_raised_and_one_that_is_no_number_stays() {
        let mut seconds = Seconds::default();
        for (set, expected) in [(-1.0, Seconds::LEAST), (1.0, 1.0)] {
            seconds.set(Operation::Copy, set);
            assert!((seconds.of(Operation::Copy) - expected).abs() < Seconds::LEAST / 2.0);
        }

        seconds.set(Operation::Copy, f64::NAN);
        assert!(seconds.of(Operation::Copy).is_nan());
    }

    /// Databases without any work have rates of 0 / 0.
    #[test]
    fn a_calibration_without_work_is_refused() {
        let nothing = Observation {
            work: Work::default(),
            stages: Vec::new(),
            answer_ms: 0.0,
            core_ms: 0.0,
            query_ms: 0.0,
            extract_ms: 0.0,
            encode_s: 0.0,
            hint_s: 0.0,
            material_s: 0.0,
            material_bytes: 0,
        };

        for threads in [1, 2] {
            let found = calibrate(CalibrationConfig::TINY, threads, |_| {
                Ok::<_, papir_core::Error>(nothing.clone())
            });
            let error = found.unwrap_err().to_string();
            assert!(error.contains("seconds above 0"), "{error}");
        }
    }
}
