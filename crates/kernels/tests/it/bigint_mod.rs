//! Wide modular arithmetic: every backend against big integers.

use crate::common::Words;
use num_bigint::BigUint;
use papir_kernels::Backend;
use papir_kernels::bigint_mod::{MAX_BITS, MAX_SCALE, Modulus, ModulusError};
use proptest::prelude::*;

/// The integer of these words.
fn integer(words: &[u64]) -> BigUint {
    let digits = words
        .iter()
        .flat_map(|&word| [word as u32, (word >> 32) as u32]);
    BigUint::new(digits.collect())
}

/// The integers of `length` words each.
fn integers(words: &[u64], length: usize) -> Vec<BigUint> {
    words.chunks_exact(length).map(integer).collect()
}

/// The words of an integer.
fn to_words(value: &BigUint, length: usize) -> Vec<u64> {
    let mut words = value.to_u64_digits();
    assert!(words.len() <= length);
    words.resize(length, 0);
    words
}

/// An odd number of exactly `bits` bits: most of its bits random, or all of them ones.
fn root(random: &mut Words, bits: usize) -> Vec<u64> {
    let ones = random.below(4) == 0;
    let mut words: Vec<u64> = (0..bits.div_ceil(64))
        .map(|_| if ones { u64::MAX } else { random.word() })
        .collect();
    let top = (bits - 1) % 64;
    let last = words.last_mut().unwrap();
    *last = *last & (u64::MAX >> (63 - top)) | 1 << top;
    words[0] |= 1;
    words
}

/// A modulus on some backend, and its value.
struct Case {
    modulus: Modulus,
    value: BigUint,
}

impl Case {
    fn new(backend: Backend, root: &[u64], square: bool) -> Self {
        let value = integer(root);
        if square {
            let modulus = Modulus::of_square(backend, root).unwrap();
            return Self {
                modulus,
                value: &value * &value,
            };
        }
        Self {
            modulus: Modulus::new(backend, root).unwrap(),
            value,
        }
    }

    /// Integers below the modulus, some of them extreme.
    fn residues(&self, random: &mut Words, count: usize) -> Vec<BigUint> {
        let m = &self.value;
        let extremes = [BigUint::from(0u8), 1u8.into(), m - 1u8, m - 2u8, m / 2u8];
        let words = self.modulus.words();
        let mut value = || integer(&(0..words).map(|_| random.word()).collect::<Vec<_>>()) % m;
        let fixed = |k: usize| (k < 3 || k.is_multiple_of(4)).then(|| extremes[k % 5].clone());
        (0..count)
            .map(|k| fixed(k).unwrap_or_else(&mut value))
            .collect()
    }

    fn enter(&self, values: &[BigUint]) -> Vec<u64> {
        let words = self.modulus.words();
        let flat: Vec<u64> = values
            .iter()
            .flat_map(|value| to_words(value, words))
            .collect();
        let mut elements = vec![0; values.len() * self.modulus.limbs()];
        self.modulus.enter(&flat, words, &mut elements);
        elements
    }

    fn leave(&self, elements: &[u64]) -> Vec<BigUint> {
        let words = self.modulus.words();
        let mut flat = vec![0; elements.len() / self.modulus.limbs() * words];
        self.modulus.leave(elements, &mut flat);
        integers(&flat, words)
    }
}

/// The ordinary modulus and the square, on every backend.
fn for_all(root: &[u64], check: impl Fn(Case)) {
    for backend in Backend::available() {
        for square in [false, true] {
            check(Case::new(backend, root, square));
        }
    }
}

