//! Registrations on a machine whose generator draws the same bytes twice.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_core::envelope::{self, Kind};
use papir_core::erased::{Erased, ErasedClient, ErasedScheme, setup_with};
use papir_core::hedge::Circumstances;
use papir_core::scheme::Scheme;
use papir_core::{Goal, NoProgress, NotPrivate, RecordBuffer, Records, Shape};
use papir_schemes::pirouette::chain::Grain;
use papir_schemes::pirouette::encrypted::Encrypted;
use papir_schemes::pirouette::encrypted::params::{EncryptedParams, Literal};

use crate::short::{ShortPirouette, all, owner};

/// Returns the generator of a restored machine, which draws the same bytes at each call.
fn restored() -> ChaCha20Rng {
    ChaCha20Rng::from_seed([9; 32])
}

fn records() -> RecordBuffer {
    RecordBuffer::zeroed(Shape::of_bytes(300, 32).unwrap())
}

/// Returns the keys of a registration.
fn keys(client: &dyn ErasedClient) -> Vec<u8> {
    let registered = client.require_registered().unwrap();
    registered.register(&mut restored()).unwrap().1
}

#[test]
fn no_two_registrations_have_equal_keys() {
    let mut checked = 0;
    for scheme in all() {
        let plan = scheme.plan(records().shape(), Goal::Balanced);
        if !plan.is_ok_and(|plan| plan.limits.client_keys) {
            continue;
        }
        checked += 1;

        let mut rng = ChaCha20Rng::from_seed([1; 32]);
        let server = scheme
            .setup(&records(), Goal::Balanced, &mut rng, &NoProgress)
            .unwrap();
        let client = scheme.client(&server.public()).unwrap();
        assert_ne!(keys(&*client), keys(&*client), "{}", scheme.name());

        // Nothing else than the circumstances tells them apart.
        let none = Circumstances::none();
        let side = client.require_registered().unwrap();
        let [one, two] = [(); 2].map(|()| {
            let registered = side.register_in(None, &none, &mut restored());
            registered.unwrap().1
        });
        assert_eq!(one, two, "{}", scheme.name());

        // A client that registers again in the same circumstances gets other keys.
        let (state, _) = side.register(&mut restored()).unwrap();
        let again = side.register_in(Some(&state), &none, &mut restored());
        assert_ne!(again.unwrap().1, one, "{}", scheme.name());
    }
    assert!(checked >= 5, "{checked} schemes with client keys");
}

/// One owner's databases with keys of both grains, which have the same masks under one seed: equal
/// seeds would show the ring's key.
#[test]
fn keys_of_both_grains_have_no_equal_mask() {
    type Short = Encrypted<ShortPirouette>;

    let coarse = Literal {
        span: 64,
        gate: (5, 4),
        seed_bytes: 32,
        grain: Grain::Coarse,
    };
    let fine = Literal {
        gate: (3, 7),
        grain: Grain::Fine,
        ..coarse
    };

    let [coarse, fine] = [(coarse, 1), (fine, 2)].map(|(literal, seed)| {
        let shape = records().shape();
        let params = EncryptedParams::<ShortPirouette>::new(shape, literal)
            .and_then(|params| params.with_owner_key(&owner()))
            .unwrap();
        let mut rng = ChaCha20Rng::from_seed([seed; 32]);
        let server = setup_with::<Short>(params, &records(), &mut rng, &NoProgress).unwrap();

        let scheme = Erased::<Short>::allowing_insecure(NotPrivate::acknowledged());
        let scheme: &dyn ErasedScheme = &scheme.with_owner_key(owner());
        let client = scheme.client(&server.public()).unwrap();
        let side = client.require_registered().unwrap();
        // The databases alone tell these registrations apart.
        let registered = side.register_in(None, &Circumstances::none(), &mut restored());
        let keys = registered.unwrap().1;
        let (_, payload) = envelope::open(&keys, Kind::Keys, Short::ID).unwrap();
        payload[..32].to_vec()
    });
    assert_ne!(coarse, fine, "the seed of all masks");
}
