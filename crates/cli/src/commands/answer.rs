//! `papir answer`: answers a query in a file.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use papir_server::{Database, DatabaseConfig, answer_message};
use papir_store::OpenOptions;

use crate::arguments::network::NetworkArguments;
use crate::failure::Outcome;
use crate::message_file;
use crate::service::config::registry_place;

/// Answer a file of `papir query`, for the operator of a database.
///
/// The registry is that of the database's server. The server of a registry in a directory must not
/// be running; one in PostgreSQL may be shared. A query for another version of the database, and
/// one of a client that is not registered, are refused. The same query may be answered any number
/// of times.
#[derive(Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Arguments {
    /// The database.
    #[arg(value_name = "FILE.papir")]
    file: PathBuf,
    /// The file with the query.
    #[arg(value_name = "QUERY")]
    query: PathBuf,
    /// The file for the answer.
    #[arg(long, value_name = "FILE")]
    out: PathBuf,
    /// The server's registry of clients: a directory, or postgres://USER@HOST/DATABASE.
    #[arg(long, value_name = "DIR")]
    registry: PathBuf,
    /// The name under which the server has the database [default: the file's name without its
    /// extension].
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// The id of the client, if several have the query's first bytes: 32 hexadecimal digits.
    #[arg(long, value_name = "ID")]
    client: Option<String>,
    #[command(flatten)]
    network: NetworkArguments,
}

const EXAMPLES: &str = "Examples:
  papir answer fruit.papir q.bin --registry /var/lib/papir/registry --out a.bin
  papir answer fruit.papir q.bin --registry postgres://papir@db/papir --out a.bin";

pub(crate) fn run(arguments: &Arguments) -> Outcome {
    let DatabaseConfig { name, path } =
        DatabaseConfig::new(&arguments.file, arguments.name.clone());
    let place = registry_place(&arguments.registry, &arguments.network.setting())?;
    let query = message_file::read(&arguments.query)?;

    let database = Database::open_with(&name, &path, OpenOptions::default())?;
    let answer = answer_message(&database, place, arguments.client.as_deref(), &query)?;

    message_file::write(&arguments.out, &answer)?;
    Ok(ExitCode::SUCCESS)
}