/// Compares every operation on `count` elements with its definition.
fn check_operations(case: &Case, random: &mut Words, count: usize) {
    let m = &case.value;
    let x = case.residues(random, count);
    let mut y = case.residues(random, count);
    y.rotate_left(count / 3);
    let elements = case.enter(&x);
    let by = case.enter(&y);
    assert_eq!(case.leave(&elements), x);

    let mut acc = elements.clone();
    case.modulus.multiply(&mut acc, &by);
    let mut products: Vec<BigUint> = x.iter().zip(&y).map(|(x, y)| x * y % m).collect();
    assert_eq!(case.leave(&acc), products);
    // Unreduced results are valid factors.
    case.modulus.square_repeatedly(&mut acc, 3);
    products = products.iter().map(|x| x.modpow(&8u8.into(), m)).collect();
    assert_eq!(case.leave(&acc), products);

    let indices: Vec<u32> = (0..count)
        .map(|_| random.below(count as u64) as u32)
        .collect();
    case.modulus.multiply_selected(&mut acc, &by, &indices);
    let selected = products
        .iter()
        .zip(&indices)
        .map(|(x, &i)| x * &y[i as usize] % m);
    products = selected.collect();
    assert_eq!(case.leave(&acc), products);

    if let Some(first) = y.first() {
        case.modulus
            .multiply_all(&mut acc, &by[..case.modulus.limbs()]);
        products = products.iter().map(|x| x * first % m).collect();
        assert_eq!(case.leave(&acc), products);
    }
    case.modulus.square(&mut acc);
    products = products.iter().map(|x| x * x % m).collect();
    assert_eq!(case.leave(&acc), products);
    case.modulus.multiply_all(&mut acc, case.modulus.one());
    assert_eq!(case.leave(&acc), products);
}

