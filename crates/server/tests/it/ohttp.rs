//! The gateway of Oblivious HTTP, with the client's side of `papir_ohttp` and of another library.

use std::fs;
use std::io::{Cursor, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::support::files::{build_signed, owner, serving};
use crate::support::secured::{dial, source, token};
use crate::support::{
    Reply, Running, config, get, indexed, keyed, lookup, prepared, record, rng, send,
};
use papir_checkpoint::{Certificate, GatewayKeys};
use papir_core::{NoProgress, RecordBuffer, Run};
use papir_ohttp::{ChosenKey, GatewayKey, InnerRequest, Kem, KeyList, SealForm};
use papir_protocol::path::OHTTP_GATEWAY;
use papir_server::{ClientLimits, Database, Protection, Scope, ServerConfig};
use papir_store::Sign;
use serde_json::Value;
use tempfile::TempDir;

const CHUNKED: &str = "message/ohttp-chunked-req";
const WHOLE: &str = "message/ohttp-req";
/// The time of the first version of a signed database.
const START: u64 = 1_800_000_000;
/// Most bytes of a response that are sealed at once.
const PIECE: usize = 64 << 10;

fn key_file(folder: &TempDir) -> PathBuf {
    folder.path().join("ohttp.toml")
}

/// Settings of a service with a gateway.
fn with_gateway(folder: &TempDir) -> ServerConfig {
    ServerConfig {
        ohttp: Some(key_file(folder)),
        ..config()
    }
}

fn gateway_url(server: &Running) -> String {
    format!("{}{OHTTP_GATEWAY}", server.url())
}

/// The service's keys as bytes.
fn key_bytes(server: &Running) -> Vec<u8> {
    get(&gateway_url(server)).body
}

fn client_key(server: &Running) -> ChosenKey {
    let list = KeyList::parse(&key_bytes(server)).unwrap();
    list.choose().unwrap()
}

fn request(method: &str, path: &str) -> InnerRequest {
    InnerRequest {
        method: method.to_owned(),
        scheme: "https".to_owned(),
        authority: "papir.example".to_owned(),
        path: path.to_owned(),
        headers: Vec::new(),
    }
}

fn with_header(method: &str, path: &str, name: &str, value: &str) -> InnerRequest {
    InnerRequest {
        headers: vec![(name.to_owned(), value.to_owned())],
        ..request(method, path)
    }
}

/// Sends sealed bytes as a relay does.
fn relay(server: &Running, media_type: &str, sealed: &[u8]) -> Reply {
    let headers = [("content-type", media_type)];
    send("POST", &gateway_url(server), &headers, sealed)
}

/// The content of a sealed response.
struct Inner {
    status: u16,
    body: Vec<u8>,
}

impl Inner {
    fn code(&self) -> String {
        let json: Value = serde_json::from_slice(&self.body).unwrap();
        assert_eq!(json["status"], self.status, "{json}");
        json["code"].as_str().unwrap().to_owned()
    }
}

/// Checks the outer response to a request that was opened.
#[track_caller]
fn assert_sealed(reply: &Reply, media_type: &str) {
    let text = String::from_utf8_lossy(&reply.body);
    assert_eq!(reply.status, 200, "{text}");
    assert_eq!(reply.header("content-type"), Some(media_type));
    assert_eq!(reply.header("cache-control"), Some("no-store"));
}

/// Asks in the chunked form.
fn ask_in_chunks(server: &Running, request: &InnerRequest, body: &[u8]) -> Inner {
    let sealed = client_key(server).seal(request, body).unwrap();
    let reply = relay(server, CHUNKED, &sealed.body);
    assert_sealed(&reply, "message/ohttp-chunked-res");

    let response = sealed.opener.open(reply.body).unwrap();
    let left_out = ["date", "x-request-id", "connection"];
    for (name, _) in &response.head.headers {
        assert!(!left_out.contains(&name.as_str()), "{name}");
    }
    Inner {
        status: response.head.status,
        body: response.body,
    }
}

/// Seals in the whole form, by the client of another library.
fn seal_whole(
    server: &Running,
    request: &InnerRequest,
    body: &[u8],
) -> (Vec<u8>, ::ohttp::ClientResponse) {
    let mut message = bhttp::Message::request(
        request.method.clone().into_bytes(),
        request.scheme.clone().into_bytes(),
        request.authority.clone().into_bytes(),
        request.path.clone().into_bytes(),
    );
    for (name, value) in &request.headers {
        message.put_header(name.as_str(), value.as_str());
    }
    message.write_content(body);
    let mut plain = Vec::new();
    message
        .write_bhttp(bhttp::Mode::KnownLength, &mut plain)
        .unwrap();

    let client = ::ohttp::ClientRequest::from_encoded_config_list(&key_bytes(server)).unwrap();
    client.encapsulate(&plain).unwrap()
}

/// Asks in the whole form.
fn ask_whole(server: &Running, request: &InnerRequest, body: &[u8]) -> Inner {
    let (sealed, opener) = seal_whole(server, request, body);
    let reply = relay(server, WHOLE, &sealed);
    assert_sealed(&reply, "message/ohttp-res");

    let opened = opener.decapsulate(&reply.body).unwrap();
    let response = bhttp::Message::read_bhttp(&mut Cursor::new(&opened[..])).unwrap();
    Inner {
        status: response.control().status().unwrap().code(),
        body: response.content().to_vec(),
    }
}

fn ask(server: &Running, form: SealForm, request: &InnerRequest, body: &[u8]) -> Inner {
    match form {
        SealForm::Chunked => ask_in_chunks(server, request, body),
        SealForm::Whole => ask_whole(server, request, body),
    }
}

#[test]
fn the_keys_are_served_and_only_by_a_gateway() {
    let folder = TempDir::new().unwrap();
    let server = Running::start(with_gateway(&folder), vec![indexed("table", "plain", 9)]);
    let reply = get(&gateway_url(&server));
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), Some("application/ohttp-keys"));
    assert_eq!(reply.header("cache-control"), Some("public, max-age=3600"));
    assert_eq!(KeyList::parse(&reply.body).unwrap().digests().count(), 2);

    let document = get(&format!("{}/openapi.json", server.url())).json();
    let documented = document["paths"][OHTTP_GATEWAY].as_object().unwrap();
    assert!(documented.contains_key("get") && documented.contains_key("post"));
    let wrong = send("DELETE", &gateway_url(&server), &[], b"");
    assert_eq!((wrong.status, wrong.code().as_str()), (405, "wrong_method"));

    let without = Running::start(config(), vec![indexed("table", "plain", 9)]);
    for reply in [get(&gateway_url(&without)), relay(&without, CHUNKED, b"x")] {
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (404, "unknown_route")
        );
    }
}

