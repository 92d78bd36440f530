//! Slot-by-slot arithmetic on residues modulo q < 2³⁰.

use crate::dispatch::same_length;
pub use crate::modulus::Modulus;

kernel! {
    /// out = a + b mod q; inputs below q.
    pub fn add(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus)
    checks { same_length([out.len(), a.len(), b.len()]) }
    in pointwise;
}

kernel! {
    /// acc = acc + a mod q; inputs below q.
    pub fn add_assign(acc: &mut [u32], a: &[u32], modulus: Modulus)
    checks { same_length([acc.len(), a.len()]) }
    in pointwise;
}

kernel! {
    /// out = a − b mod q; inputs below q.
    pub fn sub(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus)
    checks { same_length([out.len(), a.len(), b.len()]) }
    in pointwise;
}

kernel! {
    /// acc = acc − a mod q; inputs below q.
    pub fn sub_assign(acc: &mut [u32], a: &[u32], modulus: Modulus)
    checks { same_length([acc.len(), a.len()]) }
    in pointwise;
}

kernel! {
    /// out = −a mod q; inputs below q.
    pub fn neg(out: &mut [u32], a: &[u32], modulus: Modulus)
    checks { same_length([out.len(), a.len()]) }
    in pointwise;
}

kernel! {
    /// out = a·b mod q; inputs below q.
    pub fn mul(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus)
    checks { same_length([out.len(), a.len(), b.len()]) }
    in pointwise;
}

kernel! {
    /// acc = acc·a mod q; inputs below q.
    pub fn mul_assign(acc: &mut [u32], a: &[u32], modulus: Modulus)
    checks { same_length([acc.len(), a.len()]) }
    in pointwise;
}

kernel! {
    /// out = constant·a mod q, for a constant below q and any words `a`.
    pub fn scale(out: &mut [u32], a: &[u32], constant: u32, modulus: Modulus)
    checks {
        same_length([out.len(), a.len()]);
        assert!(constant < modulus.value(), "the constant must be below the modulus");
    }
    in pointwise;
}

kernel! {
    /// acc = acc + a·b without reduction.
    ///
    /// An accumulator that starts at zero holds 2^(64 − 2b) products of words below 2^b: 16 for
    /// b = 30, 256 for b = 28. More products wrap.
    pub fn mul_accumulate(acc: &mut [u64], a: &[u32], b: &[u32])
    checks { same_length([acc.len(), a.len(), b.len()]) }
    in pointwise;
}

kernel! {
    /// out = acc mod q, exact for any words.
    pub fn reduce(out: &mut [u32], acc: &[u64], modulus: Modulus)
    checks { same_length([out.len(), acc.len()]) }
    in pointwise;
}

kernel! {
    /// out = Σ_j a_j·b_j mod q over the rows of `a` and `b`, each as long as `out`.
    ///
    /// Words of `a` must be below 4q and words of `b` below q; larger ones give wrong residues.
    /// At most 2^(62 − 2·log₂ q) rows: 64 for q below 2²⁸.
    pub fn dot(out: &mut [u32], a: &[u32], b: &[u32], modulus: Modulus)
    checks {
        same_length([a.len(), b.len()]);
        assert!(!out.is_empty() && a.len().is_multiple_of(out.len()), "rows must have {} words", out.len());
        let q = u128::from(modulus.value());
        assert!((a.len() / out.len()) as u128 * 4 * q * q <= 1 << 64, "the sum of products must fit 64 bits");
    }
    in pointwise;
}

kernel! {
    /// out = Σ_j w_j·row_j mod q over `weights` and the rows of `rows`, each as long as `out`.
    ///
    /// All words must be below q, or their sums of products at most 2⁶⁴ − 1; larger sums give wrong
    /// residues. At most 2^(64 − 2·log₂ q) rows: 256 for q below 2²⁸.
    pub fn combine(out: &mut [u32], rows: &[u32], weights: &[u32], modulus: Modulus)
    checks {
        same_length([rows.len(), weights.len() * out.len()]);
        let q = u128::from(modulus.value());
        assert!(weights.len() as u128 * q * q <= 1 << 64, "the sum of products must fit 64 bits");
    }
    in pointwise;
}
