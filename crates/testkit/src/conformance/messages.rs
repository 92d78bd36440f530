//! Damaged, foreign and random messages cause typed errors, never panics.

use papir_core::envelope::{self, Header, Kind};
use papir_core::{Error, Result, Version};
use rand_core::Rng;

use super::config::ConformanceConfig;
use super::fixture::{Fixture, is_parse_error};

/// Runs all checks of this file.
pub(super) fn check(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    check_queries(fixture, config);
    check_answers(fixture, config);
    check_publics(fixture, config);
    check_random_payloads(fixture);
}

/// Damaged variants of `bytes`, each with a name.
fn damages(bytes: &[u8], positions: usize, rng: &mut impl Rng) -> Vec<(String, Vec<u8>)> {
    let mut list = vec![
        ("empty".to_owned(), Vec::new()),
        (
            "one byte short".to_owned(),
            bytes[..bytes.len() - 1].to_vec(),
        ),
        ("one byte long".to_owned(), [bytes, &[0]].concat()),
        (
            "header only".to_owned(),
            bytes[..24.min(bytes.len())].to_vec(),
        ),
        ("twice".to_owned(), [bytes, bytes].concat()),
    ];

    // Half of the positions are in the header, whose fields are checked one by one.
    for i in 0..positions {
        let position = if i < positions / 2 {
            i * 3 % 24
        } else {
            rng.next_u64() as usize % bytes.len()
        };

        let mut damaged = bytes.to_vec();
        damaged[position] ^= 1 << (rng.next_u32() % 8);

        list.push((format!("bit flipped in byte {position}"), damaged));
        list.push((format!("cut at {position}"), bytes[..position].to_vec()));
    }
    list
}

/// Reseals the payload of a message under another header.
fn reseal(bytes: &[u8], kind: Kind, scheme: u16, version: Version) -> Vec<u8> {
    envelope::seal(
        &Header {
            kind,
            scheme,
            version,
        },
        &bytes[24..bytes.len() - 8],
    )
}

fn assert_refused<T>(result: Result<T>, what: &str) {
    match result {
        Ok(_) => panic!("{what}: accepted"),
        Err(error) => assert!(is_parse_error(&error), "{what}: refused with {error:?}"),
    }
}

fn check_queries(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    let id = fixture.scheme.properties().id;
    let version = fixture.server.version();
    let sent = fixture.send(&[0]);

    for (what, damaged) in damages(&sent.query, config.damaged_positions, &mut fixture.rng) {
        assert_refused(
            fixture.try_answer(&damaged, &sent),
            &format!("query, {what}"),
        );
    }

    let foreign = reseal(&sent.query, Kind::Query, id.wrapping_add(1), version);
    assert!(matches!(
        fixture.try_answer(&foreign, &sent),
        Err(Error::WrongScheme { .. })
    ));

    let old = reseal(&sent.query, Kind::Query, id, Version([0xa5; 8]));
    assert!(matches!(
        fixture.try_answer(&old, &sent),
        Err(Error::WrongVersion { .. })
    ));

    let answer = reseal(&sent.query, Kind::Answer, id, version);
    assert!(matches!(
        fixture.try_answer(&answer, &sent),
        Err(Error::Malformed { .. })
    ));
}

fn check_answers(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    let id = fixture.scheme.properties().id;
    let version = fixture.server.version();
    let sent = fixture.send(&[0]);
    let answer = fixture.answer(&sent);

    for (what, damaged) in damages(&answer, config.damaged_positions, &mut fixture.rng) {
        let secret = fixture.send(&[0]).secret;
        assert_refused(
            fixture.client.extract(secret, &damaged),
            &format!("answer, {what}"),
        );
    }

    let foreign = reseal(&answer, Kind::Answer, id.wrapping_add(1), version);
    let secret = fixture.send(&[0]).secret;
    assert!(matches!(
        fixture.client.extract(secret, &foreign),
        Err(Error::WrongScheme { .. })
    ));

    let old = reseal(&answer, Kind::Answer, id, Version([0xa5; 8]));
    assert!(matches!(
        fixture.client.extract(sent.secret, &old),
        Err(Error::WrongVersion { .. })
    ));

    let secret = fixture.send(&[0]).secret;
    fixture.check_decodes_or_refuses(secret, &answer, "the answer to another query");
}

