//! Choice of a database, and download of its public part.

use papir_checkpoint::{Accepted, Base};
use papir_core::erased::{ErasedClient, scheme_of_public};
use papir_core::{NotPrivate, Privacy, Terms, Version};
use papir_lookup::delta::DeltaPart;
use papir_lookup::prefilter::PrefilterSummary;
use papir_lookup::{Bundle, Lookup, Root};
use papir_protocol::{DatabaseInfo, DatabaseList, DeltaInfo, code, path};

use super::checkpoints::{OwnerTrust, ProvenCheckpoint, Verdict, wait_for_newer};
use super::costs::Costs;
use super::patches::BlockPatch;
use super::pins;
use super::public_cache::{CopiedPart, PublicCache};
use super::retries::{jitter, pause};
use super::service::{FetchOutcome, Service};
use super::settings::{KnownVersion, Patches, PrefilterUse, Settings};
use super::task::Io;
use crate::error::{Error, Result, refused_checkpoint, unexpected};

/// Maximum number of attempts to fetch a description and a public part of the same version.
const MAX_FETCHES: u32 = 6;

/// A fetched version of a database.
pub(crate) struct Fetched {
    pub(crate) info: DatabaseInfo,
    pub(crate) lookup: Lookup,
    /// The owner's checkpoint of this version; `None` for an unsigned database. The caller passes
    /// it to [`OwnerTrust::keep`] after it has checked the root.
    pub(crate) proven: Option<Box<ProvenCheckpoint>>,
}

/// The name of the database to use: the name in the settings, else in the address, else that of the
/// service's only database.
pub(crate) async fn choose(io: &Io, service: &Service, settings: &Settings) -> Result<String> {
    // Also for a name that is given: the error then has the names of the others.
    let list: DatabaseList = service.json(io, path::DATABASES).await?;
    let known = names(&list);
    let url = service.url(path::DATABASES);

    match service.named(settings).cloned() {
        Some(name) if list.databases.iter().any(|one| one.name == name) => Ok(name),
        Some(name) => Err(Error::NoSuchDatabase { url, name, known }),
        // The first of several would be another one after the service adds a database.
        None => match <[_; 1]>::try_from(list.databases) {
            Ok([only]) => Ok(only.name),
            Err(_) => Err(Error::ChooseDatabase { url, known }),
        },
    }
}

/// The name of a session's database, like [`choose`]. A given name is not looked for in the list,
/// which is long where a service has many databases: the next request tells if it is unknown, and
/// [`explain_unknown`] says so.
pub(crate) async fn choose_for_session(
    io: &Io,
    service: &Service,
    settings: &Settings,
) -> Result<String> {
    match service.named(settings) {
        Some(name) => Ok(name.clone()),
        None => choose(io, service, settings).await,
    }
}

/// The error of the first requests for a session's database: if the service has none of the given
/// name, [`Error::NoSuchDatabase`] with the names that it has.
pub(crate) async fn explain_unknown(
    io: &Io,
    service: &Service,
    settings: &Settings,
    error: Error,
) -> Error {
    let is_unknown = error.code() == code::UNKNOWN_DATABASE && service.named(settings).is_some();
    // Without the token that is held back, a service may refuse the list.
    if !is_unknown || service.is_gate_closed() {
        return error;
    }

    match choose(io, service, settings).await {
        Err(explained @ Error::NoSuchDatabase { .. }) => explained,
        // The database has appeared meanwhile, or there is no list.
        _ => error,
    }
}

/// The names in a list of databases, for a message.
fn names(list: &DatabaseList) -> String {
    let quoted: Vec<_> = list
        .databases
        .iter()
        .map(|one| format!("`{}`", one.name))
        .collect();

    if quoted.is_empty() {
        "none".to_owned()
    } else {
        quoted.join(", ")
    }
}

