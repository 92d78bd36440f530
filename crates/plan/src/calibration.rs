//! Calibration: measures the seconds of each operation of [`papir_core::cost`].
//!
//! The caller prepares and queries four databases, on one thread and then on all threads:
//!
//! | database | rates derived from it |
//! |---|---|
//! | InsPIRe, short records, t = 1 | `select16`, `encode16`, `hint_transform`, `encrypt`, `decrypt` |
//! | InsPIRe, records of two ring elements, t = 4 | `matrix`, `external_product`, `pack`, `interpolate` |
//! | SimplePIR | `select8`, `encode8`, `hint_product8`, `encrypt_column`, `decrypt_row` |
//! | InsPIRe with t = 1 and words of 4 bits | `select4` |
//!
//! Operations of other schemes are timed on their own: `copy`, `term`, `deflate` and `lookup` on one
//! thread, and `wide_product`, Pirouette's external product, on one thread and on all.
//!
//! Both InsPIRe databases spend setup time on the same two operations; a linear system separates
//! them. Like real databases, all are larger than usual caches.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use papir_core::cost::{GROUP, Operation, Rates, Work};
use papir_core::scratch::InMemory;
use papir_core::{Choice, Goal, NoProgress, Shape};
use papir_kernels::pointwise::Modulus;
use papir_kernels::poly_eval::{self, Polynomial};
use papir_schemes::depir::simplex::Simplex;
use papir_schemes::depir::structure::levels::Steps;
use papir_schemes::depir::structure::{Form, Points, Structure};
use papir_schemes::pirouette::products::Products;

/// A database to prepare and query.
#[derive(Clone, Copy, Debug)]
pub struct Measurement {
    /// The scheme's name.
    pub scheme: &'static str,
    /// Number and length of the records.
    pub shape: Shape,
    /// The choice of parameters.
    pub choice: Choice,
    /// Threads of setup and answers.
    pub threads: usize,
    /// Timed queries.
    pub runs: usize,
    /// Number of times that the database is prepared and queried; the shortest times are kept.
    pub repeats: usize,
    /// Clients whose queries are answered together, after those of one alone.
    pub clients: usize,
}

/// The times of a measured database.
#[derive(Clone, Debug)]
pub struct Observation {
    /// Operation counts of its parameters.
    pub work: Work,
    /// Milliseconds of the stages of an answer, by name.
    pub stages: Vec<(String, f64)>,
    /// Milliseconds of an answer.
    pub answer_ms: f64,
    /// Core milliseconds for each client that is answered together with the others.
    pub core_ms: f64,
    /// Milliseconds to create a query.
    pub query_ms: f64,
    /// Milliseconds to decode an answer.
    pub extract_ms: f64,
    /// Seconds of setup spent on encoding the database.
    pub encode_s: f64,
    /// Seconds of setup spent on the hint.
    pub hint_s: f64,
    /// Seconds of setup spent on data used only by the server.
    pub material_s: f64,
    /// Bytes of data used only by the server.
    pub material_bytes: u64,
}

/// Sizes of the measured databases, and numbers of queries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// Columns of the first database, 4 KiB each.
    pub selected_columns: u64,
    /// Columns of the second, 32 KiB each.
    pub packed_columns: u64,
    /// Bytes of the third and the fourth.
    pub simple_bytes: u64,
    /// Timed queries.
    pub runs: usize,
    /// Number of times that each database is prepared and queried; the shortest times are kept.
    pub repeats: usize,
    /// Gates whose external products are timed, of 128 KiB each.
    pub gates: usize,
}

impl Config {
    /// For real measurements: 160 MiB, 64 MiB with 256 MiB of packing matrices, twice 160 MiB, and 64 MiB
    /// of gates.
    pub const WHOLE: Self = Self {
        selected_columns: 40 << 10,
        packed_columns: 2 << 10,
        simple_bytes: 160 << 20,
        runs: 9,
        repeats: 2,
        gates: 512,
    };
    /// For tests of the calibration itself: the databases fit into caches. The first one has
    /// several blocks of d columns, because otherwise its setup time would be proportional to the
    /// second's.
    pub const TINY: Self = Self {
        selected_columns: 6 << 10,
        packed_columns: 16,
        simple_bytes: 1 << 18,
        runs: 1,
        repeats: 1,
        gates: 8,
    };
}

