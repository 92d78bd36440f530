//! One lookup in a scheme, whose secrets are undefined.

use std::slice;

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::erased::{ErasedClient, ErasedServer};
use papir_core::hedge::Circumstances;
use papir_core::{Goal, NoProgress, OwnerKey, RecordBuffer, Shape};
use papir_schemes::registry;
use rand_core::CryptoRng;

use crate::hidden_rng::HiddenRng;
use crate::memcheck::{hidden_bits, hide, is_running, reported, reveal, turn};
use crate::peer::Peer;
use crate::short;

/// Schemes with a Paillier key. Its modulus is public, and sets the lengths of all numbers, but the
/// product of hidden primes would be hidden. These schemes register with visible keys; what their
/// queries draw is hidden. `powers` checks the exponentiation.
const WITH_PAILLIER: [&str; 2] = ["zip", "zipdouble"];

/// Reports of memcheck in the steps of a client.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reports {
    open: u64,
    register: u64,
    query: u64,
    extract: u64,
}

/// Looks up a record in the scheme of this name. Fails if memcheck reports a branch or an address
/// that depends on an index, a key, an error or a record, or if the record is wrong.
pub(crate) fn check_lookup(name: &str) {
    let _turn = turn();
    let shape = Shape::of_bytes(1200, 8).unwrap();
    let records = scattered_records(shape);
    let scheme = short::with_short_modulus(name);
    let server = scheme
        .setup(
            &records,
            Goal::Balanced,
            &mut ChaCha20Rng::from_seed([5; 32]),
            &NoProgress,
        )
        .unwrap();

    // The owner of an encrypted database and its clients have one key. It is secret on both sides,
    // and only the clients' side is checked.
    let owner = OwnerKey::generate(&mut HiddenRng::from_seed(short::OWNER_SEED));
    let owner = (name == registry::ENCRYPTED).then_some(&owner);
    let scheme = scheme.with_owner_key(owner);
    let (client, open) = reported(|| scheme.client(&server.public()).unwrap());

    let visible = &mut ChaCha20Rng::from_seed([8; 32]);
    let hidden = &mut HiddenRng::from_seed([9; 32]);
    let (mut peer, register) = reported(|| match WITH_PAILLIER.contains(&name) {
        true => registered(client, &*server, visible),
        false => registered(client, &*server, hidden),
    });
    let ticket = peer.ticket(&*server);

    let index = 777;
    let mut hidden_index = index;
    hide(slice::from_mut(&mut hidden_index));
    let ((secret, mut query), query_reports) = reported(|| peer.query(hidden_index, hidden));

    // Otherwise no report would mean that nothing was secret.
    let bits = hidden_bits(&mut query);
    assert!(
        bits > 0 || !is_running(),
        "{name}: all of a query is defined"
    );
    reveal(&mut query);

    let answer = server
        .answer(peer.session(ticket.as_ref()), &query)
        .unwrap();
    let (found, extract) = reported(|| peer.client.extract(secret, &answer));

    let mut found = found.unwrap();
    found.iter_mut().for_each(|record| reveal(record));
    assert_eq!(found, [records.get(index).unwrap()], "{name}");

    let reports = Reports {
        open,
        register,
        query: query_reports,
        extract,
    };
    assert_eq!(reports, Reports::default(), "{name}: see memcheck's output");
}

/// Registers the client if the scheme has keys. They are sent, and so count as defined.
fn registered(
    client: Box<dyn ErasedClient>,
    server: &dyn ErasedServer,
    rng: &mut dyn CryptoRng,
) -> Peer {
    let Some(side) = client.registered() else {
        return Peer {
            client,
            state: None,
            keys: None,
        };
    };

    let (state, mut sealed) = side.register_in(None, &Circumstances::none(), rng).unwrap();
    reveal(&mut sealed);

    let parsed = server
        .require_registered()
        .unwrap()
        .accept_keys(&sealed)
        .unwrap();
    Peer {
        client,
        state: Some(state),
        keys: Some((sealed, parsed)),
    }
}

/// Records of scattered bytes.
fn scattered_records(shape: Shape) -> RecordBuffer {
    let bytes = (0..shape.total_bytes() as u32)
        .map(|i| (i.wrapping_mul(2_654_435_761) >> 24) as u8)
        .collect();
    RecordBuffer::from_packed(shape, bytes).unwrap()
}
