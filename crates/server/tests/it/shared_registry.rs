//! Services that share a registry in PostgreSQL.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Barrier;
use std::thread;
use std::time::{Duration, Instant};

use crate::support::clients::{
    Client, Query, SMALL, assert_answered_once, start_with, stateful, unregistered,
    unregistered_at, unregistered_of,
};
use crate::support::process::has_files_for;
use crate::support::zip::{ZIP, zip};
use crate::support::{Reply, Running, config, get, record, send};
use papir_server::{
    Database, Error, Login, PostgresConfig, RegistryConfig, RegistryPlace, ServerConfig,
    StoredRegistry,
};
use papir_testkit::postgres::{PASSWORD, Server};
use tempfile::TempDir;

pub(crate) fn place(address: String) -> PostgresConfig {
    let login = Login {
        address,
        password: Some(PASSWORD.to_owned()),
        ..Login::default()
    };
    PostgresConfig {
        login,
        ..PostgresConfig::default()
    }
}

pub(crate) fn registry(place: PostgresConfig) -> RegistryConfig {
    let place = RegistryPlace::Postgres(place);
    RegistryConfig {
        place,
        allow_list: true,
        ..RegistryConfig::new("unused")
    }
}

/// A primary, and a standby that has every commit.
pub(crate) fn synchronous_pair() -> (Server, Server) {
    let primary = Server::start("wal_level = replica");
    let standby = primary.standby("");
    primary.crash();
    primary.configure("synchronous_standby_names = 'standby'");
    primary.start_again();
    (primary, standby)
}

/// Starts a service with one database.
fn serve(server: &Server, database: Database) -> Running {
    start_with(registry(place(server.address("papir"))), database)
}

/// The error of a service that does not start with this registry.
fn refusal(place: PostgresConfig) -> String {
    let config = ServerConfig {
        registry: Some(registry(place)),
        ..config()
    };
    match Running::try_start(config, vec![stateful(SMALL, 1)]) {
        Err(error @ Error::Registry { .. }) => error.to_string(),
        Err(other) => panic!("{other}"),
        Ok(_) => panic!("the service started"),
    }
}

/// A registered client of ZipPIR with one answered query.
fn zip_client(service: &Running) -> Client {
    let mut client = unregistered_of(&ZIP, &service.url());
    client.id = client.register().json()["id"].as_str().unwrap().to_owned();
    client.check(7);
    client
}

