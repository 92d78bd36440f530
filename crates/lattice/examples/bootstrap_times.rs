//! Prints the time of each step of bootstrapping at full parameters, and the noise it leaves.
//!
//! `cargo run --release -p papir-lattice --example bootstrap_times`
#![allow(clippy::unwrap_used)]

use std::time::Instant;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_lattice::bootstrap::lwe::{BinaryKey, Lwe, SwitchKey, SwitchParams, switch_bodies};
use papir_lattice::bootstrap::{circuit, galois, rotation};
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::key_switch::masks_from;
use papir_lattice::params::{Literal, RlweParams};
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::{Rows, Workspace};
use papir_lattice::secret::SecretKey;
use papir_lattice::security::Secret;
use papir_ring::prg::Seed;
use papir_ring::sample::Gaussian;

fn main() {
    let literal = Literal { degree: 2048, primes: [59_637_761, 151_031_809], sigma: 3.19 };
    let params = RlweParams::with_secret(literal, Secret::Ternary).unwrap();
    let ring = params.ring();
    let mut rng = ChaCha20Rng::from_seed([1; 32]);
    let secret = SecretKey::generate(&params, &mut rng);
    let seed = Seed([2; 32]);
    let switch = SwitchParams { dimension: 600, log2_q: 14, sigma: 3.19, log_base: 2 };
    let key = BinaryKey::generate(switch.dimension, &mut rng);
    let error = Gaussian::new(switch.sigma).unwrap();
    let start = Instant::now();
    let bodies = switch_bodies(&switch, (&seed, "switch"), secret.coefficients(), &key, &error, &mut rng);
    let switch_key = SwitchKey::new(switch, (&seed, "switch"), &bodies);
    println!("switch key {:?}", start.elapsed());
    let start = Instant::now();
    let gadget = Gadget::new(ring, GadgetParams { levels: 3, log_base: 13, drop: 14 }).unwrap();
    let bits = (0..600).map(|i| {
        let masks = masks_from(ring, &seed, "rotation", i * 6..(i + 1) * 6);
        let bodies = rotation::bodies(&params, &secret, (&key, i), &masks, &gadget, &mut rng);
        Rows::new(&masks, &bodies)
    });
    let bits: Vec<Rows> = bits.collect();
    println!("rotation key {:?}", start.elapsed());
    let mut acc = Rlwe::zero(ring);
    acc.b = ring.from_words(
        &(0..2048).map(|i| if i < 1024 { 1 << 40 } else { ring.modulus() - (1 << 40) }).collect::<Vec<_>>(),
    );
    let mut out = Rlwe::zero(ring);
    let mut work = Workspace::new(ring, 8);
    let time = |name: &str, count: u32, f: &mut dyn FnMut()| {
        let mut times: Vec<f64> = (0..9)
            .map(|_| {
                let start = Instant::now();
                (0..count).for_each(|_| f());
                start.elapsed().as_secs_f64() / f64::from(count)
            })
            .collect();
        times.sort_by(f64::total_cmp);
        println!("{name:>20} {:10.2} µs", times[4] * 1e6);
    };
    time("external product", 100, &mut || work.external_product(ring, &gadget, &acc, &bits[0], &mut out));
    let mut poly = acc.a.clone();
    time("forward pair", 1000, &mut || {
        ring.table(0).forward_lazy(poly.parts_mut()[0]);
        ring.table(1).forward_lazy(poly.parts_mut()[1]);
    });
    let rotation_key = rotation::RotationKey::new(bits, gadget);
    let torus: Vec<u64> = {
        let mut v = vec![0u32; 2 * 2048];
        seed.expand("q", 0).uniform_bits(&mut v);
        v.chunks(2).map(|w| u64::from(w[0]) << 32 | u64::from(w[1])).collect()
    };
    let mut lwe = Lwe { a: torus, b: 0 };
    lwe.b = 0u64.wrapping_sub(lwe.phase(secret.coefficients()));
    let mut exponents = switch_key.exponents(&lwe, 4096, 8);
    time("lwe switch", 3, &mut || exponents = switch_key.exponents(&lwe, 4096, 8));
    let phase: i64 =
        exponents[..600].iter().zip(key.bits()).map(|(&e, &z)| i64::from(e) * i64::from(z)).sum::<i64>()
            + i64::from(exponents[600]);
    println!("phase {}", phase.rem_euclid(4096));
    let mut rotated = acc.clone();
    time("rotation", 1, &mut || {
        rotated = acc.clone();
        rotation_key.rotate(ring, &mut rotated, &exponents)
    });
    let phases = ring.to_centred(&rotated.phase(ring, &secret));
    let mut expect = Rlwe::zero(ring);
    rotation::rotate(ring, &acc, phase.rem_euclid(4096) as usize, &mut expect);
    let expect = ring.to_centred(&expect.b);
    let var = phases.iter().zip(&expect).map(|(a, b)| ((a - b) as f64).powi(2)).sum::<f64>() / 2048.0;
    println!("rotation noise 2^{:.2}", var.sqrt().log2());
    let gg = Gadget::new(ring, GadgetParams { levels: 6, log_base: 8, drop: 5 }).unwrap();
    let steps = (0..11).map(|j| {
        let masks = masks_from(ring, &seed, "galois", j * 6..(j + 1) * 6);
        Rows::new(&masks, &galois::bodies(&params, &secret, j, &masks, &gg, &mut rng))
    });
    let galois = galois::GaloisKeys::new(steps.collect(), gg.clone());
    let mut traced = rotated.clone();
    time("trace", 1, &mut || {
        traced = rotated.clone();
        galois.trace(ring, &mut traced, 11)
    });
    let masks = masks_from(ring, &seed, "square", 0..6);
    let square = circuit::SquareKey::new(
        Rows::new(&masks, &circuit::bodies(&params, &secret, &masks, &gg, &mut rng)),
        gg,
    );
    time("scheme switch 7", 1, &mut || {
        square.rgsw(ring, vec![traced.clone(); 7]);
    });
    let gr = Gadget::new(ring, GadgetParams { levels: 7, log_base: 3, drop: 32 }).unwrap();
    let rgsw = square.rgsw(ring, vec![traced.clone(); 7]);
    let mut work = Workspace::new(ring, 14);
    time("cmux", 50, &mut || work.external_product(ring, &gr, &acc, &rgsw, &mut out));
}
