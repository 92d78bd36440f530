//! Compression against direct decryption.

use crate::support;
use std::slice::from_ref;

use crate::support::*;
use papir_paillier::compress::{
    CompressionKey, ExpandedKey, KeyKind, Layout, Lwe, LweParams, PackedKey, Scale, decode,
    decompress,
};
use papir_paillier::{Ciphertext, Params, SecretKey, random_ciphertexts};
use papir_ring::prg::Seed;
use proptest::prelude::*;

const LWE_SETS: [(usize, u32); 4] = [(630, 64), (742, 64), (870, 64), (1305, 11)];
const RLWE_SETS: [(usize, u32); 4] = [(1024, 27), (2048, 54), (4096, 36), (8192, 43)];
const KINDS: [KeyKind; 4] = [
    KeyKind::Binary,
    KeyKind::Ternary,
    KeyKind::Bounded(9),
    KeyKind::General,
];

/// Asserts that the ciphertexts hold the phases of the encryptions, up to the layout's error.
fn check(
    secret: &SecretKey,
    layout: &Layout,
    ciphertexts: &[Ciphertext],
    encryptions: &[Lwe],
    lwe_secret: &[u64],
) {
    let lwe = layout.lwe();
    assert_eq!(
        ciphertexts.len(),
        encryptions.len().div_ceil(layout.slots())
    );
    let found = decompress(secret, layout, ciphertexts, encryptions.len()).unwrap();
    for (i, (&found, encryption)) in found.iter().zip(encryptions).enumerate() {
        let off =
            difference(found, phase(lwe, encryption, lwe_secret), lwe.modulus()).unsigned_abs();
        assert!(
            off <= u128::from(layout.phase_error()),
            "phase {i} of {layout:?}: off by {off}"
        );
    }
}

/// Compresses `count` random encryptions by every method.
fn check_all_ways(secret: &SecretKey, lwe: LweParams, scale: Scale, count: usize, seed: u8) {
    let rng = &mut rng(seed);
    let lwe_secret = support::secret(&lwe, rng);
    let layout = Layout::new(secret.public(), lwe, scale).unwrap();
    let phases: Vec<i128> = (0..count)
        .map(|_| residue(lwe.modulus(), rng).into())
        .collect();
    let encryptions: Vec<Lwe> = phases
        .iter()
        .map(|&phase| encrypt(&lwe, &lwe_secret, phase, rng))
        .collect();
    let key = CompressionKey::generate(secret, &lwe, &lwe_secret, rng).unwrap();
    let ciphertexts = key.compress(&layout, &encryptions).unwrap();
    check(secret, &layout, &ciphertexts, &encryptions, &lwe_secret);
    let expanded = ExpandedKey::new(key, lwe.modulus_bits()).unwrap();
    assert_eq!(
        expanded.compress(&layout, &encryptions).unwrap(),
        ciphertexts
    );
    let packing = Layout::largest_packing(secret.public(), lwe, scale).unwrap();
    for packing in [packing.div_ceil(2), packing] {
        let layout = Layout::packed(secret.public(), lwe, scale, packing).unwrap();
        let packed = PackedKey::generate(secret, &layout, &lwe_secret, rng).unwrap();
        let ciphertexts = packed.unpack().compress(&layout, &encryptions).unwrap();
        check(secret, &layout, &ciphertexts, &encryptions, &lwe_secret);
    }
}

#[test]
fn every_method_compresses_every_kind_of_secret() {
    let key = small_key(384, 1);
    for (kind, scale) in KINDS
        .iter()
        .flat_map(|kind| [(*kind, Scale::Separate), (*kind, Scale::Overlapping)])
    {
        for (n, q) in [
            (1, 1 << 64),
            (7, 1 << 20),
            (12, 1 << 32),
            (20, 12_289),
            (5, (1 << 59) - 55),
        ] {
            check_all_ways(&key, LweParams::new(n, q, kind).unwrap(), scale, 5, 7);
        }
    }
}

