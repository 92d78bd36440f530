//! Tests of services that share the tables.

use papir_store::postgres::Connector;
use papir_testkit::postgres::{PASSWORD, Server};
use postgres::Client;

use super::*;

const OLD: Version = Version([1; 8]);
const NEW: Version = Version([2; 8]);

fn login(server: &Server) -> Login {
    Login {
        address: server.address("papir"),
        password: Some(PASSWORD.to_owned()),
        ..Login::default()
    }
}

/// Two services with the same tables.
fn services(login: &Login) -> [PostgresTables; 2] {
    [(); 2].map(|()| PostgresTables::open(login).unwrap())
}

/// A connection for the transaction of another service, which a test keeps open.
fn connection(login: &Login) -> Client {
    Connector::new(login).unwrap().connect().unwrap()
}

fn reserve(service: &PostgresTables, number: u64) -> bool {
    service
        .reserve_ticket(ClientId::of(7), OLD, number)
        .unwrap()
}

fn forget(service: &PostgresTables, time: u64, most: u64) -> u64 {
    let forgotten = service.change(|tables| tables.forget_old_keys(time, most, 1000).map(Some));
    forgotten.unwrap().unwrap()
}

#[test]
fn services_share_the_work_and_know_each_others_versions() {
    let server = Server::start("");
    let [one, two] = services(&login(&server));

    assert!(
        reserve(&one, 0) && reserve(&one, 0),
        "again by the same service"
    );
    // Reserved and heard for long, whatever time this machine needs.
    server.sql(
        "papir",
        "UPDATE papir.preparing SET until = now() + interval '1 h'",
    );
    assert!(!reserve(&two, 0) && reserve(&two, 1));

    one.release_tickets().unwrap();
    server.sql(
        "papir",
        "UPDATE papir.preparing SET until = now() + interval '1 h'",
    );
    assert!(reserve(&two, 0) && !reserve(&one, 1));

    server.sql(
        "papir",
        "UPDATE papir.preparing SET until = now() - interval '1 s'",
    );
    assert!(reserve(&one, 0), "a service that crashed");

    assert_eq!(one.note_versions("a", &[OLD]).unwrap(), [OLD]);
    server.sql(
        "papir",
        "UPDATE papir.answered SET seen = now() + interval '1 h'",
    );
    let mut both = two.note_versions("a", &[NEW]).unwrap();
    both.sort_unstable();
    assert_eq!(both, [OLD, NEW]);

    server.sql(
        "papir",
        "UPDATE papir.answered SET seen = now() - interval '1 h'",
    );
    assert_eq!(two.note_versions("a", &[NEW]).unwrap(), [NEW]);
}

#[test]
fn a_sweep_waits_for_no_row_of_another_service() {
    let server = Server::start("");
    let login = login(&server);
    let [one, two] = services(&login);
    one.note_versions("a", &[NEW]).unwrap();
    two.note_versions("a", &[OLD]).unwrap();
    assert!(reserve(&one, 0) && reserve(&two, 1));
    server.sql(
        "papir",
        "UPDATE papir.answered SET seen = now() - interval '1 h';
         UPDATE papir.preparing SET until = now() - interval '1 h'",
    );

    // The second service renews its rows, and would sweep next.
    let mut connection = connection(&login);
    let mut renewing = connection.transaction().unwrap();
    for renewal in [
        "UPDATE papir.answered SET seen = now() WHERE service = $1",
        "UPDATE papir.preparing SET until = now() + interval '1 h' WHERE service = $1",
    ] {
        let renewed = renewing.execute(renewal, &[&&two.service[..]]);
        assert_eq!(renewed.unwrap(), 1);
    }

    let mut answered = one.note_versions("a", &[NEW]).unwrap();
    answered.sort_unstable();
    assert_eq!(answered, [OLD, NEW], "of a service that is running");

    renewing.commit().unwrap();
    let left = server.sql("papir", "SELECT number FROM papir.preparing");
    assert_eq!(left, "1");
}

#[test]
fn one_service_at_a_time_forgets_digests() {
    let server = Server::start("");
    let login = login(&server);
    let [service, _] = services(&login);
    let first = FirstUse {
        client: ClientId::of(7),
        time: 1,
    };
    let noted = service.change(|tables| tables.note_keys(KeysDigest([7; 32]), first).map(Some));
    assert!(noted.unwrap().is_some());

    let mut connection = connection(&login);
    let mut forgetting = connection.transaction().unwrap();
    let lock = "SELECT pg_advisory_xact_lock($1)";
    forgetting.execute(lock, &[&FORGETTING]).unwrap();
    assert_eq!(forget(&service, 10, 10), 0);

    forgetting.rollback().unwrap();
    assert_eq!(forget(&service, 10, 10), 1);
}

/// The size of the table says that it has no more rows than allowed, so it must not be counted
/// too small.
#[test]
fn no_row_of_a_digest_is_shorter_than_the_bound() {
    let server = Server::start("");
    let [service, _] = services(&login(&server));
    let noted = service.change(|tables| {
        for number in 0..2000_u64 {
            let first = FirstUse {
                client: ClientId::of(number.into()),
                time: number,
            };
            let digest = *blake3::hash(&number.to_le_bytes()).as_bytes();
            tables.note_keys(KeysDigest(digest), first)?;
        }
        Ok(Some(()))
    });
    assert!(noted.unwrap().is_some());

    let bytes = server.sql("papir", "SELECT pg_relation_size('papir.digests')");
    let bytes: i64 = bytes.parse().unwrap();
    assert!(bytes >= 2000 * LEAST_DIGEST_BYTES, "{bytes}");
    assert_eq!(forget(&service, 0, 2000), 0);
    assert_eq!(forget(&service, 0, 1990), 10);
}
