//! Test vectors for docs/formats.md: proofs that a client accepts or refuses.
//!
//! `PAPIR_WRITE_VECTORS=1 cargo test -p papir-checkpoint --test it vectors` writes them.

use std::path::Path;
use std::{env, fs};

use papir_checkpoint::{
    Certificate, Checkpoint, Log, Policy, Proof, SKEW, Seen, SigningKey, VerifyingKey, hex,
    merkle::Tree,
};
use serde_json::{Value, json};

use crate::support::{DATABASE, NOW, START, append, certified, cosigned, key, log};

const FILE: &str = "../../docs/vectors/checkpoints.json";

/// A client before a proof.
struct Client<'a> {
    name: &'a str,
    proof: Proof,
    bundle: &'a [u8],
    policy: Policy<'a>,
}

impl Client<'_> {
    /// The client, and the code of its refusal; null if it accepts.
    fn vector(&self) -> Value {
        let Policy {
            owner,
            now,
            max_age,
            highest,
            witnesses,
            cosignatures,
            ..
        } = &self.policy;

        let accepted = self.policy.accept(&self.proof);
        let outcome = accepted.and_then(|accepted| accepted.leaf.check_public_part(self.bundle));

        json!({
            "name": self.name,
            "owner": owner.to_string(),
            "now": now,
            "max_age": max_age,
            "highest": highest.map(|seen| json!({ "sequence": seen.sequence, "leaf": hex(&seen.leaf) })),
            "witnesses": witnesses.iter().map(VerifyingKey::to_string).collect::<Vec<_>>(),
            "cosignatures": cosignatures,
            "proof": self.proof.encode().unwrap(),
            "bundle": self.bundle.iter().map(|byte| format!("{byte:02x}")).collect::<String>(),
            "refused": outcome.err().map(|error| error.code().to_owned()),
        })
    }
}

/// Returns the newest version of a log, and a client that knows this owner's key.
fn client<'a>(name: &'a str, log: &Log, owner: &'a VerifyingKey) -> Client<'a> {
    let policy = Policy::new(owner, DATABASE, NOW);
    Client {
        name,
        proof: log.proof().unwrap(),
        bundle: &[4],
        policy,
    }
}

/// The proof of an older leaf under the newest checkpoint of a log.
fn older_leaf(log: &Log) -> Proof {
    let hashes: Vec<_> = log
        .leaves()
        .iter()
        .map(|leaf| leaf.hash().unwrap())
        .collect();
    let path = Tree::new(&hashes).inclusion(2).unwrap();

    Proof {
        leaf: log.leaves()[2].clone(),
        path,
        ..log.proof().unwrap()
    }
}

/// The proof of a log of five whose checkpoint states six leaves.
fn one_leaf_longer(log: &Log, owner: &SigningKey) -> Proof {
    let mut checkpoint = Checkpoint::of_text(log.note().text()).unwrap();
    checkpoint.size = 6;
    let mut note = checkpoint.to_note().unwrap();
    note.sign(owner, &checkpoint.origin).unwrap();

    Proof {
        note,
        ..log.proof().unwrap()
    }
}

/// The newest version of a log, as a client that has seen it.
fn seen(log: &Log) -> Seen {
    let leaf = log.newest().unwrap();
    Seen {
        sequence: leaf.sequence,
        leaf: leaf.hash().unwrap(),
    }
}

/// Clients of a log that one key signs.
fn plain(owner: &SigningKey, public: &VerifyingKey) -> Vec<Value> {
    let four = log(4, owner);
    let five = log(5, owner);

    let new = |name| client(name, &five, public);
    let stranger = key("o", 9).public();
    let with = |name, change: &dyn Fn(&mut Policy<'_>)| {
        let mut one = client(name, &five, public);
        change(&mut one.policy);
        one.vector()
    };

    let fork = append(Some(&four), 9, owner).unwrap();

    vec![
        new("the owner's signature").vector(),
        client("another owner", &five, &stranger).vector(),
        Client {
            bundle: &[5],
            ..new("another bundle")
        }
        .vector(),
        Client {
            proof: older_leaf(&five),
            bundle: &[2],
            ..new("an older leaf under the newest checkpoint")
        }
        .vector(),
        Client {
            proof: one_leaf_longer(&five, owner),
            ..new("a log that is one leaf longer")
        }
        .vector(),
        with("the version that was seen", &|policy| {
            policy.highest = Some(seen(&five))
        }),
        with("a newer version than was seen", &|policy| {
            policy.highest = Some(seen(&four))
        }),
        with("another version in the place of the one seen", &|policy| {
            policy.highest = Some(seen(&fork))
        }),
        with("an older version than was seen", &|policy| {
            policy.highest = Some(Seen {
                sequence: 5,
                leaf: [0; 32],
            });
        }),
        with("as old as allowed", &|policy| {
            (policy.now, policy.max_age) = (NOW + 60, Some(60))
        }),
        with("too old", &|policy| {
            (policy.now, policy.max_age) = (NOW + 61, Some(60))
        }),
        with("a clock that is behind", &|policy| {
            (policy.now, policy.max_age) = (NOW - SKEW, Some(60))
        }),
        with("from the future", &|policy| {
            (policy.now, policy.max_age) = (NOW - SKEW - 1, Some(60))
        }),
    ]
}