/// The source of a database, and the trust in its owner.
#[derive(Clone, Copy)]
pub(crate) struct Origin<'a> {
    pub(crate) service: &'a Service,
    pub(crate) name: &'a str,
    pub(crate) settings: &'a Settings,
    pub(crate) trust: &'a OwnerTrust,
    /// The client of the session's previous version. If only the delta has changed, the base is not
    /// fetched again.
    pub(crate) held: Option<&'a Lookup>,
}

impl Origin<'_> {
    /// Returns true if the session's previous version has this public part, which it has from the
    /// same server.
    fn holds(&self, version: &str) -> bool {
        // A session that moved to another server has the version from there.
        !self.service.is_one_of_several()
            && self
                .held
                .is_some_and(|held| held.base_version().to_string() == version)
    }

    /// The version that a server has named, unless the database is signed: a signed database must
    /// not go back to an older version.
    fn acceptable(&self, named: Option<Version>) -> Option<Version> {
        named.filter(|_| !self.trust.is_signed())
    }
}

/// Fetches the description and the public part of one version: the newest version or, if the
/// database is not signed, the version `current` that a server has named.
///
/// Several servers behind one address do not change their versions at the same moment. The version
/// that the last server named is more likely to be answered by all of them than the newest one.
pub(crate) async fn fetch(
    io: &Io,
    from: Origin<'_>,
    current: Option<Version>,
    costs: &mut Costs,
) -> Result<Fetched> {
    let start = from.service.platform.now();
    // The time of a failed fetch counts, too: the caller has waited for it.
    let fetched = fetch_both(io, from, current, &mut costs.public_bytes).await;
    costs.fetch += from.service.platform.now().saturating_sub(start);
    fetched
}

/// Pauses for a short random time before attempt `number`, from 1, to move to another version.
pub(crate) async fn pause_between_changes(io: &Io, service: &Service, number: u32) {
    let platform = &*service.platform;
    // Random: clients that the same version refused would come back together. All pauses together
    // fit into the patience.
    let wait = jitter(platform, pause(number) * 2).min(service.patience / MAX_FETCHES);
    io.wait(wait).await;
}

async fn fetch_both(
    io: &Io,
    from: Origin<'_>,
    current: Option<Version>,
    public_bytes: &mut u64,
) -> Result<Fetched> {
    let Origin {
        service,
        name,
        settings,
        ..
    } = from;
    let cache = PublicCache::new(io, service, name, settings);
    let mut wanted = from.acceptable(current);

    for attempt in 0..MAX_FETCHES {
        if attempt > 0 {
            pause_between_changes(io, service, attempt).await;
        }
        match try_fetch(io, from, wanted, &cache, public_bytes).await {
            Ok(Some(fetched)) => return Ok(fetched),
            // The named version is gone, so that the next attempt takes the newest.
            Ok(None) => wanted = None,
            Err(error) if error.is_version_change() => {
                wanted = from.acceptable(error.current_version());
            }
            Err(error) => return Err(error),
        }
    }

    Err(unexpected(
        &service.url(&path::public(name)),
        format!("another version at each of {MAX_FETCHES} attempts"),
    ))
}

/// Makes one attempt to fetch description and public part. `None` if the database was replaced
/// between the requests, so that the description is out of date.
async fn try_fetch(
    io: &Io,
    from: Origin<'_>,
    wanted: Option<Version>,
    cache: &PublicCache<'_>,
    public_bytes: &mut u64,
) -> Result<Option<Fetched>> {
    let Origin {
        service, settings, ..
    } = from;
    let (info, verdict) = newest(io, from, wanted).await?;
    // Before the public part, which may be long.
    settings.schemes.check_name(&info.scheme)?;
    let proven = match verdict {
        Verdict::Changed => return Ok(None),
        Verdict::Accepted(proven) => Some(proven),
        _ => None,
    };

    let public = path::public(from.name);
    let url = service.url(&public);
    let part = PublicPart {
        url: &url,
        info: &info,
        accepted: proven.as_deref().map(|proven| &proven.accepted),
        settings,
        // A root alone does not cover a delta, which the service could then make up.
        rooted: settings.root.is_some() || from.trust.is_rooted(),
    };
    let lookup = match part.unchanged(from) {
        Some(lookup) => Some(lookup),
        None => part.fetch(io, from, &public, cache, public_bytes).await?,
    };

    Ok(lookup.map(|lookup| Fetched {
        info,
        lookup,
        proven,
    }))
}

