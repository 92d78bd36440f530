//! Residues modulo small primes: every backend against arithmetic with remainders.

use crate::common::{LENGTHS, Words};
use papir_kernels::Backend;
use papir_kernels::pointwise::Modulus;
use papir_kernels::small_prime::{self, Share, Shortest};

/// The shortest lift of a residue modulo q, modulo p.
fn shortest(word: u32, q: u32, p: u32) -> u16 {
    let lift = if word > q / 2 {
        i64::from(word) - i64::from(q)
    } else {
        word.into()
    };
    lift.rem_euclid(p.into()) as u16
}

#[test]
fn lifts_are_the_shortest() {
    let mut words = Words(30);
    for (q, p) in [
        (268_369_921, 3),
        (268_369_921, 383),
        (65_537, 2),
        (193, 191),
        (1 << 31, 65_535),
        (7, 3),
    ] {
        for length in LENGTHS {
            let mut residues = words.residues(length, q);
            residues
                .iter_mut()
                .zip([q / 2, q / 2 + 1, q - 1, 0])
                .for_each(|(word, edge)| *word = edge);
            let expected: Vec<u16> = residues.iter().map(|&word| shortest(word, q, p)).collect();
            for backend in Backend::available() {
                let mut out = vec![0; length];
                small_prime::reduce(backend, &mut out, &residues, Shortest::new(q, p));
                assert_eq!(out, expected, "{backend}, from {q} to {p}");
                if q < 1 << 16 {
                    let small: Vec<u16> = residues.iter().map(|&word| word as u16).collect();
                    small_prime::reduce_small(backend, &mut out, &small, Shortest::new(q, p));
                    assert_eq!(out, expected, "{backend}, from {q} to {p}");
                }
            }
        }
    }
}

#[test]
fn coordinates_are_appended() {
    for backend in Backend::available() {
        let mut indices = vec![0, 1, 5];
        small_prime::append(backend, &mut indices, &[7, 0, 96], 97);
        small_prime::append(backend, &mut indices, &[1, 2, 3], 97);
        assert_eq!(
            indices,
            [7 * 97 + 1, 97 * 97 + 2, (5 * 97 + 96) * 97 + 3],
            "{backend}"
        );
    }
}

/// Numbers of either sign come back from their residues, up to a quarter of the product.
#[test]
fn numbers_come_back() {
    let primes = [3u32, 5, 97, 383, 65_521];
    let product: i64 = primes.iter().map(|&p| i64::from(p)).product();
    let target = Modulus::new(268_369_921);
    let numbers: Vec<i64> = (-50..50)
        .map(|i| i * (product / 203))
        .chain([0, 1, -1])
        .collect();
    let modulo = |number: i64, p: u32| number.rem_euclid(p.into()) as u32;
    for backend in Backend::available() {
        let mut words = vec![0; numbers.len()];
        let mut quotients = vec![0; numbers.len()];
        for p in primes {
            let cofactor = product / i64::from(p);
            let inverse = (1..p)
                .find(|&x| modulo(cofactor * i64::from(x), p) == 1)
                .unwrap();
            let share = Share::new(p, inverse, modulo(cofactor, target.value()));
            let residues: Vec<u16> = numbers
                .iter()
                .map(|&number| modulo(number, p) as u16)
                .collect();
            small_prime::add_share(backend, &mut words, &mut quotients, &residues, share);
        }
        let mut out = vec![0; numbers.len()];
        let product = modulo(product, target.value());
        small_prime::finish(backend, &mut out, &words, &quotients, product, target);
        let expected: Vec<u32> = numbers
            .iter()
            .map(|&number| modulo(number, target.value()))
            .collect();
        assert_eq!(out, expected, "{backend}");
    }
}

#[test]
fn a_polynomial_has_its_values() {
    let mut words = Words(31);
    for (p, count) in [(3u32, 3), (191, 191), (383, 130), (4093, 65)] {
        let coefficients: Vec<u16> = words
            .residues(19, p)
            .iter()
            .map(|&word| word as u16)
            .collect();
        let power =
            |i: usize| (0..count as u64).map(move |x| (x.pow(i as u32 % 5) % u64::from(p)) as u16);
        let powers: Vec<u16> = (0..20).flat_map(power).collect();
        let value = |x: usize| {
            let terms = coefficients.iter().enumerate();
            terms
                .map(|(i, &c)| u64::from(c) * u64::from(powers[i * count + x]))
                .sum::<u64>()
                % u64::from(p)
        };
        let expected: Vec<u16> = (0..count).map(|x| value(x) as u16).collect();
        for backend in Backend::available() {
            let mut out = vec![0; count];
            small_prime::combine(backend, &mut out, &coefficients, &powers, p);
            assert_eq!(out, expected, "{backend}, {p}");
        }
    }
}
