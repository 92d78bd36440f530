//! Exchanges between both sides.

use proptest::prelude::*;

use super::*;

const SEED: [u8; 32] = [7; 32];

fn gateway() -> Gateway {
    let newest = GatewayKey::derive(2, Kem::XWing, &SEED).unwrap();
    let oldest = GatewayKey::derive(1, Kem::X25519, &SEED).unwrap();
    Gateway::new(vec![newest, oldest])
}

fn x25519() -> Gateway {
    Gateway::new(vec![GatewayKey::derive(1, Kem::X25519, &SEED).unwrap()])
}

fn client(gateway: &Gateway) -> ChosenKey {
    let bytes = gateway.key_list().unwrap().encode();
    KeyList::parse(&bytes).unwrap().choose().unwrap()
}

fn request(path: &str) -> InnerRequest {
    InnerRequest {
        method: "POST".to_owned(),
        scheme: "https".to_owned(),
        authority: "papir.example".to_owned(),
        path: path.to_owned(),
        headers: vec![("papir-version".to_owned(), "0123456789abcdef".to_owned())],
    }
}

fn head(status: u16) -> ResponseHead {
    ResponseHead {
        status,
        headers: vec![("content-type".to_owned(), "application/json".to_owned())],
    }
}

/// Seals a response in parts of `part` bytes.
fn answer(sealer: ResponseSealer, body: &[u8], length: Option<u64>, part: usize) -> Vec<u8> {
    let mut sealer = sealer.start(&head(200), length);
    let mut sealed = Vec::new();
    for bytes in body.chunks(part) {
        sealed.extend(sealer.part(bytes).unwrap());
    }
    sealed.extend(sealer.finish().unwrap());
    sealed
}

/// Places of a sealed message: all of the header, the beginning of the encapsulated key, and all of
/// the end.
fn places(length: usize) -> impl Iterator<Item = usize> {
    (0..length).filter(move |&place| place < 48 || length - place < 160)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn what_one_side_seals_the_other_opens(
        sent in proptest::collection::vec(any::<u8>(), 0..70_000),
        answered in proptest::collection::vec(any::<u8>(), 0..70_000),
        part in 1_usize..40_000,
        is_length_known: bool,
        is_hybrid: bool,
    ) {
        let gateway = if is_hybrid { gateway() } else { x25519() };
        let sealed = client(&gateway).seal(&request("/v1/a"), &sent).unwrap();

        let opened = gateway.open(&sealed.body, SealForm::Chunked).unwrap();
        prop_assert_eq!(&opened.request, &request("/v1/a"));
        prop_assert!(opened.body == sent);
        prop_assert!(opened.body.capacity() <= sealed.body.len());
        prop_assert_eq!(opened.sealer.form(), SealForm::Chunked);

        let length = is_length_known.then_some(answered.len() as u64);
        let response = answer(opened.sealer, &answered, length, part);
        let response = sealed.opener.open(response).unwrap();
        prop_assert_eq!(response.head, head(200));
        prop_assert!(response.body == answered);
    }
}

#[test]
fn a_body_in_very_many_parts_is_read_in_one_pass() {
    let gateway = x25519();
    let bytes = gateway.key_list().unwrap().encode();
    let key = ohttp::ClientRequest::from_encoded_config_list(&bytes).unwrap();
    let count = 2 << 20;
    // A reader that prepared its whole buffer for each part would take hours.
    let head = b"\x02\x04POST\x05https\x01h\x02/a\x00";
    let message = [&head[..], &b"\x01x".repeat(count), b"\x00\x00"].concat();
    let (sealed, _) = key.encapsulate(&message).unwrap();

    let opened = gateway.open(&sealed, SealForm::Whole).unwrap();
    assert!(opened.body == vec![b'x'; count]);
    assert!(opened.body.capacity() <= sealed.len());
}

#[test]
fn a_message_fits_into_the_room_that_is_made_for_it() {
    let mut long = request("/v1/a");
    for length in [0, 1, 63, 64, 5_000] {
        let header = ("x".repeat(length), "y".repeat(length));
        long.headers.push(header);
        let body = vec![7; length * 3];

        let mut message = Vec::new();
        let mut writer = message::PlainWriter::request(&long, body.len() as u64, &mut message);
        writer.body(&body, &mut message);
        writer.finish(&mut message);
        let room = long.most_bytes() + body.len() + body.len() / 16;
        assert!(message.len() <= room, "{length}: {}", message.len());
    }
}