/// Measures the rates of this machine on one thread and on `threads` threads, using databases that
/// `measure` prepares and queries.
///
/// # Errors
/// Errors of `measure` and of [`Rates::new`].
pub fn calibrate<E: From<papir_core::Error>>(
    config: Config,
    threads: usize,
    mut measure: impl FnMut(Measurement) -> Result<Observation, E>,
) -> Result<Rates, E> {
    let observed = Observed::on(config, 1, &mut measure)?;
    let mut one = observed.one_thread();
    one.set(Operation::WideProduct, product_seconds(config, 1)?);
    let group = observed.group(&one);
    // What a group shares costs each client at most as much as one alone.
    let group = |op| group.of(op).clamp(one.of(op) / GROUP as f64, one.of(op));
    if threads <= 1 {
        return Ok(Rates::new(1, |op| one.of(op), |op| one.of(op))?.with_groups(group)?);
    }
    let mut all = Observed::on(config, threads, &mut measure)?.all_threads(&one);
    all.set(Operation::WideProduct, product_seconds(config, threads)?);
    // All threads together are at least as fast as one, and at most `threads` times as fast.
    let within = |op| all.of(op).clamp(one.of(op) / threads as f64, one.of(op));
    Ok(Rates::new(threads, |op| one.of(op), within)?.with_groups(group)?)
}

impl Observation {
    /// Total seconds of some stages of an answer.
    fn stages(&self, names: &[&str]) -> f64 {
        let stages = self
            .stages
            .iter()
            .filter(|(name, _)| names.contains(&name.as_str()));
        stages.fold(0.0, |sum, (_, milliseconds)| sum + milliseconds / 1e3)
    }

    /// Seconds of setup after encoding.
    fn after_encoding(&self) -> f64 {
        self.hint_s + self.material_s
    }

    fn setup(&self, operation: Operation) -> f64 {
        self.work.setup.times(operation)
    }

    fn answer(&self, operation: Operation) -> f64 {
        self.work.answer.times(operation)
    }
}

/// The four databases, measured with one number of threads.
struct Observed {
    selected: Observation,
    packed: Observation,
    simple: Observation,
    short: Observation,
}

/// The stages of InsPIRe's answer that only process words of messages.
const WORD_STAGES: [&str; 4] = ["parse", "read_keys", "switch", "seal"];

