//! Settings of a session.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use papir_checkpoint::VerifyingKey;
use papir_core::erased::ErasedClientScheme;
use papir_core::{NoProgress, OwnerKey, Progress};
use papir_lookup::Root;
// The audit core has the same functions for fewer schemes.
#[cfg(not(feature = "all-schemes"))]
use papir_schemes::audit_core as registry;
#[cfg(feature = "all-schemes")]
use papir_schemes::registry;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Settings of a session with a database.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// The database's name; `None` for the name in the address, else that of the service's only
    /// database.
    pub database: Option<String>,
    /// Allows schemes that reveal to the server which record is read.
    pub allow_not_private: bool,
    /// The trusted root. The database must have it, and every record is verified against it.
    pub root: Option<Root>,
    /// The trust in a database that the client keeps from its first use.
    pub pin: Pin,
    /// The owner's key of an encrypted database.
    pub owner_key: Option<OwnerKey>,
    /// Requirements on the owner's signed checkpoints.
    pub checkpoint: CheckpointSettings,
    /// Disables stored copies of the public part and of the filter of keys.
    pub no_cache: bool,
    /// The use of a version that the client keeps.
    pub known: KnownVersion,
    /// Chooses when a stored copy of an earlier public part is updated by blocks.
    pub patches: Patches,
    /// The use of the filter of a database's keys, if it has one.
    pub prefilter: PrefilterUse,
    /// Refuses lookups outside a schedule.
    pub hide_times: bool,
    /// Limits after which a registered client replaces its keys.
    pub rotation: Rotation,
    /// Maximum age of a version, for databases with frequent changes.
    pub freshness: Freshness,
    /// Longest accepted public part, delta or filter of a set.
    pub download_limit: DownloadLimit,
    /// The schemes whose databases this session may use.
    pub schemes: Schemes,
    /// Receives the progress of long computations of the client.
    pub watcher: Watcher,
}

/// The trust in a database that a client keeps from its first use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pin {
    /// No pin. The session stores no pins, and neither reads nor changes pins of other sessions. It
    /// treats a given key as if it had seen no rotation of the key.
    Nothing,
    /// The owner's key of a signed database, and the highest sequence that the client has seen. It
    /// stays valid through updates and rotations.
    #[default]
    Owner,
    /// The owner's key as above, and the root of a verifiable database. If the database is not
    /// signed, every update is refused until the caller gives the new root.
    OwnerAndRoot,
}

/// The use of a version of the database that a client keeps: its public part and description.
///
/// A kept version was verified when it was fetched. A session that begins with it does not learn of
/// a newer one until the service refuses the old one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum KnownVersion {
    /// Each session asks the service for the newest version. None is kept.
    #[default]
    Ask,
    /// A session begins with the kept version, without a request. Without a kept version it fetches
    /// the newest one, and keeps it.
    Use,
    /// A session fetches the newest version, and keeps it in place of an earlier one. Lookups that
    /// wait for answers from the earlier one are dropped, once: if the version changes during the
    /// session, lookups that wait then keep theirs, as under [`KnownVersion::Use`].
    Renew,
}

impl FromStr for KnownVersion {
    type Err = Error;

    /// Parses `ask`, `use` or `renew`.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "ask" => Ok(Self::Ask),
            "use" => Ok(Self::Use),
            "renew" => Ok(Self::Renew),
            _ => {
                let found = format!("`{text}`");
                let expected = "ask, use or renew";
                Err(papir_core::Error::malformed("the use of a version", found, expected).into())
            }
        }
    }
}

impl KnownVersion {
    /// The use of kept versions in a session that has kept its first version.
    pub(super) fn after_first_version(self) -> Self {
        match self {
            Self::Ask => Self::Ask,
            Self::Use | Self::Renew => Self::Use,
        }
    }
}

/// The use of the filter of a database's keys. Owners add one with `papir build --prefilter`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrefilterUse {
    /// Fetches the filter once per version, and sends nothing for keys that it excludes. The
    /// service then learns of each lookup that it sees that its key is probably present. A schedule
    /// looks up excluded keys, too, so that its requests stay the same. A client that trusts a root
    /// alone does not use the filter, which the root does not cover. Nor does one that keeps
    /// versions ([`KnownVersion`]): an old filter would hide keys of newer versions.
    #[default]
    Use,
    /// Looks up every key, and does not fetch the filter.
    Ignore,
}

/// Limits after which a registered client replaces its keys. It registers anew before its next
/// lookup. If the service refuses, it keeps the old keys, and tries again after a further sixteenth
/// of these limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Maximum number of queries under one registration.
    pub queries: u64,
    /// Maximum age of a registration.
    pub age: Duration,
}

impl Default for Rotation {
    /// The default limits: 65,536 queries and 30 days.
    fn default() -> Self {
        Self {
            queries: 1 << 16,
            age: Duration::from_secs(30 * 24 * 3600),
        }
    }
}

/// The choice between patches of stored public parts and whole ones.
///
/// A patch fetches the blocks of the new version that the copy lacks. They tell the service which
/// version the copy has, and so when this client came last. A service whose database is not signed
/// could even give each client a public part of its own, and recognise it by the blocks that it
/// lacks. This holds for a copy from before the database was signed, too.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Patches {
    /// Patches through no relay, and only if the database is signed and its owner was pinned
    /// before, or if the session has fetched the version of the copy, so that the service knows it.
    #[default]
    Auto,
    /// Patches every copy, also through a relay.
    Always,
    /// Fetches whole public parts.
    Never,
}

impl FromStr for Patches {
    type Err = Error;

