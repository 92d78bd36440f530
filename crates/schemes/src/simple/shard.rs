//! SimplePIR on several machines.
//!
//! Each machine has a range of rows of D, and an answer is the rows of all machines one after
//! another. A slice is a row group, and its words are the rounded rows.

use std::ops::Range;

use papir_core::scheme::{Combiner, DividedScheme, Shard};
use papir_core::sections::SectionSource;
use papir_core::{DividedDescription, Division, Error, Progress, Result};
use papir_kernels::matvec_u8::ROWS;
use papir_lattice::lwe32::matrix_bytes;

use super::params::{Simple, SimpleParams};
use super::server::{DATABASE, load_public, rounded_products};
use super::wire::{SimpleAnswer, SimplePublic, SimpleQuery};
use crate::shared::byte_matrix::ByteMatrix;
use crate::shared::device_copy::DeviceCopy;

/// Division of a database's row groups among several machines.
pub(super) struct SimpleSlices;

impl DividedScheme<Simple> for SimpleSlices {
    fn describe(&self, params: &SimpleParams) -> DividedDescription {
        let division = Division {
            words: params.layout.rows,
            slice_words: ROWS,
            word_bits: params.answer_bits(),
        };
        DividedDescription {
            division,
            work: params.answering(),
        }
    }

    fn load_shard(
        &self,
        params: SimpleParams,
        slices: Range<usize>,
        source: &dyn SectionSource,
    ) -> Result<Box<dyn Shard<Simple>>> {
        let layout = &params.layout;
        let rows = self.describe(&params).division.words_of(&slices)?;
        let bytes = |rows| matrix_bytes(rows, layout.columns) as usize;

        // The whole section is checked: in one of another length, rows lie elsewhere.
        Error::check_length(DATABASE, source.length(DATABASE)?, bytes(layout.rows))?;
        let tiles = source.get_range(DATABASE, bytes(rows.start)..bytes(rows.end))?;

        let rows = ByteMatrix::new(rows.len(), layout.columns, tiles);
        Ok(Box::new(SimpleShard { params, rows }))
    }

    fn load_combiner(
        &self,
        params: SimpleParams,
        source: &dyn SectionSource,
    ) -> Result<Box<dyn Combiner<Simple>>> {
        Ok(Box::new(SimpleCombiner {
            public: load_public(&params, source)?,
            params,
        }))
    }
}

/// A machine's range of rows.
struct SimpleShard {
    params: SimpleParams,
    rows: ByteMatrix,
}

impl Shard<Simple> for SimpleShard {
    fn partial_many(
        &self,
        queries: &[&SimpleQuery],
        progress: &dyn Progress,
    ) -> Result<Vec<Vec<u64>>> {
        Ok(rounded_products(
            &self.params,
            &self.rows,
            &DeviceCopy::default(),
            queries,
            progress,
        ))
    }
}

/// The machine that combines answers. It has the hint, which clients download.
struct SimpleCombiner {
    params: SimpleParams,
    public: SimplePublic,
}

impl Combiner<Simple> for SimpleCombiner {
    fn public(&self) -> &SimplePublic {
        &self.public
    }

    fn combine_many(
        &self,
        batch: &[(&SimpleQuery, &[u64])],
        _progress: &dyn Progress,
    ) -> Result<Vec<SimpleAnswer>> {
        let rows = self.params.layout.rows;

        let mut answers = Vec::with_capacity(batch.len());
        for (_, words) in batch {
            Error::check_length("the words of all rows", words.len(), rows)?;
            answers.push(SimpleAnswer {
                values: words.to_vec(),
            });
        }

        Ok(answers)
    }
}
