//! A Unix socket whose queue of connections is full.

use std::io::ErrorKind;

use socket2::{Domain, SockAddr, Socket, Type};

use crate::{CALLS, assert_timed_out, error, options};

fn socket() -> Socket {
    Socket::new(Domain::UNIX, Type::STREAM, None).unwrap()
}

#[test]
fn a_place_in_a_full_queue_is_not_waited_for() {
    // Short: the path of a socket has at most about 100 bytes.
    let folder = tempfile::tempdir_in("/tmp").unwrap();
    let path = folder.path().join("s");
    let address = SockAddr::unix(&path).unwrap();
    let listener = socket();
    listener.bind(&address).unwrap();
    listener.listen(0).unwrap();

    let mut waiting = Vec::new();
    let full = loop {
        let socket = socket();
        socket.set_nonblocking(true).unwrap();
        match socket.connect(&address) {
            Ok(()) => waiting.push(socket),
            Err(error) => break error,
        }
    };
    assert_eq!(full.kind(), ErrorKind::WouldBlock);

    let url = format!("unix:{}", path.display());
    for (what, call) in CALLS {
        assert_timed_out(what, &error(what, call, &url, options()));
    }
}