#[test]
fn keys_can_be_a_seed_and_offsets() {
    let key = small_key(384, 1);
    let rng = &mut rng(16);
    let public = key.public();
    let lwe = LweParams::new(20, 1 << 30, KeyKind::Ternary).unwrap();
    let secret = support::secret(&lwe, rng);
    let encryptions: Vec<Lwe> = (0..5)
        .map(|i| encrypt(&lwe, &secret, i << 20, rng))
        .collect();
    let uniform = random_ciphertexts(public, &Seed([3; 32]), "compression key", 0, 20);
    let plaintexts = CompressionKey::plaintexts(public, &lwe, &secret).unwrap();
    let offsets = key.offsets(&uniform, &plaintexts).unwrap();
    let ck = CompressionKey::from_ciphertexts(
        public,
        &lwe,
        public.with_offsets(&uniform, &offsets).unwrap(),
    );
    let layout = Layout::new(public, lwe, Scale::Separate).unwrap();
    check(
        &key,
        &layout,
        &ck.unwrap().compress(&layout, &encryptions).unwrap(),
        &encryptions,
        &secret,
    );
    let layout = Layout::packed(public, lwe, Scale::Separate, 3).unwrap();
    let uniform = random_ciphertexts(
        public,
        &Seed([3; 32]),
        "packed key",
        0,
        PackedKey::ciphertext_count(&layout),
    );
    let plaintexts = PackedKey::plaintexts(public, &layout, &secret).unwrap();
    let offsets = key.offsets(&uniform, &plaintexts).unwrap();
    let packed = PackedKey::from_ciphertexts(
        public,
        &layout,
        public.with_offsets(&uniform, &offsets).unwrap(),
    );
    let ck = packed.unwrap().unpack();
    check(
        &key,
        &layout,
        &ck.compress(&layout, &encryptions).unwrap(),
        &encryptions,
        &secret,
    );
    assert!(
        key.offsets(&uniform, &plaintexts[1..]).is_err()
            && public.with_offsets(&uniform[1..], &offsets).is_err()
    );
}

#[test]
fn larger_powers_of_the_modulus_hold_more_phases() {
    let lwe = LweParams::new(9, 1 << 40, KeyKind::Ternary).unwrap();
    let slots = [1, 2, 3].map(|s| {
        let key = small_key(256, s);
        check_all_ways(&key, lwe, Scale::Separate, 20, 8);
        Layout::new(key.public(), lwe, Scale::Separate)
            .unwrap()
            .slots()
    });
    assert!(
        slots[1] >= 2 * slots[0] && slots[2] >= 3 * slots[0],
        "{slots:?}"
    );
}

#[test]
fn published_parameters_are_compressed_under_a_small_key() {
    let key = small_key(512, 1);
    for (n, bits) in LWE_SETS {
        let lwe = LweParams::new(n, 1 << bits, KeyKind::Binary).unwrap();
        check_all_ways(&key, lwe, Scale::Separate, 2, 9);
    }
}

#[test]
#[ignore = "full size: 15 seconds"]
fn published_parameters_are_compressed_at_full_size() {
    let key = SecretKey::generate(Params::default(), &mut rng(1)).unwrap();
    let check = |n, bits: u32, kind, count| {
        let lwe = LweParams::new(n, 1u128 << bits, kind).unwrap();
        check_all_ways(&key, lwe, Scale::Separate, count, 9);
    };
    LWE_SETS
        .iter()
        .for_each(|&(n, bits)| check(n, bits, KeyKind::Binary, 50));
    RLWE_SETS
        .iter()
        .for_each(|&(n, bits)| check(n, bits, KeyKind::Ternary, 2));
    check(630, 64, KeyKind::General, 23);
}

#[test]
#[ignore = "full size: some seconds"]
fn larger_powers_of_the_modulus_work_at_full_size() {
    for s in [2, 3] {
        let key = SecretKey::generate(Params::new(3072, s).unwrap(), &mut rng(1)).unwrap();
        check_all_ways(
            &key,
            LweParams::new(30, 1 << 64, KeyKind::Binary).unwrap(),
            Scale::Separate,
            90,
            9,
        );
    }
}

/// Returns a coefficient of B − A·S by schoolbook multiplication.
fn rlwe_phase(lwe: &LweParams, mask: &[u64], body: &[u64], secret: &[u64], k: usize) -> u64 {
    let n = lwe.dimension();
    let q = lwe.modulus();
    let mut sum = i128::from(body[k]);
    for (i, &s) in secret.iter().enumerate() {
        // X^i·X^j is X^(i+j), or −X^(i+j−n).
        let j = (n + k - i) % n;
        let product = (u128::from(mask[j]) * u128::from(s) % q) as i128;
        sum += if i + j == k { -product } else { product };
        sum %= q as i128;
    }
    modulo(sum, q)
}

