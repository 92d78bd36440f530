//! Keys of queries that are sent ahead.

use papir_core::envelope::OVERHEAD;
use papir_core::scheme::{
    Client, Parameters, RegisteredClient, RegisteredServer, SENT_AHEAD, Server, Session, Wire,
};
use papir_core::{Change, Error, NoProgress, Shape};
use papir_paillier::SecretKey;

use super::{OverDouble, OverSimple, Short};
use crate::zip::base::Base;
use crate::zip::client::{State, ZipClient};
use crate::zip::over_simple::Columns;
use crate::zip::params::ZipParams;
use crate::zip::wire::{HintProduct, ZipAnswer};

#[test]
fn a_key_sent_ahead_serves_one_query_of_one_version() {
    let shape = Shape::of_bytes(300, 8).unwrap();
    let mut setup = OverSimple::new(shape, 30, 2);
    let params = setup.client.params().clone();
    let sizes = params.describe().sizes;

    for number in 0..3 {
        assert_eq!(setup.client.numbers(&setup.state).ticket, Some(number));
        let answer = setup.send_ahead();
        assert_eq!(
            answer.encode(&params).len() + OVERHEAD,
            sizes.answer as usize
        );
        assert_eq!(setup.client.numbers(&setup.state).held as u64, number);
        setup.reload();
        setup.client.hold(&mut setup.state, number, answer).unwrap();
        setup.reload();
    }

    let bytes = <State as Wire<ZipParams<Columns<Short>>>>::encode(&setup.state, &params);
    let cut =
        <State as Wire<ZipParams<Columns<Short>>>>::decode(&params, &bytes[..bytes.len() - 1]);
    assert!(matches!(cut.map(drop), Err(Error::Length { .. })));

    let numbers = setup.client.numbers(&setup.state);
    assert_eq!(numbers.query, Some(SENT_AHEAD));
    let (secret, query) = setup.ask(77);
    assert!(query.offsets.is_none() && query.number == 0);
    assert_eq!(
        query.encode(&params).len() + OVERHEAD,
        sizes.online as usize
    );
    let numbers = setup.client.numbers(&setup.state);
    assert_eq!(numbers.query, Some(SENT_AHEAD + 1));

    // It needs neither keys nor a ticket.
    let answer = setup.server.answer(Session::anonymous(), &query).unwrap();
    let bytes = answer.encode(&params);
    assert_eq!(bytes.len(), 2 * params.compression.rows);
    let answer = ZipAnswer::decode(&params, &bytes).unwrap();
    assert_eq!(
        setup.client.extract(secret, answer).unwrap(),
        [setup.records.get(77).unwrap()]
    );

    // A key is not used for another version, which has another hint.
    let change = Change {
        index: 33,
        record: vec![9; 8],
    };
    setup.server = setup
        .server
        .update(std::slice::from_ref(&change), &mut setup.rng, &NoProgress)
        .unwrap();
    setup.client = ZipClient::new(params, setup.server.public().clone()).unwrap();

    let numbers = setup.client.numbers(&setup.state);
    assert_eq!((numbers.held, numbers.query), (0, Some(3)));

    let (secret, query) = setup.ask(33);
    assert!(query.offsets.is_some() && query.number == 3);
    assert_eq!(
        setup.client.extract(secret, setup.answer(&query)).unwrap(),
        [change.record]
    );
}

