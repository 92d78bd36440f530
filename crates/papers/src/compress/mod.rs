//! Benchmark of LWE and RLWE ciphertext compression: ZipPIR's Tables 2 and 3 and Figure 1.

mod batched;
mod keys;
mod samples;
mod single;

use getrandom::SysRng;
use papir_core::Progress;
use papir_kernels::Backend;
use papir_measure::effort::Effort;
use papir_measure::report::{titles, write_columns};
use rand_core::UnwrapErr;
use serde::Serialize;

pub use batched::Batched;
pub use keys::Packed;
pub use single::Single;

use crate::Result;
use papir_plan::units::bytes as display;

/// Inputs of the benchmark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CompressionConfig {
    /// Bits of the Paillier modulus: 3,072, or fewer for tests.
    pub modulus_bits: u32,
    /// Number of parameter sets of Table 2, at most eight.
    pub single: usize,
    /// Number of parameter sets of Table 3, at most four.
    pub keys: usize,
    /// Numbers of encryptions for Figure 1.
    pub batches: &'static [usize],
}

impl CompressionConfig {
    /// The full benchmark.
    pub const FULL: Self = Self {
        modulus_bits: 3072,
        single: 8,
        keys: 4,
        batches: &[1, 5, 10, 20, 41, 82, 128, 256],
    };
    /// A benchmark of about a second, under an insecure key.
    pub const TINY: Self = Self {
        modulus_bits: 384,
        single: 5,
        keys: 1,
        batches: &[1, 3],
    };
}

/// Costs of compression.
#[derive(Clone, Debug, Serialize)]
pub struct CompressionReport {
    /// "compress".
    pub part: &'static str,
    /// Bits of the Paillier modulus.
    pub modulus_bits: u32,
    /// Threads.
    pub threads: usize,
    /// The kernels' backend.
    pub backend: &'static str,
    /// Table 2.
    pub single: Vec<Single>,
    /// Table 3.
    pub keys: Vec<Packed>,
    /// Figure 1.
    pub batched: Vec<Batched>,
    /// True if every phase matched direct decryption.
    pub correct: bool,
}

/// Runs the benchmark.
///
/// # Errors
/// [`Error::Usage`](crate::Error) for unavailable sizes, and for threads or runs out of range;
/// [`Error::Backend`](crate::Error), [`Error::Threads`](crate::Error).
pub fn measure(
    config: CompressionConfig,
    effort: Effort,
    progress: &dyn Progress,
) -> Result<CompressionReport> {
    let backend = Backend::try_from_env()?.name();

    // In a pool of its own: CDKS packs in parallel, by default on all cores.
    effort.pool()?.install(|| {
        let mut rng = UnwrapErr(SysRng);
        // One key for all sets, as a client has one for all that it compresses.
        let mut setting = samples::Setting::new(config.modulus_bits, &mut rng)?;

        let single = single::measure(&mut setting, config.single, effort.runs, progress)?;
        let keys = keys::measure(&mut setting, config.keys, progress)?;
        let batched = batched::measure(&mut setting, config.batches, progress)?;

        let correct = single.iter().all(|one| one.correct)
            && keys.iter().all(|one| one.correct)
            && batched.iter().all(|one| one.correct);

        Ok(CompressionReport {
            part: "compress",
            modulus_bits: config.modulus_bits,
            threads: effort.threads,
            backend,
            single,
            keys,
            batched,
            correct,
        })
    })
}

fn yes(correct: bool) -> String {
    if correct { "yes" } else { "NO" }.to_owned()
}

impl Single {
    fn line(&self) -> Vec<String> {
        vec![
            format!("({}, {})", self.n, self.modulus_log2),
            display(self.uncompressed_bytes),
            format!("{:.2} kB", self.paper_uncompressed_kb),
            display(self.compressed_bytes),
            format!("{:.2} %", self.reduction_percent()),
            format!("{:.2} %", self.paper_reduction_percent),
            format!("{:.2} ms", self.compress_ms),
            format!("{:.1} ms", self.paper_ms),
            format!("{:.2} s", self.expand_s),
            display(self.expanded_bytes),
            yes(self.correct),
        ]
    }
}

impl Packed {
    fn line(&self) -> Vec<String> {
        vec![
            format!("({}, {})", self.n, self.modulus_log2),
            if self.binary { "binary" } else { "general" }.to_owned(),
            self.packing.to_string(),
            display(self.unpacked_bytes),
            format!("{} KB", self.paper_unpacked_kb),
            display(self.packed_bytes),
            format!("{} KB", self.paper_kb),
            format!("{:.1} ms", self.unpack_ms),
            format!("{:.0} ms", self.paper_ms),
            yes(self.correct),
        ]
    }
}

impl Batched {
    fn line(&self) -> Vec<String> {
        vec![
            self.curve.to_owned(),
            self.encryptions.to_string(),
            self.slots.to_string(),
            display(self.uncompressed_bytes),
            display(self.compressed_bytes),
            format!("{:.2} ms", self.compress_ms),
            yes(self.correct),
        ]
    }
}

impl CompressionReport {
    /// Writes the report as three tables.
    ///
    /// # Errors
    /// I/O errors from `out`.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        let Self {
            modulus_bits,
            threads,
            backend,
            ..
        } = self;
        // The paper uses all cores, so the number must be in the first line.
        let threads = match threads {
            1 => "one thread".to_owned(),
            threads => format!("{threads} threads"),
        };
        writeln!(
            out,
            "Paillier with {modulus_bits} bits, {threads}, {backend}; the paper uses all cores of its machine"
        )?;

        writeln!(out, "\nOne encryption of (n, log2 q) (ZipPIR, Table 2)")?;

        let first = titles(&[
            "set",
            "uncompressed",
            "paper",
            "compressed",
            "shorter by",
            "paper",
            "time",
            "paper",
            "expansion",
            "expanded",
            "correct",
        ]);
        let lines: Vec<_> = std::iter::once(first)
            .chain(self.single.iter().map(Single::line))
            .collect();
        write_columns(out, &lines)?;

        writeln!(
            out,
            "\nCompression keys, as offsets from ciphertexts expanded from a seed (Table 3)"
        )?;

        let first = titles(&[
            "set",
            "secret",
            "packing",
            "key",
            "paper",
            "packed",
            "paper",
            "unpacking",
            "paper",
            "correct",
        ]);
        let lines: Vec<_> = std::iter::once(first)
            .chain(self.keys.iter().map(Packed::line))
            .collect();
        write_columns(out, &lines)?;

        writeln!(out, "\nMany encryptions of (630, 64) (Figure 1)")?;

        let first = titles(&[
            "curve",
            "encryptions",
            "per ciphertext",
            "uncompressed",
            "compressed",
            "time",
            "correct",
        ]);
        let lines: Vec<_> = std::iter::once(first)
            .chain(self.batched.iter().map(Batched::line))
            .collect();
        write_columns(out, &lines)
    }
}
