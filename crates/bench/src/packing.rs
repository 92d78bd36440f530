//! InspiRING by itself: LWE encryptions packed into RLWE encryptions (InsPIRe, Algorithm 1).

use std::time::Instant;

use getrandom::SysRng;
use papir_core::Progress;
use papir_kernels::Backend;
use papir_kernels::bits::packed_len;
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::packing::inspiring::{
    LweMasks, OnlineKey, PackingKey, PackingMasks, Preprocessed, Preprocessor, matrix_words, pack,
};
use papir_lattice::params::{Literal, RlweParams};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::secret::SecretKey;
use papir_ring::prg::Seed;
use papir_ring::{Coefficients, Poly, Ring, Values};
use rand_core::{Rng, UnwrapErr};
use rayon::prelude::*;
use serde::Serialize;

use crate::clock::StageClock;
use crate::measure::{Effort, median};
use crate::report::write_columns;
use crate::size::display;
use crate::{Error, Result};

/// InsPIRe's gadget: two digits of 19 bits, 18 low bits dropped (appendix G.1).
const GADGET: GadgetParams = GadgetParams { levels: 2, log_base: 19, drop: 18 };
/// The most encryptions: 2¹⁶, whose matrices fill 1 GiB.
const MAX_CIPHERTEXTS: usize = 1 << 16;
/// The plaintext modulus.
const PLAINTEXT: u64 = 65537;

/// What packing costs.
#[derive(Clone, Debug, Serialize)]
pub struct PackingReport {
    /// "packing".
    pub part: &'static str,
    /// LWE encryptions.
    pub ciphertexts: usize,
    /// d: the dimension of each, and how many an RLWE encryption holds.
    pub degree: usize,
    /// Threads.
    pub threads: usize,
    /// The kernels' instruction set.
    pub backend: &'static str,
    /// Seconds on what is public, masks transformed included; once.
    pub offline_s: f64,
    /// Median time under a client's fresh key, in ms.
    pub online_ms: f64,
    /// A client's packing key, unrounded.
    pub key_bytes: u64,
    /// What offline keeps for online.
    pub material_bytes: u64,
    /// Whether all messages came out of the packed encryptions, in every run.
    pub correct: bool,
}

/// Packs `ciphertexts` LWE encryptions, a multiple of d = 2048.
///
/// # Errors
/// [`Error::Usage`] for another number, threads or runs; [`Error::Backend`], [`Error::Threads`].
pub fn measure(ciphertexts: usize, effort: Effort, progress: &dyn Progress) -> Result<PackingReport> {
    let backend = Backend::try_from_env()?;
    let degree = Literal::DEFAULT.degree;
    if !(1..=MAX_CIPHERTEXTS).contains(&ciphertexts) || !ciphertexts.is_multiple_of(degree) {
        let expected = format!("a multiple of {degree} up to {MAX_CIPHERTEXTS}");
        return Err(Error::usage(format!("{ciphertexts} encryptions to pack"), expected));
    }
    effort.pool()?.install(|| {
        let case = Case::new()?;
        let (prepared, offline_s) = case.prepare(ciphertexts / degree, progress)?;
        let (online_ms, correct) = case.run(&prepared, effort.runs, progress)?;
        let words = matrix_words(degree, GADGET.levels);
        let residues = (1 + GADGET.levels) * 2 * degree;
        Ok(PackingReport {
            part: "packing",
            ciphertexts,
            degree,
            threads: effort.threads,
            backend: backend.name(),
            offline_s,
            online_ms,
            key_bytes: packed_len(2 * GADGET.levels * degree, case.modulus_bits()) as u64,
            material_bytes: (prepared.packs.len() * 4 * (words + residues)) as u64,
            correct,
        })
    })
}

/// Parameters and what is public.
struct Case {
    params: RlweParams,
    gadget: Gadget,
    masks: PackingMasks,
    seed: Seed,
}

/// Packs ahead of any key.
struct Prepared {
    matrices: Vec<i32>,
    packs: Vec<Preprocessed>,
}

impl Case {
    fn new() -> Result<Self> {
        let refused = |error: String| Error::usage("the default lattice parameters", error);
        let params = RlweParams::new(Literal::DEFAULT).map_err(|error| refused(error.to_string()))?;
        let gadget = Gadget::new(params.ring(), GADGET).map_err(|error| refused(error.to_string()))?;
        let seed = Seed::random(&mut UnwrapErr(SysRng));
        let masks = PackingMasks::expand(params.ring(), &seed, GADGET.levels);
        Ok(Self { params, gadget, masks, seed })
    }

    fn ring(&self) -> &Ring {
        self.params.ring()
    }

    fn modulus_bits(&self) -> u32 {
        u64::BITS - self.ring().modulus().leading_zeros()
    }

    /// The mask vectors of one pack's LWE encryptions.
    fn vectors(&self, pack: usize) -> Vec<Vec<u64>> {
        let d = self.ring().degree();
        let vector =
            |k: usize| self.ring().uniform(&mut self.seed.expand("bench/lwe", (pack * d + k) as u64));
        (0..d).into_par_iter().map(|k| self.ring().to_words(&self.ring().inverse(vector(k)))).collect()
    }