#[test]
fn sealed_requests_get_the_same_bytes_as_direct_ones() {
    let folder = TempDir::new().unwrap();
    let databases = vec![
        indexed("table", "simple", 300),
        indexed("copied", "download", 60_000),
    ];
    let server = Running::start(with_gateway(&folder), databases);
    let pending = lookup(&server.url(), "table")
        .prepare_index(7, &mut rng())
        .unwrap();
    let queries = pending.queries().concat();
    let path = "/v1/databases/table/query";
    let direct = send("POST", &format!("{}{path}", server.url()), &[], &queries);
    assert_eq!(direct.status, 200);

    // All records, which are far more than what is sealed at once.
    let public = "/v1/databases/copied/public";
    let bundle = get(&format!("{}{public}", server.url())).body;
    assert!(bundle.len() > PIECE, "{}", bundle.len());

    for form in [SealForm::Chunked, SealForm::Whole] {
        let answer = ask(&server, form, &request("POST", path), &queries);
        assert_eq!((answer.status, answer.body), (200, direct.body.clone()));

        let found = ask(&server, form, &request("GET", public), b"");
        assert_eq!(found.status, 200);
        assert!(found.body == bundle, "{form:?}");

        let head = ask(&server, form, &request("HEAD", public), b"");
        assert_eq!((head.status, head.body.len()), (200, 0));
    }
    assert_eq!(pending.finish(&[direct.body]).unwrap(), Some(record(7)));
}

