//! Private tokens of Privacy Pass, made by the issuer of `papir_privacy_pass`.

mod issuer;
mod peers;
mod unspent;

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::sync::{Barrier, LazyLock};
use std::thread;

use crate::shared_registry;
use crate::support::clients::{SMALL, clients_url, stateful, unregistered};
use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::process::has_files_for;
use crate::support::secured::{source, token};
use crate::support::{
    Reply, Running, config, get, indexed, lookup, prepared, records, rng, send, until,
};
use papir_ohttp::{InnerRequest, InnerResponse, KeyList};
use papir_privacy_pass::{
    ChallengeOffer, DirectoryKey, IssuerDirectory, IssuerKey, PassToken, TokenBlinding,
    TokenChallenge, parse_challenges, write_authorization,
};
use papir_protocol::path::OHTTP_GATEWAY;
use papir_server::{
    ClientLimits, Database, DirectorySource, PrivacyPassConfig, Protection, RegistryConfig, Scope,
    ServerConfig,
};
use papir_testkit::postgres::Server;
use tempfile::TempDir;

const ISSUER_NAME: &str = "issuer.example";
const ORIGIN: &str = "pir.example";

static ISSUER: LazyLock<IssuerKey> = LazyLock::new(|| IssuerKey::generate(&mut rng()).unwrap());
static OTHER: LazyLock<IssuerKey> = LazyLock::new(|| IssuerKey::generate(&mut rng()).unwrap());

/// The directory of an issuer with these keys, the preferred one first.
fn directory(keys: &[&IssuerKey]) -> String {
    let dated: Vec<(&IssuerKey, Option<u64>)> = keys.iter().map(|key| (*key, None)).collect();
    dated_directory(&dated)
}

/// The directory of an issuer with these keys and their begins, the preferred one first.
fn dated_directory(keys: &[(&IssuerKey, Option<u64>)]) -> String {
    let mut listed = Vec::new();
    for (key, not_before) in keys {
        listed.push(DirectoryKey {
            key: key.public().clone(),
            not_before: *not_before,
        });
    }
    let directory = IssuerDirectory::new("https://issuer.example/token-request", listed);
    directory.unwrap().to_json().unwrap()
}

/// A file with the directory of [`ISSUER`].
fn directory_file(folder: &TempDir) -> PathBuf {
    let file = folder.path().join("keys.json");
    fs::write(&file, directory(&[&ISSUER])).unwrap();
    file
}

/// Settings of private tokens with this directory.
fn passes(directory: DirectorySource) -> PrivacyPassConfig {
    PrivacyPassConfig {
        issuer: Some(ISSUER_NAME.to_owned()),
        directory,
        origins: vec![ORIGIN.to_owned()],
        not_before: None,
    }
}

/// Settings of a service whose requests cost tokens of [`ISSUER`].
fn priced(folder: &TempDir) -> ServerConfig {
    let file = DirectorySource::File(directory_file(folder));
    ServerConfig {
        registry: Some(RegistryConfig::new(folder.path().join("clients"))),
        privacy_pass: Some(passes(file)),
        ..config()
    }
}

fn is_ready(server: &Running) -> bool {
    get(&format!("{}/readyz", server.url())).status == 200
}

/// Starts a service, and waits until it knows the issuer's keys.
fn start_with(config: ServerConfig, database: Database) -> Running {
    let server = Running::start(config, vec![database]);
    until("the keys are known", || is_ready(&server));
    server
}

/// Starts a service whose answers wait for the latch.
fn start_waiting(config: ServerConfig, latch: &Latch) -> Running {
    let waiting = FaultyDatabase {
        inner: prepared("plain", &records(50)),
        scheme: 0,
        fault: Fault::Wait(latch.clone()),
    };
    start_with(config, Database::new("table", Box::new(waiting), None))
}

fn start(config: ServerConfig) -> Running {
    start_with(config, indexed("table", "plain", 50))
}

fn query_url(server: &Running) -> String {
    format!("{}/v1/databases/table/query", server.url())
}

/// The bytes of a query.
fn query(server: &Running) -> Vec<u8> {
    let lookup = lookup(&server.url(), "table");
    let prepared = lookup.prepare_index(7, &mut rng()).unwrap();
    prepared.queries().concat()
}

/// The challenge of the service.
fn challenge() -> TokenChallenge {
    TokenChallenge::new(ISSUER_NAME, None, vec![ORIGIN.to_owned()]).unwrap()
}

/// A token of an issuer for a challenge.
fn issue(issuer: &IssuerKey, challenge: &TokenChallenge) -> PassToken {
    let mut rng = rng();
    let (blinding, request) = TokenBlinding::new(challenge, issuer.public(), &mut rng).unwrap();
    let response = issuer.sign_blinded(&request, &mut rng).unwrap();
    blinding.finalize(&response, issuer.public()).unwrap()
}

