//! The section that names a prepared database's scheme, version and parameters.

use crate::Result;
use crate::codec::Reader;
use crate::envelope::{self, Kind};
use crate::sections::SectionSource;

/// Name of the section.
pub(super) const IDENTITY: &str = "identity";

/// The scheme number that a prepared database's sections name.
///
/// # Errors
/// [`crate::Error::MissingSection`] or [`crate::Error::Length`].
pub fn scheme_of(source: &dyn SectionSource) -> Result<u16> {
    let identity = source.get(IDENTITY)?;
    let mut reader = Reader::new("the identity section", &identity);
    reader.raw(6)?;
    reader.u16()
}

/// The encoded parameters that a prepared database's sections name, as
/// [`super::ErasedScheme::setup_candidate`] takes them.
///
/// # Errors
/// [`crate::Error::MissingSection`], or those of the envelope.
pub fn parameters_of(source: &dyn SectionSource) -> Result<Vec<u8>> {
    let identity = source.get(IDENTITY)?;
    let (_, parameters) = envelope::open(&identity, Kind::Public, scheme_of(source)?)?;
    Ok(parameters.to_vec())
}

/// The scheme number that an enveloped public part names.
///
/// # Errors
/// [`crate::Error::Length`] when it is shorter than a header.
pub fn scheme_of_public(public: &[u8]) -> Result<u16> {
    let mut reader = Reader::new("a public part", public);
    reader.raw(6)?;
    reader.u16()
}
