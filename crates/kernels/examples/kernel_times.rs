//! Prints the time of each kernel on each backend: the median of many calls, in µs.
//!
//! `cargo run --release -p papir-kernels --example kernel_times [NAME]` limits the
//! kernels to those whose name contains NAME.

use std::time::Instant;

use papir_kernels::gadget::{self, Gadget2};
use papir_kernels::ntt::NttTable;
use papir_kernels::pointwise::{self, Modulus};
use papir_kernels::{Backend, galois, monomial};

/// A prime that is 1 modulo 2¹⁷.
const Q: u32 = 1_073_479_681;
/// A second prime, for pairs of residues.
const Q2: u32 = 1_073_184_769;
const DEGREE: usize = 2048;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let wanted = std::env::args().nth(1).unwrap_or_default();
    let mut timer = Timer { wanted };
    println!("{:>24} {:>9} {:>12}", "kernel", "backend", "µs");
    for backend in Backend::available() {
        transforms(&mut timer, backend)?;
        slotwise(&mut timer, backend);
        digits(&mut timer, backend)?;
        rotations(&mut timer, backend);
    }
    Ok(())
}

/// Runs and prints one measurement after the other.
struct Timer {
    wanted: String,
}

impl Timer {
    /// The median time of a call, over up to half a second of batches.
    fn time(&mut self, name: &str, backend: Backend, mut call: impl FnMut()) {
        if !name.contains(&self.wanted) {
            return;
        }
        call();
        let once = elapsed(1, &mut call).max(1e-9);
        let batch = (2e-4 / once).ceil() as u32;
        let runs = (0.3 / (f64::from(batch) * once)).clamp(5.0, 500.0) as u32;
        let mut times: Vec<f64> = (0..runs).map(|_| elapsed(batch, &mut call)).collect();
        times.sort_by(f64::total_cmp);
        let median = times[times.len() / 2] * 1e6;
        println!("{name:>24} {:>9} {median:>12.3}", backend.name());
    }
}

/// Seconds a call, over a batch of calls.
fn elapsed(batch: u32, call: &mut impl FnMut()) -> f64 {
    let start = Instant::now();
    for _ in 0..batch {
        call();
    }
    start.elapsed().as_secs_f64() / f64::from(batch)
}

/// Residues that look random enough.
fn residues(length: usize, q: u32) -> Vec<u32> {
    let words = (0..length as u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
    words.map(|word| (word % u64::from(q)) as u32).collect()
}

/// A primitive 2d-th root of unity modulo Q.
fn root(d: usize) -> u32 {
    let pow = |g: u64| {
        let (mut square, mut result, mut e) = (g, 1, u64::from(Q - 1) / (2 * d as u64));
        while e > 0 {
            if e & 1 == 1 {
                result = result * square % u64::from(Q);
            }
            (square, e) = (square * square % u64::from(Q), e / 2);
        }
        result as u32
    };
    let fits = |root: &u32| NttTable::new(Q, *root, d).is_ok();
    (2..100).map(pow).find(fits).unwrap_or(0)
}

fn transforms(timer: &mut Timer, backend: Backend) -> Result<(), Box<dyn std::error::Error>> {
    for d in [1024, 2048, 4096, 16384, 65536] {
        let table = NttTable::new(Q, root(d), d)?;
        let mut x = residues(d, Q);
        timer.time(&format!("ntt forward {d}"), backend, || {
            table.forward_with(backend, &mut x);
        });
        let mut x = residues(d, Q);
        timer.time(&format!("ntt inverse {d}"), backend, || {
            table.inverse_with(backend, &mut x);
        });
    }
    Ok(())
}

fn slotwise(timer: &mut Timer, backend: Backend) {
    let q = Modulus::new(Q);
    let (a, b) = (residues(DEGREE, Q), residues(DEGREE, Q2));
    let (mut out, mut acc) = (vec![0; DEGREE], vec![0u64; DEGREE]);
    timer.time("add", backend, || {
        pointwise::add_with(backend, &mut out, &a, &b, q);
    });
    timer.time("mul", backend, || {
        pointwise::mul_with(backend, &mut out, &a, &b, q);
    });
    timer.time("scale", backend, || {
        pointwise::scale_with(backend, &mut out, &a, 12345, q);
    });
    timer.time("mul_accumulate", backend, || {
        pointwise::mul_accumulate_with(backend, &mut acc, &a, &b);
    });
    timer.time("reduce", backend, || {
        pointwise::reduce_with(backend, &mut out, &acc, q);
    });
    let permutation = galois::permutation(DEGREE, 5);
    timer.time("permute", backend, || {
        galois::permute_with(backend, &mut out, &a, &permutation);
    });
    timer.time("automorphism", backend, || {
        galois::automorphism(&mut out, &a, 5, q);
    });
}

fn digits(timer: &mut Timer, backend: Backend) -> Result<(), Box<dyn std::error::Error>> {
    let (r1, r2) = (residues(DEGREE, Q), residues(DEGREE, Q2));
    let gadget = Gadget2::new(Q, Q2, 16, 11, 3)?;
    let (mut digits, mut out) = (vec![0; 3 * DEGREE], vec![0; DEGREE]);
    timer.time("decompose, 3 digits", backend, || {
        gadget::decompose_with(backend, &gadget, &mut digits, &r1, &r2);
    });
    timer.time("to_residues", backend, || {
        gadget::to_residues_with(backend, &mut out, &digits[..DEGREE], Modulus::new(Q));
    });
    timer.time("centre", backend, || {
        gadget::centre_with(backend, &mut digits[..DEGREE], &r1, Modulus::new(Q));
    });
    Ok(())
}

fn rotations(timer: &mut Timer, backend: Backend) {
    let q = Modulus::new(Q);
    let (mut u, mut v) = (vec![1; DEGREE], vec![2; DEGREE]);
    let mut scratch = vec![0; DEGREE];
    timer.time("butterfly_i32", backend, || {
        monomial::butterfly_i32_with(backend, &mut u, &mut v, 777, &mut scratch);
    });
    let mut polys = vec![3; DEGREE * DEGREE];
    timer.time("dft_i32", backend, || {
        monomial::dft_i32_with(backend, &mut polys, DEGREE, &mut scratch);
    });
    let (mut u, mut v) = (residues(DEGREE, Q), residues(DEGREE, Q2));
    let mut scratch = vec![0; DEGREE];
    timer.time("butterfly_mod", backend, || {
        monomial::butterfly_mod_with(backend, &mut u, &mut v, 777, q, &mut scratch);
    });
    let mut polys = residues(DEGREE * DEGREE, Q);
    timer.time("dft_mod", backend, || {
        monomial::dft_mod_with(backend, &mut polys, DEGREE, q, &mut scratch);
    });
}
