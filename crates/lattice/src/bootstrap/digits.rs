//! Digit and bit decomposition of LWE messages.
//!
//! A message of d·v bits has d digits of v bits, the lowest first. Extracting a digit takes two
//! rotations, and splitting it into bits one more. The torus element of a message m is m/2^(d·v).
//! Shifting its encryption to the left moves the lowest digit to the top, which is the paper's
//! reduction modulo 2N for power-of-two moduli.

use papir_ring::wide::{Poly, Ring};
use papir_ring::{Coefficients, CyclotomicRing};

use super::lwe::{Lwe, SwitchKey};
use super::rotation::RotationKey;
use crate::wide::Rlwe;

/// Ring, switch key and rotation key of a short key.
#[derive(Clone, Copy)]
pub struct Rotator<'a> {
    /// Ring of the rotation.
    pub ring: &'a Ring,
    /// Key switching to the short key.
    pub switch: &'a SwitchKey,
    /// Blind rotation under the short key.
    pub rotation: &'a RotationKey,
}

impl Rotator<'_> {
    fn degree(&self) -> usize {
        self.ring.degree()
    }

    /// Returns RLWE(T·X^phase).
    fn rotate(&self, lwe: &Lwe, table: Poly<Coefficients>) -> Rlwe {
        let exponents = self.switch.exponents(lwe, 2 * self.degree() as u32, 1);
        let mut accumulator = Rlwe {
            a: self.ring.zero(),
            b: table,
        };
        self.rotation
            .rotate(self.ring, &mut accumulator, &exponents);
        accumulator
    }

    /// Returns round(q·numerator/2^log2) modulo q: a fraction of a turn.
    fn turns(&self, numerator: u64, log2: u32) -> u64 {
        let q = u128::from(self.ring.modulus());
        let rounded = (q * u128::from(numerator) + (1u128 << log2 >> 1)) >> log2;
        (rounded % q) as u64
    }

    /// Returns the table T for which coefficient 0 of T·X^i is f(i) for i below d, hence −f(i − d)
    /// from d on.
    fn table(&self, f: impl Fn(usize) -> u64) -> Poly<Coefficients> {
        let d = self.degree();
        let q = self.ring.modulus();
        // Since X^d = −1, coefficient d − i reaches index 0 with its sign changed.
        let coefficients: Vec<u64> = (0..d)
            .map(|k| if k == 0 { f(0) } else { (q - f(d - k)) % q })
            .collect();
        self.ring.from_words(&coefficients)
    }

    /// [`Rotator::table`] for exponents with errors: f is evaluated at the nearest of
    /// 2^`log2_values` values that divide half a turn, d exponents, evenly.
    fn digit_table(&self, log2_values: u32, f: impl Fn(u64) -> u64) -> Poly<Coefficients> {
        let width = self.degree() >> log2_values;
        let q = self.ring.modulus();
        // Just below half a turn the nearest value is 2^log2_values: value 0 with its sign changed.
        self.table(|i| match ((i + width / 2) / width) as u64 {
            value if value >> log2_values == 1 => (q - f(0)) % q,
            value => f(value),
        })
    }

    /// Adds a constant to the message of an encryption.
    fn add(&self, mut rlwe: Rlwe, constant: u64) -> Rlwe {
        let mut words = vec![0; self.degree()];
        words[0] = constant % self.ring.modulus();
        self.ring
            .add_assign(&mut rlwe.b, &self.ring.from_words(&words));
        rlwe
    }

    /// HomFloor: extracts one digit of v bits.
    ///
    /// The message has `bits` bits, the lowest `zeros` of which are zero. Returns its encryption
    /// with the next v bits cleared, and the encryption of these v bits in units of 2^−v of a turn
    /// (Liu, Micciancio, Polyakov, *Large-precision homomorphic sign evaluation*, Algorithms 3 and
    /// 4; the paper's Algorithm 2). It takes two rotations: one for the digit's top bit, whose
    /// table is negacyclic by itself, and one for the other bits, which without the top bit are
    /// below half a turn.
    ///
    /// # Panics
    /// In debug builds, unless 2 ≤ v ≤ `bits` − `zeros`.
    pub fn floor(&self, lwe: &Lwe, bits: u32, zeros: u32, v: u32) -> (Lwe, Lwe) {
        debug_assert!(
            (2..=bits - zeros).contains(&v),
            "digits of 2 to {} bits, not {v}",
            bits - zeros
        );

        let shift = bits - zeros - v;
        let q = self.ring.modulus();
        let digit = lwe.shifted(shift);

        // The rotation gives half the value of the top bit if it is clear, and minus that if it is
        // set. Subtracting the half leaves zero or minus the top bit.
        let half = self.turns(1, shift + 2);
        let sign = self.rotate(&centred(&digit, v), self.table(|_| half));
        let mut left = lwe.clone();
        left.add_shifted(&Lwe::extract(self.ring, &self.add(sign, q - half), 0), 0);

        // Without its top bit the digit lies in the half turn that a table covers.
        let rest = self.digit_table(v - 1, |value| (q - self.turns(value, shift + v)) % q);
        let rest = self.rotate(&left.shifted(shift), rest);
        left.add_shifted(&Lwe::extract(self.ring, &rest, 0), 0);

        (left, digit)
    }

    /// Multiplies an encryption by a small polynomial and by a constant.
    fn times(&self, rlwe: &Rlwe, polynomial: &[i32], factor: u64) -> Rlwe {
        let polynomial = self.ring.forward(self.ring.from_signed(polynomial));
        let [a, b] = [&rlwe.a, &rlwe.b].map(|part| {
            let product = self.ring.mul(&self.ring.forward(part.clone()), &polynomial);
            self.ring.scale(&self.ring.inverse(product), factor)
        });
        Rlwe { a, b }
    }

    /// Returns the polynomial p for which coefficient 0 of X^i·p is `value(i)` for i below d.
    fn polynomial(&self, value: impl Fn(usize) -> i32) -> Vec<i32> {
        let d = self.degree();
        // Coefficient 0 of X^i·Σ p_j·X^j is −p_{d − i}, and p_0 for i = 0.
        (0..d)
            .map(|k| if k == 0 { value(0) } else { -value(d - k) })
            .collect()
    }

    /// Returns the bits of a digit, lowest first, each as zero or half a turn.
    ///
    /// The digit has v bits, in units of 2^−v of a turn. The bits take one rotation of a constant
    /// and, for each, a product with a polynomial of zeros and ones (the paper's Algorithm 1). A
    /// product multiplies the rotation's error by at most the square root of d.
    pub fn bits(&self, digit: &Lwe, v: u32) -> Vec<Lwe> {
        let width = (2 * self.degree()) >> v;
        let quarter = self.turns(1, 2);
        let mut constant = vec![0; self.degree()];
        constant[0] = quarter;
        let rotated = self.rotate(&centred(digit, v), self.ring.from_words(&constant));

        // Half a turn equals its negative, so the sign change in the upper half of a turn has no
        // effect.
        let mut bits = Vec::with_capacity(v as usize);
        for bit in 0..v - 1 {
            let set = self.polynomial(|i| i32::from((i / width) >> bit & 1 == 1));
            let product = self.times(&rotated, &set, 2);
            bits.push(Lwe::extract(self.ring, &product, 0));
        }

        // A quarter in the lower half of a turn, minus a quarter in the upper half. Subtracting a
        // quarter leaves zero or half a turn.
        let sign = self.times(&rotated, &self.polynomial(|_| 1), 1);
        let sign = self.add(sign, self.ring.modulus() - quarter);
        bits.push(Lwe::extract(self.ring, &sign, 0));

        bits
    }

    /// Returns all bits of a message of digits·v bits, lowest first, each as zero or half a turn.
    ///
    /// Each digit takes three rotations, the last digit only one (the paper's Algorithm 3).
    pub fn decompose(&self, lwe: &Lwe, digits: u32, v: u32) -> Vec<Lwe> {
        let mut left = lwe.clone();
        let mut bits = Vec::new();

        for digit in 1..digits {
            let (rest, lowest) = self.floor(&left, digits * v, (digit - 1) * v, v);
            bits.extend(self.bits(&lowest, v));
            left = rest;
        }

        // Only the highest digit is left, so no rotation has to separate it.
        bits.extend(self.bits(&left, v));
        bits
    }
}

/// Adds half of 2^−v of a turn, so that errors of either sign stay within the digit's interval.
fn centred(digit: &Lwe, v: u32) -> Lwe {
    Lwe {
        a: digit.a.clone(),
        b: digit.b.wrapping_add(1 << (63 - v)),
    }
}
