//! A prepared database as named sections, independent of files.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Blob, Error, Result};

/// Receives named sections, in any order, each name once.
pub trait SectionSink {
    /// Stores one section, given as consecutive parts.
    ///
    /// # Errors
    /// The errors of the sink, such as a full disk.
    fn put(&mut self, name: &str, parts: &[&[u8]]) -> Result<()>;
}

/// Returns named sections.
pub trait SectionSource {
    /// The section of this name; large ones are mapped, not copied.
    ///
    /// # Errors
    /// [`Error::MissingSection`], or [`Error::Checksum`] naming a damaged section.
    fn get(&self, name: &str) -> Result<Blob>;

    /// Bytes of the section.
    ///
    /// # Errors
    /// The errors of [`SectionSource::get`].
    fn length(&self, name: &str) -> Result<usize> {
        Ok(self.get(name)?.len())
    }

    /// A part of the section; a source that can reads no other.
    ///
    /// # Errors
    /// The errors of [`SectionSource::get`] and [`Blob::slice`].
    fn get_range(&self, name: &str, bytes: Range<usize>) -> Result<Blob> {
        self.get(name)?.slice(bytes)
    }
}

/// Sections in memory.
#[derive(Default, Debug)]
pub struct MemorySections {
    sections: BTreeMap<String, Blob>,
}

impl MemorySections {
    /// The names of all sections.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.sections.keys().map(String::as_str)
    }
}

impl SectionSink for MemorySections {
    fn put(&mut self, name: &str, parts: &[&[u8]]) -> Result<()> {
        self.sections
            .insert(name.to_owned(), Blob::copy_of(&parts.concat()));
        Ok(())
    }
}

impl SectionSource for MemorySections {
    fn get(&self, name: &str) -> Result<Blob> {
        self.sections
            .get(name)
            .cloned()
            .ok_or_else(|| Error::MissingSection {
                name: name.to_owned(),
            })
    }
}
