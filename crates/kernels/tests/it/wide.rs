//! Arithmetic modulo a wide prime: every backend against 128-bit integers.

use crate::common::{LENGTHS, Words};
use papir_kernels::Backend;
use papir_kernels::gadget::GadgetError;
use papir_kernels::wide::{self, Gadget, Modulus, NttError, NttTable};
use papir_reference::{gadget as oracle, wide as reference};

/// The largest prime below 2⁵⁰ that is 1 modulo 4096.
const LARGEST: u64 = 1_125_899_906_826_241;

/// Moduli from the least to the largest, of all sizes, not all of them prime.
const MODULI: [u64; 10] = [
    3,
    5,
    257,
    12289,
    268_369_921,
    (1 << 31) + 11,
    (1 << 40) + 15,
    (1 << 49) + 1,
    LARGEST,
    (1 << 50) - 1,
];

/// The largest prime below `bound` that is 1 modulo `order`.
fn prime(order: u64, bound: u64) -> u64 {
    let candidates = (1..bound.div_ceil(order)).rev().map(|k| k * order + 1);
    candidates.into_iter().find(|&q| wide::is_prime(q)).unwrap()
}

/// Words below a multiple of q, the extremes among them.
fn words_below(words: &mut Words, length: usize, q: u64, multiple: u64) -> Vec<u64> {
    let bound = multiple * q;
    let extremes = [0, 1, q / 2, q / 2 + 1, q - 1, bound - 1];
    (0..length)
        .map(|_| match words.below(16) as usize {
            k if k < extremes.len() => extremes[k],
            _ => words.below(bound),
        })
        .collect()
}

/// Runs a test for every backend, length and modulus with words below 4q and two slices of residues.
fn for_all(seed: u64, test: impl Fn(Backend, Modulus, &[u64], &[u64], &[u64])) {
    let mut words = Words(seed);
    for q in MODULI {
        for length in LENGTHS {
            let [lazy, a, b] =
                [4, 1, 1].map(|multiple| words_below(&mut words, length, q, multiple));
            for backend in Backend::available() {
                test(backend, Modulus::new(q), &lazy, &a, &b);
            }
        }
    }
}

/// f on every pair, in 128 bits, modulo q.
fn expected(a: &[u64], b: &[u64], q: Modulus, f: impl Fn(i128, i128) -> i128) -> Vec<u64> {
    let pairs = a.iter().zip(b);
    pairs
        .map(|(&a, &b)| f(a.into(), b.into()).rem_euclid(q.value().into()) as u64)
        .collect()
}

#[test]
fn the_largest_prime_is_found() {
    assert_eq!(prime(4096, 1 << 50), LARGEST);
}

#[test]
fn primes_are_recognised() {
    let by_division = |n: u64| {
        n >= 2
            && (2..)
                .take_while(|f| f * f <= n)
                .all(|f| !n.is_multiple_of(f))
    };
    for n in 0..5000 {
        assert_eq!(wide::is_prime(n), by_division(n), "{n}");
    }
    // Strong pseudoprimes to the bases 2; 2 and 3; 2 to 7; 2 to 31; and squares of large primes.
    let composites = [
        2047,
        1_373_653,
        3_215_031_751,
        3_825_123_056_546_413_051,
        33_554_393 * 33_554_393,
    ];
    for n in composites {
        assert!(!wide::is_prime(n), "{n}");
    }
    for n in [33_554_393, (1 << 61) - 1, u64::MAX - 58] {
        assert!(wide::is_prime(n), "{n}");
    }
}

#[test]
fn scalars() {
    let mut words = Words(40);
    for q in MODULI {
        let modulus = Modulus::new(q);
        assert_eq!(modulus.value(), q);
        let a = words_below(&mut words, 200, q, 1);
        let b = words_below(&mut words, 200, q, 1);
        for (&a, &b) in a.iter().zip(&b) {
            assert_eq!(modulus.add(a, b), (a + b) % q);
            assert_eq!(modulus.sub(a, b), (a + q - b) % q);
            assert_eq!(modulus.mul(a, b), reference::mul(a, b, q));
            for word in [a, words.word(), u64::MAX, 1 << 63] {
                assert_eq!(modulus.reduce(word), word % q);
            }
        }
    }
}

#[test]
fn sums_and_differences() {
    for_all(41, |backend, q, _, a, b| {
        let mut out = a.to_vec();
        wide::add_assign(backend, &mut out, b, q);
        assert_eq!(out, expected(a, b, q, |a, b| a + b), "{backend}");
        wide::sub_assign(backend, &mut out, b, q);
        assert_eq!(out, a, "{backend}");
        wide::sub_assign(backend, &mut out, b, q);
        assert_eq!(out, expected(a, b, q, |a, b| a - b), "{backend}");
    });
}