#[test]
fn a_response_that_is_too_long_for_the_whole_form_is_refused() {
    let folder = TempDir::new().unwrap();
    let databases = vec![keyed("words", "simple", "a")];
    let server = Running::start(with_gateway(&folder), databases);

    // The hint.
    let public = request("GET", "/v1/databases/words/public");
    let refused = ask_whole(&server, &public, b"");
    assert_eq!((refused.status, refused.code().as_str()), (413, "too_long"));
    let text = String::from_utf8(refused.body).unwrap();
    assert!(text.contains(CHUNKED), "{text}");
}

/// The second answer would not fit into the memory of other responses beside the first, which
/// nobody receives. Its queries have had their effect by then.
#[test]
fn an_answer_in_the_whole_form_is_not_refused_once_it_is_computed() {
    let folder = TempDir::new().unwrap();
    let settings = ServerConfig {
        max_upload_bytes: 64 << 20,
        // No stall of this machine may cut off the client that receives nothing.
        body_timeout: Duration::from_secs(300),
        ..with_gateway(&folder)
    };
    let records = RecordBuffer::from_records((0..2).map(|_| vec![7; 256 << 10])).unwrap();
    let table = Database::new("table", prepared("plain", &records), None);
    let server = Running::start(settings, vec![table]);

    let info = get(&format!("{}/v1/databases/table", server.url())).json();
    let answer = info["sizes"]["answer"].as_u64().unwrap() as usize;
    let batch = info["max_batch"].as_u64().unwrap() as usize;
    let count = batch.min((15 << 20) / answer);
    assert!(count * answer > 12 << 20, "{count}");
    let pending = lookup(&server.url(), "table")
        .prepare_index(1, &mut rng())
        .unwrap();
    let queries = pending.queries().concat().repeat(count);

    let asked = request("POST", "/v1/databases/table/query");
    let (sealed, _) = seal_whole(&server, &asked, &queries);
    let head = format!(
        "POST {OHTTP_GATEWAY} HTTP/1.1\r\nhost: x\r\ncontent-type: {WHOLE}\r\ncontent-length: {}\r\n\r\n",
        sealed.len()
    );
    // More than the buffers of both sides hold.
    let mut unread = dial(server.address);
    unread
        .write_all(&[head.as_bytes(), &sealed].concat())
        .unwrap();
    let mut status = [0; 12];
    unread.read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200");

    let second = ask_whole(&server, &asked, &queries);
    assert_eq!((second.status, second.body.len()), (200, count * answer));
}

#[test]
fn the_token_is_inside() {
    let folder = TempDir::new().unwrap();
    let tokens = folder.path().join("tokens.toml");
    let good = token(&tokens, "all", &[Scope::Query], None);
    let settings = ServerConfig {
        protection: Protection {
            tokens: source(&tokens),
            ..Protection::default()
        },
        ..with_gateway(&folder)
    };
    let server = Running::start(settings, vec![indexed("table", "plain", 9)]);

    let path = "/v1/databases/table";
    for form in [SealForm::Chunked, SealForm::Whole] {
        let refused = ask(&server, form, &request("GET", path), b"");
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (401, "unauthorized")
        );

        let value = format!("Bearer {good}");
        let asked = with_header("GET", path, "authorization", &value);
        assert_eq!(ask(&server, form, &asked, b"").status, 200);
    }
}

/// Signs the database in a file again, with keys of gateways.
fn name_gateways(file: &Path) {
    let keys = GatewayKeys::new(None, &[[7; 32]]).unwrap();
    let certificate = Certificate::gateways(&owner(), &keys, (START, START + 600)).unwrap();
    let again = Sign {
        time: Some(START + 60),
        certificates: vec![certificate],
        ..Sign::new(owner())
    };
    papir_store::sign(file, &again, &mut Run::new(&mut rng(), &NoProgress)).unwrap();
}

#[test]
fn a_proof_that_names_keys_of_gateways_needs_no_token() {
    let folder = TempDir::new().unwrap();
    let tokens = folder.path().join("tokens.toml");
    token(&tokens, "all", &[Scope::Query], None);
    let file = build_signed(folder.path(), "words.papir", "old", START);
    let status = |ohttp: Option<PathBuf>, path: &str| {
        let settings = ServerConfig {
            protection: Protection {
                tokens: source(&tokens),
                ..Protection::default()
            },
            ohttp,
            ..serving(&[&file])
        };
        let server = Running::start_files(settings).unwrap();
        get(&format!("{}/v1/databases/{path}", server.url())).status
    };
    let gateway = || Some(key_file(&folder));
    assert_eq!(status(gateway(), "words/checkpoint/proof"), 401);

    name_gateways(&file);
    assert_eq!(status(gateway(), "words/checkpoint/proof"), 200);
    assert_eq!(status(None, "words/checkpoint/proof"), 401);
    for path in [
        "words",
        "words/checkpoint",
        "words/checkpoint/log",
        "words/public",
        "other/checkpoint/proof",
    ] {
        assert_eq!(status(gateway(), path), 401, "{path}");
    }
}

