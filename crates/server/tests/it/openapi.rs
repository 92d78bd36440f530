//! The OpenAPI document matches the running service: routes, statuses and JSON bodies.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::thread;

use crate::support::faulty::{Fault, FaultyDatabase, Latch};
use crate::support::files::{build_signed, serving};
use crate::support::{
    Reply, Running, config, get, indexed, lookup, post, prepared, records, rng, send,
};
use papir_server::{Database, ServerConfig};
use serde_json::{Value, json};

const METHODS: [&str; 5] = ["GET", "POST", "PUT", "DELETE", "PATCH"];

/// A service's document, and the statuses of its responses so far.
struct Contract {
    document: Value,
    seen: BTreeMap<(String, String), BTreeSet<u16>>,
}

impl Contract {
    fn of(server: &Running) -> Self {
        let document = get(&format!("{}/openapi.json", server.url())).json();
        Self {
            document,
            seen: BTreeMap::new(),
        }
    }

    /// Method, path and documentation of every operation.
    fn operations(&self) -> Vec<(String, String, Value)> {
        let of_path = |(path, item): (&String, &Value)| -> Vec<_> {
            let all = METHODS.iter().filter_map(|method| {
                let operation = item.get(method.to_lowercase())?;
                Some(((*method).to_owned(), path.clone(), operation.clone()))
            });
            all.collect()
        };
        self.document["paths"]
            .as_object()
            .unwrap()
            .iter()
            .flat_map(of_path)
            .collect()
    }

    /// A schema of the document, with the schemas it refers to.
    fn whole(&self, schema: &Value) -> Value {
        let mut whole = schema.clone();
        whole["components"] = self.document["components"].clone();
        whole
    }

    /// Checks one response against the documentation of its operation.
    fn check(&mut self, (method, path): (&str, &str), reply: &Reply, asked: &str) {
        let operations = &self.document["paths"][path];
        let operation = &operations[method.to_lowercase()];
        // A method that the path does not support is documented with those that it supports.
        let operation = if operation.is_null() {
            operations.as_object().unwrap().values().next().unwrap()
        } else {
            operation
        };
        let documented = &operation["responses"][reply.status.to_string()];
        assert!(
            documented.is_object(),
            "{method} {path} {asked}: {} is not documented",
            reply.status
        );
        for (name, _) in documented["headers"].as_object().unwrap() {
            assert!(
                reply.header(name).is_some(),
                "{method} {path} {asked}: no {name} with {}",
                reply.status
            );
        }
        self.check_body(documented, reply, asked);
        self.seen
            .entry((method.to_owned(), path.to_owned()))
            .or_default()
            .insert(reply.status);
    }

    fn check_body(&self, documented: &Value, reply: &Reply, asked: &str) {
        let Some(content) = documented["content"].as_object() else {
            assert!(
                reply.body.is_empty(),
                "{asked}: a body that is not documented"
            );
            return;
        };
        let found = reply
            .header("content-type")
            .unwrap()
            .split(';')
            .next()
            .unwrap();
        let content = content
            .get(found)
            .unwrap_or_else(|| panic!("{asked}: {found} is not documented"));
        let schema = &content["schema"];
        if found.ends_with("json") && !schema.is_null() {
            let validator = jsonschema::validator_for(&self.whole(schema)).unwrap();
            let body = reply.json();
            let errors: Vec<_> = validator
                .iter_errors(&body)
                .map(|error| error.to_string())
                .collect();
            assert!(errors.is_empty(), "{asked}: {errors:?} in {body}");
            self.nothing_more(schema, &body, asked);
        }
    }

    /// Checks that all properties of an object are in its schema, at any depth.
    fn nothing_more(&self, schema: &Value, body: &Value, asked: &str) {
        if let (Value::Array(items), inner) = (body, &self.resolved(schema)["items"]) {
            items
                .iter()
                .for_each(|item| self.nothing_more(inner, item, asked));
        }
        let Value::Object(fields) = body else { return };
        let (known, open) = self.properties(schema);
        for (name, value) in fields {
            match known.get(name) {
                Some(inner) => self.nothing_more(inner, value, asked),
                None => assert!(open, "{asked}: `{name}` is not documented in {body}"),
            }
        }
    }

