//! Layouts of SimpleYPIR; masks, secrets and refusals of InsPIRe with t = 1.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client as _, Parameters as _, Scheme as _, Server as _};
use papir_core::{FailureBound, NoProgress, RecordBuffer, Result, Shape};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::selection::Stacking;
use papir_ring::prg::Seed;
use rand_core::SeedableRng;

use super::layout::{Layout, MAX_PACKS};
use super::params::DEGREE;
use super::{ByCdks, ByInspiring, Client, Inspire1, PackedVariant, Params, Public, Server};
use crate::shared::fixtures::assert_selected_before_refused;
use crate::shared::selection::{SelectionBits, SelectionParams};

/// A layout whose entries have one word.
fn layout<V: PackedVariant>(shape: Shape, packs: u64) -> Result<Layout> {
    Layout::new::<V>(shape, DEGREE, packs, Stacking::NONE)
}

#[test]
fn columns_hold_whole_records() {
    for (bits, packs, per_column) in [
        (1, 1, 32768),
        (1, 3, 98304),
        (512, 2, 128),
        (3000 * 8, 3, 4),
        (262_144, 8, 1),
        (262_144, 16, 2),
    ] {
        let layout = layout::<ByCdks>(Shape::new(100_000, bits).unwrap(), packs).unwrap();

        assert_eq!(
            (layout.unit_layout.per_unit, layout.rows),
            (per_column, packs as usize * 2048)
        );
        assert_eq!(layout.columns as u64, 100_000u64.div_ceil(per_column));

        let last = layout.locate(99_999);
        assert_eq!((u64::from(last.column) * per_column) + last.slot, 99_999);
    }
}

#[test]
fn layouts_that_do_not_fit_are_refused() {
    let shape = Shape::new(1000, 262_144).unwrap();
    assert!(layout::<ByCdks>(shape, 7).is_err() && layout::<ByCdks>(shape, 0).is_err());
    assert!(layout::<ByCdks>(shape, MAX_PACKS + 1).is_err());

    let many = Shape::new(1 << 40, 8).unwrap();
    assert!(layout::<ByCdks>(many, 1).is_err(), "2^28 columns");
}

#[test]
fn columns_hold_a_unit_for_each_word_of_an_entry() {
    let shape = Shape::of_bytes(1000, 512).unwrap();
    let stacking = Stacking { words: 3, step: 6 };
    let layout = Layout::new::<ByInspiring>(shape, DEGREE, 1, stacking).unwrap();

    // Units of 1 KiB have two records, so there are 500, and the last column has two.
    assert_eq!((layout.unit_layout.per_unit, layout.columns), (2, 167));
    let place = layout.locate(9);
    assert_eq!(
        (place.unit, place.column, place.block, place.slot),
        (4, 1, 1, 1)
    );
}

#[test]
fn entries_that_do_not_fit_are_refused() {
    let shape = Shape::of_bytes(1000, 512).unwrap();
    let of = |words, step| {
        let stacking = Stacking { words, step };
        Params::<ByInspiring>::stacked(shape, 1, stacking, FailureBound::DEFAULT)
    };
    assert!(of(3, 6).is_ok());

    // Words that overlap, too many words, sums beyond 32 bits, and noise beyond the distance.
    for (words, step) in [(2, 0), (2, 4), (9, 5), (5, 7), (2, 29), (4, 9)] {
        assert!(of(words, step).is_err(), "{words} words, 2^{step} apart");
    }

    let stacking = Stacking { words: 2, step: 17 };
    let words = Params::<ByCdks>::stacked(shape, 1, stacking, FailureBound::DEFAULT);
    assert!(words.is_err(), "two words of 16 bits");
}

#[test]
fn parameters_name_the_words_of_an_entry_if_there_are_several() {
    let shape = Shape::of_bytes(1000, 512).unwrap();
    for failure in [FailureBound::DEFAULT, FailureBound::of_bits(128).unwrap()] {
        let alone = Params::<ByInspiring>::stacked(shape, 1, Stacking::NONE, failure).unwrap();
        let stacking = Stacking { words: 2, step: 6 };
        let stacked = Params::<ByInspiring>::stacked(shape, 1, stacking, failure).unwrap();

        let [alone, stacked] = [alone, stacked].map(|params| params.encode());
        assert_eq!(stacked.len(), alone.len() + 2);
        for bytes in [&alone, &stacked] {
            let decoded = Params::<ByInspiring>::decode(bytes).unwrap();
            assert!(&decoded.encode() == bytes);
        }

        // One word has no bytes.
        let at = alone.len() - usize::from(!failure.is_default());
        let mut named = alone.clone();
        named.splice(at..at, [1, 0]);
        assert!(Params::<ByInspiring>::decode(&named).is_err());
    }
}

