//! Short messages of registered clients: what is sent, and what is refused.

use std::sync::OnceLock;

use papir_client::Error;
use papir_client::core::Session;
use papir_core::envelope;
use papir_lookup::Wanted;
use papir_protocol::media;

use crate::peer::{Call, Peer, queries, short};
use crate::traces::world::{Other, World};

/// Bytes of a handle or a tag.
const BOUND: usize = 4;

/// The databases of pirouette, with short keys.
fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| World::of("pirouette"))
}

/// A service that allows short messages, and a registered client.
struct Exchange {
    peer: Peer,
    session: Session,
}

impl Exchange {
    fn new() -> Self {
        let mut peer = world().sides[0].peer(true);
        peer.allows_short = true;
        let session = peer.open(world().settings.clone()).unwrap();
        peer.take();
        Self { peer, session }
    }

    fn get(&mut self, index: u64) -> Result<Vec<Option<Vec<u8>>>, Error> {
        let wanted = [Wanted::Index(index)];
        self.peer.run(self.session.get(&wanted))
    }

    /// Finds the record, by short messages alone. Returns their handles.
    fn finds(&mut self, index: u64) -> Vec<Vec<u8>> {
        let found = self.get(index).unwrap();
        assert_eq!(found, [Some(vec![index as u8 + 1])]);

        let enveloped = self.peer.newest().server.describe().sizes.query as usize;
        let calls = queries(&self.peer.take());
        for call in &calls {
            assert_eq!(call.header("content-type"), Some(media::SHORT));
            assert_eq!(call.body.len(), enveloped - envelope::OVERHEAD + BOUND);
        }
        handles(&calls)
    }

    /// The code and the words of the refusal of a damaged answer. The next lookup is answered.
    fn refuses(&mut self, damage: fn(&mut Vec<u8>)) -> (String, String) {
        self.peer.damage = damage;
        let refused = self.get(3).unwrap_err();
        assert_eq!(queries(&self.peer.take()).len(), 1, "it is not sent again");

        self.peer.damage = |_| {};
        self.finds(3);
        (refused.code().to_owned(), refused.to_string())
    }
}

/// The first bytes of each request.
fn handles(calls: &[Call]) -> Vec<Vec<u8>> {
    let handles = calls.iter().map(|call| call.body[..BOUND].to_vec());
    handles.collect()
}

#[test]
fn an_answer_with_another_tag_or_length_is_refused_by_name() {
    let mut exchange = Exchange::new();
    let damaged: [fn(&mut Vec<u8>); 3] = [
        |answer| answer[0] ^= 1,
        |answer| *answer.last_mut().unwrap() ^= 1,
        |answer| answer[..BOUND].fill(0),
    ];
    for damage in damaged {
        let (code, text) = exchange.refuses(damage);
        assert_eq!(code, "malformed");
        assert!(text.contains("a tag of another client, version"), "{text}");
    }

    let cut: [fn(&mut Vec<u8>); 3] = [
        |answer| answer.truncate(answer.len() - 1),
        |answer| answer.truncate(3),
        Vec::clear,
    ];
    for damage in cut {
        let (code, text) = exchange.refuses(damage);
        assert_eq!(code, "wrong_length");
        assert!(text.contains("a short answer has "), "{text}");
    }
}

#[test]
fn a_client_that_is_gone_registers_again_and_has_another_handle() {
    let mut exchange = Exchange::new();
    let before = exchange.finds(3);
    assert_eq!(exchange.finds(4), before, "the same for all of its queries");

    exchange.peer.clients[0].remove();
    exchange.get(5).unwrap();
    let events = exchange.peer.take();
    assert!(short(&events).contains(&"POST /clients".to_owned()));
    let after = handles(&queries(&events));
    assert_eq!(after.first(), before.first());
    assert_ne!(after.last(), before.first());
}

#[test]
fn a_version_that_is_gone_is_replaced_and_has_another_handle() {
    let mut exchange = Exchange::new();
    let before = exchange.finds(3);

    let newer = world().sides[0].other(Other::Newer);
    exchange.peer.versions.push(newer);
    let after = exchange.finds(3);
    assert_eq!(after.first(), before.first());
    assert_ne!(after.last(), before.first());
}
