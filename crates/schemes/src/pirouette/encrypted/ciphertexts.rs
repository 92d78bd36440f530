//! Records as RLWE encryptions modulo 2¹⁶.
//!
//! A coefficient holds a byte. Each encryption has a mask from a seed of its own.
//!
//! ```text
//! body = −a·s + e + 2⁸·byte modulo 2¹⁶, for the ring's ternary s and σ = 3.19
//! ```
//! Folding lifts a record to q, times round(q/2¹⁶). A phase that is right modulo 2¹⁶ becomes a
//! phase that is right modulo q, up to 2^-26 of a turn.

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    AlignedBytes, Blob, BlobSlice, Change, Error, Progress, Records, Result, parallel,
};
use papir_lattice::wide::{Rlwe, RlweParams, SecretKey};
use papir_ring::prg::{SecretRng, Seed};
use papir_ring::wide::{Poly, Ring};
use papir_ring::{Coefficients, CyclotomicRing};
use rand_core::CryptoRng;
use zeroize::{Zeroize, Zeroizing};

use crate::pirouette::chain::{DEGREE, LOG2_P};
use crate::pirouette::layout::Layout;
use crate::shared::stored_records::read_each;

/// log₂ of the modulus.
pub const LOG2_MODULUS: u32 = 16;
/// Bytes of an encryption's seed.
pub(crate) const SEED_BYTES: usize = 32;
/// Bytes of an encryption's body.
pub(crate) const BODY_BYTES: usize = 2 * DEGREE;
/// Number of fresh random bytes for an encryption.
const FRESH_BYTES: usize = 32;
/// BLAKE3's context string, which separates these keys from all other uses of the hash.
const CONTEXT: &str = "papir 2026 randomness of encrypted records v1";
/// log₂ of the weight of a byte.
const SCALE: u32 = LOG2_MODULUS - LOG2_P;
/// Number of polynomials that are encrypted between progress reports.
const BATCH: usize = 256;
/// Names of the sections of a snapshot.
const SEEDS: &str = "pirouette/seeds";
const BODIES: &str = "pirouette/bodies";

/// An encrypted database, with one encryption for each polynomial of each plane. A clone shares
/// them.
#[derive(Clone)]
pub struct Ciphertexts {
    pub(super) layout: Layout,
    /// Seeds of the encryptions, all different.
    seeds: Blob,
    bodies: BlobSlice<u16>,
}

/// Seeds and bodies of encryptions while they are made.
struct CiphertextBuffers {
    seeds: AlignedBytes,
    bodies: AlignedBytes,
}

/// A polynomial before encryption.
struct PlainPoly {
    index: usize,
    /// Coefficients, with d bytes for each plane.
    bytes: Zeroizing<Vec<u8>>,
}

/// A polynomial of one plane, with the random bytes for its encryption.
struct PlanePoly<'a> {
    index: usize,
    bytes: &'a [u8],
    fresh: Zeroizing<[u8; FRESH_BYTES]>,
}

impl Ciphertexts {
    /// Encrypts records.
    pub(crate) fn encrypt(
        layout: &Layout,
        rlwe: &RlweParams,
        key: &SecretKey,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let polys = layout.polys();
        let planes = layout.planes;
        let mut parts = CiphertextBuffers::zeroed(polys * planes);
        progress.stage("encrypt", polys as u64);

        // In batches, so that little plaintext is in memory at a time.
        for first in (0..polys).step_by(BATCH) {
            let batch = first..(first + BATCH).min(polys);
            let mut plain = Vec::with_capacity(batch.len());
            for index in batch.clone() {
                let bytes = Zeroizing::new(layout.spread(&layout.items(records, index)?));
                plain.push(PlainPoly { index, bytes });
            }

            parts.fill(layout, rlwe, key, &plain, rng);
            progress.advance(batch.len() as u64);
        }

        parts.finish(layout)
    }

    /// Reads the sections that [`Ciphertexts::save`] wrote. Fails if their lengths do not fit the
    /// layout.
    pub(crate) fn load(layout: &Layout, source: &dyn SectionSource) -> Result<Self> {
        let seeds = source.get(SEEDS)?;
        let bodies = source.get(BODIES)?;

        let count = layout.polys() * layout.planes;
        Error::check_length(
            "the seeds of encrypted records",
            seeds.len(),
            count * SEED_BYTES,
        )?;
        Error::check_length(
            "the bodies of encrypted records",
            bodies.len(),
            count * BODY_BYTES,
        )?;

        Ok(Self {
            layout: layout.clone(),
            seeds,
            bodies: BlobSlice::new(bodies, BODIES)?,
        })
    }

