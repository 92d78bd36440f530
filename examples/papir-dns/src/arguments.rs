//! Command line.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use hickory_proto::rr::Name;
use papir_client::VerifyingKey;

/// DNS stub that asks a blocklist and a zone privately.
#[derive(Parser)]
#[command(name = "papir-dns", version)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand)]
pub(crate) enum Command {
    /// Answer DNS on this machine.
    Serve(Box<ServeArguments>),
    /// Print a zone file as JSON Lines, the source of a zone's database.
    Zone(ZoneArguments),
}

#[derive(Args)]
pub(crate) struct ServeArguments {
    /// The blocklist's database: a papir service with a list of domains in lower case.
    #[arg(long, value_name = "URL", required_unless_present = "zone")]
    pub(crate) blocklist: Option<String>,
    /// The zone's database: a papir service with the output of `papir-dns zone`.
    #[arg(long, value_name = "URL")]
    pub(crate) zone: Option<String>,
    /// The loopback address for UDP and TCP; port 0 for any free port.
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:5353")]
    pub(crate) listen: SocketAddr,
    /// Send names that are neither blocked nor in the zone to this resolver, in the clear: it
    /// learns them and your address. Without this option they are answered by SERVFAIL.
    #[arg(long, value_name = "ADDR")]
    pub(crate) forward: Option<SocketAddr>,
    /// The answer for blocked names.
    #[arg(long, value_enum, default_value_t = BlockedAnswer::Nxdomain)]
    pub(crate) blocked: BlockedAnswer,
    /// Keys of each request to the blocklist: the name and its N-1 highest parents, or dummies.
    #[arg(long, value_name = "N", default_value = "8")]
    pub(crate) batch: NonZeroUsize,
    /// Names in the cache, and as many replies of the resolver of --forward.
    #[arg(long, value_name = "N", default_value = "4096")]
    pub(crate) cache: NonZeroUsize,
    /// Seconds after which a name without a verdict is answered by SERVFAIL.
    #[arg(long, value_name = "SECONDS", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=60))]
    pub(crate) timeout: u64,
    #[command(flatten)]
    pub(crate) service: ServiceArguments,
}

/// Options of the connections to papir services.
#[derive(Args)]
pub(crate) struct ServiceArguments {
    /// The public key of the databases' owner, who must have signed them.
    #[arg(long, value_name = "PUBKEY")]
    pub(crate) owner_pub: Option<VerifyingKey>,
    /// PEM file of the certificates to trust.
    #[arg(long, value_name = "FILE")]
    pub(crate) ca: Option<PathBuf>,
    /// The folder of the client's state [default: papir's folder of your account].
    #[arg(long, value_name = "FOLDER")]
    pub(crate) state: Option<PathBuf>,
}

/// The answer for blocked names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum BlockedAnswer {
    /// The name does not exist.
    Nxdomain,
    /// The addresses 0.0.0.0 and ::, and no other records.
    Zero,
}

#[derive(Args)]
pub(crate) struct ZoneArguments {
    /// The zone file, as for BIND or as `dig AXFR` prints it.
    pub(crate) file: PathBuf,
    /// The origin of relative names, if the file has no $ORIGIN at its beginning.
    #[arg(long, value_name = "NAME")]
    pub(crate) origin: Option<Name>,
}
