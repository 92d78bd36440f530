//! InspiRING against the sequential algorithm, bit for bit, and its noise against the bound.

use crate::support::{self, APPROXIMATE, Case, EXACT, FULL, SMALL, naive_gadget};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::packing::inspiring::Inspiring;
use papir_lattice::packing::{LweMasks, PackingError, RingPacking, RoundedKey, Scratch};
use papir_lattice::params::{Literal, RlweParams};
use papir_reference::inspiring as naive;
use papir_ring::CyclotomicRing;
use papir_ring::prg::Seed;

/// Gadget of the small ring: q ≈ 2^27.8, three bits dropped.
const FIVE_DIGITS: GadgetParams = GadgetParams {
    levels: 5,
    log_base: 5,
    drop: 3,
};

fn assert_matches_the_sequential_algorithm(ring: Literal, gadget: GadgetParams) {
    let case = Case::<Inspiring>::over(ring, ring.degree, gadget);
    let w = case.masks();
    let q = case.ring().modulus();
    support::assert_matches_sequential(&case, 3, |pack, y| {
        let g = (&w[0][..], &y[0][..]);
        let h = (&w[1][..], &y[1][..]);
        naive::pack(
            &case.vectors(pack),
            &case.lwe_bodies(pack),
            g,
            h,
            q,
            naive_gadget(gadget),
        )
    });
}

#[test]
fn equals_the_sequential_algorithm_with_the_approximate_gadget() {
    assert_matches_the_sequential_algorithm(Literal { degree: 64, ..FULL }, APPROXIMATE);
}

#[test]
fn equals_the_sequential_algorithm_with_the_exact_gadget() {
    assert_matches_the_sequential_algorithm(Literal { degree: 64, ..FULL }, EXACT);
}

#[test]
fn equals_the_sequential_algorithm_at_a_larger_degree() {
    assert_matches_the_sequential_algorithm(
        Literal {
            degree: 128,
            ..FULL
        },
        APPROXIMATE,
    );
}

#[test]
fn equals_the_sequential_algorithm_over_a_small_modulus() {
    assert_matches_the_sequential_algorithm(
        Literal {
            degree: 64,
            ..SMALL
        },
        FIVE_DIGITS,
    );
}

#[test]
fn several_keys_share_one_pass() {
    support::assert_keys_do_not_mix::<Inspiring>(64);
}

#[test]
fn noise_is_as_predicted_at_full_parameters() {
    support::assert_noise_is_predicted::<Inspiring>(FULL, 2048, APPROXIMATE, 1);
}

/// These parameters are secure: see the row "small packing ring" of the security table.
#[test]
fn noise_is_as_predicted_in_the_small_ring() {
    RlweParams::new(SMALL).unwrap();
    support::assert_noise_is_predicted::<Inspiring>(SMALL, 1024, FIVE_DIGITS, 2);
}

#[test]
fn capacities_other_than_the_degree_are_refused() {
    let params = support::params(64);
    let gadget = support::gadget(&params, APPROXIMATE);
    let error = Inspiring::new(&params, &gadget, 32, &Seed([0; 32])).unwrap_err();
    assert_eq!(
        error.to_string(),
        "InspiRING: 32 encryptions in a pack, expected the degree, 64"
    );
}

#[test]
fn wrong_counts_and_slots_are_refused() {
    let case = Case::<Inspiring>::new(64, 64, APPROXIMATE);
    let lwe = || LweMasks::from_vectors(case.ring(), &case.vectors(0));
    let words = case.packing.unit_words();
    let few = LweMasks::from_vectors(case.ring(), &case.vectors(0)[..32]);
    let error = |lwe, slot, words| {
        case.packing
            .prepare(lwe, slot, &mut vec![0; words], &Scratch::default())
            .unwrap_err()
    };
    assert_eq!(
        error(few, 0, words).to_string(),
        "32 LWE masks: expected 64"
    );
    assert_eq!(
        error(lwe(), 0, words - 1).to_string(),
        "8191 words of a unit: expected 8192"
    );
    assert_eq!(
        error(lwe(), 1, words),
        PackingError::Slot { found: 1, slots: 1 }
    );
    let shape = case.packing.shape();
    let short = RoundedKey::new(shape, &[50; 2], &case.key()[1..]).unwrap_err();
    assert_eq!(
        short.to_string(),
        "255 words of a packing key: expected 256"
    );
    let short = RoundedKey::new(shape, &[50], &case.key()).unwrap_err();
    assert_eq!(short.to_string(), "1 matrices of a packing key: expected 2");
    let error = case.packing.pack(&vec![0; words], &[], &[]).unwrap_err();
    assert_eq!(error.to_string(), "8192 words of all packs: expected 0");
}
