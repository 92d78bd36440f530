//! Compression of many encryptions (ZipPIR, Figure 1): n = 630, q = 2⁶⁴.
//!
//! The paper prints no numbers for this figure. It has no curve with s > 1, although its
//! implementation extends Paillier to Damgård–Jurik for longer plaintexts; papir adds two. The last
//! curve is CDKS: packing into an RLWE encryption (Chen, Dai, Kim, Song). CDKS requires LWE and
//! RLWE encryptions of the same dimension and modulus, so this curve uses those of papir's ring,
//! d = 2048 and q ≈ 2⁵⁶.

use papir_core::Progress;
use papir_kernels::bits::packed_len;
use papir_measure::clock::milliseconds;
use papir_paillier::Ciphertext;
use papir_paillier::compress::{
    CompressionKey, ExpandedKey, KeyKind, Layout, Lwe, LweParams, Scale,
};
use serde::Serialize;

use super::samples::{Samples, Setting};
use crate::{Error, Result, packing};

const N: usize = 630;
const LOG2_Q: u32 = 64;
/// log₂ of the modulus that the third curve rescales to.
const LOG2_RESCALED: u32 = 20;

/// Costs of compressing several encryptions.
#[derive(Clone, Debug, Serialize)]
pub struct Batched {
    /// The curve: "general secret", "binary secret", "binary, rescaled", "binary, s = 2",
    /// "binary, s = 3", "CDKS".
    pub curve: &'static str,
    /// Number of encryptions.
    pub encryptions: usize,
    /// Number of encryptions that fit into a ciphertext.
    pub slots: usize,
    /// Bytes of the encryptions before compression.
    pub uncompressed_bytes: u64,
    /// Bytes after compression.
    pub compressed_bytes: u64,
    /// Time in ms on one core, including rescaling.
    pub compress_ms: f64,
    /// True if all phases were correct.
    pub correct: bool,
}

/// A curve of the figure.
struct Curve {
    name: &'static str,
    samples: Samples,
    key: ExpandedKey,
    layout: Layout,
    /// The parameters to which encryptions are rescaled.
    rescaled: Option<LweParams>,
}

/// Measures every curve for each number of encryptions in `counts`.
pub(super) fn measure(
    setting: &mut Setting<'_>,
    counts: &[usize],
    progress: &dyn Progress,
) -> Result<Vec<Batched>> {
    // Every point of a curve compresses the first of these encryptions.
    let most = counts.iter().copied().max().unwrap_or(1);
    let curves = [
        ("general secret", KeyKind::General),
        ("binary secret", KeyKind::Binary),
        RESCALED,
    ];

    progress.stage(
        "many encryptions",
        ((curves.len() + EXTENDED.len()) * counts.len()) as u64,
    );

    let mut points = Vec::with_capacity((curves.len() + EXTENDED.len() + 1) * counts.len());

    for (name, kind) in curves {
        let curve = Curve::new(setting, name, kind, most)?;
        for &count in counts {
            points.push(curve.point(setting, count)?);
            progress.advance(1);
        }
    }

    for (name, s) in EXTENDED {
        // A key of its own: plaintexts modulo the s-th power need other ciphertexts.
        let setting = &mut setting.extended(s)?;
        let curve = Curve::new(setting, name, KeyKind::Binary, most)?;
        for &count in counts {
            points.push(curve.point(setting, count)?);
            progress.advance(1);
        }
    }

    // Measured once: a pack takes as long for one encryption as for d.
    let packed = packing::cdks(progress)?;
    points.extend(counts.iter().map(|count| cdks(&packed, *count)));

    Ok(points)
}

/// Curves under Damgård–Jurik: their plaintexts are s moduli long, and their ciphertexts s + 1.
const EXTENDED: [(&str, u32); 2] = [("binary, s = 2", 2), ("binary, s = 3", 3)];

/// A point of the CDKS curve. Zeros fill up the pack, and only `count` coefficients of its body are
/// sent. The masks arrive with the encryptions, so nothing can be precomputed.
fn cdks(packed: &packing::Measured, count: usize) -> Batched {
    let d = packed.degree;
    let bits = packed.modulus_log2.ceil() as u32;
    Batched {
        curve: "CDKS",
        encryptions: count,
        slots: d,
        uncompressed_bytes: packed_len(count * (d + 1), bits) as u64,
        compressed_bytes: packed_len(d + count, bits) as u64,
        compress_ms: 1e3 * packed.offline_s + packed.online_ms,
        correct: packed.correct,
    }
}

const RESCALED: (&str, KeyKind) = ("binary, rescaled", KeyKind::Binary);

impl Curve {
    fn new(
        setting: &mut Setting<'_>,
        name: &'static str,
        kind: KeyKind,
        most: usize,
    ) -> Result<Self> {
        let samples = setting.samples(N, LOG2_Q, kind, most)?;
        let key =
            CompressionKey::generate(&setting.key, &samples.lwe, &samples.secret, setting.rng);
        let rescaled = if name == RESCALED.0 {
            Some(LweParams::new(N, 1 << LOG2_RESCALED, kind).map_err(Error::parameters)?)
        } else {
            None
        };

        let compressed = rescaled.unwrap_or(samples.lwe);
        let layout = Layout::new(setting.key.public(), compressed, Scale::Separate)
            .map_err(Error::parameters)?;

        let key = key
            .and_then(|key| ExpandedKey::new(key, compressed.modulus_bits()))
            .map_err(Error::parameters)?;

        Ok(Self {
            name,
            samples,
            key,
            layout,
            rescaled,
        })
    }

    fn point(&self, setting: &Setting<'_>, count: usize) -> Result<Batched> {
        let encryptions = &self.samples.encryptions[..count];
        let (compressed, compress_ms) = milliseconds(|| self.compress(encryptions));
        let (encryptions, ciphertexts) = compressed.map_err(Error::parameters)?;

        // Phases are compared with those of the rescaled encryptions: these were compressed.
        let samples = Samples {
            lwe: *self.layout.lwe(),
            secret: self.samples.secret.clone(),
            encryptions,
        };

        let ciphertext = setting.key.public().params().ciphertext_bytes();
        Ok(Batched {
            curve: self.name,
            encryptions: count,
            slots: self.layout.slots(),
            uncompressed_bytes: (count * (N + 1) * LOG2_Q as usize / 8) as u64,
            compressed_bytes: (ciphertexts.len() * ciphertext) as u64,
            compress_ms,
            correct: samples.match_phases(&setting.key, &self.layout, &ciphertexts, count)?,
        })
    }

    /// Rescales and compresses; returns the rescaled encryptions and their ciphertexts.
    fn compress(&self, encryptions: &[Lwe]) -> papir_paillier::Result<(Vec<Lwe>, Vec<Ciphertext>)> {
        let mut rescaled = Vec::with_capacity(encryptions.len());
        for lwe in encryptions {
            rescaled.push(match &self.rescaled {
                Some(to) => self.samples.lwe.rescale(lwe, to)?,
                None => lwe.clone(),
            });
        }

        let ciphertexts = self.key.compress(&self.layout, &rescaled)?;
        Ok((rescaled, ciphertexts))
    }
}
