//! `papir clients`: lists, shows and evicts registered clients.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::{Args, Subcommand};
use papir_client::{ClientStatus, Registrations};
use papir_server::StoredRegistry;

use crate::arguments::connecting::{self, Connecting};
use crate::failure::{Failure, Outcome};
use crate::service::config::registry_place;
use papir_plan::units;

/// Exit code if there is no such client.
const ABSENT: u8 = 1;

/// List, show or evict registered clients.
///
/// Give the URL of a running server, the registry directory of a stopped one, or a registry in
/// PostgreSQL. To list the clients of a running server, you need a token of scope admin; a server
/// without tokens must have been started with --list-clients. An evicted client registers again at
/// its next query. The exit code is 1 if there is no such client.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The URL of a server or of one of its databases, or a registry: a directory, or
    /// postgres://USER@HOST/DATABASE.
    #[arg(value_name = "URL|DIR")]
    place: String,
    #[command(subcommand)]
    action: Action,
    #[command(flatten)]
    connecting: Connecting,
    /// Print one JSON line per client.
    #[arg(long, global = true)]
    json: bool,
}

/// Actions on registered clients.
#[derive(Subcommand)]
enum Action {
    /// List all clients.
    List,
    /// Show one client.
    Show {
        /// Its identifier, 32 hexadecimal digits.
        id: String,
    },
    /// Remove a client, with its keys and tickets.
    Evict {
        /// Its identifier, 32 hexadecimal digits.
        id: String,
    },
}

const EXAMPLES: &str = "Examples:
  papir clients http://127.0.0.1:7470 list
  papir clients /var/lib/papir/registry list --json
  PGPASSFILE=/etc/papir/pgpass papir clients postgres://papir@db/papir list
  papir clients /var/lib/papir/registry evict 5f0c6c0e8f8c4d0b9a55e2b7a4a0e9d1";

/// The source of registered clients: a server or a registry.
enum ClientSource {
    Service(Box<Registrations>),
    Registry(StoredRegistry),
}

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let source = open(arguments)?;

    match &arguments.action {
        Action::List => print(
            &source.list(arguments.connecting.database())?,
            arguments.json,
        ),
        Action::Show { id } => match source.show(id)? {
            Some(client) => print(&[client], arguments.json),
            None => absent(),
        },
        Action::Evict { id } => match source.evict(id)? {
            true => Ok(ExitCode::SUCCESS),
            false => absent(),
        },
    }
}

/// Opens the source: a server at a URL, or else a registry.
fn open(arguments: &Arguments) -> Result<ClientSource, Failure> {
    let place = &arguments.place;
    if connecting::is_url(place) {
        let service = Registrations::open(
            place,
            &connecting::quiet_for(arguments.json, arguments.connecting.options(false)?),
        );
        return Ok(ClientSource::Service(Box::new(
            service.map_err(connecting::explain)?,
        )));
    }

    let registry = StoredRegistry::open(&registry_place(
        Path::new(place),
        &arguments.connecting.network(),
    )?)?;
    Ok(ClientSource::Registry(registry))
}

fn absent() -> Outcome {
    writeln!(std::io::stderr(), "no such client")?;
    Ok(ExitCode::from(ABSENT))
}

impl ClientSource {
    fn list(&self, database: Option<&str>) -> Result<Vec<ClientStatus>, Failure> {
        match self {
            Self::Service(service) => Ok(service.list()?),
            Self::Registry(registry) => {
                let databases = registry.list()?.into_iter();
                let wanted =
                    databases.filter(|(name, ..)| database.is_none_or(|wanted| wanted == name));

                wanted
                    .flat_map(|(_, _, clients)| clients)
                    .map(|client| convert(&client))
                    .collect()
            }
        }
    }

    fn show(&self, id: &str) -> Result<Option<ClientStatus>, Failure> {
        match self {
            Self::Service(service) => Ok(service.show(id)?),
            // The registry has no index over all databases, and one that is stopped is in no hurry.
            Self::Registry(_) => Ok(self.list(None)?.into_iter().find(|client| client.id == id)),
        }
    }

    fn evict(&self, id: &str) -> Result<bool, Failure> {
        match self {
            Self::Service(service) => Ok(service.evict(id)?),
            Self::Registry(registry) => Ok(registry.evict(id)?),
        }
    }
}

/// Converts between the server's and the client's type, which have the same JSON.
fn convert(client: &papir_server::ClientStatus) -> Result<ClientStatus, Failure> {
    Ok(serde_json::from_value(serde_json::to_value(client)?)?)
}

fn print(clients: &[ClientStatus], json: bool) -> Outcome {
    let mut out = std::io::stdout();
    let now = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |time| time.as_secs());

    for client in clients {
        if json {
            writeln!(out, "{}", serde_json::to_string(client)?)?;
        } else {
            writeln!(out, "{}", line(client, now))?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// Describes a client on one line.
fn line(client: &ClientStatus, now: u64) -> String {
    let keys = match client.status.as_str() {
        // Of a registered client all keys have arrived; of another one, the progress matters.
        "registered" => units::bytes(client.keys_bytes),
        _ => format!(
            "{} of {}",
            units::bytes(client.uploaded_bytes),
            units::bytes(client.keys_bytes)
        ),
    };

    format!(
        "{}  {:10}  keys {keys}, tickets {} ready, {} used, next {}, {}; last used {} ago, expires in {}",
        client.id,
        client.status,
        client.tickets_ready,
        client.tickets_used,
        client.next_ticket,
        units::bytes(client.ticket_bytes),
        // The clocks of the service and of this machine may differ.
        days(now.saturating_sub(client.used)),
        days(client.expires.saturating_sub(now)),
    )
}

/// A time in days.
fn days(seconds: u64) -> String {
    format!("{:.1} days", seconds as f64 / 86_400.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_is_one_line() {
        let client = ClientStatus {
            id: "ab".into(),
            status: "uploading".into(),
            created: 0,
            used: 86_400,
            expires: 3 * 86_400,
            keys_bytes: 2048,
            uploaded_bytes: 1024,
            part_bytes: 1,
            version: "0".into(),
            tickets_ready: 1,
            tickets_used: 2,
            ticket_bytes: 3,
            tickets_ahead: 4,
            next_ticket: 5,
            next_sent_ahead: 0,
        };

        let expected = "ab  uploading   keys 1.00 KiB of 2.00 KiB, tickets 1 ready, 2 used, next 5, 3 B; \
                        last used 1.0 days ago, expires in 1.0 days";

        assert_eq!(line(&client, 2 * 86_400), expected);
    }
}
