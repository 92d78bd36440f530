//! Options for the form of a source.

use clap::Args;
use papir_store::{BuildOptions, KeyForm};

/// Options of commands that read a source of records.
#[derive(Args)]
pub(crate) struct SourceFormArguments {
    /// Allow keys that are not UTF-8 in text sources. Without it, such a key is a bad row: text in
    /// another encoding would be looked up in vain.
    #[arg(long)]
    binary_keys: bool,
}

impl SourceFormArguments {
    /// Adds the form of the source to the options of a build.
    pub(crate) fn add_to(&self, options: BuildOptions) -> BuildOptions {
        BuildOptions {
            keys: KeyForm {
                binary: self.binary_keys,
            },
            ..options
        }
    }
}
