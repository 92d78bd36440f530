//! Verifiable databases: the caller detects a server that answers from other records. The server
//! cannot tell that it was detected.

use crate::support::proxy::{Proxy, Traffic};
use crate::support::{Running, config, entries, get, key, prepared, rng, stateless, value};
use papir_client::{Connection, Error, Options};
use papir_core::NoProgress;
use papir_lookup::{Error as LookupError, ProvenRecords, Root, TableOptions};
use papir_server::Database;

/// A service that answers from `served` values but shows the commitment to `shown` values. Both
/// have the same layout.
pub(crate) fn serve(served: &str, shown: &str) -> (Running, Root) {
    let options = TableOptions::default();
    let shown =
        papir_lookup::build(entries(300, shown), &options, &mut rng(), &NoProgress).unwrap();
    // A dishonest server keeps the layout and changes values in place.
    let mut records = shown.records.clone();
    if served != "honest" {
        let last = records.packed().len() - 1;
        let end = records.packed()[..last]
            .iter()
            .rposition(|&byte| byte != 0)
            .unwrap();
        records.packed_mut()[..=end]
            .iter_mut()
            .filter(|byte| **byte == b'v')
            .for_each(|byte| *byte = b'V');
    }
    let commitment = ProvenRecords::new(&shown.records).unwrap().commitment();
    let proven = ProvenRecords::new(&records).unwrap();
    let server = prepared("plain", &proven);
    let root = commitment.root(Some(&shown.layout));
    let database =
        Database::new_verifiable("words", server, Some(shown.layout), Some(*commitment.top()));
    (Running::start(config(), vec![database]), root)
}

pub(crate) fn trusting(root: Root) -> Options {
    let database = Some("words".to_owned());
    Options {
        allow_not_private: true,
        database,
        root: Some(root),
        ..stateless()
    }
}

type Outcome = Result<Option<Vec<u8>>, Error>;

fn observe(served: &str) -> (Traffic, Vec<Outcome>) {
    let (server, root) = serve(served, "a");
    let proxy = Proxy::to(server.address);
    let mut connection = Connection::open_with(&proxy.url(), &trusting(root)).unwrap();
    let results = vec![connection.get_key(&key(1)), connection.get_key(b"absent")];
    (proxy.take(), results)
}

#[test]
fn only_the_caller_detects_wrong_records() {
    let (honest, values) = observe("honest");
    assert_eq!(values[0].as_ref().unwrap(), &Some(value(1, "a")));
    assert_eq!(values[1].as_ref().unwrap(), &None);
    let (lying, failures) = observe("lying");
    for failure in &failures {
        assert!(
            matches!(failure, Err(Error::Lookup(LookupError::NotCommitted))),
            "{failure:?}"
        );
    }
    assert_eq!(
        honest, lying,
        "the traffic reveals whether the proof was valid"
    );
}

#[test]
fn a_wrong_root_is_rejected_before_any_query() {
    let (server, root) = serve("honest", "a");
    let open = |root| Connection::open_with(&server.url(), &trusting(root));
    assert_eq!(
        open(root).unwrap().get_key(&key(7)).unwrap(),
        Some(value(7, "a"))
    );
    let error = open(Root([7; 32])).map(drop).unwrap_err();
    assert!(
        matches!(&error, Error::Root { .. }) && error.to_string().contains(&root.to_string()),
        "{error}"
    );
    let info = get(&format!("{}/v1/databases/words", server.url())).json();
    let bundle = get(&format!("{}/v1/databases/words/public", server.url())).body;
    assert_eq!(info["sizes"]["bundle"], bundle.len());
}
