//! Sections of a group of buckets among those of all.

use papir_core::sections::{SectionSink, SectionSource};
use papir_core::{Blob, Result};

/// The name of a group's section.
fn name(group: usize, name: &str) -> String {
    format!("group/{group}/{name}")
}

/// Takes the sections of one group.
pub(super) struct GroupSink<'a> {
    pub(super) sink: &'a mut dyn SectionSink,
    pub(super) group: usize,
}

impl SectionSink for GroupSink<'_> {
    fn put(&mut self, section: &str, parts: &[&[u8]]) -> Result<()> {
        self.sink.put(&name(self.group, section), parts)
    }
}

/// Gives the sections of one group.
pub(super) struct GroupSource<'a> {
    pub(super) source: &'a dyn SectionSource,
    pub(super) group: usize,
}

impl SectionSource for GroupSource<'_> {
    fn get(&self, section: &str) -> Result<Blob> {
        self.source.get(&name(self.group, section))
    }
}
