//! Requests to the storage: pins, copies of public parts, kept versions, and tokens. Registered
//! clients have no place there.

use std::io;

use papir_client::core::{PinnedOwner, SavedTokens, SavedVersion, StoreAction, StoreLock, Stored};
use papir_client::{Error, Result};
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

use crate::event::{Body, Reply};
use crate::host::Unlock;
use crate::schemes::NO_REGISTRATION;

/// Longest kept version that is read, in bytes: no longer one is written.
const MAX_VERSION: u64 = 48 << 20;

/// The head of the storage's reply.
#[derive(Deserialize)]
struct Head {
    /// Set if the storage failed.
    failure: Option<String>,
    /// Set if there is an entry; the body has its bytes.
    #[serde(default)]
    found: bool,
    /// The lock's number.
    #[serde(default)]
    lock: u32,
}

/// The message for JavaScript; `None` for the state of registered clients.
pub(crate) fn message(slot: &str, action: &StoreAction) -> Option<(Value, Body)> {
    let (mut head, body) = match action {
        StoreAction::Lock => (json!({ "action": "lock" }), Body::None),
        StoreAction::HasRoot | StoreAction::Root => (read("root", None), Body::None),
        StoreAction::Pin(root) => (write("root"), text(root.to_string())),
        StoreAction::Owner => (read("owner", None), Body::None),
        StoreAction::KeepOwner(owner) => (write("owner"), text(owner.encode())),
        StoreAction::Name => (read("name", None), Body::None),
        StoreAction::KeepName(name) => (write("name"), text(name.clone())),
        StoreAction::Filter(limit) => (read("filter", Some(*limit)), Body::None),
        StoreAction::KeepFilter(bytes) => (write("filter"), Body::Own(bytes.clone().into())),
        StoreAction::PublicPart(limit) => (read("public", Some(*limit)), Body::None),
        StoreAction::KeepPublicPart(bytes) => (write("public"), Body::Own(bytes.clone().into())),
        StoreAction::Version => (read("version", Some(MAX_VERSION)), Body::None),
        StoreAction::KeepVersion(version) => (write("version"), Body::Own(version.0.clone())),
        StoreAction::Tokens => (read("tokens", None), Body::None),
        StoreAction::KeepTokens(tokens) => (write("tokens"), Body::Own(tokens.0.clone())),
        StoreAction::Read
        | StoreAction::Write(_)
        | StoreAction::Forget
        | StoreAction::KeepKeys(_)
        | StoreAction::Keys(_)
        | StoreAction::DropKeys => return None,
    };

    head["kind"] = "store".into();
    head["slot"] = slot.into();
    Some((head, body))
}

/// The message to read an entry, of at most `limit` bytes.
fn read(entry: &str, limit: Option<u64>) -> Value {
    json!({ "action": "read", "entry": entry, "limit": limit })
}

/// The message to write an entry.
fn write(entry: &str) -> Value {
    json!({ "action": "write", "entry": entry })
}

/// The bytes of a text.
fn text(text: String) -> Body {
    Body::Own(Zeroizing::new(text.into_bytes()))
}

/// The storage's reply to an action.
pub(crate) fn stored(action: &StoreAction, reply: Reply) -> Result<Stored> {
    let Reply { head, body } = reply;
    let head: Head = serde_json::from_slice(&head).map_err(|error| failed(error.to_string()))?;
    if let Some(failure) = head.failure {
        return Err(failed(failure));
    }

    Ok(match action {
        StoreAction::Lock => Stored::Locked(StoreLock::new(Unlock(head.lock))),
        StoreAction::HasRoot => Stored::Found(head.found),
        StoreAction::Root if head.found => {
            Stored::Root(Some(String::from_utf8_lossy(&body).parse()?))
        }
        StoreAction::Root => Stored::Root(None),
        StoreAction::Owner if head.found => Stored::Owner(Some(PinnedOwner::decode(&body)?)),
        StoreAction::Owner => Stored::Owner(None),
        StoreAction::Name | StoreAction::Filter(_) | StoreAction::PublicPart(_) => {
            Stored::Bytes(head.found.then(|| body.to_vec()))
        }
        StoreAction::Version => Stored::Version(head.found.then(|| SavedVersion(body))),
        StoreAction::Tokens => Stored::Tokens(head.found.then(|| SavedTokens(body))),
        _ => Stored::Done,
    })
}

/// The error for the state of a registered client.
pub(crate) fn refused() -> Error {
    failed(NO_REGISTRATION.to_owned())
}

fn failed(reason: String) -> Error {
    papir_core::Error::Io {
        what: "the client's storage".to_owned(),
        source: io::Error::other(reason),
    }
    .into()
}
