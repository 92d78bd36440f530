//! Connections by the rules for the client's.

use std::sync::Arc;

use papir_client::Options;
use papir_client::aio::Forwarding;
use papir_server::{
    DirectoryExchange, DirectoryFailure, DirectoryTransport, GatewayFailure, RelayBody,
    RelayExchange, RelayTransport, RelayUpload, Request,
};

use crate::failure::Failure;

/// Connections to a gateway.
pub(crate) fn to_gateway(url: &str, options: &Options) -> Result<Arc<dyn RelayTransport>, Failure> {
    let forwarding = Forwarding::new(url, options)?;
    Ok(Arc::new(HttpTransport(forwarding)))
}

/// Connections to an issuer.
pub(crate) fn to_issuer(
    url: &str,
    options: &Options,
) -> Result<Arc<dyn DirectoryTransport>, Failure> {
    let forwarding = Forwarding::new(url, options)?;
    Ok(Arc::new(HttpTransport(forwarding)))
}

/// Connections to one service.
struct HttpTransport(Forwarding);

impl RelayTransport for HttpTransport {
    fn send(&self, request: Request<RelayUpload>) -> RelayExchange {
        let forwarding = self.0.clone();
        Box::pin(async move {
            let response = forwarding
                .send(request)
                .await
                .map_err(GatewayFailure::from)?;
            Ok(response.map(RelayBody::new))
        })
    }
}

impl DirectoryTransport for HttpTransport {
    fn send(&self, request: Request<String>) -> DirectoryExchange {
        let forwarding = self.0.clone();
        Box::pin(async move {
            let response = forwarding
                .send(request)
                .await
                .map_err(DirectoryFailure::from)?;
            Ok(response.map(RelayBody::new))
        })
    }
}