impl Observed {
    fn on<E: From<papir_core::Error>>(
        config: Config,
        threads: usize,
        measure: &mut impl FnMut(Measurement) -> Result<Observation, E>,
    ) -> Result<Self, E> {
        let Config {
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
        Ok(Self {
            selected: run("inspire", short, Choice::Columns(selected_columns))?,
            packed: run("inspire", long, Choice::Columns(packed_columns))?,
            simple: run("simple", bytes, Choice::Goal(Goal::Balanced))?,
            short: run(
                "inspire1",
                bytes,
                Choice::Columns(simple_bytes / SHORT_COLUMN),
            )?,
        })
    }

    /// Seconds of each operation on one thread.
    fn one_thread(&self) -> Seconds {
        let (hint_transform, pack) = self.solve_material();
        let mut seconds = self.shared(self.word(), hint_transform, pack);
        let selected = &self.selected;
        let simple = &self.simple;
        let per_query = |case: &Observation, op| case.query_ms / 1e3 / case.work.query.times(op);
        let per_extract =
            |case: &Observation, op| case.extract_ms / 1e3 / case.work.extract.times(op);
        seconds.set(Operation::Encrypt, per_query(selected, Operation::Encrypt));
        seconds.set(
            Operation::Decrypt,
            per_extract(selected, Operation::Decrypt),
        );
        seconds.set(
            Operation::EncryptColumn,
            per_query(simple, Operation::EncryptColumn),
        );
        seconds.set(
            Operation::DecryptRow,
            per_extract(simple, Operation::DecryptRow),
        );
        seconds.set(
            Operation::Copy,
            copy_seconds(self.packed.material_bytes as usize),
        );
        seconds.set(Operation::Term, evaluation_seconds());
        seconds.set(Operation::Deflate, compression_seconds());
        seconds.set(Operation::Lookup, lookup_seconds());
        seconds
    }

    /// Core seconds of each operation for each of [`GROUP`] clients. Only reads of a matrix are shared:
    /// what the other operations of an answer take alone is taken off its time.
    fn group(&self, one: &Seconds) -> Seconds {
        const SHARED: [Operation; 4] = [
            Operation::Select16,
            Operation::Select8,
            Operation::Select4,
            Operation::Matrix,
        ];
        let mut seconds = Seconds(Operation::ALL.map(|op| one.of(op)));
        let left = |case: &Observation, known: &[(Operation, f64)]| {
            let others = case
                .work
                .answer
                .iter()
                .filter(|count| !SHARED.contains(&count.operation));
            let others = others.map(|count| (count.operation, one.of(count.operation)));
            let known = others.chain(known.iter().copied());
            known.fold(case.core_ms / 1e3, |left, (op, rate)| {
                left - rate * case.answer(op)
            })
        };
        let Self {
            selected,
            packed,
            simple,
            short,
        } = self;
        // Both InsPIRe databases are read in words and in packing matrices.
        let row = |case: &Observation| {
            [
                case.answer(Operation::Select16),
                case.answer(Operation::Matrix),
                left(case, &[]),
            ]
        };
        let [a, b, u] = row(selected);
        let [c, d, v] = row(packed);
        let determinant = a * d - b * c;
        let matrix = (a * v - c * u) / determinant;
        seconds.set(Operation::Select16, (u * d - b * v) / determinant);
        seconds.set(Operation::Matrix, matrix);
        let matrix = seconds.of(Operation::Matrix);
        seconds.set(
            Operation::Select8,
            left(simple, &[]) / simple.answer(Operation::Select8),
        );
        let select = left(short, &[(Operation::Matrix, matrix)]) / short.answer(Operation::Select4);
        seconds.set(Operation::Select4, select);
        seconds
    }

    /// Seconds of each operation when all threads share the work. Operations that run on a single
    /// thread keep their time.
    fn all_threads(&self, one: &Seconds) -> Seconds {
        // The first database has one pack, which is prepared on one thread.
        let selected = self.selected.after_encoding() - one.of(Operation::Pack);
        let hint = selected / self.selected.setup(Operation::HintTransform);
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

    /// Operations whose rates are derived in the same way for one thread and for all.
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
        let lifting = word * self.selecting_words();
        let select =
            (selected.stages(&["select"]) - lifting) / selected.answer(Operation::Select16);
        seconds.set(Operation::Select16, select);
        let simple_words = word * simple.answer(Operation::Word);
        let answer = simple.answer_ms / 1e3 - simple_words;
        seconds.set(
            Operation::Select8,
            answer / simple.answer(Operation::Select8),
        );
        let lifting = word * short_words(short);
        let select = (short.stages(&["select"]) - lifting) / short.answer(Operation::Select4);
        seconds.set(Operation::Select4, select);
        seconds.set(
            Operation::Matrix,
            packed.stages(&["pack"]) / packed.answer(Operation::Matrix),
        );
        let products = packed.answer(Operation::ExternalProduct);
        seconds.set(
            Operation::ExternalProduct,
            packed.stages(&["evaluate"]) / products,
        );
        let encode = selected.encode_s / selected.setup(Operation::Encode16);
        seconds.set(Operation::Encode16, encode);
        let levels = packed.encode_s - encode * packed.setup(Operation::Encode16);
        seconds.set(
            Operation::Interpolate,
            levels / packed.setup(Operation::Interpolate),
        );
        seconds.set(
            Operation::Encode8,
            simple.encode_s / simple.setup(Operation::Encode8),
        );
        let hint = simple.hint_s / simple.setup(Operation::HintProduct8);
        seconds.set(Operation::HintProduct8, hint);
        seconds
    }

    /// Seconds per word, from the stages of both InsPIRe answers that process nothing else.
    fn word(&self) -> f64 {
        let seconds = self.selected.stages(&WORD_STAGES) + self.packed.stages(&WORD_STAGES);
        let words = self.selected.answer(Operation::Word) + self.packed.answer(Operation::Word);
        let lifted = self.selecting_words() + Self::columns_and_rows(&self.packed);
        seconds / (words - lifted)
    }

    /// Words that the first database's selection stage processes itself: columns split into planes,
    /// and rows lifted.
    fn selecting_words(&self) -> f64 {
        Self::columns_and_rows(&self.selected)
    }

    fn columns_and_rows(case: &Observation) -> f64 {
        // Rows times columns are the words of the database.
        let rows = case.answer(Operation::Matrix) / MATRIX_ROW_BYTES;
        rows + case.setup(Operation::Encode16) / rows
    }

    /// Seconds of a hint transform and of a pack, solved from both databases' setup times.
    fn solve_material(&self) -> (f64, f64) {
        let row = |case: &Observation| {
            [
                case.setup(Operation::HintTransform),
                case.setup(Operation::Pack),
            ]
        };
        let [a, b] = row(&self.selected);
        let [c, d] = row(&self.packed);
        let u = self.selected.after_encoding();
        let v = self.packed.after_encoding();
        let determinant = a * d - b * c;
        ((u * d - b * v) / determinant, (a * v - c * u) / determinant)
    }
}

/// Measures the seconds of an external product modulo one prime, among many on `threads` threads: elapsed
/// time over the number of products of all threads.
///
/// Each thread goes through all gates, from a place of its own, so that threads share the memory but not
/// the gate in a cache.
///
/// # Errors
/// [`papir_core::Error::Parameters`] if the ring cannot be built.
fn product_seconds(config: Config, threads: usize) -> Result<f64, papir_core::Error> {
    let Config {
        gates,
        runs,
        repeats,
        ..
    } = config;
    let products = Products::new(gates)?;
    let times = gates * runs.min(4);
    // The first pass warms the tables of the ring.
    std::hint::black_box(products.run(0, gates.min(64)));
    let once = || {
        let start = std::time::Instant::now();
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let products = &products;
                scope.spawn(move || {
                    std::hint::black_box(products.run(thread * gates / threads, times))
                });
            }
        });
        start.elapsed().as_secs_f64() / (threads * times) as f64
    };
    Ok((0..repeats.max(1))
        .map(|_| once())
        .fold(f64::INFINITY, f64::min))
}

