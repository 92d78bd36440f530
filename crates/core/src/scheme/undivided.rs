//! The shard and combiner of a scheme without slices.

use std::ops::Range;

use super::messages::Never;
use super::traits::{Combiner, Scheme, Shard};
use crate::cost::DividedWork;
use crate::sections::SectionSource;
use crate::{Division, Progress, Result};

impl<S: Scheme> Shard<S> for Never {
    fn division(_params: &S::Params) -> Result<Division> {
        Err(Division::none(S::NAME))
    }

    fn work(_params: &S::Params) -> Result<DividedWork> {
        Err(Division::none(S::NAME))
    }

    fn load(
        _params: S::Params,
        _slices: Range<usize>,
        _source: &dyn SectionSource,
    ) -> Result<Self> {
        Err(Division::none(S::NAME))
    }

    fn params(&self) -> &S::Params {
        match *self {}
    }

    fn partial_many(
        &self,
        _queries: &[&S::Query],
        _progress: &dyn Progress,
    ) -> Result<Vec<Vec<u64>>> {
        match *self {}
    }
}

impl<S: Scheme> Combiner<S> for Never {
    fn load(_params: S::Params, _source: &dyn SectionSource) -> Result<Self> {
        Err(Division::none(S::NAME))
    }

    fn params(&self) -> &S::Params {
        match *self {}
    }

    fn public(&self) -> &S::Public {
        match *self {}
    }

    fn combine_many(
        &self,
        _batch: &[(&S::Query, &[u64])],
        _progress: &dyn Progress,
    ) -> Result<Vec<S::Answer>> {
        match *self {}
    }
}
