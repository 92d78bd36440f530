//! The issuer of the options: its tokens, and the transport to it.

use std::sync::Arc;

use super::options::Options;
use super::refills::RefillThread;
use crate::core::{Address, ServiceTokens, check_issuer};
use crate::error::Result;

/// The tokens for the requests to a service, and the transport to their issuer.
pub(crate) struct IssuerAccess<T> {
    pub(crate) tokens: Arc<ServiceTokens>,
    pub(crate) transport: T,
    /// The options of the transport.
    #[cfg(feature = "aio")]
    pub(crate) options: Options,
    pub(crate) refills: RefillThread,
}

impl<T> IssuerAccess<T> {
    /// The issuer of the options, for the service at `address`; `None` without an issuer. `connect`
    /// makes a transport to an address, for options without an issuer.
    ///
    /// Connections to the issuer have the proxy and the trusted certificates of the options, and
    /// neither the relay nor the client's certificate, which are for the service.
    ///
    /// # Errors
    /// [`Error::BadIssuer`](crate::Error::BadIssuer),
    /// [`Error::TokenInClear`](crate::Error::TokenInClear), and the errors of `connect`.
    pub(crate) fn of(
        address: &Address,
        options: &Options,
        connect: impl FnOnce(&Address, &Options) -> Result<T>,
    ) -> Result<Option<Arc<Self>>> {
        let Some(issuer) = &options.issuer else {
            return Ok(None);
        };
        check_issuer(&issuer.url, options.insecure_http)?;

        let own = Options {
            token: issuer.token.clone(),
            issuer: None,
            relay: None,
            identity: None,
            ..options.clone()
        };
        let service = own.service(&issuer.url)?;
        let tokens = ServiceTokens::new(service, address);

        let transport = connect(tokens.issuer(), &own)?;
        Ok(Some(Arc::new(Self {
            tokens: Arc::new(tokens),
            transport,
            #[cfg(feature = "aio")]
            options: own,
            refills: RefillThread::default(),
        })))
    }
}
