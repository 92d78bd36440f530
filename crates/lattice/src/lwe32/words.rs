//! Arithmetic of words modulo q = 2³².

/// Returns the inner product.
pub fn dot(a: &[u32], b: &[u32]) -> u32 {
    a.iter()
        .zip(b)
        .fold(0, |sum, (a, b)| sum.wrapping_add(a.wrapping_mul(*b)))
}

/// Adds `factor` · `row` to `sums`.
pub fn add_multiple(sums: &mut [u32], row: &[u32], factor: i32) {
    for (sum, &word) in sums.iter_mut().zip(row) {
        *sum = sum.wrapping_add(word.wrapping_mul(factor as u32));
    }
}

/// Drops `dropped` low bits (fewer than 32), rounding to nearest modulo q, ties up.
pub fn round(word: u32, dropped: u32) -> u32 {
    word.wrapping_add((1 << dropped) >> 1) >> dropped
}

/// [`round`] with ties broken by the lowest bit of `tie`. A fixed direction would give the rounding
/// errors a nonzero mean, which a database of equal words adds up.
pub fn round_random_ties(word: u32, dropped: u32, tie: u8) -> u32 {
    // Half a unit less one rounds only ties down, and leaves all other words as they are.
    let down = u32::from(tie & 1) & u32::from(dropped > 0);
    word.wrapping_add((1 << dropped) >> 1).wrapping_sub(down) >> dropped
}

/// Mean square of the error of [`round_random_ties`] on a uniform word, whose mean is zero.
///
/// With h = 2ᵏ/2 for k dropped bits, the errors from 1 − h to h − 1 have probability 2⁻ᵏ each, and
/// −h and h half of that: (4ᵏ + 2)/12. Ties in one direction would leave the variance (4ᵏ − 1)/12
/// around a mean of ½, which a database of equal words adds up.
pub fn rounding_square(dropped: u32) -> f64 {
    if dropped == 0 {
        0.0
    } else {
        (4f64.powi(dropped as i32) + 2.0) / 12.0
    }
}

/// Decodes to the nearest multiple of Δ = 2^`log2_delta` (1 to 31); returns the factor and the
/// distance from it.
pub fn decode(phase: u32, log2_delta: u32) -> (u32, u32) {
    let half = 1u32 << (log2_delta - 1);
    let shifted = phase.wrapping_add(half);
    (
        shifted >> log2_delta,
        (shifted & (2 * half - 1)).abs_diff(half),
    )
}

#[cfg(test)]
mod tests {
    use papir_reference::vectors::rows;

    use super::*;

    const VECTORS: &str = include_str!("../../../../docs/vectors/arithmetic/lattice.json");

    #[test]
    fn words_round_and_decode_as_defined() {
        for [word, dropped, expected] in rows::<3>(VECTORS, "words.round") {
            let found = round(word as u32, dropped as u32);
            assert_eq!(i128::from(found), expected, "{word} without {dropped} bits");
        }
        for [word, log2_delta, factor, distance] in rows::<4>(VECTORS, "words.decode") {
            let expected = (factor as u32, distance as u32);
            assert_eq!(
                decode(word as u32, log2_delta as u32),
                expected,
                "{word}, {log2_delta}"
            );
        }
    }

    #[test]
    fn random_ties_round_up_and_down() {
        for word in [
            0u32,
            1,
            7,
            8,
            9,
            15,
            16,
            0x1234_5678,
            u32::MAX - 8,
            u32::MAX - 7,
            u32::MAX,
        ] {
            assert_eq!(round_random_ties(word, 0, 1), word);
            let rounded = [0, 1].map(|tie| round_random_ties(word, 4, tie));
            let errors = rounded.map(|value| (value << 4).wrapping_sub(word) as i32);
            assert!(
                errors.iter().all(|error| (-8..=8).contains(error)),
                "{word}: {errors:?}"
            );
            assert_eq!(rounded[0] == rounded[1], word % 16 != 8, "{word}");
            assert_eq!(rounded[0], round(word, 4));
            if word % 16 == 8 {
                assert_eq!(errors, [8, -8]);
            }
        }
    }

    #[test]
    fn the_mean_square_of_rounding_is_that_of_all_words() {
        for dropped in 0..=8 {
            let words = (0..1u32 << dropped).flat_map(|word| [(word, 0), (word, 1)]);
            let errors: Vec<f64> = words
                .map(|(word, tie)| {
                    let rounded = round_random_ties(word, dropped, tie) << dropped;
                    f64::from(rounded.wrapping_sub(word) as i32)
                })
                .collect();
            let mean_square =
                errors.iter().map(|error| error * error).sum::<f64>() / errors.len() as f64;
            assert_eq!(
                (errors.iter().sum::<f64>(), mean_square),
                (0.0, rounding_square(dropped)),
                "{dropped}"
            );
        }
    }

    #[test]
    fn decode_returns_factor_and_distance() {
        for (log2_delta, factor) in [(24, 0u32), (24, 255), (25, 127), (31, 1)] {
            let half = 1u32 << (log2_delta - 1);
            for noise in [0, 1, -1, 77, half as i32 - 1, 1 - half as i32] {
                let phase = (factor << log2_delta).wrapping_add(noise as u32);
                assert_eq!(
                    decode(phase, log2_delta),
                    (factor, noise.unsigned_abs()),
                    "{factor}, {noise}"
                );
            }
        }
    }
}
