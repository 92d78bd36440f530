//! Server of InsPIRe⁽²⁾: SETUP and RESPOND (Algorithms 3 and 5), and updates.
//!
//! An update keeps the public seed and gives the same bytes as a setup of the changed records. A
//! changed record alters γ₀ words of one column, and so the masks of one unit's pack. This pack is
//! prepared again. Its digits are one column of the second level's matrix, and all packs of the
//! second level follow at a fixed cost. So the work grows with the number of distinct units, modulo
//! t, that hold changes.
//!
//! Since the seed stays, the queries of all versions count together as queries under one reference
//! string. The whitening stream is known before the changes, and the noise bound assumes that
//! changed records do not depend on it. A new setup draws a new seed.

use std::collections::BTreeMap;

use papir_core::cost::{Counts, Operation};
use papir_core::device::Device;
use papir_core::scheme::{
    self, DeviceServer, OnDevice, Parameters, Session, UpdateEstimate, check_changes,
};
use papir_core::scratch::{InMemory, Scratch, find_or_make};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{
    AlignedBytes, Blob, BlobSlice, Change, Description, Progress, Records, Result, parallel,
};
use papir_kernels::matvec_i16;
use papir_lattice::packing::Preprocessed;
use papir_lattice::selection::{WordMatrix, write_columns};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::first::{DATABASE, First, MATRICES};
use super::layout::{encode, read_column, read_unit, write_unit};
use super::literal::{Inspire2, NAME};
use super::packings::{PACKS, Packings, SEED};
use super::params::Params;
use super::second::{DIGITS, SecondLevel, digit_column};
use super::wire::{Answer, Public, Query};
use crate::shared::matrices::{BLOCK_COLUMNS, RowMasks};
use crate::shared::packs::PreparedPacks;
use crate::shared::parameters::refused;
use crate::shared::stored_records::{check_source, read_columns};

/// A prepared database with both levels. A clone shares them.
#[derive(Clone)]
pub struct Server {
    pub(super) first: First,
    pub(super) second: SecondLevel,
}

/// The first level on a device.
pub(super) struct FirstOnDevice;

impl OnDevice<Inspire2> for FirstOnDevice {
    fn place(&self, server: &Server, device: &dyn Device) -> Result<DeviceServer<Inspire2>> {
        let SecondLevel {
            params, packings, ..
        } = &server.second;
        let first = server
            .first
            .on_device(params, packings.packing(0), device)?;

        Ok(DeviceServer {
            server: Server {
                first,
                ..server.clone()
            },
            matrices: First::device_matrices(params),
        })
    }
}

impl scheme::Server<Inspire2> for Server {
    const BOUNDED_MEMORY: bool = true;

    fn setup(
        params: Params,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::setup_resumable(params, records, &mut InMemory, rng, progress)
    }

    fn setup_resumable(
        params: Params,
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare_in(params, Seed::random(rng), records, scratch, progress)
    }

    fn params(&self) -> &Params {
        &self.second.params
    }

