//! `papir checkpoint`: keys, certificates and comparisons of signed databases.
//!
//! | file | subcommands |
//! |---|---|
//! | `keys` | `keygen`, `public`, `delegate`, `rotate`, `gateways` |
//! | `files` | `sign`, `attach`, `request`, `show` |
//! | `services` | `verify`, `compare` |

mod files;
mod keys;
mod services;

use clap::{Args, Subcommand};

use crate::failure::Outcome;

/// Keys, certificates, verification and comparison of signed databases.
///
/// A signed database (papir build --sign) has a log of all its versions. Its owner signs the log's
/// head, a checkpoint that clients and witnesses verify.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

#[derive(Subcommand)]
enum Action {
    Keygen(keys::Keygen),
    Public(keys::Public),
    Delegate(keys::Delegate),
    Rotate(keys::Rotate),
    Gateways(keys::Gateways),
    Sign(files::SignAgain),
    Attach(files::Attach),
    Request(files::Request),
    Show(services::Show),
    Verify(services::Verify),
    Compare(services::Compare),
}

const EXAMPLES: &str = "Examples:
  papir checkpoint keygen owner.key --name example.org/owner
  papir build words.csv --key word --value meaning --sign owner.key --out words.papir
  papir checkpoint sign words.papir --key owner.key
  papir checkpoint delegate --key owner.key --to \"$PUBLISHER\" --database words --for 90d --out publisher.cert
  papir checkpoint rotate --key owner.key --to new.key --overlap 30d --out rotation.cert
  papir checkpoint gateways --key owner.key --keys ohttp-keys --database words --for 60d --out gateways.cert
  papir checkpoint verify http://127.0.0.1:7470 --max-age 24h
  papir checkpoint compare http://127.0.0.1:7470 https://mirror.example words.papir";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    match &arguments.action {
        Action::Keygen(action) => keys::keygen(action),
        Action::Public(action) => keys::public(action),
        Action::Delegate(action) => keys::delegate(action),
        Action::Rotate(action) => keys::rotate(action),
        Action::Gateways(action) => keys::gateways(action),
        Action::Sign(action) => files::sign(action),
        Action::Attach(action) => files::attach(action),
        Action::Request(action) => files::request(action),
        Action::Show(action) => services::show(action),
        Action::Verify(action) => services::verify(action),
        Action::Compare(action) => services::compare(action),
    }
}
