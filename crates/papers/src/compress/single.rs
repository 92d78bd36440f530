//! Compression of one encryption (ZipPIR, Table 2).

use papir_core::Progress;
use papir_measure::clock::{median, milliseconds};
use papir_paillier::compress::{
    CompressionKey, ExpandedKey, KeyKind, Layout, Lwe, LweParams, Scale,
};
use papir_paillier::{Ciphertext, SecretKey};
use serde::Serialize;

use super::samples::{RingSample, Samples, Setting};
use crate::printed::{self, RowFigures};
use crate::{Error, Result};

/// The kind of encryption that is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum EncryptionForm {
    /// An LWE encryption under a binary secret.
    Lwe,
    /// A coefficient of an RLWE encryption under a ternary secret, extracted first (Algorithm 8).
    RlweCoefficient,
}

/// A parameter set and its printed time.
struct Set {
    n: usize,
    modulus_log2: u32,
    form: EncryptionForm,
    paper_ms: f64,
    paper_uncompressed_kb: f64,
    paper_reduction_percent: f64,
}

/// The sets of Table 2.
fn sets() -> Result<Vec<Set>> {
    let table = printed::table(printed::ZIP, "Table 2")?;

    let mut sets = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let figures = RowFigures::new(table, row);
        // The paper heads its columns with the kind of encryption.
        let form = if row.row.starts_with("RLWE") {
            EncryptionForm::RlweCoefficient
        } else {
            EncryptionForm::Lwe
        };

        sets.push(Set {
            n: figures.count("n")? as usize,
            modulus_log2: figures.count("log2 q")? as u32,
            form,
            paper_ms: figures.number("Compression Time", "ms")?,
            paper_uncompressed_kb: figures.number("Uncompressed Ciphertext", "kB")?,
            paper_reduction_percent: figures.number("Size Reduction", "%")?,
        });
    }
    Ok(sets)
}

/// Costs of compressing one encryption.
#[derive(Clone, Debug, Serialize)]
pub struct Single {
    /// n: the LWE dimension, or the degree of the ring.
    pub n: usize,
    /// log₂ q.
    pub modulus_log2: u32,
    /// Bytes of the encryption: n + 1 residues, as in the paper. The encryption of a coefficient is
    /// extracted first from a ring encryption, which has 2n residues.
    pub uncompressed_bytes: u64,
    /// Bytes of the ciphertext.
    pub compressed_bytes: u64,
    /// Median compression time in ms.
    pub compress_ms: f64,
    /// Seconds to expand the key, done once.
    pub expand_s: f64,
    /// Bytes of the expanded key in memory.
    pub expanded_bytes: u64,
    /// Milliseconds printed in the paper, on all cores.
    pub paper_ms: f64,
    /// KB of 1000 bytes of the encryption, as printed.
    pub paper_uncompressed_kb: f64,
    /// Percent by which the ciphertext is shorter, as printed.
    pub paper_reduction_percent: f64,
    /// True if the decrypted phase matched the encryption's.
    pub correct: bool,
}

impl Single {
    /// Percent by which the ciphertext is shorter than the encryption.
    pub(super) fn reduction_percent(&self) -> f64 {
        100.0 * (1.0 - self.compressed_bytes as f64 / self.uncompressed_bytes as f64)
    }
}

/// Measures the first `sets` of the eight sets.
pub(super) fn measure(
    setting: &mut Setting<'_>,
    sets: usize,
    runs: usize,
    progress: &dyn Progress,
) -> Result<Vec<Single>> {
    let all = self::sets()?;
    let sets = &all[..sets.min(all.len())];
    progress.stage("one encryption", sets.len() as u64);
    sets.iter()
        .map(|set| one_set(setting, set, runs).inspect(|_| progress.advance(1)))
        .collect()
}

/// An encryption to compress.
enum TimedSample {
    Lwe(Samples),
    /// Coefficient `k` of an RLWE encryption.
    RlweCoefficient {
        sample: RingSample,
        k: usize,
    },
}

impl TimedSample {
    fn new(setting: &mut Setting<'_>, set: &Set) -> Result<Self> {
        let &Set {
            n, modulus_log2, ..
        } = set;
        Ok(match set.form {
            EncryptionForm::Lwe => {
                Self::Lwe(setting.samples(n, modulus_log2, KeyKind::Binary, 1)?)
            }
            EncryptionForm::RlweCoefficient => Self::RlweCoefficient {
                sample: setting.ring_sample(n, modulus_log2, KeyKind::Ternary)?,
                // Past the middle, so that both signs occur in the extracted mask.
                k: 2 * n / 3,
            },
        })
    }

    fn lwe(&self) -> LweParams {
        match self {
            Self::Lwe(samples) => samples.lwe,
            Self::RlweCoefficient { sample, .. } => sample.lwe,
        }
    }

    fn secret(&self) -> &[u64] {
        match self {
            Self::Lwe(samples) => &samples.secret,
            Self::RlweCoefficient { sample, .. } => &sample.secret,
        }
    }

    /// Takes the LWE encryption, which is extracted first from an RLWE encryption.
    fn take(&self) -> Result<Lwe> {
        match self {
            Self::Lwe(samples) => Ok(samples.encryptions[0].clone()),
            Self::RlweCoefficient { sample, k } => sample.coefficient(*k),
        }
    }

    /// Returns whether the ciphertexts decrypt to the encryption's phase.
    fn matches(
        &self,
        key: &SecretKey,
        layout: &Layout,
        ciphertexts: &[Ciphertext],
    ) -> Result<bool> {
        match self {
            Self::Lwe(samples) => samples.match_phases(key, layout, ciphertexts, 1),
            Self::RlweCoefficient { sample, k } => sample.matches(key, layout, ciphertexts, *k),
        }
    }
}

fn bytes_of(residues: usize, bits: u32) -> u64 {
    (residues as u64 * u64::from(bits)).div_ceil(8)
}

fn one_set(setting: &mut Setting<'_>, set: &Set, runs: usize) -> Result<Single> {
    let sample = TimedSample::new(setting, set)?;
    let lwe = sample.lwe();
    let public = setting.key.public().clone();
    let bits = lwe.modulus_bits();
    let layout = Layout::new(&public, lwe, Scale::Separate).map_err(Error::parameters)?;
    let key = CompressionKey::generate(&setting.key, &lwe, sample.secret(), setting.rng)
        .map_err(Error::parameters)?;

    // Once per client, and therefore not a part of the time of a compression.
    let (expanded, expand_ms) = milliseconds(|| ExpandedKey::new(key, bits));
    let expanded = expanded.map_err(Error::parameters)?;

    let compress = || {
        milliseconds(|| {
            expanded
                .compress(&layout, &[sample.take()?])
                .map_err(Error::parameters)
        })
    };

    // The first run is a warm-up.
    let ciphertexts = compress().0?;
    let times = (0..runs).map(|_| compress().1).collect();

    Ok(Single {
        n: lwe.dimension(),
        modulus_log2: bits,
        uncompressed_bytes: bytes_of(set.n + 1, set.modulus_log2),
        compressed_bytes: public.params().ciphertext_bytes() as u64,
        compress_ms: median(times),
        expand_s: expand_ms / 1e3,
        expanded_bytes: expanded.bytes() as u64,
        paper_ms: set.paper_ms,
        paper_uncompressed_kb: set.paper_uncompressed_kb,
        paper_reduction_percent: set.paper_reduction_percent,
        correct: sample.matches(&setting.key, &layout, &ciphertexts)?,
    })
}
