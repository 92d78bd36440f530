//! Compression of one encryption (ZipPIR, Table 2).

use papir_core::Progress;
use papir_measure::clock::{median, milliseconds};
use papir_paillier::compress::{
    CompressionKey, ExpandedKey, KeyKind, Layout, Lwe, LweParams, Scale,
};
use papir_paillier::{Ciphertext, SecretKey};
use serde::Serialize;

use super::samples::Setting;
use crate::{Error, Result};

/// The kind of encryption that is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// An LWE encryption under a binary secret.
    Lwe,
    /// A coefficient of an RLWE encryption under a ternary secret, extracted first (Algorithm 8).
    RlweCoefficient,
}

/// n, log₂ q, the form, and the milliseconds printed in the paper.
const SETS: [(usize, u32, Form, f64); 8] = [
    (630, 64, Form::Lwe, 9.7),
    (742, 64, Form::Lwe, 11.0),
    (870, 64, Form::Lwe, 12.9),
    (1305, 11, Form::Lwe, 16.6),
    (1024, 27, Form::RlweCoefficient, 7.2),
    (2048, 54, Form::RlweCoefficient, 23.8),
    (4096, 36, Form::RlweCoefficient, 33.8),
    (8192, 43, Form::RlweCoefficient, 83.3),
];

/// Costs of compressing one encryption.
#[derive(Clone, Debug, Serialize)]
pub struct Single {
    /// n: the LWE dimension, or the degree of the ring.
    pub n: usize,
    /// log₂ q.
    pub modulus_log2: u32,
    /// Bytes of the encryption: n + 1 residues, or 2n for a ring.
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
    /// True if the decrypted phase matched the encryption's.
    pub correct: bool,
}

/// Measures the first `sets` of the eight sets.
pub(super) fn measure(
    setting: &mut Setting<'_>,
    sets: usize,
    runs: usize,
    progress: &dyn Progress,
) -> Result<Vec<Single>> {
    let sets = &SETS[..sets.min(SETS.len())];
    progress.stage("one encryption", sets.len() as u64);
    sets.iter()
        .map(|set| one_set(setting, *set, runs).inspect(|_| progress.advance(1)))
        .collect()
}

fn one_set(
    setting: &mut Setting<'_>,
    (n, bits, form, paper_ms): (usize, u32, Form, f64),
    runs: usize,
) -> Result<Single> {
    if form == Form::Lwe {
        let samples = setting.samples(n, bits, KeyKind::Binary, 1)?;
        let lwe = samples.lwe;
        let secret = samples.secret.clone();
        let take = || Ok(samples.encryptions[0].clone());
        let correct = |key: &SecretKey, layout: &Layout, ciphertexts: &[Ciphertext]| {
            samples.match_phases(key, layout, ciphertexts, 1)
        };
        let printed = (bytes_of(n + 1, bits), paper_ms);
        return compress_one(setting, (lwe, &secret), runs, printed, take, correct);
    }
    let sample = setting.ring_sample(n, bits, KeyKind::Ternary)?;
    // Past the middle, so that both signs occur in the extracted mask.
    let k = 2 * n / 3;
    let take = || sample.coefficient(k);
    let correct = |key: &SecretKey, layout: &Layout, ciphertexts: &[Ciphertext]| {
        sample.matches(key, layout, ciphertexts, k)
    };
    let printed = (bytes_of(2 * n, bits), paper_ms);
    compress_one(
        setting,
        (sample.lwe, &sample.secret),
        runs,
        printed,
        take,
        correct,
    )
}

fn bytes_of(residues: usize, bits: u32) -> u64 {
    (residues as u64 * u64::from(bits)).div_ceil(8)
}

/// Compresses the encryption that `take` makes, which counts; `correct` checks the result. `printed` has
/// the bytes of the encryption and the paper's time.
fn compress_one(
    setting: &mut Setting<'_>,
    (lwe, secret): (LweParams, &[u64]),
    runs: usize,
    printed: (u64, f64),
    take: impl Fn() -> Result<Lwe>,
    correct: impl Fn(&SecretKey, &Layout, &[Ciphertext]) -> Result<bool>,
) -> Result<Single> {
    let public = setting.key.public().clone();
    let bits = lwe.modulus_bits();
    let layout = Layout::new(&public, lwe, Scale::Separate).map_err(Error::parameters)?;
    let key = CompressionKey::generate(&setting.key, &lwe, secret, setting.rng)
        .map_err(Error::parameters)?;
    let (expanded, expand_ms) = milliseconds(|| ExpandedKey::new(key, bits));
    let expanded = expanded.map_err(Error::parameters)?;
    let compress = || {
        milliseconds(|| {
            expanded
                .compress(&layout, &[take()?])
                .map_err(Error::parameters)
        })
    };
    // The first run is a warm-up.
    let ciphertexts = compress().0?;
    let times = (0..runs).map(|_| compress().1).collect();
    Ok(Single {
        n: lwe.dimension(),
        modulus_log2: bits,
        uncompressed_bytes: printed.0,
        compressed_bytes: public.params().ciphertext_bytes() as u64,
        compress_ms: median(times),
        expand_s: expand_ms / 1e3,
        expanded_bytes: expanded.bytes() as u64,
        paper_ms: printed.1,
        correct: correct(&setting.key, &layout, &ciphertexts)?,
    })
}
