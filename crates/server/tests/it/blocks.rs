//! Lists of blocks and blocks of public parts.

use crate::deltas::publish;
use crate::support::files::{build, serving};
use crate::support::secured::{source, token};
use crate::support::{Reply, Running, config, get, indexed, keyed, send, two_versions};
use papir_lookup::{BlockList, block_bytes};
use papir_server::{ClientLimits, Protection, Scope, ServerConfig};
use tempfile::TempDir;

const OPEN: &str = "public, max-age=31536000, immutable";
const PRIVATE: &str = "private, max-age=31536000, immutable";

/// The newest public part of a database, and its address with the version.
struct Part {
    bytes: Vec<u8>,
    version: String,
    url: String,
}

impl Part {
    fn of(server: &Running, name: &str) -> Self {
        let public = format!("{}/v1/databases/{name}/public", server.url());
        let reply = get(&public);
        let version = reply.header("papir-version").unwrap().to_owned();
        Self {
            url: format!("{public}/{version}"),
            version,
            bytes: reply.body,
        }
    }

    fn list(&self) -> BlockList {
        BlockList::decode(&self.hashes().body, self.bytes.len()).unwrap()
    }

    fn hashes(&self) -> Reply {
        get(&format!("{}/hashes", self.url))
    }

    fn blocks(&self, ranges: &str) -> Reply {
        get(&format!("{}/blocks/{ranges}", self.url))
    }
}

#[test]
fn the_list_and_the_blocks_are_those_of_the_public_part() {
    let databases = vec![
        indexed("table", "simple", 3000),
        keyed("words", "plain", "a"),
    ];
    let server = Running::start(config(), databases);
    for name in ["table", "words"] {
        let part = Part::of(&server, name);
        let list = part.list();
        assert_eq!(list, BlockList::of(&part.bytes), "{name}");

        let block = block_bytes(part.bytes.len());
        let last = list.blocks() - 1;
        let all = match last {
            0 => "0".to_owned(),
            _ => format!("0-{last}"),
        };
        assert_eq!(part.blocks(&all).body, part.bytes, "{name}");
        let end = part.blocks(&last.to_string());
        assert_eq!(end.body, part.bytes[last * block..], "{name}");
    }

    let part = Part::of(&server, "table");
    let block = block_bytes(part.bytes.len());
    let expected = [
        &part.bytes[..block],
        &part.bytes[2 * block..4 * block],
        &part.bytes[6 * block..7 * block],
    ];
    assert_eq!(part.blocks("0,2-3,6").body, expected.concat());
}

#[test]
fn responses_have_their_length_and_may_be_kept_forever() {
    let server = Running::start(config(), vec![indexed("table", "simple", 3000)]);
    let part = Part::of(&server, "table");
    let tag = format!("\"{}\"", part.version);
    for reply in [part.hashes(), part.blocks("0,2")] {
        assert_eq!(reply.status, 200);
        let length = reply.body.len().to_string();
        assert_eq!(reply.header("content-length"), Some(length.as_str()));
        assert_eq!(reply.header("cache-control"), Some(OPEN));
        assert_eq!(reply.header("etag"), Some(tag.as_str()));
        assert_eq!(reply.header("papir-version"), Some(part.version.as_str()));
        assert_eq!(
            reply.header("content-type"),
            Some("application/octet-stream")
        );
    }
}

#[test]
fn sets_of_blocks_that_are_not_there_are_refused() {
    let server = Running::start(config(), vec![indexed("table", "simple", 3000)]);
    let part = Part::of(&server, "table");
    let blocks = part.list().blocks();
    for other in [
        "07",
        "1,0",
        "1-1",
        "0,1",
        "x",
        "%2c",
        &blocks.to_string(),
        &format!("0-{blocks}"),
    ] {
        let reply = part.blocks(other);
        assert_eq!(
            (reply.status, reply.code().as_str()),
            (400, "malformed"),
            "{other}"
        );
    }

    let malformed = get(&part.url.replace(&part.version, "seven/hashes"));
    assert_eq!(malformed.code(), "malformed");
}

