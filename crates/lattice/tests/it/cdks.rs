//! CDKS packing against its recursive definition, bit for bit, and its noise against the bound.

use crate::support::{self, APPROXIMATE, Case, EXACT, FULL, SEED, masks_differ, naive_gadget};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::packing::RingPacking;
use papir_lattice::packing::cdks::Cdks;
use papir_lattice::packing::inspiring::Inspiring;
use papir_reference::cdks as naive;

fn assert_matches_the_definition(degree: usize, gadget: GadgetParams, packs: usize) {
    let case = Case::<Cdks>::new(degree, degree, gadget);
    let (w, y) = (case.masks(), case.bodies_of(&case.key()));
    let keys = naive::Keys {
        modulus: case.ring().modulus(),
        gadget: naive_gadget(gadget),
        matrices: w.iter().zip(&y).map(|(w, y)| (&w[..], &y[..])).collect(),
    };
    for (pack, packed) in case.pack(packs).into_iter().enumerate() {
        let expected = naive::pack(&case.vectors(pack), &case.lwe_bodies(pack), &keys);
        assert_eq!(case.ring().to_words(&packed.a), expected.0, "mask of pack {pack}");
        assert_eq!(case.ring().to_words(&packed.b), expected.1, "body of pack {pack}");
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
    let exponents: Vec<usize> = packing.setup().switches().iter().map(|switch| switch.exponent).collect();
    assert_eq!(exponents, [3, 5, 9, 17, 33, 65]);
    assert_eq!(packing.shape().elements(), 12);
    let masks: Vec<_> = packing.setup().switches().iter().flat_map(|switch| &switch.masks).collect();
    for (i, mask) in masks.iter().enumerate() {
        assert!(!masks[..i].contains(mask), "mask {i}");
    }
    assert!(masks_differ(&packing, &Case::<Inspiring>::new(64, 64, APPROXIMATE).packing));
}

#[test]
fn capacities_other_than_the_degree_are_refused() {
    let params = support::params(64);
    let error = Cdks::new(&params, &support::gadget(&params, EXACT), 16, &SEED).unwrap_err();
    assert_eq!(error.to_string(), "CDKS: 16 encryptions in a pack, expected the degree, 64");
}