    /// Writes seeds and bodies.
    pub(crate) fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEEDS, &[&self.seeds])?;
        sink.put(BODIES, &[self.bodies.bytes()])
    }

    /// Returns an encryption's mask modulo 2¹⁶, and its body.
    fn parts(&self, index: usize) -> ([u16; DEGREE], &[u16]) {
        let seed = &self.seeds[index * SEED_BYTES..][..SEED_BYTES];
        let seed = Seed(std::array::from_fn(|i| seed[i]));
        (mask(&seed), &self.bodies[index * DEGREE..][..DEGREE])
    }

    /// Returns an encryption of a plane, lifted to q.
    pub(crate) fn lifted(&self, ring: &Ring, plane: usize, index: usize) -> Rlwe {
        let (mask, body) = self.parts(plane * self.layout.polys() + index);
        let step = (ring.modulus() + (1 << (LOG2_MODULUS - 1))) >> LOG2_MODULUS;

        Rlwe {
            a: ring.scale(&signed(ring, &mask), step),
            b: ring.scale(&signed(ring, body), step),
        }
    }

    /// Decrypts polynomial `index`. Returns d bytes for each plane.
    fn decrypt(&self, ring: &Ring, key: &SecretKey, index: usize) -> Zeroizing<Vec<u8>> {
        // The final length: growing would leave copies behind.
        let mut plain = Zeroizing::new(Vec::with_capacity(self.layout.planes * DEGREE));

        for plane in 0..self.layout.planes {
            let (mask, body) = self.parts(plane * self.layout.polys() + index);
            let product = times_key(ring, &mask, key);

            let phase = body
                .iter()
                .zip(product.iter())
                .map(|(&b, &product)| b.wrapping_add(product));
            plain.extend(phase.map(|phase| (phase.wrapping_add(1 << (SCALE - 1)) >> SCALE) as u8));
        }

        plain
    }

    /// Applies changes in order. Polynomials with changes are encrypted again under fresh masks.
    pub(crate) fn update(
        &self,
        rlwe: &RlweParams,
        key: &SecretKey,
        changes: &[Change],
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let slots = self.layout.slots() as u64;
        let one = self.layout.of_one_poly();
        progress.stage("change records", changes.len() as u64);

        // Changes of one polynomial are collected, so that it is encrypted once.
        let mut changed = std::collections::BTreeMap::new();
        for change in changes {
            let (item, _) = self.layout.unit_layout.locate(change.index);
            let index = (item / slots) as usize;
            let plain = changed
                .entry(index)
                .or_insert_with(|| self.decrypt(rlwe.ring(), key, index));

            let mut bytes = Zeroizing::new(one.item(plain, item % slots));
            self.layout.unit_layout.set(&mut bytes, change)?;
            one.set_item(plain, item % slots, &bytes);
            progress.advance(1);
        }
        let changed: Vec<PlainPoly> = changed
            .into_iter()
            .map(|(index, bytes)| PlainPoly { index, bytes })
            .collect();

        let bodies = AlignedBytes::copy_of(self.bodies.bytes());
        let mut parts = CiphertextBuffers {
            seeds: AlignedBytes::copy_of(&self.seeds),
            bodies,
        };
        parts.fill(&self.layout, rlwe, key, &changed, rng);
        parts.finish(&self.layout)
    }

    /// Reads records, as [`papir_core::scheme::Server::read_packed`] does. `range` is the first
    /// index and the number of records.
    pub(crate) fn read_packed(
        &self,
        ring: &Ring,
        key: &SecretKey,
        range: (u64, u64),
        out: &mut [u8],
    ) -> Result<()> {
        let unit_layout = &self.layout.unit_layout;
        let slots = self.layout.slots() as u64;
        let one = self.layout.of_one_poly();

        // Neighbours share a polynomial, so the last one decrypted is kept.
        let last = std::cell::RefCell::new(PlainPoly {
            index: usize::MAX,
            bytes: Zeroizing::new(Vec::new()),
        });

        read_each(&unit_layout.shape, range, out, |index| {
            let (item, slot) = unit_layout.locate(index);
            let index = (item / slots) as usize;

            let mut last = last.borrow_mut();
            if last.index != index {
                let bytes = self.decrypt(ring, key, index);
                *last = PlainPoly { index, bytes };
            }

            let item = one.item(&last.bytes, item % slots);
            Ok(Some(unit_layout.select(&item, slot)))
        })
    }
}

impl CiphertextBuffers {
    fn zeroed(count: usize) -> Self {
        let [seeds, bodies] =
            [SEED_BYTES, BODY_BYTES].map(|bytes| AlignedBytes::zeroed(count * bytes));
        Self { seeds, bodies }
    }

