//! Lookups through a relay of Oblivious HTTP.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use papir_client::aio::Forwarding;
use papir_ffi::{Database, ErrorKind, Options};
use papir_server::{
    BoundRelay, GatewayFailure, RelayBody, RelayConfig, RelayExchange, RelayGateway,
    RelayTransport, RelayUpload, Request,
};

use crate::support::{capitals, refused, stored_in};

/// The host of the service, which no name server knows.
const HOST: &str = "words.invalid";

/// Connections to a gateway, with the number of its requests.
struct CountedTransport {
    forwarding: Forwarding,
    requests: AtomicUsize,
}

impl RelayTransport for CountedTransport {
    fn send(&self, request: Request<RelayUpload>) -> RelayExchange {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let forwarding = self.forwarding.clone();

        Box::pin(async move {
            let sent = forwarding.send(request).await;
            let response = sent.map_err(GatewayFailure::from)?;
            Ok(response.map(RelayBody::new))
        })
    }
}

/// A relay on loopback, which knows the service at `url` as [`HOST`]. It stops with the test's
/// runtime.
struct CountedRelay {
    url: String,
    transport: Arc<CountedTransport>,
}

impl CountedRelay {
    async fn start(url: &str) -> Self {
        let direct = papir_client::Options::default().proxy(papir_client::ProxySetting::Direct);
        let transport = Arc::new(CountedTransport {
            forwarding: Forwarding::new(url, &direct).unwrap(),
            requests: AtomicUsize::new(0),
        });

        let gateway = RelayGateway {
            authority: HOST.to_owned(),
            transport: Arc::clone(&transport) as _,
        };
        let config = RelayConfig {
            listen: "127.0.0.1:0".parse().unwrap(),
            gateways: vec![gateway],
            ..RelayConfig::default()
        };

        let bound = BoundRelay::bind(config).await.unwrap();
        let url = bound.url();
        tokio::spawn(bound.serve(pending()));
        Self { url, transport }
    }

    fn requests(&self) -> usize {
        self.transport.requests.load(Ordering::SeqCst)
    }
}

/// Options with a relay, and without retries.
fn through(relay: &str) -> Options {
    Options {
        relay: Some(relay.to_owned()),
        proxy: Some("none".to_owned()),
        patience: Some(Duration::ZERO),
        ..stored_in(&Arc::default())
    }
}

#[tokio::test]
async fn everything_goes_through_the_relay() {
    let service = capitals("simple").await;
    let relay = CountedRelay::start(&service.url).await;

    // The name cannot be resolved: a request to the service's own address would fail.
    let database = Database::connect(format!("http://{HOST}"), through(&relay.url))
        .await
        .unwrap();
    let value = database.get(b"Peru".to_vec()).await.unwrap();
    assert_eq!(value.unwrap(), b"Lima");

    // The keys once, and each request.
    let sent = database.costs().await.requests;
    assert!(
        relay.requests() as u64 > sent,
        "{} {sent}",
        relay.requests()
    );

    let every = Duration::from_millis(20);
    let schedule = database.schedule(every, 2).await.unwrap();
    let value = Arc::clone(&schedule).get(b"Kenya".to_vec()).await.unwrap();
    assert_eq!(value.unwrap(), b"Nairobi");
}

#[tokio::test]
async fn a_relay_that_cannot_be_used_is_not_passed_by() {
    let service = capitals("simple").await;
    let relay = CountedRelay::start(&service.url).await;

    let (kind, code, text) = refused(&service.url, through("http://127.0.0.1:9")).await;
    assert_eq!((kind, code.as_str()), (ErrorKind::Network, "relay"));
    assert!(
        text.contains("through the relay http://127.0.0.1:9"),
        "{text}"
    );

    // The relay knows the service by another name.
    let (kind, code, text) = refused(&service.url, through(&relay.url)).await;
    assert_eq!(
        (kind, code.as_str()),
        (ErrorKind::Network, "relay"),
        "{text}"
    );

    for bad in ["http://r.example", "r.example", ""] {
        let (kind, code, text) = refused(&service.url, through(bad)).await;
        assert_eq!(
            (kind, code.as_str()),
            (ErrorKind::Other, "bad_relay"),
            "{text}"
        );
    }
}

#[tokio::test]
async fn unusable_keys_of_a_gateway_are_refused() {
    let service = capitals("simple").await;
    let relay = CountedRelay::start(&service.url).await;
    let missing = "/nonexistent/keys".to_owned();

    let with_relay = Options {
        ohttp_keys: Some(missing.clone()),
        ..through(&relay.url)
    };
    let without_relay = Options {
        ohttp_keys: Some(missing),
        ..stored_in(&Arc::default())
    };
    for options in [with_relay, without_relay] {
        let (kind, code, text) = refused(&service.url, options).await;
        assert_eq!((kind, code.as_str()), (ErrorKind::Other, "bad_ohttp_keys"));
        assert!(text.starts_with("/nonexistent/keys: "), "{text}");
    }
    assert_eq!(relay.requests(), 0);
}