    fn resolved<'a>(&'a self, schema: &'a Value) -> &'a Value {
        let pointer = schema["$ref"]
            .as_str()
            .map(|target| target.trim_start_matches('#'));
        pointer.map_or(schema, |target| {
            self.document.pointer(target).expect("a dangling reference")
        })
    }

    /// The properties in an object's schema, and whether it allows others.
    fn properties(&self, schema: &Value) -> (BTreeMap<String, Value>, bool) {
        let schema = self.resolved(schema);
        let mut known = BTreeMap::new();
        let mut open = !schema["additionalProperties"].is_null();
        for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
            known.insert(name.clone(), inner.clone());
        }
        for part in schema["allOf"].as_array().into_iter().flatten() {
            let (more, also_open) = self.properties(part);
            known.extend(more);
            open |= also_open;
        }
        (known, open)
    }
}

/// Paths of an operation, with existing, unknown and odd names.
fn addresses(path: &str) -> Vec<String> {
    if !path.contains('{') {
        return vec![path.to_owned()];
    }
    let names = [
        "table",
        "other",
        "%ff%fe",
        "a%20b",
        "..%2f..",
        "%00",
        &"x".repeat(3000),
    ];
    let addresses = names.iter().map(|name| {
        let named = path.replace("{name}", name);
        let parts = named
            .split('/')
            .map(|part| if part.starts_with('{') { "7" } else { part });
        parts.collect::<Vec<_>>().join("/")
    });
    addresses.collect()
}

/// Missing, valid, wrong and malformed headers.
fn headers(version: &str) -> Vec<Vec<(&'static str, String)>> {
    let mut all = vec![vec![]];
    for value in [
        version,
        "0707070707070707",
        "seven",
        "",
        "\u{ff}",
        &"7".repeat(4000),
    ] {
        all.push(vec![("papir-version", value.to_owned())]);
    }
    for value in [&format!("\"{version}\""), "*", "W/\"x\", , \"", "\u{ff}"] {
        all.push(vec![("if-none-match", value.to_owned())]);
    }
    for value in ["good-1", "not good", &"x".repeat(100)] {
        all.push(vec![("x-request-id", value.to_owned())]);
    }
    all.push(vec![
        ("content-type", "nonsense".to_owned()),
        ("accept", "text/html".to_owned()),
    ]);
    all
}

/// Bodies of valid and invalid lengths, some with valid contents.
fn bodies(query: &[u8], limit: usize) -> Vec<Vec<u8>> {
    let lengths = [
        0,
        1,
        31,
        32,
        query.len() - 1,
        query.len(),
        query.len() + 1,
        3 * query.len(),
        limit,
        limit + 1,
    ];
    let mut all: Vec<_> = lengths.iter().map(|&length| vec![0x5a; length]).collect();
    all.push(query.to_vec());
    all.push(query.repeat(2));
    for bit in [3, 45, 70, 130, query.len() * 4, query.len() * 8 - 1] {
        let mut flipped = query.to_vec();
        flipped[bit / 8] ^= 1 << (bit % 8);
        all.push(flipped);
    }
    all
}

