//! Client keys and state: saved, loaded, damaged, missing.

use papir_core::Error;
use papir_core::envelope::{self, Header, Kind};
use papir_core::scheme::SENT_AHEAD;

use super::config::ConformanceConfig;
use super::fixture::{Fixture, Registration, is_parse_error};

/// Runs all checks of this file; none for schemes without client keys.
pub(super) fn check(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    if !fixture.server.describe().limits.client_keys {
        assert!(
            fixture.registration.state.is_none(),
            "state without client keys"
        );
        return;
    }
    check_saved_state(fixture);
    check_damaged_state(fixture, config);
    check_keys(fixture, config);
    check_missing_session(fixture);
    check_sent_ahead(fixture);
}

/// State that was saved and loaded repeatedly continues where it left off. State loaded twice uses
/// the same ticket number twice, so that the server can refuse the second query.
fn check_saved_state(fixture: &mut Fixture<'_>) {
    let client = fixture
        .scheme
        .client(&fixture.server.public())
        .expect("a client");
    let client = client.require_registered().expect("client keys");

    for index in [0, fixture.shape.records() - 1] {
        let bytes = client.save_state(state(fixture)).expect("saving state");
        let loaded = client.load_state(&bytes).expect("loading what was saved");
        let again = client.save_state(&loaded).expect("saving state");
        assert!(bytes == again, "state changed by saving");

        let numbers = client.numbers(state(fixture));
        let loaded_numbers = client.numbers(&loaded);
        assert_eq!(
            numbers.expect("own state").ticket,
            loaded_numbers.expect("own state").ticket,
            "another ticket"
        );

        fixture.registration.state = Some(loaded);
        fixture.check_lookup(&[index]);
    }
}

/// Bytes with flipped bits and shorter ones cause typed errors. `read` returns the error of a
/// message.
fn check_damages(
    what: &str,
    bytes: &[u8],
    bits: u8,
    config: &ConformanceConfig,
    read: impl Fn(&[u8]) -> Option<Error>,
) {
    let step = bytes.len().div_ceil(config.damaged_positions.max(1));
    for position in (0..bytes.len()).step_by(step) {
        let mut flipped = bytes.to_vec();
        flipped[position] ^= bits;

        for (how, damaged) in [("flipped", &flipped[..]), ("cut", &bytes[..position])] {
            let error =
                read(damaged).unwrap_or_else(|| panic!("{what}, {how} at {position}: accepted"));
            assert!(
                is_parse_error(&error),
                "{what}, {how} at {position}: {error:?}"
            );
        }
    }
}

/// Damaged state and state of another scheme cause typed errors.
fn check_damaged_state(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    let client = fixture.client.require_registered().expect("client keys");
    let bytes = client.save_state(state(fixture)).expect("saving state");
    check_damages("state", &bytes, 1, config, |bytes| {
        client.load_state(bytes).err()
    });

    let payload = &bytes[24..bytes.len() - 8];
    let header = |kind, scheme| Header {
        kind,
        scheme,
        version: fixture.server.version(),
    };

    let id = fixture.scheme.properties().id;
    let version = fixture.server.version();

    let foreign = envelope::seal(&header(Kind::State, id.wrapping_add(1)), payload);
    assert!(matches!(
        client.load_state(&foreign),
        Err(Error::WrongScheme { .. })
    ));

    let short = envelope::seal(
        &Header {
            kind: Kind::State,
            scheme: id,
            version,
        },
        &payload[1..],
    );
    assert!(
        client
            .load_state(&short)
            .is_err_and(|error| is_parse_error(&error))
    );

    let keys = envelope::seal(&header(Kind::Keys, id), payload);
    assert!(
        client
            .load_state(&keys)
            .is_err_and(|error| is_parse_error(&error))
    );
}

/// Valid keys are accepted. Damaged, short and long keys are refused, and so are those of another
/// version unless they are valid for this one.
fn check_keys(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    let client = fixture.client.require_registered().expect("client keys");
    let server = fixture.server.require_registered().expect("client keys");
    let (_, keys) = client.register(&mut fixture.rng).expect("registration");
    assert!(server.accept_keys(&keys).is_ok(), "honest keys");
    check_damages("keys", &keys, 0x80, config, |keys| {
        server.accept_keys(keys).err()
    });

    let payload = &keys[24..keys.len() - 8];
    let id = fixture.scheme.properties().id;
    let version = papir_core::Version([0x5a; 8]);

    let old = envelope::seal(
        &Header {
            kind: Kind::Keys,
            scheme: id,
            version,
        },
        payload,
    );
    assert!(matches!(
        server.accept_keys(&old),
        Ok(_) | Err(Error::WrongVersion { .. })
    ));

    let long = [payload, &[0]].concat();
    let long = envelope::seal(
        &Header {
            kind: Kind::Keys,
            scheme: id,
            version: fixture.server.version(),
        },
        &long,
    );
    assert!(
        server
            .accept_keys(&long)
            .is_err_and(|error| is_parse_error(&error)),
        "longer keys"
    );
}

