//! DNS stub that asks a blocklist and a zone privately.
//!
//! | module | content |
//! |---|---|
//! | `arguments` | the command line |
//! | `names` | names as keys; the fixed batch of a name and its parents |
//! | `zone` | zone file → table of names; a name's records as text |
//! | `table` | one papir database, looked up without revealing the name |
//! | `stub` | name → verdict → reply, with the caches |
//! | `reply` | choice of the records of a reply |
//! | `cache` | values with a lifetime, bounded in number |
//! | `forward` | the resolver that unknown names may be sent to |
//! | `handler` | requests and responses of the DNS server |

mod arguments;
mod cache;
mod forward;
mod handler;
mod names;
mod reply;
mod stub;
mod table;
mod zone;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use hickory_server::Server;
use tokio::net::{TcpListener, UdpSocket};

use arguments::{Arguments, Command, ServeArguments, ZoneArguments};
use handler::Handler;
use stub::Stub;

type Error = Box<dyn std::error::Error + Send + Sync>;
type Result<T, E = Error> = std::result::Result<T, E>;

/// Attempts to find a port that is free for UDP and for TCP.
const PORT_ATTEMPTS: usize = 16;
/// Time after which a TCP connection without requests is closed.
const TCP_IDLE: Duration = Duration::from_secs(10);
/// Responses that wait for a slow TCP client.
const TCP_RESPONSES: usize = 16;

fn main() -> ExitCode {
    let outcome = match Arguments::parse().command {
        Command::Serve(arguments) => run(&arguments),
        Command::Zone(arguments) => print_zone(&arguments),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("papir-dns: {error}");
            ExitCode::from(2)
        }
    }
}

/// Prints a zone file as the source of a database.
fn print_zone(arguments: &ZoneArguments) -> Result<()> {
    let rows = zone::rows_of_file(&arguments.file, arguments.origin.as_ref())?;

    let mut out = io::stdout().lock();
    for row in rows {
        let line = serde_json::json!({ "name": row.name, "records": row.records });
        writeln!(out, "{line}")?;
    }
    Ok(())
}

fn run(arguments: &ServeArguments) -> Result<()> {
    let runtime = tokio::runtime::Runtime::new()?;
    runtime.block_on(serve(arguments))
}

/// Serves DNS until the process is interrupted.
async fn serve(arguments: &ServeArguments) -> Result<()> {
    if !arguments.listen.ip().is_loopback() {
        let found = arguments.listen;
        return Err(format!("--listen {found}: expected an address of this machine alone").into());
    }
    // Before the services are asked: a port in use shows at once.
    let sockets = Sockets::bind(arguments.listen).await?;
    let stub = Stub::open(arguments).await?;

    let mut server = Server::new(Handler::new(stub));
    server.register_socket(sockets.udp);
    server.register_listener(sockets.tcp, TCP_IDLE, TCP_RESPONSES);
    println!("listening on {}", sockets.address);

    tokio::select! {
        ended = server.block_until_done() => ended.map_err(|error| error.to_string())?,
        interrupted = tokio::signal::ctrl_c() => interrupted?,
    }
    Ok(())
}

/// Sockets for UDP and TCP at the same address.
struct Sockets {
    address: SocketAddr,
    udp: UdpSocket,
    tcp: TcpListener,
}

impl Sockets {
    /// Binds both sockets. Port 0 stands for any port that is free for both.
    async fn bind(listen: SocketAddr) -> Result<Self> {
        let mut attempt = 1;
        loop {
            let tcp = TcpListener::bind(listen)
                .await
                .map_err(|error| format!("{listen}, TCP: {error}"))?;
            let address = tcp.local_addr()?;

            match UdpSocket::bind(address).await {
                Ok(udp) => return Ok(Self { address, udp, tcp }),
                Err(_) if listen.port() == 0 && attempt < PORT_ATTEMPTS => attempt += 1,
                Err(error) => return Err(format!("{address}, UDP: {error}").into()),
            }
        }
    }
}
