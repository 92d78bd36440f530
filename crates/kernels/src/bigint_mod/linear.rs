//! Sums of small multiples of elements, in any radix.
//!
//! A sum V of multiples of elements is brought below 2m by subtracting q·m, where q is the integer
//! part of V/m − ½ in floating point. The floating-point error is far below ½, so V − q·m is
//! between m/4 and 7m/4. Computing q takes no branch.

use super::field::Field;

/// Bound on the absolute value of scales. Below it, sums of 64-bit limbs times scales fit 128 bits,
/// and quotients keep twenty bits after the point.
pub const MAX_SCALE: i64 = 1 << 30;

/// The modulus in the form in which sums use it.
pub(super) struct Sums<'a> {
    modulus: &'a [u64],
    bits: u32,
    /// The limb with the highest bit of 2m.
    top: usize,
    /// 1/m in units of the limb `top`.
    inverse: f64,
}

impl<'a> Sums<'a> {
    /// For an ordinary modulus.
    pub(super) fn new(field: &'a Field) -> Self {
        let modulus = field.root_limbs();
        let bits = field.limb_bits();
        let length = modulus.iter().rposition(|&limb| limb != 0).unwrap_or(0);
        let top = length + usize::from(modulus[length] >> (bits - 1) != 0);

        let mut sums = Self {
            modulus,
            bits,
            top,
            inverse: 0.0,
        };
        sums.inverse = 1.0 / sums.approximate(modulus);
        sums
    }

    /// `acc += Σ scale·x`, below 2m for x and acc below 2m.
    pub(super) fn add<const N: usize>(&self, acc: &mut [u64], terms: [(&[u64], i64); N]) {
        let start = self.approximate(acc);
        let sum = terms.iter().fold(start, |sum, (x, scale)| {
            sum + *scale as f64 * self.approximate(x)
        });
        let quotient = (sum * self.inverse - 0.5).floor() as i64;

        // The carry is signed: a partial sum may be negative although the total is not. Scales are
        // below 2^30 and the quotient below (N + 1)·2^31, so the products of N limbs fit 127 bits.
        let mask = u64::MAX >> (64 - self.bits);
        let mut carry = 0i128;
        for (k, (out, modulus)) in acc.iter_mut().zip(self.modulus).enumerate() {
            carry += i128::from(*out) - i128::from(quotient) * i128::from(*modulus);
            for (x, scale) in &terms {
                carry += i128::from(*scale) * i128::from(x[k]);
            }
            *out = carry as u64 & mask;
            carry >>= self.bits;
        }

        debug_assert_eq!(carry, 0, "sum outside 0 to 2m");
    }

    /// A number below 2m in units of the limb `top`, from its highest three limbs.
    fn approximate(&self, x: &[u64]) -> f64 {
        let unit = (-f64::from(self.bits)).exp2();
        let limb = |below: usize| self.top.checked_sub(below).map_or(0.0, |k| x[k] as f64);
        limb(0) + unit * (limb(1) + unit * limb(2))
    }
}
