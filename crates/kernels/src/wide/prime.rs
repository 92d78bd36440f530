//! Primality of 64-bit words.

/// Bases for which the Miller–Rabin test is exact below 3.3·10²⁴ (Sorenson and Webster, 2017).
const BASES: [u64; 12] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37];

/// True if n is prime. Its time depends on n, which must be public.
pub fn is_prime(n: u64) -> bool {
    if n < 2 || BASES.iter().any(|&p| n.is_multiple_of(p)) {
        return BASES.contains(&n);
    }
    // n is odd here, since 2 is one of the bases, so n − 1 has at least one factor of two.
    let twos = (n - 1).trailing_zeros();
    BASES.iter().all(|&base| {
        let mut x = pow(base, (n - 1) >> twos, n);
        // Either the odd power is 1, or one of the squares that follow is −1.
        x == 1
            || (0..twos).any(|_| {
                let is_minus_one = x == n - 1;
                x = mul(x, x, n);
                is_minus_one
            })
    })
}

/// a·b modulo n.
pub(super) fn mul(a: u64, b: u64, n: u64) -> u64 {
    (u128::from(a) * u128::from(b) % u128::from(n)) as u64
}

/// base^exponent modulo n, for n of at least 2. Its time depends on the exponent.
pub fn pow(base: u64, exponent: u64, n: u64) -> u64 {
    let mut square = base % n;
    let mut result = 1;
    for bit in 0..u64::BITS - exponent.leading_zeros() {
        if exponent >> bit & 1 == 1 {
            result = mul(result, square, n);
        }
        square = mul(square, square, n);
    }
    result
}
