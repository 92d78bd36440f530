//! Packed compression keys (ZipPIR, Table 3).

use papir_core::Progress;
use papir_measure::clock::milliseconds;
use papir_paillier::compress::{KeyKind, Layout, PackedKey, Scale};
use serde::Serialize;

use super::samples::Setting;
use crate::printed::{self, RowFigures};
use crate::{Error, Result};

/// A parameter set and its printed figures. Keys are stored as offsets from ciphertexts expanded
/// from a seed.
struct Set {
    n: usize,
    modulus_log2: u32,
    /// KB of the unpacked key.
    unpacked_kb: u32,
    /// For a general secret.
    general: Printed,
    /// For a binary secret.
    binary: Printed,
}

/// The printed figures of a packed key.
#[derive(Clone, Copy)]
struct Printed {
    kb: u32,
    /// ms to unpack it.
    ms: f64,
}

/// The sets of Table 3.
fn sets() -> Result<Vec<Set>> {
    let table = printed::table(printed::ZIP, "Table 3")?;

    let mut sets = Vec::with_capacity(table.rows.len());
    for row in &table.rows {
        let figures = RowFigures::new(table, row);
        sets.push(Set {
            n: figures.count("n")? as usize,
            modulus_log2: figures.count("log2 q")? as u32,
            unpacked_kb: figures.number("Unpacked Key", "KB")? as u32,
            general: Printed {
                kb: figures.number("Packed Non-binary Key", "KB")? as u32,
                ms: figures.number("Unpacking Time, non-binary", "ms")?,
            },
            binary: Printed {
                kb: figures.number("Packed Binary Key", "KB")? as u32,
                ms: figures.number("Unpacking Time, binary", "ms")?,
            },
        });
    }
    Ok(sets)
}

/// Costs of a compression key, packed as much as possible.
#[derive(Clone, Debug, Serialize)]
pub struct Packed {
    /// n.
    pub n: usize,
    /// log₂ q.
    pub modulus_log2: u32,
    /// True for a binary secret, false for a general one.
    pub binary: bool,
    /// Digits of the secret per ciphertext.
    pub packing: usize,
    /// Bytes of the unpacked key, as offsets from ciphertexts expanded from a seed.
    pub unpacked_bytes: u64,
    /// Bytes of the packed key, likewise.
    pub packed_bytes: u64,
    /// Time to unpack the key in ms, on one core.
    pub unpack_ms: f64,
    /// The paper's unpacked key, in KB.
    pub paper_unpacked_kb: u32,
    /// The paper's packed key, in KB.
    pub paper_kb: u32,
    /// The paper's time to unpack in ms, on all cores.
    pub paper_ms: f64,
    /// True if an encryption compressed with the unpacked key has the right phase.
    pub correct: bool,
}

/// Measures the first `sets` of the four sets, each with a general and a binary secret.
pub(super) fn measure(
    setting: &mut Setting<'_>,
    sets: usize,
    progress: &dyn Progress,
) -> Result<Vec<Packed>> {
    let all = self::sets()?;
    let sets = &all[..sets.min(all.len())];
    progress.stage("packed keys", 2 * sets.len() as u64);

    let mut packed = Vec::with_capacity(2 * sets.len());
    for set in sets {
        for (kind, paper) in [
            (KeyKind::General, set.general),
            (KeyKind::Binary, set.binary),
        ] {
            packed.push(one_key(setting, set, kind, paper)?);
            progress.advance(1);
        }
    }
    Ok(packed)
}

fn one_key(setting: &mut Setting<'_>, set: &Set, kind: KeyKind, paper: Printed) -> Result<Packed> {
    let samples = setting.samples(set.n, set.modulus_log2, kind, 1)?;

    let public = setting.key.public().clone();
    // As many digits in a ciphertext as the secret's kind leaves room for.
    let packing = Layout::largest_packing(&public, samples.lwe, Scale::Separate)
        .map_err(Error::parameters)?;
    let layout = Layout::packed(&public, samples.lwe, Scale::Separate, packing)
        .map_err(Error::parameters)?;
    let key = PackedKey::generate(&setting.key, &layout, &samples.secret, setting.rng)
        .map_err(Error::parameters)?;

    // Timed alone: the server unpacks a key once, before any compression.
    let (unpacked, unpack_ms) = milliseconds(|| key.unpack());
    let ciphertexts = unpacked
        .compress(&layout, &samples.encryptions)
        .map_err(Error::parameters)?;

    // The ciphertexts themselves follow from a seed, and only offsets are sent.
    let offset = public.params().plaintext_bytes() as u64;
    Ok(Packed {
        n: set.n,
        modulus_log2: set.modulus_log2,
        binary: kind == KeyKind::Binary,
        packing,
        unpacked_bytes: set.n as u64 * offset,
        packed_bytes: PackedKey::ciphertext_count(&layout) as u64 * offset,
        unpack_ms,
        paper_unpacked_kb: set.unpacked_kb,
        paper_kb: paper.kb,
        paper_ms: paper.ms,
        correct: samples.match_phases(&setting.key, &layout, &ciphertexts, 1)?,
    })
}