#[test]
fn coefficients_of_rlwe_encryptions_are_lwe_encryptions() {
    let rng = &mut rng(10);
    for (n, bits) in RLWE_SETS.into_iter().chain([(1, 20), (8, 64)]) {
        let lwe = LweParams::new(n, 1 << bits, KeyKind::Ternary).unwrap();
        let secret = support::secret(&lwe, rng);
        let mut poly = || -> Vec<u64> { (0..n).map(|_| residue(1 << bits, rng)).collect() };
        let mask = poly();
        let body = poly();
        for k in [0, n / 2, n - 1] {
            let lwe_encryption = Lwe::coefficient(&lwe, &mask, &body, k).unwrap();
            let expected = rlwe_phase(&lwe, &mask, &body, &secret, k);
            assert_eq!(
                phase(&lwe, &lwe_encryption, &secret),
                expected,
                "n = {n}, coefficient {k}"
            );
        }
        assert!(Lwe::coefficient(&lwe, &mask, &body, n).is_err());
    }
}

#[test]
fn rlwe_coefficients_are_compressed() {
    let key = small_key(384, 1);
    let rng = &mut rng(11);
    for (n, bits) in RLWE_SETS {
        let lwe = LweParams::new(n, 1 << bits, KeyKind::Ternary).unwrap();
        let secret = support::secret(&lwe, rng);
        let mask: Vec<u64> = (0..n).map(|_| residue(1 << bits, rng)).collect();
        let body: Vec<u64> = (0..n).map(|_| residue(1 << bits, rng)).collect();
        let coefficients = [0, 1, n - 1].map(|k| Lwe::coefficient(&lwe, &mask, &body, k).unwrap());
        let layout = Layout::new(key.public(), lwe, Scale::Separate).unwrap();
        let ck = CompressionKey::generate(&key, &lwe, &secret, rng).unwrap();
        let ciphertexts = ck.compress(&layout, &coefficients).unwrap();
        check(&key, &layout, &ciphertexts, &coefficients, &secret);
    }
}

/// Returns an encryption whose phase form takes its largest value V over the integers, under the
/// binary secret of all ones.
fn largest_form(lwe: &LweParams) -> Lwe {
    Lwe {
        mask: vec![1; lwe.dimension()],
        body: (lwe.modulus() - 1) as u64,
    }
}

#[test]
fn phase_errors_of_overlapping_slots_reach_their_bound() {
    let n = 40;
    let q = 1u128 << 16;
    let key = small_key(256, 1);
    let lwe = LweParams::new(n, q, KeyKind::Binary).unwrap();
    let layout = Layout::new(key.public(), lwe, Scale::Overlapping).unwrap();
    assert_eq!(layout.phase_error(), 20);
    let secret = vec![1; n];
    let ck = CompressionKey::generate(&key, &lwe, &secret, &mut rng(12)).unwrap();
    // All slots have the largest value, so the last slot receives the largest spill.
    let encryptions = vec![largest_form(&lwe); layout.slots()];
    let found = decompress(
        &key,
        &layout,
        &ck.compress(&layout, &encryptions).unwrap(),
        encryptions.len(),
    )
    .unwrap();
    let off = found
        .iter()
        .zip(&encryptions)
        .map(|(&f, e)| difference(f, phase(&lwe, e, &secret), q));
    let off: Vec<i128> = off.collect();
    assert_eq!(
        off.first(),
        Some(&-20),
        "the first slot has nothing below it"
    );
    assert_eq!(off.last(), Some(&20), "the largest spill minus half of it");
    assert!(off.iter().all(|off| off.abs() <= 20));
}