#[test]
fn the_document_lists_the_routes_of_the_service() {
    let server = Running::start(config(), vec![indexed("table", "plain", 100)]);
    let contract = Contract::of(&server);
    assert!(
        contract.document["openapi"]
            .as_str()
            .unwrap()
            .starts_with("3.1.")
    );
    let listed: Vec<_> = contract
        .operations()
        .iter()
        .map(|(method, path, _)| format!("{method} {path}"))
        .collect();
    for route in [
        "GET /healthz",
        "GET /readyz",
        "GET /metrics",
        "GET /openapi.json",
        "GET /v1/databases",
        "GET /v1/databases/{name}",
        "GET /v1/databases/{name}/public",
        "GET /v1/databases/{name}/public/{version}/hashes",
        "GET /v1/databases/{name}/public/{version}/blocks/{ranges}",
        "GET /v1/databases/{name}/prefilter",
        "GET /v1/databases/{name}/checkpoint",
        "GET /v1/databases/{name}/checkpoint/proof",
        "GET /v1/databases/{name}/checkpoint/log",
        "POST /v1/databases/{name}/query",
        "GET /v1/databases/{name}/clients",
        "POST /v1/databases/{name}/clients",
        "GET /v1/databases/{name}/clients/{id}",
        "DELETE /v1/databases/{name}/clients/{id}",
        "PATCH /v1/databases/{name}/clients/{id}/keys",
    ] {
        assert!(
            listed.iter().any(|one| one == route),
            "{route} is not in {listed:?}"
        );
    }
    let mut ids = BTreeSet::new();
    for (method, path, operation) in contract.operations() {
        let id = operation["operationId"].as_str().unwrap().to_owned();
        assert!(ids.insert(id), "{path}: its operationId is not unique");
        assert!(
            operation["summary"]
                .as_str()
                .is_some_and(|text| !text.is_empty()),
            "{method} {path}"
        );
        assert!(operation["tags"].is_array(), "{method} {path}");
        for (status, response) in operation["responses"].as_object().unwrap() {
            assert!(
                !response["description"].as_str().unwrap().is_empty(),
                "{method} {path} {status}"
            );
            // Also checks that every reference resolves.
            for content in response["content"]
                .as_object()
                .into_iter()
                .flatten()
                .map(|(_, content)| content)
            {
                jsonschema::validator_for(&contract.whole(&content["schema"])).unwrap();
            }
        }
    }
}

#[test]
fn every_response_is_documented() {
    let server = Running::start(config(), vec![indexed("table", "plain", 100)]);
    let mut contract = Contract::of(&server);
    let lookup = lookup(&server.url(), "table");
    let query = lookup
        .prepare_index(7, &mut rng())
        .unwrap()
        .queries()
        .concat();
    let info = get(&format!("{}/v1/databases/table", server.url())).json();
    let limit =
        (info["max_batch"].as_u64().unwrap() * info["sizes"]["query"].as_u64().unwrap()) as usize;
    for (method, path, operation) in contract.operations() {
        let mut fire = |method: &str, address: &str, headers: &[(&str, String)], body: &[u8]| {
            let headers: Vec<_> = headers
                .iter()
                .map(|(name, value)| (*name, value.as_str()))
                .collect();
            let reply = send(
                method,
                &format!("{}{address}", server.url()),
                &headers,
                body,
            );
            let asked = format!("{method} {address:.60} {headers:.60?} {} bytes", body.len());
            contract.check((method, &path), &reply, &asked);
        };
        let wrong = METHODS.iter().filter(|one| **one != method);
        for address in addresses(&path) {
            wrong
                .clone()
                .for_each(|other| fire(other, &address, &[], b""));
            let takes_body = operation["requestBody"].is_object();
            let of_all = if takes_body {
                bodies(&query, limit)
            } else {
                vec![vec![]]
            };
            of_all
                .iter()
                .for_each(|body| fire(&method, &address, &[], body));
            let good: &[u8] = if takes_body { &query } else { b"" };
            headers(&lookup.version().to_string())
                .iter()
                .for_each(|one| fire(&method, &address, one, good));
        }
    }
    let seen = |method: &str, path: &str| &contract.seen[&(method.to_owned(), path.to_owned())];
    let of_query = seen("POST", "/v1/databases/{name}/query");
    assert!(
        of_query.is_superset(&BTreeSet::from([200, 400, 404, 409, 413])),
        "{of_query:?}"
    );
    assert_eq!(
        seen("GET", "/v1/databases/{name}/query"),
        &BTreeSet::from([405])
    );
    assert_eq!(
        seen("GET", "/v1/databases/{name}/public"),
        &BTreeSet::from([200, 304, 404])
    );
    assert_eq!(
        seen("GET", "/v1/databases/{name}"),
        &BTreeSet::from([200, 404])
    );
    // The version in the path is malformed here.
    for path in ["hashes", "blocks/{ranges}"] {
        let path = format!("/v1/databases/{{name}}/public/{{version}}/{path}");
        assert_eq!(seen("GET", &path), &BTreeSet::from([400, 404]), "{path}");
    }
}

