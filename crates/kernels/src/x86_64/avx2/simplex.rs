//! Values of polynomials: see [`crate::x86_64::simplex`].

use super::lanes::Avx2;
use crate::simplex::Simplex;
use crate::x86_64::simplex;

/// Registers of a block of points.
const REGISTERS: usize = 6;

#[target_feature(enable = "avx2,fma,bmi2")]
pub(crate) fn evaluate(polynomial: &Simplex, points: &[u32], out: &mut [u32]) {
    simplex::evaluate::<_, _, REGISTERS>(Avx2::new(), polynomial, points, out);
}
