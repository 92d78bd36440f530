//! Values of polynomials: see [`crate::x86_64::simplex`].

use super::lanes::Avx512;
use crate::simplex::Simplex;
use crate::x86_64::simplex;

/// Registers of a block of points.
const REGISTERS: usize = 4;

#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx512vnni")]
pub(crate) fn evaluate(polynomial: &Simplex, points: &[u32], out: &mut [u32]) {
    simplex::evaluate::<_, _, REGISTERS>(Avx512::new(), polynomial, points, out);
}
