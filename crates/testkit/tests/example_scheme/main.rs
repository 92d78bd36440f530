//! The example of `docs/add-a-scheme.md`: download the whole database.
//!
//! The query says nothing about the index, and the answer is every record: perfect privacy without
//! cryptography, at the price of the longest possible answer.
//!
//! | verb | function |
//! |---|---|
//! | setup | [`server::ExampleServer`]: a copy of the packed records |
//! | query | [`client::ExampleClient`]: a random nonce |
//! | answer | the nonce and all packed records |
//! | extract | compares the nonce, then picks the records by a scan |
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;
mod guide;
mod params;
mod server;
mod wire;

use papir_core::Privacy;
use papir_core::erased::Erased;
use papir_core::scheme::{Parameters, Scheme, Unregistered, Wire};
use papir_core::{Error, Goal, Shape};
use papir_testkit::conformance::{ConformanceConfig, run};

/// The scheme.
pub(crate) struct Example;

impl Scheme for Example {
    const NAME: &'static str = "example";
    const ID: u16 = 0xfff0;
    const PRIVACY: Privacy = Privacy::Private;

    type Params = params::ExampleParams;
    type Public = wire::ExamplePublic;
    type Query = wire::ExampleQuery;
    type Answer = wire::ExampleAnswer;
    type Secret = client::ExampleSecret;
    type Registration = Unregistered;
    type Server = server::ExampleServer;
    type Client = client::ExampleClient;
}

#[test]
fn the_example_conforms() {
    run(&Erased::<Example>::new(), &ConformanceConfig::quick());
}

#[test]
fn messages_have_golden_bytes() {
    let params = params::ExampleParams::choose(Shape::new(3, 3).unwrap(), Goal::Balanced).unwrap();
    let nonce = *b"sixteen bytes ok";
    assert_eq!(
        params.encode(),
        [3, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]
    );
    assert_eq!(wire::ExampleQuery { nonce }.encode(&params), nonce);
    let answer = wire::ExampleAnswer {
        nonce,
        packed: vec![0b1000_1000, 1],
    };
    assert_eq!(
        answer.encode(&params),
        [&nonce[..], &[0b1000_1000, 1]].concat()
    );
    assert!(wire::ExampleAnswer::decode(&params, &answer.encode(&params)).is_ok());
    // Nine bits of records, then a bit that must be zero.
    let padded = wire::ExampleAnswer {
        nonce,
        packed: vec![0, 0b10],
    }
    .encode(&params);
    assert!(matches!(
        wire::ExampleAnswer::decode(&params, &padded),
        Err(Error::Malformed { .. })
    ));
}

#[test]
fn databases_too_long_for_an_answer_are_refused() {
    let shape = Shape::of_bytes(params::MAX_BYTES / 64 + 1, 64).unwrap();
    let error = params::ExampleParams::choose(shape, Goal::Balanced).unwrap_err();
    assert_eq!(error.code(), "no_parameters");
}
