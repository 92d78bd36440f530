//! Verdicts of both tables, over UDP and TCP.

use hickory_resolver::proto::op::{OpCode, ResponseCode};
use hickory_resolver::proto::rr::{DNSClass, RecordType};

use crate::support::{World, data, query};

#[test]
fn names_of_the_zone_have_their_records() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &[]);
    let ask = |name: &str, wanted| stub.ask(name, wanted);

    assert_eq!(
        data(&ask("nas.home.example.", RecordType::A)),
        ["192.0.2.10"]
    );
    assert_eq!(
        data(&ask("NAS.Home.Example.", RecordType::AAAA)),
        ["2001:db8::10"]
    );
    assert_eq!(
        data(&ask("nas.home.example.", RecordType::TXT)),
        [r#"["shelf \"3\"", "left"]"#]
    );
    let www = ask("www.home.example.", RecordType::A);
    assert_eq!(data(&www), ["192.0.2.10", "nas.home.example."]);
    assert_eq!(www.answers[0].record_type(), RecordType::CNAME);
    assert!(www.metadata.recursion_available);

    let no_mail = ask("nas.home.example.", RecordType::MX);
    assert_eq!(no_mail.metadata.response_code, ResponseCode::NoError);
    assert!(no_mail.answers.is_empty());

    let addresses = query("nas.home.example.", RecordType::A);
    assert_eq!(data(&stub.ask_tcp(&addresses)), ["192.0.2.10"]);
}

#[test]
fn a_long_answer_is_truncated_over_udp_and_whole_over_tcp() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &[]);
    let wanted = query("many.home.example.", RecordType::A);

    let short = stub.ask_udp(&wanted);
    assert!(short.metadata.truncation);
    assert!(short.answers.len() < 60);
    let whole = stub.ask_tcp(&wanted);
    assert!(!whole.metadata.truncation);
    assert_eq!(whole.answers.len(), 60);
}

#[test]
fn blocked_names_and_names_below_them_do_not_exist() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &[]);

    let blocked = [
        "ads.example.",
        "ADS.Example.",
        "a.b.c.ads.example.",
        "a.b.c.d.e.f.g.h.i.j.k.l.ads.example.",
        // The blocklist counts more than the zone.
        "tracker.home.example.",
    ];
    for name in blocked {
        assert_eq!(stub.code(name), ResponseCode::NXDomain, "{name}");
    }
    for name in ["example.", "bads.example.", "ads.example.org.", "."] {
        assert_eq!(stub.code(name), ResponseCode::ServFail, "{name}");
    }
}

#[test]
fn blocked_names_may_have_the_address_zero() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &["--blocked", "zero"]);

    assert_eq!(data(&stub.ask("ads.example.", RecordType::A)), ["0.0.0.0"]);
    assert_eq!(data(&stub.ask("x.ads.example.", RecordType::AAAA)), ["::"]);
    let mail = stub.ask("ads.example.", RecordType::MX);
    assert_eq!(mail.metadata.response_code, ResponseCode::NoError);
    assert!(mail.answers.is_empty());
}

#[test]
fn other_requests_are_refused() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &[]);
    let code = |request| stub.ask_udp(request).metadata.response_code;

    let transfer = query("home.example.", RecordType::AXFR);
    assert_eq!(code(&transfer), ResponseCode::Refused);
    let mut other_class = query("home.example.", RecordType::A);
    other_class.queries[0].set_query_class(DNSClass::CH);
    assert_eq!(code(&other_class), ResponseCode::Refused);
    let mut notify = query("home.example.", RecordType::SOA);
    notify.metadata.op_code = OpCode::Notify;
    assert_eq!(code(&notify), ResponseCode::NotImp);
}
