//! Lists of the servers of one database.

use super::address::Address;
use super::settings::{Pin, Settings};
use crate::error::{Error, Result};

/// Maximum number of servers of a connection.
const MAX_SERVERS: usize = 16;

/// Checks that the servers at these addresses can be used together under these settings. Returns
/// the settings of a session with any of them: the database that one address names is that of all.
///
/// # Errors
/// [`Error::Servers`] for a list that is empty, too long, or has an address twice or addresses of
/// different databases, and for settings that give no reason to trust a server.
pub fn check_servers(addresses: &[Address], settings: Settings) -> Result<Settings> {
    let settings = check_addresses(addresses, settings)?;
    check_trust(&settings)?;
    Ok(settings)
}

/// Like [`check_servers`], for servers of a set, which need not be signed.
pub(crate) fn check_addresses(addresses: &[Address], settings: Settings) -> Result<Settings> {
    check_number(addresses.len())?;
    check_distinct(addresses)?;

    let database = match settings.database {
        Some(name) => Some(name),
        None => common_database(addresses)?,
    };
    Ok(Settings {
        database,
        ..settings
    })
}

/// Checks the number of addresses.
fn check_number(number: usize) -> Result<()> {
    if (1..=MAX_SERVERS).contains(&number) {
        return Ok(());
    }
    Err(refused(format!(
        "{number} addresses: expected 1 to {MAX_SERVERS}"
    )))
}

/// Checks that something decides which server is believed. Each could otherwise answer for all of
/// them with data of its own.
fn check_trust(settings: &Settings) -> Result<()> {
    let is_known = settings.root.is_some() || settings.checkpoint.owner.is_some();
    if is_known || settings.pin != Pin::Nothing {
        return Ok(());
    }
    Err(refused(
        "neither an owner's key nor a root is given, and nothing is pinned: expected one of them"
            .to_owned(),
    ))
}

/// Checks that no address occurs twice.
fn check_distinct(addresses: &[Address]) -> Result<()> {
    for (number, address) in addresses.iter().enumerate() {
        let url = address.shown();
        if addresses[..number].iter().any(|one| one.shown() == url) {
            return Err(refused(format!("{url} is given twice: expected it once")));
        }
    }
    Ok(())
}

/// The name of the database in the addresses; `None` if none of them names one.
fn common_database(addresses: &[Address]) -> Result<Option<String>> {
    let mut names = addresses.iter().filter_map(|one| one.database.as_ref());
    let Some(first) = names.next() else {
        return Ok(None);
    };

    match names.find(|name| *name != first) {
        Some(other) => Err(refused(format!(
            "an address names the database `{other}`: expected `{first}`, as before"
        ))),
        None => Ok(Some(first.clone())),
    }
}

fn refused(reason: String) -> Error {
    Error::Servers { reason }
}
