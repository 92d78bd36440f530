//! Signed checkpoints: notes, leaves, certificates, proofs and logs.

use chacha20::ChaCha20Rng;
use papir_checkpoint::{
    Base, Certificate, Checkpoint, GatewayKeys, Kind, Leaf, Log, Note, Policy, Proof, SigningKey,
    Statement, VerifyingKey,
};
use rand_core::SeedableRng;

use crate::{Target, outcome};

/// A key that is the same in every run.
fn key(name: &str, seed: u8) -> SigningKey {
    SigningKey::generate(
        name.parse().unwrap(),
        Kind::Note,
        &mut ChaCha20Rng::from_seed([seed; 32]),
    )
}

/// A log of two versions with all kinds of certificates.
fn log() -> (Log, Vec<Certificate>) {
    let owner = key("o", 1);
    let next = key("o", 2);
    let publisher = key("p", 3);

    let keys = GatewayKeys::new(None, &[[3; 32], [4; 32]]).unwrap();
    let certificates = vec![
        Certificate::gateways(&owner, &keys, (0, 100)).unwrap(),
        Certificate::delegate(&owner, &publisher.public(), Some("words"), (0, 100)).unwrap(),
        Certificate::rotate(&owner, &next, (0, 100)).unwrap(),
    ];

    let version = |time| Statement {
        delta_root: None,
        database: "words".into(),
        time,
        base: Base::Content([1; 32]),
        public_part: [2; 32],
    };

    let first = Log::append(None, &version(1), &owner, &[]).unwrap();
    (
        Log::append(Some(&first), &version(2), &owner, &certificates).unwrap(),
        certificates,
    )
}

/// Every parser of signed checkpoints. What parses is encoded to the same value.
pub(super) fn checkpoint() -> Target {
    let (log, certificates) = log();
    let owner = log.owner().clone();

    let mut seeds = vec![
        log.encode().unwrap(),
        log.proof().unwrap().encode().unwrap().into_bytes(),
        log.note().to_string().into_bytes(),
        log.newest().unwrap().encode().unwrap(),
        owner.to_string().into_bytes(),
    ];
    seeds.extend(certificates.iter().map(|one| one.to_string().into_bytes()));

    Target::new(seeds, move |input| {
        let text = String::from_utf8_lossy(input);

        let log = Log::decode(input);
        let proof = Proof::parse(input);
        let note = Note::parse(input);
        let leaf = Leaf::decode(input);
        let certificate = Certificate::parse(input);

        if let Ok(log) = &log {
            assert_eq!(Log::decode(&log.encode().unwrap()).unwrap(), *log);
        }
        if let Ok(leaf) = &leaf {
            assert_eq!(leaf.encode().unwrap(), input);
        }
        if let Ok(note) = &note {
            assert_eq!(Note::parse(note.to_string().as_bytes()).unwrap(), *note);
        }

        let policy = Policy::new(&owner, "words", 2);
        let accepted = proof.as_ref().ok().map(|proof| policy.accept(proof));
        let gateways = proof.as_ref().ok().map(|proof| policy.gateway_keys(proof));
        if let Some(Ok(gateways)) = &gateways {
            assert_eq!(gateways.keys(), [[3; 32], [4; 32]]);
        }
        if let Some(Ok(accepted)) = &accepted {
            assert_eq!(
                (accepted.seen.sequence, accepted.leaf.public_part),
                (1, [2; 32])
            );
        }

        let key = text.parse::<VerifyingKey>();
        let head = Checkpoint::of_text(&text);

        let accepted = accepted
            .map(|accepted| outcome(&accepted))
            .unwrap_or_default();

        [
            outcome(&log),
            outcome(&proof),
            outcome(&note),
            outcome(&leaf),
            outcome(&certificate),
        ]
        .join(" ")
            + &[outcome(&key), outcome(&head), accepted].join(" ")
    })
    .with_words(&[
        "\n\n",
        "\u{2014} o ",
        "papir-certificate-1\n",
        "papir-certificate-2\n",
        "c2sp.org/tlog-proof@v1\n",
        "extra ",
        "index ",
        "delegate",
        "rotate",
        "gateways",
        "key ",
        "databases *",
        "until ",
        "AAAA",
        "=",
        "+",
        "%41",
    ])
}