    fn public(&self) -> &Public {
        &self.second.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Inspire2>, &Query)>,
        progress: &dyn Progress,
    ) -> Result<Vec<Answer>> {
        let queries: Vec<&Query> = batch.into_iter().map(|(_, query)| query).collect();
        let count = queries.len() as u64;
        let SecondLevel {
            params, packings, ..
        } = &self.second;

        progress.stage("read_keys", count);
        // Keys come first: one that does not fit is refused before the pass over the rows.
        let keys = self.second.read_keys(&queries)?;
        let first_keys = self.second.keys_of(&keys, 0);

        progress.stage("select", count);
        let bodies = self.first.select(params, &queries);

        progress.stage("pack_first", count);
        let firsts = self.first.pack(packings.packing(0), bodies, &first_keys)?;

        self.second.answers(&queries, &firsts, &keys, progress)
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        let params = &self.second.params;
        let layout = self.second.params.layout();
        check_changes(&layout.shape(), changes)?;

        // An estimate decodes no units. It counts a change to the same bytes, which an update
        // leaves out.
        let mut touched = vec![false; layout.blocks];
        for change in changes {
            touched[layout.locate(change.index).block as usize] = true;
        }

        let Description { sizes, work, .. } = params.describe();
        let update = match count(&touched) {
            0 => Counts::new(),
            packs => {
                let copied = (sizes.database + sizes.material) as f64;
                params.material_work(packs).with(Operation::Copy, copied, 1)
            }
        };
        Ok(UpdateEstimate {
            update,
            setup: work.setup,
        })
    }

    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let SecondLevel {
            params,
            packings,
            public: Public { seed, .. },
            digits,
            ..
        } = &self.second;
        let layout = params.layout();
        check_changes(&layout.shape(), changes)?;

        let units = self.changed_units(changes)?;
        // Nothing differs, and the clone shares all memory.
        if units.is_empty() {
            return Ok(self.clone());
        }

        let mut tiles = AlignedBytes::copy_of(self.first.tiles.bytes());
        let mut touched = vec![false; layout.blocks];
        for (unit, bytes) in units {
            write_unit(layout, seed, tiles.slice_mut(), unit, bytes);
            touched[(unit % layout.blocks as u64) as usize] = true;
        }

        let setup = LevelSetup {
            params,
            seed,
            packings,
        };
        let material = Material {
            matrices: AlignedBytes::copy_of(self.first.matrices.bytes()),
            digits: AlignedBytes::copy_of(digits.bytes()),
        };
        Self::pack(
            setup,
            tiles.into(),
            material,
            &touched,
            &mut InMemory,
            progress,
        )
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        let layout = self.second.params.layout();
        let seed = &self.second.public.seed;
        read_columns(
            &layout.unit_layout,
            layout.blocks as u64,
            (first, count),
            out,
            |column| read_column(layout, seed, &self.first.tiles, column),
        )
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.second.public.seed.0])?;
        sink.put(DATABASE, &[self.first.tiles.bytes()])?;
        sink.put(MATRICES, &[self.first.matrices.bytes()])?;
        sink.put(DIGITS, &[self.second.digits.bytes()])?;
        self.second.packs.save(sink)
    }

    fn load(params: Params, source: &dyn SectionSource) -> Result<Self> {
        let second = SecondLevel::load(params, source)?;
        let units = 0..second.params.layout().blocks;
        let first = First::load(&second.params, second.packings.packing(0), units, source)?;
        Ok(Self { first, second })
    }
}

/// Parameters of a setup, its public seed, and the packings under it.
struct LevelSetup<'a> {
    params: &'a Params,
    seed: &'a Seed,
    packings: &'a Packings,
}

/// Packing matrices of the first level, and the digits of its masks.
struct Material {
    matrices: AlignedBytes,
    digits: AlignedBytes,
}

impl Server {
    /// Prepares a database under the given public seed.
    ///
    /// # Errors
    /// The errors of the source, and [`papir_core::Error::Parameters`] for a source of another
    /// shape.
    pub fn prepare(
        params: Params,
        seed: Seed,
        records: &dyn Records,
        progress: &dyn Progress,
    ) -> Result<Self> {
        Self::prepare_in(params, seed, records, &mut InMemory, progress)
    }

    /// Does the work of [`Server::prepare`] in memory of `scratch`, where the encoded matrix is
    /// kept.
    fn prepare_in(
        params: Params,
        seed: Seed,
        records: &dyn Records,
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let layout = params.layout();
        check_source(NAME, layout.shape(), records)?;

        let tiles = find_or_make(
            scratch,
            DATABASE,
            layout.matrix_bytes() as usize,
            progress,
            |tiles| encode(layout, &seed, records, tiles, progress),
        )?;

        let packings = Packings::new(&params, &seed)?;
        let setup = LevelSetup {
            params: &params,
            seed: &seed,
            packings: &packings,
        };
        let material = Material {
            matrices: scratch.zeroed(MATRICES, params.pack_bytes(0) as usize)?,
            digits: scratch.zeroed(DIGITS, 2 * params.digit_words())?,
        };
        let all = vec![true; layout.blocks];
        Self::pack(setup, tiles, material, &all, scratch, progress)
    }

