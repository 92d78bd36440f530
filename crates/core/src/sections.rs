//! Named sections of a prepared database, independent of files.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::{Blob, Error, Result};

/// Receives the named sections of a database, in any order, each name once.
pub trait SectionSink {
    /// Stores one section, whose bytes are the concatenation of `parts`.
    ///
    /// # Errors
    /// The errors of the sink, for example a full disk.
    fn put(&mut self, name: &str, parts: &[&[u8]]) -> Result<()>;
}

/// Provides the named sections of a database.
pub trait SectionSource {
    /// The section with this name. A source of files maps large sections and does not copy them.
    ///
    /// # Errors
    /// [`Error::MissingSection`], or [`Error::Checksum`] naming a damaged section.
    fn get(&self, name: &str) -> Result<Blob>;

    /// The length of the section in bytes.
    ///
    /// # Errors
    /// The errors of [`SectionSource::get`].
    fn length(&self, name: &str) -> Result<usize> {
        Ok(self.get(name)?.len())
    }

    /// The bytes of the section in a range. A source may read only this range.
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