#[test]
fn the_whole_form_is_answered_in_the_whole_form() {
    let gateway = x25519();
    let bytes = gateway.key_list().unwrap().encode();
    // The library's own client, which sends the whole form.
    let key = ohttp::ClientRequest::from_encoded_config_list(&bytes).unwrap();
    let mut message = Vec::new();
    let writer = message::PlainWriter::request(&request("/v1/a"), 0, &mut message);
    writer.finish(&mut message);
    let (sealed, opener) = key.encapsulate(&message).unwrap();

    let opened = gateway.open(&sealed, SealForm::Whole).unwrap();
    assert_eq!(opened.request, request("/v1/a"));
    assert_eq!(opened.sealer.form(), SealForm::Whole);

    let response = answer(opened.sealer, b"an answer", None, 4);
    let plain = opener.decapsulate(&response).unwrap();
    let read = bhttp::Message::read_bhttp(&mut std::io::Cursor::new(&plain[..])).unwrap();
    assert_eq!(read.control().status().unwrap().code(), 200);
    assert_eq!(read.content(), b"an answer");
    assert_eq!(plain.len() % 64, 0);
}

#[test]
fn changed_and_cut_off_requests_are_refused() {
    for gateway in [gateway(), x25519()] {
        let sealed = client(&gateway).seal(&request("/v1/a"), b"body").unwrap();
        for place in places(sealed.body.len()) {
            let mut changed = sealed.body.clone();
            changed[place] ^= 1;
            assert!(
                gateway.open(&changed, SealForm::Chunked).is_err(),
                "{place}"
            );
            let cut = &sealed.body[..place];
            assert!(
                gateway.open(cut, SealForm::Chunked).is_err(),
                "cut at {place}"
            );
        }
        assert!(gateway.open(&sealed.body, SealForm::Whole).is_err());
    }
}

#[test]
fn changed_and_cut_off_responses_are_refused() {
    let gateway = x25519();
    let exchange = || {
        let sealed = client(&gateway).seal(&request("/v1/a"), b"body").unwrap();
        let opened = gateway.open(&sealed.body, SealForm::Chunked).unwrap();
        (
            sealed.opener,
            answer(opened.sealer, b"an answer", Some(9), 3),
        )
    };

    let (_, response) = exchange();
    for place in places(response.len()) {
        let (opener, mut response) = exchange();
        response[place] ^= 1;
        assert!(opener.open(response).is_err(), "{place}");
        let (opener, mut response) = exchange();
        response.truncate(place);
        assert!(opener.open(response).is_err(), "cut at {place}");
    }

    let (_, response) = exchange();
    let (opener, _) = exchange();
    assert!(opener.open(response).is_err(), "of another request");
}

#[test]
fn a_request_under_an_unknown_key_names_it() {
    let old = Gateway::new(vec![GatewayKey::derive(9, Kem::X25519, &SEED).unwrap()]);
    let sealed = client(&old).seal(&request("/v1/a"), b"").unwrap();
    let refused = gateway().open(&sealed.body, SealForm::Chunked).unwrap_err();
    assert!(
        matches!(refused, Error::UnknownKey { found: 9 }),
        "{refused}"
    );
}

#[track_caller]
fn assert_wrong_key(gateway: &Gateway, sealed: &[u8], form: SealForm) {
    let refused = gateway.open(sealed, form).unwrap_err();
    assert!(matches!(refused, Error::WrongKey { .. }), "{refused}");
}

#[test]
fn another_key_of_the_same_identifier_is_told_apart_from_damage() {
    let newer = x25519();
    for (kem, seed) in [(Kem::X25519, [8; 32]), (Kem::XWing, SEED)] {
        let older = Gateway::new(vec![GatewayKey::derive(1, kem, &seed).unwrap()]);
        let sealed = client(&older).seal(&request("/v1/a"), b"").unwrap().body;
        assert_wrong_key(&newer, &sealed, SealForm::Chunked);

        let bytes = older.key_list().unwrap().encode();
        let key = ohttp::ClientRequest::from_encoded_config_list(&bytes).unwrap();
        let (whole, _) = key.encapsulate(b"a message").unwrap();
        assert_wrong_key(&newer, &whole, SealForm::Whole);
    }
    // Shorter than what its identifier says.
    let older = Gateway::new(vec![GatewayKey::derive(2, Kem::X25519, &SEED).unwrap()]);
    let sealed = client(&older).seal(&request("/v1/a"), b"").unwrap().body;
    assert_wrong_key(&gateway(), &sealed, SealForm::Chunked);

    // The second chunk, and the end. The first chunk may be either.
    let long = client(&newer).seal(&request("/v1/a"), &[7; 40_000]);
    let sealed = long.unwrap().body;
    for place in [30_000, sealed.len() - 1] {
        let mut damaged = sealed.clone();
        damaged[place] ^= 1;
        let refused = newer.open(&damaged, SealForm::Chunked).unwrap_err();
        assert!(matches!(refused, Error::Sealed(_)), "{place}: {refused}");
    }
    let mut damaged = sealed;
    damaged[100] ^= 1;
    assert_wrong_key(&newer, &damaged, SealForm::Chunked);
}

