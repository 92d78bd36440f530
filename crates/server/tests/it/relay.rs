//! A relay before gateways that are slow, or that fail.

use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use papir_server::{
    BoundRelay, RelayBody, RelayConfig, RelayExchange, RelayGateway, RelayTransport, RelayUpload,
    Request, Response,
};
use tokio::net::TcpStream;
use tokio::task::spawn_blocking;

/// Behaviours of a gateway.
#[derive(Clone, Copy)]
enum Behaviour {
    /// It never responds.
    Silent,
    /// It cannot be reached.
    Away,
    /// It responds with keys after this time.
    Keys(Duration),
}

/// A gateway in memory that counts requests.
struct FakeTransport {
    behaviour: Behaviour,
    requests: AtomicUsize,
}

impl FakeTransport {
    fn new(behaviour: Behaviour) -> Arc<Self> {
        Arc::new(Self {
            behaviour,
            requests: AtomicUsize::new(0),
        })
    }

    fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }
}

impl RelayTransport for FakeTransport {
    fn send(&self, _: Request<RelayUpload>) -> RelayExchange {
        self.requests.fetch_add(1, Ordering::SeqCst);
        let behaviour = self.behaviour;
        Box::pin(async move {
            match behaviour {
                Behaviour::Silent => pending().await,
                Behaviour::Away => Err("connection refused".into()),
                Behaviour::Keys(pause) => {
                    tokio::time::sleep(pause).await;
                    let response = Response::builder()
                        .header("content-type", "application/ohttp-keys")
                        .header("cache-control", "max-age=5")
                        .body(RelayBody::from("keys"));
                    Ok(response.unwrap())
                }
            }
        })
    }
}

/// The authority of the gateway.
const GATEWAY: &str = "gateway.example:8443";

/// Starts a relay that forwards to `transport`. Returns its address.
async fn relay(transport: &Arc<FakeTransport>) -> String {
    let gateway = RelayGateway {
        authority: GATEWAY.to_owned(),
        transport: Arc::clone(transport) as Arc<dyn RelayTransport>,
    };
    let config = RelayConfig {
        listen: "127.0.0.1:0".parse().unwrap(),
        gateways: vec![gateway],
        body_timeout: Duration::from_secs(2),
        response_timeout: Duration::from_millis(100),
        ..RelayConfig::default()
    };

    let bound = BoundRelay::bind(config).await.unwrap();
    let address = bound.local_addr().unwrap().to_string();
    tokio::spawn(bound.serve(pending()));
    address
}

/// A client of this machine, which uses no proxy. It returns responses of every status.
fn agent() -> ureq::Agent {
    ureq::Agent::config_builder()
        .http_status_as_error(false)
        .proxy(None)
        .build()
        .new_agent()
}

/// The status and the body of a sealed request's response.
async fn post(relay: &str) -> (u16, String) {
    let url = format!("http://{relay}/{GATEWAY}");
    let sent = spawn_blocking(move || {
        let request = agent()
            .post(url)
            .header("content-type", "message/ohttp-req");
        let mut response = request.send("sealed").unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (response.status().as_u16(), text)
    });
    sent.await.unwrap()
}

/// The status and the body of the response to a request for keys.
async fn keys(relay: &str) -> (u16, String) {
    let url = format!("http://{relay}/{GATEWAY}");
    let sent = spawn_blocking(move || {
        let mut response = agent().get(url).call().unwrap();
        let text = response.body_mut().read_to_string().unwrap();
        (response.status().as_u16(), text)
    });
    sent.await.unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_slow_gateway_times_out_and_the_relay_goes_on() {
    let transport = FakeTransport::new(Behaviour::Silent);
    let relay = relay(&transport).await;

    for _ in 0..2 {
        let (status, text) = post(&relay).await;
        assert_eq!(status, 504, "{text}");
        assert!(text.contains("gateway_timeout"), "{text}");
        assert!(text.contains(GATEWAY), "{text}");
    }
    assert_eq!(transport.requests(), 2, "a relay does not retry");
}

#[tokio::test(flavor = "multi_thread")]
async fn clients_do_not_make_a_relay_ask_for_keys_more_often() {
    let transport = FakeTransport::new(Behaviour::Away);
    let relay_away = relay(&transport).await;
    for _ in 0..5 {
        let (status, text) = keys(&relay_away).await;
        assert_eq!(status, 502, "{text}");
        assert!(text.contains(GATEWAY), "{text}");
    }
    assert_eq!(transport.requests(), 1, "it asks again after a pause");

    // Keys that expire soon are kept for a minute.
    let transport = FakeTransport::new(Behaviour::Keys(Duration::ZERO));
    let relay_brief = relay(&transport).await;
    for _ in 0..5 {
        assert_eq!(keys(&relay_brief).await, (200, "keys".to_owned()));
    }
    assert_eq!(transport.requests(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_leaves_does_not_end_a_fetch() {
    let transport = FakeTransport::new(Behaviour::Keys(Duration::from_secs(1)));
    let relay = relay(&transport).await;

    for _ in 0..3 {
        let stream = TcpStream::connect(&relay).await.unwrap();
        let request = format!("GET /{GATEWAY} HTTP/1.1\r\nhost: relay\r\n\r\n");
        stream.writable().await.unwrap();
        assert_eq!(stream.try_write(request.as_bytes()).unwrap(), request.len());
        tokio::time::sleep(Duration::from_millis(50)).await;
    }

    assert_eq!(keys(&relay).await, (200, "keys".to_owned()));
    assert_eq!(transport.requests(), 1);
}