#[test]
fn errors_decode_exactly_up_to_the_bound() {
    let n = 40usize;
    let q = 1u128 << 16;
    let p = 64u64;
    let key = small_key(256, 1);
    let delta = 1i128 << 10;
    let lwe = LweParams::new(n, q, KeyKind::Binary).unwrap();
    let layout = Layout::new(key.public(), lwe, Scale::Overlapping).unwrap();
    let secret = vec![1; n];
    let ck = CompressionKey::generate(&key, &lwe, &secret, &mut rng(12)).unwrap();
    let decoded = |error: i128| {
        let mut encryptions = vec![largest_form(&lwe); 3];
        let body = modulo(
            i128::from(dot(&lwe, &vec![1; n], &secret)) + 17 * delta + error,
            q,
        );
        encryptions.push(Lwe {
            mask: vec![1; n],
            body,
        });
        let ciphertexts = ck.compress(&layout, &encryptions).unwrap();
        decode(decompress(&key, &layout, &ciphertexts, 4).unwrap()[3], q, p).unwrap()
    };
    let bound = delta / 2 - i128::from(layout.phase_error());
    assert_eq!(decoded(bound - 1), 17);
    assert_eq!(
        decoded(bound),
        18,
        "one more exceeds the bound under the largest spill"
    );
    assert_eq!(decoded(-delta / 2), 17);
    assert_eq!(decoded(delta / 4 - 1), 17, "the paper's condition");
    assert_eq!(decoded(-delta / 4 + 1), 17);
}

#[test]
fn top_slots_have_room_for_their_largest_value() {
    for bits in [256, 384] {
        let key = small_key(bits, 1);
        let lwe = LweParams::new(100, 1 << 12, KeyKind::Binary).unwrap();
        for scale in [Scale::Separate, Scale::Overlapping] {
            let layout = Layout::new(key.public(), lwe, scale).unwrap();
            let secret = vec![1; 100];
            let ck = CompressionKey::generate(&key, &lwe, &secret, &mut rng(13)).unwrap();
            let encryptions = vec![largest_form(&lwe); layout.slots()];
            check(
                &key,
                &layout,
                &ck.compress(&layout, &encryptions).unwrap(),
                &encryptions,
                &secret,
            );
        }
    }
}

#[test]
fn rescaling_errors_reach_their_bound() {
    let n = 50;
    let from = 1u128 << 32;
    let to = 1u128 << 16;
    for (kind, entry) in [
        (KeyKind::Binary, 1),
        (KeyKind::Ternary, from as u64 - 1),
        (KeyKind::Bounded(4), 4),
    ] {
        let wide = LweParams::new(n, from, kind).unwrap();
        let narrow = LweParams::new(n, to, kind).unwrap();
        let secret = vec![entry; n];
        let narrow_secret: Vec<u64> = secret
            .iter()
            .map(|&s| modulo(difference(s, 0, from), to))
            .collect();
        let bound = wide.rescaling_error().unwrap() as f64;
        // Every entry of the mask is rounded alike: for two of these values by about ½, in either
        // direction.
        let off = [1, (1 << 15) - 1, 1 << 15, (1 << 16) - 1].map(|low: u64| {
            let encryption = Lwe {
                mask: vec![(3 << 16) + low; n],
                body: (7 << 16) + (1 << 15),
            };
            let rescaled = wide.rescale(&encryption, &narrow).unwrap();
            let exact = phase(&wide, &encryption, &secret) as f64 * to as f64 / from as f64;
            let found = phase(&narrow, &rescaled, &narrow_secret) as f64;
            (found - exact + to as f64 / 2.0).rem_euclid(to as f64) - to as f64 / 2.0
        });
        let largest = off
            .iter()
            .fold(0.0, |largest: f64, off| largest.max(off.abs()));
        assert!(
            largest <= bound && largest > 0.97 * (bound - 1.0),
            "{kind:?}: off by {off:?}, bound {bound}"
        );
    }
    let general = LweParams::new(n, from, KeyKind::General).unwrap();
    let narrow = LweParams::new(n, to, KeyKind::General).unwrap();
    assert!(
        general
            .rescale(
                &Lwe {
                    mask: vec![0; n],
                    body: 0
                },
                &narrow
            )
            .is_err()
    );
}

#[test]
fn rescaled_encryptions_decode_after_compression() {
    let key = small_key(384, 1);
    let rng = &mut rng(14);
    let wide = LweParams::new(630, 1 << 64, KeyKind::Binary).unwrap();
    let narrow = LweParams::new(630, 1 << 16, KeyKind::Binary).unwrap();
    let secret = support::secret(&wide, rng);
    let ck = ExpandedKey::new(
        CompressionKey::generate(&key, &wide, &secret, rng).unwrap(),
        64,
    )
    .unwrap();
    let p = 16u64;
    let delta = 1i128 << 60;
    // Errors up to Δ/4 are allowed since q' ≥ 2(1 + n)p = 20,192.
    for error in [delta / 4 - 1, -delta / 4 + 1] {
        let rescaled: Vec<Lwe> = (0..8)
            .map(|message| {
                wide.rescale(
                    &encrypt(&wide, &secret, message * delta + error, rng),
                    &narrow,
                )
                .unwrap()
            })
            .collect();
        let layout = Layout::new(key.public(), narrow, Scale::Separate).unwrap();
        let ciphertexts = ck.compress(&layout, &rescaled).unwrap();
        let phases = decompress(&key, &layout, &ciphertexts, 8).unwrap();
        let messages: Vec<u64> = phases
            .iter()
            .map(|&phase| decode(phase, 1 << 16, p).unwrap())
            .collect();
        assert_eq!(messages, (0..8).collect::<Vec<u64>>());
    }
}

