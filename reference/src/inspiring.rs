//! InspiRING (InsPIRe, Algorithm 1), sequentially and by the definition, modulo any odd q < 2⁶⁰.

use crate::gadget;

/// A polynomial of `Z_q[X]/(X^d + 1)`, coefficients in [0, q).
pub type Poly = Vec<u64>;

/// Base, dropped bits and number of digits.
#[derive(Clone, Copy)]
pub struct Gadget {
    /// ℓ.
    pub levels: usize,
    /// log₂ z.
    pub log_base: u32,
    /// Low bits rounded away.
    pub drop: u32,
}

/// a·b.
pub fn mul(a: &[u64], b: &[u64], q: u64) -> Poly {
    let d = a.len();
    let mut product = vec![0u64; d];
    for (i, &x) in a.iter().enumerate().filter(|(_, x)| **x != 0) {
        for (j, &y) in b.iter().enumerate() {
            let term = (u128::from(x) * u128::from(y) % u128::from(q)) as u64;
            let place = &mut product[(i + j) % d];
            *place = (*place + if i + j < d { term } else { q - term }) % q;
        }
    }
    product
}

/// a + b.
pub fn add(a: &[u64], b: &[u64], q: u64) -> Poly {
    a.iter().zip(b).map(|(x, y)| (x + y) % q).collect()
}

/// a(X^e).
pub fn automorphism(a: &[u64], e: usize, q: u64) -> Poly {
    let d = a.len();
    let mut image = vec![0; d];
    for (i, &x) in a.iter().enumerate() {
        let place = i * e % (2 * d);
        image[place % d] = if place < d { x } else { (q - x) % q };
    }
    image
}

/// a·X^k.
pub fn shift(a: &[u64], k: usize, q: u64) -> Poly {
    let mut monomial = vec![0; a.len()];
    monomial[k % a.len()] = if k % (2 * a.len()) < a.len() { 1 } else { q - 1 };
    mul(&monomial, a, q)
}

/// g⁻¹(a): ℓ polynomials of digits modulo q.
pub fn digits(a: &[u64], q: u64, base: Gadget) -> Vec<Poly> {
    let q = i128::from(q);
    let digits_of =
        |&x: &u64| gadget::digits(gadget::centre(x.into(), q), base.log_base, base.drop, base.levels);
    let all: Vec<Vec<i128>> = a.iter().map(digits_of).collect();
    (0..base.levels)
        .map(|level| all.iter().map(|digits| digits[level].rem_euclid(q) as u64).collect())
        .collect()
}

/// COLLAPSEONE on the last component: what to add to the next component and to the body.
fn switch(component: &[u64], key: (&[Poly], &[Poly]), e: usize, q: u64, gadget: Gadget) -> (Poly, Poly) {
    let zero = || vec![0; component.len()];
    let product = |rows: &[Poly]| {
        let digits = digits(component, q, gadget);
        let terms = digits.iter().zip(rows).map(|(digit, row)| mul(digit, &automorphism(row, e, q), q));
        terms.fold(zero(), |sum, term| add(&sum, &term, q))
    };
    (product(key.0), product(key.1))
}

/// COLLAPSEHALF with ρ = τ_rho: the component under ρ(s) and the new body.
fn collapse_half(
    components: &[Poly],
    mut body: Poly,
    key: (&[Poly], &[Poly]),
    rho: usize,
    q: u64,
    gadget: Gadget,
) -> (Poly, Poly) {
    let d = body.len();
    let power = |j: usize| (0..j).fold(rho, |e, _| e * 5 % (2 * d));
    let mut components = components.to_vec();
    while components.len() > 1 {
        let last = components.pop().unwrap_or_default();
        let (a, b) = switch(&last, key, power(components.len() - 1), q, gadget);
        body = add(&body, &b, q);
        let next = components.len() - 1;
        components[next] = add(&components[next], &a, q);
    }
    (components.remove(0), body)
}

/// PACK: d LWE encryptions (mask vectors and bodies) to one RLWE encryption (a, b), with the keys
/// K_g = (w_g, y_g) and K_h = (w_h, y_h).
pub fn pack(
    masks: &[Vec<u64>],
    bodies: &[u64],
    key_g: (&[Poly], &[Poly]),
    key_h: (&[Poly], &[Poly]),
    q: u64,
    gadget: Gadget,
) -> (Poly, Poly) {
    let d = bodies.len();
    // d is a power of two and q odd: halve d times over.
    let inverse =
        (0..d.trailing_zeros()).fold(1, |x: u64, _| if x.is_multiple_of(2) { x / 2 } else { x.midpoint(q) });
    let exponents: Vec<usize> = (0..d / 2).map(|j| (0..j).fold(1, |e, _| e * 5 % (2 * d))).collect();
    let component = |e: usize| {
        let transformed = masks.iter().enumerate().map(|(k, mask)| {
            let mut reflected = vec![0; d];
            for (i, &x) in mask.iter().enumerate() {
                reflected = add(&reflected, &shift(&constant(x, d, inverse, q), 2 * d - i, q), q);
            }
            shift(&automorphism(&reflected, e, q), k, q)
        });
        transformed.fold(vec![0; d], |sum, term| add(&sum, &term, q))
    };
    let first: Vec<Poly> = exponents.iter().map(|&e| component(e)).collect();
    let second: Vec<Poly> = exponents.iter().map(|&e| component(e * (2 * d - 1) % (2 * d))).collect();
    let (a1, body) = collapse_half(&first, bodies.to_vec(), key_g, 1, q, gadget);
    let (a2, body) = collapse_half(&second, body, key_g, 2 * d - 1, q, gadget);
    let (a, b) = switch(&a2, key_h, 1, q, gadget);
    (add(&a1, &a, q), add(&body, &b, q))
}

/// x·inverse as a constant polynomial.
fn constant(x: u64, d: usize, inverse: u64, q: u64) -> Poly {
    let mut poly = vec![0; d];
    poly[0] = (u128::from(x) * u128::from(inverse) % u128::from(q)) as u64;
    poly
}
