//! Acceptance and refusal of checkpoints.

use papir_checkpoint::{
    Accepted, Certificate, Checkpoint, Error, Log, Note, Policy, Proof, SKEW, Seen, SigningKey,
    VerifyingKey,
};

use crate::support::{DATABASE, NOW, append, certified, cosigned, key, log, version};

fn policy(owner: &VerifyingKey) -> Policy<'_> {
    Policy::new(owner, DATABASE, NOW)
}

fn code(result: Result<Accepted, Error>) -> &'static str {
    result.err().map_or("accepted", |error| error.code())
}

/// Returns a proof as a client receives it.
fn sent(log: &Log) -> Proof {
    Proof::parse(log.proof().unwrap().encode().unwrap().as_bytes()).unwrap()
}

#[test]
fn an_honest_checkpoint_is_accepted_and_names_the_public_part() {
    let owner = key("o", 1);
    let public = owner.public();
    let accepted = policy(&public).accept(&sent(&log(5, &owner))).unwrap();
    assert_eq!((accepted.seen.sequence, accepted.cosignatures), (4, 0));
    assert_eq!(accepted.owner, public);
    accepted.leaf.check_public_part(&[4]).unwrap();
    assert!(accepted.leaf.check_public_part(&[3]).is_err());
}

#[test]
fn another_owner_database_or_origin_is_refused() {
    let owner = key("o", 1);
    let proof = sent(&log(5, &owner));
    let stranger = key("o", 2).public();
    let Err(Error::Untrusted { found, .. }) = policy(&stranger).accept(&proof) else {
        panic!("accepted")
    };
    assert_eq!(found, format!("o/words+{}", hex_id(&owner)));

    let public = owner.public();
    assert_eq!(
        code(
            Policy {
                database: "numbers",
                ..policy(&public)
            }
            .accept(&proof)
        ),
        "checkpoint_database"
    );

    let renamed = public.renamed(&"q".parse().unwrap());
    assert_eq!(code(policy(&renamed).accept(&proof)), "checkpoint_origin");
}

fn hex_id(key: &SigningKey) -> String {
    let origin = key.public().name().origin(DATABASE).unwrap();
    key.public()
        .renamed(&origin)
        .id()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect()
}

/// Replaces the checkpoint by a changed one, signed by the owner.
fn resigned(proof: &Proof, owner: &SigningKey, change: impl FnOnce(&mut Checkpoint)) -> Proof {
    let mut checkpoint = Checkpoint::of_text(proof.note.text()).unwrap();
    change(&mut checkpoint);
    let mut note = checkpoint.to_note().unwrap();
    note.sign(owner, &checkpoint.origin).unwrap();
    Proof {
        note,
        ..proof.clone()
    }
}

#[test]
fn leaves_that_are_not_the_newest_of_the_tree_are_refused() {
    let owner = key("o", 1);
    let public = owner.public();
    let old = sent(&log(4, &owner));
    let new = sent(&log(5, &owner));

    let mut path = new.clone();
    path.path[0][3] ^= 1;
    let mut leaf = new.clone();
    leaf.leaf.public_part[0] ^= 1;

    // An old leaf, with its true path, under the new checkpoint.
    let log = log(5, &owner);
    let hashes: Vec<_> = log
        .leaves()
        .iter()
        .map(|leaf| leaf.hash().unwrap())
        .collect();
    let hidden = Proof {
        leaf: log.leaves()[2].clone(),
        path: papir_checkpoint::merkle::Tree::new(&hashes)
            .inclusion(2)
            .unwrap(),
        ..new.clone()
    };

    let size = resigned(&new, &owner, |checkpoint| checkpoint.size = 6);
    let root = resigned(&new, &owner, |checkpoint| checkpoint.root[0] ^= 1);
    let mixed = Proof {
        note: old.note.clone(),
        ..new.clone()
    };

    for bad in [path, leaf, hidden, size, root, mixed] {
        assert_eq!(code(policy(&public).accept(&bad)), "checkpoint_proof");
    }

    let unsigned = resigned(&new, &key("o", 3), |_| ());
    assert_eq!(
        code(policy(&public).accept(&unsigned)),
        "checkpoint_untrusted"
    );

    let mut forged = new.clone();
    let text = forged.note.to_string().replacen("\n5\n", "\n6\n", 1);
    forged.note = Note::parse(text.as_bytes()).unwrap();
    assert_eq!(
        code(policy(&public).accept(&forged)),
        "checkpoint_signature"
    );
}

