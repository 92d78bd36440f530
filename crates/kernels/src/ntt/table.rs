//! Tables of roots for the negacyclic transform.

use crate::modulus::Factor;

/// The smallest and largest number of coefficients.
pub(crate) const DEGREES: std::ops::RangeInclusive<usize> = 16..=65536;

/// Error from [`NttTable::new`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NttError {
    /// d is not a power of two from 16 to 65536.
    #[error("{found} coefficients: expected a power of two from 16 to 65536")]
    Degree {
        /// The given d.
        found: usize,
    },
    /// q is not an odd prime below 2³⁰.
    #[error("modulus {found}: expected an odd prime below 2^30")]
    Modulus {
        /// The given q.
        found: u32,
    },
    /// ψ^d is not −1 modulo q.
    #[error("root {found} modulo {q}: expected a primitive {order}-th root of unity")]
    Root {
        /// The given ψ.
        found: u32,
        /// The modulus.
        q: u32,
        /// The order 2d that the root must have.
        order: usize,
    },
}

/// Powers of a root in bit-reversed order, with values and Shoup quotients in separate arrays.
#[derive(Debug, Clone)]
pub(crate) struct Roots {
    pub(crate) values: Vec<u32>,
    pub(crate) quotients: Vec<u32>,
}

impl Roots {
    /// Puts the given powers into bit-reversed order.
    fn new(powers: &[u32], q: u32) -> Self {
        let bits = powers.len().ilog2();
        let factor = |k: usize| Factor::new(powers[bit_reverse(k, bits)], q);
        Self {
            values: (0..powers.len()).map(|k| factor(k).value).collect(),
            quotients: (0..powers.len()).map(|k| factor(k).quotient).collect(),
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
    pub(crate) q: u32,
    pub(crate) d: usize,
    /// ψ^brv(k).
    pub(crate) roots: Roots,
    /// ψ^−brv(k).
    pub(crate) inverse_roots: Roots,
    /// 1/d.
    pub(crate) scale: Factor,
    /// 1/d times the root of the last stage of the inverse.
    pub(crate) scaled_root: Factor,
}

impl NttTable {
    /// A table for an odd prime q below 2³⁰ and a ψ with ψ^d = −1 modulo q.
    ///
    /// # Errors
    /// [`NttError`] names the one of d, q and ψ that is invalid.
    pub fn new(q: u32, psi: u32, d: usize) -> Result<Self, NttError> {
        check(q, psi, d)?;

        let mut powers = vec![1u32; d];
        for k in 1..d {
            powers[k] = mul(powers[k - 1], psi, q);
        }

        // ψ^d = −1, so ψ^−k = −ψ^(d−k).
        let mut inverses = vec![1u32; d];
        for k in 1..d {
            inverses[k] = q - powers[d - k];
        }

        let inverse_roots = Roots::new(&inverses, q);
        // The last stage of the inverse also divides by d, which saves a pass over the
        // coefficients. q is prime, so d^(q − 2) is 1/d.
        let scale = pow(d as u32 % q, u64::from(q) - 2, q);
        let last = mul(scale, inverse_roots.values[1], q);

        Ok(Self {
            q,
            d,
            roots: Roots::new(&powers, q),
            inverse_roots,
            scale: Factor::new(scale, q),
            scaled_root: Factor::new(last, q),
        })
    }

    /// The modulus q.
    pub const fn modulus(&self) -> u32 {
        self.q
    }

    /// The root ψ.
    pub fn root(&self) -> u32 {
        // Half of d is 1 in reversed order.
        self.roots.values[self.d / 2]
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
fn check(q: u32, psi: u32, d: usize) -> Result<(), NttError> {
    if !d.is_power_of_two() || !DEGREES.contains(&d) {
        return Err(NttError::Degree { found: d });
    }
    if q >= 1 << 30 || !is_odd_prime(q) {
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

/// Trial division, which is fast enough for a q below 2³⁰. q is public.
fn is_odd_prime(q: u32) -> bool {
    // The last factor tried is below 2¹⁵ + 2, so no square overflows.
    let odd_factors = (3u32..).step_by(2).take_while(|f| f * f <= q);
    q >= 3 && q % 2 == 1 && odd_factors.into_iter().all(|f| !q.is_multiple_of(f))
}

/// a·b modulo q.
fn mul(a: u32, b: u32, q: u32) -> u32 {
    (u64::from(a) * u64::from(b) % u64::from(q)) as u32
}

/// base^exponent modulo q.
fn pow(base: u32, exponent: u64, q: u32) -> u32 {
    let mut square = base;
    let mut result = 1;
    for bit in 0..u64::BITS - exponent.leading_zeros() {
        if exponent >> bit & 1 == 1 {
            result = mul(result, square, q);
        }
        square = mul(square, square, q);
    }
    result
}

/// The low `bits` bits of k in reverse order.
pub(crate) const fn bit_reverse(k: usize, bits: u32) -> usize {
    k.reverse_bits() >> (usize::BITS - bits)
}
