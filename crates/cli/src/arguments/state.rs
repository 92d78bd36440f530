//! Options for the state of clients.

use std::fs;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use papir_client::{Options, Passphrase, Patches};

use crate::arguments::owner_key;
use crate::failure::Failure;

/// The environment variable that holds the passphrase if no file is given.
const VARIABLE: &str = "PAPIR_PASSPHRASE";

/// Options of commands whose clients keep state.
#[derive(Args)]
pub(crate) struct StateArguments {
    /// Directory for the state of registered clients [default: $XDG_DATA_HOME/papir or
    /// ~/.local/share/papir]. Schemes without client keys keep no state.
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
    /// Store no copy of the public part, and use none. By default it is kept in the same directory,
    /// and downloaded again only when the database changes.
    #[arg(long)]
    no_cache: bool,
    /// When a copy of an earlier public part is brought up to date by the blocks that have changed,
    /// in place of a whole download. The service then learns which version the copy has.
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    patches: PatchesArgument,
    /// A file whose first line is the passphrase that protects the state; overrides the variable
    /// PAPIR_PASSPHRASE. Without a passphrase, the state is protected only by file permissions.
    #[arg(long, value_name = "FILE")]
    passphrase_file: Option<PathBuf>,
    /// The key file of an encrypted database (papir build --encrypt), needed for the first lookup.
    /// Afterwards the state is sufficient.
    #[arg(long, value_name = "KEYFILE")]
    decrypt: Option<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum PatchesArgument {
    /// Without a relay, if the owner of a signed database was pinned before, or if the session has
    /// fetched the copy's version.
    Auto,
    /// For every copy, also through a relay.
    Always,
    /// For none.
    Never,
}

impl From<PatchesArgument> for Patches {
    fn from(argument: PatchesArgument) -> Self {
        match argument {
            PatchesArgument::Auto => Self::Auto,
            PatchesArgument::Always => Self::Always,
            PatchesArgument::Never => Self::Never,
        }
    }
}

impl StateArguments {
    /// Adds these settings to `options`.
    pub(crate) fn add_to(&self, options: Options) -> Result<Options, Failure> {
        let owner_key = owner_key::read(self.decrypt.as_deref())?;
        let passphrase = self.passphrase()?;

        Ok(Options {
            state: self.state.clone(),
            no_cache: self.no_cache,
            patches: self.patches.into(),
            passphrase,
            owner_key,
            ..options
        })
    }

    /// The passphrase of the file or, without a file, of the environment.
    fn passphrase(&self) -> Result<Option<Passphrase>, Failure> {
        let Some(path) = &self.passphrase_file else {
            let text = std::env::var_os(VARIABLE).filter(|text| !text.is_empty());
            return Ok(text.map(|text| Passphrase::new(text.as_encoded_bytes())));
        };

        let text = fs::read(path).map_err(|error| Failure::at(path, error))?;
        // The first line, since editors end files with a line break, which nobody types as a
        // passphrase.
        let line = text.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // An empty passphrase would encrypt under nothing, and look as if it protected.
        if line.is_empty() {
            return Err(Failure::at(
                path,
                "the first line is empty: expected a passphrase",
            ));
        }

        Ok(Some(Passphrase::new(line)))
    }
}
