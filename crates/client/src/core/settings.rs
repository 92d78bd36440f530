//! Settings of a session.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use papir_checkpoint::VerifyingKey;
use papir_core::erased::{ErasedClientScheme, ErasedScheme};
use papir_core::{NoProgress, OwnerKey, Progress};
use papir_lookup::Root;
use papir_schemes::registry;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Settings of a session with a database.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The database's name; `None` for the one in the address, else the service's only one.
    pub database: Option<String>,
    /// Allows schemes that reveal to the server which record is read.
    pub allow_not_private: bool,
    /// The trusted root. The database must have it, and every record is verified against it.
    pub root: Option<Root>,
    /// Kept from the first use of a database, and compared from then on.
    pub pin: Pin,
    /// The owner's key of an encrypted database.
    pub owner_key: Option<OwnerKey>,
    /// Requirements on the owner's signed checkpoints.
    pub checkpoint: CheckpointSettings,
    /// Stores no copy of the public part, and uses none.
    pub no_cache: bool,
    /// Limits after which a registered client replaces its keys.
    pub rotation: Rotation,
    /// Maximum age of a version, for databases with frequent changes.
    pub freshness: Freshness,
    /// Longest download of a public part or of the filter of a set.
    pub download_limit: DownloadLimit,
    /// The schemes whose databases this session may use.
    pub schemes: Schemes,
    /// Receives the progress of long work on the client.
    pub watcher: Watcher,
}

/// The trust in a database that a client keeps from its first use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// None. Nothing is stored, and pins of other sessions are neither read nor changed. A given
    /// key then counts as if no rotation of it had been seen.
    Nothing,
    /// The owner's key of a signed database, and the highest sequence seen. Updates and rotations
    /// keep it valid.
    #[default]
    Owner,
    /// Also the root of a verifiable database. If the database is not signed, every update is
    /// refused until the caller gives the new root.
    OwnerAndRoot,
}

/// Limits after which a registered client replaces its keys. It registers anew before its next
/// lookup. If the service refuses, it keeps the old keys, and tries again after a sixteenth of
/// these limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Number of queries under one registration.
    pub queries: u64,
    /// Age of a registration.
    pub age: Duration,
}

