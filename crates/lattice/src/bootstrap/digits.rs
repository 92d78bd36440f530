//! The paper's decomposition of a message of d·v bits: digits of v bits from the lowest up, two rotations each,
//! and the bits of a digit by one rotation.
//!
//! A message m of so many bits is m/2^(d·v) of a turn. Shifting its encryption to the left leaves the lowest
//! digit on top, which the paper's reduction modulo 2N does for moduli that are powers of two.

use papir_ring::{Coefficients, Poly, Ring};

use super::lwe::{Lwe, SwitchKey};
use super::rotation::RotationKey;
use crate::rlwe::Rlwe;

/// A short key's switch and rotation, with the ring that they work in.
#[derive(Clone, Copy)]
pub struct Rotator<'a> {
    /// The ring of the rotation.
    pub ring: &'a Ring,
    /// To the short key.
    pub switch: &'a SwitchKey,
    /// By the short key.
    pub rotation: &'a RotationKey,
}

impl Rotator<'_> {
    fn degree(&self) -> usize {
        self.ring.degree()
    }

    /// RLWE(T·X^phase).
    fn rotate(&self, lwe: &Lwe, table: Poly<Coefficients>) -> Rlwe {
        let exponents = self.switch.exponents(lwe, 2 * self.degree() as u32, 1);
        let mut accumulator = Rlwe { a: self.ring.zero(), b: table };
        self.rotation.rotate(self.ring, &mut accumulator, &exponents);
        accumulator
    }

    /// round(q·numerator/2^log2): a part of a turn modulo q.
    fn turns(&self, numerator: u64, log2: u32) -> u64 {
        let q = u128::from(self.ring.modulus());
        let rounded = (q * u128::from(numerator) + (1u128 << log2 >> 1)) >> log2;
        (rounded % q) as u64
    }

    /// The table T of which coefficient 0 of T·X^i is f(i) for i below d (and so −f(i − d) from d on).
    fn table(&self, f: impl Fn(usize) -> u64) -> Poly<Coefficients> {
        let (d, q) = (self.degree(), self.ring.modulus());
        // X^d is −1: coefficient d − i comes to place 0 with its sign changed.
        let coefficient = |k: usize| if k == 0 { f(0) } else { (q - f(d - k)) % q };
        self.ring.from_words(&(0..d).map(coefficient).collect::<Vec<_>>())
    }

    /// As [`Rotator::table`], of exponents that stray: f of the nearest value of `log2_values` bits to a half
    /// turn of d exponents.
    fn digit_table(&self, log2_values: u32, f: impl Fn(u64) -> u64) -> Poly<Coefficients> {
        let width = self.degree() >> log2_values;
        let q = self.ring.modulus();
        // Just below a half turn is the value 2^log2_values, which is 0 with its sign changed.
        let nearest = |i: usize| ((i + width / 2) / width) as u64;
        self.table(|i| match nearest(i) {
            value if value >> log2_values == 1 => (q - f(0)) % q,
            value => f(value),
        })
    }

    /// Adds a constant to an encryption's message.
    fn add(&self, mut rlwe: Rlwe, constant: u64) -> Rlwe {
        let mut words = vec![0; self.degree()];
        words[0] = constant % self.ring.modulus();
        self.ring.add_assign(&mut rlwe.b, &self.ring.from_words(&words));
        rlwe
    }

    /// HomFloor: of a message of `bits` bits whose lowest `place` are zero, the encryption without the next v,
    /// and that of these v bits in 2^v parts of a turn (Liu, Micciancio, Polyakov, *Large-precision homomorphic
    /// sign evaluation*, Algorithms 3 and 4; the paper's Algorithm 2). Two rotations: for the digit's top bit,
    /// whose table is negacyclic by itself, then for the others, which are below half a turn without it.
    ///
    /// # Panics
    /// In debug builds, unless 2 ≤ v ≤ `bits` − `place`.
    pub fn floor(&self, lwe: &Lwe, (bits, place): (u32, u32), v: u32) -> (Lwe, Lwe) {
        debug_assert!((2..=bits - place).contains(&v), "digits of 2 to {} bits, not {v}", bits - place);
        let (shift, q) = (bits - place - v, self.ring.modulus());
        let digit = lwe.shifted(shift);
        // Half of what the top bit stands for, or minus that; and that less: nothing, or minus the top bit.
        let half = self.turns(1, shift + 2);
        let sign = self.rotate(&centred(&digit, v), self.table(|_| half));
        let mut left = lwe.clone();
        left.add_shifted(&Lwe::extract(self.ring, &self.add(sign, q - half), 0), 0);
        let rest = self.digit_table(v - 1, |value| (q - self.turns(value, shift + v)) % q);
        let rest = self.rotate(&left.shifted(shift), rest);
        left.add_shifted(&Lwe::extract(self.ring, &rest, 0), 0);
        (left, digit)
    }

    /// The bits of a digit of v bits in 2^v parts of a turn, lowest first, as halves of a turn, by one rotation
    /// of a constant and a product with a polynomial of zeros and ones for each (the paper's Algorithm 1).
    ///
    /// A product multiplies the rotation's error with the square root of d or less.
    pub fn bits(&self, digit: &Lwe, v: u32) -> Vec<Lwe> {
        let (d, width) = (self.degree(), (2 * self.degree()) >> v);
        let quarter = self.turns(1, 2);
        let mut constant = vec![0; d];
        constant[0] = quarter;
        let rotated = self.rotate(&centred(digit, v), self.ring.from_words(&constant));
        let times = |polynomial: Vec<i32>, factor: u64| {
            let polynomial = self.ring.forward(self.ring.from_signed(&polynomial));
            let part = |poly: &Poly<Coefficients>| {
                let product = self.ring.mul(&self.ring.forward(poly.clone()), &polynomial);
                self.ring.scale(&self.ring.inverse(product), factor)
            };
            Rlwe { a: part(&rotated.a), b: part(&rotated.b) }
        };
        // Coefficient 0 of X^i·Σ p_j·X^j is −p_{d − i}, and p_0 for i = 0.
        let polynomial = |value: &dyn Fn(usize) -> i32| -> Vec<i32> {
            (0..d).map(|k| if k == 0 { value(0) } else { -value(d - k) }).collect()
        };
        // Half a turn and its negative are the same: the sign of the upper half of a turn does not matter.
        let lower = (0..v - 1).map(|bit| {
            let set = |i: usize| i32::from((i / width) >> bit & 1 == 1);
            Lwe::extract(self.ring, &times(polynomial(&set), 2), 0)
        });
        let mut bits: Vec<Lwe> = lower.collect();
        // + a quarter below half a turn, − a quarter above; a quarter less, that is nothing or half a turn.
        let sign = self.add(times(polynomial(&|_| 1), 1), self.ring.modulus() - quarter);
        bits.push(Lwe::extract(self.ring, &sign, 0));
        bits
    }

    /// All bits of a message of digits·v bits, lowest first, as halves of a turn: three rotations a digit but
    /// one for the last (the paper's Algorithm 3).
    pub fn decompose(&self, lwe: &Lwe, digits: u32, v: u32) -> Vec<Lwe> {
        let (mut left, mut bits) = (lwe.clone(), Vec::new());
        for digit in 1..digits {
            let (rest, lowest) = self.floor(&left, (digits * v, (digit - 1) * v), v);
            bits.extend(self.bits(&lowest, v));
            left = rest;
        }
        bits.extend(self.bits(&left, v));
        bits
    }
}

/// Half a part of 2^v parts of a turn more: errors of either sign stay within the part.
fn centred(digit: &Lwe, v: u32) -> Lwe {
    Lwe { a: digit.a.clone(), b: digit.b.wrapping_add(1 << (63 - v)) }
}
