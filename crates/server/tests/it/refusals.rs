//! Statuses and codes of refused requests. The service still answers afterwards.

use crate::support::{Running, config, get, indexed, keyed, lookup, post, rng, send};
use papir_core::envelope::{Header, Kind, OVERHEAD, seal};
use papir_core::{Privacy, Version};
use papir_lookup::Lookup;
use papir_server::{Error, Server};

struct Table {
    server: Running,
    lookup: Lookup,
    query_url: String,
}

impl Table {
    fn start() -> Self {
        let server = Running::start(config(), vec![indexed("table", "plain", 100)]);
        let lookup = lookup(&server.url(), "table");
        let query_url = format!("{}/v1/databases/table/query", server.url());
        Self {
            server,
            lookup,
            query_url,
        }
    }

    fn query(&self) -> Vec<u8> {
        self.lookup
            .prepare_index(7, &mut rng())
            .unwrap()
            .queries()
            .concat()
    }

    #[track_caller]
    fn refuses(&self, body: &[u8], status: u16, code: &str) {
        let reply = post(&self.query_url, body);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (status, code),
            "{:?}",
            reply.json()
        );
    }
}

#[test]
fn damaged_queries_are_refused() {
    let table = Table::start();
    let query = table.query();
    for length in [0, 1, OVERHEAD, query.len() - 1] {
        table.refuses(&query[..length], 400, "wrong_length");
    }
    let mut longer = query.clone();
    longer.push(0);
    table.refuses(&longer, 400, "wrong_length");
    for (bit, code) in [
        (0, "malformed"),
        (16 * 8, "wrong_length"),
        (query.len() * 8 - 1, "checksum"),
    ] {
        let mut flipped = query.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        table.refuses(&flipped, 400, code);
    }
    for bit in (0..query.len() * 8).step_by(13) {
        let mut flipped = query.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert_eq!(post(&table.query_url, &flipped).status, 400, "bit {bit}");
    }
    assert_eq!(
        post(&table.query_url, &query).status,
        200,
        "the service still answers"
    );
}

#[test]
fn queries_for_other_schemes_and_versions_are_refused() {
    let table = Table::start();
    let version = table.lookup.version();
    let size = table.query().len() - OVERHEAD;
    let sealed = |kind, scheme, version| {
        seal(
            &Header {
                kind,
                scheme,
                version,
            },
            &vec![0; size],
        )
    };
    table.refuses(&sealed(Kind::Query, 999, version), 400, "wrong_scheme");
    table.refuses(&sealed(Kind::Answer, 0, version), 400, "malformed");
    let old = post(&table.query_url, &sealed(Kind::Query, 0, Version([7; 8])));
    assert_eq!((old.status, old.code().as_str()), (409, "wrong_version"));
    assert_eq!(old.json()["version"], version.to_string());
    // A plain query for record 2^64 - 1: well formed, but out of range.
    let mut payload = vec![0; size];
    payload[16..25].copy_from_slice(&[1, 255, 255, 255, 255, 255, 255, 255, 255]);
    let header = Header {
        kind: Kind::Query,
        scheme: 0,
        version,
    };
    table.refuses(&seal(&header, &payload), 400, "index_out_of_range");
}

#[test]
fn an_invalid_query_fails_its_batch_and_is_numbered() {
    let table = Table::start();
    let mut batch = [table.query(), table.query(), table.query()].concat();
    let end = batch.len() - 1;
    batch[end] ^= 1;
    let reply = post(&table.query_url, &batch);
    assert_eq!((reply.status, reply.code().as_str()), (400, "checksum"));
    assert!(
        reply.json()["detail"]
            .as_str()
            .unwrap()
            .starts_with("query 3 of 3: ")
    );
}

#[test]
fn the_version_header_is_checked_before_the_body() {
    let table = Table::start();
    let send = |version: &str| {
        send(
            "POST",
            &table.query_url,
            &[("papir-version", version)],
            &table.query(),
        )
    };
    let stale = send("0707070707070707");
    let bad = send("seven");
    assert_eq!(
        (stale.status, stale.code().as_str()),
        (409, "wrong_version")
    );
    assert_eq!(stale.json()["version"], table.lookup.version().to_string());
    assert_eq!((bad.status, bad.code().as_str()), (400, "malformed"));
    let good = send(&table.lookup.version().to_string());
    assert_eq!(good.status, 200);
    assert_eq!(
        good.header("papir-version").unwrap(),
        table.lookup.version().to_string()
    );
}

#[test]
fn bodies_beyond_the_largest_batch_are_refused() {
    let table = Table::start();
    let info = get(&format!("{}/v1/databases/table", table.server.url())).json();
    let limit =
        (info["max_batch"].as_u64().unwrap() * info["sizes"]["query"].as_u64().unwrap()) as usize;
    let largest = table
        .query()
        .repeat(info["max_batch"].as_u64().unwrap() as usize);
    assert_eq!(largest.len(), limit);
    assert_eq!(post(&table.query_url, &largest).status, 200);
    table.refuses(&vec![0; limit + 1], 413, "too_long");
    table.refuses(&vec![0; limit + (1 << 20)], 413, "too_long");
}