#[test]
fn copies_of_a_request_have_its_fingerprint() {
    let gateway = gateway();
    let seal = || client(&gateway).seal(&request("/v1/a"), b"").unwrap().body;
    let open = |sealed: &[u8]| gateway.open(sealed, SealForm::Chunked).unwrap().fingerprint;

    let one = seal();
    assert_eq!(open(&one), open(&one));
    assert_ne!(open(&one), open(&seal()));
}

#[test]
fn lengths_hide_a_few_bytes_of_the_head() {
    let gateway = x25519();
    let length = |path: &str| {
        let sealed = client(&gateway).seal(&request(path), &[1; 20_000]).unwrap();
        sealed.body.len()
    };
    assert_eq!(length("/v1/a"), length("/v1/a-longer-name"));
}

/// The bytes of a request's message before its padding: all but the padding and the one byte of
/// its missing trailers are written before the end.
fn unpadded(request: &InnerRequest, body: &[u8]) -> u64 {
    let mut message = Vec::new();
    let mut writer = message::PlainWriter::request(request, body.len() as u64, &mut message);
    writer.body(body, &mut message);
    message.len() as u64 + 1
}

#[test]
fn sealed_lengths_are_those_of_real_seals() {
    // Around the lengths of chunks, of their own lengths, and of paddings.
    let lengths = [
        0,
        1,
        47,
        100,
        8_000,
        16_170,
        16_300,
        16_384,
        33_000,
        70_000,
        1 << 20,
    ];
    for (gateway, kem) in [(gateway(), Kem::XWing), (x25519(), Kem::X25519)] {
        for length in lengths {
            let body = vec![7; length];
            let sealed = client(&gateway).seal(&request("/v1/a"), &body).unwrap();
            let expected = sealed_request_bytes(unpadded(&request("/v1/a"), &body), kem);
            assert_eq!(sealed.body.len() as u64, expected, "{kem:?} {length}");

            let opened = gateway.open(&sealed.body, SealForm::Chunked).unwrap();
            let mut plain = Vec::new();
            let framing = message::Framing::Known(length as u64);
            let mut writer = message::PlainWriter::response(&head(200), framing, &mut plain);
            writer.body(&body, &mut plain);
            let expected = sealed_response_bytes(plain.len() as u64 + 1);
            let response = answer(opened.sealer, &body, Some(length as u64), 5_000);
            assert_eq!(response.len() as u64, expected, "{kem:?} {length}");
        }
    }
    assert!(sealed_response_bytes(u64::MAX) > 1 << 62);
}

#[test]
fn long_heads_are_refused() {
    let gateway = x25519();
    let mut long = request("/v1/a");
    long.headers.push(("x".to_owned(), "x".repeat(40 << 10)));
    let sealed = client(&gateway).seal(&long, b"").unwrap();
    let refused = gateway.open(&sealed.body, SealForm::Chunked).unwrap_err();
    assert!(matches!(refused, Error::LongHead { .. }), "{refused}");
}

#[test]
fn lists_of_keys_are_read_whole_or_refused() {
    let list = gateway().key_list().unwrap();
    let bytes = list.encode();
    assert_eq!(KeyList::parse(&bytes).unwrap().encode(), bytes);
    assert_eq!(list.digests().count(), 2);

    assert!(KeyList::parse(b"").is_err());
    assert!(KeyList::parse(&bytes[..bytes.len() - 1]).is_err());
    assert!(KeyList::parse(&vec![0; 70_000]).is_err());
}

#[test]
fn the_hybrid_key_is_preferred_and_unknown_ones_are_passed_over() {
    let list = gateway().key_list().unwrap();
    let digests: Vec<_> = list.digests().collect();
    assert_eq!(list.choose().unwrap().digest(), digests[0]);

    let classical = list.choose_among(|digest| digest == digests[1]).unwrap();
    assert_eq!(classical.digest(), digests[1]);
    assert!(matches!(list.choose_among(|_| false), Err(Error::NoKey)));

    // A mechanism of which nothing is known, before the others.
    let unknown = [&[0, 5, 9, 0x7f, 0xff, 1, 2][..], &list.encode()].concat();
    let list = KeyList::parse(&unknown).unwrap();
    assert_eq!(list.choose().unwrap().digest(), digests[0]);
}

#[test]
fn keys_are_not_printed() {
    let key = GatewayKey::derive(1, Kem::X25519, &SEED).unwrap();
    assert_eq!(format!("{key:?}"), "GatewayKey { id: 1, kem: X25519, .. }");
}
