//! Ring switching to a smaller degree and modulus.
//!
//! From degree d to degree d/f; the coefficients at multiples of f are kept (RingSwitch; Gentry,
//! Halevi, Peikert, Smart, *Field switching in BGV-style homomorphic encryption*).
//!
//! With Y = X^f, the coefficients of a·s at multiples of f are the coefficients of a₀·s₀ + Σ
//! aᵢ(Y)·s_{f−i}(Y)·Y, where aᵢ and sᵢ hold the coefficients at exponents i modulo f. So the
//! encryption becomes one of rank f in the smaller ring. Its modulus is switched first, and one key
//! switch for each sᵢ reduces the rank to one.

use papir_ring::wide::{Poly, Ring};
use papir_ring::{Coefficients, CyclotomicRing, Values};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

use crate::key_switch;
use crate::mod_switch::switch;
use crate::wide::{Gadget, Rlwe, RlweParams, Rows, SecretKey, Workspace};

/// Returns the bodies of the keys, from the parts of `source`, the larger key's coefficients, to
/// `target`.
pub fn bodies(
    params: &RlweParams,
    source: &[i32],
    target: &SecretKey,
    masks: &[Poly<Values>],
    gadget: &Gadget,
    rng: &mut dyn CryptoRng,
) -> Vec<Poly<Values>> {
    let ring = params.ring();
    let parts = masks.len() / gadget.levels();

    masks
        .chunks_exact(gadget.levels())
        .enumerate()
        .flat_map(|(part, masks)| {
            let coefficients = source.iter().skip(part).step_by(parts).copied().collect();
            let coefficients: Zeroizing<Vec<i32>> = Zeroizing::new(coefficients);
            let values = Zeroizing::new(ring.forward(ring.from_signed(&coefficients)));
            key_switch::generate(params, target, &values, masks, gadget, rng)
        })
        .collect()
}

/// Keys of a ring switch.
pub struct RingSwitchKey {
    rows: Rows,
    gadget: Gadget,
}

impl RingSwitchKey {
    /// Creates keys from their rows.
    pub fn new(rows: Rows, gadget: Gadget) -> Self {
        Self { rows, gadget }
    }

    /// Switches an encryption to the smaller ring and its modulus.
    pub fn switch(&self, from: &Ring, to: &Ring, rlwe: &Rlwe) -> Rlwe {
        let a = from.to_words(&rlwe.a);
        let b = from.to_words(&rlwe.b);
        let parts = from.degree() / to.degree();

        let part = |words: &[u64], i: usize| -> Poly<Coefficients> {
            let words = words.iter().skip(i).step_by(parts);
            let switched: Vec<u64> = words
                .map(|&word| switch(word, from.modulus(), to.modulus()))
                .collect();
            to.from_words(&switched)
        };
        // Part i of the secret multiplies part f − i of the mask times Y, and part 0 multiplies
        // part 0.
        let masks: Vec<_> = (0..parts)
            .map(|i| times_y(to, part(&a, (parts - i) % parts), i))
            .collect();

        let mut work = Workspace::new(to, self.rows.count());
        let mut out = Rlwe::zero(to);
        work.multiply_all(
            to,
            &self.gadget,
            &masks.iter().collect::<Vec<_>>(),
            &self.rows,
            &mut out,
        );

        to.add_assign(&mut out.b, &part(&b, 0));
        out
    }
}

/// Returns the factor of part i of the secret: a part of the mask, multiplied by Y unless i is 0.
fn times_y(ring: &Ring, part: Poly<Coefficients>, i: usize) -> Poly<Coefficients> {
    if i == 0 {
        return part;
    }
    let mut rotated = ring.zero();
    ring.rotate(&part, 1, &mut rotated);
    rotated
}