#[test]
fn other_paths_methods_and_headers_are_refused_within_the_seal() {
    let folder = TempDir::new().unwrap();
    let server = Running::start(with_gateway(&folder), vec![indexed("table", "plain", 9)]);
    for path in [
        "/metrics",
        "/healthz",
        OHTTP_GATEWAY,
        "",
        "http://papir.example/v1/databases",
        "/v1/nowhere",
    ] {
        let refused = ask_in_chunks(&server, &request("GET", path), b"");
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (404, "unknown_route"),
            "{path}"
        );
    }

    let refused = ask_in_chunks(&server, &request("P T", "/v1/databases"), b"");
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (405, "wrong_method")
    );
    let asked = with_header("GET", "/v1/databases", "a b", "c");
    let refused = ask_in_chunks(&server, &asked, b"");
    assert_eq!(
        (refused.status, refused.code().as_str()),
        (400, "malformed")
    );
}

#[test]
fn what_cannot_be_opened_is_refused_in_the_clear() {
    let folder = TempDir::new().unwrap();
    let server = Running::start(with_gateway(&folder), vec![indexed("table", "plain", 9)]);
    let asked = request("GET", "/v1/databases");

    let other = GatewayKey::derive(200, Kem::X25519, &[7; 32]).unwrap();
    let other = KeyList::of_keys(&[other]).unwrap().choose().unwrap();
    let unknown = relay(&server, CHUNKED, &other.seal(&asked, b"").unwrap().body);
    let problem = unknown.json();
    assert_eq!(unknown.status, 400);
    assert_eq!(
        unknown.header("content-type"),
        Some("application/problem+json")
    );
    assert_eq!(problem["code"], "ohttp_key");
    assert_eq!(
        problem["type"],
        "https://iana.org/assignments/http-problem-types#ohttp-key"
    );

    let sealed = client_key(&server).seal(&asked, b"").unwrap().body;
    let mut damaged = sealed.clone();
    *damaged.last_mut().unwrap() ^= 1;
    let cut_off = &sealed[..sealed.len() - 1];
    for (media_type, bytes) in [
        (CHUNKED, &damaged[..]),
        (CHUNKED, cut_off),
        (CHUNKED, &b""[..]),
        ("application/octet-stream", &sealed[..]),
    ] {
        let refused = relay(&server, media_type, bytes);
        assert_eq!(
            (refused.status, refused.code().as_str()),
            (400, "malformed"),
            "{media_type}"
        );
    }

    // The cipher cannot tell damage of the only chunk from another key.
    let other_form = relay(&server, WHOLE, &sealed);
    assert_eq!(other_form.status, 400);
    assert_eq!(other_form.json()["code"], "ohttp_key");

    assert_eq!(relay(&server, CHUNKED, &sealed).status, 200);
    let again = relay(&server, CHUNKED, &sealed);
    assert_eq!((again.status, again.code().as_str()), (409, "replayed"));
}

#[test]
fn a_sealed_request_that_no_route_would_read_is_too_long() {
    let folder = TempDir::new().unwrap();
    let server = Running::start(with_gateway(&folder), vec![indexed("table", "plain", 9)]);
    let refused = relay(&server, CHUNKED, &vec![7; 6 << 20]);
    assert_eq!((refused.status, refused.code().as_str()), (413, "too_long"));
}

