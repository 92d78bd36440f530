//! Benchmark of ring packing (InsPIRe, Table 5): LWE encryptions packed by each [`RingPacking`].
//!
//! The paper's columns have exact gadgets, and so do the columns of papir beside them. papir's
//! schemes use approximate ones (appendix G.1), which have columns of their own.

mod columns;
mod quoted;

use std::time::Instant;

use getrandom::SysRng;
use papir_core::Progress;
use papir_kernels::Backend;
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::Gadget;
use papir_lattice::noise::Setting;
use papir_lattice::packing::cdks::Cdks;
use papir_lattice::packing::inspiring::{Inspiring, PartialInspiring};
use papir_lattice::packing::{Bodies, LweMasks, Packing, Preprocessed, RingPacking, RoundedKey};
use papir_lattice::params::RlweParams;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::secret::SecretKey;
use papir_measure::clock::median;
use papir_measure::effort::Effort;
use papir_measure::report::write_columns;
use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Ring};
use rand_core::{Rng, UnwrapErr};
use rayon::prelude::*;
use serde::Serialize;

pub use quoted::{Printed, Quoted};

use columns::{
    CDKS, DEGREE, EXACT_INSPIRING, EXACT_SMALL_INSPIRING, INSPIRING, PARTIAL, PackingColumn,
    SMALL_INSPIRING,
};

use crate::{Error, Result};
use papir_plan::units::bytes as display;

/// Maximum number of encryptions: 2¹⁶, whose CDKS digits fill 3 GiB.
const MAX_CIPHERTEXTS: usize = 1 << 16;
/// The row of Table 5 that papir does not implement.
const HINTLESS: &str = "HintlessPIR";

/// Costs of packing, for each method.
#[derive(Clone, Debug, Serialize)]
pub struct PackingReport {
    /// "packing".
    pub part: &'static str,
    /// LWE encryptions.
    pub ciphertexts: usize,
    /// Threads.
    pub threads: usize,
    /// The kernels' backend.
    pub backend: &'static str,
    /// Results for each packing method.
    pub packings: Vec<Measured>,
    /// Methods of the paper that papir does not implement.
    pub quoted: Vec<Quoted>,
    /// True if all messages were decrypted correctly from all packed encryptions.
    pub correct: bool,
}

/// Costs of one packing method.
#[derive(Clone, Debug, Serialize)]
pub struct Measured {
    /// The packing method.
    pub name: &'static str,
    /// d: the dimension of each encryption.
    pub degree: usize,
    /// LWE encryptions per RLWE encryption.
    pub capacity: usize,
    /// log₂ q.
    pub modulus_log2: f64,
    /// Number of gadget digits.
    pub levels: usize,
    /// Bits of a digit.
    pub log_base: u32,
    /// Low bits that the gadget drops; zero for an exact one, as in the paper's columns.
    pub drop: u32,
    /// Bytes of a client's key.
    pub key_bytes: u64,
    /// Bytes of the packed encryptions modulo q: d coefficients of a mask, `capacity` of a body.
    pub packed_bytes: u64,
    /// Seconds of one-time work on public data, including transforming masks.
    pub offline_s: f64,
    /// Median time in ms under a client's fresh key.
    pub online_ms: f64,
    /// Bytes that the offline phase stores for the online phase.
    pub material_bytes: u64,
    /// log₂ of the standard deviation of the error added by packing, over all runs.
    pub noise_log2: f64,
    /// log₂ of the bound on it (Theorems 2 and 4, appendix G.1; (d² − 1)/3 switches for CDKS).
    pub noise_bound_log2: f64,
    /// log₂ of the largest error measured.
    pub noise_max_log2: f64,
    /// True if all messages were decrypted correctly in every run.
    pub correct: bool,
    /// The paper's figures, if any.
    pub paper: Option<Printed>,
}

