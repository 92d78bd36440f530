//! Operations that are timed by themselves, without a database.

use std::io::Write;

use flate2::Compression;
use flate2::write::DeflateEncoder;
use papir_core::NoProgress;
use papir_core::scratch::InMemory;
use papir_kernels::Backend;
use papir_kernels::pointwise::Modulus;
use papir_kernels::poly_eval::{self, Polynomial};
use papir_schemes::depir::simplex::Simplex;
use papir_schemes::depir::structure::levels::Steps;
use papir_schemes::depir::structure::{Form, Points, Structure};
use papir_schemes::pirouette::products::Products;

/// Passes over gates in memory, each gate as one factor of an external product.
#[derive(Clone, Copy, Debug)]
pub(super) struct ProductPasses {
    /// Number of gates.
    pub(super) gates: usize,
    /// Passes in one measurement.
    pub(super) passes: usize,
    /// Measurements, of which the shortest is kept.
    pub(super) repeats: usize,
}

/// Measures the seconds of an external product modulo one prime on `threads` threads: elapsed time
/// divided by the number of products of all threads.
pub(super) fn product_seconds(
    sizes: ProductPasses,
    threads: usize,
) -> Result<f64, papir_core::Error> {
    let gates = sizes.gates;
    let products = Products::new(gates)?;
    let times = gates * sizes.passes;

    // The first pass warms the tables of the ring.
    std::hint::black_box(products.run(0, gates.min(64)));

    // The shortest time: other programs can only make it longer.
    let mut least = f64::INFINITY;
    for _ in 0..sizes.repeats.max(1) {
        let elapsed = pass_seconds(&products, gates, threads, times);
        least = least.min(elapsed / (threads * times) as f64);
    }
    Ok(least)
}

/// Measures the seconds in which each of `threads` threads computes `times` products.
fn pass_seconds(products: &Products, gates: usize, threads: usize, times: usize) -> f64 {
    let start = std::time::Instant::now();
    std::thread::scope(|scope| {
        for thread in 0..threads {
            // From a place of its own: threads share the memory, but not the gate in a cache.
            let first = thread * gates / threads;
            scope.spawn(move || std::hint::black_box(products.run(first, times)));
        }
    });
    start.elapsed().as_secs_f64()
}

/// Measures the seconds per byte of copying `bytes` bytes to newly allocated memory.
pub(super) fn copy_seconds(bytes: usize) -> f64 {
    let source = vec![1u8; bytes.max(1)];

    let start = std::time::Instant::now();
    let copy = papir_core::AlignedBytes::copy_of(std::hint::black_box(&source));
    let seconds = start.elapsed().as_secs_f64();
    // A copy that nobody uses might not be made.
    std::hint::black_box(copy.as_ref().len());
    seconds / source.len() as f64
}

/// Measures the seconds per term and point of evaluating a polynomial in three variables of degree
/// 18 at 1024 points.
pub(super) fn evaluation_seconds() -> f64 {
    const POINTS: usize = 1 << 10;
    let backend = Backend::current();
    let modulus = Modulus::new(268_369_921);
    let variables = 3;
    let degree = 18;
    let coefficients = vec![123_456_789; poly_eval::terms(variables, degree).unwrap_or_default()];
    let polynomial = Polynomial::new(modulus, variables, degree, &coefficients);
    let points = vec![98_765_432; variables * POINTS];
    let mut values = vec![0; POINTS];

    // The first evaluation warms the caches.
    polynomial.evaluate(backend, &points, &mut values);
    let start = std::time::Instant::now();
    polynomial.evaluate(backend, std::hint::black_box(&points), &mut values);
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(&values);
    seconds / (coefficients.len() * POINTS) as f64
}

/// Measures the seconds per look-up in tables of 35 MB, with which a polynomial in four variables
/// of degree 4 is evaluated at points in no order. Returns NaN, which [`Rates::new`] refuses, if
/// the tables cannot be made.
pub(super) fn lookup_seconds() -> f64 {
    const POINTS: usize = 1 << 15;
    let simplex = Simplex {
        variables: 4,
        degree: 4,
    };
    let modulus = Modulus::new(268_369_921);
    let form = Form {
        largest: modulus.value(),
        first: Some(4),
        steps: Steps::One,
        tabulated: 4,
    };
    let coefficients: Vec<u32> = (0..simplex.len() as u32)
        .map(|i| i * 977 % 65_537)
        .collect();
    let Ok(structure) = Structure::new(simplex, &coefficients, form, &mut InMemory, &NoProgress)
    else {
        return f64::NAN;
    };

    // All but the first coordinate, which the points share.
    let rows = (0..3)
        .map(|row| (0..POINTS).map(|i| mixed_word(modulus, i, row)).collect())
        .collect();
    let points = [Points {
        modulus,
        count: POINTS,
        rows,
    }];

    // The first evaluation warms the caches.
    structure.evaluate(Some(3), &points);
    let start = std::time::Instant::now();
    let (values, effort) = structure.evaluate(Some(3), std::hint::black_box(&points));
    let seconds = start.elapsed().as_secs_f64();
    std::hint::black_box(&values);
    seconds / effort.points as f64
}

/// A pseudorandom coordinate of a point.
fn mixed_word(modulus: Modulus, point: usize, row: usize) -> u32 {
    let mixed = (point as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .rotate_left(20 * row as u32);
    modulus.reduce(mixed)
}

/// Measures the seconds per byte of compressing pseudorandom digits, which takes longer than
/// compressing text.
pub(super) fn compression_seconds() -> f64 {
    const BYTES: usize = 1 << 20;
    let mut state = 1u64;
    let mut digits = Vec::with_capacity(BYTES);
    for _ in 0..BYTES {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        digits.push(b'0' + (state >> 33) as u8 % 10);
    }

    let start = std::time::Instant::now();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    let written = encoder
        .write_all(std::hint::black_box(&digits))
        .and_then(|()| encoder.finish());
    let seconds = start.elapsed().as_secs_f64();

    std::hint::black_box(written.is_ok());
    seconds / BYTES as f64
}