/// A fresh token that the service accepts, as the value of `Authorization`.
fn good_token() -> String {
    write_authorization(&issue(&ISSUER, &challenge())).to_string()
}

fn ask(server: &Running, query: &[u8], authorization: &str) -> Reply {
    let headers = [("authorization", authorization)];
    send("POST", &query_url(server), &headers, query)
}

/// The only offer in a refusal.
#[track_caller]
fn offer(reply: &Reply) -> ChallengeOffer {
    assert_eq!(reply.status, 401);
    let offers = parse_challenges(reply.header("www-authenticate").unwrap()).unwrap();
    assert_eq!(offers.len(), 1);
    offers[0].clone()
}

#[track_caller]
fn assert_refused(reply: &Reply, code: &str) {
    assert_eq!(reply.code(), code);
    assert_eq!(offer(reply).parse_challenge().unwrap(), challenge());
}

#[test]
fn a_token_is_accepted_once_also_after_a_restart() {
    let folder = TempDir::new().unwrap();
    let server = start(priced(&folder));
    let body = query(&server);

    let refused = send("POST", &query_url(&server), &[], &body);
    assert_refused(&refused, "token_needed");
    let offered = offer(&refused);
    assert!(offered.parse_challenge().unwrap().is_for(ORIGIN));
    assert_eq!(offered.parse_key().unwrap().as_ref(), Some(ISSUER.public()));

    // The token is made from the offer alone.
    let made = issue(&ISSUER, &offered.parse_challenge().unwrap());
    let made = write_authorization(&made);
    assert_eq!(ask(&server, &body, &made).status, 200);
    assert_refused(&ask(&server, &body, &made), "token_spent");
    server.finish();

    let server = start(priced(&folder));
    let body = query(&server);
    assert_refused(&ask(&server, &body, &made), "token_spent");
    assert_eq!(ask(&server, &body, &good_token()).status, 200);
}

#[test]
fn tokens_that_do_not_verify_are_refused() {
    let folder = TempDir::new().unwrap();
    let server = start(priced(&folder));
    let body = query(&server);
    let good = good_token();

    // 354 bytes are base64 without padding, so that four characters are three bytes.
    let truncated = format!("{}\"", &good[..good.len() - 5]);
    let mut of_type_1 = good.clone().into_bytes();
    let place = good.find("token=\"AA").unwrap() + "token=\"AA".len();
    of_type_1[place] -= 4;
    let of_type_1 = String::from_utf8(of_type_1).unwrap();

    let elsewhere = TokenChallenge::new(ISSUER_NAME, None, vec!["other.example".to_owned()]);
    let elsewhere = issue(&ISSUER, &elsewhere.unwrap());
    let by_another = issue(&OTHER, &challenge());
    let mut damaged = issue(&ISSUER, &challenge());
    damaged.authenticator[99] ^= 1;
    // Signed for another key, and renamed.
    let mut renamed = by_another.clone();
    renamed.input.key_id = *ISSUER.public().id();

    for refused in [
        "PrivateToken",
        "PrivateToken token=\"\"",
        "PrivateToken token=*",
        &truncated,
        &of_type_1,
        &*write_authorization(&elsewhere),
        &*write_authorization(&by_another),
        &*write_authorization(&damaged),
        &*write_authorization(&renamed),
    ] {
        assert_refused(&ask(&server, &body, refused), "token_invalid");
    }
    for other in ["Bearer abc", "Basic abc"] {
        assert_refused(&ask(&server, &body, other), "token_needed");
    }

    // A refused token has spent nothing.
    assert_eq!(ask(&server, &body, &good).status, 200);
}

#[test]
fn of_many_requests_with_one_token_one_is_answered() {
    const THREADS: usize = 16;
    let folder = TempDir::new().unwrap();
    let server = start(priced(&folder));
    let body = query(&server);
    let token = good_token();
    let url = query_url(&server);
    let start = Barrier::new(THREADS);

    let mut outcomes: BTreeMap<String, usize> = BTreeMap::new();
    let replies: Vec<Reply> = thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|_| {
                scope.spawn(|| {
                    start.wait();
                    send("POST", &url, &[("authorization", &token)], &body)
                })
            })
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });

    for reply in &replies {
        let outcome = match reply.status {
            200 => "answered".to_owned(),
            _ => reply.code(),
        };
        *outcomes.entry(outcome).or_default() += 1;
    }
    let expected = [("answered", 1), ("token_spent", THREADS - 1)];
    let expected = expected.map(|(outcome, count)| (outcome.to_owned(), count));
    assert_eq!(outcomes, BTreeMap::from(expected));
}