fn check_publics(fixture: &mut Fixture<'_>, config: &ConformanceConfig) {
    let public = fixture.server.public();
    let id = fixture.scheme.properties().id;
    let version = fixture.server.version();

    // A hint can be large: damage fewer positions.
    let positions = if public.len() > 1 << 22 {
        4
    } else {
        config.damaged_positions
    };

    for (what, damaged) in damages(&public, positions, &mut fixture.rng) {
        assert_refused(
            fixture.scheme.client(&damaged),
            &format!("public part, {what}"),
        );
    }

    let foreign = reseal(&public, Kind::Public, id.wrapping_add(1), version);
    assert!(matches!(
        fixture.scheme.client(&foreign),
        Err(Error::WrongScheme { .. })
    ));

    let payload = &public[24..public.len() - 8];
    let header = Header {
        kind: Kind::Public,
        scheme: id,
        version,
    };

    for length in [0, 1, 7, 8, 9, payload.len() / 2, payload.len() - 1] {
        let short = envelope::seal(&header, &payload[..length.min(payload.len() - 1)]);
        assert_refused(
            fixture.scheme.client(&short),
            &format!("public payload of {length} bytes"),
        );
    }

    let long = envelope::seal(&header, &[payload, &[0]].concat());
    assert_refused(
        fixture.scheme.client(&long),
        "public payload of one byte more",
    );

    check_parameter_bytes(fixture, config, &header, payload);
}

/// Flipped bits in the encoded parameters, with a correct checksum, cause an error or yield a
/// client.
fn check_parameter_bytes(
    fixture: &Fixture<'_>,
    config: &ConformanceConfig,
    header: &Header,
    payload: &[u8],
) {
    let parameters = u64::from_le_bytes(payload[..8].try_into().unwrap()) as usize;
    let bits = 8 * (8 + parameters);
    for bit in (0..bits).step_by(bits.div_ceil(16 * config.damaged_positions)) {
        let mut damaged = payload[..payload.len().min(1 << 16)].to_vec();
        damaged[bit / 8] ^= 1 << (bit % 8);
        if let Err(error) = fixture.scheme.client(&envelope::seal(header, &damaged)) {
            assert!(
                is_parse_error(&error),
                "parameters with bit {bit} flipped: {error:?}"
            );
        }
    }
}

/// Random payloads in correct envelopes.
fn check_random_payloads(fixture: &mut Fixture<'_>) {
    let id = fixture.scheme.properties().id;
    let version = fixture.server.version();
    let header = |kind| Header {
        kind,
        scheme: id,
        version,
    };

    let sent = fixture.send(&[0]);
    let query = sent.query.len() - envelope::OVERHEAD;
    let answer = fixture.answer(&sent).len() - envelope::OVERHEAD;

    for round in 0..8u8 {
        let mut payload = vec![[0, 0xff, 0x80, 0x7f][usize::from(round % 4)]; query];
        if round >= 4 {
            fixture.rng.fill_bytes(&mut payload);
        }

        match fixture.try_answer(&envelope::seal(&header(Kind::Query), &payload), &sent) {
            Ok(bytes) => {
                assert_eq!(
                    bytes.len(),
                    answer + envelope::OVERHEAD,
                    "answer to a random query"
                );
                let secret = fixture.send(&[0]).secret;
                fixture.check_decodes_or_refuses(secret, &bytes, "the answer to a random query");
            }
            Err(error) => assert!(is_parse_error(&error), "a random query: {error:?}"),
        }

        let mut payload = vec![[0, 0xff, 0x80, 0x7f][usize::from(round % 4)]; answer];
        if round >= 4 {
            fixture.rng.fill_bytes(&mut payload);
        }

        let secret = fixture.send(&[0]).secret;
        let bytes = envelope::seal(&header(Kind::Answer), &payload);
        fixture.check_decodes_or_refuses(secret, &bytes, "a random answer");
    }

    for length in [0, 1, query / 2, query - 1, query + 1] {
        let bytes = envelope::seal(&header(Kind::Query), &vec![0; length]);
        assert_refused(
            fixture.try_answer(&bytes, &sent),
            &format!("query payload of {length} bytes"),
        );
    }

    for length in [0, 1, answer / 2, answer - 1, answer + 1] {
        let bytes = envelope::seal(&header(Kind::Answer), &vec![0; length]);
        let secret = fixture.send(&[0]).secret;
        assert_refused(
            fixture.client.extract(secret, &bytes),
            &format!("answer payload of {length} bytes"),
        );
    }
}