/// The public part of the version that `info` describes, and the checks that it must pass.
struct PublicPart<'a> {
    /// The address of the public part, for messages.
    url: &'a str,
    info: &'a DatabaseInfo,
    accepted: Option<&'a Accepted>,
    settings: &'a Settings,
    /// Set if a given or pinned root is trusted in place of the owner's key.
    rooted: bool,
}

impl PublicPart<'_> {
    /// The lookup client of this version. Fetches the base only if it has changed. `None` if the
    /// server has another version.
    async fn fetch(
        &self,
        io: &Io,
        from: Origin<'_>,
        public: &str,
        cache: &PublicCache<'_>,
        public_bytes: &mut u64,
    ) -> Result<Option<Lookup>> {
        let service = from.service;
        // A new delta beside the same base costs the delta's bytes only.
        let base = match self.held(from) {
            Some(base) => Some(base),
            None => {
                let path = path::of_version(public, &self.info.version);
                self.obtain(io, from, &path, cache, public_bytes).await?
            }
        };

        let Some(base) = base else {
            return Ok(None);
        };
        match self.with_prefilter(io, from, base, public_bytes).await? {
            Some(base) => {
                self.with_delta(io, service, public, base, public_bytes)
                    .await
            }
            None => Ok(None),
        }
    }

    /// The statement of the filter of keys that is to be fetched, if any.
    fn wanted_prefilter(&self, base: &Lookup) -> Option<PrefilterSummary> {
        // A root does not cover the filter, with which the service could hide keys.
        let is_covered = base.root().is_none() || (self.accepted.is_some() && !self.rooted);
        // The filter of a kept version would hide later keys: without a request for them, no
        // refusal tells of the version that has them.
        let is_newest = self.settings.known == KnownVersion::Ask;
        let is_used = self.settings.prefilter == PrefilterUse::Use && is_covered && is_newest;

        let is_missing = base.prefilter().is_none();
        base.stated_prefilter()
            .filter(|_| is_used && is_missing)
            .copied()
    }

    /// Adds the filter of keys that the base's public part states, from the stored copy or fetched.
    /// `None` if the server has another version. Fails for any other filter.
    async fn with_prefilter(
        &self,
        io: &Io,
        from: Origin<'_>,
        base: Lookup,
        public_bytes: &mut u64,
    ) -> Result<Option<Lookup>> {
        let Some(stated) = self.wanted_prefilter(&base) else {
            return Ok(Some(base));
        };
        let Origin { service, name, .. } = from;
        let path = path::prefilter(name);
        let url = service.url(&path);
        self.settings.download_limit.check(&url, stated.bytes)?;

        // The hash is known already: the server need not confirm a copy.
        let version = self.info.version.as_str();
        let cache = PublicCache::of_prefilter(io, service, name, self.settings);
        if let Some(copy) = cache.read_any(stated.bytes, stated.bytes).await
            && let Ok(lookup) = base.clone().with_prefilter(copy.bytes)
        {
            return Ok(Some(lookup));
        }

        let path = path::of_version(&path, version);
        let Some(bytes) = service.bytes_of(io, &path, version, stated.bytes).await? else {
            return Ok(None);
        };
        *public_bytes += bytes.len() as u64;

        // A filter that the public part does not state could hide keys: no lookup goes on without.
        let lookup = base
            .with_prefilter(bytes)
            .map_err(|error| unexpected(&url, error.to_string()))?;
        if let Some(filter) = lookup.prefilter() {
            cache.keep(version, filter.as_bytes()).await;
        }
        Ok(Some(lookup))
    }

    /// The lookup client of the base: made from the stored copy if the server confirms it, or from
    /// an earlier copy and the blocks that it lacks, else fetched. `None` if the server has another
    /// version.
    async fn obtain(
        &self,
        io: &Io,
        from: Origin<'_>,
        path: &str,
        cache: &PublicCache<'_>,
        public_bytes: &mut u64,
    ) -> Result<Option<Lookup>> {
        let service = from.service;
        let version = self.info.version.as_str();
        let length = self.info.sizes.bundle;
        // The service states the length: without a limit it could fill the client's memory.
        let limit = self.settings.download_limit;
        limit.check(self.url, length)?;

        let stored = cache.read_any(length, limit.0).await;
        let confirmable = match stored {
            // A copy that fails a check is not offered, so that the server's reply decides nothing.
            Some(copy) if copy.version == version => self.check(&copy.bytes).ok(),
            Some(copy) => {
                let patched = self.patch(io, from, copy, cache, public_bytes).await?;
                if patched.is_some() {
                    return Ok(patched);
                }
                None
            }
            None => None,
        };

        let fetched = match confirmable {
            Some(lookup) => match service.confirm_or_fetch(io, path, version, length).await? {
                Some(FetchOutcome::Unchanged) => return Ok(Some(lookup)),
                Some(FetchOutcome::Fetched(bytes)) => Some(bytes),
                None => None,
            },
            None => service.bytes_of(io, path, version, length).await?,
        };
        let Some(bytes) = fetched else {
            return Ok(None);
        };
        *public_bytes += bytes.len() as u64;

        // Stored only after the check: a stored copy is offered to the server.
        let lookup = self.check(&bytes)?;
        cache.keep(version, &bytes).await;
        Ok(Some(lookup))
    }

    /// The lookup client of the base, made from a copy of another version and the blocks that it
    /// lacks. `None` if the whole public part is to be fetched.
    async fn patch(
        &self,
        io: &Io,
        from: Origin<'_>,
        copy: CopiedPart,
        cache: &PublicCache<'_>,
        public_bytes: &mut u64,
    ) -> Result<Option<Lookup>> {
        // A kept version is stored even without copies, and must not be used as one.
        if self.settings.no_cache || !self.may_patch(from, &copy.version) {
            return Ok(None);
        }

        let patch = BlockPatch {
            service: from.service,
            name: from.name,
            version: &self.info.version,
            length: self.info.sizes.bundle,
            signed: self.accepted.map(|accepted| accepted.leaf.public_part),
        };
        let Some(bytes) = patch.apply(io, &copy.bytes, public_bytes).await? else {
            return Ok(None);
        };

        // A bundle that fails a check is fetched as a whole, whose check decides.
        let Ok(lookup) = self.check(&bytes) else {
            return Ok(None);
        };
        cache.keep(&self.info.version, &bytes).await;
        Ok(Some(lookup))
    }

    /// Returns true if the service may learn that this client has a copy of this version.
    fn may_patch(&self, from: Origin<'_>, version: &str) -> bool {
        match self.settings.patches {
            Patches::Always => true,
            Patches::Never => false,
            Patches::Auto => {
                // All clients have the public part that the owner signed, so that the blocks that a
                // copy lacks do not tell one client from another of the same version. A copy from
                // before the owner's pin may be one that the service gave to this client alone.
                let is_signed = self.accepted.is_some() && from.trust.pinned().is_some();
                (is_signed || from.holds(version)) && from.service.is_direct()
            }
        }
    }

    /// The session's previous client, if this is the same version; `None` otherwise. The client of
    /// a signed database is reused only if the owner's statement is the same.
    fn unchanged(&self, from: Origin<'_>) -> Option<Lookup> {
        let version = match &self.info.delta {
            Some(delta) => &delta.version,
            None => &self.info.version,
        };
        let held = from
            .held
            .filter(|held| held.version().to_string() == *version)?;

        // A version number is the service's word. Only the same leaf means that the owner signed
        // the same.
        let now = self.accepted.map(|accepted| &accepted.leaf);
        let before = from.trust.accepted.as_ref().map(|accepted| &accepted.leaf);
        (now == before).then(|| held.clone())
    }

    /// The session's previous client without its delta, if this is the same base; `None` otherwise.
    /// The client of a signed database is reused only if the owner's checkpoint names the same
    /// public part.
    fn held(&self, from: Origin<'_>) -> Option<Lookup> {
        let held = from
            .held
            .filter(|held| held.base_version().to_string() == self.info.version)?;

        // Of the base alone: another delta does not change it.
        let parts = [self.accepted, from.trust.accepted.as_ref()];
        let [now, before] =
            parts.map(|accepted| accepted.map(|one| (one.leaf.base, one.leaf.public_part)));
        (now == before).then(|| held.without_delta())
    }

    /// Adds the delta to the client of the base, if the description names a delta. `None` if the
    /// server has another version.
    async fn with_delta(
        &self,
        io: &Io,
        service: &Service,
        public: &str,
        base: Lookup,
        public_bytes: &mut u64,
    ) -> Result<Option<Lookup>> {
        let Some(DeltaInfo {
            version,
            public: length,
            ..
        }) = &self.info.delta
        else {
            // A signed leaf with a delta, and none here: the service left changes out.
            self.check_delta(None)?;
            return Ok(Some(base));
        };

        if base.root().is_some() && (self.accepted.is_none() || self.rooted) {
            // The server could put anything into it.
            let reason = "a delta beside a database whose root alone is known: expected none, since the root \
                          does not cover it";
            return Err(unexpected(self.url, reason.to_owned()));
        }

        self.settings.download_limit.check(self.url, *length)?;
        let path = path::of_version(public, version);
        let Some(bytes) = service.bytes_of(io, &path, version, *length).await? else {
            return Ok(None);
        };
        *public_bytes += bytes.len() as u64;
        // Before it is decoded: unsigned bytes reach no parser of a scheme.
        self.check_delta(Some(&bytes))?;

        let delta = DeltaPart::decode(&bytes)?;
        let client = build_client(&delta.bundle.scheme_public, self.settings)?;
        let lookup = base.with_delta(client, &delta)?;
        // Queries name this version. Under another one the service would refuse them, or link two
        // clients.
        if lookup.version().to_string() != *version {
            let reason = format!(
                "a delta of version {}: expected {version}",
                lookup.version()
            );
            return Err(unexpected(self.url, reason));
        }
        Ok(Some(lookup))
    }

    /// Checks the bytes of a delta's public part against the owner's checkpoint; `None` stands for
    /// a version without a delta.
    fn check_delta(&self, bytes: Option<&[u8]>) -> Result<()> {
        match self.accepted {
            Some(accepted) => accepted
                .leaf
                .check_delta(bytes)
                .map_err(|error| refused_checkpoint(self.url, error)),
            None => Ok(()),
        }
    }

    /// Checks the bytes of a fetched or stored public part, and builds its lookup client.
    fn check(&self, bytes: &[u8]) -> Result<Lookup> {
        let Self {
            url,
            info,
            accepted,
            settings,
            ..
        } = *self;
        if let Some(accepted) = accepted {
            accepted
                .leaf
                .check_public_part(bytes)
                .map_err(|error| refused_checkpoint(url, error))?;
        }

        // After the leaf: of a signed database, only what the owner signed is decoded.
        let lookup = build_lookup(bytes, settings)?;
        check_root(url, &lookup, settings)?;
        if lookup.version().to_string() != info.version {
            let reason = format!(
                "a public part of version {}: expected {}",
                lookup.version(),
                info.version
            );
            return Err(unexpected(url, reason));
        }

        if let Some(accepted) = accepted {
            check_leaf_root(url, &lookup, accepted)?;
        }
        Ok(lookup)
    }
}