    /// Prepares the wanted packs of the first level, and the second level, from the words of D.
    /// `material` already holds the other packs of the first level.
    fn pack(
        setup: LevelSetup<'_>,
        tiles: Blob,
        material: Material,
        wanted: &[bool],
        scratch: &mut dyn Scratch,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let LevelSetup {
            params,
            seed,
            packings,
        } = setup;
        let Material {
            mut matrices,
            mut digits,
        } = material;
        let packs = params.literal().packs()[0];
        let tiles = BlobSlice::new(tiles, DATABASE)?;

        progress.stage("pack", (count(wanted) + packs) as u64);
        let first = row_masks(params, seed, 0, &tiles, progress);
        let prepared = packings
            .packing(0)
            .prepare_where(
                wanted.len(),
                |i| wanted[i],
                move |block| first.of_pack(block),
                matrices.slice_mut(),
            )
            .map_err(refused(NAME))?;
        write_digits(params, &prepared, digits.slice_mut());
        // The second level needs the memory of the first one's encryptions.
        drop(prepared);

        // Each pack of the second level has digits of all units, so all are prepared again.
        let digits = BlobSlice::new(digits.into(), DIGITS)?;
        let masks = row_masks(params, seed, 1, &digits, progress);
        let second = PreparedPacks::prepare(
            PACKS,
            packings.packing(1),
            packs,
            move |pack| masks.of_pack(pack),
            scratch,
            progress,
        )?;

        let matrices = BlobSlice::new(matrices.into(), MATRICES)?;
        Ok(Self {
            first: First {
                units: wanted.len(),
                tiles,
                matrices,
                held: Default::default(),
            },
            second: SecondLevel::new(params.clone(), *seed, packings.clone(), digits, second),
        })
    }

    /// Returns the new bytes of all units that changes alter.
    fn changed_units(&self, changes: &[Change]) -> Result<BTreeMap<u64, Vec<u8>>> {
        let layout = self.second.params.layout();
        let read = |unit| read_unit(layout, &self.second.public.seed, &self.first.tiles, unit);

        let mut units = BTreeMap::new();
        for change in changes {
            let unit = layout.locate(change.index).unit;
            // Several changes of one unit apply to the same bytes in order, so that the last one
            // counts.
            let bytes = units.entry(unit).or_insert_with(|| read(unit));
            layout.unit_layout.set(bytes, change)?;
        }

        // A pack is prepared again only for bytes that differ.
        units.retain(|&unit, bytes| *bytes != read(unit));
        Ok(units)
    }
}

/// Computes lines 7 and 10 of Algorithm 5 on public values: the masks of the LWE encryptions in
/// each pack of a level.
fn row_masks<'a>(
    params: &'a Params,
    seed: &Seed,
    level: usize,
    tiles: &'a [i16],
    progress: &'a dyn Progress,
) -> RowMasks<'a> {
    let rows = params.literal().gammas[level];
    let matrix = WordMatrix::new(params.selectors()[level], tiles);
    let masks = params.selector(level).masks(seed, rows);

    RowMasks {
        ring: params.rlwe().ring(),
        matrix: matrix.into(),
        masks,
        rows,
        progress,
    }
}

/// Returns the number of touched blocks.
fn count(touched: &[bool]) -> usize {
    touched.iter().filter(|&&touched| touched).count()
}

/// Writes the digits of the masks of prepared units' encryptions, each a column.
fn write_digits(params: &Params, prepared: &[Option<Preprocessed>], tiles: &mut [i16]) {
    let groups = params.digit_rows() / matvec_i16::ROWS;
    let blocks = params.layout().blocks;

    for (i, packs) in prepared.chunks(BLOCK_COLUMNS).enumerate() {
        let columns = parallel::map(packs, |pack| {
            pack.as_ref().map(|pack| digit_column(params, &pack.a))
        });

        if columns.iter().all(Option::is_some) {
            let columns: Vec<Vec<i16>> = columns.into_iter().flatten().collect();
            write_columns(tiles, blocks, i * BLOCK_COLUMNS, &columns);
            continue;
        }

        // Some units keep their digits: only the columns of the others are written.
        for (block, column) in (i * BLOCK_COLUMNS..).zip(&columns) {
            if let Some(column) = column {
                matvec_i16::scatter_column(tiles, groups, blocks.div_ceil(2), block, column);
            }
        }
    }
}
