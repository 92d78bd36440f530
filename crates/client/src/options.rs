//! How a connection is made, and what it demands.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use papir_core::erased::ErasedScheme;
use papir_core::{NoProgress, OwnerKey, Progress};
use papir_lookup::Root;
use zeroize::Zeroizing;

use crate::{Error, Passphrase, Result};

/// What a client asks of a connection. Every field has a default.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The database; the one that the address names, or the only one, where `None`.
    pub database: Option<String>,
    /// Also schemes that show the server what is asked.
    pub allow_not_private: bool,
    /// The root that the database must have: with it, every record must prove that the root holds it.
    pub root: Option<Root>,
    /// Pins the root of a verifiable database in the directory of client state when it is first used: from
    /// then on the database must have it. A `root` given is pinned in its place.
    pub pin: bool,
    /// What the service knows this client by; nothing is told where `None`.
    pub token: Option<Token>,
    /// Sends the token even where everybody on the way can read it: over plain HTTP to another machine.
    pub insecure_http: bool,
    /// PEM file of root certificates. Where it is given, only they are trusted: not the public ones.
    pub ca: Option<PathBuf>,
    /// The directory in which registered clients keep their state; that of
    /// [`crate::default_state_directory`] where `None`. Not touched by schemes that keep none.
    pub state: Option<PathBuf>,
    /// What protects the state on disk; nothing but the files' rights where `None`.
    pub passphrase: Option<Passphrase>,
    /// The key of the database's owner, with which a client of an encrypted database registers; not needed
    /// once its state is kept. Databases that are not encrypted, or under another key, are refused.
    pub owner_key: Option<OwnerKey>,
    /// Schemes besides those of the registry.
    pub schemes: MoreSchemes,
    /// Who is told of long work on this side: decrypting masks takes ZipPIR seconds a query.
    pub watcher: Watcher,
}

/// Somebody who is told how far long work is; nobody by default.
#[derive(Clone)]
pub struct Watcher(Arc<dyn Progress + Send + Sync>);

impl Watcher {
    /// Tells this one.
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

/// A bearer token. Wiped when dropped, and never printed.
///
/// What the HTTP library copies of it while it sends is not wiped.
#[derive(Clone, PartialEq, Eq)]
pub struct Token(Zeroizing<String>);

impl Token {
    /// A token from its text, white space around it left out.
    ///
    /// # Errors
    /// [`Error::BadToken`] for a text that cannot stand in a header.
    pub fn new(text: &str) -> Result<Self> {
        let text = text.trim();
        let fits = !text.is_empty() && text.len() <= 4096 && text.bytes().all(|byte| byte.is_ascii_graphic());
        if fits { Ok(Self(Zeroizing::new(text.to_owned()))) } else { Err(Error::BadToken) }
    }

    /// What stands in `Authorization`.
    pub(crate) fn bearer(&self) -> Zeroizing<String> {
        Zeroizing::new(format!("Bearer {}", *self.0))
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

impl Options {
    /// Options for the database of this name, everything else by default.
    pub fn of_database(database: Option<&str>) -> Self {
        Self { database: database.map(str::to_owned), ..Self::default() }
    }
}

/// Schemes that are not in the registry, as tests and experiments have them.
#[derive(Clone, Default)]
pub struct MoreSchemes(pub Vec<&'static dyn ErasedScheme>);

impl fmt::Debug for MoreSchemes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.iter().map(|scheme| scheme.name())).finish()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_not_printed() {
        let options = Options { token: Some(Token::new(" secret\n").unwrap()), ..Options::default() };
        assert!(!format!("{options:?}").contains("secret"));
        assert_eq!(*options.token.unwrap().bearer(), "Bearer secret");
        for text in ["", " \n", "two words", "line\nbreak", "ümlaut", &"x".repeat(5000)] {
            assert!(matches!(Token::new(text), Err(Error::BadToken)), "{text}");
        }
    }
}