/// The lookup client of a kept version, whose signature was verified when it was fetched. Sends
/// nothing. Fails if the version does not fit the settings, which may be others by now.
pub(crate) fn of_kept(
    service: &Service,
    settings: &Settings,
    info: &DatabaseInfo,
    bundle: &[u8],
) -> Result<Lookup> {
    settings.schemes.check_name(&info.scheme)?;
    let url = service.url(&path::public(&info.name));
    let part = PublicPart {
        url: &url,
        info,
        accepted: None,
        settings,
        rooted: settings.root.is_some(),
    };
    part.check(bundle)
}

/// Fetches the description and the checkpoint of the newest version, or the description of the
/// version `wanted`. If the service shows an older version than this client has seen, retries until
/// the deadline.
async fn newest(
    io: &Io,
    from: Origin<'_>,
    wanted: Option<Version>,
) -> Result<(DatabaseInfo, Verdict)> {
    let Origin {
        service,
        name,
        settings,
        trust,
        ..
    } = from;
    let start = service.platform.now();
    let mut path = path::database(name);
    if let Some(version) = wanted {
        // The version that a refusal named: the newest may have changed once more.
        path = path::of_version(&path, &version.to_string());
    }

    loop {
        let info: DatabaseInfo = service.json(io, &path).await?;
        match trust.verdict(io, service, name, &info, settings).await? {
            // A replica may lag behind the one that was asked before. A rollback does not pass with
            // time.
            Verdict::Behind(error) if !wait_for_newer(io, service, start, settings).await => {
                return Err(error);
            }
            Verdict::Behind(_) => {}
            verdict => return Ok((info, verdict)),
        }
    }
}

