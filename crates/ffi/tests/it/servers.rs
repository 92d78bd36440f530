//! Lookups at several servers of one database.

use std::sync::Arc;
use std::time::Duration;

use papir::lookup::ProvenRecords;
use papir_ffi::{Database, ErrorKind, Options, PapirError};
use papir_server::Database as Served;

use crate::support::{Service, capitals, options, serve_database, stored_in};

/// Addresses where nothing listens.
const AWAY: [&str; 2] = ["http://127.0.0.1:1", "http://127.0.0.1:2"];

/// A service with records of these bytes, which clients verify against a root.
struct Verifiable {
    service: Service,
    root: String,
}

impl Verifiable {
    async fn serve(bytes: [u8; 40]) -> Self {
        let records = papir::RecordBuffer::from_records(bytes.map(|byte| [byte; 3])).unwrap();
        let proven = ProvenRecords::new(&records).unwrap();
        let commitment = proven.commitment();
        let database = papir::Database::build_records(&proven, &options("simple")).unwrap();

        let (prepared, layout) = database.into_parts();
        let top = Some(*commitment.top());
        let served = Served::new_verifiable("table", prepared, layout, top);
        Self {
            service: serve_database(served).await,
            root: commitment.root(None).to_string(),
        }
    }

    fn url(&self) -> &str {
        &self.service.url
    }
}

/// Options with a storage of their own, and without retries.
fn once() -> Options {
    Options {
        patience: Some(Duration::ZERO),
        ..stored_in(&Arc::default())
    }
}

async fn connect(urls: &[&str], options: Options) -> Result<Database, PapirError> {
    let urls = urls.iter().map(|&url| url.to_owned()).collect();
    Database::connect_any(urls, options).await
}

#[tokio::test]
async fn servers_that_are_away_or_different_are_passed_over() {
    let good = Verifiable::serve([7; 40]).await;
    let other = Verifiable::serve([8; 40]).await;
    let given = || Options {
        root: Some(good.root.clone()),
        ..once()
    };

    let lists: [&[&str]; 3] = [
        &[good.url()],
        &[AWAY[0], good.url()],
        &[other.url(), AWAY[1], good.url()],
    ];
    for urls in lists {
        let database = connect(urls, given()).await.unwrap();
        assert_eq!(database.get_index(39).await.unwrap(), [7; 3], "{urls:?}");
    }

    let refused = connect(&[other.url(), AWAY[0]], given()).await;
    let PapirError::Failed { text, code, .. } = refused.err().unwrap();
    assert_eq!(code, "no_server");
    assert!(
        text.contains(other.url()) && text.contains("root"),
        "{text}"
    );
}

#[tokio::test]
async fn the_error_names_every_server() {
    let refused = connect(&AWAY, once()).await;
    let PapirError::Failed {
        text,
        kind,
        code,
        retryable,
        ..
    } = refused.err().unwrap();
    assert_eq!((kind, code.as_str()), (ErrorKind::Network, "no_server"));
    assert!(
        retryable && AWAY.iter().all(|url| text.contains(url)),
        "{text}"
    );
}

#[tokio::test]
async fn servers_that_cannot_be_used_together_are_refused() {
    let believing = Options {
        no_pin: true,
        ..once()
    };
    let lists: [(&[&str], Options); 3] = [
        (&[], once()),
        (&[AWAY[0], AWAY[0]], once()),
        (&AWAY, believing),
    ];
    for (urls, options) in lists {
        let refused = connect(urls, options).await;
        let PapirError::Failed {
            text, kind, code, ..
        } = refused.err().unwrap();
        assert_eq!(
            (kind, code.as_str()),
            (ErrorKind::Other, "servers"),
            "{text}"
        );
    }

    // Nothing vouches for them.
    let unsigned = [capitals("simple").await, capitals("simple").await];
    let urls = [unsigned[0].url.as_str(), &unsigned[1].url];
    let refused = connect(&urls, once()).await;
    let PapirError::Failed { text, kind, .. } = refused.err().unwrap();
    assert_eq!(kind, ErrorKind::Verification, "{text}");
}
