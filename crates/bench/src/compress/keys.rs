//! Packed compression keys (ZipPIR, Table 3).

use papir_core::Progress;
use papir_paillier::compress::{KeyKind, Layout, PackedKey, Scale};
use serde::Serialize;

use super::samples::Setting;
use super::{milliseconds, refused};
use crate::Result;

/// n, log₂ q, and the paper's KB of a key that is not packed, of packed keys of general and of binary
/// secrets, with the times to unpack these in ms. The paper's entries are offsets to a seed's ciphertexts.
const SETS: [(usize, u32, u32, [(u32, f64); 2]); 4] = [
    (630, 64, 240, [(22, 14.0), (12, 13.0)]),
    (742, 64, 284, [(26, 25.0), (14, 12.0)]),
    (870, 64, 334, [(30, 74.0), (16, 13.0)]),
    (1305, 11, 501, [(11, 15.0), (7, 15.0)]),
];

/// A compression key, packed as far as it goes.
#[derive(Clone, Debug, Serialize)]
pub struct Packed {
    /// n.
    pub n: usize,
    /// log₂ q.
    pub modulus_log2: u32,
    /// Whether the secret is binary, or general.
    pub binary: bool,
    /// Digits of the secret in a ciphertext.
    pub packing: usize,
    /// The key not packed, as offsets to a seed's ciphertexts.
    pub unpacked_bytes: u64,
    /// The packed key, likewise.
    pub packed_bytes: u64,
    /// Time to unpack it, in ms, on one core.
    pub unpack_ms: f64,
    /// The paper's key that is not packed, in KB.
    pub paper_unpacked_kb: u32,
    /// The paper's packed key, in KB.
    pub paper_kb: u32,
    /// The paper's time, in ms, on all cores.
    pub paper_ms: f64,
    /// Whether an encryption compressed with the unpacked key has its phase.
    pub correct: bool,
}

/// The first `sets` of the four sets, each with a general and a binary secret.
pub(super) fn measure(
    setting: &mut Setting<'_>,
    sets: usize,
    progress: &dyn Progress,
) -> Result<Vec<Packed>> {
    let sets = &SETS[..sets.min(SETS.len())];
    progress.stage("packed keys", 2 * sets.len() as u64);
    let mut packed = Vec::with_capacity(2 * sets.len());
    for &(n, bits, unpacked_kb, papers) in sets {
        for (kind, paper) in [KeyKind::General, KeyKind::Binary].into_iter().zip(papers) {
            packed.push(one_key(setting, (n, bits, kind), unpacked_kb, paper)?);
            progress.advance(1);
        }
    }
    Ok(packed)
}

fn one_key(
    setting: &mut Setting<'_>,
    (n, bits, kind): (usize, u32, KeyKind),
    paper_unpacked_kb: u32,
    (paper_kb, paper_ms): (u32, f64),
) -> Result<Packed> {
    let samples = setting.samples(n, bits, kind, 1)?;
    let public = setting.key.public().clone();
    let packing = Layout::largest_packing(&public, samples.lwe, Scale::Separate).map_err(refused)?;
    let layout = Layout::packed(&public, samples.lwe, Scale::Separate, packing).map_err(refused)?;
    let key = PackedKey::generate(&setting.key, &layout, &samples.secret, setting.rng).map_err(refused)?;
    let (unpacked, unpack_ms) = milliseconds(|| key.unpack());
    let ciphertexts = unpacked.compress(&layout, &samples.encryptions).map_err(refused)?;
    let offset = public.params().plaintext_bytes() as u64;
    Ok(Packed {
        n,
        modulus_log2: bits,
        binary: kind == KeyKind::Binary,
        packing,
        unpacked_bytes: n as u64 * offset,
        packed_bytes: PackedKey::ciphertext_count(&layout) as u64 * offset,
        unpack_ms,
        paper_unpacked_kb,
        paper_kb,
        paper_ms,
        correct: samples.match_phases(&setting.key, &layout, &ciphertexts, 1)?,
    })
}
