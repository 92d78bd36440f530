//! Bound sockets.

use std::io;

use tokio::net::TcpListener;

use super::address::{Listen, Peer};
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
            Listen::Tcp(address) => TcpListener::bind(address).await.map(Self::Tcp),
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
