//! Pages of other web origins (CORS).

use std::collections::BTreeSet;

use crate::support::{Reply, Running, config, get, indexed, lookup, rng, send};
use papir_server::{ClientLimits, Origin, Protection, ServerConfig};

const APP: &str = "https://app.example";
const OTHER: &str = "http://localhost:8080";

fn start(origins: &[&str], limits: ClientLimits) -> Running {
    let origins = origins
        .iter()
        .map(|origin| origin.parse::<Origin>().unwrap())
        .collect();
    let protection = Protection {
        origins,
        limits,
        ..Protection::default()
    };
    Running::start(
        ServerConfig {
            protection,
            ..config()
        },
        vec![indexed("table", "plain", 50)],
    )
}

fn preflight(url: &str, origin: &str, method: &str) -> Reply {
    let asked = "authorization,content-type,papir-version";
    let headers = [
        ("origin", origin),
        ("access-control-request-method", method),
        ("access-control-request-headers", asked),
    ];
    send("OPTIONS", url, &headers, b"")
}

/// The CORS headers of a reply.
fn cors(reply: &Reply) -> Vec<(String, String)> {
    let all = reply
        .headers
        .iter()
        .filter(|(name, _)| name.as_str().starts_with("access-control-"));
    all.map(|(name, value)| (name.to_string(), value.to_str().unwrap().to_owned()))
        .collect()
}

/// A list in a header, as a set.
fn list<'r>(reply: &'r Reply, name: &str) -> BTreeSet<&'r str> {
    reply.header(name).unwrap_or_default().split(',').collect()
}

#[test]
fn preflights_of_every_route_name_what_clients_send() {
    let server = start(&[APP, OTHER], ClientLimits::default());
    let document = get(&format!("{}/openapi.json", server.url())).json();
    let paths = document["paths"].as_object().unwrap();
    assert!(paths.len() > 10);
    for (path, item) in paths {
        let url = format!("{}{}", server.url(), path.replace(['{', '}'], "7"));
        for method in item
            .as_object()
            .unwrap()
            .keys()
            .map(|method| method.to_uppercase())
        {
            let reply = preflight(&url, OTHER, &method);
            assert_eq!(
                (reply.status, reply.body.len()),
                (200, 0),
                "{method} {path}"
            );
            assert_eq!(
                reply.header("access-control-allow-origin"),
                Some(OTHER),
                "{method} {path}"
            );
            assert!(
                list(&reply, "access-control-allow-methods").contains(method.as_str()),
                "{method} {path}"
            );
        }
    }
    let reply = preflight(
        &format!("{}/v1/databases/table/query", server.url()),
        APP,
        "POST",
    );
    assert_eq!(reply.header("access-control-allow-origin"), Some(APP));
    let methods = BTreeSet::from(["GET", "HEAD", "POST", "PATCH", "DELETE"]);
    assert_eq!(list(&reply, "access-control-allow-methods"), methods);
    let sent = BTreeSet::from([
        "authorization",
        "content-type",
        "if-none-match",
        "papir-version",
        "papir-client",
        "papir-ticket",
        "papir-upload-length",
        "papir-upload-offset",
        "x-request-id",
        "traceparent",
    ]);
    assert_eq!(list(&reply, "access-control-allow-headers"), sent);
    assert_eq!(reply.header("access-control-max-age"), Some("7200"));
    assert_eq!(reply.header("access-control-allow-credentials"), None);
    let vary: Vec<_> = reply
        .headers
        .get_all("vary")
        .iter()
        .map(|value| value.to_str().unwrap())
        .collect();
    assert!(
        vary.concat().contains("origin"),
        "caches keep responses of origins apart: {vary:?}"
    );
}

#[test]
fn responses_can_be_read_by_allowed_origins_only() {
    let server = start(&[APP], ClientLimits::default());
    let query = lookup(&server.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();
    let url = format!("{}/v1/databases/table/query", server.url());
    let read = [
        "etag",
        "papir-upload-length",
        "papir-upload-offset",
        "papir-version",
        "retry-after",
        "www-authenticate",
        "x-request-id",
    ];
    for (body, status) in [(&query[..], 200), (b"short", 400)] {
        let reply = send("POST", &url, &[("origin", APP)], body);
        assert_eq!(reply.status, status);
        assert_eq!(
            reply.header("access-control-allow-origin"),
            Some(APP),
            "{status}"
        );
        assert_eq!(
            list(&reply, "access-control-expose-headers"),
            read.into(),
            "{status}"
        );
        assert_eq!(cors(&reply).len(), 2, "{:?}", cors(&reply));
        for origin in [
            "https://app.example.evil.example",
            "http://app.example",
            "null",
        ] {
            let reply = send("POST", &url, &[("origin", origin)], body);
            assert_eq!(
                (reply.status, reply.header("access-control-allow-origin")),
                (status, None),
                "{origin}"
            );
        }
    }
    let denied = preflight(&url, "https://evil.example", "POST");
    assert_eq!(denied.header("access-control-allow-origin"), None);
    // Nobody's page: a client that is no browser.
    assert_eq!(
        send("POST", &url, &[], &query).header("access-control-allow-origin"),
        None
    );
}

#[test]
fn a_star_allows_every_origin() {
    let server = start(&["*"], ClientLimits::default());
    let url = format!("{}/v1/databases", server.url());
    for origin in [APP, "null"] {
        assert_eq!(
            send("GET", &url, &[("origin", origin)], b"").header("access-control-allow-origin"),
            Some("*")
        );
        assert_eq!(
            preflight(&url, origin, "GET").header("access-control-allow-origin"),
            Some("*")
        );
    }
}

#[test]
fn without_origins_there_are_no_headers() {
    let server = start(&[], ClientLimits::default());
    for path in ["/v1/databases", "/v1/databases/table/query", "/nowhere"] {
        let url = format!("{}{path}", server.url());
        for reply in [
            preflight(&url, APP, "POST"),
            send("GET", &url, &[("origin", APP)], b""),
        ] {
            assert_eq!(cors(&reply), [], "{path}");
            assert_eq!(reply.header("vary"), None, "{path}");
        }
        let status = if path == "/nowhere" { 404 } else { 405 };
        assert_eq!(preflight(&url, APP, "POST").status, status, "{path}");
    }
}

#[test]
fn preflights_count_towards_no_limit_and_refusals_can_be_read() {
    let limits = ClientLimits {
        rate: Some("1/h".parse().unwrap()),
        burst: 1,
        per_client: 0,
    };
    let server = start(&[APP], limits);
    let url = format!("{}/v1/databases/table/public", server.url());
    for _ in 0..20 {
        assert_eq!(preflight(&url, APP, "GET").status, 200);
    }
    assert_eq!(send("GET", &url, &[("origin", APP)], b"").status, 200);
    let refused = send("GET", &url, &[("origin", APP)], b"");
    assert_eq!((refused.status, refused.code().as_str()), (429, "too_many"));
    assert_eq!(refused.header("access-control-allow-origin"), Some(APP));
    assert_eq!(preflight(&url, APP, "GET").status, 200);
}