#[test]
fn unknown_paths_and_methods_are_refused() {
    let table = Table::start();
    let url = table.server.url();
    for (method, path, status, code) in [
        ("GET", "/", 404, "unknown_route"),
        ("GET", "/v1/databases/", 404, "unknown_route"),
        ("POST", "/v2/databases", 404, "unknown_route"),
        ("GET", "/v1/databases/other", 404, "unknown_database"),
        ("GET", "/v1/databases/other/public", 404, "unknown_database"),
        (
            "GET",
            "/v1/databases/other/public/0707070707070707/hashes",
            404,
            "unknown_database",
        ),
        (
            "GET",
            "/v1/databases/table/public/0707070707070707",
            404,
            "unknown_route",
        ),
        ("GET", "/v1/databases/%ff%fe", 404, "unknown_database"),
        ("POST", "/v1/databases/other/query", 404, "unknown_database"),
        ("GET", "/v1/databases/table/query", 405, "wrong_method"),
        ("POST", "/v1/databases/table", 405, "wrong_method"),
        ("PUT", "/v1/databases/table/public", 405, "wrong_method"),
        ("DELETE", "/healthz", 405, "wrong_method"),
    ] {
        let reply = send(method, &format!("{url}{path}"), &[], b"");
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (status, code),
            "{method} {path}"
        );
        assert_eq!(
            reply.header("content-type"),
            Some("application/problem+json"),
            "{method} {path}"
        );
    }
    let unknown = get(&format!("{url}/v1/databases/other")).json().to_string();
    assert!(unknown.contains("`table`"), "{unknown}");
}

#[test]
fn databases_are_described() {
    let server = Running::start(
        config(),
        vec![
            indexed("table", "simple", 100),
            keyed("words", "plain", "a"),
        ],
    );
    let url = server.url();
    assert_eq!(get(&format!("{url}/healthz")).status, 200);
    assert_eq!(get(&format!("{url}/readyz")).status, 200);
    let list = get(&format!("{url}/v1/databases")).json();
    let names: Vec<_> = list["databases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| &one["name"])
        .collect();
    assert_eq!(names, ["table", "words"]);
    let table = get(&format!("{url}/v1/databases/table")).json();
    let words = get(&format!("{url}/v1/databases/words")).json();
    assert_eq!(
        (&table["records"], &table["record_bits"]),
        (&100.into(), &192.into())
    );
    assert_eq!(
        (&table["keyed"], &words["keyed"]),
        (&false.into(), &true.into())
    );
    assert!(table["lookups_per_key"].is_null() && words["lookups_per_key"].as_u64() >= Some(1));
    assert!(table["security_bits"].as_f64().unwrap() >= 128.0 && words["security_bits"].is_null());
    assert!(table["failure_log2"].as_f64().unwrap() <= -40.0);
    assert_eq!(
        (&table["private"], &words["private"]),
        (&true.into(), &false.into())
    );
    assert!(!table["parameters"].as_object().unwrap().is_empty());
    for name in ["table", "words"] {
        let info = get(&format!("{url}/v1/databases/{name}")).json();
        let public = get(&format!("{url}/v1/databases/{name}/public"));
        assert_eq!(info["sizes"]["bundle"], public.body.len(), "{name}");
        assert_eq!(info["version"], public.header("papir-version").unwrap());
        let description = lookup(&url, name).describe();
        assert_eq!(info["sizes"]["query"], description.sizes.query);
        assert_eq!(info["private"], description.privacy == Privacy::Private);
    }
}

#[test]
fn a_known_public_part_is_not_sent_again() {
    let table = Table::start();
    let url = format!("{}/v1/databases/table/public", table.server.url());
    let tag = get(&url).header("etag").unwrap().to_owned();
    assert_eq!(tag, format!("\"{}\"", table.lookup.version()));
    for known in [tag.clone(), format!("\"x\", W/{tag}"), "*".to_owned()] {
        let reply = send("GET", &url, &[("if-none-match", &known)], b"");
        assert_eq!((reply.status, reply.body.len()), (304, 0), "{known}");
        assert_eq!(reply.header("etag"), Some(tag.as_str()));
    }
    assert_eq!(
        send("GET", &url, &[("if-none-match", "\"other\"")], b"").status,
        200
    );
}

#[tokio::test]
async fn invalid_configurations_are_refused_at_startup() {
    let private = papir_server::ServerConfig {
        allow_not_private: false,
        ..config()
    };
    let refused = Server::bind_loaded(private, vec![indexed("table", "plain", 9)])
        .await
        .map(drop);
    assert!(
        refused
            .unwrap_err()
            .to_string()
            .contains("plain is not private")
    );
    let twins = vec![indexed("table", "plain", 9), indexed("table", "plain", 9)];
    let refused = Server::bind_loaded(config(), twins).await.map(drop);
    assert!(
        matches!(refused, Err(Error::DuplicateName { .. })),
        "{refused:?}"
    );
    assert!(matches!(
        Server::bind_loaded(config(), vec![]).await.map(drop),
        Err(Error::NoDatabases)
    ));
    assert!(matches!(
        Server::bind(config()).await.map(drop),
        Err(Error::NoDatabases)
    ));
    let taken = Server::bind_loaded(config(), vec![indexed("table", "plain", 9)])
        .await
        .unwrap();
    let same = papir_server::ServerConfig {
        listen: taken.local_addr().unwrap().into(),
        ..config()
    };
    let refused = Server::bind_loaded(same, vec![indexed("table", "plain", 9)])
        .await
        .map(drop);
    assert!(
        matches!(&refused, Err(Error::Listen { address, .. }) if Some(address.to_string()) == taken.local_addr().map(|taken| taken.to_string()))
    );
}
