//! Times each kernel on each backend: the median of many calls, in µs.
//!
//! `cargo bench -p papir-kernels --bench kernels [NAME]` limits the kernels to those whose name
//! contains NAME.

use common::{Bench, median, seconds};
use papir_kernels::gadget::{self, Gadget2};
use papir_kernels::ntt::NttTable;
use papir_kernels::pointwise::{self, Modulus};
use papir_kernels::{Backend, galois, monomial, wide};

mod common;

/// A prime that is 1 modulo 2¹⁷.
const Q: u32 = 1_073_479_681;
/// A second prime, for pairs of residues.
const Q2: u32 = 1_073_184_769;

/// The largest prime below 2⁵⁰ that is 1 modulo 4096.
const WIDE: u64 = 1_125_899_906_826_241;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Some(mut bench) = Bench::from_args() else {
        return Ok(());
    };
    if bench.timed() {
        println!("{:>24} {:>9} {:>12}", "kernel", "backend", "µs");
    }
    let degree = bench.pick(2048, 128);
    for backend in Backend::available() {
        transforms(&mut bench, backend)?;
        slotwise(&mut bench, backend, degree);
        digits(&mut bench, backend, degree)?;
        rotations(&mut bench, backend, degree);
        wide_transforms(&mut bench, backend)?;
        wide_slotwise(&mut bench, backend, degree)?;
    }
    Ok(())
}

/// Prints the median time of a call over up to 0.3 s of batches; a test calls once.
fn time(bench: &Bench, name: &str, backend: Backend, mut call: impl FnMut()) {
    if !bench.selects(name) {
        return;
    }
    call();
    if !bench.timed() {
        return;
    }
    let once = per_call(1, &mut call).max(1e-9);
    // A batch takes at least 0.2 ms, which hides the resolution of the clock.
    let batch = (2e-4 / once).ceil() as u32;
    let runs = (0.3 / (f64::from(batch) * once)).clamp(5.0, 500.0) as u32;
    let mut times: Vec<f64> = (0..runs).map(|_| per_call(batch, &mut call)).collect();
    println!(
        "{name:>24} {:>9} {:>12.3}",
        backend.name(),
        median(&mut times) * 1e6
    );
}

/// Seconds per call, over a batch of calls.
fn per_call(batch: u32, call: &mut impl FnMut()) -> f64 {
    let total = seconds(|| {
        for _ in 0..batch {
            call();
        }
    });
    total / f64::from(batch)
}

/// Reproducible residues that look random.
fn residues(length: usize, q: u32) -> Vec<u32> {
    let words = (0..length as u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32);
    words.map(|word| (word % u64::from(q)) as u32).collect()
}

