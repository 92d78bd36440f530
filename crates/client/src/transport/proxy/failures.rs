//! Errors of connections through a proxy.

use std::io;

use super::address::ChosenProxy;
use crate::core::{Address, Failure};
use crate::failure::FinalFailure;

/// Parts of the messages of HTTP libraries if the proxy requires a login, or refuses the given one.
/// The libraries have no error types for it.
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

/// Names the proxy in an error of a connection through it to the service at `base`. A proxy that
/// wants a login is an error that no retry resolves.
pub(crate) fn through(proxy: Option<&ChosenProxy>, base: &str, failure: Failure) -> Failure {
    let Some(proxy) = proxy else {
        return failure;
    };
    if let Some(refused) = failure.downcast_ref()
        && let Some(of_proxy) = certificate(proxy, base, refused)
    {
        return of_proxy.into();
    }
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

    // By its words, since the libraries have no types for it.
    let reason = failure.to_string();
    if LOGIN_MESSAGES.iter().any(|part| reason.contains(part)) {
        return login(proxy).into();
    }
    let kind = failure
        .downcast_ref::<io::Error>()
        .map_or(io::ErrorKind::Other, io::Error::kind);
    io::Error::new(kind, format!("through the proxy {proxy}: {reason}")).into()
}

/// The refusal of the proxy's own certificate; `None` for another failure.
fn certificate(proxy: &ChosenProxy, base: &str, refused: &FinalFailure) -> Option<FinalFailure> {
    let FinalFailure::Certificate {
        server,
        certificate,
        reason,
        unknown,
    } = refused
    else {
        return None;
    };
    if !proxy.address.is_https() || !server.eq_ignore_ascii_case(proxy.address.host()) {
        return None;
    }

    // The service may be at the same host: the name does not tell whose certificate it was.
    let is_of_both = Address::parse(base).is_ok_and(|service| {
        service.is_https() && service.host().eq_ignore_ascii_case(proxy.address.host())
    });
    let whose = if is_of_both {
        format!("{proxy}, or of the service at the same host,")
    } else {
        proxy.to_string()
    };
    Some(FinalFailure::ProxyCertificate {
        proxy: whose,
        certificate: certificate.clone(),
        reason: reason.clone(),
        unknown: *unknown,
    })
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
        explained_at("https://h", proxy, failure)
    }

    fn explained_at(base: &str, proxy: &str, failure: impl Into<Failure>) -> Failure {
        let proxy = ChosenProxy {
            address: proxy.parse().unwrap(),
            source: OPTION,
        };
        through(Some(&proxy), base, failure.into())
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
    fn a_refused_certificate_is_that_of_the_server_it_was_presented_for() {
        let refused = |server: &str| FinalFailure::Certificate {
            server: server.to_owned(),
            certificate: "CN=x".to_owned(),
            reason: "it expired".to_owned(),
            unknown: true,
        };
        let at_proxy = "the certificate of the proxy https://p:1 (the option";

        for (proxy, server, expected) in [
            ("https://u:secret@p:1", "P", at_proxy),
            ("https://p:1", "h", "the server's certificate (CN=x)"),
            // Its connections have no TLS.
            ("http://p:1", "p", "the server's certificate (CN=x)"),
            (
                "https://[::1]:1",
                "::1",
                "the certificate of the proxy https://[::1]:1",
            ),
        ] {
            let failure = explained(proxy, refused(server));
            assert!(failure.is::<FinalFailure>(), "{failure}");
            let text = failure.to_string();
            assert!(text.starts_with(expected), "{text}");
            assert!(text.ends_with("is refused: it expired"), "{text}");
        }

        let both = explained_at("https://p", "https://p:1", refused("p")).to_string();
        assert!(
            both.contains("or of the service at the same host"),
            "{both}"
        );
        let plain = explained_at("http://p", "https://p:1", refused("p")).to_string();
        assert!(!plain.contains("or of the service"), "{plain}");
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
