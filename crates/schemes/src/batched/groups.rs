//! One group of buckets: its records and its sections.

use papir_core::scheme::Parameters;
use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, Record, RecordBuffer, Records, Result, Shape};

use super::bucket::Bucket;
use super::code::{Code, Place};
use super::params::BatchedParams;
use crate::shared::stored_records::read_each;

/// Records of one group: copies, and zeros at empty places.
pub(super) struct Copies<'a, S: Bucket> {
    pub(super) records: &'a RecordBuffer,
    pub(super) code: &'a Code,
    pub(super) params: &'a BatchedParams<S>,
    pub(super) group: usize,
}

impl<S: Bucket> Copies<'_, S> {
    /// The copy at an index of the group; `None` at the end of some parts.
    fn copy(&self, index: u64) -> Result<Option<Record>> {
        let (parts, of_part) = (self.params.parts(), self.params.part_records());
        let bucket = self.group * parts + (index / of_part) as usize;
        if bucket >= self.params.bucket_count() {
            return Ok(None);
        }
        let record = self.code.record_at(Place { bucket, position: index % of_part });
        record.map(|index| self.records.get(index)).transpose()
    }
}

impl<S: Bucket> Records for Copies<'_, S> {
    fn shape(&self) -> Shape {
        self.params.inner().shape()
    }

    fn read_packed(&self, first: u64, count: u64, out: &mut [u8]) -> Result<()> {
        read_each(&self.shape(), (first, count), out, |index| self.copy(index))
    }
}

/// Name of a group's section.
fn name(group: usize, name: &str) -> String {
    format!("group/{group}/{name}")
}

/// Writes the sections of one group.
pub(super) struct GroupSink<'a> {
    pub(super) sink: &'a mut dyn SectionSink,
    pub(super) group: usize,
}

impl SectionSink for GroupSink<'_> {
    fn put(&mut self, section: &str, parts: &[&[u8]]) -> Result<()> {
        self.sink.put(&name(self.group, section), parts)
    }
}

/// Reads the sections of one group.
pub(super) struct GroupSource<'a> {
    pub(super) source: &'a dyn SectionSource,
    pub(super) group: usize,
}

impl SectionSource for GroupSource<'_> {
    fn get(&self, section: &str) -> Result<Blob> {
        self.source.get(&name(self.group, section))
    }
}
