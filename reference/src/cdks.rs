//! CDKS packing (Chen, Dai, Kim, Song 2021, PackLWEs), by its recursive definition.

use crate::inspiring::{
    Gadget, Poly, add, automorphism, inverse_of_power_of_two, reflect, shift, switch,
};

/// An RLWE encryption (a, b).
type Ciphertext = (Poly, Poly);

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
    fn eval_auto(&self, (a, b): &Ciphertext, level: usize) -> Ciphertext {
        let q = self.modulus;
        let image = |poly| automorphism(poly, (1 << level) + 1, q);
        let (new_a, added) = switch(&image(a), self.matrices[level - 1], 1, q, self.gadget);
        (new_a, add(&image(b), &added, q))
    }

    /// PackLWEs: packs 2^L encryptions of constants. The result has 2^L times message k at
    /// coefficient k·d/2^L.
    fn pack_all(&self, ciphertexts: &[Ciphertext]) -> Ciphertext {
        let [only] = ciphertexts else {
            let every_second = |from: usize| -> Vec<_> {
                ciphertexts.iter().skip(from).step_by(2).cloned().collect()
            };
            return self.merge(
                &self.pack_all(&every_second(0)),
                &self.pack_all(&every_second(1)),
                ciphertexts.len(),
            );
        };
        only.clone()
    }

    /// (even + X^{d/n}·odd) + EvalAuto(even − X^{d/n}·odd), for n messages in total.
    fn merge(&self, even: &Ciphertext, odd: &Ciphertext, n: usize) -> Ciphertext {
        let q = self.modulus;
        let d = even.0.len();
        let moved = |k| (shift(&odd.0, k, q), shift(&odd.1, k, q));
        let sum = |x: &Ciphertext, y: &Ciphertext| (add(&x.0, &y.0, q), add(&x.1, &y.1, q));
        // −X^k is X^{k + d}.
        let image = self.eval_auto(&sum(even, &moved(d / n + d)), n.ilog2() as usize);
        sum(&sum(even, &moved(d / n)), &image)
    }
}

/// Packs d LWE encryptions (mask vectors and bodies) into one RLWE encryption.
///
/// Divides by d first, since PackLWEs multiplies the messages by d.
pub fn pack(masks: &[Vec<u64>], bodies: &[u64], keys: &Keys<'_>) -> (Poly, Poly) {
    let d = bodies.len();
    let q = keys.modulus;
    let inverse = inverse_of_power_of_two(d, q);
    let body = |&b: &u64| {
        let mut poly = vec![0; d];
        poly[0] = (u128::from(b) * u128::from(inverse) % u128::from(q)) as u64;
        poly
    };
    let ciphertexts: Vec<Ciphertext> = reflect(masks, inverse, q)
        .into_iter()
        .zip(bodies.iter().map(body))
        .collect();
    keys.pack_all(&ciphertexts)
}
