//! Products of powers against separate exponentiations.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::{Rng, SeedableRng};
use papir_paillier::products::{ExponentMatrix, Place, Products, ShiftedFactors, multiply_shifted};
use papir_paillier::{Ciphertext, Error, Params, PublicKey, SecretKey, random_ciphertexts};
use papir_ring::prg::Seed;

fn key(bits: u32, s: u32) -> SecretKey {
    SecretKey::generate(
        Params::insecure(bits, s).unwrap(),
        &mut ChaCha20Rng::from_seed([1; 32]),
    )
    .unwrap()
}

/// Returns Π bᵢ^eᵢ, with exponents of `words` words.
fn naive(public: &PublicKey, bases: &[Ciphertext], exponents: &[u64], words: usize) -> Ciphertext {
    let powers = bases.iter().zip(exponents.chunks(words));
    let powers = powers.map(|(base, exponent)| public.multiply_plain(base, exponent));
    powers.reduce(|a, b| public.add(&a, &b)).unwrap()
}

/// Draws exponents below 2^bits.
fn exponents(count: usize, bits: u32, rng: &mut ChaCha20Rng) -> Vec<u64> {
    let words = bits.div_ceil(64);
    let top = u64::MAX >> (64 * words - bits);
    (0..count)
        .flat_map(|_| {
            (0..words)
                .map(|i| {
                    if i + 1 == words {
                        rng.next_u64() & top
                    } else {
                        rng.next_u64()
                    }
                })
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn products_match_separate_exponentiations() {
    let mut rng = ChaCha20Rng::from_seed([3; 32]);
    for (s, rows, columns, bits, memory) in [
        (1, 1, 1, 1, 0),
        (1, 3, 20, 64, 1 << 20),
        (1, 19, 37, 130, 1 << 14),
        (2, 9, 5, 65, 1 << 20),
        (1, 2, 13, 63, 1 << 30),
    ] {
        let key = key(256, s);
        let public = key.public();
        let bases = random_ciphertexts(public, &Seed([2; 32]), "test", 0, columns);
        let words = exponents(rows * columns, bits, &mut rng);
        let matrix = ExponentMatrix::new(rows, columns, bits, &words).unwrap();
        let found = Products::new(public, &bases, &matrix, 0..rows, memory)
            .unwrap()
            .finish();
        let per_entry = bits.div_ceil(64) as usize;
        let expected: Vec<_> = words
            .chunks(columns * per_entry)
            .map(|row| naive(public, &bases, row, per_entry))
            .collect();
        assert_eq!(found, expected, "s = {s}, {rows} × {columns}, {bits} bits");
    }
}

#[test]
fn rows_can_be_computed_separately_and_in_steps() {
    let key = key(256, 1);
    let bases = random_ciphertexts(key.public(), &Seed([2; 32]), "test", 1, 11);
    let words = exponents(20 * 11, 100, &mut ChaCha20Rng::from_seed([4; 32]));
    let matrix = ExponentMatrix::new(20, 11, 100, &words).unwrap();
    let whole = Products::new(key.public(), &bases, &matrix, 0..20, 1 << 20)
        .unwrap()
        .finish();
    let mut parts = Vec::new();
    for rows in [0..7, 7..7, 7..20] {
        let mut products = Products::new(key.public(), &bases, &matrix, rows, 1 << 12).unwrap();
        let mut before = 0;
        while products.step() {
            assert!(products.work_done() >= before && products.work_done() <= products.work());
            before = products.work_done();
        }
        assert_eq!(products.work_done(), products.work());
        parts.extend(products.finish());
    }
    assert_eq!(parts, whole);
}

#[test]
fn computations_and_keys_are_send_and_sync() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Products<ExponentMatrix<Vec<u64>>>>();
    is_shared::<SecretKey>();
    is_shared::<PublicKey>();
}

#[test]
fn an_empty_product_encrypts_zero() {
    let key = key(256, 1);
    let matrix = ExponentMatrix::new(3, 0, 8, []).unwrap();
    let products = Products::new(key.public(), &[], &matrix, 0..3, 1 << 20)
        .unwrap()
        .finish();
    assert_eq!(products.len(), 3);
    assert!(
        products
            .iter()
            .all(|product| key.decrypt(product).words() == [0; 4])
    );
}

#[test]
fn mismatched_shapes_are_refused() {
    let key = key(256, 1);
    let bases = random_ciphertexts(key.public(), &Seed([2; 32]), "test", 1, 2);
    assert!(ExponentMatrix::new(1, 2, 8, [1, 256]).is_err());
    assert!(ExponentMatrix::new(1, 2, 8, [1]).is_err());
    let matrix = ExponentMatrix::new(1, 2, 8, [1, 2]).unwrap();
    assert!(Products::new(key.public(), &bases, &matrix, 0..2, 0).is_err());
    assert!(Products::new(key.public(), &bases[..1], &matrix, 0..1, 0).is_err());
    let nothing = ExponentMatrix::new(1, 2, 0, []).unwrap();
    assert!(Products::new(key.public(), &bases, &nothing, 0..1, 0).is_err());
}

#[test]
fn shifted_products_match_separate_exponentiations() {
    let key = key(256, 1);
    let public = key.public();
    let numbers = random_ciphertexts(public, &Seed([2; 32]), "test", 2, 3 + 20 + 1);
    let (starts, rest) = numbers.split_at(3);
    let (factors, divisor) = rest.split_at(20);
    // The first product has no factor, the second one at its first and last positions.
    let mut places: Vec<Place> = (0..18)
        .map(|i| Place {
            product: 2,
            position: 7 * i,
        })
        .collect();
    places.extend([0, 130].map(|position| Place {
        product: 1,
        position,
    }));
    let mut expected = starts.to_vec();
    for (place, factor) in places.iter().zip(factors) {
        let quotient = public.subtract(factor, &divisor[0]).unwrap();
        let mut power = vec![0; 9];
        let bit = 3 * place.position as usize;
        power[bit / 64] = 1 << (bit % 64);
        expected[place.product] = public.add(
            &expected[place.product],
            &public.multiply_plain(&quotient, &power),
        );
    }

    let shifted = ShiftedFactors {
        factors,
        places: &places,
        divisor: &divisor[0],
        step: 3,
    };
    let mut pauses = 0;
    let found = multiply_shifted(public, starts, shifted, || pauses += 1);
    assert_eq!(found.unwrap(), expected);
    assert_eq!(pauses, 131);

    let one = |places: &[Place], divisor: &Ciphertext| {
        let shifted = ShiftedFactors {
            factors: &factors[..1],
            places,
            divisor,
            step: 3,
        };
        multiply_shifted(public, starts, shifted, || {}).map(drop)
    };
    assert!(matches!(one(&[], &divisor[0]), Err(Error::Length { .. })));
    let beyond = [Place {
        product: 3,
        position: 0,
    }];
    assert!(matches!(
        one(&beyond, &divisor[0]),
        Err(Error::OutOfBounds { .. })
    ));
}