#[test]
fn other_versions_are_refused_with_the_newest() {
    let server = Running::start(config(), vec![indexed("table", "simple", 3000)]);
    let before = Part::of(&server, "table");
    server
        .handle
        .replace(indexed("table", "simple", 3000))
        .unwrap();
    let after = Part::of(&server, "table");

    for reply in [before.hashes(), before.blocks("0")] {
        assert_eq!(reply.status, 409);
        assert_eq!(reply.code(), "wrong_version");
        assert_eq!(reply.header("papir-version"), Some(after.version.as_str()));
        assert_eq!(reply.header("cache-control"), None);
    }
}

#[test]
fn a_delta_has_no_blocks() {
    let folder = TempDir::new().unwrap();
    let file = build(folder.path(), "words.papir", 50, "a");
    publish(&file, "b", &[7], &[]);
    let server = Running::start_files(serving(&[&file])).unwrap();

    let part = Part::of(&server, "words");
    assert_eq!(part.hashes().status, 200);
    let info = get(&format!("{}/v1/databases/words", server.url())).json();
    let delta = info["delta"]["version"].as_str().unwrap();
    let url = part.url.replace(&part.version, delta);
    let reply = get(&format!("{url}/hashes"));
    assert_eq!(reply.code(), "wrong_version");
}

#[test]
fn blocks_behind_tokens_are_for_private_caches() {
    let folder = TempDir::new().unwrap();
    let file = folder.path().join("tokens.toml");
    let token = token(&file, "all", &[Scope::Query], None);
    let guarded = ServerConfig {
        protection: Protection {
            tokens: source(&file),
            ..Protection::default()
        },
        ..config()
    };
    let database = indexed("table", "simple", 3000);
    let version = database.version();
    let server = Running::start(guarded, vec![database]);

    let bearer = format!("Bearer {token}");
    let public = format!("{}/v1/databases/table/public", server.url());
    for part in ["hashes", "blocks/0"] {
        let url = format!("{public}/{version}/{part}");
        assert_eq!(get(&url).status, 401, "{part}");
        let reply = send("GET", &url, &[("authorization", &bearer)], b"");
        assert_eq!(reply.status, 200, "{part}");
        assert_eq!(reply.header("cache-control"), Some(PRIVATE), "{part}");
    }
}

#[test]
fn lists_and_blocks_count_as_requests() {
    let limited = ServerConfig {
        protection: Protection {
            limits: ClientLimits {
                rate: Some("1/h".parse().unwrap()),
                burst: 3,
                per_client: 0,
            },
            ..Protection::default()
        },
        ..config()
    };
    let server = Running::start(limited, vec![indexed("table", "plain", 50)]);
    let part = Part::of(&server, "table");
    assert_eq!(part.hashes().status, 200);
    assert_eq!(part.blocks("0").status, 200);
    assert_eq!(part.hashes().code(), "too_many");
    assert_eq!(part.blocks("0").code(), "too_many");
}

#[test]
fn an_earlier_public_part_is_patched_to_the_next_one() {
    let [first, second] = two_versions("table");
    let server = Running::start(config(), vec![first]);
    let before = Part::of(&server, "table");
    server.handle.replace(second).unwrap();
    let after = Part::of(&server, "table");
    assert_ne!(after.version, before.version);

    let list = after.list();
    let ranges = list.missing(&before.bytes);
    let blocks = after.blocks(&ranges.to_string()).body;
    // A tenth of the rows have changed, and the first and the last bytes.
    let sent = blocks.len();
    let most = after.bytes.len() / 10 + 5 * block_bytes(after.bytes.len());
    assert!(sent <= most, "{sent} bytes, at most {most}");
    let patched = list.apply(&before.bytes, &ranges, &blocks).unwrap();
    assert_eq!(patched, after.bytes);
}
