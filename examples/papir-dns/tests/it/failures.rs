//! Services that are away, and arguments that are refused.

use hickory_resolver::proto::op::ResponseCode;

use crate::forwarding::FakeResolver;
use crate::support::{World, fails, until};

#[test]
fn without_the_service_names_fail_and_are_not_forwarded() {
    let world = World::new();
    // No other test uses this address, so that the port stays free.
    let service = world.serve("127.0.0.2:0");
    let listen = service.address();
    let resolver = FakeResolver::start();
    let forward = resolver.address.to_string();
    let stub = world.stub(&service, &["--forward", &forward, "--timeout", "2"]);
    until("the stub finds a name", || {
        stub.code("nas.home.example.") == ResponseCode::NoError
    });

    drop(service);
    for name in ["ads.example.", "unknown.example.", "www.home.example."] {
        assert_eq!(stub.code(name), ResponseCode::ServFail, "{name}");
    }
    assert_eq!(
        stub.code("nas.home.example."),
        ResponseCode::NoError,
        "cached"
    );
    assert_eq!(resolver.asked(), [""; 0]);

    let _again = world.serve(&listen);
    until("the stub finds the service again", || {
        stub.code("ads.example.") == ResponseCode::NXDomain
    });
    assert_eq!(resolver.asked(), [""; 0]);
}

#[test]
fn a_stub_does_not_start_without_its_service() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let absent = format!("{}/v1/databases/absent", service.url());
    let command = world.stub_command(&["serve", "--listen", "127.0.0.1:0", "--zone", &absent]);
    let error = fails(command, 2);
    assert!(error.starts_with("papir-dns: zone: "), "{error}");
}

#[test]
fn a_stub_listens_to_this_machine_alone() {
    let world = World::new();
    let url = "http://127.0.0.1:1";
    for listen in ["0.0.0.0:0", "[::]:0", "192.0.2.1:53"] {
        let command = world.stub_command(&["serve", "--listen", listen, "--zone", url]);
        let error = fails(command, 2);
        assert!(error.contains(listen), "{error}");
    }
    fails(world.stub_command(&["serve"]), 2);
}

#[test]
fn a_zone_that_is_none_is_refused_by_name() {
    let world = World::new();
    let absent = world.path("absent.zone");
    let error = fails(world.stub_command(&["zone", &absent]), 2);
    assert!(error.contains("absent.zone"), "{error}");
}
