//! Tests of the choice of a proxy.

#![allow(clippy::unwrap_used)]

use std::ffi::OsString;

use super::address::{OPTION, ProxyAddress};
use super::choice::{ProxiedTarget, ProxySetting, choose, named, shared};
use super::variables::Variables;
use crate::core::Address;
use crate::error::{Error, Result};

fn variables(set: &[(&str, &str)]) -> Variables {
    Variables::read(|name| {
        set.iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| OsString::from(value))
    })
}

/// Returns the proxy of the environment for a service: its address and its variable.
fn chosen(set: &[(&str, &str)], url: &str) -> Result<Option<String>> {
    let address = Address::parse(url).unwrap();
    let chosen = choose(&ProxySetting::Environment, &variables(set), &address)?;
    Ok(chosen.map(|proxy| format!("{} {}", proxy.source, proxy.address.url())))
}

#[test]
fn each_protocol_has_its_variables() {
    for (set, url, expected) in [
        (&[][..], "https://h", None),
        (
            &[("HTTPS_PROXY", "http://p:1")][..],
            "https://h",
            Some("HTTPS_PROXY http://p:1"),
        ),
        (&[("HTTPS_PROXY", "http://p:1")], "http://h", None),
        (
            &[("HTTP_PROXY", "p")],
            "http://h:7470",
            Some("HTTP_PROXY http://p:80"),
        ),
        (&[("HTTP_PROXY", "p")], "https://h", None),
        (
            &[("ALL_PROXY", "socks5://p"), ("HTTPS_PROXY", "https://q")],
            "https://h",
            Some("HTTPS_PROXY https://q:443"),
        ),
        (
            &[("ALL_PROXY", "socks5://p"), ("HTTPS_PROXY", "https://q")],
            "http://h",
            Some("ALL_PROXY socks5h://p:1080"),
        ),
        (
            &[("all_proxy", "http://a"), ("ALL_PROXY", "http://b")],
            "http://h",
            Some("all_proxy http://a:80"),
        ),
        // Empty variables count as not set.
        (
            &[("http_proxy", ""), ("ALL_PROXY", "http://b")],
            "http://h",
            Some("ALL_PROXY http://b:80"),
        ),
        // A CGI program gets HTTP_PROXY from a header of the request.
        (
            &[("HTTP_PROXY", "http://evil"), ("REQUEST_METHOD", "GET")],
            "http://h",
            None,
        ),
        (
            &[("http_proxy", "http://own"), ("REQUEST_METHOD", "GET")],
            "http://h",
            Some("http_proxy http://own:80"),
        ),
    ] {
        let found = chosen(set, url).unwrap();
        assert_eq!(found.as_deref(), expected, "{set:?} {url}");
    }
}

#[test]
fn this_machine_is_reached_directly_unless_an_option_names_a_proxy() {
    let set = [("ALL_PROXY", "http://p"), ("HTTP_PROXY", "nonsense://p")];
    for url in [
        "http://localhost:7470",
        "http://127.3.2.1",
        "http://[::1]:1",
        "unix:/run/papir.sock",
    ] {
        assert_eq!(chosen(&set, url).unwrap(), None, "{url}");
    }

    let given: ProxySetting = "socks5://p:9".parse().unwrap();
    let local = Address::parse("http://localhost:7470").unwrap();
    let proxy = choose(&given, &variables(&[]), &local).unwrap().unwrap();
    assert_eq!(proxy.address.url(), "socks5h://p:9");

    let socket = Address::parse("unix:/run/papir.sock").unwrap();
    let refused = choose(&given, &variables(&[]), &socket);
    assert!(matches!(refused, Err(Error::BadProxy { .. })));
}

#[test]
fn an_option_overrides_the_variables() {
    let set = variables(&[("ALL_PROXY", "nonsense://p"), ("NO_PROXY", "*")]);
    let address = Address::parse("https://h").unwrap();

    let none: ProxySetting = "none".parse().unwrap();
    assert_eq!(choose(&none, &set, &address).unwrap(), None);

    let given: ProxySetting = "http://q".parse().unwrap();
    let proxy = choose(&given, &set, &address).unwrap().unwrap();
    assert_eq!(proxy.address.url(), "http://q:80");
}

#[test]
fn a_proxy_that_cannot_be_used_is_an_error_that_names_the_variable() {
    for bad in [
        "socks4://p:1",
        "socks://p:1",
        "ftp://p",
        "http://",
        "socks5://:1080",
        "http://p:99999",
        "http://p:0",
        "http://p:x",
        "http://p/path",
        "http://p?x",
        "http://p q",
        "http://pröxy",
        "http://[::1",
        "http://[p]",
        "http://:secret@p",
        "http://name:%zzsecret@p",
        "socks5://name@p",
        "socks5://name:@p",
        "name:secret@ftp://p",
    ] {
        let error = chosen(&[("all_proxy", bad)], "https://h")
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("all_proxy: bad proxy: "),
            "{bad}: {error}"
        );
        assert!(!error.contains("secret"), "{error}");
    }

    // Another proxy's variable does not matter.
    let set = [("HTTP_PROXY", "ftp://p"), ("HTTPS_PROXY", "http://q")];
    assert!(chosen(&set, "https://h").unwrap().is_some());
}

#[cfg(unix)]
#[test]
fn a_variable_that_is_not_text_is_an_error() {
    use std::os::unix::ffi::OsStringExt;

    let set = Variables::read(|name| {
        (name == "ALL_PROXY").then(|| OsString::from_vec(b"http://\xff".to_vec()))
    });
    let address = Address::parse("https://h").unwrap();
    let error = choose(&ProxySetting::Environment, &set, &address).unwrap_err();
    assert!(error.to_string().starts_with("ALL_PROXY: "), "{error}");
}

