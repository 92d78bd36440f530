//! Automatic choice of a scheme: `papir build --scheme auto`.

use papir_core::cost::Rates;
use papir_core::{Error, FailureBound, Records, Result as CoreResult, Shape};
use papir_lookup::{BucketTarget, Estimate, Lengths, Result as LookupResult};

use crate::demand::Demand;
use crate::offer::Offer;
use crate::planner;
use crate::shards::{self, Machines};

/// The value of `--scheme` for the automatic choice.
pub const AUTO: &str = "auto";

/// An automatic choice by the planner, for a single client with the default connection.
#[derive(Clone, Copy, Debug)]
pub struct Auto<'a> {
    /// The largest allowed probability that an answer does not decode.
    pub failure: FailureBound,
    /// The machine's rates.
    pub rates: &'a Rates,
    /// The machines that will share the database; `None` for a single machine.
    pub machines: Option<Machines>,
}

impl Auto<'_> {
    /// Returns the target length of buckets for values of these lengths, which is the length of the
    /// best scheme. Since the compressed size of the table is not known yet, records count as
    /// incompressible for the scheme `download`. [`Self::scheme`] knows the size.
    ///
    /// # Errors
    /// The errors of [`Estimate::of`], and [`Error::Parameters`] if no scheme supports the table.
    pub fn bucket(&self, lengths: &Lengths) -> LookupResult<BucketTarget> {
        // A demand needs some shape; its lengths let the planner choose other buckets.
        let table = Estimate::of(lengths, BucketTarget::default())?;
        let shape = Shape::of_bytes(table.records, table.record_bytes)?;
        let demand = Demand {
            failure: self.failure,
            lengths: Some(*lengths),
            extra_bytes: table.layout_bytes,
            ..Demand::new(shape, self.rates)
        };

        let (offer, _) = self.choose(&demand)?;
        match offer.bucket_bytes {
            Some(bytes) => Ok(BucketTarget::Grow(bytes as u32)),
            None => Ok(BucketTarget::default()),
        }
    }

    /// The best scheme and parameters for these records, and the reason in a sentence.
    ///
    /// # Errors
    /// [`Error::Parameters`] if no scheme supports them, and errors of the records.
    pub fn scheme(&self, records: &dyn Records) -> CoreResult<(Offer, String)> {
        let compressed_bytes = Some(papir_schemes::download::estimate(records)?);
        let demand = Demand {
            failure: self.failure,
            compressed_bytes,
            ..Demand::new(records.shape(), self.rates)
        };
        self.choose(&demand)
    }

    /// The best offer, and the reason in a sentence.
    fn choose(&self, demand: &Demand) -> CoreResult<(Offer, String)> {
        let choice = planner::choose(demand, self.rates).map_err(refused)?;
        // A scheme that is best on one machine may not be divisible, so shards have a choice of
        // their own.
        let Some(machines) = self.machines else {
            return Ok((choice.best.clone(), choice.reason()));
        };
        let plan = shards::plan(&choice, demand, self.rates, machines).map_err(refused)?;
        Ok((plan.single.clone(), plan.reason()))
    }
}

fn refused(error: crate::Error) -> Error {
    Error::Parameters {
        scheme: AUTO,
        reason: error.to_string(),
    }
}