#[test]
fn invalid_parameters_and_inputs_are_refused() {
    let key = small_key(256, 1);
    let rng = &mut rng(15);
    let public = key.public();
    for (n, q, kind) in [
        (0, 8, KeyKind::Binary),
        (1, 1, KeyKind::Binary),
        (1, (1 << 64) + 1, KeyKind::Binary),
        (1, 2, KeyKind::Ternary),
        (4, 100, KeyKind::Bounded(50)),
    ] {
        assert!(LweParams::new(n, q, kind).is_err(), "{n}, {q}, {kind:?}");
    }
    let lwe = LweParams::new(4, 1 << 20, KeyKind::Binary).unwrap();
    assert!(CompressionKey::generate(&key, &lwe, &[0, 1, 2, 0], rng).is_err());
    assert!(CompressionKey::generate(&key, &lwe, &[0, 1], rng).is_err());
    let ck = CompressionKey::generate(&key, &lwe, &[0, 1, 1, 0], rng).unwrap();
    let layout = Layout::new(public, lwe, Scale::Separate).unwrap();
    let ternary = Layout::new(
        public,
        LweParams::new(4, 1 << 20, KeyKind::Ternary).unwrap(),
        Scale::Separate,
    )
    .unwrap();
    let packed = Layout::packed(public, lwe, Scale::Separate, 2).unwrap();
    let sample = Lwe {
        mask: vec![0; 4],
        body: 1,
    };
    assert!(ck.compress(&layout, from_ref(&sample)).is_ok());
    assert!(ck.compress(&ternary, from_ref(&sample)).is_err());
    assert!(ck.compress(&packed, from_ref(&sample)).is_err());
    assert!(
        ck.compress(
            &layout,
            &[Lwe {
                mask: vec![0; 3],
                body: 1
            }]
        )
        .is_err()
    );
    assert!(
        ck.compress(
            &layout,
            &[Lwe {
                mask: vec![1 << 20; 4],
                body: 1
            }]
        )
        .is_err()
    );
    assert!(Layout::packed(public, lwe, Scale::Separate, 0).is_err());
    assert!(Layout::packed(public, lwe, Scale::Separate, usize::MAX).is_err());
    let wide = LweParams::new(1000, 1 << 64, KeyKind::General).unwrap();
    assert!(Layout::packed(public, wide, Scale::Separate, 2).is_err());
    assert!(decompress(&key, &layout, &[], 1).is_err());
    assert!(ExpandedKey::new(ck.clone(), 65).is_err());
    let narrow = ExpandedKey::new(ck, 19).unwrap();
    assert!(narrow.compress(&layout, &[sample]).is_err());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn every_method_compresses_random_parameters(
        n in 1usize..30,
        bits in 8u32..=64,
        odd in 0u64..200,
        kind in 0usize..4,
        overlapping: bool,
        count in 1usize..12,
        seed: u8,
    ) {
        let q = (1u128 << bits) - u128::from(odd.min(1 << (bits - 2)));
        let lwe = LweParams::new(n, q, KINDS[kind]).unwrap();
        let scale = if overlapping { Scale::Overlapping } else { Scale::Separate };
        check_all_ways(&small_key(256, 1), lwe, scale, count, seed);
    }

    #[test]
    fn messages_decode_while_errors_are_below_half_the_scale(
        bits in 16u32..=64, p in 2u64..64, message: u64, share in -0.499f64..0.499,
    ) {
        let q = (1u128 << bits) - 59;
        let delta = (q / u128::from(p)) as i128;
        let phase = modulo(i128::from(message % p) * delta + (delta as f64 * share) as i128, q);
        prop_assert_eq!(decode(phase, q, p), Some(message % p));
    }
}