#[test]
fn products() {
    for_all(42, |backend, q, lazy, _, b| {
        let mut out = vec![7; b.len()];
        wide::mul(backend, &mut out, lazy, b, q);
        assert_eq!(out, expected(lazy, b, q, |a, b| a * b), "{backend}");
        for constant in [0, 1, q.value() / 2, q.value() - 1] {
            wide::scale(backend, &mut out, lazy, constant, q);
            assert_eq!(
                out,
                expected(lazy, b, q, |a, _| a * i128::from(constant)),
                "{backend}"
            );
        }
    });
}

#[test]
fn any_words_are_reduced() {
    let mut words = Words(43);
    for (q, length) in MODULI.into_iter().flat_map(|q| LENGTHS.map(|l| (q, l))) {
        let mut a: Vec<u64> = (0..length).map(|_| words.word()).collect();
        let extremes = [
            u64::MAX,
            1 << 63,
            1 << 52,
            (1 << 52) - 1,
            u64::MAX << 52,
            4 * q - 1,
            2 * q,
        ];
        for (a, extreme) in a.iter_mut().zip(extremes) {
            *a = extreme;
        }
        for backend in Backend::available() {
            let mut out = vec![7; length];
            wide::reduce(backend, &mut out, &a, Modulus::new(q));
            assert_eq!(
                out,
                expected(&a, &a, Modulus::new(q), |a, _| a),
                "{backend} modulo {q}"
            );
        }
    }
}

