//! dig as the client, where it is installed.

use std::io::ErrorKind;
use std::process::Command;

use crate::support::{Stub, World};

/// What dig prints for a name; `None` if it is not installed.
fn dig(stub: &Stub, arguments: &[&str]) -> Option<String> {
    let port = stub.address().port().to_string();
    let mut command = Command::new("dig");
    command
        .args(["@127.0.0.1", "-p", &port, "+time=60", "+tries=1"])
        .args(arguments)
        // Its defaults, whatever the person's `.digrc` says.
        .env("HOME", "/nonexistent");

    match command.output() {
        Ok(output) => Some(String::from_utf8(output.stdout).unwrap()),
        Err(error) if error.kind() == ErrorKind::NotFound => None,
        Err(error) => panic!("dig: {error}"),
    }
}

#[test]
fn dig_reads_the_answers() {
    let world = World::new();
    let service = world.serve("127.0.0.1:0");
    let stub = world.stub(&service, &[]);

    let Some(short) = dig(&stub, &["+short", "www.home.example", "A"]) else {
        eprintln!("dig is not installed (apt-get install bind9-dnsutils): not tested");
        return;
    };
    assert_eq!(short, "nas.home.example.\n192.0.2.10\n");
    let over_tcp = dig(&stub, &["+short", "+tcp", "nas.home.example", "AAAA"]);
    assert_eq!(over_tcp.unwrap(), "2001:db8::10\n");

    let blocked = dig(&stub, &["cdn.ads.example", "A"]).unwrap();
    assert!(blocked.contains("status: NXDOMAIN"), "{blocked}");
    let unknown = dig(&stub, &["unknown.example", "A"]).unwrap();
    assert!(unknown.contains("status: SERVFAIL"), "{unknown}");
    assert!(
        !unknown.to_ascii_lowercase().contains("malformed"),
        "{unknown}"
    );
}
