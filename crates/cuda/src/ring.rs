//! The numbers of a ring and of a gadget, as the kernels take them.

use cudarc::driver::DeviceRepr;
use papir_core::device::{DeviceGadget, DeviceRing};

/// `struct Prime` in polynomials.cu.
#[repr(C)]
#[derive(Clone, Copy)]
struct Prime {
    value: u32,
    scale: [u32; 2],
    unused: u32,
    ratio: u64,
}

/// `struct Ring` in polynomials.cu.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Ring {
    degree: u32,
    log_degree: u32,
    primes: [Prime; 2],
    modulus: u64,
    inverse: [u32; 2],
    lift: u32,
    unused: u32,
}

/// `struct Gadget` in polynomials.cu.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct Gadget {
    log_base: u32,
    drop: u32,
    levels: u32,
    unused: u32,
    offset: u64,
}

// SAFETY: plain numbers in the layout of C.
unsafe impl DeviceRepr for Ring {}
// SAFETY: plain numbers in the layout of C.
unsafe impl DeviceRepr for Gadget {}

impl Prime {
    fn new(q: u32, degree: usize) -> Self {
        Self {
            value: q,
            scale: factor(inverse(degree as u32 % q, q), q),
            unused: 0,
            ratio: ((1u128 << 64) / u128::from(q)) as u64,
        }
    }
}

impl Ring {
    /// The numbers of a ring.
    pub(crate) fn new(ring: &DeviceRing) -> Self {
        let [q1, q2] = ring.primes;
        Self {
            degree: ring.degree as u32,
            log_degree: ring.degree.ilog2(),
            primes: [q1, q2].map(|q| Prime::new(q, ring.degree)),
            modulus: u64::from(q1) * u64::from(q2),
            inverse: factor(inverse(q1 % q2, q2), q2),
            lift: q1.div_ceil(q2) * q2,
            unused: 0,
        }
    }
}

impl Gadget {
    /// The numbers of a gadget.
    pub(crate) fn new(gadget: &DeviceGadget) -> Self {
        let DeviceGadget {
            levels,
            log_base,
            drop,
        } = *gadget;

        let halves = (1..levels as u32).map(|level| 1u64 << (drop + log_base * level - 1));
        // A word that every shift divides keeps shifted words positive.
        let offset = (1u64 << 62) + (1u64 << drop) / 2 + halves.sum::<u64>();

        Self {
            log_base,
            drop,
            levels: levels as u32,
            unused: 0,
            offset,
        }
    }
}

/// Powers of both roots, or of their inverses, in bit-reversed order with their Shoup quotients:
/// for each prime 2d words.
pub(crate) fn powers(ring: &DeviceRing, inverted: bool) -> Vec<u32> {
    let bits = ring.degree.ilog2();
    let mut words = Vec::with_capacity(2 * ring.primes.len() * ring.degree);

    for (&q, &root) in ring.primes.iter().zip(&ring.roots) {
        // Both transforms take their roots in bit-reversed order.
        let root = if inverted { inverse(root, q) } else { root };
        let mut powers = vec![1u32; ring.degree];
        for k in 1..ring.degree {
            powers[k] = multiply(powers[k - 1], root, q);
        }

        for k in 0..ring.degree {
            let power = powers[k.reverse_bits() >> (usize::BITS - bits)];
            words.extend(factor(power, q));
        }
    }
    words
}

/// A constant and its Shoup quotient.
fn factor(value: u32, q: u32) -> [u32; 2] {
    [value, ((u64::from(value) << 32) / u64::from(q)) as u32]
}

fn multiply(a: u32, b: u32, q: u32) -> u32 {
    (u64::from(a) * u64::from(b) % u64::from(q)) as u32
}

/// 1/x modulo a prime, by Fermat. All of it is public.
fn inverse(x: u32, q: u32) -> u32 {
    let mut square = x;
    let mut result = 1;
    let mut exponent = q - 2;

    while exponent > 0 {
        if exponent & 1 == 1 {
            result = multiply(result, square, q);
        }
        square = multiply(square, square, q);
        exponent >>= 1;
    }
    result
}