#[test]
fn responses_of_blocks_are_documented() {
    let server = Running::start(config(), vec![indexed("table", "plain", 100)]);
    let mut contract = Contract::of(&server);
    let public = format!("{}/v1/databases/table/public", server.url());
    let tag = get(&public).header("etag").unwrap().to_owned();
    let version = tag.trim_matches('"');

    for (part, route) in [("hashes", "hashes"), ("blocks/0", "blocks/{ranges}")] {
        let route = format!("/v1/databases/{{name}}/public/{{version}}/{route}");
        let url = format!("{public}/{version}/{part}");
        let reply = get(&url);
        assert_eq!(reply.status, 200, "{url}");
        contract.check(("GET", &route), &reply, part);

        let again = send("GET", &url, &[("if-none-match", &tag)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0), "{url}");
        contract.check(("GET", &route), &again, part);

        let other = get(&format!("{public}/0707070707070707/{part}"));
        assert_eq!(other.code(), "wrong_version", "{url}");
        contract.check(("GET", &route), &other, part);
    }
}

#[test]
fn responses_of_a_signed_database_are_documented() {
    let directory = tempfile::tempdir().unwrap();
    let path = build_signed(directory.path(), "table.papir", "a", 1_800_000_000);
    let server = Running::start_files(serving(&[&path])).unwrap();
    let mut contract = Contract::of(&server);
    for path in ["", "/checkpoint", "/checkpoint/proof", "/checkpoint/log"] {
        let route = format!("/v1/databases/{{name}}{path}");
        let url = format!("{}/v1/databases/table{path}", server.url());
        let reply = get(&url);
        assert_eq!(reply.status, 200, "{url}");
        contract.check(("GET", &route), &reply, path);
        let Some(tag) = reply.header("etag") else {
            continue;
        };
        let again = send("GET", &url, &[("if-none-match", tag)], b"");
        assert_eq!((again.status, again.body.len()), (304, 0), "{url}");
        contract.check(("GET", &route), &again, path);
    }
}

#[test]
fn errors_of_a_failing_or_busy_service_are_documented() {
    const QUERY: (&str, &str) = ("POST", "/v1/databases/{name}/query");
    let start = |fault: Fault| {
        let faulty = FaultyDatabase {
            inner: prepared("plain", &records(50)),
            scheme: 0,
            fault,
        };
        let config = ServerConfig {
            max_concurrent: 1,
            max_queued: 0,
            ..config()
        };
        Running::start(config, vec![Database::new("table", Box::new(faulty), None)])
    };
    let query = |server: &Running| {
        lookup(&server.url(), "table")
            .prepare_index(7, &mut rng())
            .unwrap()
            .queries()
            .concat()
    };
    let url = |server: &Running| format!("{}/v1/databases/table/query", server.url());

    let failing = start(Fault::Panic);
    let reply = post(&url(&failing), &query(&failing));
    assert_eq!(reply.status, 500);
    Contract::of(&failing).check(QUERY, &reply, "a panic");

    let latch = Latch::default();
    let busy = start(Fault::Wait(latch.clone()));
    let url = url(&busy);
    let query = query(&busy);
    thread::scope(|scope| {
        let first = scope.spawn(|| post(&url, &query));
        latch.wait_for(1);
        let reply = post(&url, &query);
        latch.release();
        assert_eq!((reply.status, first.join().unwrap().status), (429, 200));
        Contract::of(&busy).check(QUERY, &reply, "at capacity");
    });
}

