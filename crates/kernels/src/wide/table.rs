//! Tables of roots for the negacyclic transform modulo a wide prime.

use super::modulus::{Factor, Real};
use super::prime::{is_prime, mul, pow};
use crate::ntt::table::{DEGREES, bit_reverse};

/// Error from [`NttTable::new`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NttError {
    /// d is not a power of two from 16 to 65536.
    #[error("{found} coefficients: expected a power of two from 16 to 65536")]
    Degree {
        /// The given d.
        found: usize,
    },
    /// q is not an odd prime below 2⁵⁰.
    #[error("modulus {found}: expected an odd prime below 2^50")]
    Modulus {
        /// The given q.
        found: u64,
    },
    /// ψ^d is not −1 modulo q.
    #[error("root {found} modulo {q}: expected a primitive {order}-th root of unity")]
    Root {
        /// The given ψ.
        found: u64,
        /// The modulus.
        q: u64,
        /// The order 2d that the root must have.
        order: usize,
    },
}

/// Powers of a root in bit-reversed order, in the forms that backends multiply by, each with values
/// and quotients in separate arrays.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    /// The parts of a [`Factor`].
    pub(crate) values: Vec<u64>,
    pub(crate) quotients: Vec<u64>,
    /// The parts of a [`Real`].
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "AVX2 only"))]
    pub(crate) reals: Vec<f64>,
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "AVX2 only"))]
    pub(crate) ratios: Vec<f64>,
}

impl Roots {
    /// Puts the given powers into bit-reversed order.
    fn new(powers: &[u64], q: u64) -> Self {
        let bits = powers.len().ilog2();
        let ordered = (0..powers.len()).map(|k| powers[bit_reverse(k, bits)]);
        let factors = ordered.clone().map(|w| Factor::new(w, q));

        let (values, quotients) = factors
            .map(|factor| (factor.value, factor.quotient))
            .unzip();
        let (reals, ratios) = ordered
            .map(|w| Real::new(w, q))
            .map(|real| (real.value, real.ratio))
            .unzip();

        Self {
            values,
            quotients,
            reals,
            ratios,
        }
    }

    /// The root at an index.
    #[inline(always)]
    pub(crate) fn at(&self, index: usize) -> Factor {
        Factor {
            value: self.values[index],
            quotient: self.quotients[index],
        }
    }
}

/// The roots of one modulus and one degree.
#[derive(Debug, Clone)]
pub struct NttTable {
    pub(crate) q: u64,
    pub(crate) d: usize,
    /// ψ^brv(k).
    pub(crate) roots: Roots,
    /// ψ^−brv(k).
    pub(crate) inverse_roots: Roots,
    /// 1/d, and 1/d times the root of the last stage of the inverse.
    pub(crate) last: [Factor; 2],
    /// The same.
    #[cfg_attr(not(target_arch = "x86_64"), expect(dead_code, reason = "AVX2 only"))]
    pub(crate) last_reals: [Real; 2],
}

impl NttTable {
    /// A table for an odd prime q below 2⁵⁰ and a ψ with ψ^d = −1 modulo q.
    ///
    /// # Errors
    /// [`NttError`] names the one of d, q and ψ that is invalid.
    pub fn new(q: u64, psi: u64, d: usize) -> Result<Self, NttError> {
        check(q, psi, d)?;

        let mut powers = vec![1; d];
        for k in 1..d {
            powers[k] = mul(powers[k - 1], psi, q);
        }

        // ψ^d = −1, so ψ^−k = −ψ^(d−k).
        let mut inverses = vec![1; d];
        for k in 1..d {
            inverses[k] = q - powers[d - k];
        }

        let scale = pow(d as u64, q - 2, q);
        // Index 1 in bit-reversed order is the power of d/2.
        let last = mul(scale, inverses[d / 2], q);

        Ok(Self {
            q,
            d,
            roots: Roots::new(&powers, q),
            inverse_roots: Roots::new(&inverses, q),
            last: [scale, last].map(|w| Factor::new(w, q)),
            last_reals: [scale, last].map(|w| Real::new(w, q)),
        })
    }

    /// The modulus q.
    pub const fn modulus(&self) -> u64 {
        self.q
    }

    /// The number of coefficients d.
    pub const fn degree(&self) -> usize {
        self.d
    }

    /// The exponent e = 2·brv(k) + 1 for which slot k holds the value at ψ^e.
    pub const fn exponent_of_slot(&self, k: usize) -> usize {
        2 * bit_reverse(k, self.d.ilog2()) + 1
    }
}

/// Checks d, q and ψ.
fn check(q: u64, psi: u64, d: usize) -> Result<(), NttError> {
    if !d.is_power_of_two() || !DEGREES.contains(&d) {
        return Err(NttError::Degree { found: d });
    }
    if q >= 1 << 50 || q == 2 || !is_prime(q) {
        return Err(NttError::Modulus { found: q });
    }
    // d is a power of two, so ψ^d = −1 makes the order of ψ exactly 2d.
    if psi >= q || pow(psi, d as u64, q) != q - 1 {
        return Err(NttError::Root {
            found: psi,
            q,
            order: 2 * d,
        });
    }
    Ok(())
}