#[test]
fn dot_products() {
    let mut words = Words(44);
    for q in MODULI {
        for (rows, length) in [
            (0, 8),
            (1, 1),
            (3, 5),
            (4, 64),
            (5, 33),
            (64, 40),
            (wide::DOT_ROWS, 16),
        ] {
            let random = words_below(&mut words, rows * length, q, 4);
            for a in [random, vec![4 * q - 1; rows * length]] {
                let b = [
                    words_below(&mut words, rows * length, q, 1),
                    vec![q - 1; rows * length],
                ];
                let modulus = u128::from(q);
                let expected = b.each_ref().map(|b| -> Vec<u64> {
                    let term = |k: usize| u128::from(a[k]) * u128::from(b[k]) % modulus;
                    let sum = |slot| (0..rows).map(|row| term(row * length + slot)).sum::<u128>();
                    (0..length)
                        .map(|slot| (sum(slot) % modulus) as u64)
                        .collect()
                });
                for backend in Backend::available() {
                    let mut outs = [vec![7; length], vec![7; length]];
                    let q = Modulus::new(q);
                    for (out, b) in outs.iter_mut().zip(&b) {
                        wide::dot(backend, out, &a, b, q);
                    }
                    assert_eq!(
                        outs, expected,
                        "{backend}, {rows} rows of {length} words modulo {q:?}"
                    );
                    let mut outs = [vec![7; length], vec![7; length]];
                    wide::dot_pair(
                        backend,
                        outs.each_mut().map(|out| &mut out[..]),
                        &a,
                        b.each_ref().map(|b| &b[..]),
                        q,
                    );
                    assert_eq!(
                        outs, expected,
                        "{backend}, {rows} rows of {length} words modulo {q:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn rotations_and_automorphisms() {
    let mut words = Words(45);
    for q in MODULI {
        for d in [1, 2, 8, 16, 64, 256] {
            let a = words_below(&mut words, d, q, 1);
            for backend in Backend::available() {
                let mut out = vec![7; d];
                for shift in [0, 1, d / 2, d - 1, d, d + 1, 3 * d / 2, 2 * d - 1] {
                    if shift < 2 * d {
                        wide::rotate(backend, &mut out, &a, shift, Modulus::new(q));
                        assert_eq!(
                            out,
                            reference::rotate(&a, shift, q),
                            "{backend}, shift {shift}"
                        );
                    }
                }
                for e in [1, 3, 5, d + 1, 2 * d - 1, 2 * d + 3] {
                    if e % 2 == 1 {
                        wide::automorphism(backend, &mut out, &a, e, Modulus::new(q));
                        assert_eq!(
                            out,
                            reference::automorphism(&a, e, q),
                            "{backend}, exponent {e}"
                        );
                    }
                }
            }
        }
    }
}

#[test]
fn signed_words_become_residues() {
    let mut words = Words(46);
    for (q, length) in MODULI.into_iter().flat_map(|q| LENGTHS.map(|l| (q, l))) {
        let mut signed = words.integers(length);
        let extremes = [i32::MIN, i32::MAX, -1, 0, 1, i32::MIN + 1, -(q as i32)];
        for (word, extreme) in signed.iter_mut().zip(extremes) {
            *word = extreme;
        }
        for backend in Backend::available() {
            let mut out = vec![7; length];
            wide::from_signed(backend, &mut out, &signed, Modulus::new(q));
            for (&out, &word) in out.iter().zip(&signed) {
                assert_eq!(
                    i128::from(out),
                    i128::from(word).rem_euclid(q.into()),
                    "{backend}, {q}"
                );
            }
        }
    }
}

#[test]
fn signed_bytes_become_lazy_residues() {
    let bytes: Vec<u8> = (0..=255).collect();
    for q in MODULI.into_iter().filter(|&q| q > 128) {
        for backend in Backend::available() {
            let mut out = vec![7; 256];
            wide::from_bytes_lazy(backend, &mut out, &bytes, Modulus::new(q));
            for (&out, &byte) in out.iter().zip(&bytes) {
                assert_eq!(
                    i128::from(out),
                    i128::from(q) + i128::from(byte as i8),
                    "{backend}"
                );
            }
        }
    }
}

/// (q, log_base, drop, levels), where the digits cover the modulus or nearly so.
const SHAPES: [(u64, u32, u32, usize); 7] = [
    (LARGEST, 17, 0, 3),
    (LARGEST, 13, 0, 4),
    (LARGEST, 8, 26, 3),
    (LARGEST, 30, 20, 1),
    (268_369_921, 1, 12, 16),
    (12289, 7, 0, 2),
    (17, 6, 2, 1),
];

#[test]
fn digits_match_the_reference() {
    let mut words = Words(47);
    for (q, log_base, drop, levels) in SHAPES {
        let gadget = Gadget::new(q, log_base, drop, levels).unwrap();
        let of =
            |x: u64| oracle::digits(oracle::centre(x.into(), q.into()), log_base, drop, levels);
        let ends = [q / 2, q / 2 + 1].map(|x| of(x)[levels - 1].unsigned_abs());
        assert_eq!(
            u128::from(gadget.top_bound()),
            ends[0].max(ends[1]),
            "{gadget:?}"
        );
        for d in LENGTHS {
            let x = words_below(&mut words, d, q, 1);
            let expected: Vec<_> = x.iter().map(|&x| of(x)).collect();
            for backend in Backend::available() {
                let mut digits = vec![7; levels * d];
                let mut lazy = vec![7; levels * d];
                wide::decompose(backend, &gadget, &mut digits, &x);
                wide::decompose_lazy(backend, &gadget, &mut lazy, &x);
                for at in 0..levels * d {
                    let digit = expected[at % d][at / d];
                    assert_eq!(i128::from(digits[at]), digit, "{backend}, {gadget:?}");
                    assert_eq!(
                        i128::from(lazy[at]),
                        i128::from(q) + digit,
                        "{backend}, {gadget:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn invalid_gadgets_are_refused() {
    for q in [0, 1, 2, 4, 1 << 50, (1 << 50) + 1, u64::MAX] {
        assert_eq!(
            Gadget::new(q, 16, 0, 4).unwrap_err(),
            GadgetError::WideModulus { q }
        );
    }
    let shapes = [
        (0, 0, 4),
        (31, 0, 2),
        (16, 0, 0),
        (16, 0, 2),
        (16, 61, 1),
        (16, u32::MAX, usize::MAX),
    ];
    for (log_base, drop, levels) in shapes {
        let error = Gadget::new(LARGEST, log_base, drop, levels).unwrap_err();
        assert_eq!(
            error,
            GadgetError::Digits {
                log_base,
                drop,
                levels
            }
        );
    }
}

/// A table for the largest prime below `bound`, and its root.
fn table(d: usize, bound: u64) -> (NttTable, u64) {
    let q = prime(2 * d as u64, bound);
    let psi = reference::primitive_root(2 * d as u64, q).unwrap();
    (NttTable::new(q, psi, d).unwrap(), psi)
}

/// Degrees from the least to a large one, with primes of 50, 49, 28 and few bits.
fn tables() -> impl Iterator<Item = (NttTable, u64)> {
    let small = [
        table(16, 100),
        table(2048, 12290),
        table(64, 12290),
        table(65536, 1 << 50),
    ];
    let all =
        (4..=13).flat_map(|bits| [1 << 50, 1 << 49, 1 << 28].map(|bound| table(1 << bits, bound)));
    small.into_iter().chain(all)
}

fn transformed(table: &NttTable, backend: Backend, a: &[u64]) -> Vec<u64> {
    let mut x = a.to_vec();
    table.forward(backend, &mut x);
    x
}

#[test]
fn forward_evaluates_at_odd_powers_of_the_root() {
    let mut words = Words(48);
    for (table, psi) in tables() {
        let q = table.modulus();
        let d = table.degree();
        let a = words_below(&mut words, d, q, 1);
        let values = transformed(&table, Backend::PORTABLE, &a);
        for slot in (0..d).step_by((d / 64).max(1)).chain([d - 1]) {
            let x = reference::pow(psi, table.exponent_of_slot(slot) as u64, q);
            assert_eq!(
                values[slot],
                reference::evaluate(&a, x, q),
                "d = {d}, slot {slot}"
            );
        }
    }
}

#[test]
fn all_backends_transform_words_up_to_their_bounds() {
    let mut words = Words(49);
    for (table, _) in tables() {
        let q = table.modulus();
        let d = table.degree();
        let constants = [0, 1, q - 1, q, 2 * q - 1, 4 * q - 1].map(|word| vec![word; d]);
        let alternating = (0..d).map(|k| [0, 4 * q - 1][k % 2]).collect();
        let random = [4, 4, 1].map(|multiple| words_below(&mut words, d, q, multiple));
        for a in constants.into_iter().chain([alternating]).chain(random) {
            let reduced: Vec<u64> = a.iter().map(|a| a % q).collect();
            let values = transformed(&table, Backend::PORTABLE, &reduced);
            for backend in Backend::available() {
                assert_eq!(
                    transformed(&table, backend, &a),
                    values,
                    "{backend}, d = {d}, q = {q}"
                );
                let mut lazy = a.clone();
                table.forward_lazy(backend, &mut lazy);
                assert!(
                    lazy.iter().all(|&x| x < 4 * q),
                    "{backend}, d = {d}, q = {q}"
                );
                lazy.iter_mut().for_each(|x| *x %= q);
                assert_eq!(lazy, values, "{backend}, d = {d}, q = {q}");
            }
        }
    }
}

#[test]
fn all_backends_invert_values_up_to_their_bounds() {
    let mut words = Words(50);
    for (table, _) in tables() {
        let q = table.modulus();
        let d = table.degree();
        let constants = [0, 1, q - 1, q, 2 * q - 1].map(|word| vec![word; d]);
        let alternating = (0..d).map(|k| [0, 2 * q - 1][k % 2]).collect();
        let random = [2, 2, 1].map(|multiple| words_below(&mut words, d, q, multiple));
        for a in constants.into_iter().chain([alternating]).chain(random) {
            let reduced: Vec<u64> = a.iter().map(|a| a % q).collect();
            let mut expected = reduced.clone();
            table.inverse(Backend::PORTABLE, &mut expected);
            assert_eq!(transformed(&table, Backend::PORTABLE, &expected), reduced);
            for backend in Backend::available() {
                let mut x = a.clone();
                table.inverse(backend, &mut x);
                assert_eq!(x, expected, "{backend}, d = {d}, q = {q}");
            }
        }
    }
}

#[test]
fn slotwise_products_are_negacyclic_products() {
    let mut words = Words(51);
    for (table, _) in [table(64, 1 << 50), table(256, 1 << 28)] {
        let q = table.modulus();
        let d = table.degree();
        let a = words_below(&mut words, d, q, 1);
        let b = words_below(&mut words, d, q, 1);
        for backend in Backend::available() {
            let [mut x, mut y] = [a.clone(), b.clone()];
            table.forward_lazy(backend, &mut x);
            table.forward(backend, &mut y);
            let mut product = vec![0; d];
            wide::mul(backend, &mut product, &x, &y, Modulus::new(q));
            table.inverse(backend, &mut product);
            assert_eq!(product, reference::negacyclic_mul(&a, &b, q), "{backend}");
        }
    }
}

#[test]
fn invalid_tables_are_refused() {
    let (valid, psi) = table(64, 1 << 50);
    let q = valid.modulus();
    let error = |q, psi, d| NttTable::new(q, psi, d).unwrap_err();
    for d in [0, 8, 48, 1 << 17] {
        assert_eq!(error(q, psi, d), NttError::Degree { found: d });
    }
    for q in [0, 1, 2, 129 * 257, 1 << 50, prime(128, 1 << 51), u64::MAX] {
        assert_eq!(error(q, psi, 64), NttError::Modulus { found: q });
    }
    for psi in [0, 1, q - 1, q, reference::mul(psi, psi, q)] {
        assert_eq!(
            error(q, psi, 64),
            NttError::Root {
                found: psi,
                q,
                order: 128
            }
        );
    }
}

#[test]
fn packed_residues_come_back_on_every_backend() {
    let words: Vec<u64> = (0..2048u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 14)
        .chain([0, (1 << 50) - 1])
        .collect();
    for backend in Backend::available() {
        for words in [&words[2..], &words[..2048], &words[2042..]] {
            let mut packed = vec![7; wide::packed::packed_len(words.len())];
            wide::packed::pack(backend, &mut packed, words);
            let mut expected = Vec::new();
            papir_kernels::bits::pack(backend, words, 50, &mut expected);
            assert_eq!(packed, expected, "{backend}");
            let mut unpacked = vec![7; words.len()];
            wide::packed::unpack(backend, &mut unpacked, &packed);
            assert_eq!(unpacked, words, "{backend}");
        }
    }
}
