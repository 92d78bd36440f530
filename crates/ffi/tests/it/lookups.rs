//! Lookups at once, client state, and errors.

use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

use papir_ffi::{Database, ErrorKind, Options, PapirError};

use crate::support::{Memory, capitals, options, refused, serve, stored_in};

#[tokio::test]
async fn keys_are_looked_up() {
    let service = capitals("simple").await;
    let database = Database::connect(service.url.clone(), stored_in(&Arc::default()))
        .await
        .unwrap();
    assert_eq!(
        database.get(b"Peru".to_vec()).await.unwrap().unwrap(),
        b"Lima"
    );

    let keys = ["Atlantis", "Kenya"].map(|key| key.as_bytes().to_vec());
    let values = database.get_many(keys.to_vec()).await.unwrap();
    assert_eq!(values, [None, Some(b"Nairobi".to_vec())]);

    let info = database.info().await;
    assert_eq!(
        (info.name.as_str(), info.scheme.as_str(), info.keyed),
        ("table", "simple", true)
    );
    assert!(info.security_bits.unwrap() >= 128.0 && info.owner.is_none());

    // Three keys are looked up by two requests: the queries of `get_many` travel together.
    let costs = database.costs().await;
    assert_eq!(costs.requests, 2);
    assert!(
        costs.query_bytes >= 3 * info.query_bytes && costs.answer_bytes >= 3 * info.answer_bytes
    );

    let keyed = database.get_index(0).await.err().unwrap();
    let PapirError::Failed { code, .. } = keyed;
    assert_eq!(code, "keyed");
}

#[tokio::test]
async fn indices_are_looked_up() {
    let records = papir::RecordBuffer::from_records((0..40u8).map(|index| [index; 3])).unwrap();
    let service =
        serve(papir::Database::build_records(&records, &options("inspire")).unwrap()).await;
    let database = Database::connect(service.url.clone(), stored_in(&Arc::default()))
        .await
        .unwrap();
    assert_eq!(database.get_index(39).await.unwrap(), [39; 3]);
    assert_eq!(
        database.get_indices(vec![0, 7]).await.unwrap(),
        [[0; 3], [7; 3]]
    );
    assert_eq!(database.info().await.record_bits, 24);
}

#[tokio::test]
async fn the_applications_storage_keeps_the_public_part() {
    let service = capitals("simple").await;
    let storage = Arc::new(Memory::default());
    let open = || Database::connect(service.url.clone(), stored_in(&storage));
    let fetched = open().await.unwrap().costs().await.public_bytes;
    assert_eq!(storage.names(), ["public"]);
    let again = open().await.unwrap();
    assert!(again.costs().await.public_bytes < fetched);
    assert_eq!(
        again.get(b"Kenya".to_vec()).await.unwrap().unwrap(),
        b"Nairobi"
    );
}

#[tokio::test]
async fn a_registered_client_is_kept_in_the_applications_storage() {
    let service = capitals("pirouette").await;
    let storage = Arc::new(Memory::default());
    let open = || Database::connect(service.url.clone(), stored_in(&storage));

    let first = open().await.unwrap();
    assert_eq!(first.get(b"Peru".to_vec()).await.unwrap().unwrap(), b"Lima");
    assert!(
        storage.names().contains(&"state".to_owned()),
        "{:?}",
        storage.names()
    );

    storage.settled();
    let registered = first.costs().await.registration_bytes;
    let second = open().await.unwrap();
    second.register().await.unwrap();
    assert_eq!(second.get(b"Atlantis".to_vec()).await.unwrap(), None);

    assert!(registered > 0);
    assert_eq!(second.costs().await.registration_bytes, 0);
}

#[tokio::test]
async fn an_encrypted_database_needs_its_owners_key() {
    let key = papir::OwnerKey::generate(&mut papir::system_rng());
    let encrypted = papir::Options {
        owner_key: Some(key.clone()),
        ..options("pirouette-encrypted")
    };

    let service = serve(papir::Database::build([("Peru", "Lima")], &encrypted).unwrap()).await;

    let options = Options {
        owner_key: Some(key.to_text().to_string()),
        ..stored_in(&Arc::default())
    };
    let database = Database::connect(service.url.clone(), options)
        .await
        .unwrap();
    assert_eq!(
        database.get(b"Peru".to_vec()).await.unwrap().unwrap(),
        b"Lima"
    );

    // Without the key the connection is made, since only the decryption of a value needs it.
    let database = Database::connect(service.url.clone(), stored_in(&Arc::default()))
        .await
        .unwrap();
    let PapirError::Failed { code, .. } = database.get(b"Peru".to_vec()).await.unwrap_err();
    assert_eq!(code, "owner_key");
}

