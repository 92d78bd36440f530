//! What every command takes that talks to a service.

use std::fs::File;
use std::io::Read;
use std::path::PathBuf;

use clap::Args;
use papir_client::{Options, Token};
use zeroize::Zeroizing;

use crate::failure::Failure;

/// The variable that holds a token where no file is named.
const TOKEN_VARIABLE: &str = "PAPIR_TOKEN";
/// Longest token file that is read, in bytes.
const LONGEST: u64 = 8192;

/// How to reach a service and who asks.
///
/// There is no option that takes a token itself: everybody on the machine can read the arguments of
/// a running program, and shells keep them.
#[derive(Args)]
pub(crate) struct Connecting {
    /// The database, where the service has several.
    #[arg(long, value_name = "NAME", global = true)]
    database: Option<String>,
    /// A file that holds the token that the service demands; else the variable PAPIR_TOKEN may hold it.
    #[arg(long, value_name = "FILE", global = true)]
    token_file: Option<PathBuf>,
    /// Root certificates, PEM: only they are trusted, not the public ones.
    #[arg(long, value_name = "FILE", global = true)]
    ca: Option<PathBuf>,
    /// Send the token even over plain HTTP to another machine, where all on the way can read it.
    #[arg(long, global = true)]
    insecure_http: bool,
}

impl Connecting {
    /// The database that was named.
    pub(crate) fn database(&self) -> Option<&str> {
        self.database.as_deref()
    }

    /// As the client takes it.
    ///
    /// # Errors
    /// One line for a token that cannot be read or is none.
    pub(crate) fn options(&self, allow_not_private: bool) -> Result<Options, Failure> {
        if allow_not_private {
            papir_research::register()?;
        }
        Ok(Options {
            database: self.database.clone(),
            allow_not_private,
            token: self.token()?,
            insecure_http: self.insecure_http,
            ca: self.ca.clone(),
            ..Options::default()
        })
    }

    fn token(&self) -> Result<Option<Token>, Failure> {
        let (text, source) = match &self.token_file {
            Some(path) => {
                let named = |error: std::io::Error| Failure::new(format!("{}: {error}", path.display()));
                // Whole from the start: growing would leave copies behind.
                let mut text = Zeroizing::new(String::with_capacity(LONGEST as usize));
                File::open(path).map_err(named)?.take(LONGEST).read_to_string(&mut text).map_err(named)?;
                (text, path.display().to_string())
            }
            None => match std::env::var(TOKEN_VARIABLE) {
                Ok(text) if !text.is_empty() => (Zeroizing::new(text), TOKEN_VARIABLE.to_owned()),
                Ok(_) | Err(std::env::VarError::NotPresent) => return Ok(None),
                Err(error) => return Err(Failure::new(format!("{TOKEN_VARIABLE}: {error}"))),
            },
        };
        Token::new(&text).map(Some).map_err(|error| Failure::new(format!("{source}: {error}")))
    }
}

/// A client's error as it is told: with the option that helps, where there is one.
pub(crate) fn explain(error: papir_client::Error) -> Failure {
    match error {
        papir_client::Error::Core(error @ papir_core::Error::NotPrivate { .. }) => {
            Failure::new(format!("nothing was asked: {error} (--allow-not-private)"))
        }
        papir_client::Error::Core(error @ papir_core::Error::OwnerKey { .. }) => {
            Failure::new(format!("nothing was asked: {error} (--owner-key)"))
        }
        error @ papir_client::Error::TokenInClear { .. } => {
            Failure::new(format!("nothing was asked: {error} (--insecure-http)"))
        }
        error @ papir_client::Error::Root { .. } => {
            Failure::new(format!("nothing was asked: {error} (--root accepts another, if its owner says so)"))
        }
        other => other.into(),
    }
}
