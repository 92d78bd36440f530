//! Where the service listens: TCP or a Unix socket, with or without TLS.

pub(crate) mod stream;
pub(crate) mod tls;
#[cfg(unix)]
mod unix;

use std::fmt;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::str::FromStr;

use tokio::net::TcpListener;

use crate::Error;
use stream::Stream;

/// An address to listen on: `127.0.0.1:7470`, `[::1]:7470` or `unix:/run/papir.sock`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listen {
    /// Address and port; port 0 takes a free one.
    Tcp(SocketAddr),
    /// A Unix socket, of which only its owner may speak (mode 0600).
    Unix(PathBuf),
}

/// Who is at the other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Peer {
    /// A host.
    Address(IpAddr),
    /// Somebody on this machine, over a Unix socket.
    Local,
}

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

    /// Where it listens, the port filled in.
    pub(crate) fn address(&self) -> io::Result<Listen> {
        match self {
            Self::Tcp(listener) => listener.local_addr().map(Listen::Tcp),
            #[cfg(unix)]
            Self::Unix(socket) => Ok(Listen::Unix(socket.path().to_owned())),
        }
    }

    /// The next connection.
    pub(crate) async fn accept(&self) -> io::Result<(Stream, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                // Requests and answers are written whole: waiting to fill packets only delays them.
                stream.set_nodelay(true)?;
                Ok((Stream::Tcp(stream), Peer::Address(address.ip())))
            }
            #[cfg(unix)]
            Self::Unix(socket) => Ok((Stream::Unix(socket.accept().await?), Peer::Local)),
        }
    }
}

impl FromStr for Listen {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        match text.strip_prefix("unix:") {
            Some(path) if !path.is_empty() => Ok(Self::Unix(path.into())),
            Some(_) => Err(Error::BadListen { text: text.to_owned() }),
            None => text.parse().map(Self::Tcp).map_err(|_| Error::BadListen { text: text.to_owned() }),
        }
    }
}

impl From<SocketAddr> for Listen {
    fn from(address: SocketAddr) -> Self {
        Self::Tcp(address)
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => write!(f, "{address}"),
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_read_as_they_are_printed() {
        for text in ["127.0.0.1:7470", "[::1]:80", "unix:/run/papir.sock", "unix:papir.sock"] {
            assert_eq!(text.parse::<Listen>().unwrap().to_string(), text);
        }
        for text in ["", "nowhere", "127.0.0.1", "unix:", "/run/papir.sock"] {
            assert!(matches!(text.parse::<Listen>(), Err(Error::BadListen { .. })), "{text}");
        }
    }
}
