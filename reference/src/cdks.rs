//! CDKS packing (Chen, Dai, Kim, Song 2021, PackLWEs), recursively and by the definition.

use crate::inspiring::{Gadget, Poly, add, automorphism, inverse_of_power_of_two, reflect, shift, switch};

/// An RLWE encryption (a, b).
type Ciphertext = (Poly, Poly);

/// The keys of EvalAuto, (w, y) for τ of X → X^3, X^5, X^9, …, and what their digits are.
pub struct Keys<'a> {
    /// q, odd.
    pub modulus: u64,
    /// The digits of masks.
    pub gadget: Gadget,
    /// (w, y) from τ(s) to s, for 2^L + 1 at place L − 1.
    pub matrices: Vec<(&'a [Poly], &'a [Poly])>,
}

impl Keys<'_> {
    /// EvalAuto: τ of both parts, then from τ(s) to s.
    fn eval_auto(&self, (a, b): &Ciphertext, level: usize) -> Ciphertext {
        let q = self.modulus;
        let image = |poly| automorphism(poly, (1 << level) + 1, q);
        let (new_a, added) = switch(&image(a), self.matrices[level - 1], 1, q, self.gadget);
        (new_a, add(&image(b), &added, q))
    }

    /// PackLWEs: 2^L encryptions whose messages are constants; the result holds 2^L times message k at
    /// coefficient k·d/2^L.
    fn pack_all(&self, ciphertexts: &[Ciphertext]) -> Ciphertext {
        let [only] = ciphertexts else {
            let every_second =
                |from: usize| -> Vec<_> { ciphertexts.iter().skip(from).step_by(2).cloned().collect() };
            return self.merge(
                &self.pack_all(&every_second(0)),
                &self.pack_all(&every_second(1)),
                ciphertexts.len(),
            );
        };
        only.clone()
    }

    /// (even + X^{d/n}·odd) + EvalAuto(even − X^{d/n}·odd), n messages in all.
    fn merge(&self, even: &Ciphertext, odd: &Ciphertext, n: usize) -> Ciphertext {
        let (q, d) = (self.modulus, even.0.len());
        let moved = |k| (shift(&odd.0, k, q), shift(&odd.1, k, q));
        let sum = |x: &Ciphertext, y: &Ciphertext| (add(&x.0, &y.0, q), add(&x.1, &y.1, q));
        // −X^k is X^{k + d}.
        let image = self.eval_auto(&sum(even, &moved(d / n + d)), n.ilog2() as usize);
        sum(&sum(even, &moved(d / n)), &image)
    }
}

/// d LWE encryptions (mask vectors and bodies), divided by d beforehand, to one RLWE encryption.
pub fn pack(masks: &[Vec<u64>], bodies: &[u64], keys: &Keys<'_>) -> (Poly, Poly) {
    let (d, q) = (bodies.len(), keys.modulus);
    let inverse = inverse_of_power_of_two(d, q);
    let body = |&b: &u64| {
        let mut poly = vec![0; d];
        poly[0] = (u128::from(b) * u128::from(inverse) % u128::from(q)) as u64;
        poly
    };
    let ciphertexts: Vec<Ciphertext> =
        reflect(masks, inverse, q).into_iter().zip(bodies.iter().map(body)).collect();
    keys.pack_all(&ciphertexts)
}
