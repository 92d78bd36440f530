//! The terms under which a program uses a scheme.

use super::identity::IDENTITY;
use crate::envelope::{self, Kind};
use crate::scheme::{Parameters, Scheme};
use crate::sections::SectionSource;
use crate::{Error, NotPrivate, OwnerKey, Privacy, Result, Version};

/// The terms under which a program uses a scheme; none by default.
#[derive(Clone, Default)]
pub struct Terms {
    /// The caller's acknowledgement that the scheme need not be private.
    pub acknowledgement: Option<NotPrivate>,
    /// The key of a database's owner.
    pub owner: Option<OwnerKey>,
}

impl Terms {
    /// These terms, and those of `others` that are not among them.
    pub(super) fn or(&self, others: &Self) -> Self {
        let own = self.clone();
        Self {
            acknowledgement: own.acknowledgement.or(others.acknowledgement),
            owner: own.owner.or_else(|| others.owner.clone()),
        }
    }

    /// Checks parameters of a server or a client, and adds the terms to them.
    /// Fails for a scheme that is not private, without the acknowledgement, and for message sizes
    /// out of bounds.
    pub(super) fn permit<S: Scheme>(&self, params: S::Params) -> Result<S::Params> {
        if let (Privacy::NotPrivate(reason), None) = (S::PRIVACY, self.acknowledgement) {
            return Err(Error::NotPrivate {
                scheme: S::NAME,
                reason,
            });
        }

        let params = self.bind(params)?;
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

    /// Adds the terms to parameters.
    pub(super) fn bind<P: Parameters>(&self, params: P) -> Result<P> {
        let params = match self.acknowledgement {
            Some(acknowledgement) => params.allow_insecure(acknowledgement),
            None => params,
        };
        match &self.owner {
            Some(key) => params.with_owner_key(key),
            None => Ok(params),
        }
    }
}
