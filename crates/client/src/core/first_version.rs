//! Choice of a session's database; fetch, checks and pins of its first version.

use std::time::Duration;

use papir_lookup::{Lookup, Root};
use papir_protocol::{DatabaseInfo, path};

use super::checkpoints::{Keeping, OwnerTrust};
use super::costs::Costs;
use super::fetch::{Fetched, Origin, choose_for_session, fetch};
use super::pins::{self, NamePin};
use super::service::Service;
use super::settings::{Pin, Settings};
use super::storage::SlotStorage;
use super::task::Io;
use crate::error::Result;

/// Maximum number of version changes during one request. After each change, the client repeats the
/// request with fresh queries from the new public part.
pub(super) const MAX_CHANGES: u32 = 6;

/// The database of a session, before its first version.
pub(crate) struct ChosenDatabase {
    pub(crate) name: String,
    pub(crate) trust: OwnerTrust,
}

/// The first version of a session.
pub(crate) struct FirstVersion {
    pub(crate) info: DatabaseInfo,
    pub(crate) lookup: Lookup,
    /// The platform's time just before the fetch.
    pub(crate) seen: Duration,
}

/// Chooses the database, checks its name against the pinned one, and reads the owner's pin. If the
/// session holds the token back, verifies the keys of gateways first.
pub(crate) async fn choose_database(
    io: &Io,
    service: &Service,
    settings: &Settings,
) -> Result<ChosenDatabase> {
    // Before the list of databases, for which a service may want the token.
    if service.is_gate_closed()
        && let Some(named) = service.named(settings)
    {
        let trust = OwnerTrust::open(io, service, named, settings).await?;
        trust.open_gate(io, service, named, settings).await?;
    }

    let name = choose_for_session(io, service, settings).await?;
    NamePin::of_service(io, service, settings)
        .check(&name)
        .await?;
    let trust = OwnerTrust::open(io, service, &name, settings).await?;
    trust.open_gate(io, service, &name, settings).await?;
    Ok(ChosenDatabase { name, trust })
}

/// Fetches the newest version, and checks its root and owner. Sets `settings.root` to the root that
/// the database must have from now on. Fetches again if another session of this client has changed
/// the pin meanwhile.
pub(crate) async fn first_version(
    io: &Io,
    service: &Service,
    name: &str,
    settings: &mut Settings,
    trust: &mut OwnerTrust,
    costs: &mut Costs,
) -> Result<FirstVersion> {
    let mut attempts = 1..MAX_CHANGES;

    loop {
        let from = Origin {
            service,
            name,
            settings: &*settings,
            trust: &*trust,
            held: None,
        };
        // Before the fetch: the version may be replaced while it is fetched.
        let seen = service.platform.now();
        let Fetched {
            info,
            lookup,
            proven,
        } = fetch(io, from, None, costs).await?;

        // Before the checkpoint is kept: a version with another root must not be pinned.
        let root = check_root(io, from, lookup.root(), proven.is_some()).await?;
        settings.root = root;
        let version = FirstVersion { info, lookup, seen };

        let Some(proven) = proven else {
            if settings.pin == Pin::OwnerAndRoot && settings.root.is_some() {
                trust.trust_root();
            }
            return Ok(version);
        };

        match trust.keep(io, service, name, settings, *proven).await? {
            Keeping::Kept => return Ok(version),
            // Another process has seen a newer version meanwhile: this one would be a rollback.
            Keeping::Overtaken(_) if attempts.next().is_some() => {}
            Keeping::Overtaken(refusal) => return Err(refusal),
        }
    }
}

/// Checks the root `found` against the given or pinned one, and pins it if the settings say so.
/// Returns the root that the database must have from now on; `None` if any root is accepted.
///
/// A root that the trusted owner has signed needs no pin, because the next version has another
/// root. But a root that was pinned before any key stays pinned. Otherwise a service could replace
/// it by a root under a key of its own.
pub(super) async fn check_root(
    io: &Io,
    from: Origin<'_>,
    found: Option<Root>,
    signed: bool,
) -> Result<Option<Root>> {
    let Origin {
        service,
        name,
        settings,
        trust,
        ..
    } = from;
    let slot = service.address.identity(name);
    let storage = SlotStorage::new(io, &slot);

    let checks = match settings.pin {
        Pin::Nothing => false,
        // A root that was pinned before the database was signed still holds.
        Pin::Owner => signed && trust.is_rooted(),
        Pin::OwnerAndRoot => settings.root.is_some() || !signed || trust.is_rooted(),
    };
    if !checks {
        return Ok(settings.root);
    }

    let given = settings.root.or(trust.root_of_others());
    pins::check_or_pin(storage, &service.url(&path::database(name)), given, found).await
}
