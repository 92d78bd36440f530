//! The sender: hashing, and `Intersect`.

use papir_core::{Error, NotPrivate, Result};
use rand_core::CryptoRng;
use rayon::prelude::*;
use zeroize::Zeroizing;

use super::hashing::Hashes;
use super::wire::{EncryptedBin, Request, Response};
use super::{Item, PsiParams, distinct, intersect, partition, windowing};
use crate::newton::fhe::{Ciphertext, Ring};
use crate::newton::modulus::Modulus;

/// The party with the other set. It can learn the receiver's set (see [`super::observer`]).
pub struct Sender {
    params: PsiParams,
    items: Zeroizing<Vec<Item>>,
}

/// A part of a bin: its elements, and its r.
struct Part {
    roots: Zeroizing<Vec<u64>>,
    r: Zeroizing<Vec<u64>>,
}

impl Sender {
    /// A sender with a set, in which repetitions do not count.
    ///
    /// # Errors
    /// [`Error::OutOfBounds`] for more elements than the parameters allow.
    pub fn new(params: PsiParams, items: &[Item], _word: NotPrivate) -> Result<Self> {
        let items = distinct(items);
        if items.len() > params.sender() {
            let expected = format!("at most {}", params.sender());
            return Err(Error::out_of_bounds("the sender's set", items.len() as u64, expected));
        }
        Ok(Self { params, items })
    }

    /// Returns r·Π (y − x) for each part of each bin, with an r of its own.
    ///
    /// # Errors
    /// [`Error::Malformed`] for a request with other parameters, [`Error::OutOfBounds`] if its seed
    /// overfills a bin: the receiver then draws another.
    pub fn respond(&self, request: &Request, rng: &mut dyn CryptoRng) -> Result<Response> {
        let n = Modulus::new(self.params.modulus_bits(), &request.modulus)?;
        self.check(request)?;
        let bins = Hashes::new(&request.seed, self.params.bins()).simple(&self.params, &self.items)?;
        let parts: Vec<Vec<Part>> = bins
            .iter()
            .map(|items| {
                let parts = partition::parts(&self.params, &n, items, rng);
                parts.into_iter().map(|roots| Part { roots, r: n.random(1, rng) }).collect()
            })
            .collect();
        let answers = request.bins.par_iter().zip(parts).map(|(bin, parts)| self.answer(&n, bin, &parts));
        Ok(Response { bins: answers.collect() })
    }

    fn check(&self, request: &Request) -> Result<()> {
        let fits = |bin: &EncryptedBin| bin.powers.len() == self.params.powers();
        if request.bins.len() != self.params.bins() || !request.bins.iter().all(fits) {
            let powers = request.bins.first().map_or(0, |bin| bin.powers.len());
            let found = format!("{} bins of {powers} powers", request.bins.len());
            let expected = format!("{} bins of {} powers", self.params.bins(), self.params.powers());
            return Err(Error::malformed("a request for an intersection", found, expected));
        }
        Ok(())
    }

    fn answer(&self, n: &Modulus, bin: &EncryptedBin, parts: &[Part]) -> Vec<Vec<u64>> {
        let c = bin.powers.concat();
        let (ring, c) = Ring::of(n, &Ciphertext { u: bin.u.clone(), v: bin.v.clone(), c });
        let sent: Vec<Vec<u64>> = c.chunks_exact(c.len() / bin.powers.len()).map(<[u64]>::to_vec).collect();
        let powers = windowing::all_powers(&ring, &sent, self.params.degree());
        let of_part = |part: &Part| {
            let coefficients = Zeroizing::new(intersect::polynomial(n, &part.r, &part.roots));
            intersect::evaluate(&ring, &coefficients, &powers)
        };
        parts.iter().map(of_part).collect()
    }
}
