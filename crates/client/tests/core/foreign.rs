//! Refusals of servers and proxies that are not papir services.

use papir_client::Error;
use papir_client::core::{Response, Session, Settings};
use papir_lookup::Wanted;

use crate::peer::{Peer, simple};

/// Returns the error of a session whose every request is answered by this status and header.
fn refused(status: u16, location: Option<&str>) -> Error {
    let mut peer = Peer::new(simple(1));
    let opening = Session::open(peer.service().unwrap(), Settings::default());
    let opened = peer.run_through(opening, &mut |_, _| {
        Ok(Response {
            status,
            headers: location
                .map(|target| ("location".to_owned(), target.to_owned()))
                .into_iter()
                .collect(),
            body: Ok(b"<html>not papir</html>".to_vec()),
        })
    });
    opened.map(drop).unwrap_err()
}

#[test]
fn refusals_of_other_servers_say_what_to_do() {
    for (status, expected, words) in [
        (401, "unauthorized", "another login"),
        (407, "proxy_login", "the proxy asks for a login"),
        (413, "too_long", "exceeds the limit"),
        (418, "unknown", "not a response of a papir service"),
    ] {
        let error = refused(status, None);
        assert_eq!(error.code(), expected, "{error}");
        assert!(error.to_string().contains(words), "{error}");
        assert!(!error.is_retryable());
    }
}

#[test]
fn a_query_that_is_too_long_for_a_proxy_has_its_length_in_the_error() {
    let mut peer = Peer::new(simple(1));
    let mut session = peer.open(Settings::default()).unwrap();
    let mut sent = 0;
    let looked_up = peer.run_through(session.get(&[Wanted::Index(1)]), &mut |_, call| {
        sent = call.body.len();
        Ok(Response {
            status: 413,
            headers: Vec::new(),
            body: Ok(Vec::new()),
        })
    });

    let error = looked_up.map(drop).unwrap_err().to_string();
    assert!(sent > 0, "{error}");
    assert!(
        error.contains(&format!("the request of {sent} bytes exceeds")),
        "{error}"
    );
}

#[test]
fn redirections_are_named_and_not_followed() {
    let target = "https://elsewhere.example/pir";
    for status in [301, 302, 307, 308] {
        let error = refused(status, Some(target));
        assert_eq!(error.code(), "redirect", "{error}");
        assert!(error.to_string().contains(target), "{error}");
    }

    // A text that could control a terminal, or fill it, is left out.
    for hidden in ["\u{1b}[2J", "a\tb", &"x".repeat(201)] {
        let error = refused(308, Some(hidden)).to_string();
        assert!(error.contains("it redirects: expected"), "{error}");
        assert!(!error.contains(hidden), "{error}");
    }
}