#[test]
fn parameters_have_the_patterns_by_which_the_service_refuses() {
    let server = Running::start(config(), vec![indexed("table", "plain", 100)]);
    let contract = Contract::of(&server);
    let mut patterns = BTreeMap::new();
    for (_, _, operation) in contract.operations() {
        for parameter in operation["parameters"].as_array().into_iter().flatten() {
            let name = parameter["name"].as_str().unwrap().to_owned();
            if let Some(pattern) = parameter["schema"]["pattern"].as_str() {
                patterns.insert(name, pattern.to_owned());
            }
        }
    }
    let named: Vec<_> = patterns.keys().map(String::as_str).collect();
    let expected = [
        "id",
        "papir-client",
        "papir-ticket",
        "papir-version",
        "ranges",
        "version",
    ];
    assert_eq!(named, expected);

    let url = format!("{}/v1/databases/table", server.url());
    let fits = |name: &str, value: &str| {
        let shape = json!({ "type": "string", "pattern": patterns[name] });
        jsonschema::validator_for(&shape)
            .unwrap()
            .is_valid(&json!(value))
    };
    for value in [
        "0707070707070707",
        "ABCDEF0123456789",
        "070707070707070",
        "07070707070707070",
        "070707070707070g",
        "seven",
    ] {
        let by_query = get(&format!("{url}?version={value}"));
        let is_malformed = by_query.code() == "malformed";
        assert_eq!(is_malformed, !fits("version", value), "{value}");
        let query = format!("{url}/query");
        let by_header = send("POST", &query, &[("papir-version", value)], b"");
        let is_malformed = by_header.code() == "malformed";
        assert_eq!(is_malformed, !fits("papir-version", value), "{value}");
    }

    for (value, is_valid) in [
        ("0", true),
        ("0,17-65", true),
        ("7-9,11", true),
        ("", false),
        ("07", false),
        ("1,0", false),
        ("1-0", false),
        ("1;2", false),
    ] {
        assert_eq!(fits("ranges", value), is_valid, "{value}");
    }

    let of_client = "0123456789abcdef".repeat(2);
    assert!(fits("id", &of_client) && fits("papir-client", &of_client));
    assert!(!fits("id", "7") && !fits("papir-client", &of_client[1..]));
    for (value, is_valid) in [
        ("7", true),
        ("7, 8,90", true),
        ("0", true),
        ("", false),
        ("7;8", false),
        ("+7", false),
        ("07", false),
    ] {
        assert_eq!(fits("papir-ticket", value), is_valid, "{value}");
    }
}

/// The checks above detect undocumented responses.
#[test]
fn an_undocumented_response_is_detected() {
    let server = Running::start(config(), vec![indexed("table", "plain", 100)]);
    let reply = get(&format!("{}/v1/databases", server.url()));
    let check = |change: fn(&mut Value)| {
        let mut contract = Contract::of(&server);
        change(&mut contract.document);
        let checked = catch_unwind(AssertUnwindSafe(|| {
            contract.check(("GET", "/v1/databases"), &reply, "changed");
        }));
        checked.is_ok()
    };
    assert!(check(|_| {}));
    assert!(!check(|document| drop(
        document["paths"]["/v1/databases"]["get"]["responses"]
            .as_object_mut()
            .unwrap()
            .remove("200")
    )));
    assert!(!check(|document| drop(
        document["components"]["schemas"]["Summary"]["properties"]
            .as_object_mut()
            .unwrap()
            .remove("keyed")
    )));
    assert!(!check(|document| {
        document["components"]["schemas"]["Summary"]["properties"]["records"] =
            json!({ "type": "string" });
    }));
}