/// Refuses a database whose root differs from the root that its owner signed, or is missing
/// although the owner signed one.
fn check_leaf_root(url: &str, lookup: &Lookup, accepted: &Accepted) -> Result<()> {
    match accepted.leaf.base {
        Base::Root(root) if lookup.root() != Some(Root(root)) => {
            Err(pins::wrong_root(url, lookup.root(), Root(root)))
        }
        _ => Ok(()),
    }
}

/// Refuses a database whose root differs from the root in the settings, if there is one.
fn check_root(url: &str, lookup: &Lookup, settings: &Settings) -> Result<()> {
    match settings.root {
        Some(expected) if lookup.root() != Some(expected) => {
            Err(pins::wrong_root(url, lookup.root(), expected))
        }
        _ => Ok(()),
    }
}

/// Builds a lookup client from the bytes of a public part, which is a bundle.
fn build_lookup(bundle: &[u8], settings: &Settings) -> Result<Lookup> {
    let bundle = Bundle::decode(bundle)?;
    let client = build_client(&bundle.scheme_public, settings)?;
    let lookup = Lookup::new_verifying(client, bundle.keyword, bundle.commitment_top)?;
    Ok(lookup.stating_prefilter(bundle.prefilter))
}

/// Builds a scheme's client from the scheme's public part.
///
/// Checks that the scheme is private, after every fetch: a server must not be able to switch to a
/// scheme that reveals the query.
fn build_client(scheme_public: &[u8], settings: &Settings) -> Result<Box<dyn ErasedClient>> {
    // From the bytes, not from the description, which a service could write as it likes.
    let scheme = settings.schemes.by_id(scheme_of_public(scheme_public)?)?;

    match scheme.properties().privacy {
        Privacy::NotPrivate(reason) if !settings.allow_not_private => {
            Err(papir_core::Error::NotPrivate {
                scheme: scheme.name(),
                reason,
            }
            .into())
        }
        _ => {
            let terms = Terms {
                // The acknowledgement does not affect a private scheme.
                acknowledgement: Some(NotPrivate::acknowledged()),
                owner: settings.owner_key.clone(),
            };
            Ok(scheme.client_with(scheme_public, &terms)?)
        }
    }
}
