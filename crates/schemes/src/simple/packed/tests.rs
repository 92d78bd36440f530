//! Layouts of SimpleYPIR; masks, secrets and refusals of InsPIRe with t = 1.
#![allow(clippy::unwrap_used)]

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client as _, Scheme as _, Server as _};
use papir_core::{NoProgress, RecordBuffer, Shape};
use papir_lattice::gadget::GadgetParams;
use papir_ring::prg::Seed;
use rand_core::SeedableRng;

use super::layout::{Layout, MAX_PACKS};
use super::params::DEGREE;
use super::{ByCdks, ByInspiring, Client, Inspire1, Params, Public, Server};
use crate::shared::fixtures::assert_selected_before_refused;
use crate::shared::selection::{SelectionBits, SelectionParams};

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
        let layout =
            Layout::new::<ByCdks>(Shape::new(100_000, bits).unwrap(), 2048, packs).unwrap();

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
    assert!(
        Layout::new::<ByCdks>(shape, 2048, 7).is_err()
            && Layout::new::<ByCdks>(shape, 2048, 0).is_err()
    );
    assert!(Layout::new::<ByCdks>(shape, 2048, MAX_PACKS + 1).is_err());

    let many = Shape::new(1 << 40, 8).unwrap();
    assert!(
        Layout::new::<ByCdks>(many, 2048, 1).is_err(),
        "2^28 columns"
    );
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
