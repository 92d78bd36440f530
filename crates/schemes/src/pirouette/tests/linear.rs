//! Traces and expansions of errors, as linear maps without keys.

use super::super::Standard;
use super::super::chain::{Chain, DEGREE, Grain, LOG2_DEGREE, LOG2_DIGIT};

/// Returns p(X^e) in Z[X]/(X^d + 1).
fn automorphism(poly: &[i64], e: usize) -> Vec<i64> {
    let mut image = vec![0; DEGREE];
    for (k, &coefficient) in poly.iter().enumerate() {
        let place = k * e % (2 * DEGREE);
        image[place % DEGREE] = if place < DEGREE {
            coefficient
        } else {
            -coefficient
        };
    }
    image
}

/// Returns a + sign·b.
fn added(a: &[i64], b: &[i64], sign: i64) -> Vec<i64> {
    a.iter().zip(b).map(|(a, b)| a + sign * b).collect()
}

/// Returns p·X^(−shift) for a shift below d.
fn divided(poly: &[i64], shift: usize) -> Vec<i64> {
    let place = |k: usize| {
        if k + shift < DEGREE {
            poly[k + shift]
        } else {
            -poly[k + shift - DEGREE]
        }
    };
    (0..DEGREE).map(place).collect()
}

/// Returns the images of the error of step `first` at X^(2^first) after the other steps: `traced`
/// steps of a trace, then the steps of an expansion. Each output has one polynomial.
fn images(first: usize, traced: usize) -> Vec<Vec<i64>> {
    let mut error = vec![0; DEGREE];
    error[1 << first] = 1;
    let mut parts: Vec<Vec<i64>> = vec![error];

    for step in 0..LOG2_DEGREE as usize {
        let image = |part: &Vec<i64>| automorphism(part, (DEGREE >> step) + 1);

        let odd: Vec<Vec<i64>> = match (step < traced, step > first) {
            (true, _) => Vec::new(),
            (false, true) => parts
                .iter()
                .map(|part| divided(&added(part, &image(part), -1), 1 << step))
                .collect(),
            (false, false) => parts.clone(),
        };

        if step > first {
            parts = parts
                .iter()
                .map(|part| added(part, &image(part), 1))
                .collect();
        }
        parts.extend(odd);
    }
    parts
}

/// Returns, for each output of the expansion, the signs with which the error of each step at
/// X^(2^step) arrives. The signs of its errors at other places are correlated with these.
pub(super) fn signs(traced: usize) -> Vec<Vec<i8>> {
    let mut signs = vec![vec![1i8; DEGREE]; DEGREE >> traced];
    for first in 0..traced {
        for (signs, image) in signs.iter_mut().zip(images(first, traced)) {
            let hit = signs.iter_mut().zip(image).filter(|(_, image)| *image != 0);
            hit.for_each(|(sign, image)| *sign = image.signum() as i8);
        }
    }

    signs
}

/// Applies the transpose of X → X^e.
fn transposed_automorphism(weights: &[f64], e: usize) -> Vec<f64> {
    let place = |k: usize| k * e % (2 * DEGREE);
    let sign = |place: usize| if place < DEGREE { 1.0 } else { -1.0 };
    (0..DEGREE)
        .map(|k| sign(place(k)) * weights[place(k) % DEGREE])
        .collect()
}

/// Applies the transpose of the product with X^(−shift).
fn transposed_division(weights: &[f64], shift: usize) -> Vec<f64> {
    let weight = |k: usize| {
        if k >= shift {
            weights[k - shift]
        } else {
            -weights[k + DEGREE - shift]
        }
    };
    (0..DEGREE).map(weight).collect()
}

/// Returns the variance, in key switches, of the sum over all outputs of an expansion of Σ
/// weights·errors.
fn weighted(weights: &[f64], traced: usize) -> f64 {
    let pairs = |a: &[f64], b: &[f64], sign: f64| -> Vec<f64> {
        a.iter().zip(b).map(|(a, b)| a + sign * b).collect()
    };

    let mut parts = vec![weights.to_vec(); DEGREE >> traced];
    let mut variance = 0.0;

    for step in (0..LOG2_DEGREE as usize).rev() {
        let e = (DEGREE >> step) + 1;
        let half = if step < traced {
            parts.len()
        } else {
            parts.len() / 2
        };

        let odd = parts.split_off(half);

        for (i, part) in parts.iter_mut().enumerate() {
            // An expansion's step has the outputs x + x(X^e) + ε and
            // X^(−2^step)·(x − x(X^e) − ε).
            let odd = odd
                .get(i)
                .map_or(vec![0.0; DEGREE], |odd| transposed_division(odd, 1 << step));

            let switched = pairs(part, &odd, -1.0);

            variance += switched.iter().map(|weight| weight * weight).sum::<f64>();
            *part = pairs(
                &pairs(part, &odd, 1.0),
                &transposed_automorphism(&switched, e),
                1.0,
            );
        }
    }
    variance
}

/// The mean of whitened bytes, −1/2, has the same sign everywhere, so its products with correlated
/// errors could add up. They do not: at every coefficient the variance is about the variance of
/// independent errors of the same energy, which is 4.6·10⁻⁵ of the value that the bytes' variance
/// gives.
#[test]
fn the_mean_of_whitened_bytes_meets_no_sign_pattern() {
    let chain = Chain::get::<Standard>(Grain::Coarse).unwrap();
    let setting = chain.setting();
    let gadget = chain.conversion.params();

    for traced in [(LOG2_DEGREE - LOG2_DIGIT) as usize, 4] {
        let expanded = LOG2_DEGREE as usize - traced;
        let noise = setting.trace(gadget, LOG2_DEGREE as usize, expanded);
        let independent = noise.energy / setting.key_switch(gadget) * f64::from(1 << expanded);

        for coefficient in [0, 1, 7, 512, 1023, 1024, 1500, 2046, 2047] {
            let sign = |k: usize| if k <= coefficient { 1.0 } else { -1.0 };
            let found = weighted(&(0..DEGREE).map(sign).collect::<Vec<_>>(), traced) / independent;
            assert!(
                found < 1.3,
                "coefficient {coefficient} after {traced} steps: {found}"
            );
        }
    }
}

/// The pattern of the chosen records adds errors up, though not beyond the bound for all weights.
#[test]
fn chosen_signs_add_errors_up_within_the_largest_variance() {
    let steps = LOG2_DEGREE as usize;
    let chain = Chain::get::<Standard>(Grain::Coarse).unwrap();
    let setting = chain.setting();
    let gadget = chain.conversion.params();

    let noise = setting.trace(gadget, steps, 0);
    let [energy, largest] =
        [noise.energy, noise.largest].map(|noise| noise / setting.key_switch(gadget));

    let pattern: Vec<f64> = signs(steps)[0]
        .iter()
        .map(|&sign| f64::from(sign))
        .collect();
    let found = weighted(&pattern, steps);

    let most = DEGREE as f64 * largest;
    assert!(
        found <= most && found > 50.0 * energy,
        "{found}, at most {most}; independent {energy}"
    );
}
