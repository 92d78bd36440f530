//! The section with a prepared database's scheme, version and parameters.

use crate::codec::Reader;
use crate::envelope::{self, Kind};
use crate::sections::SectionSource;
use crate::{Result, Version};

/// Name of the section with scheme, version and parameters.
pub(super) const IDENTITY: &str = "identity";

/// The scheme number in a prepared database's sections.
///
/// # Errors
/// [`crate::Error::MissingSection`], or [`crate::Error::Length`] for a section shorter than a
/// scheme number.
pub fn scheme_of(source: &dyn SectionSource) -> Result<u16> {
    // The number alone, since only its scheme can check the rest. Its place is that in an envelope.
    let identity = source.get(IDENTITY)?;
    let mut reader = Reader::new("the identity section", &identity);
    reader.raw(6)?;
    reader.u16()
}

/// The encoded parameters in a prepared database's sections, for
/// [`super::ErasedScheme::setup_resumable`].
///
/// # Errors
/// [`crate::Error::MissingSection`], or the errors of the envelope.
pub fn parameters_of(source: &dyn SectionSource) -> Result<Vec<u8>> {
    let identity = source.get(IDENTITY)?;
    let (_, parameters) = envelope::open(&identity, Kind::Public, scheme_of(source)?)?;
    Ok(parameters.to_vec())
}

/// The version of a prepared database, from its sections.
///
/// # Errors
/// [`crate::Error::MissingSection`], or the errors of the envelope.
pub fn version_of(source: &dyn SectionSource) -> Result<Version> {
    Ok(envelope::open(&source.get(IDENTITY)?, Kind::Public, scheme_of(source)?)?.0)
}

/// The scheme number in an enveloped public part.
///
/// # Errors
/// [`crate::Error::Length`] if the bytes end before the scheme number.
pub fn scheme_of_public(public: &[u8]) -> Result<u16> {
    let mut reader = Reader::new("a public part", public);
    reader.raw(6)?;
    reader.u16()
}
