//! Gadget encryptions laid out for fast products: key switching (InsPIRe, section 2, KS.Switch), the external
//! product (Lemma 2), and what is made of them: blind rotation, automorphisms, CMUX gates.
//!
//! A [`Rows`] is RLWE′(m), one encryption of m·gⱼ for each digit, or RGSW(m), those of s·m·gⱼ followed by
//! those of m·gⱼ (as in [`crate::rgsw`]). A product takes digits in values, sums rows without reductions in
//! between and goes back to coefficients, all in buffers that stay.

use papir_kernels::pointwise;
use papir_ring::{Coefficients, Poly, Ring, Values};
use rayon::prelude::*;

use crate::gadget::Gadget;
use crate::rlwe::Rlwe;

/// Encryptions under one mask each, in values.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    count: usize,
    /// Masks and bodies, of each the rows modulo q₁, then modulo q₂; d words a row.
    parts: [[Vec<u32>; 2]; 2],
}

impl Rows {
    /// Of as many masks as bodies.
    ///
    /// # Panics
    /// When these are not as many.
    pub fn new(masks: &[Poly<Values>], bodies: &[Poly<Values>]) -> Self {
        assert_eq!(masks.len(), bodies.len(), "masks and bodies");
        let part = |rows: &[Poly<Values>]| {
            [0, 1].map(|prime| rows.iter().flat_map(|row| row.parts()[prime]).copied().collect())
        };
        Self { count: masks.len(), parts: [part(masks), part(bodies)] }
    }

    /// Of encryptions in coefficients.
    pub fn of(ring: &Ring, encryptions: Vec<Rlwe>) -> Self {
        let values = encryptions.into_par_iter().map(|row| (ring.forward(row.a), ring.forward(row.b)));
        let (masks, bodies): (Vec<_>, Vec<_>) = values.unzip();
        Self::new(&masks, &bodies)
    }

    /// The masks (part 0) or bodies (part 1) modulo q₁ (prime 0) or q₂: d words a row.
    pub fn residues(&self, part: usize, prime: usize) -> &[u32] {
        &self.parts[part][prime]
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Bytes that rows take in memory.
    pub const fn bytes(degree: usize, count: usize) -> usize {
        2 * 2 * count * degree * size_of::<u32>()
    }
}

/// Digits in values, and where their products come out. Nothing secret goes through it.
pub struct Workspace {
    rows: usize,
    /// Residues modulo q₁ and q₂ below 4q, d a row.
    digits: [Vec<u32>; 2],
}

impl Workspace {
    /// For products of up to so many rows.
    pub fn new(ring: &Ring, rows: usize) -> Self {
        Self { rows: 0, digits: [0, 1].map(|_| vec![0; rows * ring.degree()]) }
    }

    /// Takes the digits of these polynomials, one after the other.
    ///
    /// # Panics
    /// When they are more than the workspace has rows.
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

    /// Σ digitⱼ·rowⱼ.
    fn product(&self, ring: &Ring, rows: &Rows, out: &mut Rlwe) {
        debug_assert_eq!(self.rows, rows.count, "as many digits as rows");
        let words = self.rows * ring.degree();
        for (out, part) in [&mut out.a, &mut out.b].into_iter().zip(&rows.parts) {
            for (prime, out) in out.parts_mut().into_iter().enumerate() {
                pointwise::dot(out, &self.digits[prime][..words], &part[prime], ring.primes()[prime]);
                ring.table(prime).inverse(out);
            }
        }
    }

    /// RLWE′(m) times a polynomial: an encryption of poly·m.
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

    /// Σ polyᵢ·mᵢ for RLWE′(m₀), RLWE′(m₁), … in one.
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

    /// RGSW(m₁) ⊡ RLWE(m₀) = RLWE(m₀·m₁).
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
