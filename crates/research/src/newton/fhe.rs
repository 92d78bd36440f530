//! The "single-ciphertext fully homomorphic encryption" of Xu et al. (section 3.1).
//!
//! Ciphertexts are in the ring R = Z_n\[x, y\]/(x³ − u, y³ − v), of rank 9 over Z_n. An element of
//! R is nine elements of Z_n, with the coefficient of xⁱyʲ at place 3i + j.

use rand_core::CryptoRng;
use zeroize::Zeroizing;

use super::key::SecretKey;
use super::modulus::Modulus;

/// Number of coefficients of an element of the ring.
pub const RANK: usize = 9;

/// A ciphertext (u, v, c(x, y)), in integers below n.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ciphertext {
    /// a³.
    pub u: Vec<u64>,
    /// b³.
    pub v: Vec<u64>,
    /// The coefficients of c: nine integers.
    pub c: Vec<u64>,
}

/// The secret point (a, b) at which ciphertexts are evaluated to decrypt.
pub struct Point {
    /// aⁱbʲ at place 3i + j.
    monomials: Zeroizing<Vec<u64>>,
}

impl Point {
    /// Creates the point (a, b) from two elements of Z_n.
    pub fn new(n: &Modulus, a: &[u64], b: &[u64]) -> Self {
        let a = powers(n, a);
        let b = powers(n, b);

        // The final length: growing would leave copies of the point behind.
        let mut monomials = Zeroizing::new(Vec::with_capacity(RANK * n.limbs()));
        for a in &a {
            for b in &b {
                monomials.extend_from_slice(&Zeroizing::new(n.product(a, b)));
            }
        }
        Self { monomials }
    }

    /// Decrypts c: returns c(a, b), an integer below n.
    pub fn open(&self, n: &Modulus, c: &[u64]) -> Zeroizing<Vec<u64>> {
        let mut terms = Zeroizing::new(n.enter(c, n.words()));
        n.wide().multiply(&mut terms, &self.monomials);
        let sum = Zeroizing::new(n.sum(terms.chunks_exact(n.limbs()).map(|term| (term, 1))));
        Zeroizing::new(n.leave(&sum))
    }
}

/// x⁰, x¹ and x² for an element x.
fn powers(n: &Modulus, x: &[u64]) -> [Zeroizing<Vec<u64>>; 3] {
    [n.wide().one().to_vec(), x.to_vec(), n.product(x, x)].map(Zeroizing::new)
}

/// Returns a random point, and its cubes u and v as integers below n.
pub fn random_point(n: &Modulus, rng: &mut dyn CryptoRng) -> (Point, [Vec<u64>; 2]) {
    let roots = n.random(2, rng);
    let (a, b) = roots.split_at(n.limbs());
    // The cubes are public, but the point follows from them and its squares.
    let squares = Zeroizing::new(n.product(&roots, &roots));
    let cubes = n.leave(&n.product(&squares, &roots));
    let (u, v) = cubes.split_at(n.words());
    (Point::new(n, a, b), [u.to_vec(), v.to_vec()])
}

/// Encrypts a message, an element of Z_n, under a point. Returns c(x, y) in integers below n.
///
/// The constant coefficient is the message minus the values of the other terms at the point, so the
/// random coefficient a₀₀ cancels.
pub fn encrypt_at(
    n: &Modulus,
    point: &Point,
    message: &[u64],
    rng: &mut dyn CryptoRng,
) -> Vec<u64> {
    let limbs = n.limbs();
    let mut c = n.random(RANK, rng);
    let values = Zeroizing::new(n.product(&c, &point.monomials));

    // The random constant coefficient is replaced, so its value is left out of the sum.
    let others = values[limbs..].chunks_exact(limbs).map(|value| (value, -1));
    let first = n.sum(std::iter::once((message, 1)).chain(others));
    c[..limbs].copy_from_slice(&first);
    n.leave(&c)
}

/// `Enc`: encrypts a message below 2⁶⁴ under a fresh point. Also returns the point, which clients
/// of section 4.3 keep for decryption.
pub fn encrypt(n: &Modulus, message: u64, rng: &mut dyn CryptoRng) -> (Ciphertext, Point) {
    let (point, [u, v]) = random_point(n, rng);
    let c = encrypt_at(n, &point, &Zeroizing::new(n.small(message)), rng);
    (Ciphertext { u, v, c }, point)
}

