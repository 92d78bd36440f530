//! Signed checkpoints of the scripted service.
#![allow(unreachable_pub)]

use papir_checkpoint::{Base, Certificate, Kind, Log, SigningKey, Statement, public_part_hash};

use crate::peer::{EPOCH, Offer, Peer, rng};

/// An owner's key.
pub fn owner(seed: u64) -> SigningKey {
    SigningKey::generate("example.org/owner".parse().unwrap(), Kind::Note, &mut rng(seed))
}

/// Appends a version to a log.
pub fn append(former: Option<&Log>, offer: &Offer, key: &SigningKey, more: &[Certificate]) -> Log {
    let (base, public_part) = (Base::Content([1; 32]), public_part_hash(&offer.bundle));
    let statement = Statement { database: "table".into(), time: EPOCH, base, public_part };
    Log::append(former, &statement, key, more).unwrap()
}

/// A service whose database is signed.
pub fn signed(offer: impl Into<Offer>, key: &SigningKey) -> Peer {
    let mut peer = Peer::new(offer);
    sign(&mut peer, key, &[]);
    peer
}

/// Signs a further version: the newest of the service.
pub fn sign(peer: &mut Peer, key: &SigningKey, more: &[Certificate]) {
    peer.log = Some(append(peer.log.as_ref(), peer.newest(), key, more));
}
