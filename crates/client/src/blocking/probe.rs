//! Diagnosis of a service by one request without a token.

use papir_core::without_passwords;
use papir_tls::RootSource;

use super::transport::Transport;
use crate::core::readiness;
use crate::error::{Error, Result};
use crate::transport::call::CallRules;
use crate::transport::certificate::CertificateSummary;
use crate::transport::options::Options;
use crate::transport::tls;
use crate::transport::verifier::Presented;

/// Properties of a service that a request without a token shows.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The address of the relay that the request went through; `None` for a direct request.
    pub relay: Option<String>,
    /// The certificate that the service, or the relay, presented; `None` without TLS, or if it does
    /// not parse.
    pub certificate: Option<CertificateSummary>,
    /// The origin of the certificates that the connection trusts; `None` without TLS.
    pub roots: Option<RootSource>,
    /// Set if the service has loaded all its databases.
    pub ready: bool,
    /// The value of the response's `Date` header.
    pub date: Option<String>,
}

/// Sends one request for the service's readiness, without a token.
///
/// # Errors
/// [`Error::BadUrl`], [`Error::BadCa`], [`Error::BadIdentity`], [`Error::BadProxy`],
/// [`Error::BadRelay`], [`Error::BadOhttpKeys`], and [`Error::Transport`], [`Error::Relay`] or
/// [`Error::TimedOut`] if there is no response.
pub fn probe(url: &str, options: &Options) -> Result<Probe> {
    let options = options.without_token();
    let service = options.service(url)?;
    let address = service.address();
    let presented = Presented::default();
    let transport = Transport::observed(address, &options, presented.clone())?;

    let request = readiness();
    let ready = address.url(&request.path);
    let call = CallRules::new(address, &options).start();
    let response = match transport.send(request, call.left()?) {
        Ok(response) => response,
        Err(failure) => {
            call.left()?;
            return Err(Error::of_failure(ready, failure));
        }
    };

    let peer = transport.peer();
    let roots = match peer.is_https() {
        true => Some(tls::roots(peer, &options)?.source().clone()),
        false => None,
    };
    let relay = options.relay.as_ref();
    Ok(Probe {
        relay: relay.map(|relay| without_passwords(&relay.url)),
        certificate: presented.get(),
        roots,
        ready: response.is_success(),
        date: response.header("date").map(str::to_owned),
    })
}
