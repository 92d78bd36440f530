//! TLS connector for ureq.
//!
//! It replaces ureq's own connector, which does not accept a verifier of certificates.

use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

use rustls::pki_types::ServerName;
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport,
    TransportAdapter,
};

/// The connector, which wraps connections to `https` addresses in TLS.
pub(super) struct TlsConnector(Arc<ClientConfig>);

/// One connection over TLS.
pub(super) struct Encrypted {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl TlsConnector {
    pub(super) fn new(config: ClientConfig) -> Self {
        Self(Arc::new(config))
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, Encrypted>;

    fn connect(
        &self,
        details: &ConnectionDetails<'_>,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, Error> {
        let Some(transport) = chained else {
            return Ok(None);
        };
        if !details.needs_tls() || transport.is_tls() {
            return Ok(Some(Either::A(transport)));
        }

        let host = details.uri.host().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(bare.to_owned())
            .map_err(|_| Error::Tls("the host is neither a name nor an address"))?;

        // The handshake ends here, so that its errors are errors of the connection.
        let mut connection =
            ClientConnection::new(Arc::clone(&self.0), name).map_err(Error::Rustls)?;
        let mut socket = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        socket.set_timeout(details.timeout);
        connection.complete_io(&mut socket)?;

        let input = details.config.input_buffer_size();
        let output = details.config.output_buffer_size();
        let buffers = LazyBuffers::new(input, output);
        Ok(Some(Either::B(Encrypted {
            buffers,
            stream: StreamOwned {
                conn: connection,
                sock: socket,
            },
        })))
    }
}

impl Transport for Encrypted {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.get_mut().set_timeout(timeout);
        Ok(self
            .stream
            .write_all(self.buffers.output().get(..amount).unwrap_or_default())?)
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, Error> {
        self.stream.get_mut().set_timeout(timeout);
        let amount = self.stream.read(self.buffers.input_append_buf())?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.get_mut().get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConnector")
    }
}

impl fmt::Debug for Encrypted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Encrypted")
    }
}