/// Masks that encryptions under one secret use: of the selector's blocks and of the packing key.
fn all_masks(selection: &SelectionParams<ByInspiring>) -> Vec<Vec<u32>> {
    let seed = Seed([7; 32]);
    let blocks = selection.counts.columns.div_ceil(DEGREE);
    let packing = selection.packing(&seed).unwrap();

    let mut masks: Vec<_> = (0..blocks)
        .map(|block| selection.selector().mask(&seed, block))
        .collect();
    for switch in packing.setup().switches() {
        masks.extend_from_slice(&switch.masks);
    }

    masks.iter().map(|mask| mask.residues().to_vec()).collect()
}

fn assert_masks_differ(selection: &SelectionParams<ByInspiring>) {
    let blocks = selection.counts.columns.div_ceil(DEGREE);
    let gadget = selection.bits().gadget;

    let mut masks = all_masks(selection);
    assert_eq!(
        masks.len(),
        blocks + 2 * gadget.levels,
        "{blocks} selector blocks, y_g and y_h"
    );

    masks.sort();
    assert!(
        masks.windows(2).all(|pair| pair[0][..4] != pair[1][..4]),
        "{blocks} selector blocks, {gadget:?}: two masks are equal"
    );
}

/// Returns a gadget with twice as many digits of half as many bits.
fn finer(gadget: GadgetParams) -> GadgetParams {
    let modulus_bits = gadget.drop + gadget.levels as u32 * gadget.log_base;
    let levels = 2 * gadget.levels;
    let log_base = gadget.log_base.div_ceil(2);

    GadgetParams {
        levels,
        log_base,
        drop: modulus_bits.saturating_sub(levels as u32 * log_base),
    }
}

/// Parameters with one and with several selector blocks, each under the chosen gadget and under one
/// of more digits.
#[test]
fn no_two_masks_under_one_secret_are_equal() {
    let shape = Shape::of_bytes(1 << 20, 16).unwrap();
    for packs in [1, 8] {
        let params = Params::<ByInspiring>::with_packs(shape, packs).unwrap();
        assert_masks_differ(&params.selection);

        let chosen = *params.selection.bits();
        let bits = SelectionBits {
            gadget: finer(chosen.gadget),
            ..chosen
        };
        let other = SelectionParams::new(Inspire1::NAME, params.selection.counts, bits);
        assert_masks_differ(&other.unwrap());
    }
}

#[test]
fn secrets_are_fresh() {
    let shape = Shape::of_bytes(100, 16).unwrap();
    let params = Params::<ByInspiring>::with_packs(shape, 1).unwrap();
    let public = Public {
        seed: Seed([4; 32]),
        masks: Vec::new(),
    };
    let client = Client::new(params, public).unwrap();

    let mut rng = ChaCha20Rng::seed_from_u64(3);
    let secrets = [0, 1, 2].map(|_| client.query(None, &[7], &mut rng).unwrap().0);

    for (i, secret) in secrets.iter().enumerate() {
        let key = secret.key().coefficients();
        assert!(key.iter().any(|&word| word != 0), "a secret of zeros");
        for other in &secrets[..i] {
            assert!(other.key().coefficients() != key, "a secret twice");
        }
    }
}

#[test]
fn the_record_is_selected_before_an_answer_is_refused() {
    let shape = Shape::of_bytes(1000, 16).unwrap();
    let params = Params::<ByInspiring>::with_packs(shape, 1).unwrap();
    let records = RecordBuffer::zeroed(shape);

    let mut rng = ChaCha20Rng::seed_from_u64(4);
    let server = Server::setup(params, &records, &mut rng, &NoProgress).unwrap();
    let client = Client::new(server.params().clone(), server.public().clone()).unwrap();

    assert_selected_before_refused::<Inspire1>(&server, &client, &[3], &mut rng);
}
