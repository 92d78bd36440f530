//! The sender: hashing, partitioning, and `Intersect`.

use papir_core::{Error, NotPrivate, Result};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::hashing::Hashes;
use super::wire::{EncryptedBin, Request, Response};
use super::{ITEM_WORDS, Item, PsiParams, distinct, integers, windowing};
use crate::newton::fhe::{Ciphertext, RANK, Ring};
use crate::newton::modulus::Modulus;

/// The party that answers requests. It can recover the receiver's set: see [`super::observer`].
pub struct Sender {
    params: PsiParams,
    items: Zeroizing<Vec<Item>>,
}

/// A part of a bin: its elements, and its random factor r.
struct BinPart {
    roots: Zeroizing<Vec<u64>>,
    r: Zeroizing<Vec<u64>>,
}

impl Sender {
    /// Creates a sender. Repeated items count once.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for more elements than the parameters allow.
    pub fn new(params: PsiParams, items: &[Item], _word: NotPrivate) -> Result<Self> {
        let items = distinct(items);
        if items.len() > params.sender() {
            let expected = format!("at most {}", params.sender());
            return Err(Error::out_of_bounds(
                "the sender's set",
                items.len() as u64,
                expected,
            ));
        }
        Ok(Self { params, items })
    }

    /// Returns r·Π (y − x) for each part of each bin, each with a fresh r.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a request with other parameters, [`Error::OutOfBounds`] if its seed
    /// overfills a bin; the receiver then draws another seed.
    pub fn respond(&self, request: &Request, rng: &mut dyn CryptoRng) -> Result<Response> {
        let n = Modulus::new(self.params.modulus_bits(), &request.modulus)?;
        self.check(request)?;
        let bins =
            Hashes::new(&request.seed, self.params.bins()).simple(&self.params, &self.items)?;

        // The generator is drawn from in order, before the parallel part: answers do not depend on
        // threads.
        let mut parts = Vec::with_capacity(bins.len());
        for items in &bins {
            let mut of_bin: Vec<BinPart> = Vec::new();
            for roots in partition(&self.params, &n, items, rng) {
                of_bin.push(BinPart {
                    roots,
                    r: n.random(1, rng),
                });
            }
            parts.push(of_bin);
        }

        let answers = request
            .bins
            .par_iter()
            .zip(parts)
            .map(|(bin, parts)| self.answer(&n, bin, &parts));

        Ok(Response {
            bins: answers.collect(),
        })
    }

    fn check(&self, request: &Request) -> Result<()> {
        let fit = request
            .bins
            .iter()
            .all(|bin| bin.powers.len() == self.params.powers());

        if request.bins.len() == self.params.bins() && fit {
            return Ok(());
        }

        let powers = request.bins.first().map_or(0, |bin| bin.powers.len());
        let found = format!("{} bins of {powers} powers", request.bins.len());
        let expected = format!(
            "{} bins of {} powers",
            self.params.bins(),
            self.params.powers()
        );
        Err(Error::malformed(
            "a request for an intersection",
            found,
            expected,
        ))
    }

    fn answer(&self, n: &Modulus, bin: &EncryptedBin, parts: &[BinPart]) -> Vec<Vec<u64>> {
        let c = bin.powers.concat();
        let (ring, c) = Ring::of(
            n,
            &Ciphertext {
                u: bin.u.clone(),
                v: bin.v.clone(),
                c,
            },
        );

        let sent: Vec<Vec<u64>> = c
            .chunks_exact(c.len() / bin.powers.len())
            .map(<[u64]>::to_vec)
            .collect();

        let powers = windowing::all_powers(&ring, &sent, self.params.degree());
        parts
            .iter()
            .map(|part| {
                let coefficients = polynomial(n, &part.r, &part.roots);
                evaluate(&ring, &coefficients, &powers)
            })
            .collect()
    }
}

/// Partitioning: splits a bin's items, elements of Z_n, into parts. Random numbers below n pad each
/// part to the same degree. The order is random, so that the part of a hit reveals nothing.
fn partition(
    params: &PsiParams,
    n: &Modulus,
    items: &[Item],
    rng: &mut dyn CryptoRng,
) -> Vec<Zeroizing<Vec<u64>>> {
    let limbs = n.limbs();
    let places = params.parts() * params.degree();

    // The final lengths, here and below: growing would leave copies of items behind.
    let mut elements = Zeroizing::new(Vec::with_capacity(places * limbs));
    elements.extend_from_slice(&Zeroizing::new(n.enter(&integers(items), ITEM_WORDS)));
    elements.extend_from_slice(&n.random(places - items.len(), rng));

    let mut order: Zeroizing<Vec<usize>> = Zeroizing::new((0..places).collect());
    for last in (1..places).rev() {
        order.swap(last, (rng.next_u64() % (last as u64 + 1)) as usize);
    }

    let mut parts = Vec::with_capacity(params.parts());
    for places in order.chunks(params.degree()) {
        let mut part = Zeroizing::new(Vec::with_capacity(places.len() * limbs));
        for &place in places {
            part.extend_from_slice(&elements[place * limbs..][..limbs]);
        }
        parts.push(part);
    }
    parts
}

/// Coefficients of r·Π (T − x) as elements, the constant one first.
fn polynomial(n: &Modulus, r: &[u64], roots: &[u64]) -> Zeroizing<Vec<u64>> {
    let limbs = n.limbs();

    // The final length: growing would leave copies behind.
    let mut coefficients = Zeroizing::new(Vec::with_capacity(r.len() + roots.len()));
    coefficients.extend_from_slice(r);
    for root in roots.chunks_exact(limbs) {
        let mut lower = coefficients.clone();
        n.wide().multiply_all(&mut lower, root);

        // T·f is f moved up by one place, and x·f is subtracted from it.
        let length = lower.len();
        coefficients.resize(length + limbs, 0);
        coefficients.copy_within(..length, limbs);
        coefficients[..limbs].fill(0);
        n.wide()
            .add_multiples(&mut coefficients[..length], [(&lower, -1)]);
    }
    coefficients
}

/// Evaluates a polynomial at an encrypted y, given y⁰, y¹, … as ring elements: nine products modulo
/// n for each coefficient. Returns integers below n.
fn evaluate(ring: &Ring<'_>, coefficients: &[u64], powers: &[Vec<u64>]) -> Vec<u64> {
    let n = ring.modulus();
    let mut sum = n.zeros(RANK);
    for (coefficient, power) in coefficients.chunks_exact(n.limbs()).zip(powers) {
        let mut term = Zeroizing::new(power.clone());
        n.wide().multiply_all(&mut term, coefficient);
        n.wide().add_multiples(&mut sum, [(&term, 1)]);
    }
    n.leave(&sum)
}
