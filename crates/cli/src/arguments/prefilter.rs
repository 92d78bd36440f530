//! Option for the filter of a database's keys.

use clap::{Args, ValueEnum};
use papir_client::{Options, PrefilterUse};

/// The option of commands that look keys up.
#[derive(Args)]
pub(crate) struct PrefilterArguments {
    /// Use or ignore the filter of the keys, if the database was built with one (papir build
    /// --prefilter): `use` sends nothing for keys that the filter excludes, and tells the service
    /// of each lookup that its key is probably present; `ignore` looks every key up, and so does
    /// papir get --known, with which an old filter would hide new keys [default: use; papir load:
    /// ignore].
    #[arg(long, value_name = "use|ignore", hide_possible_values = true)]
    prefilter: Option<Choice>,
}

/// The values of the option.
#[derive(Clone, Copy, ValueEnum)]
enum Choice {
    /// Sends nothing for excluded keys.
    Use,
    /// Looks every key up.
    Ignore,
}

impl PrefilterArguments {
    /// Adds the choice to `options`, or the default.
    pub(crate) fn add_to(&self, options: Options, default: PrefilterUse) -> Options {
        let prefilter = match self.prefilter {
            Some(Choice::Use) => PrefilterUse::Use,
            Some(Choice::Ignore) => PrefilterUse::Ignore,
            None => default,
        };
        Options {
            prefilter,
            ..options
        }
    }
}
