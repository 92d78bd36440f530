//! Signed checkpoints of the scripted service.
#![allow(unreachable_pub)]

use papir_checkpoint::{
    Base, Certificate, Kind, Log, SigningKey, Statement, VerifyingKey, public_part_hash,
};
use papir_client::core::{CheckpointSettings, Pin, Settings};
use papir_protocol::DeltaInfo;

use crate::peer::{EPOCH, Offer, Peer, rng};

/// Returns an owner's key.
pub fn owner(seed: u64) -> SigningKey {
    SigningKey::generate(
        "example.org/owner".parse().unwrap(),
        Kind::Note,
        &mut rng(seed),
    )
}

/// Returns the statement of a version.
fn statement(offer: &Offer) -> Statement {
    let base = Base::Content([1; 32]);
    let public_part = public_part_hash(&offer.bundle);
    Statement {
        database: "table".into(),
        time: EPOCH,
        base,
        delta_root: None,
        public_part,
    }
}

/// Appends a version to a log.
pub fn append(former: Option<&Log>, offer: &Offer, key: &SigningKey, more: &[Certificate]) -> Log {
    Log::append(former, &statement(offer), key, more).unwrap()
}

/// Appends the same version with a delta to a log.
pub fn append_delta(former: Option<&Log>, offer: &Offer, key: &SigningKey) -> Log {
    Log::append(
        former,
        &Statement {
            delta_root: Some([2; 32]),
            ..statement(offer)
        },
        key,
        &[],
    )
    .unwrap()
}

/// Returns the description of a delta of one record.
pub fn delta_of(offer: &Offer) -> DeltaInfo {
    DeltaInfo {
        version: offer.server.version().to_string(),
        scheme: "inspire".into(),
        entries: 1,
        records: Some(50),
        public: 1 << 20,
        query: 1,
        answer: 1,
        queries_per_lookup: 1,
    }
}

/// Signs the newest version again, this many seconds after [`EPOCH`].
pub fn sign_again(peer: &mut Peer, key: &SigningKey, seconds: u64) {
    let again = Statement {
        time: EPOCH + seconds,
        ..statement(peer.newest())
    };
    peer.log = Some(Log::append(peer.log.as_ref(), &again, key, &[]).unwrap());
}

/// Returns a service whose database is signed.
pub fn signed(offer: impl Into<Offer>, key: &SigningKey) -> Peer {
    let mut peer = Peer::new(offer);
    sign(&mut peer, key, &[]);
    peer
}

/// Signs a further version, which is the newest of the service.
pub fn sign(peer: &mut Peer, key: &SigningKey, more: &[Certificate]) {
    peer.log = Some(append(peer.log.as_ref(), peer.newest(), key, more));
}

/// Pins roots too.
pub fn pinning() -> Settings {
    Settings {
        pin: Pin::OwnerAndRoot,
        ..Settings::default()
    }
}

/// Returns settings that trust a key.
pub fn given(owner: VerifyingKey) -> Settings {
    let checkpoint = CheckpointSettings {
        owner: Some(owner),
        ..CheckpointSettings::default()
    };
    Settings {
        checkpoint,
        ..Settings::default()
    }
}