    /// Encrypts polynomials of all planes under fresh masks. Each polynomial has a generator of its
    /// own, so that threads share the work.
    fn fill(
        &mut self,
        layout: &Layout,
        rlwe: &RlweParams,
        key: &SecretKey,
        plain: &[PlainPoly],
        rng: &mut dyn CryptoRng,
    ) {
        let mut polys = Vec::with_capacity(plain.len() * layout.planes);
        for plain in plain {
            for (plane, bytes) in plain.bytes.chunks_exact(DEGREE).enumerate() {
                polys.push(PlanePoly {
                    index: plane * layout.polys() + plain.index,
                    bytes,
                    fresh: fresh(rng),
                });
            }
        }

        // Fresh bytes stay in their place, where they are erased: moves would leave copies behind.
        let encryptions = parallel::map(&polys, |poly| {
            let (seed, mut rng) = randomness(&poly.fresh, poly.index, poly.bytes);
            let body = body(rlwe, key, &seed, poly.bytes, &mut rng);
            (poly.index, seed, body)
        });

        for (index, seed, body) in encryptions {
            self.seeds.bytes_mut()[index * SEED_BYTES..][..SEED_BYTES].copy_from_slice(&seed.0);
            self.bodies.slice_mut::<u16>()[index * DEGREE..][..DEGREE].copy_from_slice(&body);
        }
    }

    fn finish(self, layout: &Layout) -> Result<Ciphertexts> {
        let bodies = BlobSlice::new(self.bodies.into(), BODIES)?;
        Ok(Ciphertexts {
            layout: layout.clone(),
            seeds: self.seeds.into(),
            bodies,
        })
    }
}

/// Draws fresh random bytes.
fn fresh(rng: &mut dyn CryptoRng) -> Zeroizing<[u8; FRESH_BYTES]> {
    let mut fresh = Zeroizing::new([0; FRESH_BYTES]);
    rng.fill_bytes(fresh.as_mut_slice());
    fresh
}

/// Derives the seed of an encryption's mask and the generator of its errors. They are a
/// pseudorandom function of the place and the plaintext, keyed by fresh bytes. A restored machine
/// may draw the same fresh bytes twice. Another plaintext still gets another mask then: under the
/// same mask, the difference of both could be read.
fn randomness(fresh: &[u8; FRESH_BYTES], place: usize, plain: &[u8]) -> (Seed, SecretRng) {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    hasher
        .update(fresh)
        .update(&(place as u64).to_le_bytes())
        .update(plain);

    let mut mask = [0; SEED_BYTES];
    let mut errors = Zeroizing::new([0; FRESH_BYTES]);
    let mut output = hasher.finalize_xof();
    output.fill(&mut mask);
    output.fill(errors.as_mut_slice());

    // Both would give the errors away.
    output.zeroize();
    hasher.zeroize();

    let rng = SecretRng::derived(&errors, "pirouette/record errors");
    (Seed(mask), rng)
}

/// Expands the mask of a seed.
fn mask(seed: &Seed) -> [u16; DEGREE] {
    let mut words = [0; DEGREE];
    seed.expand("pirouette/record", 0)
        .fill(bytemuck::cast_slice_mut(&mut words));
    words.map(u16::from_le)
}

/// Returns words modulo 2¹⁶ as the signed numbers nearest to zero.
fn signed(ring: &Ring, words: &[u16]) -> Poly<Coefficients> {
    let words: Vec<i32> = words.iter().map(|&word| i32::from(word as i16)).collect();
    ring.from_signed(&words)
}

/// Computes the mask times the key modulo 2¹⁶. The product over the integers is far below q.
fn times_key(ring: &Ring, mask: &[u16], key: &SecretKey) -> Zeroizing<Vec<u16>> {
    let product = ring.mul(&ring.forward(signed(ring, mask)), key.values());
    let product = Zeroizing::new(ring.inverse(product));
    let words = Zeroizing::new(ring.to_centred(&product));
    Zeroizing::new(words.iter().map(|&word| word as u16).collect())
}

/// Encrypts bytes. Returns the body under a seed's mask.
fn body(
    rlwe: &RlweParams,
    key: &SecretKey,
    seed: &Seed,
    bytes: &[u8],
    rng: &mut SecretRng,
) -> Vec<u16> {
    let product = times_key(rlwe.ring(), &mask(seed), key);
    let mut errors = Zeroizing::new(vec![0; DEGREE]);
    rlwe.error().fill(rng, &mut errors);

    bytes
        .iter()
        .zip(errors.iter())
        .zip(product.iter())
        .map(|((&byte, &error), &product)| {
            (u16::from(byte) << SCALE)
                .wrapping_add(error as u16)
                .wrapping_sub(product)
        })
        .collect()
}