#[tokio::test]
async fn a_cancelled_registration_releases_the_storage() {
    let service = capitals("pirouette").await;
    let storage = Arc::new(Memory::default());
    let options = Options {
        passphrase: Some("secret".to_owned()),
        ..stored_in(&storage)
    };
    let database = Database::connect(service.url.clone(), options)
        .await
        .unwrap();

    for milliseconds in [1, 20, 100] {
        let _ =
            tokio::time::timeout(Duration::from_millis(milliseconds), database.register()).await;
    }

    // A slot that a cancelled call left locked would stop this look-up for ever.
    assert_eq!(
        database.get(b"Peru".to_vec()).await.unwrap().unwrap(),
        b"Lima"
    );
    storage.settled();
    assert_eq!(
        storage.entry("state")[9],
        1,
        "encrypted under the passphrase"
    );
}

#[tokio::test]
async fn a_silent_service_is_not_waited_for() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let options = Options {
        timeout: Some(Duration::from_millis(200)),
        ..stored_in(&Arc::default())
    };

    let (kind, code, text) = refused(&url, options).await;
    assert_eq!((kind, code.as_str()), (ErrorKind::Network, "timed_out"));
    assert!(text.contains("no result within 200ms"), "{text}");
}

/// Options that a service without checkpoints does not meet.
fn unmet_options() -> [Options; 4] {
    let owner = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    let base = || stored_in(&Arc::default());
    [
        Options {
            owner: Some(owner.to_owned()),
            ..base()
        },
        Options {
            max_age: Some(Duration::from_secs(86400)),
            ..base()
        },
        Options {
            sequence: Some(0),
            ..base()
        },
        Options {
            cosignatures: 1,
            ..base()
        },
    ]
}

/// Options with malformed keys.
fn malformed_options() -> [Options; 4] {
    let base = || stored_in(&Arc::default());
    [
        Options {
            owner: Some("nobody".to_owned()),
            ..base()
        },
        Options {
            witnesses: vec!["nobody".to_owned()],
            ..base()
        },
        Options {
            owner_key: Some("words.key".to_owned()),
            ..base()
        },
        Options {
            patches: Some("sometimes".to_owned()),
            ..base()
        },
    ]
}

#[tokio::test]
async fn errors_have_their_kind_and_code() {
    let service = capitals("simple").await;
    let base = || stored_in(&Arc::default());
    let unknown = Options {
        database: Some("rivers".to_owned()),
        ..base()
    };
    let forged = Options {
        root: Some("00".repeat(32)),
        ..base()
    };
    let token = Options {
        token: Some("two words".to_owned()),
        ..base()
    };

    let mut cases = vec![
        (unknown, ErrorKind::Other, "unknown_database"),
        (forged, ErrorKind::Verification, "wrong_root"),
        (token, ErrorKind::Other, "bad_token"),
    ];
    for options in unmet_options() {
        cases.push((options, ErrorKind::Verification, "no_checkpoint"));
    }
    for options in malformed_options() {
        cases.push((options, ErrorKind::Other, "malformed"));
    }
    for (options, kind, code) in cases {
        let found = refused(&service.url, options).await;
        assert_eq!((found.0, found.1.as_str()), (kind, code), "{}", found.2);
    }
}

#[tokio::test]
async fn errors_of_a_storage_are_passed_on() {
    let service = capitals("simple").await;
    let broken = Arc::new(Memory::broken());
    let (_, code, text) = refused(&service.url, stored_in(&broken)).await;
    assert!(
        code == "state_file" && text.contains("the phone is locked"),
        "{text}"
    );
}

#[tokio::test]
async fn errors_of_the_network_are_retryable() {
    let away = Options {
        patience: Some(Duration::ZERO),
        ..stored_in(&Arc::default())
    };
    let error = Database::connect("http://127.0.0.1:1".to_owned(), away)
        .await
        .err()
        .unwrap();
    let PapirError::Failed {
        text,
        kind,
        retryable,
        status,
        ..
    } = &error;
    assert_eq!(
        (*kind, *retryable, *status, text),
        (ErrorKind::Network, true, None, &error.to_string())
    );
}

#[test]
fn options_do_not_print_secrets() {
    let options = Options {
        token: Some("secret".to_owned()),
        passphrase: Some("secret".to_owned()),
        owner_key: Some("secret".to_owned()),
        issuer_token: Some("secret".to_owned()),
        ..Options::default()
    };
    assert!(!format!("{options:?}").contains("secret"));
}