/// A query whose session lacks keys or a ticket, or has another client's ticket.
fn check_missing_session(fixture: &mut Fixture<'_>) {
    let sent = fixture.send(&[0]);
    assert!(
        fixture.server.check_query(&sent.query).is_ok(),
        "an honest query"
    );
    assert!(
        fixture.server.check_query(&sent.query[1..]).is_err(),
        "a cut query"
    );

    let missing = fixture
        .server
        .answer(papir_core::erased::ErasedSession::default(), &sent.query);
    assert!(
        matches!(missing, Err(Error::Session { .. })),
        "{:?}",
        missing.err()
    );

    if sent.ticket.is_none() {
        return;
    }

    let mut other = Registration::open(&*fixture.client, &*fixture.server, &mut fixture.rng);
    let theirs = other
        .send(&*fixture.client, &*fixture.server, &[0], &mut fixture.rng)
        .expect("a query");
    let session = fixture.registration.session(&theirs);
    // With another client's ticket, the server refuses or gives a meaningless answer.
    if let Ok(answer) = fixture.server.answer(session, &sent.query) {
        fixture.check_decodes_or_refuses(
            sent.secret,
            &answer,
            "an answer by another client's ticket",
        );
    }
}

/// A key that was sent ahead, and saved in the state, shortens one query, which needs no session.
fn check_sent_ahead(fixture: &mut Fixture<'_>) {
    let sizes = fixture.server.describe().sizes;
    let client = fixture
        .scheme
        .client(&fixture.server.public())
        .expect("a client");
    let registered = client.require_registered().expect("client keys");
    let server = &*fixture.server;
    let own = fixture.registration.state.as_mut().expect("state");
    let rng = &mut fixture.rng;

    if sizes.ahead == 0 {
        assert!(matches!(
            registered.send_ahead(own, rng),
            Err(Error::Parameters { .. })
        ));
        return;
    }

    let number = registered
        .numbers(own)
        .expect("own state")
        .ticket
        .expect("a scheme with tickets");
    let key = registered.send_ahead(own, rng).expect("a key");
    assert_eq!(key.len() as u64, sizes.ahead, "the key's length");
    let keys = fixture
        .registration
        .keys
        .as_ref()
        .expect("a registered client");

    let ticket = server
        .require_registered()
        .and_then(|server| server.ticket(keys, number, None, &papir_core::NoProgress))
        .expect("a ticket");
    let session = papir_core::erased::ErasedSession {
        keys: Some(keys),
        ticket: Some(&ticket),
    };

    let answer = server.answer(session, &key).expect("an answer to a key");
    assert_eq!(registered.numbers(own).expect("own state").held, 0);
    registered
        .hold(own, number, &answer)
        .expect("an honest answer");

    let bytes = registered.save_state(own).expect("saving state");
    let mut loaded = registered
        .load_state(&bytes)
        .expect("loading what was saved");

    let numbers = registered.numbers(&loaded).expect("own state");
    assert_eq!(numbers.held, 1);
    assert_eq!(numbers.query, Some(SENT_AHEAD + number));

    let index = fixture.shape.records() / 2;
    let (secret, query) = client
        .query(Some(&mut loaded), &[index], rng)
        .expect("a query");

    let held = registered.numbers(&loaded).expect("own state").held;
    assert_eq!((query.len() as u64, held), (sizes.online, 0));

    let answer = server
        .answer(Default::default(), &query)
        .expect("an answer without a session");
    assert!((answer.len() as u64) < sizes.answer, "the answer's length");

    let found = client
        .extract(secret, &answer)
        .expect("an honest answer decodes");
    super::fixture::check_records(&fixture.records, &[index], &found);

    fixture.registration.state = Some(loaded);
}

fn state<'f>(fixture: &'f Fixture<'_>) -> &'f papir_core::erased::ErasedState {
    fixture
        .registration
        .state
        .as_ref()
        .expect("a registered client keeps state")
}