/// Repeats a request until it is answered with this status.
#[track_caller]
fn eventually(status: u16, mut request: impl FnMut() -> Reply) -> Reply {
    let start = Instant::now();
    loop {
        let reply = request();
        if reply.status == status {
            return reply;
        }
        assert!(
            start.elapsed() < Duration::from_secs(60),
            "{} and not {status}: {reply:?}",
            reply.status
        );
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[test]
fn two_services_share_uploads_tickets_and_claims() {
    if !has_files_for("shared_registry::two_services_share_uploads_tickets_and_claims") {
        return;
    }
    let server = Server::start("");
    let one = serve(&server, stateful(300_000, 1));
    let two = serve(&server, stateful(300_000, 1));
    let mut client = unregistered_at(&one.url());
    client.begin();
    let length = client.keys.len();
    assert_eq!(client.part(0, 100_000).status, 200);
    let client = client.moved_to(&two);
    assert_eq!(client.part(50_000, length).json()["code"], "wrong_offset");
    assert_eq!(client.part(100_000, 200_000).status, 200);
    let mut client = client.moved_to(&one);
    assert_eq!(client.part(200_000, length).json()["status"], "registered");

    let query = client.query(7);
    let first = client.ask(&query);
    assert_eq!(first.status, 200, "{first:?}");
    let mut client = client.moved_to(&two);
    let again = client.ask(&query);
    assert_eq!(
        again.body, first.body,
        "the identical query is answered again"
    );
    assert_eq!(
        client.client.extract(query.secret, &again.body).unwrap(),
        [record(7)]
    );
    let other = client.query(8);
    let claimed = |client: &Client| client.ask_with("0", &other.bytes).code();
    assert_eq!(claimed(&client), "ticket_used");
    let client = client.moved_to(&one);
    assert_eq!(claimed(&client), "ticket_used");
    client.wait_for("tickets_ready", 4);

    // Nobody prepares a ticket twice, and each of them sees what the other removes.
    let offline = StoredRegistry::open(&registry(place(server.address("papir"))).place).unwrap();
    let databases = offline.list().unwrap();
    assert_eq!(
        (
            databases.len(),
            databases[0].1.registered,
            databases[0].1.tickets_used
        ),
        (1, 1, 1)
    );
    assert_eq!(send("DELETE", &client.at(""), &[], &[]).status, 204);
    let client = client.moved_to(&two);
    assert_eq!(get(&client.at("")).status, 410);
    assert_eq!(
        server.sql("papir", "SELECT count(*) FROM papir.tickets, papir.keys"),
        "0"
    );
}

/// A registry whose long keys are in an object store in this folder.
pub(crate) fn with_object_store(server: &Server, folder: &Path) -> RegistryConfig {
    registry(PostgresConfig {
        keys: Some(format!("file://{}", folder.display())),
        ..place(server.address("papir"))
    })
}

/// Copies of a client's state are used at the same moment, at both services.
#[test]
fn of_many_queries_with_one_number_one_is_answered() {
    if !has_files_for("shared_registry::of_many_queries_with_one_number_one_is_answered") {
        return;
    }
    let server = Server::start("");
    let services = [
        serve(&server, stateful(SMALL, 1)),
        serve(&server, stateful(SMALL, 1)),
    ];
    let mut client = unregistered(&services[0]);
    client.id = client.register().json()["id"].as_str().unwrap().to_owned();
    client.wait_for("tickets_ready", 1);
    let backup = client.registration().save_state(&client.state).unwrap();
    let mut queries = Vec::new();
    for index in 0..8 {
        client.state = client.registration().load_state(&backup).unwrap();
        queries.push(client.query(index));
    }
    let senders = services.each_ref().map(|service| {
        let mut moved = unregistered(service);
        moved.id = client.id.clone();
        moved.sender()
    });
    let start = Barrier::new(queries.len());
    let statuses: Vec<u16> = thread::scope(|scope| {
        let ask = |(index, query): (usize, &Query)| {
            let sender = &senders[index % 2];
            let start = &start;
            let bytes = query.bytes.clone();
            let ticket = query.ticket;
            scope.spawn(move || {
                start.wait();
                sender.ask(ticket, &bytes).status
            })
        };
        let asking: Vec<_> = queries.iter().enumerate().map(ask).collect();
        asking.into_iter().map(|one| one.join().unwrap()).collect()
    });
    assert_answered_once(&statuses);
}

/// During a rolling update one service answers the new version and the other the old one.
#[test]
fn tickets_are_kept_for_versions_that_another_service_answers() {
    if !has_files_for("shared_registry::tickets_are_kept_for_versions_that_another_service_answers")
    {
        return;
    }
    let server = Server::start("");
    let old = serve(&server, zip(1));
    let new = serve(&server, zip(2));
    let client = zip_client(&old);
    client.wait_for("tickets_ready", 4);
    client.moved_to(&new).wait_for("tickets_ready", 4);
    assert_eq!(
        server.sql(
            "papir",
            "SELECT count(DISTINCT version) FROM papir.answered"
        ),
        "2"
    );
    let of_old = "SELECT count(*) FROM papir.tickets GROUP BY version ORDER BY 1 DESC LIMIT 1";
    assert_eq!(server.sql("papir", of_old), "5");
}

/// The primary is lost. Its standby takes over, and knows every claim. Since the service cannot know
/// that, clients with tickets register anew.
#[test]
fn after_a_failover_no_ticket_is_used_twice() {
    if !has_files_for("shared_registry::after_a_failover_no_ticket_is_used_twice") {
        return;
    }
    let (primary, standby) = synchronous_pair();
    let address = primary.address_with(&standby, "papir");
    let service = start_with(registry(place(address)), zip(1));
    let mut client = zip_client(&service);
    let claimed = client.query(8);
    assert_eq!(client.ask(&claimed).status, 200);
    // A client whose queries use no tickets.
    let other = "INSERT INTO papir.clients SELECT decode(md5(''), 'hex'), 'other', false, entry";
    primary.sql("papir", &format!("{other} FROM papir.clients"));

    primary.crash();
    let lost = client.ask_with(&claimed.ticket.to_string(), &claimed.bytes);
    assert_eq!(
        (lost.status, lost.code().as_str()),
        (503, "registry_failed")
    );
    assert_eq!(get(&format!("{}/readyz", service.url())).status, 503);
    standby.promote();
    let replayed = eventually(410, || {
        client.ask_with(&claimed.ticket.to_string(), &claimed.bytes)
    });
    assert_eq!(replayed.code(), "client_gone");
    assert_eq!(
        standby.sql(
            "papir",
            "SELECT string_agg(database, ' ') FROM papir.clients"
        ),
        "other"
    );
    assert_eq!(standby.sql("papir", "SELECT count(*) FROM papir.keys"), "0");
    eventually(200, || get(&format!("{}/readyz", service.url())));
    zip_client(&service).check(9);
}

/// PostgreSQL stops between a query and its answer, or the outcome of the commit is not known.
#[test]
fn while_postgresql_is_away_nothing_is_answered_and_no_claim_is_lost() {
    if !has_files_for(
        "shared_registry::while_postgresql_is_away_nothing_is_answered_and_no_claim_is_lost",
    ) {
        return;
    }
    let server = Server::start("");
    let service = serve(&server, zip(1));
    let mut client = zip_client(&service);
    client.wait_for("tickets_ready", 4);
    let query = client.query(8);
    let ask = |bytes: &[u8]| client.ask_with(&query.ticket.to_string(), bytes);
    server.crash();
    let away = ask(&query.bytes);
    assert_eq!(
        (away.status, away.code().as_str()),
        (503, "registry_failed")
    );
    server.start_again();
    let answer = eventually(200, || ask(&query.bytes));
    assert_eq!(
        client.client.extract(query.secret, &answer.body).unwrap(),
        [record(8)]
    );
    server.crash();
    server.start_again();
    assert_eq!(eventually(200, || ask(&query.bytes)).body, answer.body);
    let mut copy = unregistered_of(&ZIP, &service.url());
    let other = copy.query(9);
    assert_eq!(ask(&other.bytes).code(), "ticket_used");
}

#[test]
fn servers_that_may_lose_commits_are_refused() {
    let server = Server::start("");
    for (setting, found) in [
        ("fsync = off", "fsync = off: expected on"),
        ("full_page_writes = off", "full_page_writes = off"),
        ("synchronous_commit = off", "synchronous_commit = off"),
        ("synchronous_commit = local", "synchronous_commit = local"),
    ] {
        server.crash();
        server.configure(setting);
        server.start_again();
        let error = refusal(place(server.address("papir")));
        assert!(
            error.contains(found) && error.contains("used twice"),
            "{error}"
        );
    }
    server.crash();
    server.configure("");
    server.start_again();
    let standby = server.standby("");
    let error = refusal(place(server.address("papir")));
    assert!(
        error.contains("synchronous_standby_names = '' with 1 standby(s)"),
        "{error}"
    );
    let error = refusal(place(standby.address("papir")));
    assert!(error.contains("in PostgreSQL"), "{error}");
    let mut wrong = place(server.address("papir"));
    wrong.login.password = Some("wrong".into());
    assert!(refusal(wrong).contains("password authentication failed"));
    assert!(
        refusal(place("postgres://papir:secret@localhost/papir".into())).contains("PGPASSFILE")
    );
    drop(standby);

    server.crash();
    server.configure("synchronous_standby_names = ''");
    server.start_again();
    drop(serve(&server, stateful(SMALL, 1)));
    server.sql("papir", "UPDATE papir.origin SET format = 9");
    assert!(
        refusal(place(server.address("papir"))).contains("format 9: this release reads format 1")
    );
}

#[test]
fn a_role_that_may_create_nothing_uses_the_tables_that_exist() {
    if !has_files_for("shared_registry::a_role_that_may_create_nothing_uses_the_tables_that_exist")
    {
        return;
    }
    let server = Server::start("");
    drop(serve(&server, stateful(SMALL, 1)));
    server.sql("papir", "REVOKE CREATE ON SCHEMA papir FROM papir");

    let service = serve(&server, stateful(SMALL, 1));
    let mut client = unregistered(&service);
    client.id = client.register().json()["id"].as_str().unwrap().to_owned();
    client.check(3);
}

#[test]
fn a_part_whose_response_was_lost_is_answered_by_any_service() {
    if !has_files_for("shared_registry::a_part_whose_response_was_lost_is_answered_by_any_service")
    {
        return;
    }
    let server = Server::start("");
    let folder = TempDir::new().unwrap();
    let in_store = PostgresConfig {
        keys: Some(format!("file://{}", folder.path().display())),
        ..place(server.address("papir"))
    };
    for place in [place(server.address("papir")), in_store] {
        let one = start_with(registry(place.clone()), stateful(300_000, 1));
        let two = start_with(registry(place), stateful(300_000, 1));
        let mut client = unregistered_at(&one.url());
        client.begin();
        let length = client.keys.len();

        for (offset, end, status) in [(0, 200_000, "uploading"), (200_000, length, "registered")] {
            assert_eq!(client.part(offset, end).json()["status"], status);
            client = client.moved_to(&two);
            let again = client.part(offset, end);
            assert_eq!(again.status, 200, "{again:?}");
            assert_eq!(again.json()["status"], status);
            assert_eq!(again.json()["uploaded_bytes"], end);
            client = client.moved_to(&one);
        }

        client.keys[250_000] ^= 1;
        assert_eq!(client.part(200_000, length).code(), "already_registered");
    }
}

#[test]
fn long_keys_go_to_the_object_store() {
    if !has_files_for("shared_registry::long_keys_go_to_the_object_store") {
        return;
    }
    let server = Server::start("");
    let folder = TempDir::new().unwrap();
    let with_store = with_object_store(&server, folder.path());
    let service = start_with(with_store.clone(), stateful(300_000, 1));
    let mut client = unregistered(&service);
    client.begin();
    assert_eq!(client.part(0, 200_000).status, 200);
    assert_eq!(
        [(); 2].map(|()| client.part(200_000, 200_000).status),
        [200; 2],
        "empty parts"
    );
    assert_eq!(client.part(200_000, 210_000).status, 200);
    assert_eq!(
        client.part(210_000, client.keys.len()).json()["status"],
        "registered"
    );
    let clients = || -> Vec<PathBuf> {
        let entries = fs::read_dir(folder.path().join("client-keys")).unwrap();
        entries.map(|entry| entry.unwrap().path()).collect()
    };
    let [own] = &clients()[..] else {
        panic!("{:?}", clients())
    };
    assert_ne!(
        own.file_name().unwrap().to_str(),
        Some(client.id.as_str()),
        "names are no capabilities"
    );
    let stored = || fs::read_dir(own).map_or(0, Iterator::count);
    assert_eq!(stored(), 2, "the short part is in PostgreSQL");
    service.finish();

    // Another service reads the keys from there.
    let service = start_with(with_store, stateful(300_000, 1));
    let mut moved = client.moved_to(&service);
    moved.check(3);
    assert_eq!(send("DELETE", &moved.at(""), &[], &[]).status, 204);
    assert_eq!(stored(), 0);
}
