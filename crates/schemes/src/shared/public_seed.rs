//! The seed that clients of one database version start from.

use papir_core::Result;
use papir_core::scheme::Wire;
use papir_core::sections::SectionSource;
use papir_ring::prg::Seed;

use super::words::read_all;

/// Bytes of a seed.
pub(crate) const SEED_BYTES: usize = 32;

/// A public part that is the seed of the common reference string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PublicSeed {
    /// Expands to all masks and to the whitening of records.
    pub seed: Seed,
}

impl<P> Wire<P> for PublicSeed {
    fn encode(&self, _params: &P) -> Vec<u8> {
        self.seed.0.to_vec()
    }

    fn decode(_params: &P, bytes: &[u8]) -> Result<Self> {
        Ok(Self { seed: read_all("a public seed", bytes, |reader| Ok(Seed(reader.array()?)))? })
    }
}

/// Reads the section of a seed.
///
/// # Errors
/// [`papir_core::Error::MissingSection`] or [`papir_core::Error::Length`].
pub(crate) fn load_seed(source: &dyn SectionSource, section: &'static str) -> Result<Seed> {
    read_all(section, &source.get(section)?, |reader| Ok(Seed(reader.array()?)))
}
