//! Clients of a service whose responses do not end.

use papir_client::{Error, Options, Patches};
use tempfile::TempDir;

use crate::support::canned::{Canned, CannedServer};
use crate::support::files::{build_filtered, serving};
use crate::support::transports::{AnyConnection, over_both_transports};
use crate::support::{Running, config, get, stateless, two_versions};

over_both_transports! {
    an_endless_filter_is_refused,
    after_an_endless_part_of_a_patch_the_whole_is_fetched,
}

/// Passes requests on to a service. Responses to requests whose path has `part` do not end.
fn endless(honest: String, part: &'static str) -> CannedServer {
    CannedServer::start(move |request| {
        let (_, route) = request.split_once(' ').unwrap();
        let reply = get(&format!("{honest}{route}"));
        let version = reply.header("papir-version").map(str::to_owned);

        Canned {
            status: reply.status,
            headers: version
                .map(|version| ("papir-version", version))
                .into_iter()
                .collect(),
            body: reply.body,
            endless: route.contains(part),
            ..Canned::default()
        }
    })
}

fn an_endless_filter_is_refused<C: AnyConnection>() {
    let folder = TempDir::new().unwrap();
    let file = build_filtered(folder.path(), "words.pir", 300, "a");
    let server = Running::start_files(serving(&[&file])).unwrap();
    let liar = endless(server.url(), "/prefilter");

    let options = Options {
        allow_not_private: true,
        ..stateless()
    };
    let error = C::open_with(&liar.url(), &options).err().unwrap();
    assert!(matches!(error, Error::TooLong { .. }), "{error}");
    assert!(error.to_string().contains("/prefilter"), "{error}");
    assert_eq!(liar.count("POST"), 0);
}

fn after_an_endless_part_of_a_patch_the_whole_is_fetched<C: AnyConnection>() {
    for part in ["/hashes", "/blocks/"] {
        let folder = TempDir::new().unwrap();
        let [first, second] = two_versions("table");
        let server = Running::start(config(), vec![first]);
        let liar = endless(server.url(), part);
        let options = Options {
            state: Some(folder.path().to_owned()),
            patches: Patches::Always,
            ..Options::default()
        };
        C::open_with(&liar.url(), &options).unwrap();
        assert_eq!(liar.count("GET /v1/databases/table/public?"), 1);

        server.handle.replace(second).unwrap();
        let connection = C::open_with(&liar.url(), &options).unwrap();
        assert_eq!(liar.count("GET /v1/databases/table/public?"), 2, "{part}");
        let newest = get(&format!("{}/v1/databases/table", server.url())).json();
        assert_eq!(newest["version"], connection.info().version, "{part}");
    }
}
