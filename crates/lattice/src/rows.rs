//! Products of gadget digits with encrypted rows.
//!
//! A [`Rows`] is RLWE′(m), one encryption of m·gⱼ for each digit j, or RGSW(m), the encryptions of
//! s·m·gⱼ and then of m·gⱼ (see [`crate::rgsw`]). These products implement key switching (InsPIRe,
//! section 2, KS.Switch), the external product (Lemma 2), blind rotation, automorphisms and CMUX
//! gates. A product transforms the digits, sums digits times rows without intermediate reductions,
//! and transforms back to coefficients, in reused buffers.
use papir_ring::{Aligned, Coefficients, CyclotomicRing, Poly, Values, Word};
use rayon::prelude::*;

use crate::gadget::Gadget;
use crate::rlwe::Rlwe;

/// Encryptions in values, one mask and one body each.
#[derive(Clone, Debug, Default)]
pub struct Rows<W: Word = u32> {
    count: usize,
    /// Masks (0) and bodies (1): modulo each prime, d words for each row.
    parts: [Aligned<W>; 2],
}

impl<W: Word> Rows<W> {
    /// Creates rows from masks and bodies.
    ///
    /// # Panics
    /// If their numbers differ.
    pub fn new<R: CyclotomicRing<Word = W>>(
        ring: &R,
        masks: &[Poly<Values, W>],
        bodies: &[Poly<Values, W>],
    ) -> Self {
        assert_eq!(masks.len(), bodies.len(), "masks and bodies");
        Self {
            count: masks.len(),
            parts: [by_prime(ring, masks), by_prime(ring, bodies)],
        }
    }

    /// Creates rows from encryptions in coefficients.
    pub fn of<R: CyclotomicRing<Word = W>>(ring: &R, encryptions: Vec<Rlwe<W>>) -> Self {
        let values = encryptions
            .into_par_iter()
            .map(|row| (ring.forward(row.a), ring.forward(row.b)));
        let (masks, bodies): (Vec<_>, Vec<_>) = values.unzip();
        Self::new(ring, &masks, &bodies)
    }

    /// Returns the masks and the bodies modulo a prime: d words for each row.
    pub fn residues<R: CyclotomicRing<Word = W>>(&self, ring: &R, prime: usize) -> [&[W]; 2] {
        let words = self.count * ring.degree();
        [0, 1].map(|part| &self.parts[part][prime * words..][..words])
    }

    /// Number of rows.
    pub fn count(&self) -> usize {
        self.count
    }

    /// Memory of `count` rows in bytes.
    pub fn bytes<R: CyclotomicRing<Word = W>>(ring: &R, count: usize) -> usize {
        2 * R::PRIMES * count * ring.degree() * size_of::<W>()
    }
}

/// Returns the residues of all rows modulo the first prime, then modulo the next.
fn by_prime<R: CyclotomicRing>(ring: &R, rows: &[Poly<Values, R::Word>]) -> Aligned<R::Word> {
    let d = ring.degree();
    let mut words = Aligned::zeroed(R::PRIMES * rows.len() * d);
    // Primes outside, rows inside: a product modulo one prime reads one run of words.
    for (place, out) in words.chunks_exact_mut(d).enumerate() {
        let prime = place / rows.len();
        let row = place % rows.len();
        out.copy_from_slice(&rows[row].residues()[prime * d..][..d]);
    }
    words
}

/// Buffers for the digits of a product. They hold public values only.
pub struct Workspace<W: Word = u32> {
    rows: usize,
    /// For each prime, residues below 4 times the prime, d words for each row.
    digits: Vec<Aligned<W>>,
}

impl<W: Word> Workspace<W> {
    /// Creates buffers for products of at most `rows` rows.
    pub fn new<R: CyclotomicRing<Word = W>>(ring: &R, rows: usize) -> Self {
        Self {
            rows: 0,
            digits: vec![Aligned::zeroed(rows * ring.degree()); R::PRIMES],
        }
    }

    /// Decomposes these polynomials, one after another, and transforms the digits.
    ///
    /// # Panics
    /// If they have more digits than the workspace has rows.
    fn decompose<R: CyclotomicRing<Word = W>>(
        &mut self,
        ring: &R,
        gadget: &Gadget<R>,
        polys: &[&Poly<Coefficients, W>],
    ) {
        let d = ring.degree();
        let each = gadget.levels() * ring.degree();
        self.rows = polys.len() * gadget.levels();

        for (place, poly) in polys.iter().enumerate() {
            let outs = self
                .digits
                .iter_mut()
                .map(|digits| &mut digits[place * each..][..each]);
            gadget.decompose_lazy(ring, poly, &mut outs.collect::<Vec<_>>());
        }

        // Digits are residues below 2q, and lazy transforms leave values below 4q, which products
        // accept.
        for (prime, digits) in self.digits.iter_mut().enumerate() {
            let rows = digits[..self.rows * d].chunks_exact_mut(d);
            rows.for_each(|row| ring.forward_lazy(prime, row));
        }
    }

    /// Computes Σ digitⱼ·rowⱼ.
    fn product<R: CyclotomicRing<Word = W>>(&self, ring: &R, rows: &Rows<W>, out: &mut Rlwe<W>) {
        debug_assert_eq!(self.rows, rows.count, "one digit for each row");
        let d = ring.degree();

        let outs = out
            .a
            .residues_mut()
            .chunks_exact_mut(d)
            .zip(out.b.residues_mut().chunks_exact_mut(d));

        for (prime, (a, b)) in outs.enumerate() {
            // Sums rows without reduction: at most 64.
            ring.products(
                prime,
                [a, b],
                &self.digits[prime][..self.rows * d],
                rows.residues(ring, prime),
            );
        }
    }

    /// Multiplies RLWE′(m) by a polynomial: `out` encrypts poly·m.
    pub fn multiply<R: CyclotomicRing<Word = W>>(
        &mut self,
        ring: &R,
        gadget: &Gadget<R>,
        poly: &Poly<Coefficients, W>,
        rows: &Rows<W>,
        out: &mut Rlwe<W>,
    ) {
        self.multiply_all(ring, gadget, &[poly], rows, out);
    }

    /// Computes Σ polyᵢ·mᵢ from RLWE′(m₀), RLWE′(m₁), … in one product.
    pub fn multiply_all<R: CyclotomicRing<Word = W>>(
        &mut self,
        ring: &R,
        gadget: &Gadget<R>,
        polys: &[&Poly<Coefficients, W>],
        rows: &Rows<W>,
        out: &mut Rlwe<W>,
    ) {
        self.decompose(ring, gadget, polys);
        self.product(ring, rows, out);
    }

    /// External product: RGSW(m₁) ⊡ RLWE(m₀) = RLWE(m₀·m₁).
    pub fn external_product<R: CyclotomicRing<Word = W>>(
        &mut self,
        ring: &R,
        gadget: &Gadget<R>,
        rlwe: &Rlwe<W>,
        rgsw: &Rows<W>,
        out: &mut Rlwe<W>,
    ) {
        self.multiply_all(ring, gadget, &[&rlwe.a, &rlwe.b], rgsw, out);
    }
}
