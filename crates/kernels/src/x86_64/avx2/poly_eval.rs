//! Evaluation of polynomials: see [`crate::x86_64::poly_eval`].

use super::lanes::Avx2;
use crate::poly_eval::polynomial::Polynomial;
use crate::x86_64::poly_eval;

/// Registers of a block of points.
const REGISTERS: usize = 6;

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn evaluate(polynomial: &Polynomial, points: &[u32], out: &mut [u32]) {
    poly_eval::evaluate::<_, _, REGISTERS>(Avx2::new(), polynomial, points, out);
}
