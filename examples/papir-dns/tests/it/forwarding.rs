//! Names that both tables do not have.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::{Arc, Mutex};
use std::thread;

use hickory_resolver::proto::op::{Message, MessageType, ResponseCode};
use hickory_resolver::proto::rr::{RData, Record, RecordType};

use crate::support::{World, data};

/// The address that the fake resolver has for every name.
const ADDRESS: [u8; 4] = [198, 51, 100, 7];

/// A resolver that answers every query by one address, and keeps the names that it was asked. It
/// truncates answers to names that begin with `long` over UDP, and finds no name that begins with
/// `absent`.
#[derive(Clone)]
pub(crate) struct FakeResolver {
    pub(crate) address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
}

impl FakeResolver {
    pub(crate) fn start() -> Self {
        let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = tcp.local_addr().unwrap();
        let udp = UdpSocket::bind(address).unwrap();
        let resolver = Self {
            address,
            asked: Arc::default(),
        };

        // Both threads end with the process.
        let over_udp = resolver.clone();
        thread::spawn(move || over_udp.serve_udp(&udp));
        let over_tcp = resolver.clone();
        thread::spawn(move || over_tcp.serve_tcp(&tcp));
        resolver
    }

    fn serve_udp(&self, socket: &UdpSocket) {
        let mut buffer = [0; 4096];
        loop {
            let (length, client) = socket.recv_from(&mut buffer).unwrap();
            let mut answer = self.answer(&buffer[..length]);
            if answer.queries[0].name().to_ascii().starts_with("long") {
                answer.answers.clear();
                answer.metadata.truncation = true;
            }
            socket.send_to(&answer.to_vec().unwrap(), client).unwrap();
        }
    }

    fn serve_tcp(&self, listener: &TcpListener) {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut length = [0; 2];
            stream.read_exact(&mut length).unwrap();
            let mut query = vec![0; u16::from_be_bytes(length).into()];
            stream.read_exact(&mut query).unwrap();

            let answer = self.answer(&query).to_vec().unwrap();
            let length = u16::try_from(answer.len()).unwrap();
            stream.write_all(&length.to_be_bytes()).unwrap();
            stream.write_all(&answer).unwrap();
        }
    }

    fn answer(&self, query: &[u8]) -> Message {
        let mut message = Message::from_vec(query).unwrap();
        let name = message.queries[0].name().clone();
        self.asked.lock().unwrap().push(name.to_ascii());

        message.metadata.message_type = MessageType::Response;
        if name.to_ascii().starts_with("absent") {
            message.metadata.response_code = ResponseCode::NXDomain;
        } else {
            let data = RData::from(std::net::Ipv4Addr::from(ADDRESS));
            message.add_answer(Record::from_rdata(name, 120, data));
        }
        message
    }

    /// The names that were asked.
    pub(crate) fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }
}

#[test]
fn an_unknown_name_is_not_forwarded_unless_told() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &[]);
    assert_eq!(stub.code("unknown.example."), ResponseCode::ServFail);
}

#[test]
fn unknown_names_alone_are_forwarded() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let resolver = FakeResolver::start();
    let stub = world.stub(&service, &["--forward", &resolver.address.to_string()]);

    let found = stub.ask("Unknown.example.", RecordType::A);
    assert_eq!(data(&found), ["198.51.100.7"]);
    assert_eq!(stub.code("absent.example."), ResponseCode::NXDomain);
    // From the cache.
    assert_eq!(
        data(&stub.ask("unknown.example.", RecordType::A)),
        ["198.51.100.7"]
    );
    assert_eq!(stub.code("absent.example."), ResponseCode::NXDomain);

    assert_eq!(stub.code("ads.example."), ResponseCode::NXDomain);
    assert_eq!(stub.code("nas.home.example."), ResponseCode::NoError);
    assert_eq!(resolver.asked(), ["unknown.example.", "absent.example."]);
}

#[test]
fn a_truncated_answer_is_asked_for_over_tcp() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let resolver = FakeResolver::start();
    let stub = world.stub(&service, &["--forward", &resolver.address.to_string()]);

    let found = stub.ask("long.example.", RecordType::A);
    assert_eq!(data(&found), ["198.51.100.7"]);
    assert_eq!(resolver.asked(), ["long.example.", "long.example."]);
}

#[test]
fn a_resolver_that_is_away_is_a_failure() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let nobody = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = nobody.local_addr().unwrap().to_string();
    let stub = world.stub(&service, &["--forward", &address, "--timeout", "1"]);
    assert_eq!(stub.code("unknown.example."), ResponseCode::ServFail);
}