/// A primitive 2d-th root of unity modulo Q.
fn root(d: usize) -> u32 {
    let pow = |g: u64| {
        let mut square = g;
        let mut result = 1;
        let mut e = u64::from(Q - 1) / (2 * d as u64);
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

fn transforms(bench: &mut Bench, backend: Backend) -> Result<(), Box<dyn std::error::Error>> {
    // The tiny degrees include one below each vector backend's least.
    for d in bench.pick([1024, 2048, 4096, 16384, 65536], [16, 32, 64, 128, 256]) {
        let table = NttTable::new(Q, root(d), d)?;
        let name = format!("ntt forward {d}");
        let mut x = residues(d, Q);
        time(bench, &name, backend, || {
            table.forward(backend, &mut x);
        });
        bench.agree(&name, backend, || x);
        let name = format!("ntt inverse {d}");
        let mut x = residues(d, Q);
        time(bench, &name, backend, || {
            table.inverse(backend, &mut x);
        });
        bench.agree(&name, backend, || x);
    }
    Ok(())
}

fn slotwise(bench: &mut Bench, backend: Backend, degree: usize) {
    let q = Modulus::new(Q);
    let a = residues(degree, Q);
    let b = residues(degree, Q2);
    let mut out = vec![0; degree];
    let mut acc = vec![0u64; degree];
    time(bench, "add", backend, || {
        pointwise::add(backend, &mut out, &a, &b, q);
    });
    bench.agree("add", backend, || &out);
    time(bench, "mul", backend, || {
        pointwise::mul(backend, &mut out, &a, &b, q);
    });
    bench.agree("mul", backend, || &out);
    time(bench, "scale", backend, || {
        pointwise::scale(backend, &mut out, &a, 12345, q);
    });
    bench.agree("scale", backend, || &out);
    time(bench, "mul_accumulate", backend, || {
        pointwise::mul_accumulate(backend, &mut acc, &a, &b);
    });
    bench.agree("mul_accumulate", backend, || &acc);
    time(bench, "reduce", backend, || {
        pointwise::reduce(backend, &mut out, &acc, q);
    });
    bench.agree("reduce", backend, || &out);
    let permutation = galois::permutation(degree, 5);
    time(bench, "permute", backend, || {
        galois::permute(backend, &mut out, &a, &permutation);
    });
    bench.agree("permute", backend, || &out);
    time(bench, "automorphism", backend, || {
        galois::automorphism(&mut out, &a, 5, q);
    });
    bench.agree("automorphism", backend, || &out);
}

fn digits(
    bench: &mut Bench,
    backend: Backend,
    degree: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let r1 = residues(degree, Q);
    let r2 = residues(degree, Q2);
    let gadget = Gadget2::new(Q, Q2, 16, 11, 3)?;
    let mut digits = vec![0; 3 * degree];
    let mut out = vec![0; degree];
    time(bench, "decompose, 3 digits", backend, || {
        gadget::decompose(backend, &gadget, &mut digits, &r1, &r2);
    });
    bench.agree("decompose, 3 digits", backend, || &digits);
    time(bench, "to_residues", backend, || {
        gadget::to_residues(backend, &mut out, &digits[..degree], Modulus::new(Q));
    });
    bench.agree("to_residues", backend, || &out);
    time(bench, "centre", backend, || {
        gadget::centre(backend, &mut digits[..degree], &r1, Modulus::new(Q));
    });
    bench.agree("centre", backend, || &digits);
    Ok(())
}

fn rotations(bench: &mut Bench, backend: Backend, degree: usize) {
    let q = Modulus::new(Q);
    // Odd and below d/2 in both sizes.
    let shift = bench.pick(777, 45);
    let mut u = vec![1; degree];
    let mut v = vec![2; degree];
    let mut scratch = vec![0; degree];
    time(bench, "butterfly_i32", backend, || {
        monomial::butterfly_i32(backend, &mut u, &mut v, shift, &mut scratch);
    });
    bench.agree("butterfly_i32", backend, || (u, v));
    let mut polys = vec![3; degree * degree];
    time(bench, "dft_i32", backend, || {
        monomial::dft_i32(backend, &mut polys, degree, &mut scratch);
    });
    bench.agree("dft_i32", backend, || polys);
    let mut u = residues(degree, Q);
    let mut v = residues(degree, Q2);
    let mut scratch = vec![0; degree];
    time(bench, "butterfly_mod", backend, || {
        monomial::butterfly_mod(backend, &mut u, &mut v, shift, q, &mut scratch);
    });
    bench.agree("butterfly_mod", backend, || (u, v));
    let mut polys = residues(degree * degree, Q);
    time(bench, "dft_mod", backend, || {
        monomial::dft_mod(backend, &mut polys, degree, q, &mut scratch);
    });
    bench.agree("dft_mod", backend, || polys);
}

/// Reproducible words below a wide bound.
fn wide_words(length: usize, bound: u64) -> Vec<u64> {
    let words = (1..=length as u64).map(|k| k.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 12);
    words.map(|word| word % bound).collect()
}

/// A primitive 2d-th root of unity modulo `WIDE`.
fn wide_root(d: usize) -> u64 {
    let modulus = wide::Modulus::new(WIDE);
    let pow = |g: u64| {
        let mut square = g;
        let mut result = 1;
        let mut e = (WIDE - 1) / (2 * d as u64);
        while e > 0 {
            if e & 1 == 1 {
                result = modulus.mul(result, square);
            }
            (square, e) = (modulus.mul(square, square), e / 2);
        }
        result
    };
    let fits = |root: &u64| wide::NttTable::new(WIDE, *root, d).is_ok();
    (2..100).map(pow).find(fits).unwrap_or(0)
}

fn wide_transforms(bench: &mut Bench, backend: Backend) -> Result<(), Box<dyn std::error::Error>> {
    for d in bench.pick([512, 1024, 2048], [16, 64, 128]) {
        let table = wide::NttTable::new(WIDE, wide_root(d), d)?;
        let name = format!("wide forward {d}");
        let mut x = wide_words(d, WIDE);
        time(bench, &name, backend, || {
            table.forward(backend, &mut x);
        });
        bench.agree(&name, backend, || x);
        let mut x = wide_words(d, WIDE);
        time(bench, &format!("wide forward_lazy {d}"), backend, || {
            table.forward_lazy(backend, &mut x);
        });
        let name = format!("wide inverse {d}");
        let mut x = wide_words(d, WIDE);
        time(bench, &name, backend, || {
            table.inverse(backend, &mut x);
        });
        bench.agree(&name, backend, || x);
    }
    Ok(())
}

fn wide_slotwise(
    bench: &mut Bench,
    backend: Backend,
    degree: usize,
) -> Result<(), Box<dyn std::error::Error>> {
    let q = wide::Modulus::new(WIDE);
    let a = wide_words(4 * degree, 4 * WIDE);
    let b = [1, 2].map(|step| wide_words(4 * degree, WIDE / step));
    let [mut out, mut second] = [vec![0; degree], vec![0; degree]];
    time(bench, "wide add_assign", backend, || {
        wide::add_assign(backend, &mut out, &b[0][..degree], q);
    });
    bench.agree("wide add_assign", backend, || &out);
    time(bench, "wide mul", backend, || {
        wide::mul(backend, &mut out, &a[..degree], &b[0][..degree], q);
    });
    bench.agree("wide mul", backend, || &out);
    time(bench, "wide scale", backend, || {
        wide::scale(backend, &mut out, &a[..degree], 12345, q);
    });
    bench.agree("wide scale", backend, || &out);
    time(bench, "wide reduce", backend, || {
        wide::reduce(backend, &mut out, &a[..degree], q);
    });
    bench.agree("wide reduce", backend, || &out);
    time(bench, "wide dot, 4 rows", backend, || {
        wide::dot(backend, &mut out, &a, &b[0], q);
    });
    bench.agree("wide dot, 4 rows", backend, || &out);
    time(bench, "wide dot_pair, 4 rows", backend, || {
        wide::dot_pair(backend, [&mut out, &mut second], &a, [&b[0], &b[1]], q);
    });
    bench.agree("wide dot_pair, 4 rows", backend, || (&out, &second));
    time(bench, "wide rotate", backend, || {
        wide::rotate(backend, &mut out, &b[0][..degree], 45, q);
    });
    bench.agree("wide rotate", backend, || &out);
    time(bench, "wide automorphism", backend, || {
        wide::automorphism(backend, &mut out, &b[0][..degree], 5, q);
    });
    bench.agree("wide automorphism", backend, || &out);
    let bytes: Vec<u8> = out.iter().map(|&word| word as u8).collect();
    time(bench, "wide from_bytes_lazy", backend, || {
        wide::from_bytes_lazy(backend, &mut out, &bytes, q);
    });
    bench.agree("wide from_bytes_lazy", backend, || &out);
    let mut packed = vec![0; wide::packed::packed_len(degree)];
    wide::packed::pack(backend, &mut packed, &b[0][..degree]);
    time(bench, "wide unpack", backend, || {
        wide::packed::unpack(backend, &mut out, &packed);
    });
    bench.agree("wide unpack", backend, || &out);
    let gadget = wide::Gadget::new(WIDE, 13, 0, 4)?;
    let mut digits = vec![0; 4 * degree];
    let mut lazy = vec![0; 4 * degree];
    time(bench, "wide decompose, 4", backend, || {
        wide::decompose(backend, &gadget, &mut digits, &b[0][..degree]);
    });
    bench.agree("wide decompose, 4", backend, || &digits);
    time(bench, "wide decompose_lazy, 4", backend, || {
        wide::decompose_lazy(backend, &gadget, &mut lazy, &b[0][..degree]);
    });
    bench.agree("wide decompose_lazy, 4", backend, || &lazy);
    time(bench, "wide from_signed", backend, || {
        wide::from_signed(backend, &mut out, &digits[..degree], q);
    });
    bench.agree("wide from_signed", backend, || &out);
    Ok(())
}
