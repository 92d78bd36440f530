//! Connections over TLS.

use std::fmt;
use std::io::{Read, Write};
use std::sync::Arc;

use rustls::crypto::ring::default_provider;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, StreamOwned};
use ureq::Error;
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

use super::identity::{self, Identity};
use super::verifier::{Presented, Verifier};

/// Wraps connections to `https` addresses in TLS.
pub(crate) struct TlsConnector(Arc<ClientConfig>);

/// One connection over TLS.
pub(crate) struct Encrypted {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl TlsConnector {
    /// Trusts the given root certificates or, without them, the public ones. Stores the
    /// certificates of servers in `presented`. Presents the client's certificate, if it has one.
    ///
    /// # Errors
    /// The error of `untrusted` if no given certificate can be a root; [`crate::Error::BadIdentity`].
    pub(crate) fn new(
        given: Option<Vec<CertificateDer<'static>>>,
        presented: Presented,
        identity: Option<&Identity>,
        untrusted: impl Fn(rustls::Error) -> crate::Error,
    ) -> crate::error::Result<Self> {
        let provider = Arc::new(default_provider());
        let verifier = Verifier::new(given, presented, Arc::clone(&provider)).map_err(&untrusted)?;
        let builder = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(untrusted)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::new(verifier));
        Ok(Self(Arc::new(identity::present(builder, identity)?)))
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
        let name = ServerName::try_from(bare.to_owned());
        let name = name.map_err(|_| Error::Tls("the host is neither a name nor an address"))?;
        let mut connection = ClientConnection::new(Arc::clone(&self.0), name).map_err(Error::Rustls)?;
        let mut socket = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        socket.set_timeout(details.timeout);
        connection.complete_io(&mut socket)?;
        let (input, output) = (details.config.input_buffer_size(), details.config.output_buffer_size());
        let buffers = LazyBuffers::new(input, output);
        Ok(Some(Either::B(Encrypted { buffers, stream: StreamOwned { conn: connection, sock: socket } })))
    }
}

impl Transport for Encrypted {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), Error> {
        self.stream.get_mut().set_timeout(timeout);
        Ok(self.stream.write_all(self.buffers.output().get(..amount).unwrap_or_default())?)
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
