//! Errors of connections through a proxy.

use std::io;

use super::address::ChosenProxy;
use crate::core::Failure;
use crate::error::FinalFailure;

/// Parts of the messages of HTTP libraries after which the proxy wants a login, or another one. The
/// libraries have no types for them.
const LOGIN_MESSAGES: [&str; 8] = [
    // ureq: CONNECT, then SOCKS5.
    "proxy server responded 407",
    "no acceptable auth methods",
    "unknown auth method",
    "password authentication failed",
    // reqwest: CONNECT, then SOCKS5.
    "proxy authorization required",
    "user/pass authentication",
    "authentication incorrectly",
    "credentials not accepted",
];

/// Names the proxy in an error of a connection through it. A proxy that wants a login is an error
/// that no retry resolves.
pub(crate) fn through(proxy: Option<&ChosenProxy>, failure: Failure) -> Failure {
    let Some(proxy) = proxy else {
        return failure;
    };
    if failure.is::<FinalFailure>() {
        return failure;
    }

    let reason = failure.to_string();
    if LOGIN_MESSAGES.iter().any(|part| reason.contains(part)) {
        return login(proxy).into();
    }
    let kind = failure
        .downcast_ref::<io::Error>()
        .map_or(io::ErrorKind::Other, io::Error::kind);
    io::Error::new(kind, format!("through the proxy {proxy}: {reason}")).into()
}

fn login(proxy: &ChosenProxy) -> FinalFailure {
    FinalFailure::ProxyLogin {
        proxy: proxy.to_string(),
        reason: if proxy.address.has_login() {
            "refuses the name and password of its address"
        } else {
            "asks for a login: expected scheme://name:password@host:port"
        },
    }
}
