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
    if let Some(FinalFailure::NoTls { .. }) = failure.downcast_ref()
        && proxy.address.is_https()
    {
        // The failure advises an http address, although it may be the proxy that lacks TLS.
        let reason = "no TLS at the port of the proxy, or of the service";
        let message = format!("through the proxy {proxy}: {reason}");
        return io::Error::new(io::ErrorKind::InvalidData, message).into();
    }
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
            "asks for a login: expected name:password@ before its host"
        },
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::address::OPTION;
    use super::*;

    fn explained(proxy: &str, failure: impl Into<Failure>) -> Failure {
        let proxy = ChosenProxy {
            address: proxy.parse().unwrap(),
            source: OPTION,
        };
        through(Some(&proxy), failure.into())
    }

    fn no_tls() -> FinalFailure {
        FinalFailure::NoTls {
            instead: "http://h".to_owned(),
        }
    }

    #[test]
    fn a_proxy_without_tls_is_no_reason_to_give_up_that_of_the_service() {
        let failure = explained("https://p:1", no_tls()).to_string();
        assert!(failure.contains("https://p:1"), "{failure}");
        assert!(!failure.contains("http://h"), "{failure}");

        // These are not reached over TLS themselves.
        for proxy in ["http://p", "socks5://p"] {
            assert!(explained(proxy, no_tls()).is::<FinalFailure>(), "{proxy}");
        }
    }

    #[test]
    fn errors_name_the_proxy_without_its_login() {
        let refused = io::Error::from(io::ErrorKind::ConnectionRefused);
        let failure = explained("http://u:secret@p:1", refused);
        let kind = failure.downcast_ref::<io::Error>().map(io::Error::kind);
        assert_eq!(kind, Some(io::ErrorKind::ConnectionRefused));
        assert!(
            failure
                .to_string()
                .starts_with("through the proxy http://p:1 (the option")
        );

        let login = explained("http://u:secret@p:1", LOGIN_MESSAGES[0]);
        assert!(login.is::<FinalFailure>() && !login.to_string().contains("secret"));
    }
}