    /// Parses `auto`, `always` or `never`.
    fn from_str(text: &str) -> Result<Self> {
        match text {
            "auto" => Ok(Self::Auto),
            "always" => Ok(Self::Always),
            "never" => Ok(Self::Never),
            _ => {
                let found = format!("`{text}`");
                let expected = "auto, always or never";
                Err(papir_core::Error::malformed("the choice of patches", found, expected).into())
            }
        }
    }
}

/// Maximum age of a session's version before a lookup requests a newer one. It applies to sessions
/// that have seen a delta (`papir update --delta`, `papir follow`). Other sessions stay at their
/// version until the service refuses it. If the request fails, the session keeps its version.
///
/// The requests depend only on the time and on the service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Freshness(pub Duration);

impl Default for Freshness {
    /// The default age: ten seconds.
    fn default() -> Self {
        Self(Duration::from_secs(10))
    }
}

/// Longest accepted download in bytes of a public part, a delta or the filter of a set, whose
/// lengths the service chooses. The client refuses a longer one before it fetches it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DownloadLimit(pub u64);

impl Default for DownloadLimit {
    /// The default limit: 1 GiB.
    fn default() -> Self {
        Self(1 << 30)
    }
}

impl DownloadLimit {
    /// Checks the length in bytes that a service states for the download at `url`.
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

/// Requirements on the signed checkpoints of a database's owner. A key, a maximum age, a sequence
/// or a number of cosignatures implies that a database that is not signed is refused.
#[derive(Clone, Debug, Default)]
pub struct CheckpointSettings {
    /// The owner's public key. The database must be signed under it, or under a later key to which
    /// its owner's rotations lead. If a key is pinned, the given one must be the first pinned key,
    /// the newest one, or a key that the rotations in the proof connect with the newest one. `None`
    /// trusts the pinned key, or the key of the first checkpoint.
    pub owner: Option<VerifyingKey>,
    /// Maximum age of a checkpoint, both when it is fetched and at every lookup; `None` accepts any
    /// age.
    pub max_age: Option<Duration>,
    /// Lowest accepted sequence of a version; `None` accepts any. Sequences start at 0.
    pub sequence: Option<u64>,
    /// Public keys of known witnesses, whose cosignatures are verified and counted.
    pub witnesses: Vec<VerifyingKey>,
    /// Minimum number of known witnesses that must have cosigned.
    pub cosignatures: usize,
    /// Time for retries if the service shows an older version than this client has seen, or than
    /// `sequence`; `None` stands for 30 seconds.
    pub catch_up: Option<Duration>,
}

impl CheckpointSettings {
    /// Returns true if a database without a checkpoint is refused.
    pub(crate) fn is_required(&self) -> bool {
        self.owner.is_some()
            || self.max_age.is_some()
            || self.sequence.is_some()
            || self.cosignatures > 0
    }
}

/// A receiver of progress reports. The default discards them.
#[derive(Clone)]
pub struct Watcher(Arc<dyn Progress + Send + Sync>);

impl Watcher {
    /// A watcher that passes all reports to `progress`.
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

/// A bearer token, wiped when dropped and never printed.
///
/// Copies that the HTTP library makes while it sends the token are not wiped.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Zeroizing<String>);

impl Token {
    /// Makes a token from its text. Removes surrounding white space.
    ///
    /// # Errors
    /// [`Error::BadToken`] for a text that is empty, longer than 4096 bytes, or has white space or
    /// other characters that are not printable ASCII.
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

    /// The value of the header `Authorization` with this token.
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
    registered: Option<SchemeRegistry>,
}

/// Functions that find a scheme of this build by number, and check its name.
#[derive(Clone, Copy)]
struct SchemeRegistry {
    by_id: fn(u16) -> papir_core::Result<&'static dyn ErasedClientScheme>,
    check_name: fn(&str) -> papir_core::Result<()>,
}

/// The client of the registered scheme with this number.
fn registered_by_id(id: u16) -> papir_core::Result<&'static dyn ErasedClientScheme> {
    let scheme = registry::by_id(id)?;
    Ok(scheme)
}

/// Checks that a scheme with this name is registered.
fn check_registered(name: &str) -> papir_core::Result<()> {
    registry::by_name(name).map(drop)
}

impl Schemes {
    /// Allows only the listed schemes. A program that uses only this constructor is linked without
    /// other schemes.
    pub fn only(listed: Vec<&'static dyn ErasedClientScheme>) -> Self {
        Self {
            listed,
            registered: None,
        }
    }

    /// Allows the listed schemes, and the registry's schemes with other numbers. Without the
    /// feature `all-schemes`, the latter are `inspire`, `inspire1` and `simple`.
    pub fn and(listed: Vec<&'static dyn ErasedClientScheme>) -> Self {
        Self {
            listed,
            registered: Some(SchemeRegistry {
                by_id: registered_by_id,
                check_name: check_registered,
            }),
        }
    }

    /// The allowed scheme with this number.
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
            Some(registered) => (registered.by_id)(id),
            None => Err(self.unknown(format!("number {id}"))),
        }
    }

    /// Checks that a scheme with this name is allowed.
    pub(crate) fn check_name(&self, name: &str) -> papir_core::Result<()> {
        if self.listed.iter().any(|scheme| scheme.name() == name) {
            return Ok(());
        }

        match self.registered {
            Some(registered) => (registered.check_name)(name),
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
    /// All schemes of the registry; without the feature `all-schemes`, those of [`Schemes::and`].
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
    fn patches_are_chosen_by_name() {
        for (text, expected) in [
            ("auto", Patches::Auto),
            ("always", Patches::Always),
            ("never", Patches::Never),
        ] {
            assert_eq!(text.parse::<Patches>().unwrap(), expected);
        }
        assert_eq!(Patches::default(), Patches::Auto);

        let refused = "yes".parse::<Patches>().unwrap_err().to_string();
        assert!(refused.contains("`yes`"), "{refused}");
    }

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