#[test]
fn rollbacks_and_two_versions_under_one_sequence_are_refused() {
    let owner = key("o", 1);
    let public = owner.public();
    let log = log(5, &owner);
    let seen = |proof: &Proof| policy(&public).accept(proof).unwrap().seen;
    let proof = sent(&log);
    let highest = seen(&sent(&log));

    let with = |highest: Seen| Policy {
        highest: Some(highest),
        ..policy(&public)
    };

    assert_eq!(code(with(highest).accept(&proof)), "accepted");
    let other = append(Some(&log_of_four(&owner)), 9, &owner).unwrap();
    assert_eq!(
        code(with(highest).accept(&sent(&other))),
        "checkpoint_equivocation"
    );

    let Err(Error::Rollback {
        found: 3,
        highest: 4,
    }) = with(highest).accept(&sent(&log_of_four(&owner)))
    else {
        panic!("accepted")
    };

    let next = append(Some(&log), 5, &owner).unwrap();
    assert_eq!(code(with(highest).accept(&sent(&next))), "accepted");
}

#[test]
fn a_required_sequence_is_the_lowest_accepted_one() {
    let owner = key("o", 1);
    let public = owner.public();
    let seen = policy(&public).accept(&sent(&log(5, &owner))).unwrap().seen;

    for required in [None, Some(0), Some(4)] {
        seen.require(required).unwrap();
    }
    let refused = seen.require(Some(5)).unwrap_err();
    assert_eq!(refused.code(), "checkpoint_sequence");
    assert_eq!(
        refused.to_string(),
        "the checkpoint has sequence 4: expected at least 5"
    );
}

fn log_of_four(owner: &SigningKey) -> Log {
    log(4, owner)
}

#[test]
fn ages_are_limited() {
    let owner = key("o", 1);
    let public = owner.public();
    let proof = sent(&log(5, &owner));

    let aged = |now, max| {
        code(
            Policy {
                now,
                max_age: Some(max),
                ..policy(&public)
            }
            .accept(&proof),
        )
    };
    assert_eq!(
        (aged(NOW + 60, 60), aged(NOW + 61, 60)),
        ("accepted", "checkpoint_too_old")
    );

    // Clocks may differ a little.
    assert_eq!(
        (aged(NOW - SKEW, 60), aged(NOW - SKEW - 1, 60)),
        ("accepted", "checkpoint_future")
    );

    assert_eq!(
        code(
            Policy {
                now: 0,
                ..policy(&public)
            }
            .accept(&proof)
        ),
        "accepted"
    );
}

#[test]
fn cosignatures_of_known_witnesses_are_required() {
    let owner = key("o", 1);
    let public = owner.public();
    let (log, known) = cosigned(&owner);
    let with = |witnesses: &[VerifyingKey], cosignatures| {
        Policy {
            witnesses,
            cosignatures,
            ..policy(&public)
        }
        .accept(&sent(&log))
    };

    assert_eq!(with(&known, 2).unwrap().cosignatures, 2);
    assert_eq!(with(&known[1..], 0).unwrap().cosignatures, 1);
    assert_eq!(code(with(&known, 3)), "checkpoint_cosignatures");
    assert_eq!(code(with(&known[2..], 1)), "checkpoint_cosignatures");
}

#[test]
fn clients_follow_rotations_and_delegations() {
    let old = key("o", 1);
    let new = key("o", 2);
    let publisher = key("p", 3);
    let first = old.public();
    let second = new.public();

    let log = log(4, &old);
    let rotation = Certificate::rotate(&old, &new, (NOW, NOW + 600)).unwrap();
    let grant =
        Certificate::delegate(&new, &publisher.public(), Some(DATABASE), (NOW, NOW + 900)).unwrap();
    let log = certified(Some(&log), 4, &publisher, &[rotation, grant]).unwrap();
    let proof = sent(&log);

    assert_eq!(proof.owner, second);
    for owner in [&first, &second] {
        let accepted = policy(owner).accept(&proof).unwrap();
        assert_eq!(accepted.owner, second);
        // A client that was away longer than the overlap still follows the rotation.
        assert_eq!(
            code(
                Policy {
                    now: NOW + 800,
                    ..policy(owner)
                }
                .accept(&proof)
            ),
            "accepted"
        );
        // The delegation has ended.
        assert_eq!(
            code(
                Policy {
                    now: NOW + 901,
                    ..policy(owner)
                }
                .accept(&proof)
            ),
            "checkpoint_untrusted"
        );
    }

    // The rotation was attached before the new key signed: clients of both keys accept the old one.
    let mut before = append(Some(&log_of_four(&old)), 4, &old).unwrap();
    before.add_certificates(&log.certificates()[..1]).unwrap();
    for owner in [&first, &second] {
        assert_eq!(policy(owner).accept(&sent(&before)).unwrap().owner, second);
        assert_eq!(
            code(
                Policy {
                    now: NOW + 601,
                    ..policy(owner)
                }
                .accept(&sent(&before))
            ),
            "checkpoint_untrusted"
        );
    }

    assert_eq!(version(4).time, NOW);
}
