//! Proxies of the environment and of `--proxy`.

use std::net::SocketAddr;
use std::process::Output;

use papir_testkit::proxy::{HOST, LOGIN, RecordingProxy};

use crate::support::{Folder, Service, program};
use crate::tls::{self_signed, serve};

/// Runs papir with environment variables.
fn papir_in(environment: &[(&str, &str)], arguments: &[&str]) -> Output {
    program()
        .envs(environment.iter().copied())
        .args(arguments)
        .output()
        .unwrap()
}

/// Runs papir, which must fail with this exit code. Returns its stderr.
#[track_caller]
fn fails_in(code: i32, environment: &[(&str, &str)], arguments: &[&str]) -> String {
    let output = papir_in(environment, arguments);
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(
        output.status.code(),
        Some(code),
        "{environment:?} papir {arguments:?}: {stderr}"
    );
    stderr
}

#[test]
fn a_relay_that_cannot_be_used_is_not_passed_by() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(50, "inspire")], &[]);
    let get = ["get", &service.url, "key-7"];
    let with = |options: &[&'static str]| [&get[..], options].concat();

    let relay = "http://name:secret@127.0.0.1:9";
    let away = fails_in(3, &[], &with(&["--relay", relay]));
    let expected = "through the relay http://name:***@127.0.0.1:9: ";
    assert!(away.contains(expected), "{away}");
    assert!(away.contains(&service.url), "{away}");

    let plain = fails_in(2, &[], &with(&["--relay", "http://name:secret@r.example"]));
    assert!(plain.contains("no connection was made: "), "{plain}");
    assert!(plain.contains("bad relay: "), "{plain}");
    assert!(!plain.contains("secret"), "{plain}");

    let keys = fails_in(
        2,
        &[],
        &with(&["--relay", relay, "--ohttp-keys", "/nonexistent/keys"]),
    );
    assert!(
        keys.contains("no connection was made: /nonexistent/keys: "),
        "{keys}"
    );
    fails_in(2, &[], &with(&["--ohttp-keys", "/nonexistent/keys"]));

    let doctor = papir_in(&[], &["doctor", &service.url, "--relay", relay]);
    let findings = String::from_utf8(doctor.stdout).unwrap();
    assert!(findings.starts_with("fail  relay "), "{findings}");
}

fn address(service: &Service) -> SocketAddr {
    service
        .url
        .strip_prefix("http://")
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn lookups_go_through_the_proxy_of_a_variable_or_of_the_option() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(50, "inspire")], &[]);
    let proxy = RecordingProxy::with_login(address(&service));
    let socks = &*format!("socks5://{LOGIN}@{}", proxy.address);
    let http = &*format!("http://{LOGIN}@{}", proxy.address);
    let url = format!("http://{HOST}:7470");
    let get = ["get", &url, "key-7"];

    for (environment, option) in [
        (vec![("ALL_PROXY", socks)], None),
        (vec![("http_proxy", http), ("ALL_PROXY", "bad://")], None),
        (vec![("HTTP_PROXY", http)], None),
        (vec![], Some(socks)),
        (vec![("ALL_PROXY", "bad://"), ("NO_PROXY", "*")], Some(http)),
    ] {
        let mut arguments = get.to_vec();
        arguments.extend(option.into_iter().flat_map(|proxy| ["--proxy", proxy]));
        let output = papir_in(&environment, &arguments);
        let stderr = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.stdout, b"value-7", "{environment:?} {stderr}");

        let asked = proxy.take();
        let all_known = asked.iter().all(|one| one.contains(HOST));
        assert!(!asked.is_empty() && all_known, "{asked:?}");
    }

    // Every command that connects does so.
    for command in [&["inspect", "--ready", &url][..], &["doctor", &url]] {
        let output = papir_in(&[("ALL_PROXY", socks)], command);
        assert_eq!(output.status.code(), Some(0), "{command:?}");
        assert!(!proxy.take().is_empty(), "{command:?}");
    }
}

#[test]
fn a_proxy_that_cannot_be_used_is_an_error_and_never_passed_by() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(50, "inspire")], &[]);
    let url = format!("http://{HOST}:7470");
    let get = ["get", url.as_str(), "key-7"];

    for bad in ["socks4://127.0.0.1:9", "http://127.0.0.1:99999", "http://"] {
        let stderr = fails_in(2, &[("ALL_PROXY", bad)], &get);
        assert!(stderr.contains("ALL_PROXY: bad proxy: "), "{stderr}");
        assert!(stderr.contains("--proxy none"), "{stderr}");
    }
    let stderr = fails_in(2, &[], &["get", &url, "key-7", "--proxy", "ftp://p"]);
    assert!(stderr.contains("expected http, https, socks5"), "{stderr}");

    // Nothing listens on port 1. A service on this machine would be reached directly.
    let unused = [
        "get",
        &service.url,
        "key-7",
        "--proxy",
        "socks5://127.0.0.1:1",
    ];
    let stderr = fails_in(3, &[], &unused);
    let words = "through the proxy socks5h://127.0.0.1:1";
    assert!(stderr.contains(words), "{stderr}");
    let output = papir_in(
        &[("ALL_PROXY", "socks5://127.0.0.1:1")],
        &["get", &service.url, "key-7"],
    );
    assert_eq!(output.stdout, b"value-7");
}

