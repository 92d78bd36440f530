//! Answers on a device: Algorithm 9, lines 7 to 12, and EVALPOLY.

use papir_core::device::{Device, DeviceGadget, DeviceRing, PackQuery, Packs, Tiles, Words};
use papir_core::{Progress, Result, parallel};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::rlwe::Rlwe;
use papir_ring::prg::Seed;
use papir_ring::{CyclotomicRing, Form, Poly, Ring};

use super::params::Params;
use super::prepared::{Copies, PreparedParts};
use super::server::Keys;
use super::wire::Query;
use crate::shared::packs::matrix_columns;

impl PreparedParts {
    /// Returns the same data with a copy of its matrices and packs on a device. Returns `None` if
    /// the device works with matrices only, or if there are several parts.
    pub(super) fn with_packs_on(
        &self,
        params: &Params,
        device: &dyn Device,
    ) -> Result<Option<Self>> {
        let [seed] = self.seeds[..] else {
            return Ok(None);
        };
        let Some(held) = device.hold_packs(&self.device_packs(params, &seed)?)? else {
            return Ok(None);
        };

        Ok(Some(Self {
            copies: Copies {
                // The packs of a device include the words.
                words: Vec::new(),
                packs: Some(held),
            },
            ..self.clone()
        }))
    }

    /// Returns the matrices and packs of the only part in the form in which a device takes them.
    fn device_packs(&self, params: &Params, seed: &Seed) -> Result<Packs<'_>> {
        let ring = params.rlwe().ring();
        let literal = params.literal();
        let GadgetParams {
            levels,
            log_base,
            drop,
        } = literal.rgsw;
        let tiles = bytemuck::cast_slice(&self.tiles);
        let matrices = self.packs.words.bytes();
        let packs = &self.packs.packs;

        Ok(Packs {
            ring: ring_of(ring),
            selected: Tiles::new(Words::Signed16, self.layout.columns, tiles)?,
            exceptions: self.exceptions.of_part(0),
            selector_bits: literal.query_bits,
            packing: Tiles::new(Words::Signed32, matrix_columns(&self.packing), matrices)?,
            key_bits: literal.key_bits.y_g,
            masks: residues(packs.iter().map(|pack| &pack.a)),
            last: residues(packs.iter().flat_map(|pack| &pack.last)),
            last_levels: self.packing.last_elements(),
            variables: self.layout.interpolation.variables().collect(),
            point_masks: residues(&params.rgsw_masks(seed)),
            gadget: DeviceGadget {
                levels,
                log_base,
                drop,
            },
        })
    }

    /// Returns one encryption for each chunk, for each query with its keys. Returns `None` if no
    /// device has the packs, or if the device fails.
    pub(super) fn evaluate_on_device(
        &self,
        params: &Params,
        queries: &[&Query],
        keys: &[Keys],
        progress: &dyn Progress,
    ) -> Option<Vec<Vec<Rlwe>>> {
        let held = self.copies.packs.as_ref()?;
        progress.stage("device", queries.len() as u64);

        let flat = parallel::map(keys, |keys| {
            [residues(keys.packing.last()), residues(&keys.rgsw)]
        });
        let mut asked = Vec::with_capacity(queries.len());
        for ((query, keys), [last, points]) in queries.iter().zip(keys).zip(&flat) {
            asked.push(PackQuery {
                selector: &query.selector,
                key: keys.packing.vector(),
                last,
                points,
            });
        }

        // Mask and body, each modulo two primes.
        let words = 4 * params.layout().degree;
        let results = held.evaluate(&asked).ok()?;
        Some(parallel::map(&results, |all| {
            all.chunks_exact(words).map(encryption).collect()
        }))
    }
}

/// Creates an encryption from the residues of its mask and its body.
fn encryption(words: &[u32]) -> Rlwe {
    let (a, b) = words.split_at(words.len() / 2);
    Rlwe {
        a: Poly::from_residues(a),
        b: Poly::from_residues(b),
    }
}

/// Returns the description of the ring for a device.
fn ring_of(ring: &Ring) -> DeviceRing {
    let primes = ring.primes().map(|prime| prime.value());
    DeviceRing {
        degree: ring.degree(),
        primes,
        roots: [0, 1].map(|prime| ring.table(prime).root()),
    }
}

/// Returns the residues of polynomials, one polynomial after the other.
fn residues<'a, F: Form>(polys: impl IntoIterator<Item = &'a Poly<F>>) -> Vec<u32> {
    polys
        .into_iter()
        .flat_map(Poly::residues)
        .copied()
        .collect()
}
