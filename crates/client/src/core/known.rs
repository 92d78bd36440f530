//! Sessions with a kept version, which begin without a request.

use super::checkpoints::OwnerTrust;
use super::costs::Costs;
use super::fetch::{self, Origin};
use super::first_version::check_root;
use super::kept::{self, VersionRecord};
use super::key_sender::Context;
use super::pins::NamePin;
use super::registration::Registration;
use super::service::Service;
use super::session::Session;
use super::settings::{KnownVersion, Patches, Pin, Settings};
use super::task::{Io, Task};
use crate::error::Result;

impl Session {
    /// Like [`Session::open`]. If the settings use the kept version of the database, and it can be
    /// used, no request is sent. Otherwise the newest version is fetched, and kept if the settings
    /// say so.
    ///
    /// # Errors
    /// The errors of [`Session::open`].
    pub fn open_known(service: Service, settings: Settings) -> Task<'static, Result<Self>> {
        Task::new(|io| async move {
            if settings.known == KnownVersion::Use
                && let Some(session) = Self::of_kept(&io, &service, &settings).await?
            {
                return Ok(session);
            }

            let session = Self::connect(&io, service, settings).await?;
            session.check_trust()?;
            Ok(session)
        })
    }

    /// A session with the kept version; `None` if there is none, or none that may be used without a
    /// request: it was kept under another pin than the present one, the settings require what only
    /// the service tells, or the client is not registered for it.
    async fn of_kept(io: &Io, service: &Service, settings: &Settings) -> Result<Option<Self>> {
        let service = service.clone().of_session(settings);
        if service.gate().is_some() || service.is_one_of_several() {
            return Ok(None);
        }
        let Some(kept) = kept::read(io, &service, settings).await? else {
            return Ok(None);
        };
        let VersionRecord {
            name,
            info,
            owner,
            bundle,
            ..
        } = kept;

        let mut settings = settings.clone();
        NamePin::of_service(io, &service, &settings)
            .check(&name)
            .await?;
        let mut trust = OwnerTrust::open(io, &service, &name, &settings).await?;
        if !trust.allows_kept(&settings, &owner) {
            return Ok(None);
        }
        let Ok(lookup) = fetch::of_kept(&service, &settings, &info, &bundle) else {
            return Ok(None);
        };

        let from = Origin {
            service: &service,
            name: &name,
            settings: &settings,
            trust: &trust,
            held: None,
        };
        let root = check_root(io, from, lookup.root(), trust.is_signed()).await?;
        settings.root = root;
        if !trust.is_signed() && settings.pin == Pin::OwnerAndRoot && settings.root.is_some() {
            trust.trust_root();
        }
        if !trust.is_signed() && settings.patches == Patches::Auto {
            // Another session has fetched the version, perhaps from another address: the blocks
            // that it lacks could link both.
            settings.patches = Patches::Never;
        }

        let context = Context {
            io,
            service: &service,
            lookup: &lookup,
        };
        let registration = Registration::open_saved(context, &name, &settings).await?;
        if registration.is_none() && is_registered(&lookup.describe().limits) {
            return Ok(None);
        }

        let seen = service.platform.now();
        Ok(Some(Self {
            service,
            settings,
            name,
            info,
            lookup,
            costs: Costs::default(),
            trust,
            registration,
            seen,
            had_delta: false,
            scheduled: false,
            // The pinned name was checked above.
            named: true,
        }))
    }
}

/// Returns true for a scheme whose clients register keys and use no tickets.
fn is_registered(limits: &papir_core::Limits) -> bool {
    limits.client_keys && !limits.tickets
}