/// Repeats acc + s·x + t·y with products in between, for scales of all sizes.
fn check_sums(case: &Case, random: &mut Words, count: usize) {
    let m = num_bigint::BigInt::from(case.value.clone());
    let [mut sums, x, y] = [(); 3].map(|()| case.residues(random, count));
    let [mut acc, xs, ys] = [&sums, &x, &y].map(|values| case.enter(values));
    for (s, t) in [
        (1, 0),
        (-1, 1),
        (0, 0),
        (17, -300_000),
        (MAX_SCALE - 1, MAX_SCALE - 1),
        (1 - MAX_SCALE, -5),
    ] {
        case.modulus.add_multiples(&mut acc, [(&xs, s), (&ys, t)]);
        case.modulus.multiply(&mut acc, &ys);
        for (sum, (x, y)) in sums.iter_mut().zip(x.iter().zip(&y)) {
            let [signed, x, y] = [&*sum, x, y].map(|value| num_bigint::BigInt::from(value.clone()));
            let product = (signed + x * s + &y * t) * y;
            *sum = (((product % &m) + &m) % &m).to_biguint().unwrap();
        }
        assert_eq!(case.leave(&acc), sums, "{s}, {t}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn operations_match_those_on_residues(bits in 2usize..1600, count in 0usize..20, seed: u64) {
        let mut random = Words(seed);
        let root = root(&mut random, bits);
        for backend in Backend::available() {
            for square in [false, true] {
                let case = Case::new(backend, &root, square);
                check_operations(&case, &mut Words(seed), count);
            }
        }
    }

    #[test]
    fn sums_of_multiples_match_those_on_residues(bits in 2usize..1600, count in 0usize..12, seed: u64) {
        let root = root(&mut Words(seed), bits);
        for backend in Backend::available() {
            check_sums(&Case::new(backend, &root, false), &mut Words(seed), count);
        }
    }

    #[test]
    fn powers_match_those_on_residues(bits in 2usize..400, exponent_bits in 0usize..140, seed: u64) {
        let mut random = Words(seed);
        let root = root(&mut random, bits);
        let exponent: Vec<u64> = (0..3).map(|_| random.word()).collect();
        let wanted = integer(&exponent) % (BigUint::from(1u8) << exponent_bits);
        for_all(&root, |case| {
            let bases = case.residues(&mut Words(seed), 11);
            let mut elements = case.enter(&bases);
            case.modulus.power(&mut elements, &exponent, exponent_bits);
            let powers: Vec<BigUint> = bases.iter().map(|x| x.modpow(&wanted, &case.value)).collect();
            assert_eq!(case.leave(&elements), powers);
        });
    }

    #[test]
    fn integers_of_any_length_are_reduced(bits in 2usize..300, words in 1usize..30, seed: u64) {
        let mut random = Words(seed);
        let root = root(&mut random, bits);
        let mut flat: Vec<u64> = (0..70 * words).map(|_| random.word()).collect();
        flat[..words].fill(u64::MAX);
        for_all(&root, |case| {
            let mut elements = vec![0; 70 * case.modulus.limbs()];
            case.modulus.enter(&flat, words, &mut elements);
            let expected: Vec<BigUint> = integers(&flat, words).iter().map(|x| x % &case.value).collect();
            assert_eq!(case.leave(&elements), expected);
        });
    }
}

#[test]
fn operations_are_correct_at_the_widths_in_use() {
    for (bits, counts) in [
        (1536, [9, 64]),
        (2048, [1, 17]),
        (3072, [3, 16]),
        (6144, [1, 10]),
        (MAX_BITS, [1, 8]),
    ] {
        let mut random = Words(bits as u64);
        let root = root(&mut random, bits);
        for_all(&root, |case| {
            for count in counts {
                check_operations(&case, &mut Words(count as u64), count);
            }
        });
    }
}

#[test]
fn a_power_is_correct_at_the_width_in_use() {
    let mut random = Words(5);
    let root = root(&mut random, 1536);
    let exponent: Vec<u64> = (0..24).map(|_| random.word()).collect();
    for_all(&root, |case| {
        let bases = case.residues(&mut Words(6), 3);
        let mut elements = case.enter(&bases);
        case.modulus.power(&mut elements, &exponent, 1536);
        let powers: Vec<BigUint> = bases
            .iter()
            .map(|x| x.modpow(&integer(&exponent), &case.value))
            .collect();
        assert_eq!(case.leave(&elements), powers);
    });
}

#[test]
fn a_modulus_of_all_ones_does_not_overflow() {
    // All sums are as large as they get.
    for words in [1, 2, 13, 48, MAX_BITS / 64] {
        let root = vec![u64::MAX; words];
        for_all(&root, |case| check_operations(&case, &mut Words(1), 12));
        for backend in Backend::available() {
            check_sums(&Case::new(backend, &root, false), &mut Words(1), 12);
        }
    }
}

#[test]
fn digits_are_those_to_the_base_root() {
    for bits in [2, 64, 100, 1536] {
        let mut random = Words(3);
        let root = root(&mut random, bits);
        let base = integer(&root);
        for backend in Backend::available() {
            let case = Case::new(backend, &root, true);
            let values = case.residues(&mut random, 70);
            let elements = case.enter(&values);
            let length = 70 * case.modulus.root_words();
            let mut low = vec![0; length];
            let mut high = vec![0; length];
            case.modulus.leave_digits(&elements, &mut low, &mut high);
            let low = integers(&low, root.len());
            let high = integers(&high, root.len());
            let expected: Vec<_> = values.iter().map(|x| (x % &base, x / &base)).collect();
            assert_eq!(low.into_iter().zip(high).collect::<Vec<_>>(), expected);
        }
    }
}

#[test]
fn leading_zeros_of_a_modulus_do_not_count() {
    let modulus = Modulus::new(Backend::current(), &[9, 0, 0]).unwrap();
    assert_eq!((modulus.words(), modulus.root_words()), (1, 1));
    let modulus = Modulus::of_square(Backend::current(), &[u64::MAX, 0]).unwrap();
    assert_eq!((modulus.words(), modulus.root_words()), (2, 1));
}

#[test]
fn invalid_moduli_are_refused() {
    for make in [Modulus::new, Modulus::of_square] {
        assert_eq!(
            make(Backend::current(), &[]).err(),
            Some(ModulusError::TooSmall)
        );
        assert_eq!(
            make(Backend::current(), &[1, 0]).err(),
            Some(ModulusError::TooSmall)
        );
        assert_eq!(
            make(Backend::current(), &[2]).err(),
            Some(ModulusError::Even)
        );
        let wide = vec![1; MAX_BITS / 64 + 1];
        assert_eq!(
            make(Backend::current(), &wide).err(),
            Some(ModulusError::TooWide {
                found: MAX_BITS + 1
            })
        );
    }
}

#[test]
#[should_panic(expected = "scale -9223372036854775808: expected an absolute value below 2^30")]
fn a_scale_without_an_absolute_value_panics() {
    let modulus = Modulus::new(Backend::current(), &[7]).unwrap();
    let mut acc = modulus.one().to_vec();
    modulus.add_multiples(&mut acc, [(modulus.one(), i64::MIN)]);
}

#[test]
#[should_panic(expected = "index 2 into a table of 2 elements")]
fn an_index_outside_the_table_panics() {
    let modulus = Modulus::new(Backend::current(), &[7]).unwrap();
    let table = modulus.one().repeat(2);
    let mut acc = modulus.one().repeat(2);
    modulus.multiply_selected(&mut acc, &table, &[1, 2]);
}

#[test]
#[should_panic(expected = "limbs of the factors")]
fn factors_of_different_lengths_panic() {
    let modulus = Modulus::new(Backend::current(), &[7]).unwrap();
    let mut acc = modulus.one().repeat(2);
    modulus.multiply(&mut acc, modulus.one());
}
