//! Bound sockets.

use std::io;
use std::net::SocketAddr;

use tokio::net::{TcpListener, TcpSocket};

use super::address::{BACKLOG, Listen, Peer};
use super::stream::Stream;
#[cfg(unix)]
use super::unix;

/// A bound socket.
pub(crate) enum Listener {
    Tcp(TcpListener),
    #[cfg(unix)]
    Unix(unix::Socket),
}

impl Listener {
    /// Binds the address.
    pub(crate) async fn bind(listen: &Listen) -> io::Result<Self> {
        match listen {
            Listen::Tcp(address) => bind(*address).map(Self::Tcp),
            #[cfg(unix)]
            Listen::Unix(path) => unix::Socket::bind(path).map(Self::Unix),
            #[cfg(not(unix))]
            Listen::Unix(_) => Err(io::Error::from(io::ErrorKind::Unsupported)),
        }
    }

    /// The bound address, with the actual port.
    pub(crate) fn address(&self) -> io::Result<Listen> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Listen::Tcp),
            #[cfg(unix)]
            Self::Unix(socket) => Ok(Listen::Unix(socket.path().to_owned())),
        }
    }

    /// Waits for the next connection.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // Requests and answers are written whole: Nagle's algorithm would only add delay.
                stream.set_nodelay(true)?;
                Ok((Stream::Tcp(stream), Peer::Address(address.ip())))
            }
            #[cfg(unix)]
            Self::Unix(socket) => Ok((Stream::Unix(socket.accept().await?), Peer::Local)),
        }
    }
}

/// Binds an address and port.
fn bind(address: SocketAddr) -> io::Result<TcpListener> {
    let socket = match address {
        SocketAddr::V4(_) => TcpSocket::new_v4()?,
        SocketAddr::V6(_) => TcpSocket::new_v6()?,
    };

    // A service that restarts need not wait for the connections of the one before it. On Windows
    // this would allow another process to take the port.
    if cfg!(not(windows)) {
        socket.set_reuseaddr(true)?;
    }

    socket.bind(address)?;
    socket.listen(BACKLOG)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use std::process::Command;
    use std::time::Duration;

    use tokio::net::TcpStream;
    use tokio::time::timeout;

    use super::*;

    /// Set only in the process that opens the connections.
    const ALONE: &str = "PAPIR_SERVER_TEST_BACKLOG";

    /// More connections than a backlog of 128 holds, or as many as the system allows.
    fn burst() -> usize {
        let most = std::fs::read_to_string("/proc/sys/net/core/somaxconn");
        let most = most.ok().and_then(|text| text.trim().parse().ok());
        most.unwrap_or(128).min(150)
    }

    #[tokio::test]
    async fn a_burst_of_connections_waits_to_be_accepted() {
        if std::env::var_os(ALONE).is_some() {
            return connect_without_accepting().await;
        }

        // In a process of its own: where few files may be open, other tests need theirs.
        let name = "listen::listener::tests::a_burst_of_connections_waits_to_be_accepted";
        let output = Command::new(std::env::current_exe().unwrap())
            .args(["--exact", name, "--nocapture"])
            .env(ALONE, "1")
            .output()
            .unwrap();
        let stdout = String::from_utf8_lossy(&output.stdout);
        assert!(stdout.contains("test result: ok. 1 passed"), "{output:?}");
    }

    async fn connect_without_accepting() {
        let listen = "127.0.0.1:0".parse().unwrap();
        let listener = Listener::bind(&listen).await.unwrap();
        let address = match listener.address().unwrap() {
            Listen::Tcp(address) => address,
            other => panic!("{other} was bound"),
        };

        let mut open = Vec::new();
        for _ in 0..burst() {
            // A connection beyond the backlog is never made: nothing is accepted meanwhile.
            let connecting = TcpStream::connect(address);
            let connected = timeout(Duration::from_secs(60), connecting).await;
            open.push(connected.unwrap().unwrap());
        }
        assert!(listener.accept().await.is_ok());
    }
}
