//! `papir pin`: shows and removes what a client has pinned.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use papir_checkpoint::hex;
use papir_client::{Options, Pins};

use crate::describe::{self, Lines, line};
use crate::failure::Outcome;

/// Exit code if nothing is pinned.
const ABSENT: u8 = 1;

/// Show or remove the pins of a database: its owner's key, its root and its name.
///
/// `get` and `hold` pin them at the first use of a database, and refuse a database that does not
/// fit. They are kept for each address, and those of one of several servers (--also) hold for the
/// others. Nothing is sent: the pins are read from the directory of client state. The exit code is
/// 1 if nothing is pinned.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    action: Action,
}

/// Actions on pins.
#[derive(Subcommand)]
enum Action {
    /// Show the pins.
    Show(Pinned),
    /// Remove the pins. The next use of the database trusts the owner's key that is given, or else
    /// the one that the service shows.
    ///
    /// Do this only after the owner has confirmed the new key or root over another channel than the
    /// service. Programs that are connected meanwhile do not pin the old ones again.
    Remove(Pinned),
}

/// The database whose pins are meant.
#[derive(Args)]
struct Pinned {
    /// The server, as http://host:port or unix:/path/of/a/socket, or one of its databases, as
    /// http://host:port/v1/databases/name: as it was given to `get`. Further ones may follow.
    #[arg(value_name = "ADDRESS", required = true)]
    addresses: Vec<String>,
    /// The database's name, if it was named, and is not in the address.
    #[arg(long, value_name = "NAME")]
    database: Option<String>,
    /// Directory of client state [default: $XDG_DATA_HOME/papir or ~/.local/share/papir].
    #[arg(long, value_name = "DIR")]
    state: Option<PathBuf>,
}

const EXAMPLES: &str = "Examples:
  papir pin show http://127.0.0.1:7470
  papir pin remove http://127.0.0.1:7470 --database words
  papir pin remove https://a.example https://b.example";

pub(crate) fn run(arguments: Arguments) -> Outcome {
    match arguments.action {
        Action::Show(pinned) => show(&pinned),
        Action::Remove(pinned) => remove(&pinned),
    }
}

impl Pinned {
    fn options(&self) -> Options {
        Options {
            database: self.database.clone(),
            state: self.state.clone(),
            ..Options::default()
        }
    }
}

fn show(pinned: &Pinned) -> Outcome {
    let options = pinned.options();
    let mut found = false;

    for address in &pinned.addresses {
        let Some(pins) = papir_client::pins(address, &options)? else {
            continue;
        };
        found = true;

        let mut described = Lines::new();
        if pinned.addresses.len() > 1 {
            described.push(line("service", address));
        }
        described.extend(lines(&pins));
        describe::print(&described, &mut std::io::stdout())?;
    }
    outcome(found)
}

fn remove(pinned: &Pinned) -> Outcome {
    let options = pinned.options();
    let mut found = false;
    for address in &pinned.addresses {
        found |= papir_client::remove_pins(address, &options)?;
    }
    outcome(found)
}

/// The outcome if anything was pinned at any address, or if nothing was.
fn outcome(found: bool) -> Outcome {
    if found {
        return Ok(ExitCode::SUCCESS);
    }
    writeln!(std::io::stderr(), "nothing is pinned")?;
    Ok(ExitCode::from(ABSENT))
}

fn lines(pins: &Pins) -> Lines {
    let mut lines = vec![line("database", &pins.database)];

    if let Some(owner) = &pins.owner {
        lines.push(line("owner", &owner.key));
        if owner.first != owner.key {
            lines.push(line("first trusted", &owner.first));
        }
        lines.push(line("sequence", owner.highest.sequence));
        lines.push(line("leaf", hex(&owner.highest.leaf)));
    }
    if let Some(root) = &pins.root {
        lines.push(line("root", root));
    }
    if pins.named {
        lines.push(line("name", "pinned for the service"));
    }
    lines
}
