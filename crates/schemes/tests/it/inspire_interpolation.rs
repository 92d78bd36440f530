//! Interpolation of InsPIRe's columns, compared with the definition.
//!
//! Fourier, Lagrange and both together, in one variable and several, over R_p for several odd p.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_kernels::pointwise::Modulus;
use papir_reference::interpolation::{lagrange, value_in_variables};
use papir_schemes::inspire::interpolation::{Interpolation, Nodes};

/// The p of papir, a small prime without the roots of unity, and composites.
const MODULI: [u32; 4] = [65537, 23, 15, 65535];

fn random(count: usize, d: usize, p: u32, seed: u8) -> Vec<Vec<u32>> {
    let mut rng = ChaCha20Rng::from_seed([seed; 32]);
    (0..count)
        .map(|_| (0..d).map(|_| rng.next_u32() % p).collect())
        .collect()
}

fn of(sizes: &[usize]) -> Interpolation {
    Interpolation::of_variables(sizes).unwrap()
}

fn coefficients(
    interpolation: Interpolation,
    values: &[Vec<u32>],
    d: usize,
    p: u32,
) -> Vec<Vec<u32>> {
    let mut polys = values.concat();
    interpolation.to_coefficients(&mut polys, d, Modulus::new(p));
    polys.chunks(d).map(<[u32]>::to_vec).collect()
}

/// Returns the exponents of point k of one variable: roots of unity, and cosets of them.
fn exponents(size: usize, d: usize) -> Vec<usize> {
    let roots = 1 << size.trailing_zeros();
    (0..size)
        .map(|k| k / roots + k % roots * (2 * d / roots))
        .collect()
}

/// Checks that the polynomial has every value by the definition, and that it is transformed back to
/// the values.
#[track_caller]
fn check(sizes: &[usize], d: usize, p: u32) {
    let interpolation = of(sizes);
    let values = random(interpolation.points(), d, p, sizes.len() as u8);
    let polynomial = coefficients(interpolation, &values, d, p);
    for (k, value) in values.iter().enumerate() {
        let exponents = interpolation.exponents(k as u32, d);
        let points: Vec<_> = sizes
            .iter()
            .zip(&exponents)
            .map(|(&size, &e)| (size, e as usize))
            .collect();
        let found = value_in_variables(&polynomial, &points, p);
        assert_eq!(
            &found, value,
            "{sizes:?}, d = {d}, p = {p}: point {k}, exponents {exponents:?}"
        );
    }
    let mut back = polynomial.concat();
    interpolation.to_values(&mut back, d, Modulus::new(p));
    assert_eq!(back, values.concat(), "{sizes:?}, d = {d}, p = {p}");
}

#[test]
fn every_number_of_points_up_to_2d() {
    for p in MODULI {
        for size in 2..=32 {
            check(&[size], 16, p);
        }
        for size in [3, 6, 12, 96, 127, 128] {
            check(&[size], 64, p);
        }
    }
}

#[test]
fn several_variables() {
    for p in MODULI {
        for sizes in [
            &[2, 2][..],
            &[4, 8],
            &[8, 4],
            &[3, 4],
            &[2, 3, 5],
            &[6, 7],
            &[32, 2],
            &[2, 2, 2, 2],
        ] {
            check(sizes, 16, p);
        }
    }
}

#[test]
fn no_variable_is_one_constant() {
    check(&[], 16, 65537);
    assert_eq!(of(&[]), Interpolation::of_points(1, 16).unwrap());
}

/// The sum of Theorem 14, for points X^i and for cosets; for powers of two it is the inverse
/// transform of Algorithm 7.
#[test]
fn the_coefficients_are_lagranges() {
    for (size, d, p) in [
        (3, 16, 65537),
        (5, 16, 15),
        (7, 16, 23),
        (6, 16, 65537),
        (12, 16, 65535),
        (8, 16, 65537),
    ] {
        let values = random(size, d, p, 9);
        let expected = lagrange(&values, &exponents(size, d), p);
        assert_eq!(
            coefficients(of(&[size]), &values, d, p),
            expected,
            "{size} points, d = {d}, p = {p}"
        );
    }
}

/// Algorithm 11 alone, also for t = 2d and other powers of two, at points X^i.
#[test]
fn algorithm_11_is_lagranges_sum() {
    for (size, d, p) in [
        (1, 16, 65537),
        (2, 16, 15),
        (4, 16, 65537),
        (9, 16, 65537),
        (32, 16, 23),
    ] {
        let values = random(size, d, p, 10);
        let mut polys = values.concat();
        let mut nodes = Nodes::new(1, d, Modulus::new(p));
        nodes.divide_differences(&mut polys);
        let minus_half = u64::from(p / 2);
        let mut factor = 1;
        for poly in polys.chunks_exact_mut(d) {
            poly.iter_mut()
                .for_each(|c| *c = (u64::from(*c) * factor % u64::from(p)) as u32);
            factor = factor * minus_half % u64::from(p);
        }
        nodes.expand(&mut polys);
        let expected = lagrange(&values, &(0..size).collect::<Vec<_>>(), p);
        assert_eq!(polys, expected.concat(), "{size} points, d = {d}, p = {p}");
    }
}

#[test]
fn the_exponents_of_all_points_differ() {
    for sizes in [
        &[][..],
        &[1 << 12],
        &[3],
        &[12],
        &[4095],
        &[4, 8],
        &[3, 64],
        &[4096, 2],
    ] {
        let interpolation = of(sizes);
        let points = interpolation.points() as u32;
        let mut all: Vec<_> = (0..points)
            .map(|k| interpolation.exponents(k, 2048))
            .collect();
        assert!(
            all.iter().flatten().all(|&exponent| exponent < 4096),
            "{sizes:?}"
        );
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), points as usize, "{sizes:?}");
    }
}

#[test]
fn a_number_of_points_gives_its_variables() {
    let variables = |t, d| {
        Interpolation::of_points(t, d)
            .unwrap()
            .variables()
            .collect::<Vec<_>>()
    };
    for (t, d, expected) in [
        (1, 64, &[][..]),
        (2, 64, &[2]),
        (100, 64, &[100]),
        (128, 64, &[128]),
        (256, 64, &[128, 2]),
        (1 << 20, 64, &[128, 128, 64]),
        (8192, 2048, &[4096, 2]),
        (192, 64, &[192]),
    ] {
        assert_eq!(variables(t, d), expected, "t = {t}, d = {d}");
    }
    assert_eq!(of(&[4, 8]).to_string(), "4 · 8");
    assert_eq!(of(&[]).to_string(), "1");
    for bad in [
        &[0][..],
        &[1],
        &[4, 1],
        &[2, 2, 2, 2, 2],
        &[1 << 20, 1 << 20],
        &[usize::MAX],
    ] {
        assert!(Interpolation::of_variables(bad).is_err(), "{bad:?}");
    }
    assert!(
        Interpolation::of_points(0, 64).is_err() && Interpolation::of_points(1 << 40, 64).is_err()
    );
}
