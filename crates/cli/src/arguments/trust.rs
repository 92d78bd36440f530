//! Options for the owner's signed checkpoints.

use clap::Args;
use papir_checkpoint::VerifyingKey;
use papir_client::{CheckpointSettings, Options};

use crate::arguments::duration::Span;
use crate::failure::Failure;

/// Options of commands that verify checkpoints.
#[derive(Args)]
pub(crate) struct TrustArguments {
    /// The public key of the database's owner (papir checkpoint public). The database must be
    /// signed under it, or under a key to which the owner has rotated since. `get` and `hold` pin
    /// it. Without this option, they pin the key of the first checkpoint. Another owner's key is
    /// refused while one is pinned (papir pin remove).
    #[arg(long, value_name = "PUBKEY")]
    owner_pub: Option<VerifyingKey>,
    /// Refuse a checkpoint that is older than this, for example 24h or 7d, and a database without
    /// one.
    #[arg(long, value_name = "TIME")]
    max_age: Option<Span>,
    /// Refuse a version with a lower sequence than N (papir inspect prints it), and a database
    /// without a checkpoint.
    #[arg(long, value_name = "N")]
    sequence: Option<u64>,
    /// The public key of a witness, whose cosignature is verified and counted; may be repeated.
    #[arg(long, value_name = "PUBKEY")]
    witness: Vec<VerifyingKey>,
    /// Refuse a checkpoint that fewer than N of the witnesses cosigned, and a database without one.
    #[arg(long, value_name = "N", default_value_t = 0)]
    cosignatures: usize,
    /// Time for retries if a server shows an older version than seen before, or than --sequence.
    #[arg(long, value_name = "TIME", default_value = "30s")]
    catch_up: Span,
}

impl TrustArguments {
    /// The owner's key, if one is given.
    pub(crate) fn owner(&self) -> Option<&VerifyingKey> {
        self.owner_pub.as_ref()
    }

    /// Adds these settings to `options`. Fails for a key of the wrong type.
    pub(crate) fn add_to(&self, options: Options) -> Result<Options, Failure> {
        let owner = match &self.owner_pub {
            Some(key) => Some(key.clone().of_notes()?),
            None => None,
        };
        let witnesses = self
            .witness
            .iter()
            .cloned()
            .map(VerifyingKey::of_cosignatures);

        let checkpoint = CheckpointSettings {
            owner,
            max_age: self.max_age.map(|age| age.0),
            sequence: self.sequence,
            witnesses: witnesses.collect::<Result<_, _>>()?,
            cosignatures: self.cosignatures,
            catch_up: Some(self.catch_up.0),
        };
        Ok(Options {
            checkpoint,
            ..options
        })
    }
}