/// Returns clients of a log that witnesses have cosigned.
fn witnessed(owner: &SigningKey, public: &VerifyingKey) -> Vec<Value> {
    let (log, known) = cosigned(owner);
    let with = |name, witnesses: &[VerifyingKey], cosignatures| {
        let mut one = client(name, &log, public);
        one.policy = Policy {
            witnesses,
            cosignatures,
            ..Policy::new(public, DATABASE, NOW)
        };
        one.vector()
    };

    vec![
        with("two witnesses of two", &known, 2),
        with("two witnesses of three", &known, 3),
        with("no known witness", &known[2..], 1),
        with(
            "one witness twice",
            &[known[0].clone(), known[0].clone()],
            2,
        ),
    ]
}

/// Returns clients of logs with certificates: of the old key and of the new one, after each of
/// these seconds.
fn certified_clients(owner: &SigningKey, public: &VerifyingKey) -> Vec<Value> {
    let new = key("o", 2);
    let thief = key("o", 3);
    let publisher = key("p", 4);
    let newest = new.public();
    let before = log(4, owner);

    let rotation = Certificate::rotate(owner, &new, (NOW, NOW + 600)).unwrap();
    let grant = |database| {
        Certificate::delegate(&new, &publisher.public(), database, (NOW, NOW + 900)).unwrap()
    };

    let signed =
        |by: &SigningKey, more: &[Certificate]| certified(Some(&before), 4, by, more).unwrap();
    let rotated = signed(&new, std::slice::from_ref(&rotation));
    let delegated = signed(&publisher, &[rotation.clone(), grant(Some(DATABASE))]);

    let mut overlapping = append(Some(&before), 4, owner).unwrap();
    overlapping
        .add_certificates(std::slice::from_ref(&rotation))
        .unwrap();
    // The thief has the owner's old key, and certifies a key of its own by it.
    let stolen = Certificate::rotate(&thief, owner, (START, u64::MAX)).unwrap();
    let mut by_thief = delegated.proof().unwrap();
    by_thief.certificates = vec![rotation, stolen];
    let checkpoint = Checkpoint::of_text(by_thief.note.text()).unwrap();
    by_thief.note = checkpoint.to_note().unwrap();
    by_thief.note.sign(&thief, &checkpoint.origin).unwrap();

    let logs = [
        (
            "a new key's signature",
            rotated.proof().unwrap(),
            vec![0, 800],
        ),
        (
            "a publisher's signature",
            delegated.proof().unwrap(),
            vec![0, 900, 901],
        ),
        (
            "the old key's signature",
            overlapping.proof().unwrap(),
            vec![0, 600, 601],
        ),
        (
            "a key that a replaced key certifies",
            by_thief,
            vec![0, 601],
        ),
    ];

    let mut vectors = Vec::new();
    for (name, proof, times) in logs {
        for (trusted, known) in [("the old key", public), ("the new key", &newest)] {
            for after in &times {
                let name = format!("{name}, for a client of {trusted}, after {after} s");
                let policy = Policy::new(known, DATABASE, NOW + after);
                vectors.push(
                    Client {
                        name: &name,
                        proof: proof.clone(),
                        bundle: &[4],
                        policy,
                    }
                    .vector(),
                );
            }
        }
    }
    vectors
}

#[test]
fn clients_of_signed_databases() {
    let owner = key("o", 1);
    let public = owner.public();
    let parts = [
        plain(&owner, &public),
        witnessed(&owner, &public),
        certified_clients(&owner, &public),
    ];

    let vectors = json!({ "database": DATABASE, "clients": parts.concat() });

    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(FILE);
    if env::var_os("PAPIR_WRITE_VECTORS").is_some() {
        fs::write(
            &path,
            serde_json::to_string_pretty(&vectors).unwrap() + "\n",
        )
        .unwrap();
    }

    let golden: Value = serde_json::from_slice(&fs::read(&path).unwrap()).unwrap();
    assert!(golden == vectors, "{} differs", path.display());
}