/// The value of a metric without labels.
fn metric(server: &Running, name: &str) -> u64 {
    let text = String::from_utf8(get(&format!("{}/metrics", server.url())).body).unwrap();
    let value = text.lines().find_map(|line| line.strip_prefix(name));
    value.unwrap().trim().parse().unwrap()
}

#[test]
fn spent_tokens_and_writes_to_disk_are_counted() {
    let folder = TempDir::new().unwrap();
    let server = start(priced(&folder));
    let body = query(&server);
    let tokens = || metric(&server, "papir_tokens_spent_total");
    let writes = || metric(&server, "papir_registry_writes_total");
    assert_eq!(tokens(), 0);

    let before = writes();
    let token = good_token();
    assert_eq!(ask(&server, &body, &token).status, 200);
    assert_eq!(tokens(), 1);
    assert_eq!(writes(), before + 1);

    assert_refused(&ask(&server, &body, &token), "token_spent");
    assert_refused(&ask(&server, &body, "Basic abc"), "token_needed");
    assert_eq!(tokens(), 1);
    assert_eq!(writes(), before + 1);
}

#[test]
fn services_that_share_a_registry_accept_a_token_once() {
    if !has_files_for("private_tokens::services_that_share_a_registry_accept_a_token_once") {
        return;
    }
    let postgres = Server::start("");
    let folder = TempDir::new().unwrap();
    let place = shared_registry::place(postgres.address("papir"));
    let config = ServerConfig {
        registry: Some(shared_registry::registry(place)),
        ..priced(&folder)
    };
    let services = [start(config.clone()), start(config)];
    let bodies = services.each_ref().map(query);

    // All requests with one token begin together, half of them at each service.
    let token = good_token();
    let begin = Barrier::new(16);
    let replies: Vec<Reply> = thread::scope(|scope| {
        let mut threads = Vec::new();
        for number in 0..16 {
            let url = query_url(&services[number % 2]);
            let body = &bodies[number % 2];
            let begin = &begin;
            let token = &token;
            threads.push(scope.spawn(move || {
                begin.wait();
                send("POST", &url, &[("authorization", token)], body)
            }));
        }
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });

    let refused = replies.iter().filter(|reply| reply.status != 200);
    assert!(refused.clone().all(|reply| reply.code() == "token_spent"));
    assert_eq!(refused.count(), 15);
    for (service, body) in services.iter().zip(&bodies) {
        assert_refused(&ask(service, body, &token), "token_spent");
        assert_eq!(ask(service, body, &good_token()).status, 200);
    }
}

#[test]
fn reading_costs_nothing_and_a_registration_costs_one_token() {
    let folder = TempDir::new().unwrap();
    let server = start_with(priced(&folder), stateful(SMALL, 1));
    for path in [
        "/healthz",
        "/readyz",
        "/metrics",
        "/openapi.json",
        "/v1/databases",
        "/v1/databases/table",
        "/v1/databases/table/public",
    ] {
        let reply = get(&format!("{}{path}", server.url()));
        assert_eq!(reply.status, 200, "{path}");
    }

    let url = clients_url(&server);
    let mut client = unregistered(&server);
    assert_refused(&client.register(), "token_needed");

    // A registration whose response was lost is repeated with another token.
    let mut ids = Vec::new();
    for _ in 0..2 {
        let token = good_token();
        let reply = send("POST", &url, &[("authorization", &token)], &client.keys);
        assert_eq!(reply.status, 201);
        ids.push(reply.json()["id"].as_str().unwrap().to_owned());

        let again = send("POST", &url, &[("authorization", &token)], &client.keys);
        assert_refused(&again, "token_spent");
    }
    assert_eq!(ids[0], ids[1]);

    // The parts of an upload belong to a registration that has cost a token.
    client = unregistered(&server);
    let length = client.keys.len().to_string();
    let token = good_token();
    let headers = [
        ("authorization", token.as_str()),
        ("papir-upload-length", length.as_str()),
    ];
    let begun = send("POST", &url, &headers, b"");
    assert_eq!(begun.status, 201);
    client.id = begun.json()["id"].as_str().unwrap().to_owned();
    assert_eq!(client.part(0, client.keys.len()).status, 200);
    assert_eq!(client.status()["status"], "registered");
    assert_eq!(send("DELETE", &client.at(""), &[], b"").status, 204);
}

