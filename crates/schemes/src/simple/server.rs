//! Server of SimplePIR: `Setup`, `Answer` and updates.
//!
//! An update writes new bytes to the matrix. Each changed byte is a rank-one update of the hint; if
//! many bytes changed, their rows of the hint are computed again. The update copies database and
//! hint once, since the old version still answers.

use std::collections::BTreeSet;

use papir_core::cost::{Counts, Operation};
use papir_core::device::{Device, TileShape, Words};
use papir_core::scheme::{DeviceServer, OnDevice, Parameters, Server, Session, UpdateEstimate};
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{AlignedBytes, Change, Error, Progress, Records, Result, parallel};
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::matrix::transformed_bytes;
use papir_lattice::lwe32::{LOG2_Q, MaskProducts, Masks, N, add_multiple, round};
use papir_ring::prg::Seed;
use rand_core::CryptoRng;

use super::noise::CENTRE;
use super::params::{NAME, Simple, SimpleParams, masks};
use super::wire::{SimpleAnswer, SimplePublic, SimpleQuery};
use crate::shared::byte_matrix::{
    ByteMatrix, Difference, Layout, held_products, load_matrix, multiply, row_products,
};
use crate::shared::device_copy::DeviceCopy;
use crate::shared::messages::load_seed;
use crate::shared::parameters::estimate;
use crate::shared::stored_records::check_source;

const SEED: &str = "simple/seed";
const HINT: &str = "simple/hint";
pub(super) const DATABASE: &str = "simple/database";

/// Number of bytes of a row whose product with all masks takes the time of one rank-one update of
/// the row.
const RANK_ONE: u64 = 48;

/// A prepared database: the matrix, the seed and the hint. A clone shares them.
#[derive(Clone)]
pub struct SimpleServer {
    pub(super) params: SimpleParams,
    pub(super) public: SimplePublic,
    pub(super) database: ByteMatrix,
    /// Copy of the matrix in the memory of a device, if there is one.
    held: DeviceCopy,
}

/// The product with the matrix on a device.
pub(super) struct SimpleOnDevice;

impl OnDevice<Simple> for SimpleOnDevice {
    fn place(&self, server: &SimpleServer, device: &dyn Device) -> Result<DeviceServer<Simple>> {
        let held = DeviceCopy::on(
            device,
            Words::Unsigned8,
            server.database.columns(),
            server.database.tiles(),
        )?;
        let Layout { rows, columns, .. } = server.params.layout;
        let matrix = TileShape {
            words: Words::Unsigned8,
            rows: rows.next_multiple_of(ROWS),
            columns,
        };

        Ok(DeviceServer {
            server: SimpleServer {
                held,
                ..server.clone()
            },
            matrices: vec![matrix],
        })
    }
}

impl Server<Simple> for SimpleServer {
    fn setup(
        params: SimpleParams,
        records: &dyn Records,
        rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        check_source(NAME, params.shape(), records)?;
        let seed = Seed::random(rng);
        let database = params.layout.encode(records, progress)?;

        progress.stage("hint", database.rows() as u64);
        let products = MaskProducts::new(&params.lwe, &masks(seed), database.columns(), CENTRE);
        let hint = multiply(&params.lwe, &products, &database, progress).into();

        Ok(Self {
            params,
            public: SimplePublic { seed, hint },
            database,
            held: DeviceCopy::default(),
        })
    }

    fn params(&self) -> &SimpleParams {
        &self.params
    }

    fn public(&self) -> &SimplePublic {
        &self.public
    }