#[test]
fn a_refused_certificate_of_a_proxy_names_the_proxy() {
    let folder = Folder::new();
    folder.words(10, "plain");
    let own = self_signed(&folder, "own", "127.0.0.1", (2020, 2100));
    // A service takes the place of the proxy: no request reaches it.
    let service = serve(&folder, &own);
    let proxy = &service.url;
    for scheme in ["http", "https"] {
        let url = format!("{scheme}://{HOST}:7470");
        let stderr = fails_in(2, &[], &["get", &url, "key-7", "--proxy", proxy]);
        let words = format!("the certificate of the proxy {proxy}");
        assert!(stderr.contains(&words), "{stderr}");
        assert!(stderr.contains("--ca FILE"), "{stderr}");
    }
}

#[test]
fn proxy_none_connects_directly() {
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(50, "inspire")], &[]);
    let proxy = RecordingProxy::to(address(&service));
    let socks = format!("socks5://{}", proxy.address);
    // Too long for a part of a name, so that no resolver is asked for it.
    let url = format!("http://{}.invalid:7470", "x".repeat(64));

    fails_in(3, &[("ALL_PROXY", &socks)], &["get", &url, "key-7"]);
    assert!(!proxy.take().is_empty());
    let direct = ["get", &url, "key-7", "--proxy", "none"];
    fails_in(3, &[("ALL_PROXY", &socks)], &direct);
    let excluded = [("ALL_PROXY", socks.as_str()), ("NO_PROXY", ".invalid")];
    fails_in(3, &excluded, &["get", &url, "key-7"]);
    assert_eq!(proxy.take(), [""; 0]);
}

#[cfg(feature = "postgres")]
#[test]
fn postgres_is_refused_if_a_proxy_applies() {
    let folder = Folder::new();
    let words = folder.words(50, "inspire");
    let proxy = [("ALL_PROXY", "socks5://127.0.0.1:9")];
    let registry = "postgres://papir@db.invalid/papir";

    for command in [
        &[
            "follow",
            "postgres://papir@db.invalid/shop",
            "--publish",
            &words,
        ][..],
        &[
            "serve",
            &words,
            "--listen",
            "127.0.0.1:0",
            "--registry",
            registry,
        ],
        &["clients", registry, "list"],
    ] {
        let stderr = fails_in(2, &proxy, command);
        assert!(stderr.contains("ALL_PROXY"), "{command:?}: {stderr}");
        assert!(stderr.contains("--proxy none"), "{command:?}: {stderr}");
    }

    // Nothing listens on port 1 of this machine, which is reached directly.
    let local = ["clients", "postgres://papir@127.0.0.1:1/papir", "list"];
    let output = papir_in(&proxy, &local);
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(
        !output.status.success() && !stderr.contains("proxy"),
        "{stderr}"
    );
}

#[cfg(feature = "cloud")]
#[test]
fn object_stores_are_reached_through_the_proxy() {
    let folder = Folder::new();
    let words = folder.words(50, "inspire");
    let service = Service::start(&[&words], &[]);
    let proxy = RecordingProxy::to(address(&service));
    let socks = format!("socks5://{}", proxy.address);
    let environment = [
        ("AWS_ENDPOINT_URL", "http://papir.invalid:9000"),
        ("AWS_ALLOW_HTTP", "true"),
        ("AWS_REGION", "us-east-1"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("ALL_PROXY", &socks),
    ];

    // The service is no object store: it knows no such object.
    let copy = folder.path("copy.papir");
    let pull = ["pull", "s3://data/words.papir", &copy];
    let stderr = fails_in(2, &environment, &pull);
    assert!(stderr.contains("no such object"), "{stderr}");
    let asked = proxy.take();
    assert!(!asked.is_empty());
    assert!(asked.iter().all(|one| one == "socks5 papir.invalid:9000"));

    let push = ["push", &words, "s3://data/", "--proxy", "ftp://p"];
    fails_in(2, &environment, &push);
    let bad = [("ALL_PROXY", "ftp://p")];
    let stderr = fails_in(2, &bad, &["versions", "s3://data/words.papir"]);
    assert!(stderr.contains("ALL_PROXY: bad proxy"), "{stderr}");
    assert_eq!(proxy.take(), [""; 0]);
}
