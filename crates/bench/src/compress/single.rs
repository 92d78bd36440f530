//! Compression of one encryption (ZipPIR, Table 2).

use papir_core::Progress;
use papir_paillier::compress::{CompressionKey, ExpandedKey, KeyKind, Layout, Scale};
use serde::Serialize;

use super::samples::Setting;
use crate::clock::{median, milliseconds};
use crate::{Error, Result};

/// n, log₂ q, the kind of secret, and the milliseconds printed in the paper.
const SETS: [(usize, u32, KeyKind, f64); 8] = [
    (630, 64, KeyKind::Binary, 9.7),
    (742, 64, KeyKind::Binary, 11.0),
    (870, 64, KeyKind::Binary, 12.9),
    (1305, 11, KeyKind::Binary, 16.6),
    (1024, 27, KeyKind::Ternary, 7.2),
    (2048, 54, KeyKind::Ternary, 23.8),
    (4096, 36, KeyKind::Ternary, 33.8),
    (8192, 43, KeyKind::Ternary, 83.3),
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
    sets.iter().map(|set| one_set(setting, *set, runs).inspect(|_| progress.advance(1))).collect()
}

fn one_set(
    setting: &mut Setting<'_>,
    (n, bits, kind, paper_ms): (usize, u32, KeyKind, f64),
    runs: usize,
) -> Result<Single> {
    let samples = setting.samples(n, bits, kind, 1)?;
    let (lwe, public) = (samples.lwe, setting.key.public().clone());
    let layout = Layout::new(&public, lwe, Scale::Separate).map_err(Error::parameters)?;
    let key = CompressionKey::generate(&setting.key, &lwe, &samples.secret, setting.rng)
        .map_err(Error::parameters)?;
    let (expanded, expand_ms) = milliseconds(|| ExpandedKey::new(key, bits));
    let expanded = expanded.map_err(Error::parameters)?;
    let compress = || milliseconds(|| expanded.compress(&layout, &samples.encryptions));
    // The first run is a warm-up.
    let ciphertexts = compress().0.map_err(Error::parameters)?;
    let times = (0..runs).map(|_| compress().1).collect();
    let residues = if kind == KeyKind::Ternary { 2 * n } else { n + 1 };
    Ok(Single {
        n,
        modulus_log2: bits,
        uncompressed_bytes: (residues as u64 * u64::from(bits)).div_ceil(8),
        compressed_bytes: public.params().ciphertext_bytes() as u64,
        compress_ms: median(times),
        expand_s: expand_ms / 1e3,
        expanded_bytes: expanded.bytes() as u64,
        paper_ms,
        correct: samples.match_phases(&setting.key, &layout, &ciphertexts, 1)?,
    })
}
