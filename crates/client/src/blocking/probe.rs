//! Diagnosis of a service by one request without a token.

use papir_protocol::path;
use papir_tls::RootSource;

use super::agent;
use crate::error::{Error, Result};
use crate::transport::call::CallRules;
use crate::transport::certificate::CertificateSummary;
use crate::transport::options::Options;
use crate::transport::tls;
use crate::transport::verifier::Presented;

/// Properties of a service that a request without a token shows.
#[derive(Clone, Debug)]
pub struct Probe {
    /// The certificate that the service presented; `None` without TLS, or if it does not parse.
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
/// [`Error::BadUrl`], [`Error::BadCa`], [`Error::BadIdentity`], [`Error::BadProxy`], and
/// [`Error::Transport`] or [`Error::TimedOut`] if there is no response.
pub fn probe(url: &str, options: &Options) -> Result<Probe> {
    let options = options.without_token();
    let service = options.service(url)?;
    let address = service.address();
    let presented = Presented::default();
    let http = agent::observed(address, &options, presented.clone())?;

    let ready = address.url(path::READY);
    let call = CallRules::new(address, &options).start();
    let request = http.agent.get(&ready).config();
    let response = request.timeout_global(call.left()?).build().call();
    let response = match response {
        Ok(response) => response,
        Err(error) => {
            call.left()?;
            return Err(Error::Transport {
                url: ready,
                source: http.failure(error),
            });
        }
    };

    let date = response
        .headers()
        .get("date")
        .and_then(|date| date.to_str().ok())
        .map(str::to_owned);
    let roots = match address.is_https() {
        true => Some(tls::roots(address, &options)?.source().clone()),
        false => None,
    };
    Ok(Probe {
        certificate: presented.get(),
        roots,
        ready: response.status().is_success(),
        date,
    })
}
