//! Digits: every backend against integers.

use crate::common::{LENGTHS, MODULI, Words};
use papir_kernels::Backend;
use papir_kernels::gadget::{self, Gadget2, GadgetError};
use papir_kernels::pointwise::Modulus;
use papir_reference::gadget as oracle;

/// (q1, q2, log_base, drop, levels), where the digits cover the modulus or nearly so.
const SHAPES: [(u32, u32, u32, u32, usize); 8] = [
    (268_369_921, 249_561_089, 19, 0, 3),
    (268_369_921, 249_561_089, 16, 26, 2),
    (249_561_089, 268_369_921, 20, 17, 2),
    (1_073_479_681, 1_073_184_769, 30, 0, 2),
    (1_073_479_681, 12289, 7, 3, 6),
    (12289, 1_073_479_681, 1, 12, 32),
    (17, 5, 3, 0, 2),
    (17, 5, 6, 2, 1),
];

fn gadgets() -> impl Iterator<Item = Gadget2> {
    SHAPES.iter().map(|&(q1, q2, log_base, drop, levels)| {
        Gadget2::new(q1, q2, log_base, drop, levels).unwrap()
    })
}

fn product(shape: usize) -> i128 {
    i128::from(SHAPES[shape].0) * i128::from(SHAPES[shape].1)
}

/// Values modulo q, among them both ends of the centred range.
fn values(words: &mut Words, length: usize, q: i128) -> Vec<i128> {
    let extremes = [0, 1, q / 2, q / 2 + 1, q - 1];
    (0..length)
        .map(|k| match extremes.get(k) {
            Some(&x) => x,
            None => i128::from(words.below(q as u64)),
        })
        .collect()
}

#[test]
fn digits_match_the_reference() {
    let mut words = Words(30);
    for (k, gadget) in gadgets().enumerate() {
        let (q1, q2, log_base, drop, levels) = SHAPES[k];
        for d in LENGTHS {
            let x = values(&mut words, d, product(k));
            let residues =
                |q: u32| -> Vec<u32> { x.iter().map(|x| (x % i128::from(q)) as u32).collect() };
            let centred = x.iter().map(|&x| oracle::centre(x, product(k)));
            let expected: Vec<_> = centred
                .map(|x| oracle::digits(x, log_base, drop, levels))
                .collect();
            for backend in Backend::available() {
                let mut out = vec![0; levels * d];
                gadget::decompose(backend, &gadget, &mut out, &residues(q1), &residues(q2));
                for (at, &digit) in out.iter().enumerate() {
                    let level = at / d;
                    let j = at % d;
                    assert_eq!(
                        i128::from(digit),
                        expected[j][level],
                        "{backend}, {gadget:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn the_top_bound_is_the_largest_top_digit() {
    for (k, gadget) in gadgets().enumerate() {
        let (q1, q2, log_base, drop, levels) = SHAPES[k];
        let half = product(k) / 2;
        let ends = [half, -half].map(|x| oracle::digits(x, log_base, drop, levels)[levels - 1]);
        let largest = ends.map(i128::unsigned_abs).into_iter().max().unwrap();
        assert_eq!(u128::from(gadget.top_bound()), largest, "{q1}·{q2}");
    }
}

#[test]
fn invalid_shapes_are_refused() {
    let q1 = 268_369_921;
    let q2 = 249_561_089;
    for (q1, q2) in [
        (q1, q1),
        (9, 15),
        (q1, 1 << 20),
        (0, q2),
        (0, 0),
        (1, 0),
        (q1, 0),
        (q1, 1),
        (1 << 30, q2),
    ] {
        let error = Gadget2::new(q1, q2, 16, 0, 4).unwrap_err();
        assert_eq!(error, GadgetError::Moduli { q1, q2 });
    }
    let shapes = [
        (0, 0, 4),
        (31, 0, 2),
        (16, 0, 0),
        (16, 0, 2),
        (16, 61, 1),
        (30, 1, 3),
    ];
    for (log_base, drop, levels) in [&shapes[..], &[(16, u32::MAX, usize::MAX)]].concat() {
        let error = Gadget2::new(q1, q2, log_base, drop, levels).unwrap_err();
        let expected = GadgetError::Digits {
            log_base,
            drop,
            levels,
        };
        assert_eq!(error, expected);
    }
}

#[test]
fn signed_words_become_residues() {
    let mut words = Words(31);
    for (q, length) in MODULI.into_iter().flat_map(|q| LENGTHS.map(|l| (q, l))) {
        let mut digits = words.integers(length);
        let extremes = [i32::MIN, i32::MAX, -1, 0, 1, -(q as i32)];
        for (digit, extreme) in digits.iter_mut().zip(extremes) {
            *digit = extreme;
        }
        for backend in Backend::available() {
            let mut out = vec![0; length];
            gadget::to_residues(backend, &mut out, &digits, Modulus::new(q));
            for (&out, &digit) in out.iter().zip(&digits) {
                assert_eq!(i64::from(out), i64::from(digit).rem_euclid(q.into()));
            }
        }
    }
}

#[test]
fn residues_are_centred() {
    let mut words = Words(32);
    for (q, length) in MODULI.into_iter().flat_map(|q| LENGTHS.map(|l| (q, l))) {
        let residues = words.residues(length, q);
        for backend in Backend::available() {
            let mut out = vec![0; length];
            gadget::centre(backend, &mut out, &residues, Modulus::new(q));
            for (&out, &residue) in out.iter().zip(&residues) {
                assert_eq!(i128::from(out), oracle::centre(residue.into(), q.into()));
            }
        }
    }
}
