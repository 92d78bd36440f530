//! Sections of a bucket among those of all.

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, Result};

/// The name of a bucket's section.
fn name(bucket: usize, name: &str) -> String {
    format!("bucket/{bucket}/{name}")
}

/// Takes the sections of one bucket.
pub(super) struct BucketSink<'a> {
    pub(super) sink: &'a mut dyn SectionSink,
    pub(super) bucket: usize,
}

impl SectionSink for BucketSink<'_> {
    fn put(&mut self, section: &str, parts: &[&[u8]]) -> Result<()> {
        self.sink.put(&name(self.bucket, section), parts)
    }
}

/// Gives the sections of one bucket.
pub(super) struct BucketSource<'a> {
    pub(super) source: &'a dyn SectionSource,
    pub(super) bucket: usize,
}

impl SectionSource for BucketSource<'_> {
    fn get(&self, section: &str) -> Result<Blob> {
        self.source.get(&name(self.bucket, section))
    }
}