/// A relay is one client, whatever its clients write into their requests.
#[test]
fn limits_hold_for_each_relay() {
    let folder = TempDir::new().unwrap();
    let limits = ClientLimits {
        rate: Some("1/h".parse().unwrap()),
        burst: 1,
        per_client: 0,
    };
    let settings = ServerConfig {
        protection: Protection {
            limits,
            proxies: "127.0.0.0/8".parse().unwrap(),
            ..Protection::default()
        },
        ..with_gateway(&folder)
    };
    let server = Running::start(settings, vec![indexed("table", "plain", 9)]);

    let path = "/v1/databases/table/public";
    let forwarded = |inner: &str, outer: &str| {
        let asked = with_header("GET", path, "x-forwarded-for", inner);
        let sealed = client_key(&server).seal(&asked, b"").unwrap();
        let headers = [("content-type", CHUNKED), ("x-forwarded-for", outer)];
        let reply = send("POST", &gateway_url(&server), &headers, &sealed.body);
        assert_eq!(reply.status, 200);
        sealed.opener.open(reply.body).unwrap().head.status
    };

    assert_eq!(forwarded("1.1.1.1", "9.9.9.9"), 200);
    assert_eq!(forwarded("2.2.2.2", "9.9.9.9"), 429);
    assert_eq!(forwarded("1.1.1.1", "8.8.8.8"), 200);
}

#[test]
fn keys_survive_a_restart_and_a_rotation() {
    let folder = TempDir::new().unwrap();
    let start = || Running::start(with_gateway(&folder), vec![indexed("table", "plain", 9)]);
    let first = start();
    let old_bytes = key_bytes(&first);
    let old = client_key(&first);
    first.finish();

    let second = start();
    assert_eq!(key_bytes(&second), old_bytes);
    second.finish();

    // The keys are made older than they are.
    let text = fs::read_to_string(key_file(&folder)).unwrap();
    let aged = text.lines().map(|line| {
        if line.starts_with("created") {
            "created = \"2020-01-01T00:00:00Z\""
        } else {
            line
        }
    });
    let aged: Vec<&str> = aged.collect();
    fs::write(key_file(&folder), aged.join("\n")).unwrap();

    let third = start();
    let list = KeyList::parse(&key_bytes(&third)).unwrap();
    assert_eq!(list.digests().count(), 4);
    assert_ne!(list.choose().unwrap().digest(), old.digest());
    for key in [old, list.choose().unwrap()] {
        let sealed = key.seal(&request("GET", "/v1/databases"), b"").unwrap();
        let reply = relay(&third, CHUNKED, &sealed.body);
        assert_eq!(reply.status, 200);
        assert_eq!(sealed.opener.open(reply.body).unwrap().head.status, 200);
    }
}

/// A new file begins with the same identifiers, and its clients must fetch the keys again.
#[test]
fn keys_of_a_lost_file_are_unknown() {
    let folder = TempDir::new().unwrap();
    let start = || Running::start(with_gateway(&folder), vec![indexed("table", "plain", 9)]);
    let first = start();
    let bytes = key_bytes(&first);
    let old = client_key(&first);
    first.finish();

    fs::remove_file(key_file(&folder)).unwrap();
    let second = start();
    let asked = request("GET", "/v1/databases");
    let chunked = old.seal(&asked, b"").unwrap().body;
    let whole = ::ohttp::ClientRequest::from_encoded_config_list(&bytes).unwrap();
    let (whole, _) = whole.encapsulate(b"a message").unwrap();
    for (media_type, sealed) in [(CHUNKED, chunked), (WHOLE, whole)] {
        let refused = relay(&second, media_type, &sealed);
        assert_eq!(refused.status, 400, "{media_type}");
        assert_eq!(refused.json()["code"], "ohttp_key", "{media_type}");
    }
    assert_eq!(ask_in_chunks(&second, &asked, b"").status, 200);
}

#[test]
#[cfg(unix)]
fn keys_that_every_user_may_read_are_refused() {
    use std::os::unix::fs::PermissionsExt;

    let folder = TempDir::new().unwrap();
    fs::write(key_file(&folder), "format = 1\n").unwrap();
    fs::set_permissions(key_file(&folder), fs::Permissions::from_mode(0o644)).unwrap();

    let databases = vec![indexed("table", "plain", 9)];
    let refused = Running::try_start(with_gateway(&folder), databases);
    let message = refused.map(drop).unwrap_err().to_string();
    assert!(message.contains("ohttp.toml"), "{message}");
    assert!(message.contains("chmod 600"), "{message}");
}