/// `Dec`: computes the point from u and v with the secret key, and evaluates c there.
pub fn decrypt(key: &SecretKey, ciphertext: &Ciphertext) -> Zeroizing<Vec<u64>> {
    point_of(key, &ciphertext.u, &ciphertext.v).open(key.modulus(), &ciphertext.c)
}

/// Computes the point (u^d, v^d) with the secret key.
pub fn point_of(key: &SecretKey, u: &[u64], v: &[u64]) -> Point {
    let n = key.modulus();
    let roots = key.cube_roots(&n.enter(&[u, v].concat(), n.words()));
    let (a, b) = roots.split_at(n.limbs());
    Point::new(n, a, b)
}

/// The ring R of a ciphertext's u and v.
pub struct Ring<'a> {
    n: &'a Modulus,
    u: Vec<u64>,
    v: Vec<u64>,
}

impl<'a> Ring<'a> {
    /// Returns the ring of a ciphertext, and its c as elements.
    pub fn of(n: &'a Modulus, ciphertext: &Ciphertext) -> (Self, Vec<u64>) {
        let [u, v, c] = [&ciphertext.u, &ciphertext.v, &ciphertext.c]
            .map(|integers| n.enter(integers, n.words()));
        (Self { n, u, v }, c)
    }

    /// The modulus n.
    pub fn modulus(&self) -> &Modulus {
        self.n
    }

    /// The element 1.
    pub fn one(&self) -> Vec<u64> {
        [self.n.wide().one(), &self.n.zeros(RANK - 1)].concat()
    }

    /// Returns a·b, with 81 products modulo n and the products with u and v.
    pub fn multiply(&self, a: &[u64], b: &[u64]) -> Vec<u64> {
        let limbs = self.n.limbs();
        // All 81 pairs in one call: the arithmetic works on many numbers at a time.
        let lefts = a
            .chunks_exact(limbs)
            .flat_map(|a| a.repeat(RANK))
            .collect::<Vec<u64>>();
        let products = self.n.product(&lefts, &b.repeat(RANK));

        // The product before reduction has powers of x and y up to 4: 25 coefficients.
        let mut wide = self.n.zeros(25);
        for (place, product) in products.chunks_exact(limbs).enumerate() {
            let left = place / RANK;
            let right = place % RANK;
            let i = left / 3 + right / 3;
            let j = left % 3 + right % 3;
            self.n
                .wide()
                .add_multiples(&mut wide[(5 * i + j) * limbs..][..limbs], [(product, 1)]);
        }

        // x³ is u: rows of x³ and x⁴ fold onto those of 1 and x.
        let (low, high) = wide.split_at_mut(15 * limbs);
        self.n.wide().multiply_all(high, &self.u);
        self.n
            .wide()
            .add_multiples(&mut low[..10 * limbs], [(high, 1)]);

        let mut out = Vec::with_capacity(RANK * limbs);
        for row in low.chunks_exact_mut(5 * limbs) {
            // y³ is v: y³ and y⁴ fold onto 1 and y.
            let (low, high) = row.split_at_mut(3 * limbs);
            self.n.wide().multiply_all(high, &self.v);
            self.n
                .wide()
                .add_multiples(&mut low[..2 * limbs], [(high, 1)]);
            out.extend_from_slice(low);
        }
        out
    }
}

/// `Eval`, Algorithm 1: evaluates a polynomial at c by Horner's rule in R, with 81 products for
/// each coefficient. Coefficients are elements, the constant one first.
pub fn evaluate(ring: &Ring<'_>, c: &[u64], coefficients: &[u64]) -> Vec<u64> {
    let limbs = ring.n.limbs();
    coefficients
        .chunks_exact(limbs)
        .rev()
        .fold(ring.n.zeros(RANK), |sum, coefficient| {
            let mut next = ring.multiply(&sum, c);
            ring.n
                .wide()
                .add_multiples(&mut next[..limbs], [(coefficient, 1)]);
            next
        })
}