impl Default for Rotation {
    /// 65,536 queries and 30 days.
    fn default() -> Self {
        Self {
            queries: 1 << 16,
            age: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// Maximum age of a session's version before a lookup asks for a newer one. It applies to sessions
/// that have seen changes beside a base (`papir update --delta`, `papir follow`). Other sessions
/// stay at their version until the service refuses it. If the service cannot be asked, the session
/// keeps its version.
///
/// The requests depend on the time and on the service alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness(pub Duration);

impl Default for Freshness {
    /// Ten seconds.
    fn default() -> Self {
        Self(Duration::from_secs(10))
    }
}

/// Longest download whose length the service chooses, in bytes: of a public part, a delta or the
/// filter of a set. A longer one is refused before it is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadLimit(pub u64);

impl Default for DownloadLimit {
    /// 1 GiB.
    fn default() -> Self {
        Self(1 << 30)
    }
}

impl DownloadLimit {
    /// Checks the length that a service states of what is at `url`.
    pub(crate) fn check(self, url: &str, length: u64) -> Result<()> {
        let Self(limit) = self;
        if length <= limit {
            return Ok(());
        }
        Err(Error::TooLarge {
            url: url.to_owned(),
            length,
            limit,
        })
    }
}

/// Requirements on the signed checkpoints of a database's owner. With a key, an age or a number of
/// cosignatures, a database that is not signed is refused.
#[derive(Clone, Debug, Default)]
pub struct CheckpointSettings {
    /// The owner's public key. The database must be signed under it, or under a key to which its
    /// owner's rotations lead. If a key is pinned, the given one must be the key that was trusted
    /// first, the newest key, or one that the shown rotations connect with it. `None` trusts the
    /// pinned key, or the key of the first checkpoint.
    pub owner: Option<VerifyingKey>,
    /// Maximum age of a checkpoint, whenever one is fetched and at every lookup; `None` accepts
    /// any.
    pub max_age: Option<Duration>,
    /// Public keys of known witnesses, whose cosignatures are verified and counted.
    pub witnesses: Vec<VerifyingKey>,
    /// Minimum number of known witnesses that must have cosigned.
    pub cosignatures: usize,
    /// Time for retries if the service shows an older version than this client has seen; `None` for
    /// 30 seconds.
    pub catch_up: Option<Duration>,
}

impl CheckpointSettings {
    /// Returns whether a database without a checkpoint is refused.
    pub(crate) fn is_required(&self) -> bool {
        self.owner.is_some() || self.max_age.is_some() || self.cosignatures > 0
    }
}

/// Receives the progress of long work. By default it discards all reports.
#[derive(Clone)]
pub struct Watcher(Arc<dyn Progress + Send + Sync>);

impl Watcher {
    /// Reports to `progress`.
    pub fn new(progress: impl Progress + Send + 'static) -> Self {
        Self(Arc::new(progress))
    }

    pub(crate) fn progress(&self) -> &dyn Progress {
        &*self.0
    }
}

impl Default for Watcher {
    fn default() -> Self {
        Self::new(NoProgress)
    }
}

impl fmt::Debug for Watcher {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watcher")
    }
}

/// A bearer token. It is wiped when dropped and never printed.
///
/// Copies that the HTTP library makes while it sends the token are not wiped.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Zeroizing<String>);

impl Token {
    /// A token from its text. Surrounding white space is removed.
    ///
    /// # Errors
    /// [`Error::BadToken`] for text that is not valid in a header.
    pub fn new(text: &str) -> Result<Self> {
        // Files of tokens end with a line break, and it is not valid in a header.
        let text = text.trim();
        let fits = !text.is_empty()
            // What servers and proxies accept in one header, and far more than a token has.
            && text.len() <= 4096
            && text.bytes().all(|byte| byte.is_ascii_graphic());

        if fits {
            Ok(Self(Zeroizing::new(text.to_owned())))
        } else {
            Err(Error::BadToken)
        }
    }

    /// The value of the header `Authorization`.
    pub(crate) fn bearer(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("Bearer {}", *self.0))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// The schemes whose databases a session may use.
#[derive(Clone)]
pub struct Schemes {
    listed: Vec<&'static dyn ErasedClientScheme>,
    registered: Option<Registered>,
}

/// The registry's schemes, by number and by name.
#[derive(Clone, Copy)]
struct Registered {
    by_id: fn(u16) -> papir_core::Result<&'static dyn ErasedScheme>,
    by_name: fn(&str) -> papir_core::Result<&'static dyn ErasedScheme>,
}

impl Schemes {
    /// The listed schemes alone. A program that names its schemes contains no other.
    pub fn only(listed: Vec<&'static dyn ErasedClientScheme>) -> Self {
        Self {
            listed,
            registered: None,
        }
    }

    /// The listed schemes, and the registry's schemes that have other numbers.
    pub fn and(listed: Vec<&'static dyn ErasedClientScheme>) -> Self {
        Self {
            listed,
            registered: Some(Registered {
                by_id: registry::by_id,
                by_name: registry::by_name,
            }),
        }
    }

    /// The scheme with this number.
    pub(crate) fn by_id(&self, id: u16) -> papir_core::Result<&'static dyn ErasedClientScheme> {
        // The application's own come first: they may replace one of the registry.
        if let Some(scheme) = self
            .listed
            .iter()
            .find(|scheme| scheme.properties().id == id)
        {
            return Ok(*scheme);
        }

        match self.registered {
            Some(registered) => Ok((registered.by_id)(id)?),
            None => Err(self.unknown(format!("number {id}"))),
        }
    }

    /// Checks that there is a scheme of this name.
    pub(crate) fn check_name(&self, name: &str) -> papir_core::Result<()> {
        if self.listed.iter().any(|scheme| scheme.name() == name) {
            return Ok(());
        }

        match self.registered {
            Some(registered) => (registered.by_name)(name).map(drop),
            None => Err(self.unknown(name.to_owned())),
        }
    }

    fn unknown(&self, found: String) -> papir_core::Error {
        papir_core::Error::UnknownScheme {
            found,
            expected: self.names().join(", "),
        }
    }

    fn names(&self) -> Vec<&'static str> {
        self.listed.iter().map(|scheme| scheme.name()).collect()
    }
}

impl Default for Schemes {
    /// All in the registry.
    fn default() -> Self {
        Self::and(Vec::new())
    }
}

impl fmt::Debug for Schemes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_printed() {
        let token = Token::new(" secret\n").unwrap();
        assert!(!format!("{token:?}").contains("secret"));
        assert_eq!(*token.bearer(), "Bearer secret");

        for text in [
            "",
            " \n",
            "two words",
            "line\nbreak",
            "ümlaut",
            &"x".repeat(5000),
        ] {
            assert!(matches!(Token::new(text), Err(Error::BadToken)), "{text}");
        }
    }
}