#[test]
fn logins_are_sent_and_not_printed() {
    let proxy: ProxyAddress = "socks5h://na%6De:p%40ss%3aword@[2001:db8::1]:9"
        .parse()
        .unwrap();
    assert_eq!(proxy.url(), "socks5h://name:p%40ss%3Aword@[2001:db8::1]:9");
    for printed in [proxy.to_string(), format!("{proxy:?}")] {
        assert!(!printed.contains("word"), "{printed}");
        assert!(printed.contains("[2001:db8::1]:9"), "{printed}");
    }

    let key: ProxyAddress = "http://key@p".parse().unwrap();
    assert_eq!(key.url(), "http://key:@p:80");
}

#[test]
fn excluded_hosts_are_reached_directly() {
    for (entries, url, direct) in [
        ("*", "http://h", true),
        ("", "http://h", false),
        ("example.org", "http://example.org", true),
        ("example.org", "http://www.Example.ORG", true),
        ("example.org", "http://example.org.:80", true),
        (".example.org", "http://example.org", true),
        ("*.example.org", "http://a.b.example.org", true),
        ("example.org", "http://badexample.org", false),
        ("example.org", "http://example.org.evil", false),
        ("a, example.org\tb", "http://example.org", true),
        ("example.org:80", "http://example.org", true),
        ("example.org:80", "https://example.org", false),
        ("*:443", "https://h", true),
        ("example.org:x", "http://example.org", false),
        ("10.0.0.0/8", "http://10.255.0.1:7470", true),
        ("10.0.0.0/8", "http://11.0.0.1", false),
        ("10.0.0.0/33", "http://10.0.0.1", false),
        ("10.0.0.1", "http://10.0.0.1", true),
        ("10.0.0.1:80", "http://10.0.0.1:81", false),
        // The end of an address is no domain.
        ("0.0.1", "http://10.0.0.1", false),
        (".1", "http://10.0.0.1", false),
        ("2001:db8::/32", "http://[2001:db8::5]", true),
        ("2001:db8::5", "http://[2001:DB8::5]:9", true),
        ("[2001:db8::5]:9", "http://[2001:db8::5]:9", true),
        ("[2001:db8::5]:9", "http://[2001:db8::5]:8", false),
        ("exam*", "http://example", false),
    ] {
        let set = [("ALL_PROXY", "http://p"), ("NO_PROXY", entries)];
        let found = chosen(&set, url).unwrap();
        assert_eq!(found.is_none(), direct, "{entries:?} {url}");
    }

    // An excluded host needs no proxy that can be used.
    let set = [("ALL_PROXY", "ftp://p"), ("no_proxy", "h")];
    assert_eq!(chosen(&set, "http://h").unwrap(), None);
}

#[test]
fn hosts_that_are_not_known_yet_get_the_proxy_and_the_exclusions() {
    let set = variables(&[("HTTPS_PROXY", "socks5://p"), ("NO_PROXY", "a,b")]);
    let https = shared(&ProxySetting::Environment, &set, true).unwrap();
    assert_eq!(https.chosen.unwrap().address.url(), "socks5h://p:1080");
    assert_eq!(https.exclusions, "localhost,127.0.0.0/8,::1,a,b");
    assert_eq!(
        shared(&ProxySetting::Environment, &set, false)
            .unwrap()
            .chosen,
        None
    );

    for (entries, expected) in [
        ("", "localhost,127.0.0.0/8,::1"),
        ("a, .b\t*.c,", "localhost,127.0.0.0/8,::1,a,.b,.c"),
        ("*", "localhost,127.0.0.0/8,::1,*,0.0.0.0/0,::/0"),
        ("*:9", "localhost,127.0.0.0/8,::1,*:9"),
    ] {
        let set = variables(&[("ALL_PROXY", "http://p"), ("NO_PROXY", entries)]);
        let found = shared(&ProxySetting::Environment, &set, true).unwrap();
        assert_eq!(found.exclusions, expected, "{entries:?}");
    }

    let given: ProxySetting = "http://q".parse().unwrap();
    let shared_proxy = shared(&given, &set, true).unwrap();
    assert_eq!(shared_proxy.chosen.unwrap().address.url(), "http://q:80");
    assert_eq!(shared_proxy.exclusions, "");
}

#[test]
fn beside_http_the_variable_for_all_counts() {
    let set = variables(&[
        ("ALL_PROXY", "socks5://p"),
        ("HTTPS_PROXY", "http://q"),
        ("NO_PROXY", "inside"),
    ]);
    let name = |setting: &ProxySetting, host: &str| {
        named(setting, &set, ProxiedTarget::other(host, 5432)).unwrap()
    };

    let environment = ProxySetting::Environment;
    assert_eq!(name(&environment, "db"), Some("ALL_PROXY"));
    assert_eq!(name(&environment, "inside"), None);
    assert_eq!(name(&environment, "127.0.0.1"), None);
    assert_eq!(name(&ProxySetting::Direct, "db"), None);
    assert_eq!(
        name(&"http://q".parse().unwrap(), "127.0.0.1"),
        Some(OPTION)
    );

    let http_only = variables(&[("HTTPS_PROXY", "http://q")]);
    let target = ProxiedTarget::other("db", 5432);
    assert_eq!(named(&environment, &http_only, target).unwrap(), None);
}
