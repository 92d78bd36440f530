//! PartialInspiRING against the sequential Algorithm 2, bit for bit; noise against Theorem 4.

use crate::support::{self, APPROXIMATE, Case, EXACT, FULL, SEED, masks_differ, naive_gadget};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::packing::inspiring::{EitherInspiring, Inspiring, PartialInspiring};
use papir_lattice::packing::{PackingError, RingPacking, RoundedKey};
use papir_reference::inspiring as naive;
use papir_ring::CyclotomicRing;

/// Packs several packs in one batch, so that those of fewer than 64 rows share row groups.
fn assert_matches_the_sequential_algorithm(
    degree: usize,
    gamma: usize,
    gadget: GadgetParams,
    packs: usize,
) {
    let case = Case::<PartialInspiring>::new(degree, gamma, gadget);
    let w = case.masks();
    let q = case.ring().modulus();
    support::assert_matches_sequential(&case, packs, |pack, y| {
        let key = (&w[0][..], &y[0][..]);
        naive::partial_pack(
            &case.vectors(pack),
            &case.lwe_bodies(pack),
            key,
            q,
            naive_gadget(gadget),
        )
    });
}

#[test]
fn equals_the_sequential_algorithm_for_every_gamma() {
    for gamma in [2, 4, 8, 16, 32] {
        // One pack more than a row group holds.
        assert_matches_the_sequential_algorithm(64, gamma, APPROXIMATE, 64 / gamma + 1);
    }
}

#[test]
fn equals_the_sequential_algorithm_with_the_exact_gadget() {
    assert_matches_the_sequential_algorithm(64, 8, EXACT, 2);
    assert_matches_the_sequential_algorithm(64, 32, EXACT, 3);
}

#[test]
fn equals_the_sequential_algorithm_at_a_larger_degree() {
    for (gamma, packs) in [(2, 1), (16, 5), (32, 2), (64, 2)] {
        assert_matches_the_sequential_algorithm(128, gamma, APPROXIMATE, packs);
    }
}

#[test]
fn several_keys_share_one_pass() {
    support::assert_keys_do_not_mix::<PartialInspiring>(16);
    support::assert_keys_do_not_mix::<PartialInspiring>(32);
}

#[test]
fn noise_is_as_predicted_at_full_parameters() {
    support::assert_noise_is_predicted::<PartialInspiring>(FULL, 64, APPROXIMATE, 8);
    support::assert_noise_is_predicted::<PartialInspiring>(FULL, 1024, APPROXIMATE, 2);
}

#[test]
fn noise_is_as_predicted_with_few_encryptions() {
    support::assert_noise_is_predicted::<PartialInspiring>(FULL, 16, APPROXIMATE, 32);
}

#[test]
fn a_key_of_another_gamma_is_refused() {
    let small = Case::<PartialInspiring>::new(64, 8, APPROXIMATE);
    let large = Case::<PartialInspiring>::new(64, 16, APPROXIMATE);
    let key = small.key();
    let key = small.rounded(&key);
    let found = small.packing.shape();
    let refused = PackingError::Key {
        found,
        expected: large.packing.shape(),
    };
    assert_eq!(large.packing.online_key(&key).unwrap_err(), refused);
    assert_eq!(
        refused.to_string(),
        "packing key for PartialInspiRING of 8 at degree 64 with 1 × 2 ring elements: \
         expected one for PartialInspiRING of 16 at degree 64 with 1 × 2 ring elements"
    );
    let ready = small.packing.online_key(&key).unwrap();
    assert_eq!(
        large.packing.pack(&[], &[], &[&ready]).unwrap_err(),
        refused
    );
}

#[test]
fn a_full_key_is_refused() {
    let partial = Case::<PartialInspiring>::new(64, 32, APPROXIMATE);
    let full = Case::<Inspiring>::new(64, 64, APPROXIMATE);
    let key = full.key();
    assert!(matches!(
        partial.packing.online_key(&full.rounded(&key)),
        Err(PackingError::Key { .. })
    ));
    let long = RoundedKey::new(partial.packing.shape(), &[50], &key).unwrap_err();
    assert_eq!(
        long,
        PackingError::Count {
            what: "words of a packing key",
            found: 256,
            expected: 128
        }
    );
}

#[test]
fn every_gamma_has_its_own_masks() {
    let gammas = [2, 4, 8, 16, 32];
    let packings =
        gammas.map(|gamma| Case::<PartialInspiring>::new(64, gamma, APPROXIMATE).packing);
    for (i, first) in packings.iter().enumerate() {
        assert!(
            packings[..i]
                .iter()
                .all(|second| masks_differ(first, second)),
            "{}",
            first.capacity()
        );
        assert!(masks_differ(
            first,
            &Case::<Inspiring>::new(64, 64, APPROXIMATE).packing
        ));
        assert_eq!(
            first.setup().switches()[0].exponent,
            128 / first.capacity() + 1
        );
    }
}

/// Compares keys, words and packs of [`EitherInspiring`] with those of the packing of a capacity.
fn assert_either_is<P: RingPacking<Word = i32>>(capacity: usize) {
    let one = Case::<P>::new(64, capacity, APPROXIMATE);
    let either = Case::<EitherInspiring>::new(64, capacity, APPROXIMATE);
    assert_eq!(either.packing.shape(), one.packing.shape());
    assert_eq!(either.packing.slots(), one.packing.slots());
    assert_eq!(either.packing.unit_words(), one.packing.unit_words());
    assert_eq!(either.packing.last_elements(), one.packing.last_elements());

    let keys = [one.key()];
    assert_eq!(either.key(), keys[0]);
    assert!(
        either.prepare(3).0 == one.prepare(3).0,
        "words of {capacity}"
    );
    assert_eq!(either.pack_under(3, &keys), one.pack_under(3, &keys));
}

#[test]
fn either_packing_is_the_one_of_its_capacity() {
    assert_either_is::<Inspiring>(64);
    for gamma in [2, 16, 32] {
        assert_either_is::<PartialInspiring>(gamma);
    }
}

#[test]
fn unsupported_capacities_are_refused() {
    let params = support::params(64);
    let gadget = support::gadget(&params, APPROXIMATE);
    for gamma in [0, 1, 3, 48, 64, 128] {
        let error = PartialInspiring::new(&params, &gadget, gamma, &SEED)
            .unwrap_err()
            .to_string();
        let expected = format!(
            "PartialInspiRING: {gamma} encryptions in a pack, expected a power of two from 2 to 32"
        );
        assert_eq!(error, expected);
    }
}
