//! Clients behind proxies, over both transports.

use std::time::Duration;

use crate::support::secured::{Authority, pair};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{Running, config, indexed, record, stateless};
use papir_client::{Error, FinalFailure, Options};
use papir_server::{Protection, ServerConfig};
use papir_testkit::proxy::{HOST, LOGIN, RecordingProxy};
use rcgen::SanType;
use tempfile::TempDir;

over_both_transports! {
    socks_resolves_names_at_the_proxy,
    http_proxies_carry_both_protocols,
    logins_are_sent_and_their_refusal_is_final,
    a_proxy_that_fails_is_never_passed_by,
}

fn service() -> Running {
    Running::start(config(), vec![indexed("table", "plain", 9)])
}

/// Options with a proxy, and without further attempts after a failure.
fn through(proxy: &str) -> Options {
    Options {
        allow_not_private: true,
        patience: Some(Duration::ZERO),
        ..stateless()
    }
    .proxy(proxy.parse().unwrap())
}

/// Looks up a record at a host that the proxy alone knows.
fn look_up<C: AnyConnection>(scheme: &str, options: &Options) -> papir_client::Result<()> {
    let mut connection = C::open_with(&format!("{scheme}://{HOST}:7470"), options)?;
    assert_eq!(connection.get_index(5)?, record(5));
    Ok(())
}

/// Asserts that every connection was of one kind, and that there was one.
#[track_caller]
fn assert_all(proxy: &RecordingProxy, kinds: &[&str]) {
    let asked = proxy.take();
    assert!(!asked.is_empty());
    for one in asked {
        assert!(kinds.contains(&one.as_str()), "{one}");
    }
}

fn socks_resolves_names_at_the_proxy<C: AnyConnection>() {
    let service = service();
    let proxy = RecordingProxy::to(service.address);

    for scheme in ["socks5", "socks5h"] {
        let options = through(&format!("{scheme}://{}", proxy.address));
        look_up::<C>("http", &options).unwrap();
        assert_all(&proxy, &["socks5 papir.invalid:7470"]);
    }
}

fn http_proxies_carry_both_protocols<C: AnyConnection>() {
    let plain = service();
    let proxy = RecordingProxy::to(plain.address);
    let options = through(&format!("http://{}", proxy.address));
    look_up::<C>("http", &options).unwrap();
    assert_all(
        &proxy,
        &[
            "connect papir.invalid:7470",
            "get papir.invalid:7470",
            "post papir.invalid:7470",
        ],
    );

    let folder = TempDir::new().unwrap();
    let authority = Authority::new(folder.path(), "own");
    authority.issue_with(&pair(folder.path()), |parameters| {
        let name = HOST.try_into().unwrap();
        parameters.subject_alt_names.push(SanType::DnsName(name));
    });
    let protection = Protection {
        tls: Some(pair(folder.path())),
        ..Protection::default()
    };
    let config = ServerConfig {
        protection,
        ..config()
    };
    let secured = Running::start(config, vec![indexed("table", "plain", 9)]);

    let proxy = RecordingProxy::to(secured.address);
    for (scheme, expected) in [
        ("http", "connect papir.invalid:7470"),
        ("socks5", "socks5 papir.invalid:7470"),
    ] {
        let options = Options {
            ca: Some(authority.root()),
            ..through(&format!("{scheme}://{}", proxy.address))
        };
        look_up::<C>("https", &options).unwrap();
        assert_all(&proxy, &[expected]);
    }
}

fn logins_are_sent_and_their_refusal_is_final<C: AnyConnection>() {
    let service = service();
    let proxy = RecordingProxy::with_login(service.address);

    for scheme in ["socks5", "http"] {
        let options = through(&format!("{scheme}://{LOGIN}@{}", proxy.address));
        look_up::<C>("http", &options).unwrap();
        assert!(proxy.take().iter().all(|asked| asked.contains(HOST)));

        for (login, words) in [("", "asks for a login"), ("name:other@", "refuses")] {
            let options = through(&format!("{scheme}://{login}{}", proxy.address));
            let error = look_up::<C>("http", &options).unwrap_err();
            let text = error.to_string();
            assert!(!error.is_retryable() && !text.contains("other"), "{text}");

            // Over plain HTTP, a transport may get the refusal as the response of the service.
            match &error {
                Error::Transport { source, .. } => {
                    assert!(source.is::<FinalFailure>(), "{text}");
                    assert!(text.contains(words), "{text}");
                    assert!(text.contains(&proxy.address.to_string()), "{text}");
                }
                Error::Http { status, code, .. } => {
                    assert_eq!((*status, code.as_str()), (407, "proxy_login"));
                }
                other => panic!("{other}"),
            }
        }
        proxy.take();
    }
}

fn a_proxy_that_fails_is_never_passed_by<C: AnyConnection>() {
    let service = service();
    let proxy = RecordingProxy::to(service.address);

    // The proxy refuses this address, which a direct connection would reach.
    for scheme in ["socks5", "http"] {
        let options = through(&format!("{scheme}://{}", proxy.address));
        let refused = C::open_with(&service.url(), &options).map(drop);
        assert!(refused.is_err());
        let asked = proxy.take();
        assert!(!asked.is_empty() && asked.iter().all(|one| !one.contains(HOST)));
    }

    // Nothing listens on port 1.
    for scheme in ["socks5", "http", "https"] {
        let options = through(&format!("{scheme}://127.0.0.1:1"));
        let error = C::open_with(&service.url(), &options)
            .map(drop)
            .unwrap_err();
        let text = error.to_string();
        assert!(text.contains("through the proxy "), "{text}");
        assert!(text.contains("127.0.0.1:1 (the option"), "{text}");
    }

    let direct = Options {
        allow_not_private: true,
        ..stateless()
    }
    .proxy("none".parse().unwrap());
    let mut connection = C::open_with(&service.url(), &direct).unwrap();
    assert_eq!(connection.get_index(5).unwrap(), record(5));
    assert!(proxy.take().is_empty());
}
