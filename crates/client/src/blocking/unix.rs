//! HTTP over a Unix socket.

use std::fmt;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Type};
use ureq::config::Config;
use ureq::http::Uri;
use ureq::unversioned::resolver::{ResolvedSocketAddrs, Resolver};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, LazyBuffers, NextTimeout, Transport,
};
use ureq::{Agent, Error};

/// Returns an agent that connects to the Unix socket at `path` for every request, with any host.
pub(super) fn agent(config: Config, path: PathBuf) -> Agent {
    Agent::with_parts(config, Socket(path), FixedResolver)
}

/// The connector to the Unix socket at a path.
#[derive(Debug)]
struct Socket(PathBuf);

/// The resolver of every host to a fixed address, which [`Socket`] ignores.
#[derive(Debug)]
struct FixedResolver;

/// One connection to the socket.
struct Connected {
    stream: UnixStream,
    buffers: LazyBuffers,
}

impl Connector for Socket {
    type Out = Connected;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        _: Option<()>,
    ) -> Result<Option<Connected>, Error> {
        let stream = connect(&self.0, details.timeout)?;
        let input = details.config.input_buffer_size();
        let output = details.config.output_buffer_size();
        Ok(Some(Connected {
            stream,
            buffers: LazyBuffers::new(input, output),
        }))
    }
}

/// Connects within a timeout. The queue of a service that accepts no connections may be full, and a
/// plain connect waits for a place in it without a limit.
fn connect(path: &Path, timeout: NextTimeout) -> Result<UnixStream, Error> {
    let timeout = unelapsed(timeout)?;
    let socket = socket2::Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_write_timeout(timeout.not_zero().map(|limit| *limit))?;

    let address = SockAddr::unix(path)?;
    socket
        .connect(&address)
        .map_err(|error| convert_timeout(error, &timeout))?;
    Ok(OwnedFd::from(socket).into())
}

/// Returns the timeout, or an error if it is zero: ureq would count a timeout of zero as one
/// second.
fn unelapsed(timeout: NextTimeout) -> Result<NextTimeout, Error> {
    if !timeout.after.is_not_happening() && timeout.after.is_zero() {
        return Err(Error::Timeout(timeout.reason));
    }
    Ok(timeout)
}

impl Resolver for FixedResolver {
    fn resolve(&self, _: &Uri, _: &Config, _: NextTimeout) -> Result<ResolvedSocketAddrs, Error> {
        let mut addresses = self.empty();
        addresses.push(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        Ok(addresses)
    }
}

impl Connected {
    /// Returns true if nothing can be read from the nonblocking stream. Between two requests the
    /// server sends nothing: bytes, or the end of the stream, mean that it closed the connection.
    fn is_silent(&mut self) -> bool {
        let read = self.stream.read(&mut [0]);
        matches!(read, Err(error) if error.kind() == io::ErrorKind::WouldBlock)
    }
}

impl Transport for Connected {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        let timeout = unelapsed(timeout.for_write())?;
        self.stream
            .set_write_timeout(timeout.not_zero().map(|limit| *limit))?;
        let output = self.buffers.output().get(..amount).unwrap_or_default();
        self.stream
            .write_all(output)
            .map_err(|error| convert_timeout(error, &timeout))
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        let timeout = unelapsed(timeout.for_read())?;
        self.stream
            .set_read_timeout(timeout.not_zero().map(|limit| *limit))?;

        let amount = loop {
            match self.stream.read(self.buffers.input_append_buf()) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other.map_err(|error| convert_timeout(error, &timeout))?,
            }
        };
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.set_nonblocking(true).is_ok()
            && self.is_silent()
            && self.stream.set_nonblocking(false).is_ok()
    }
}

/// Converts a timeout of the socket into a timeout of the request.
fn convert_timeout(error: io::Error, timeout: &NextTimeout) -> Error {
    match error.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => Error::Timeout(timeout.reason),
        _ => error.into(),
    }
}

impl fmt::Debug for Connected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Connected")
    }
}