    /// The offline part of all packs, and its seconds.
    fn prepare(&self, packs: usize, progress: &dyn Progress) -> Result<(Prepared, f64)> {
        let vectors: Vec<_> = (0..packs).map(|pack| self.vectors(pack)).collect();
        let clock = StageClock::new(progress);
        progress.stage("pack", packs as u64);
        let words = matrix_words(self.ring().degree(), GADGET.levels);
        let mut matrices = vec![0; packs * words];
        let preprocessor = Preprocessor::new(self.ring(), &self.gadget, &self.masks);
        let prepare = |(vectors, matrix): (&Vec<Vec<u64>>, &mut [i32])| {
            let prepared = preprocessor.run(LweMasks::from_vectors(self.ring(), vectors), matrix);
            progress.advance(1);
            prepared.map_err(|error| Error::usage("the masks of a benchmark", error))
        };
        let packs = vectors.par_iter().zip(matrices.par_chunks_exact_mut(words)).map(prepare);
        let packs = packs.collect::<Result<Vec<_>>>()?;
        Ok((Prepared { matrices, packs }, clock.stop().1))
    }

    /// The median of the online part in ms, each run under a fresh key, and whether all were right.
    fn run(&self, prepared: &Prepared, runs: usize, progress: &dyn Progress) -> Result<(f64, bool)> {
        progress.stage("runs", runs as u64 + 1);
        let (mut times, mut correct) = (Vec::with_capacity(runs), true);
        for run in 0..=runs {
            let (milliseconds, right) = self.pack_once(prepared);
            // The first run only warms up.
            times.extend((run > 0).then_some(milliseconds));
            correct &= right;
            progress.advance(1);
        }
        Ok((median(times), correct))
    }

    fn pack_once(&self, prepared: &Prepared) -> (f64, bool) {
        let (ring, mut rng) = (self.ring(), UnwrapErr(SysRng));
        let secret = SecretKey::generate(&self.params, &mut rng);
        let key = PackingKey::generate(&self.params, &secret, &self.masks, &self.gadget, &mut rng);
        let arrived = |part: Vec<Poly<Values>>| part.into_iter().map(|y| ring.inverse(y)).collect::<Vec<_>>();
        let (g, h) = (arrived(key.g), arrived(key.h));
        let start = Instant::now();
        let added = self.online(prepared, &OnlineKey::new(ring, &g, h));
        let milliseconds = 1e3 * start.elapsed().as_secs_f64();
        let right = |(i, added): (usize, Poly<Coefficients>)| {
            self.decrypts(i, Rlwe { a: prepared.packs[i].a.clone(), b: added }, &secret)
        };
        (milliseconds, added.into_iter().enumerate().all(right))
    }

    /// What packing adds to the bodies.
    fn online(&self, prepared: &Prepared, key: &OnlineKey) -> Vec<Poly<Coefficients>> {
        let last: Vec<&[Poly<Values>]> = prepared.packs.iter().map(|pack| &pack.last[..]).collect();
        pack(self.ring(), &prepared.matrices, &last, &[key]).into_iter().flatten().collect()
    }

    /// Whether a packed encryption of random messages gives them back.
    fn decrypts(&self, pack: usize, mut packed: Rlwe, secret: &SecretKey) -> bool {
        let ring = self.ring();
        let scale = ring.modulus() / PLAINTEXT;
        let mut rng = UnwrapErr(SysRng);
        let messages: Vec<u64> = (0..ring.degree()).map(|_| rng.next_u64() % PLAINTEXT).collect();
        let vectors = self.vectors(pack);
        let body = |(vector, &message): (&Vec<u64>, &u64)| {
            let inner = inner_product(vector, secret.coefficients());
            (i128::from(message * scale) - inner).rem_euclid(ring.modulus().into()) as u64
        };
        let bodies: Vec<u64> = vectors.par_iter().zip(&messages).map(body).collect();
        ring.add_assign(&mut packed.b, &ring.from_words(&bodies));
        let phase = ring.to_words(&packed.phase(ring, secret));
        phase
            .iter()
            .zip(&messages)
            .all(|(phase, &message)| (phase + scale / 2) / scale % PLAINTEXT == message)
    }
}

/// ⟨vector, secret⟩ over the integers.
fn inner_product(vector: &[u64], secret: &[i32]) -> i128 {
    vector.iter().zip(secret).map(|(&a, &s)| i128::from(a) * i128::from(s)).sum()
}

impl PackingReport {
    /// Writes it as a table.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_table(&self, out: &mut dyn std::io::Write) -> Result<()> {
        let rows = [
            ("part", self.part.to_owned()),
            ("LWE encryptions", format!("{} of dimension {}", self.ciphertexts, self.degree)),
            ("threads", self.threads.to_string()),
            ("backend", self.backend.to_owned()),
            ("offline", format!("{:.2} s", self.offline_s)),
            ("online", format!("{:.2} ms", self.online_ms)),
            ("client's key", display(self.key_bytes)),
            ("material", display(self.material_bytes)),
            ("correct", if self.correct { "yes" } else { "NO" }.to_owned()),
        ];
        write_columns(out, &rows.map(|(name, value)| vec![name.to_owned(), value]))
    }
}
