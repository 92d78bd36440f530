//! Signed checkpoints: notes, leaves, certificates, proofs and logs.

use chacha20::ChaCha20Rng;
use papir_checkpoint::{
    Base, Certificate, Checkpoint, GatewayKeys, Kind, Leaf, Log, Note, Policy, Proof, SigningKey,
    Statement, VerifyingKey,
};
use rand_core::SeedableRng;

use crate::{Target, outcome};

/// Tokens of notes, certificates and proofs.
const WORDS: &[&str] = &[
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
];

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

    let first = Log::append(None, &version(1), &owner, &[]).unwrap();
    (
        Log::append(Some(&first), &version(2), &owner, &certificates).unwrap(),
        certificates,
    )
}

/// A version of the database, without a delta.
fn version(time: u64) -> Statement {
    Statement {
        delta_root: None,
        database: "words".into(),
        time,
        base: Base::Content([1; 32]),
        public_part: [2; 32],
    }
}

/// The log of a base, and the encoded log of a delta beside it.
fn base_and_delta() -> (Log, Vec<u8>) {
    let owner = key("o", 1);
    let base = Log::append(None, &version(1), &owner, &[]).unwrap();
    let delta = Statement {
        delta_root: Some([5; 32]),
        ..version(2)
    };
    let log = Log::append(Some(&base), &delta, &owner, &[]).unwrap();
    let encoded = log.encode_delta().unwrap();
    (base, encoded)
}

/// A valid input of each parser.
fn seeds(log: &Log, certificates: &[Certificate]) -> Vec<Vec<u8>> {
    let mut seeds = vec![
        log.encode().unwrap(),
        log.proof().unwrap().encode().unwrap().into_bytes(),
        log.note().to_string().into_bytes(),
        log.newest().unwrap().encode().unwrap(),
        log.owner().to_string().into_bytes(),
    ];
    seeds.extend(certificates.iter().map(|one| one.to_string().into_bytes()));
    seeds
}

/// The outcomes of the parsers of bytes. What parses is encoded to the same value.
fn parse_bytes(input: &[u8]) -> String {
    let log = Log::decode(input);
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

    [
        outcome(&log),
        outcome(&note),
        outcome(&leaf),
        outcome(&certificate),
    ]
    .join(" ")
}

/// The outcomes of the parsers of text.
fn parse_text(input: &[u8]) -> String {
    let text = String::from_utf8_lossy(input);
    let key = text.parse::<VerifyingKey>();
    let head = Checkpoint::of_text(&text);
    [outcome(&key), outcome(&head)].join(" ")
}

/// The outcome of the parser of the logs of deltas, beside the log of their base.
fn parse_delta_log(input: &[u8], base: &Log) -> String {
    let log = Log::decode_delta(input, base);
    if let Ok(log) = &log {
        assert_eq!(Log::decode(&log.encode().unwrap()).unwrap(), *log);
    }
    outcome(&log)
}

/// The outcomes of the parser of proofs, and of a client's check. A client accepts only what the
/// owner has signed.
fn check_proof(input: &[u8], owner: &VerifyingKey) -> String {
    let parsed = Proof::parse(input);
    let Ok(proof) = &parsed else {
        return outcome(&parsed);
    };

    let policy = Policy::new(owner, "words", 2);
    let accepted = policy.accept(proof);
    if let Ok(accepted) = &accepted {
        assert_eq!(
            (accepted.seen.sequence, accepted.leaf.public_part),
            (1, [2; 32])
        );
    }
    if let Ok(gateways) = policy.gateway_keys(proof) {
        assert_eq!(gateways.keys(), [[3; 32], [4; 32]]);
    }

    [outcome(&parsed), outcome(&accepted)].join(" ")
}

/// Every parser of signed checkpoints.
pub(super) fn checkpoint() -> Target {
    let (log, certificates) = log();
    let owner = log.owner().clone();
    let (base, delta_log) = base_and_delta();
    let mut seeds = seeds(&log, &certificates);
    seeds.push(delta_log);

    Target::new(seeds, move |input| {
        [
            parse_bytes(input),
            parse_delta_log(input, &base),
            parse_text(input),
            check_proof(input, &owner),
        ]
        .join(" ")
    })
    .with_words(WORDS)
}
