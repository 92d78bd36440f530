//! Keys and logs of the tests.

use chacha20::ChaCha20Rng;
use chacha20::rand_core::SeedableRng;
use papir_checkpoint::{
    Base, Certificate, Kind, Log, Result, SigningKey, Statement, VerifyingKey, cosign,
    public_part_hash,
};

/// Time of the first version of each log.
pub(crate) const START: u64 = 1_800_000_000;
/// Time of the newest version of a log of five.
pub(crate) const NOW: u64 = START + 4 * 3600;
pub(crate) const DATABASE: &str = "words";

pub(crate) fn of_kind(name: &str, kind: Kind, seed: u8) -> SigningKey {
    SigningKey::generate(
        name.parse().unwrap(),
        kind,
        &mut ChaCha20Rng::from_seed([seed; 32]),
    )
}

pub(crate) fn key(name: &str, seed: u8) -> SigningKey {
    of_kind(name, Kind::Note, seed)
}

/// Returns version `number` of the database, an hour after the version before it.
pub(crate) fn version(number: u8) -> Statement {
    Statement {
        delta_root: None,
        database: DATABASE.into(),
        time: START + 3600 * u64::from(number),
        base: Base::Content([number; 32]),
        public_part: public_part_hash(&[number]),
    }
}

/// Appends a version without new certificates.
pub(crate) fn append(former: Option<&Log>, number: u8, key: &SigningKey) -> Result<Log> {
    Log::append(former, &version(number), key, &[])
}

/// Returns a log of `count` versions.
pub(crate) fn log(count: u8, key: &SigningKey) -> Log {
    let mut log = append(None, 0, key).unwrap();
    for number in 1..count {
        log = append(Some(&log), number, key).unwrap();
    }
    log
}

/// Returns a log whose newest version is signed with certificates.
pub(crate) fn certified(
    former: Option<&Log>,
    number: u8,
    key: &SigningKey,
    certificates: &[Certificate],
) -> Result<Log> {
    Log::append(former, &version(number), key, certificates)
}

/// Returns a log of five versions that the first two of three witnesses have cosigned, and the
/// witnesses' keys.
pub(crate) fn cosigned(key: &SigningKey) -> (Log, [VerifyingKey; 3]) {
    let mut log = log(5, key);
    let witnesses = [1, 2, 3].map(|seed| of_kind(&format!("w/{seed}"), Kind::Cosignature, seed));

    for witness in &witnesses[..2] {
        let line = cosign(log.note(), witness, NOW);
        log.add_cosignatures(&format!("{line}\n")).unwrap();
    }
    (log, witnesses.each_ref().map(SigningKey::public))
}
