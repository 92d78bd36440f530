//! Answers of `inspire` from the data that it gives to a device that evaluates, without a real
//! device.

use std::sync::Arc;

use papir_core::device::{
    Device, DeviceMemory, HeldMatrix, HeldPacks, PackQuery, Packs, TileShape, Tiles,
};
use papir_core::{FailureBound, Result};
use papir_lattice::gadget::{Gadget, GadgetParams};
use papir_lattice::key_switch::inner_product;
use papir_lattice::packing::Bodies;
use papir_lattice::packing::inspiring::multiply;
use papir_lattice::rlwe::Rlwe;
use papir_lattice::rows::{Rows, Workspace};
use papir_lattice::selection::WordMatrix;
use papir_ring::{CyclotomicRing, Form, Poly, Ring, Values};
use papir_schemes::registry;
use papir_testkit::conformance::{ConformanceConfig, run_on_device, shapes};
use papir_testkit::device::PlainDevice;

/// A [`PlainDevice`] that holds packs and evaluates them by their definition.
#[derive(Clone, Debug, Default)]
struct Evaluating(PlainDevice);

impl Device for Evaluating {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn memory(&self) -> Result<DeviceMemory> {
        self.0.memory()
    }

    fn bytes(&self, shape: TileShape) -> u64 {
        self.0.bytes(shape)
    }

    fn hold(&self, tiles: Tiles<'_>) -> Result<Arc<dyn HeldMatrix>> {
        self.0.hold(tiles)
    }

    fn hold_packs(&self, packs: &Packs<'_>) -> Result<Option<Arc<dyn HeldPacks>>> {
        let ring = Ring::new(packs.ring.degree, packs.ring.primes).unwrap();
        assert_eq!(
            packs.ring.roots,
            [0, 1].map(|prime| ring.table(prime).root())
        );
        let params = GadgetParams {
            levels: packs.gadget.levels,
            log_base: packs.gadget.log_base,
            drop: packs.gadget.drop,
        };
        Ok(Some(Arc::new(PortablePacks {
            gadget: Gadget::new(&ring, params).unwrap(),
            masks: polys(&ring, &packs.masks),
            last: polys(&ring, &packs.last),
            point_masks: polys(&ring, &packs.point_masks),
            ring,
            columns: packs.selected.shape().columns,
            tiles: bytemuck::cast_slice(packs.selected.bytes()).to_vec(),
            exceptions: packs.exceptions.to_vec(),
            matrices: bytemuck::cast_slice(packs.packing.bytes()).to_vec(),
            bits: [packs.selector_bits, packs.key_bits],
            last_levels: packs.last_levels,
            variables: packs.variables.clone(),
        })))
    }
}

struct PortablePacks {
    ring: Ring,
    gadget: Gadget,
    masks: Vec<Poly<papir_ring::Coefficients>>,
    last: Vec<Poly<Values>>,
    point_masks: Vec<Poly<Values>>,
    columns: usize,
    tiles: Vec<i16>,
    exceptions: Vec<[u32; 2]>,
    matrices: Vec<i32>,
    bits: [u32; 2],
    last_levels: usize,
    variables: Vec<usize>,
}

impl HeldPacks for PortablePacks {
    fn evaluate(&self, queries: &[PackQuery<'_>]) -> Result<Vec<Vec<u32>>> {
        Ok(queries.iter().map(|query| self.answer(query)).collect())
    }
}

impl PortablePacks {
    fn answer(&self, query: &PackQuery<'_>) -> Vec<u32> {
        let points = polys(&self.ring, query.points);
        let rows = 2 * self.gadget.levels();
        let points = self.point_masks.chunks(rows).zip(points.chunks(rows));
        let variables = self.variables.iter().zip(points);
        let results = variables.fold(
            self.packed(query),
            |coefficients, (&size, (masks, bodies))| {
                let point = Rows::new(&self.ring, masks, bodies);
                coefficients
                    .chunks(size)
                    .map(|polynomial| self.horner(polynomial, &point))
                    .collect()
            },
        );
        results
            .iter()
            .flat_map(|one| [one.a.residues(), one.b.residues()].concat())
            .collect()
    }

    /// Returns the selected and packed encryptions.
    fn packed(&self, query: &PackQuery<'_>) -> Vec<Rlwe> {
        let ring = &self.ring;
        let packs = self.masks.len();
        let [selector_bits, key_bits] = self.bits;
        let matrix = WordMatrix::new(self.columns, &self.tiles).with_exceptions(&self.exceptions);
        let selected = matrix.select(&[query.selector], selector_bits).remove(0);
        let mut bodies = Bodies::from_sums(ring, ring.degree(), packs, &selected, selector_bits);
        let mut products = multiply(&self.matrices, &[query.key], key_bits).remove(0);
        products
            .iter_mut()
            .for_each(|sum| *sum &= (1 << key_bits) - 1);
        bodies.add_assign(
            ring,
            &Bodies::from_sums(ring, ring.degree(), packs, &products, key_bits),
        );
        let key: Vec<Poly<Values>> = polys(ring, query.last);
        let last = self.last.chunks(self.last_levels);
        let encryption = |(pack, (a, last)): (usize, (&Poly<_>, &[Poly<Values>]))| {
            let mut b = bodies.poly(ring, pack);
            ring.add_assign(&mut b, &ring.inverse(inner_product(ring, last, &key)));
            Rlwe { a: a.clone(), b }
        };
        self.masks
            .iter()
            .zip(last)
            .enumerate()
            .map(encryption)
            .collect()
    }

    fn horner(&self, coefficients: &[Rlwe], point: &Rows) -> Rlwe {
        let (last, others) = coefficients.split_last().unwrap();
        let mut work = Workspace::new(&self.ring, point.count());
        others.iter().rev().fold(last.clone(), |sum, coefficient| {
            let mut next = Rlwe::zero(&self.ring);
            work.external_product(&self.ring, &self.gadget, &sum, point, &mut next);
            next.add_assign(&self.ring, coefficient);
            next
        })
    }
}

fn polys<F: Form>(ring: &Ring, residues: &[u32]) -> Vec<Poly<F>> {
    residues
        .chunks(2 * ring.degree())
        .map(Poly::from_residues)
        .collect()
}

#[test]
fn a_device_has_all_that_an_answer_needs() {
    // One pack; several; several chunks.
    let shapes = shapes(&[(1, 8), (70_000, 512), (50, 40_000)]);
    let config = ConformanceConfig {
        shapes,
        thorough: Vec::new(),
        failure: FailureBound::DEFAULT,
        ..ConformanceConfig::quick()
    };
    run_on_device(
        registry::by_name("inspire").unwrap(),
        &config,
        &Evaluating::default(),
    );
}
