//! Evaluation of polynomials: see [`crate::x86_64::poly_eval`].

use super::lanes::Avx512;
use crate::poly_eval::polynomial::Polynomial;
use crate::x86_64::poly_eval;

/// Registers of a block of points.
const REGISTERS: usize = 4;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn evaluate(polynomial: &Polynomial, points: &[u32], out: &mut [u32]) {
    poly_eval::evaluate::<_, _, REGISTERS>(Avx512::new(), polynomial, points, out);
}