#[test]
fn private_tokens_leave_room_for_clients_with_bearer_tokens() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    let bearer = token(&file, "phone", &[Scope::Query], None);
    let config = ServerConfig {
        registry: Some(RegistryConfig {
            max_clients: 8,
            ..RegistryConfig::new(folder.path().join("clients"))
        }),
        protection: Protection {
            tokens: source(&file),
            ..Protection::default()
        },
        ..priced(&folder)
    };
    let server = start_with(config, stateful(SMALL, 1));
    let register = |authorization: &str| {
        let keys = unregistered(&server).keys;
        let headers = [("authorization", authorization)];
        send("POST", &clients_url(&server), &headers, &keys)
    };

    for _ in 0..4 {
        assert_eq!(register(&good_token()).status, 201);
    }
    let refused = register(&good_token());
    assert_eq!(refused.code(), "registry_full");
    assert_eq!(register(&format!("Bearer {bearer}")).status, 201);
}

#[test]
fn requests_with_tokens_have_no_limit_of_their_address() {
    let folder = TempDir::new().unwrap();
    let limits = ClientLimits {
        rate: Some("1/h".parse().unwrap()),
        burst: 1,
        per_client: 1,
    };
    let config = ServerConfig {
        protection: Protection {
            limits,
            ..Protection::default()
        },
        ..priced(&folder)
    };
    let server = start(config);

    // The public part uses up the burst.
    let body = query(&server);
    let public = format!("{}/v1/databases/table/public", server.url());
    assert_eq!(get(&public).code(), "too_many");

    for _ in 0..5 {
        assert_eq!(ask(&server, &body, &good_token()).status, 200);
    }
    assert_eq!(get(&public).code(), "too_many");
}

#[test]
fn tokens_are_redeemed_within_sealed_requests() {
    let folder = TempDir::new().unwrap();
    let config = ServerConfig {
        ohttp: Some(folder.path().join("ohttp.toml")),
        ..priced(&folder)
    };
    let server = start(config);
    let body = query(&server);
    let token = good_token();

    let first = relayed(&server, &token, &body);
    assert_eq!(first.head.status, 200);
    let again = relayed(&server, &token, &body);
    assert_eq!(again.head.status, 401);
    let text = String::from_utf8(again.body).unwrap();
    assert!(text.contains("\"token_spent\""), "{text}");

    let mut headers = again.head.headers.iter();
    let found = headers.find(|header| header.0 == "www-authenticate");
    let offers = parse_challenges(&found.unwrap().1).unwrap();
    assert_eq!(offers[0].parse_challenge().unwrap(), challenge());
    assert_refused(&ask(&server, &body, &token), "token_spent");
}

/// The response to a sealed request with queries and this authorization.
fn relayed(server: &Running, authorization: &str, body: &[u8]) -> InnerResponse {
    let gateway = format!("{}{OHTTP_GATEWAY}", server.url());
    let keys = KeyList::parse(&get(&gateway).body).unwrap();
    let request = InnerRequest {
        method: "POST".to_owned(),
        scheme: "https".to_owned(),
        authority: ORIGIN.to_owned(),
        path: "/v1/databases/table/query".to_owned(),
        headers: vec![("authorization".to_owned(), authorization.to_owned())],
    };

    let sealed = keys.choose().unwrap().seal(&request, body).unwrap();
    let headers = [("content-type", "message/ohttp-chunked-req")];
    let reply = send("POST", &gateway, &headers, &sealed.body);
    assert_eq!(reply.status, 200);
    sealed.opener.open(reply.body).unwrap()
}

#[test]
fn bearer_tokens_remain_valid_beside_private_ones() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    let bearer = token(&file, "phone", &[Scope::Query], None);
    let config = ServerConfig {
        protection: Protection {
            tokens: source(&file),
            ..Protection::default()
        },
        ..priced(&folder)
    };
    let server = start(config);

    let body = query(&server);
    for _ in 0..2 {
        let reply = ask(&server, &body, &format!("Bearer {bearer}"));
        assert_eq!(reply.status, 200);
    }
    assert_eq!(ask(&server, &body, "Bearer other").code(), "unauthorized");
    assert_eq!(ask(&server, &body, &good_token()).status, 200);

    let refused = send("POST", &query_url(&server), &[], &body);
    assert_refused(&refused, "token_needed");
    let challenges = refused.header("www-authenticate").unwrap();
    assert!(
        challenges.ends_with(", Bearer realm=\"papir\""),
        "{challenges}"
    );

    // Routes that are not open to everybody need a bearer token with their scope, as before.
    let url = server.url();
    assert_eq!(get(&format!("{url}/v1/databases")).status, 200);
    assert_eq!(get(&format!("{url}/metrics")).code(), "unauthorized");
    let clients = format!("{url}/v1/databases/table/clients");
    let headers = [("authorization", good_token())];
    let headers = headers
        .each_ref()
        .map(|header| (header.0, header.1.as_str()));
    assert_eq!(send("GET", &clients, &headers, b"").code(), "unauthorized");
}
