//! What the services see: as many queries for every name, none for a cached one.

use hickory_resolver::proto::op::ResponseCode;
use hickory_resolver::proto::rr::RecordType;

use crate::support::{Service, Stub, World, data};

/// Queries to the blocklist and to the zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Seen {
    blocklist: u64,
    zone: u64,
}

/// What the service sees of one name.
fn seen(service: &Service, stub: &Stub, name: &str) -> Seen {
    let count = || Seen {
        blocklist: service.queries("blocked"),
        zone: service.queries("zone"),
    };
    let before = count();
    stub.ask(name, RecordType::A);
    let after = count();

    Seen {
        blocklist: after.blocklist - before.blocklist,
        zone: after.zone - before.zone,
    }
}

#[test]
fn the_service_sees_as_much_of_every_name() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &["--batch", "5"]);

    let expected = Seen {
        blocklist: 5,
        zone: 1,
    };
    let names = [
        "org.",
        "absent.example.",
        "nas.home.example.",
        "www.home.example.",
        "ads.example.",
        "x.ads.example.",
        "a.b.c.d.e.f.g.h.example.",
        ".",
    ];
    for name in names {
        assert_eq!(seen(&service, &stub, name), expected, "{name}");
    }
}

#[test]
fn a_cached_name_is_not_looked_up_again() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &[]);
    let nothing = Seen {
        blocklist: 0,
        zone: 0,
    };

    for name in ["nas.home.example.", "ads.example.", "absent.example."] {
        assert_ne!(seen(&service, &stub, name), nothing, "{name}");
        assert_eq!(seen(&service, &stub, name), nothing, "{name}");
    }
    // Another type of the same name neither.
    let before = service.queries("zone");
    let text = stub.ask("NAS.home.example.", RecordType::AAAA);
    assert_eq!(data(&text), ["2001:db8::10"]);
    assert_eq!(service.queries("zone"), before);
}

#[test]
fn a_full_cache_forgets_what_was_not_used() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &["--cache", "2"]);

    for name in ["a.example.", "b.example.", "c.example."] {
        assert_eq!(stub.code(name), ResponseCode::ServFail);
    }
    assert_eq!(seen(&service, &stub, "c.example.").zone, 0);
    assert_eq!(seen(&service, &stub, "a.example.").zone, 1);
}
