//! Parameters under a program's terms.

use super::identity::IDENTITY;
use crate::envelope::{self, Kind};
use crate::scheme::{Parameters, Scheme};
use crate::sections::SectionSource;
use crate::{Error, Privacy, Result, Terms, Version};

impl Terms {
    /// Checks parameters of a server or a client, and adds the terms to them. Fails for a scheme
    /// that is not private without the acknowledgement, and for message sizes out of bounds.
    pub(super) fn permit<S: Scheme>(&self, params: S::Params) -> Result<S::Params> {
        if let (Privacy::NotPrivate(reason), None) = (S::PRIVACY, self.acknowledgement) {
            return Err(Error::NotPrivate {
                scheme: S::NAME,
                reason,
            });
        }

        let params = params.with_terms(self)?;
        // Lengths follow from parameters, which may be a stranger's: nothing of these lengths is
        // allocated before.
        params.describe().sizes.check()?;
        Ok(params)
    }

    /// Version and permitted parameters of a prepared database.
    pub(super) fn identity<S: Scheme>(
        &self,
        source: &dyn SectionSource,
    ) -> Result<(Version, S::Params)> {
        let identity = source.get(IDENTITY)?;
        let (version, payload) = envelope::open(&identity, Kind::Public, S::ID)?;
        Ok((version, self.permit::<S>(S::Params::decode(payload)?)?))
    }
}