/// Measures the seconds per byte of copying `bytes` bytes to newly allocated memory.
fn copy_seconds(bytes: usize) -> f64 {
    let source = vec![1u8; bytes.max(1)];
    let start = std::time::Instant::now();
    let copy = papir_core::AlignedBytes::copy_of(std::hint::black_box(&source));
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(copy.as_ref().len());
    seconds / source.len() as f64
}

/// Measures the seconds per term and point of evaluating a polynomial in three variables of degree
/// 18 at 1024 points.
fn evaluation_seconds() -> f64 {
    const POINTS: usize = 1 << 10;
    let modulus = Modulus::new(268_369_921);
    let variables = 3;
    let degree = 18;
    let coefficients = vec![123_456_789; poly_eval::terms(variables, degree).unwrap_or_default()];
    let polynomial = Polynomial::new(modulus, variables, degree, &coefficients);
    let points = vec![98_765_432; variables * POINTS];
    let mut values = vec![0; POINTS];
    // The first evaluation warms the caches.
    polynomial.evaluate(&points, &mut values);
    let start = std::time::Instant::now();
    polynomial.evaluate(std::hint::black_box(&points), &mut values);
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(&values);
    seconds / (coefficients.len() * POINTS) as f64
}

/// Measures the seconds per look-up of evaluating a polynomial in four variables of degree 4 by tables of
/// 35 MB, at points in no order. NaN, which is refused, if there are no tables.
fn lookup_seconds() -> f64 {
    const POINTS: usize = 1 << 15;
    let simplex = Simplex {
        variables: 4,
        degree: 4,
    };
    let modulus = Modulus::new(268_369_921);
    let form = Form {
        largest: modulus.value(),
        first: Some(4),
        steps: Steps::One,
        tabulated: 4,
    };
    let coefficients: Vec<u32> = (0..simplex.len() as u32)
        .map(|i| i * 977 % 65_537)
        .collect();
    let Ok(structure) = Structure::new(simplex, &coefficients, form, &mut InMemory, &NoProgress)
    else {
        return f64::NAN;
    };
    let word = |i: usize, row: usize| {
        let mixed = (i as u64 + 1)
            .wrapping_mul(0x9e37_79b9_7f4a_7c15)
            .rotate_left(20 * row as u32);
        modulus.reduce(mixed)
    };
    let rows = (0..3)
        .map(|row| (0..POINTS).map(|i| word(i, row)).collect())
        .collect();
    let points = [Points {
        modulus,
        count: POINTS,
        rows,
    }];
    // The first evaluation warms the caches.
    structure.evaluate(Some(3), &points);
    let start = std::time::Instant::now();
    let (values, effort) = structure.evaluate(Some(3), std::hint::black_box(&points));
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(&values);
    seconds / effort.points as f64
}

/// Measures the seconds per byte of compressing digits in random order, which takes longer than
/// compressing text.
fn compression_seconds() -> f64 {
    const BYTES: usize = 1 << 20;
    let mut state = 1u64;
    let mut digit = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        b'0' + (state >> 33) as u8 % 10
    };
    let digits: Vec<u8> = (0..BYTES).map(|_| digit()).collect();
    let start = std::time::Instant::now();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    let written = encoder
        .write_all(std::hint::black_box(&digits))
        .and_then(|()| encoder.finish());
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(written.is_ok());
    seconds / BYTES as f64
}

/// Words that the fourth database's selection stage processes itself: columns split into planes, and
/// rows lifted, two for each byte.
fn short_words(case: &Observation) -> f64 {
    let bytes = SHORT_COLUMN as f64;
    2.0 * bytes + 2.0 * case.setup(Operation::Encode16) / bytes
}

/// Bytes of a column of the fourth database: two packs.
const SHORT_COLUMN: u64 = 2 << 10;
/// Bytes of a packing matrix per row: two digits of 2048 words of 32 bits.
const MATRIX_ROW_BYTES: f64 = 2.0 * 2048.0 * 4.0;

/// Seconds of each operation.
#[derive(Default)]
struct Seconds([f64; Operation::ALL.len()]);

impl Seconds {
    /// Lower bound of a measured time, below that of one byte in any cache. Keeps the difference of
    /// two noisy times positive.
    const LEAST: f64 = 1e-12;

    fn set(&mut self, operation: Operation, seconds: f64) {
        self.0[operation as usize] = seconds;
    }

    fn of(&self, operation: Operation) -> f64 {
        self.0[operation as usize].max(Self::LEAST)
    }
}
