//! Products of gadget digits with encrypted rows.
//!
//! A [`Rows`] is RLWE′(m), one encryption of m·gⱼ for each digit j, or RGSW(m), the encryptions of
//! s·m·gⱼ followed by those of m·gⱼ (see [`crate::rgsw`]). These products implement key switching
//! (InsPIRe, section 2, KS.Switch), the external product (Lemma 2), blind rotation, automorphisms
//! and CMUX gates. A product transforms the digits, sums digits times rows without intermediate
//! reductions, and transforms back to coefficients, in reused buffers.

use papir_kernels::pointwise;
use papir_ring::{Coefficients, Poly, Ring, Values};
use rayon::prelude::*;

use crate::gadget::Gadget;
use crate::rlwe::Rlwe;

/// Encryptions in values, one mask and one body each.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    count: usize,
    /// Masks (0) and bodies (1), each modulo q₁ (0) and q₂ (1), d words for each row.
    parts: [[Vec<u32>; 2]; 2],
}

impl Rows {
    /// Creates rows from masks and bodies.
    ///
    /// # Panics
    /// If their numbers differ.
    pub fn new(masks: &[Poly<Values>], bodies: &[Poly<Values>]) -> Self {
        assert_eq!(masks.len(), bodies.len(), "masks and bodies");
        let part = |rows: &[Poly<Values>]| {
            [0, 1].map(|prime| rows.iter().flat_map(|row| row.parts()[prime]).copied().collect())
        };
        Self { count: masks.len(), parts: [part(masks), part(bodies)] }
    }

    /// Creates rows from encryptions in coefficients.
    pub fn of(ring: &Ring, encryptions: Vec<Rlwe>) -> Self {
        let values = encryptions.into_par_iter().map(|row| (ring.forward(row.a), ring.forward(row.b)));
        let (masks, bodies): (Vec<_>, Vec<_>) = values.unzip();
        Self::new(&masks, &bodies)
    }

    /// Returns the masks (part 0) or bodies (part 1) modulo q₁ (prime 0) or q₂ (prime 1), d words
    /// for each row.
    pub fn residues(&self, part: usize, prime: usize) -> &[u32] {
        &self.parts[part][prime]
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Memory of `count` rows in bytes.
    pub const fn bytes(degree: usize, count: usize) -> usize {
        2 * 2 * count * degree * size_of::<u32>()
    }
}

/// Buffers for the digits of a product. They hold public values only.
pub struct Workspace {
    rows: usize,
    /// Residues modulo q₁ and q₂ below 4q, d words for each row.
    digits: [Vec<u32>; 2],
}

impl Workspace {
    /// Creates buffers for products of at most `rows` rows.
    pub fn new(ring: &Ring, rows: usize) -> Self {
        Self { rows: 0, digits: [0, 1].map(|_| vec![0; rows * ring.degree()]) }
    }

    /// Decomposes these polynomials, one after another, and transforms the digits.
    ///
    /// # Panics
    /// If they have more digits than the workspace has rows.
    fn decompose(&mut self, ring: &Ring, gadget: &Gadget, polys: &[&Poly<Coefficients>]) {
        let d = ring.degree();
        self.rows = polys.len() * gadget.levels();
        let [first, second] = &mut self.digits;
        let digits = first.chunks_mut(gadget.levels() * d).zip(second.chunks_mut(gadget.levels() * d));
        for (poly, (first, second)) in polys.iter().zip(digits) {
            gadget.decompose_lazy(poly, first, second);
        }
        for (prime, digits) in self.digits.iter_mut().enumerate() {
            let rows = digits[..self.rows * d].chunks_exact_mut(d);
            rows.for_each(|row| ring.table(prime).forward_lazy(row));
        }
    }

    /// Computes Σ digitⱼ·rowⱼ.
    fn product(&self, ring: &Ring, rows: &Rows, out: &mut Rlwe) {
        debug_assert_eq!(self.rows, rows.count, "one digit for each row");
        let words = self.rows * ring.degree();
        for (out, part) in [&mut out.a, &mut out.b].into_iter().zip(&rows.parts) {
            for (prime, out) in out.parts_mut().into_iter().enumerate() {
                // `dot` sums rows without reduction: at most 64 for primes below 2²⁸.
                pointwise::dot(out, &self.digits[prime][..words], &part[prime], ring.primes()[prime]);
                ring.table(prime).inverse(out);
            }
        }
    }

    /// Multiplies RLWE′(m) by a polynomial: `out` encrypts poly·m.
    pub fn multiply(
        &mut self,
        ring: &Ring,
        gadget: &Gadget,
        poly: &Poly<Coefficients>,
        rows: &Rows,
        out: &mut Rlwe,
    ) {
        self.multiply_all(ring, gadget, &[poly], rows, out);
    }

    /// Computes Σ polyᵢ·mᵢ from RLWE′(m₀), RLWE′(m₁), … in one product.
    pub fn multiply_all(
        &mut self,
        ring: &Ring,
        gadget: &Gadget,
        polys: &[&Poly<Coefficients>],
        rows: &Rows,
        out: &mut Rlwe,
    ) {
        self.decompose(ring, gadget, polys);
        self.product(ring, rows, out);
    }

    /// External product: RGSW(m₁) ⊡ RLWE(m₀) = RLWE(m₀·m₁).
    pub fn external_product(
        &mut self,
        ring: &Ring,
        gadget: &Gadget,
        rlwe: &Rlwe,
        rgsw: &Rows,
        out: &mut Rlwe,
    ) {
        self.multiply_all(ring, gadget, &[&rlwe.a, &rlwe.b], rgsw, out);
    }
}
