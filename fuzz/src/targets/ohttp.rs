//! Messages of Oblivious HTTP. Inputs are plaintexts, which are sealed first: mutations of sealed
//! bytes reach nothing but the cipher.

use std::io;
use std::pin::Pin;

use futures_util::FutureExt;
use futures_util::io::{AsyncReadExt, AsyncWriteExt};
use ohttp::hpke::{Aead, Kdf};
use ohttp::{KeyConfig, SymmetricSuite};
use papir_ohttp::{ChosenKey, Gateway, GatewayKey, InnerRequest, Kem, KeyList, SealForm};

use crate::{Target, outcome};

const SEED: [u8; 32] = [7; 32];

fn gateway() -> Gateway {
    Gateway::new(vec![GatewayKey::derive(1, Kem::X25519, &SEED).unwrap()])
}

/// The library's server with the same key.
fn server() -> ohttp::Server {
    let suite = SymmetricSuite::new(Kdf::HkdfSha256, Aead::Aes128Gcm);
    let config = KeyConfig::derive(1, ohttp::hpke::Kem::X25519Sha256, vec![suite], &SEED);
    ohttp::Server::new(config.unwrap()).unwrap()
}

/// Lists of key configurations. What parses is encoded to the same bytes.
pub(super) fn keys() -> Target {
    let hybrid = GatewayKey::derive(2, Kem::XWing, &SEED).unwrap();
    let list = gateway().key_list().unwrap().encode();
    let both = [KeyList::of_keys(&[hybrid]).unwrap().encode(), list.clone()].concat();

    Target::new(vec![list, both], |input| {
        let list = KeyList::parse(input);
        if let Ok(list) = &list {
            assert_eq!(list.encode(), input);
        }

        let chosen = list.as_ref().ok().map(|list| outcome(&list.choose()));
        outcome(&list) + " " + &chosen.unwrap_or_default()
    })
}

/// Requests in binary HTTP, of known length and in parts.
pub(super) fn request() -> Target {
    let gateway = gateway();
    let list = gateway.key_list().unwrap().encode();
    let seeds = vec![
        b"\x00\x03GET\x05https\x01h\x02/a\x04\x01a\x01b\x02hi\x00".to_vec(),
        b"\x02\x04POST\x04http\x00\x01/\x01a\x01b\x00\x01h\x01i\x00\x00".to_vec(),
    ];

    Target::new(seeds, move |input| {
        let key = ohttp::ClientRequest::from_encoded_config_list(&list).unwrap();
        let (sealed, _) = key.encapsulate(input).unwrap();
        outcome(&gateway.open(&sealed, SealForm::Whole))
    })
}

/// Responses in binary HTTP, of known length and in parts.
pub(super) fn response() -> Target {
    let key = gateway().key_list().unwrap().choose().unwrap();
    let server = server();
    let seeds = vec![
        b"\x01\x40\xc8\x04\x01a\x01b\x02hi\x00".to_vec(),
        b"\x03\x40\x66\x00\x40\xc8\x01a\x01b\x00\x01h\x01i\x00\x00".to_vec(),
    ];

    Target::new(seeds, move |input| {
        let response = answered(&key, &server, input);
        outcome(&response)
    })
}

/// Sends a request, answers it with these bytes, and opens the answer.
fn answered(
    key: &ChosenKey,
    server: &ohttp::Server,
    answer: &[u8],
) -> papir_ohttp::Result<papir_ohttp::InnerResponse> {
    let sealed = key.seal(&InnerRequest::default(), b"").unwrap();
    let request = server.clone().decapsulate_stream(&sealed.body[..]);
    let mut request = Box::pin(request);
    now(request.read_to_end(&mut Vec::new()));

    let mut bytes = Vec::new();
    let mut response = Box::pin(request.response(Pin::new(&mut bytes)).unwrap());
    now(response.write_all(answer));
    now(response.close());
    drop(response);
    sealed.opener.open(bytes)
}

/// The output of a future over bytes in memory.
fn now<T>(future: impl Future<Output = io::Result<T>>) -> T {
    future.now_or_never().unwrap().unwrap()
}
