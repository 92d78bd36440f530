//! Short messages and kept versions.

use std::sync::Arc;

use papir_ffi::{Database, ErrorKind, Options, PapirError, extract_message};
use tokio::runtime::Runtime;

use crate::support::{Memory, capitals, refused, stored_in};

/// Bytes of an envelope.
const ENVELOPE: u64 = 32;
/// Bytes of a handle or a tag, which a short message has in place of all envelopes.
const BOUND: u64 = 4;

/// Options of a client that uses the version that it keeps in the storage.
fn keeping(storage: &Arc<Memory>) -> Options {
    Options {
        known: Some("use".to_owned()),
        ..stored_in(storage)
    }
}

/// A service that is gone, and what its clients know of it.
struct Past {
    url: String,
    storage: Arc<Memory>,
}

impl Past {
    /// Serves two capitals for the time of a connection that keeps the version.
    fn of(scheme: &str) -> Self {
        let storage = Arc::<Memory>::default();
        let url = Runtime::new().unwrap().block_on(async {
            let service = capitals(scheme).await;
            let database = connect(&service.url, &storage).await;
            database.register().await.unwrap();
            service.url.clone()
        });
        Self { url, storage }
    }
}

async fn connect(url: &str, storage: &Arc<Memory>) -> Database {
    Database::connect(url.to_owned(), keeping(storage))
        .await
        .unwrap()
}

/// The kind, the code and the text of an error.
fn parts(error: PapirError) -> (ErrorKind, String, String) {
    let PapirError::Failed {
        text, kind, code, ..
    } = error;
    (kind, code, text)
}

#[tokio::test]
async fn registered_clients_send_short_messages() {
    let service = capitals("pirouette").await;
    let database = Database::connect(service.url.clone(), stored_in(&Arc::default()))
        .await
        .unwrap();
    let value = database.get(b"Peru".to_vec()).await.unwrap();
    assert_eq!(value.unwrap(), b"Lima");

    let sent = database.costs().await.query_bytes;
    let payload = database.info().await.query_bytes - ENVELOPE;
    assert!(sent > BOUND, "{sent} bytes");
    assert_eq!((sent - BOUND) % payload, 0, "{sent} bytes");
}

#[tokio::test]
async fn with_a_kept_version_only_the_lookup_is_sent() {
    let service = capitals("simple").await;
    let storage = Arc::default();
    let first = connect(&service.url, &storage).await;
    assert!(first.costs().await.public_bytes > 0);
    assert!(storage.names().contains(&"version".to_owned()));

    let second = connect(&service.url, &storage).await;
    let value = second.get(b"Kenya".to_vec()).await.unwrap();
    assert_eq!(value.unwrap(), b"Nairobi");
    let costs = second.costs().await;
    assert_eq!((costs.public_bytes, costs.requests), (0, 1));

    let sometimes = Options {
        known: Some("sometimes".to_owned()),
        ..stored_in(&storage)
    };
    let (_, code, text) = refused(&service.url, sometimes).await;
    assert!(
        code == "malformed" && text.contains("ask, use or renew"),
        "{text}"
    );
}

#[test]
fn queries_in_messages_need_no_service() {
    let Past { url, storage } = Past::of("pirouette");

    Runtime::new().unwrap().block_on(async {
        let database = connect(&url, &storage).await;
        let first = database.query_message(b"Peru".to_vec()).await.unwrap();
        let second = database.query_message(b"absent".to_vec()).await.unwrap();
        assert_eq!((first.len(), &first[..4]), (second.len(), &second[..4]));
        assert_ne!(first[4..], second[4..]);

        let keyed = database.query_message_index(0).await.unwrap_err();
        assert_eq!(parts(keyed).1, "keyed");
    });
}

#[test]
fn answers_that_no_lookup_waits_for_are_refused_by_name() {
    let Past { url, storage } = Past::of("pirouette");

    Runtime::new().unwrap().block_on(async {
        let database = connect(&url, &storage).await;
        let query = database.query_message(b"Peru".to_vec()).await.unwrap();
        let info = database.info().await;
        let queries = (query.len() as u64 - BOUND) / (info.query_bytes - ENVELOPE);
        let length = BOUND + queries * (info.answer_bytes - ENVELOPE);

        for (length, expected) in [
            (length, "the tag of another client, version or query"),
            (length - 1, "bytes: a truncated one"),
            (3, "3 bytes: a truncated one"),
        ] {
            let answer = vec![0; length as usize];
            let extracted = extract_message(url.clone(), keeping(&storage), answer).await;
            let (kind, code, text) = parts(extracted.unwrap_err());
            assert_eq!((kind, code.as_str()), (ErrorKind::Other, "malformed"));
            assert!(text.contains(expected), "{text}");
            assert!(text.contains("one of 1 waiting queries"), "{text}");
        }

        let nothing_kept = stored_in(&Arc::default());
        let extracted = extract_message(url.clone(), nothing_kept, vec![0; 9]).await;
        let (_, code, text) = parts(extracted.unwrap_err());
        assert!(
            code == "malformed" && text.contains("a kept version"),
            "{text}"
        );
    });
}

#[test]
fn schemes_without_registered_keys_have_no_queries_in_messages() {
    let Past { url, storage } = Past::of("simple");

    Runtime::new().unwrap().block_on(async {
        let database = connect(&url, &storage).await;
        let made = database.query_message(b"Peru".to_vec()).await;
        let (kind, code, text) = parts(made.unwrap_err());
        assert_eq!(
            (kind, code.as_str()),
            (ErrorKind::Unsupported, "no_parameters")
        );
        assert!(text.contains("clients register keys"), "{text}");
    });
}
