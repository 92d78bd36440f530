//! Evaluation of f(c) modulo the characteristic polynomial of c.
//!
//! By the Cayley-Hamilton theorem, c is a root of the characteristic polynomial χ of multiplication
//! by c. So f(c) = r(c), where r = f modulo χ has degree 8. f is given by its Newton coefficients:
//! f = R₁ + (T − 1)(R₂ + (T − 2)(R₃ + …)). Each step multiplies r by T − j. T·r is a shift minus
//! r's top coefficient times χ, which takes nine multiplications. j·r takes nine small multiples.

use papir_core::Result;

use super::fhe::{RANK, Ring};
use super::modulus::Modulus;

/// Powers of c and its characteristic polynomial.
pub struct Powers {
    /// c⁰ to c⁸.
    powers: Vec<Vec<u64>>,
    /// T⁹ modulo χ: −χ without its leading 1, the constant coefficient first.
    wrapped: Vec<u64>,
}

impl Powers {
    /// Computes the powers of an element c of the ring, and χ from their traces by Newton's
    /// identities. Multiplication by xⁱyʲ has trace 9 for i = j = 0, and otherwise 0.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for an n with a prime factor below 10.
    pub fn new(ring: &Ring<'_>, c: &[u64]) -> Result<Self> {
        let n = ring.modulus();
        let limbs = n.limbs();

        let mut powers = vec![ring.one(), c.to_vec()];
        while powers.len() <= RANK {
            powers.push(ring.multiply(&powers[powers.len() - 1], c));
        }

        let traces: Vec<Vec<u64>> = powers[1..]
            .iter()
            .map(|power| n.sum([(&power[..limbs], RANK as i64)]))
            .collect();

        // The ninth power was needed for its trace only.
        powers.truncate(RANK);
        let elementary = elementary(n, &traces)?;

        // T⁹ = e₁T⁸ − e₂T⁷ + … + e₉.
        let signed = elementary.iter().enumerate().rev();
        let wrapped =
            signed.flat_map(|(k, e)| n.sum([(e.as_slice(), if k % 2 == 0 { 1 } else { -1 })]));

        Ok(Self {
            powers,
            wrapped: wrapped.collect(),
        })
    }

    /// The coefficients of T⁹ modulo χ, as elements, the constant one first.
    pub fn wrapped(&self) -> &[u64] {
        &self.wrapped
    }

    /// Reduces polynomials modulo χ. Returns nine elements for each. All polynomials have the same
    /// number of Newton coefficients, which are elements, for the nodes 1, 2, ….
    pub fn remainders(&self, n: &Modulus, polynomials: &[&[u64]]) -> Vec<u64> {
        let limbs = n.limbs();
        let rank = RANK * n.limbs();
        let count = polynomials.first().map_or(0, |one| one.len() / limbs);

        // For each polynomial, its next coefficient followed by r. Read from the start, this is T·r
        // plus the coefficient; read after the coefficient, it is r.
        let mut held = n.zeros((RANK + 1) * polynomials.len());
        let [mut products, mut tops, mut shifted, mut kept] =
            [(); 4].map(|()| n.zeros(RANK * polynomials.len()));

        for step in (0..count).rev() {
            for (i, (held, polynomial)) in held
                .chunks_exact_mut(rank + limbs)
                .zip(polynomials)
                .enumerate()
            {
                held[..limbs].copy_from_slice(&polynomial[step * limbs..][..limbs]);
                shifted[i * rank..][..rank].copy_from_slice(&held[..rank]);
                kept[i * rank..][..rank].copy_from_slice(&held[limbs..]);
                tops[i * rank..][..rank]
                    .chunks_exact_mut(limbs)
                    .for_each(|top| top.copy_from_slice(&held[rank..]));
                products[i * rank..][..rank].copy_from_slice(&self.wrapped);
            }

            n.wide().multiply(&mut products, &tops);
            n.wide()
                .add_multiples(&mut products, [(&shifted, 1), (&kept, -(step as i64 + 1))]);

            for (held, product) in held
                .chunks_exact_mut(rank + limbs)
                .zip(products.chunks_exact(rank))
            {
                held[limbs..].copy_from_slice(product);
            }
        }
        products
    }

    /// Returns r(c) = Σ rₖ·cᵏ in integers below n.
    pub fn evaluate(&self, n: &Modulus, remainder: &[u64]) -> Vec<u64> {
        let mut sum = n.zeros(RANK);
        for (power, coefficient) in self.powers.iter().zip(remainder.chunks_exact(n.limbs())) {
            let mut term = power.clone();
            n.wide().multiply_all(&mut term, coefficient);
            n.wide().add_multiples(&mut sum, [(&term, 1)]);
        }
        n.leave(&sum)
    }
}

/// Computes the elementary symmetric functions e₁ to e₉ from power sums by Newton's identities:
/// k·eₖ = Σ (−1)^(i−1)·e_(k−i)·pᵢ.
fn elementary(n: &Modulus, sums: &[Vec<u64>]) -> Result<Vec<Vec<u64>>> {
    // One inversion for all k: 1/k is 9!/k times 1/9!, and 9!/k is an integer.
    let factorial: i64 = (1..=RANK as i64).product();
    let inverse = n.inverse(&n.small(factorial as u64))?;

    let mut all = vec![n.wide().one().to_vec()];
    for k in 1..=RANK {
        let terms = (1..=k).map(|i| {
            (
                n.product(&all[k - i], &sums[i - 1]),
                if i % 2 == 1 { 1 } else { -1 },
            )
        });
        let terms: Vec<_> = terms.collect();

        let multiple = n.sum(terms.iter().map(|(term, sign)| (term.as_slice(), *sign)));
        let fraction = n.sum([(inverse.as_slice(), factorial / k as i64)]);
        all.push(n.product(&multiple, &fraction));
    }

    all.remove(0);
    Ok(all)
}
