//! Balanced digits of integers, by definition.

/// The representative of x modulo q in (−q/2, q/2].
pub fn centre(x: i128, q: i128) -> i128 {
    let rest = x.rem_euclid(q);
    if 2 * rest > q { rest - q } else { rest }
}

/// The x in [0, q₁q₂) with these residues, or −1 if there is none; tries all candidates.
pub fn chinese_remainder(r1: u32, q1: u32, r2: u32, q2: u32) -> i128 {
    let q1 = i128::from(q1);
    let q2 = i128::from(q2);
    let mut candidates = (0..q2).map(|k| i128::from(r1) + k * q1);
    candidates.find(|x| x % q2 == i128::from(r2)).unwrap_or(-1)
}

/// Digits of round(x / 2^drop), least significant first, in [−B/2, B/2) for B = 2^log_base.
///
/// The top digit holds the rest. Ties round up.
pub fn digits(x: i128, log_base: u32, drop: u32, levels: usize) -> Vec<i128> {
    let base = 1i128 << log_base;
    let mut rest = (2 * x + (1 << drop)).div_euclid(2 << drop);
    let mut digits = Vec::new();
    for _ in 1..levels {
        let digit = (rest + base / 2).rem_euclid(base) - base / 2;
        digits.push(digit);
        rest = (rest - digit) / base;
    }
    digits.push(rest);
    digits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_recompose_to_the_rounded_value() {
        assert_eq!(digits(13, 2, 0, 3), [1, -1, 1]);
        assert_eq!(digits(-6, 2, 2, 2), [-1, 0]);
        assert_eq!(centre(9, 17), -8);
        assert_eq!(chinese_remainder(2, 3, 3, 5), 8);
    }
}
