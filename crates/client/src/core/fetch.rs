//! The choice of a database, its description and its public part.

use papir_core::erased::{ErasedScheme, scheme_of_public};
use papir_core::{NotPrivate, Privacy};
use papir_lookup::{Bundle, Lookup};
use papir_protocol::{DatabaseInfo, DatabaseList, path};
use papir_schemes::registry;

use super::costs::Costs;
use super::pins;
use super::service::Service;
use super::settings::Settings;
use super::task::Io;
use crate::error::{Error, Result, unexpected};

/// How often description and public part are fetched while the database changes between the two.
const FETCH_TRIES: usize = 3;

/// One version of a database, as fetched.
pub(crate) struct Fetched {
    pub(crate) info: DatabaseInfo,
    pub(crate) lookup: Lookup,
}

/// The name of the database to use: the one in the settings, the one in the address, or the only
/// one.
pub(crate) async fn choose(io: &Io, service: &Service, settings: &Settings) -> Result<String> {
    let list: DatabaseList = service.json(io, path::DATABASES).await?;
    let known = names(&list);
    let url = service.url(path::DATABASES);
    match settings.database.clone().or_else(|| service.address.database.clone()) {
        Some(name) if list.databases.iter().any(|one| one.name == name) => Ok(name),
        Some(name) => Err(Error::NoSuchDatabase { url, name, known }),
        None => match <[_; 1]>::try_from(list.databases) {
            Ok([only]) => Ok(only.name),
            Err(_) => Err(Error::ChooseDatabase { url, known }),
        },
    }
}

/// The names in a list, for a message.
fn names(list: &DatabaseList) -> String {
    let quoted: Vec<_> = list.databases.iter().map(|one| format!("`{}`", one.name)).collect();
    if quoted.is_empty() { "none".to_owned() } else { quoted.join(", ") }
}

/// Fetches the description and the public part of the newest version.
pub(crate) async fn fetch(
    io: &Io,
    service: &Service,
    name: &str,
    settings: &Settings,
    costs: &mut Costs,
) -> Result<Fetched> {
    let start = service.platform.now();
    let fetched = fetch_both(io, service, name, settings, &mut costs.public_bytes).await;
    costs.fetch += service.platform.now().saturating_sub(start);
    fetched
}

async fn fetch_both(
    io: &Io,
    service: &Service,
    name: &str,
    settings: &Settings,
    public_bytes: &mut u64,
) -> Result<Fetched> {
    let public = path::public(name);
    let url = service.url(&public);
    for _ in 0..FETCH_TRIES {
        let info: DatabaseInfo = service.json(io, &path::database(name)).await?;
        // Replaced between the two requests: the description is of the old version.
        let Some(bytes) = service.bytes_of(io, &public, &info.version, info.sizes.bundle).await? else {
            continue;
        };
        *public_bytes += bytes.len() as u64;
        let lookup = start(&bytes, settings)?;
        check_root(&url, &lookup, settings)?;
        if lookup.version().to_string() != info.version {
            let reason = format!("a public part of version {}: expected {}", lookup.version(), info.version);
            return Err(unexpected(&url, reason));
        }
        return Ok(Fetched { info, lookup });
    }
    Err(unexpected(&url, format!("another version at each of {FETCH_TRIES} tries")))
}

/// Refuses a database without the trusted root, so that a server cannot change the records.
fn check_root(url: &str, lookup: &Lookup, settings: &Settings) -> Result<()> {
    match settings.root {
        Some(expected) if lookup.root() != Some(expected) => {
            Err(pins::wrong_root(url, lookup.root(), expected))
        }
        _ => Ok(()),
    }
}

/// The scheme with this number, from the registry or the settings.
fn scheme_of(id: u16, settings: &Settings) -> Result<&'static dyn ErasedScheme> {
    let more = settings.schemes.0.iter().find(|scheme| scheme.id() == id);
    Ok(more.map_or_else(|| registry::by_id(id), |scheme| Ok(*scheme))?)
}

/// A lookup client from a public part.
///
/// The scheme's privacy is checked after every fetch: a server must not be able to switch to a
/// scheme that shows it the query.
fn start(bundle: &[u8], settings: &Settings) -> Result<Lookup> {
    let bundle = Bundle::decode(bundle)?;
    let scheme = scheme_of(scheme_of_public(&bundle.scheme_public)?, settings)?;
    match scheme.privacy() {
        Privacy::NotPrivate(reason) if !settings.allow_not_private => {
            Err(papir_core::Error::NotPrivate { scheme: scheme.name(), reason }.into())
        }
        _ => {
            // Without effect on a private scheme.
            let scheme =
                scheme.allow_insecure(NotPrivate::acknowledged()).with_owner_key(settings.owner_key.as_ref());
            let client = scheme.client(&bundle.scheme_public)?;
            Ok(Lookup::new_verifying(client, bundle.keyword, bundle.commitment_top)?)
        }
    }
}