#[test]
fn whole_and_halved_queries_are_answered_together() {
    let mut setup = OverDouble::new(Shape::new(500, 3).unwrap(), 20, 2);
    let params = setup.client.params().clone();

    let answer = setup.send_ahead();
    setup.client.hold(&mut setup.state, 0, answer).unwrap();
    let (online, first) = setup.ask(123);
    let (whole, second) = setup.ask(321);
    let third = setup
        .client
        .send_ahead(&mut setup.state, &mut setup.rng)
        .unwrap();

    let tickets = [1, 2].map(|number| {
        setup
            .server
            .ticket(&setup.keys, number, None, &NoProgress)
            .unwrap()
    });
    let session = |ticket| Session {
        keys: Some(&setup.keys),
        ticket,
    };

    let batch = vec![
        (session(None), &first),
        (session(Some(&tickets[0])), &second),
        (session(Some(&tickets[1])), &third),
    ];
    let answers = setup.server.answer_many(batch, &NoProgress).unwrap();
    let mut answers = answers.into_iter().map(|answer| {
        let bytes = answer.encode(&params);
        (bytes.len(), ZipAnswer::decode(&params, &bytes).unwrap())
    });

    let online_words = 2 * params.base.figures().online_words;
    let (length, answer) = answers.next().unwrap();
    assert_eq!(length, online_words + params.compression.words_bytes());
    assert_eq!(
        setup.client.extract(online, answer).unwrap(),
        [setup.records.get(123).unwrap()]
    );

    let (length, answer) = answers.next().unwrap();
    assert_eq!(length, online_words + params.compression.joined_bytes());
    assert_eq!(
        setup.client.extract(whole, answer).unwrap(),
        [setup.records.get(321).unwrap()]
    );

    setup
        .client
        .hold(&mut setup.state, 2, answers.next().unwrap().1)
        .unwrap();
    let (secret, query) = setup.ask(7);
    let answer = setup.server.answer(Session::anonymous(), &query).unwrap();
    assert_eq!(
        setup.client.extract(secret, answer).unwrap(),
        [setup.records.get(7).unwrap()]
    );

    assert!(params.describe().security.is_none());
}

#[test]
fn an_answer_is_held_once_and_for_its_own_key() {
    let mut setup = OverSimple::new(Shape::of_bytes(300, 8).unwrap(), 30, 1);
    let answers = [setup.send_ahead(), setup.send_ahead()];

    let words = ZipAnswer {
        online: Vec::new(),
        product: HintProduct::Words(Vec::new()),
    };
    for (number, answer) in [(5, setup.copy_of(&answers[0])), (0, words)] {
        let error = setup
            .client
            .hold(&mut setup.state, number, answer)
            .unwrap_err();
        assert!(matches!(error, Error::Malformed { .. }), "{error}");
    }

    let [first, second] = answers;
    let again = setup.copy_of(&first);
    setup.client.hold(&mut setup.state, 0, first).unwrap();
    assert!(
        setup.client.hold(&mut setup.state, 0, again).is_err(),
        "a second answer"
    );
    setup.client.hold(&mut setup.state, 1, second).unwrap();

    // Neither form of an answer passes for the other.
    let (secret, query) = setup.ask(1);
    let joined = setup.send_ahead();
    assert!(matches!(
        setup.client.extract(secret, joined),
        Err(Error::Malformed { .. })
    ));

    assert_eq!(query.number, 0);
    let words = setup.server.answer(Session::anonymous(), &query).unwrap();
    setup.ask(2);
    let (secret, _) = setup.ask(2);
    assert!(matches!(
        setup.client.extract(secret, words),
        Err(Error::Malformed { .. })
    ));
}

#[test]
fn a_state_whose_keys_would_serve_two_queries_is_refused() {
    type Stored = ZipParams<Columns<Short>>;
    let mut setup = OverSimple::new(Shape::of_bytes(300, 8).unwrap(), 30, 6);
    let params = setup.client.params().clone();
    setup.send_ahead();
    setup.send_ahead();

    let bytes = <State as Wire<Stored>>::encode(&setup.state, &params);
    assert!(<State as Wire<Stored>>::decode(&params, &bytes).is_ok());

    // The first key's number stands after the secret key, the seed and the next number.
    let place = SecretKey::byte_length(&params.compression.paillier) + 32 + 8;
    assert_eq!(bytes[place..][..8], 0u64.to_le_bytes());
    for number in [1u64, 2, u64::MAX] {
        let mut changed = bytes.clone();
        changed[place..][..8].copy_from_slice(&number.to_le_bytes());

        let refused = <State as Wire<Stored>>::decode(&params, &changed).map(drop);
        assert_eq!(refused.unwrap_err().code(), "malformed", "{number}");
    }
}

#[test]
fn keys_whose_answers_never_come_are_given_up() {
    let mut setup = OverSimple::new(Shape::of_bytes(300, 8).unwrap(), 30, 5);
    let params = setup.client.params().clone();
    let length =
        |state: &State| <State as Wire<ZipParams<Columns<Short>>>>::encode(state, &params).len();

    for _ in 0..70 {
        setup
            .client
            .send_ahead(&mut setup.state, &mut setup.rng)
            .unwrap();
    }
    let most = length(&setup.state);

    setup
        .client
        .send_ahead(&mut setup.state, &mut setup.rng)
        .unwrap();
    assert_eq!(length(&setup.state), most);
}
