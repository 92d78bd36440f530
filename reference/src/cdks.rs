//! CDKS packing (Chen, Dai, Kim, Song 2021, PackLWEs), by its recursive definition.

use crate::inspiring::{
    Gadget, Poly, add, automorphism, constant, inverse_of_power_of_two, reflect, shift, switch,
};

/// An RLWE encryption (a, b).
#[derive(Clone)]
struct Encryption {
    a: Poly,
    b: Poly,
}

impl Encryption {
    /// The sum of both parts.
    fn plus(&self, other: &Self, q: u64) -> Self {
        Self {
            a: add(&self.a, &other.a, q),
            b: add(&self.b, &other.b, q),
        }
    }

    /// Both parts times X^k.
    fn shifted(&self, k: usize, q: u64) -> Self {
        Self {
            a: shift(&self.a, k, q),
            b: shift(&self.b, k, q),
        }
    }
}

/// The keys (w, y) of EvalAuto for X → X^3, X^5, X^9, …, and their gadget.
pub struct Keys<'a> {
    /// q, odd.
    pub modulus: u64,
    /// The gadget that decomposes masks.
    pub gadget: Gadget,
    /// (w, y) from τ(s) to s, for the exponent 2^L + 1 at index L − 1.
    pub matrices: Vec<(&'a [Poly], &'a [Poly])>,
}

impl Keys<'_> {
    /// EvalAuto: applies τ to both parts and switches from τ(s) to s.
    fn eval_auto(&self, encryption: &Encryption, level: usize) -> Encryption {
        let q = self.modulus;
        let exponent = (1 << level) + 1;
        let image_a = automorphism(&encryption.a, exponent, q);
        let image_b = automorphism(&encryption.b, exponent, q);

        let (a, added) = switch(&image_a, self.matrices[level - 1], 1, q, self.gadget);
        Encryption {
            a,
            b: add(&image_b, &added, q),
        }
    }

    /// PackLWEs: packs 2^L encryptions of constants. The result has 2^L times message k at
    /// coefficient k·d/2^L.
    fn pack_all(&self, encryptions: &[Encryption]) -> Encryption {
        let [only] = encryptions else {
            let every_second = |from: usize| -> Vec<_> {
                encryptions.iter().skip(from).step_by(2).cloned().collect()
            };
            return self.merge(
                &self.pack_all(&every_second(0)),
                &self.pack_all(&every_second(1)),
                encryptions.len(),
            );
        };
        only.clone()
    }

    /// (even + X^{d/n}·odd) + EvalAuto(even − X^{d/n}·odd), for n messages in total.
    fn merge(&self, even: &Encryption, odd: &Encryption, n: usize) -> Encryption {
        let q = self.modulus;
        let d = even.a.len();
        let sum = even.plus(&odd.shifted(d / n, q), q);
        // −X^k is X^{k + d}.
        let difference = even.plus(&odd.shifted(d / n + d, q), q);

        let image = self.eval_auto(&difference, n.ilog2() as usize);
        sum.plus(&image, q)
    }
}

/// Packs d LWE encryptions (mask vectors and bodies) into one RLWE encryption.
///
/// Divides by d first, since PackLWEs multiplies the messages by d.
pub fn pack(masks: &[Vec<u64>], bodies: &[u64], keys: &Keys<'_>) -> (Poly, Poly) {
    let d = bodies.len();
    let q = keys.modulus;
    let inverse = inverse_of_power_of_two(d, q);
    let encryptions: Vec<Encryption> = reflect(masks, inverse, q)
        .into_iter()
        .zip(bodies)
        .map(|(a, &body)| Encryption {
            a,
            b: constant(body, d, inverse, q),
        })
        .collect();

    let packed = keys.pack_all(&encryptions);
    (packed.a, packed.b)
}