/// Packs `ciphertexts` LWE encryptions, a multiple of d = 2048, with every method.
///
/// # Errors
/// [`Error::Usage`] for invalid numbers of encryptions, threads or runs; [`Error::Backend`],
/// [`Error::Threads`].
pub fn measure(
    ciphertexts: usize,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<PackingReport> {
    let backend = Backend::try_from_env()?;
    if !(1..=MAX_CIPHERTEXTS).contains(&ciphertexts) || !ciphertexts.is_multiple_of(DEGREE) {
        let expected = format!("a multiple of {DEGREE} up to {MAX_CIPHERTEXTS}");
        return Err(Error::usage(
            format!("{ciphertexts} encryptions to pack"),
            expected,
        ));
    }

    // One after the other, so that the methods do not share memory and caches.
    let packings = effort.pool()?.install(|| -> Result<Vec<Measured>> {
        let runs = effort.runs;

        Ok(vec![
            // In the order of the table: the test and the report take them by place.
            PackingCase::<Inspiring>::new(EXACT_INSPIRING)?.measure(ciphertexts, runs, progress)?,
            PackingCase::<Cdks>::new(CDKS)?.measure(ciphertexts, runs, progress)?,
            PackingCase::<Inspiring>::new(EXACT_SMALL_INSPIRING)?.measure(
                ciphertexts,
                runs,
                progress,
            )?,
            PackingCase::<Inspiring>::new(INSPIRING)?.measure(ciphertexts, runs, progress)?,
            PackingCase::<PartialInspiring>::new(PARTIAL)?.measure(ciphertexts, runs, progress)?,
            PackingCase::<Inspiring>::new(SMALL_INSPIRING)?.measure(ciphertexts, runs, progress)?,
        ])
    })?;

    let threads = effort.threads;
    let correct = packings.iter().all(|packing| packing.correct);
    let backend = backend.name();
    let quoted = vec![Quoted::of(HINTLESS)?];

    Ok(PackingReport {
        part: "packing",
        ciphertexts,
        threads,
        backend,
        packings,
        quoted,
        correct,
    })
}

/// Packs d = 2048 LWE encryptions into one RLWE encryption with CDKS. No error occurs for these
/// parameters.
pub(crate) fn cdks(progress: &dyn Progress) -> Result<Measured> {
    PackingCase::<Cdks>::new(CDKS)?.measure(CDKS.capacity, 1, progress)
}

/// A packing method and the LWE masks, from one public seed.
struct PackingCase<P> {
    column: PackingColumn,
    params: RlweParams,
    packing: Packing<P>,
    seed: Seed,
}

/// The offline phase's results, independent of any key.
struct OfflineResults<P: RingPacking> {
    words: Vec<P::Word>,
    packs: Vec<Preprocessed>,
    /// The masks of the LWE encryptions.
    vectors: Vec<Vec<Vec<u64>>>,
}

/// Results of one run under one key.
struct PackingRun {
    milliseconds: f64,
    /// The errors of all messages.
    errors: Vec<f64>,
}

impl<P: RingPacking> PackingCase<P> {
    fn new(column: PackingColumn) -> Result<Self> {
        let params = RlweParams::new(column.ring).map_err(Error::parameters)?;
        let gadget = Gadget::new(params.ring(), column.gadget).map_err(Error::parameters)?;
        let seed = Seed::random(&mut UnwrapErr(SysRng));
        let packing = Packing::new(&params, &gadget, column.capacity, &seed);
        let packing = packing.map_err(Error::parameters)?;

        Ok(Self {
            column,
            params,
            packing,
            seed,
        })
    }

    fn ring(&self) -> &Ring {
        self.params.ring()
    }

    fn measure(
        &self,
        ciphertexts: usize,
        runs: usize,
        progress: &dyn Progress,
    ) -> Result<Measured> {
        // Whole packs: the number is a multiple of d, and d of every capacity.
        let packs = ciphertexts / self.column.capacity;
        progress.stage(self.column.name, runs as u64 + 2);
        let (prepared, offline_s) = self.prepare(packs)?;
        progress.advance(1);

        let mut times = Vec::with_capacity(runs);
        let mut errors = Vec::new();

        for run in 0..=runs {
            let run_result = self.run(&prepared)?;
            // The first run is a warm-up.
            if run > 0 {
                times.push(run_result.milliseconds);
            }
            // Errors of the warm-up count: noise does not depend on caches.
            errors.extend(run_result.errors);
            progress.advance(1);
        }

        let paper = self.column.paper.map(Printed::of).transpose()?;
        Ok(Measured {
            paper,
            ..self.report(&prepared, offline_s, median(times), &errors)
        })
    }

    /// The costs, without the paper's figures.
    fn report(
        &self,
        prepared: &OfflineResults<P>,
        offline_s: f64,
        online_ms: f64,
        errors: &[f64],
    ) -> Measured {
        let d = self.ring().degree();
        let packs = prepared.packs.len();
        let modulus = self.ring().modulus();
        let bits = u64::BITS - modulus.leading_zeros();
        let key_bits = self.key_bits();

        let elements = prepared
            .packs
            .iter()
            .map(|pack| 1 + pack.last.len())
            .sum::<usize>();

        let setting = Setting::error_like(d, modulus as f64, self.column.ring.sigma, key_bits);

        let largest = errors
            .iter()
            .fold(0.0, |largest: f64, error| largest.max(error.abs()));
        let variance = errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;

        Measured {
            name: self.column.name,
            degree: d,
            capacity: self.column.capacity,
            modulus_log2: (modulus as f64).log2(),
            levels: self.column.gadget.levels,
            log_base: self.column.gadget.log_base,
            drop: self.column.gadget.drop,
            key_bytes: packed_len(self.packing.shape().words(), key_bits) as u64,
            packed_bytes: packed_len(packs * (d + self.column.capacity), bits) as u64,
            offline_s,
            online_ms,
            material_bytes: (size_of_val(&prepared.words[..]) + elements * 2 * d * size_of::<u32>())
                as u64,
            noise_log2: variance.log2() / 2.0,
            noise_bound_log2: P::variance(&setting, self.column.gadget, self.column.capacity)
                .log2()
                / 2.0,
            noise_max_log2: largest.log2(),
            correct: largest < (self.scale() / 2) as f64,
            paper: None,
        }
    }

    /// Bits of a coefficient of a key: as many as fit below q.
    fn key_bits(&self) -> u32 {
        self.ring().modulus().ilog2()
    }

    /// Δ: the factor that messages are multiplied by.
    fn scale(&self) -> u64 {
        self.ring().modulus() >> self.column.plaintext_bits
    }

    /// The mask vectors of one pack's LWE encryptions.
    fn vectors(&self, pack: usize) -> Vec<Vec<u64>> {
        let ring = self.ring();
        let n = self.column.capacity;

        (0..n)
            .into_par_iter()
            .map(|k| {
                // A stream of its own for each encryption, whichever thread expands it.
                let mut stream = self.seed.expand("bench/lwe", (pack * n + k) as u64);
                ring.to_words(&ring.inverse(ring.uniform(&mut stream)))
            })
            .collect()
    }

    /// Runs the offline phase for all packs; returns its seconds.
    fn prepare(&self, packs: usize) -> Result<(OfflineResults<P>, f64)> {
        // Masks are public, and a server expands them before it knows any client: not timed.
        let vectors: Vec<_> = (0..packs).map(|pack| self.vectors(pack)).collect();

        // The masks are transformed inside the timed part: `offline_s` includes it.
        let start = Instant::now();
        let mut words = vec![bytemuck::Zeroable::zeroed(); self.packing.words(packs)];
        let packs = self
            .packing
            .prepare_all(
                packs,
                |pack| LweMasks::from_vectors(self.ring(), &vectors[pack]),
                &mut words,
            )
            .map_err(Error::parameters)?;
        let seconds = start.elapsed().as_secs_f64();

        Ok((
            OfflineResults {
                words,
                packs,
                vectors,
            },
            seconds,
        ))
    }

    /// Packs random messages under a fresh key.
    fn run(&self, prepared: &OfflineResults<P>) -> Result<PackingRun> {
        let ring = self.ring();
        let mut rng = UnwrapErr(SysRng);
        // A key for each run, as each client has one: errors of one key would not be independent.
        let secret = SecretKey::generate(&self.params, &mut rng);
        let key = self
            .packing
            .generate_key(&secret, &mut rng)
            .round(ring, self.key_bits());

        let count = prepared.packs.len() * self.column.capacity;
        let messages: Vec<u64> = (0..count)
            // The highest bits of a word, times Δ: uniform messages, so that no coefficient is
            // special.
            .map(|_| (rng.next_u64() >> (u64::BITS - self.column.plaintext_bits)) * self.scale())
            .collect();
        let lwe = Bodies::from_words(
            ring,
            self.column.capacity,
            &self.encrypt(prepared, &messages, &secret),
        );

        // Encryption is not timed: `online_ms` is the packing's time only.
        let start = Instant::now();
        let bodies = self.online(prepared, &key, &lwe)?;
        let milliseconds = 1e3 * start.elapsed().as_secs_f64();

        Ok(PackingRun {
            milliseconds,
            errors: self.errors(prepared, &bodies, &messages, &secret),
        })
    }

    /// The bodies of LWE encryptions without error, so that all measured error is that of packing.
    fn encrypt(
        &self,
        prepared: &OfflineResults<P>,
        messages: &[u64],
        secret: &SecretKey,
    ) -> Vec<u64> {
        let q = i128::from(self.ring().modulus());
        let vectors: Vec<&Vec<u64>> = prepared.vectors.iter().flatten().collect();

        vectors
            .par_iter()
            .zip(messages)
            .map(|(vector, &message)| {
                let product = inner_product(vector, secret.coefficients());
                (i128::from(message) - product).rem_euclid(q) as u64
            })
            .collect()
    }

    /// The timed online phase: everything that depends on the client's key.
    fn online(&self, prepared: &OfflineResults<P>, key: &[u64], lwe: &Bodies) -> Result<Bodies> {
        let shape = self.packing.shape();
        // A key arrives rounded, and is lifted in the timed part as a server does it.
        let key = RoundedKey::new(shape, &vec![self.key_bits(); shape.matrices], key);
        let key = key
            .and_then(|key| self.packing.online_key(&key))
            .map_err(Error::parameters)?;

        let packs: Vec<&Preprocessed> = prepared.packs.iter().collect();
        let packed = self
            .packing
            .pack(&prepared.words, &packs, &[&key])
            .map_err(Error::parameters)?;

        let mut bodies = lwe.clone();
        for added in &packed {
            bodies.add_assign(self.ring(), added);
        }
        Ok(bodies)
    }

    /// The decrypted values minus the messages, centred.
    fn errors(
        &self,
        prepared: &OfflineResults<P>,
        bodies: &Bodies,
        messages: &[u64],
        secret: &SecretKey,
    ) -> Vec<f64> {
        let ring = self.ring();
        let q = self.ring().modulus() as i64;

        let mut errors = Vec::with_capacity(messages.len());
        for (i, messages) in messages.chunks(self.column.capacity).enumerate() {
            let packed = Rlwe {
                a: prepared.packs[i].a.clone(),
                b: bodies.poly(ring, i),
            };
            let phase = ring.to_centred(&packed.phase(ring, secret));

            for (phase, &message) in phase.into_iter().zip(messages) {
                // Both are centred before they are subtracted, so that the difference stays below
                // 3q/2.
                let message = centred(message as i64, q);
                errors.push(centred(phase - message, q) as f64);
            }
        }
        errors
    }
}

/// The value congruent to `x` modulo q of absolute value at most q/2, for |x| below 3q/2.
fn centred(x: i64, q: i64) -> i64 {
    if 2 * x.abs() > q {
        x - x.signum() * q
    } else {
        x
    }
}

/// ⟨vector, secret⟩ over the integers.
fn inner_product(vector: &[u64], secret: &[i32]) -> i128 {
    vector
        .iter()
        .zip(secret)
        .map(|(&a, &s)| i128::from(a) * i128::from(s))
        .sum()
}

/// A row of the table: its title, and the function that formats a method's cell.
type MethodRow = (&'static str, fn(&Measured) -> String);

const ROWS: &[MethodRow] = &[
    ("packing", |m| m.name.to_owned()),
    ("log2 d, log2 q", |m| {
        format!("{}, {:.1}", m.degree.ilog2(), m.modulus_log2)
    }),
    ("gadget", |m| match m.drop {
        0 => "exact".to_owned(),
        drop => format!("{drop} bits dropped"),
    }),
    ("  digits", |m| {
        format!("{} of {} bits", m.levels, m.log_base)
    }),
    ("encryptions per pack", |m| m.capacity.to_string()),
    ("client's key", |m| display(m.key_bytes)),
    ("  paper", |m| {
        paper_cell(m, |paper| format!("{} KiB", paper.key_kb))
    }),
    ("packed", |m| display(m.packed_bytes)),
    ("offline", |m| format!("{:.2} s", m.offline_s)),
    ("  paper", |m| {
        paper_cell(m, |paper| format!("{:.1} s", paper.offline_s))
    }),
    ("online", |m| format!("{:.2} ms", m.online_ms)),
    ("  paper", |m| {
        paper_cell(m, |paper| format!("{:.0} ms", paper.online_ms))
    }),
    ("material", |m| display(m.material_bytes)),
    ("noise (standard deviation)", |m| {
        format!("2^{:.2}", m.noise_log2)
    }),
    ("  bound", |m| format!("2^{:.2}", m.noise_bound_log2)),
    ("noise (largest)", |m| format!("2^{:.2}", m.noise_max_log2)),
    ("  paper", |m| {
        m.paper
            .and_then(|paper| paper.noise_max_log2)
            .map_or("-".to_owned(), |bits| format!("2^{bits:.1}"))
    }),
    ("correct", |m| {
        if m.correct { "yes" } else { "NO" }.to_owned()
    }),
];

fn paper_cell(measured: &Measured, cell: impl Fn(&Printed) -> String) -> String {
    measured.paper.as_ref().map_or("-".to_owned(), cell)
}

impl PackingReport {
    /// Writes the report as a table with one column per packing method.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        let Self {
            ciphertexts,
            threads,
            backend,
            ..
        } = self;
        writeln!(
            out,
            "{ciphertexts} LWE encryptions, {threads} threads, {backend}; the paper packs 4096"
        )?;

        let mut lines = Vec::with_capacity(ROWS.len());
        for (name, cell) in ROWS {
            // A line for each quantity: there are more of them than methods.
            let title = std::iter::once((*name).to_owned());
            lines.push(title.chain(self.packings.iter().map(cell)).collect());
        }
        write_columns(out, &lines)?;
        writeln!(out, "{}", columns::GADGETS)?;

        for Quoted {
            name,
            degree,
            modulus_log2,
            packed_kb,
            paper,
        } in &self.quoted
        {
            let Printed {
                key_kb,
                offline_s,
                online_ms,
                ..
            } = paper;

            let log2_d = degree.ilog2();
            writeln!(
                out,
                "{name} (log2 d = {log2_d}, log2 q = {modulus_log2}): key {key_kb} KiB, packed {packed_kb} KiB, offline {offline_s:.1} s, online {online_ms:.0} ms. Quoted from the paper: it was not run here."
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use papir_core::NoProgress;

    use super::*;

    /// The claim of Table 5: about 5 bits less noise than CDKS, and much smaller keys.
    #[test]
    fn inspiring_has_less_noise_and_smaller_keys_than_cdks() {
        let report = measure(DEGREE, Effort::alone(1, 1), &NoProgress).unwrap();
        let [exact, cdks, small_exact, full, partial, small] = &report.packings[..] else {
            unreachable!("six packings");
        };

        // Both have three digits of 19 bits.
        let apart = cdks.noise_log2 - exact.noise_log2;
        assert!((4.0..5.5).contains(&apart), "{apart} bits apart");

        // Coefficients of 55 bits, and of 27 in the small ring.
        assert_eq!(
            (full.key_bytes, partial.key_bytes),
            (4 * 14_080, 2 * 14_080)
        );
        assert_eq!((cdks.key_bytes, exact.key_bytes), (33 * 14_080, 6 * 14_080));
        assert_eq!(
            (small.key_bytes, small_exact.key_bytes),
            (10 * 3456, 16 * 3456)
        );

        // The paper's figures are beside gadgets like its own.
        for packing in &report.packings {
            assert_eq!(packing.paper.is_some(), packing.drop == 0, "{packing:?}");
        }

        for packing in &report.packings {
            let measured = packing.noise_log2;
            let bound = packing.noise_bound_log2;
            assert!(
                (bound - 1.0..bound + 0.1).contains(&measured),
                "{}: {measured}, {bound}",
                packing.name
            );
        }

        assert!(report.correct);

        let mut out = Vec::new();
        report.write_table(&mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        for words in [
            "exact",
            "8 of 4 bits",
            "18 bits dropped",
            "the paper's gadgets",
        ] {
            assert!(text.contains(words), "{words} is not in {text}");
        }
    }
}