    fn answer_many(
        &self,
        batch: Vec<(Session<'_, Simple>, &SimpleQuery)>,
        progress: &dyn Progress,
    ) -> Result<Vec<SimpleAnswer>> {
        let queries: Vec<&SimpleQuery> = batch.into_iter().map(|(_, query)| query).collect();

        let rows = rounded_products(&self.params, &self.database, &self.held, &queries, progress);
        Ok(rows
            .into_iter()
            .map(|values| SimpleAnswer { values })
            .collect())
    }

    fn update_cost(&self, changes: &[Change]) -> Result<UpdateEstimate> {
        let layout = &self.params.layout;
        estimate(&self.params, changes, |sizes| {
            let bytes = changes.len() * layout.unit_layout.unit_bytes;
            let rows = layout.changed_units(changes) * layout.unit_layout.unit_bytes;
            let copy = Counts::new().with(Operation::Copy, (sizes.database + sizes.hint) as f64, 1);

            if few(bytes, rows, layout.columns) {
                // A row of n words is added to, instead of multiplied with a key.
                return copy.with(Operation::DecryptRow, bytes as f64, 1);
            }

            copy.with(
                Operation::HintProduct8,
                transformed_bytes(rows, layout.columns) as f64,
                rows,
            )
        })
    }

    /// Applies changes. The update keeps the public seed and gives the same bytes as a setup of the
    /// changed records.
    fn update(
        &self,
        changes: &[Change],
        _rng: &mut dyn CryptoRng,
        progress: &dyn Progress,
    ) -> Result<Self> {
        let Some((database, differences)) = self.params.layout.change(&self.database, changes)?
        else {
            return Ok(self.clone());
        };

        let mut hint = AlignedBytes::copy_of(&self.public.hint);
        let rows: BTreeSet<usize> = differences
            .iter()
            .map(|difference| difference.row)
            .collect();
        if few(differences.len(), rows.len(), database.columns()) {
            add_differences(
                &masks(self.public.seed),
                differences,
                hint.slice_mut(),
                progress,
            );
        } else {
            self.multiply_rows(&database, &rows, hint.slice_mut(), progress);
        }

        let public = SimplePublic {
            seed: self.public.seed,
            hint: hint.into(),
        };

        Ok(Self {
            params: self.params.clone(),
            public,
            // A device that held the matrix has the old bytes.
            database,
            held: DeviceCopy::default(),
        })
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        self.params
            .layout
            .read_packed(&self.database, (first, count), out)
    }

    fn save(&self, sink: &mut dyn SectionSink) -> Result<()> {
        sink.put(SEED, &[&self.public.seed.0])?;
        sink.put(HINT, &[&self.public.hint])?;
        sink.put(DATABASE, &[self.database.tiles()])
    }

    fn load(params: SimpleParams, source: &dyn SectionSource) -> Result<Self> {
        let database = load_matrix(source, DATABASE, params.layout.rows, params.layout.columns)?;
        Ok(Self {
            public: load_public(&params, source)?,
            params,
            database,
            held: DeviceCopy::default(),
        })
    }
}

impl SimpleServer {
    /// Computes the rows of D·A in which bytes changed.
    fn multiply_rows(
        &self,
        database: &ByteMatrix,
        rows: &BTreeSet<usize>,
        hint: &mut [u32],
        progress: &dyn Progress,
    ) {
        progress.stage("hint", rows.len() as u64);
        let lwe = &self.params.lwe;
        let products = MaskProducts::new(lwe, &masks(self.public.seed), database.columns(), CENTRE);

        // A row of D·A depends on its row of D alone.
        let changed = hint
            .chunks_exact_mut(N)
            .enumerate()
            .filter(|(row, _)| rows.contains(row));
        parallel::for_each(changed, |(row, words)| {
            words.copy_from_slice(&row_products(lwe, &products, database, row));
            progress.advance(1);
        });
    }
}

/// Reads seed and hint.
pub(super) fn load_public(
    params: &SimpleParams,
    source: &dyn SectionSource,
) -> Result<SimplePublic> {
    let seed = load_seed(source, SEED)?;
    let hint = source.get(HINT)?;
    Error::check_length("simple's hint", hint.len(), params.hint_bytes())?;
    Ok(SimplePublic { seed, hint })
}

/// Computes rows of the matrix times each query. Each sum is rounded to nearest and its low bits
/// are dropped.
pub(super) fn rounded_products(
    params: &SimpleParams,
    rows: &ByteMatrix,
    held: &DeviceCopy,
    queries: &[&SimpleQuery],
    progress: &dyn Progress,
) -> Vec<Vec<u64>> {
    progress.stage("answer", queries.len() as u64);
    let values: Vec<&[u32]> = queries
        .iter()
        .map(|query| query.values.as_slice())
        .collect();
    let dropped = params.budget.dropped_bits;

    held_products(rows, held, &values, LOG2_Q, CENTRE)
        .iter()
        .map(|sums| sums.iter().map(|&sum| round(sum, dropped).into()).collect())
        .collect()
}

/// Adds ΔD·A to the hint, for one byte of ΔD at a time.
fn add_differences(
    masks: &Masks,
    mut differences: Vec<Difference>,
    hint: &mut [u32],
    progress: &dyn Progress,
) {
    // Sorted, so that each column's row of A is computed once.
    differences.sort_by_key(|difference| difference.column);

    progress.stage("update", differences.len() as u64);
    let mut mask = vec![0; N];
    for of_column in differences.chunk_by(|a, b| a.column == b.column) {
        masks.row(of_column[0].column, &mut mask);
        for difference in of_column {
            add_multiple(&mut hint[difference.row * N..][..N], &mask, difference.by);
        }
        progress.advance(of_column.len() as u64);
    }
}

/// Returns true if rank-one updates for `bytes` bytes are faster than the products of their rows.
fn few(bytes: usize, rows: usize, columns: usize) -> bool {
    bytes as u64 * RANK_ONE <= transformed_bytes(rows, columns)
}
