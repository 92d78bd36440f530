//! InspiRING and PartialInspiRING packing, by definition, modulo any odd q < 2⁶⁰.
//!
//! InsPIRe, Algorithms 1 and 2, executed sequentially.

use crate::gadget;

/// A polynomial of `Z_q[X]/(X^d + 1)` with coefficients in [0, q).
pub type Poly = Vec<u64>;

/// Base, dropped bits and number of digits.
#[derive(Clone, Copy)]
pub struct Gadget {
    /// The number of digits ℓ.
    pub levels: usize,
    /// log₂ of the base z.
    pub log_base: u32,
    /// The number of low bits rounded away.
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
    monomial[k % a.len()] = if k % (2 * a.len()) < a.len() {
        1
    } else {
        q - 1
    };
    mul(&monomial, a, q)
}

/// g⁻¹(a): ℓ polynomials of digits modulo q.
pub fn digits(a: &[u64], q: u64, base: Gadget) -> Vec<Poly> {
    let q = i128::from(q);
    let all: Vec<Vec<i128>> = a
        .iter()
        .map(|&x| {
            let centred = gadget::centre(x.into(), q);
            gadget::digits(centred, base.log_base, base.drop, base.levels)
        })
        .collect();

    (0..base.levels)
        .map(|level| {
            all.iter()
                .map(|digits| digits[level].rem_euclid(q) as u64)
                .collect()
        })
        .collect()
}

/// KS.Switch of a component by τ_e of a key (w, y). Returns the summands of the next component and
/// of the body.
pub fn switch(
    component: &[u64],
    key: (&[Poly], &[Poly]),
    e: usize,
    q: u64,
    gadget: Gadget,
) -> (Poly, Poly) {
    let product = |rows: &[Poly]| {
        let digits = digits(component, q, gadget);
        let terms = digits
            .iter()
            .zip(rows)
            .map(|(digit, row)| mul(digit, &automorphism(row, e, q), q));
        terms.fold(vec![0; component.len()], |sum, term| add(&sum, &term, q))
    };
    (product(key.0), product(key.1))
}

/// Exponents of the automorphisms in a chain: powers of the generator, times rho.
#[derive(Clone, Copy)]
struct ChainExponents {
    generator: usize,
    rho: usize,
}

/// COLLAPSEHALF with ρ = τ_rho, and COLLAPSEPARTIAL. Returns the component under ρ(s) and the new
/// body.
fn collapse_chain(
    mut components: Vec<Poly>,
    mut body: Poly,
    key: (&[Poly], &[Poly]),
    chain: ChainExponents,
    q: u64,
    gadget: Gadget,
) -> (Poly, Poly) {
    let powers = powers(chain.generator, components.len(), body.len());
    while components.len() > 1 {
        let last = components.pop().unwrap_or_default();
        let e = powers[components.len() - 1] * chain.rho % (2 * body.len());
        let (a, b) = switch(&last, key, e, q, gadget);
        body = add(&body, &b, q);
        let next = components.len() - 1;
        components[next] = add(&components[next], &a, q);
    }
    (components.remove(0), body)
}

/// 1, g, g², …, modulo 2d.
fn powers(generator: usize, count: usize, d: usize) -> Vec<usize> {
    (0..count)
        .scan(1, |e, _| {
            Some(std::mem::replace(e, *e * generator % (2 * d)))
        })
        .collect()
}

/// 1/n modulo an odd q, for n a power of two: 1 is halved log₂ n times.
pub fn inverse_of_power_of_two(n: usize, q: u64) -> u64 {
    (0..n.trailing_zeros()).fold(1, |x: u64, _| {
        if x.is_multiple_of(2) {
            x / 2
        } else {
            x.midpoint(q)
        }
    })
}

/// Line 2 of TRANSFORM and TRANSFORMPARTIAL: factor·Σᵢ a\[i\]·X^{−i} for every mask.
pub fn reflect(masks: &[Vec<u64>], factor: u64, q: u64) -> Vec<Poly> {
    masks
        .iter()
        .map(|mask| reflect_one(mask, factor, q))
        .collect()
}

/// factor·Σᵢ a\[i\]·X^{−i} for one mask.
fn reflect_one(mask: &[u64], factor: u64, q: u64) -> Poly {
    let d = mask.len();
    let terms = mask
        .iter()
        .enumerate()
        .map(|(i, &x)| shift(&constant(x, d, factor, q), 2 * d - i, q));
    terms.fold(vec![0; d], |sum, term| add(&sum, &term, q))
}

/// Σ_k X^k·τ_e(ãₖ).
fn component(reflected: &[Poly], e: usize, q: u64) -> Poly {
    let terms = reflected
        .iter()
        .enumerate()
        .map(|(k, mask)| shift(&automorphism(mask, e, q), k, q));
    terms.fold(vec![0; reflected[0].len()], |sum, term| add(&sum, &term, q))
}

/// PACK: packs d LWE encryptions (mask vectors and bodies) into one RLWE encryption (a, b), with
/// the keys K_g = (w_g, y_g) and K_h = (w_h, y_h).
pub fn pack(
    masks: &[Vec<u64>],
    bodies: &[u64],
    key_g: (&[Poly], &[Poly]),
    key_h: (&[Poly], &[Poly]),
    q: u64,
    gadget: Gadget,
) -> (Poly, Poly) {
    let d = bodies.len();
    let g = 5;
    let h = 2 * d - 1;
    let reflected = reflect(masks, inverse_of_power_of_two(d, q), q);
    let half = |rho: usize| -> Vec<Poly> {
        powers(g, d / 2, d)
            .into_iter()
            .map(|e| component(&reflected, e * rho % (2 * d), q))
            .collect()
    };

    let first = ChainExponents {
        generator: g,
        rho: 1,
    };
    let second = ChainExponents {
        generator: g,
        rho: h,
    };
    let (a1, body) = collapse_chain(half(1), bodies.to_vec(), key_g, first, q, gadget);
    let (a2, body) = collapse_chain(half(h), body, key_g, second, q, gadget);
    // a₁ is under s and a₂ under h(s), so only the second is switched.
    let (a, b) = switch(&a2, key_h, 1, q, gadget);
    (add(&a1, &a, q), add(&body, &b, q))
}

/// PARTIALPACK (Algorithm 2): packs γ LWE encryptions into one RLWE encryption (a, b), with the key
/// K_g = (w_g, y_g) of g = 2d/γ + 1. Only the first γ coefficients of its message are meaningful.
pub fn partial_pack(
    masks: &[Vec<u64>],
    bodies: &[u64],
    key_g: (&[Poly], &[Poly]),
    q: u64,
    gadget: Gadget,
) -> (Poly, Poly) {
    let d = masks[0].len();
    let gamma = bodies.len();
    let g = 2 * d / gamma + 1;
    let reflected = reflect(masks, inverse_of_power_of_two(gamma, q), q);
    let components = powers(g, gamma, d)
        .into_iter()
        .map(|e| component(&reflected, e, q))
        .collect();
    let mut body = bodies.to_vec();
    body.resize(d, 0);

    let chain = ChainExponents {
        generator: g,
        rho: 1,
    };
    collapse_chain(components, body, key_g, chain, q, gadget)
}

/// x·factor as a constant polynomial.
pub(crate) fn constant(x: u64, d: usize, factor: u64, q: u64) -> Poly {
    let mut poly = vec![0; d];
    poly[0] = (u128::from(x) * u128::from(factor) % u128::from(q)) as u64;
    poly
}
