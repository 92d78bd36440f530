//! CDKS packing against its recursive definition, bit for bit, and its noise against the bound.

use crate::support::{self, APPROXIMATE, Case, EXACT, FULL, SEED, masks_differ, naive_gadget};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::packing::cdks::Cdks;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::packing::{LweMasks, PackingError, RingPacking};
use papir_reference::cdks as naive;
use papir_ring::CyclotomicRing;

/// Masks and bodies of a packing key, as coefficients.
type Key = [Vec<Vec<Vec<u64>>>; 2];

fn naive_keys<'a>(case: &Case<Cdks>, gadget: GadgetParams, [w, y]: &'a Key) -> naive::Keys<'a> {
    let matrices = w.iter().zip(y).map(|(w, y)| (&w[..], &y[..])).collect();
    naive::Keys {
        modulus: case.ring().modulus(),
        gadget: naive_gadget(gadget),
        matrices,
    }
}

fn assert_matches_the_definition(degree: usize, gadget: GadgetParams, packs: usize) {
    let case = Case::<Cdks>::new(degree, degree, gadget);
    let key = [case.masks(), case.bodies_of(&case.key())];
    let keys = naive_keys(&case, gadget, &key);
    for (pack, packed) in case.pack(packs).into_iter().enumerate() {
        let expected = naive::pack(&case.vectors(pack), &case.lwe_bodies(pack), &keys);
        assert_eq!(
            case.ring().to_words(&packed.a),
            expected.0,
            "mask of pack {pack}"
        );
        assert_eq!(
            case.ring().to_words(&packed.b),
            expected.1,
            "body of pack {pack}"
        );
    }
}

#[test]
fn equals_the_definition_with_the_exact_gadget() {
    assert_matches_the_definition(64, EXACT, 2);
}

#[test]
fn equals_the_definition_with_the_approximate_gadget() {
    assert_matches_the_definition(64, APPROXIMATE, 1);
}

#[test]
fn equals_the_definition_at_a_larger_degree() {
    assert_matches_the_definition(128, EXACT, 1);
}

/// Packs the encryptions at these places, and compares with a pack whose others are zero.
fn assert_few_match_the_definition(places: &[usize]) {
    let case = Case::<Cdks>::new(64, 64, APPROXIMATE);
    let ring = case.ring();
    let sent = case.key();
    let key = [case.masks(), case.bodies_of(&sent)];
    let all = case.vectors(0);
    let lwe = case.lwe_bodies(0);
    let mut vectors = vec![vec![0; 64]; 64];
    let mut bodies = vec![0; 64];
    for &place in places {
        vectors[place].clone_from(&all[place]);
        bodies[place] = lwe[place];
    }
    let expected = naive::pack(&vectors, &bodies, &naive_keys(&case, APPROXIMATE, &key));

    let masks = LweMasks::from_vectors(ring, &vectors);
    let leaves: Vec<_> = places
        .iter()
        .map(|&place| (place, masks.poly(place)))
        .collect();
    let online = case.packing.online_key(&case.rounded(&sent)).unwrap();
    let mut packed = case.packing.pack_few(&leaves, &online).unwrap();
    ring.add_assign(&mut packed.b, &ring.from_words(&bodies));
    assert_eq!(ring.to_words(&packed.a), expected.0, "mask of {places:?}");
    assert_eq!(ring.to_words(&packed.b), expected.1, "body of {places:?}");
}

#[test]
fn a_few_encryptions_are_packed_as_among_zeros() {
    let some = [
        &[0][..],
        &[63],
        &[21, 22, 23],
        &[7, 39],
        &[0, 1, 2, 3, 31, 32, 33, 63],
    ];
    some.into_iter().for_each(assert_few_match_the_definition);
    assert_few_match_the_definition(&(0..64).collect::<Vec<_>>());
}

#[test]
fn no_encryptions_give_zero() {
    let case = Case::<Cdks>::new(64, 64, APPROXIMATE);
    let key = case.packing.online_key(&case.rounded(&case.key())).unwrap();
    let packed = case.packing.pack_few(&[], &key).unwrap();
    assert!(packed.a == case.ring().zero() && packed.b == case.ring().zero());
}

#[test]
fn a_few_encryptions_need_the_key_of_their_packing() {
    let [case, other] = [64, 128].map(|degree| Case::<Cdks>::new(degree, degree, APPROXIMATE));
    let key = other
        .packing
        .online_key(&other.rounded(&other.key()))
        .unwrap();
    let error = case.packing.pack_few(&[], &key).unwrap_err();
    assert!(matches!(error, PackingError::Key { .. }), "{error}");
}

#[test]
fn a_few_encryptions_need_different_places_of_the_pack() {
    let case = Case::<Cdks>::new(64, 64, APPROXIMATE);
    let key = case.packing.online_key(&case.rounded(&case.key())).unwrap();
    let masks = LweMasks::from_vectors(case.ring(), &case.vectors(0));
    for (places, found) in [
        (&[64][..], 64),
        (&[3, 7, 3], 3),
        (&[0, usize::MAX], usize::MAX),
    ] {
        let leaves: Vec<_> = places.iter().map(|&place| (place, masks.poly(0))).collect();
        let refused = case.packing.pack_few(&leaves, &key).err();
        assert_eq!(refused, Some(PackingError::Place { found, places: 64 }));
    }
}

#[test]
fn several_keys_share_one_pass() {
    support::assert_keys_do_not_mix::<Cdks>(64);
}

#[test]
fn noise_is_as_predicted_at_full_parameters() {
    support::assert_noise_is_predicted::<Cdks>(FULL, 2048, EXACT, 1);
}

#[test]
fn each_level_has_its_own_automorphism_and_masks() {
    let packing = Case::<Cdks>::new(64, 64, APPROXIMATE).packing;
    let exponents: Vec<usize> = packing
        .setup()
        .switches()
        .iter()
        .map(|switch| switch.exponent)
        .collect();
    assert_eq!(exponents, [3, 5, 9, 17, 33, 65]);
    assert_eq!(packing.shape().elements(), 12);
    let masks: Vec<_> = packing
        .setup()
        .switches()
        .iter()
        .flat_map(|switch| &switch.masks)
        .collect();
    for (i, mask) in masks.iter().enumerate() {
        assert!(!masks[..i].contains(mask), "mask {i}");
    }
    assert!(masks_differ(
        &packing,
        &Case::<Inspiring>::new(64, 64, APPROXIMATE).packing
    ));
}

#[test]
fn capacities_other_than_the_degree_are_refused() {
    let params = support::params(64);
    let error = Cdks::new(&params, &support::gadget(&params, EXACT), 16, &SEED).unwrap_err();
    assert_eq!(
        error.to_string(),
        "CDKS: 16 encryptions in a pack, expected the degree, 64"
    );
}
