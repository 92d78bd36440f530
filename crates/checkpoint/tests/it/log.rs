//! Logs: appended, stored, and shown to witnesses.

use papir_checkpoint::merkle::{Hash, Tree, verify_consistency};
use papir_checkpoint::{
    Certificate, Checkpoint, Kind, Leaf, Log, Note, Proof, SKEW, SigningKey, Statement, cosign,
};

use crate::support::{DATABASE, START, append, certified, key, log, of_kind, version};

fn checkpoint(log: &Log) -> Checkpoint {
    Checkpoint::of_text(log.note().text()).unwrap()
}

#[test]
fn every_version_extends_the_one_before() {
    let owner = key("example.org/owner", 1);
    let mut former = append(None, 0, &owner).unwrap();

    for number in 1..20 {
        let next = append(Some(&former), number, &owner).unwrap();
        let old = checkpoint(&former);
        let new = checkpoint(&next);
        assert_eq!((old.size, new.size), (number.into(), u64::from(number) + 1));
        assert_eq!(new.origin.as_str(), "example.org/owner/words");

        let hashes: Vec<Hash> = next
            .leaves()
            .iter()
            .map(|leaf| leaf.hash().unwrap())
            .collect();
        let proof = Tree::new(&hashes).consistency(number.into()).unwrap();
        assert!(verify_consistency(
            (old.size, &old.root),
            (new.size, &new.root),
            &proof
        ));

        let newest = next.newest().unwrap();
        assert_eq!(
            (newest.sequence, newest.time),
            (number.into(), version(number).time)
        );

        former = next;
    }
}

#[test]
fn golden_bytes_of_the_log_and_of_the_proof() {
    let owner = key("o", 1);
    let publisher = key("p", 2);
    let grant =
        Certificate::delegate(&owner, &publisher.public(), None, (START, START + 9)).unwrap();
    let log = certified(None, 0, &publisher, &[grant]).unwrap();

    let bytes = log.encode().unwrap();
    assert_eq!(bytes[..2], [1, 0]);
    assert_eq!(Log::decode(&bytes).unwrap(), log);

    let proof = log.proof().unwrap();
    let text = proof.encode().unwrap();
    assert!(
        text.starts_with("c2sp.org/tlog-proof@v1\nextra AT"),
        "{text}"
    );
    assert!(text.contains("\nindex 0\n\no/words\n1\n"), "{text}");
    assert_eq!(Proof::parse(text.as_bytes()).unwrap(), proof);

    let golden = |bytes: &[u8]| blake3::hash(bytes).to_hex()[..16].to_owned();
    assert_eq!(
        (golden(&bytes).as_str(), golden(text.as_bytes()).as_str()),
        ("9d34c11e25029559", "a42427932a921d48")
    );
}

/// The log `base` with a leaf for each of `count` deltas beside its newest version.
fn with_deltas(base: &Log, count: u8, owner: &SigningKey) -> Log {
    let mut log = base.clone();
    let number = u8::try_from(base.leaves().len()).unwrap();
    for delta in 0..count {
        let statement = Statement {
            delta_root: Some([delta; 32]),
            ..version(number + delta)
        };
        log = Log::append(Some(&log), &statement, owner, &[]).unwrap();
    }
    log
}

#[test]
fn golden_bytes_of_the_log_of_a_delta() {
    let owner = key("example.org/owner", 1);
    let base = log(3, &owner);
    let newest = with_deltas(&base, 2, &owner);

    let part = |bytes: &[u8]| [&(bytes.len() as u64).to_le_bytes()[..], bytes].concat();
    let mut golden = vec![2, 0];
    golden.extend(part(newest.owner().to_string().as_bytes()));
    golden.extend([3, 0, 0, 0, 0, 0, 0, 0]);
    golden.extend([2, 0, 0, 0, 0, 0, 0, 0]);
    for leaf in &newest.leaves()[3..] {
        golden.extend(part(&leaf.encode().unwrap()));
    }
    golden.extend(part(newest.note().to_string().as_bytes()));
    golden.push(0);

    assert_eq!(newest.encode_delta().unwrap(), golden);
    assert_eq!(Log::decode_delta(&golden, &base).unwrap(), newest);
}

#[test]
fn the_log_of_a_delta_has_no_leaves_of_versions_before_its_base() {
    let owner = key("example.org/owner", 1);
    let length = |versions: u8| {
        let newest = with_deltas(&log(versions, &owner), 1, &owner);
        newest.encode_delta().unwrap().len()
    };
    // Only the size in the checkpoint has another digit.
    assert_eq!(length(40), length(3) + 1);

    // After a merge, the leaves of the deltas before it are in the log of the new base.
    let merged = append(Some(&with_deltas(&log(3, &owner), 5, &owner)), 8, &owner).unwrap();
    let newest = with_deltas(&merged, 1, &owner);
    let bytes = newest.encode_delta().unwrap();
    assert_eq!(bytes.len(), length(12));
    assert_eq!(Log::decode_delta(&bytes, &merged).unwrap(), newest);
}

#[test]
fn the_log_of_a_delta_is_read_beside_that_of_its_base_only() {
    let owner = key("example.org/owner", 1);
    let base = log(3, &owner);
    let newest = with_deltas(&base, 2, &owner);
    let bytes = newest.encode_delta().unwrap();
    let code = |bytes: &[u8], base: &Log| Log::decode_delta(bytes, base).unwrap_err().code();

    // As earlier releases wrote it: whole.
    let whole = newest.encode().unwrap();
    assert_eq!(Log::decode_delta(&whole, &base).unwrap(), newest);

    assert_eq!(code(&bytes, &log(2, &owner)), "malformed");
    let mut other = Log::append(None, &version(7), &owner, &[]).unwrap();
    for number in 8..10 {
        other = append(Some(&other), number, &owner).unwrap();
    }
    assert_eq!(code(&bytes, &other), "checkpoint_proof");

    for length in 0..bytes.len() {
        assert!(
            Log::decode_delta(&bytes[..length], &base).is_err(),
            "{length}"
        );
    }
    let refused = Log::decode(&bytes).unwrap_err().to_string();
    assert!(refused.contains("format version 2"), "{refused}");
}

#[test]
fn truncated_and_changed_logs_are_refused() {
    let owner = key("o", 1);
    let log = log(3, &owner);
    let bytes = log.encode().unwrap();

    for length in (0..bytes.len()).step_by(7) {
        assert!(Log::decode(&bytes[..length]).is_err(), "{length}");
    }
    assert!(Log::decode(&[&bytes[..], &[0]].concat()).is_err());

    // A changed leaf no longer leads to the root.
    let leaf = log.leaves()[1].encode().unwrap();
    let place = bytes
        .windows(leaf.len())
        .position(|window| window == leaf)
        .unwrap();
    let mut changed = bytes.clone();
    changed[place + leaf.len() - 1] ^= 1;
    assert_eq!(
        Log::decode(&changed).unwrap_err().code(),
        "checkpoint_proof"
    );

    // Leaves in another order, or of another database.
    for (at, value) in [(place + 8, 7), (place + 3, b'v')] {
        let mut changed = bytes.clone();
        changed[at] = value;
        assert_eq!(Log::decode(&changed).unwrap_err().code(), "malformed");
    }

    let newer = [&[2, 0], &bytes[2..]].concat();
    assert!(
        Log::decode(&newer)
            .unwrap_err()
            .to_string()
            .contains("format version 2")
    );
}

#[test]
fn truncated_and_changed_proofs_are_refused() {
    let text = log(5, &key("o", 1)).proof().unwrap().encode().unwrap();
    for length in 0..text.len() {
        assert!(
            Proof::parse(&text.as_bytes()[..length]).is_err(),
            "{length}"
        );
    }

    for (from, to) in [
        ("@v1", "@v2"),
        ("extra ", "extra"),
        ("index 4", "index 3"),
        ("index 4", "index 04"),
        ("\n\no/words", "\nAAAA\n\no/words"),
    ] {
        let changed = text.replacen(from, to, 1);
        assert_ne!(changed, text);
        assert!(Proof::parse(changed.as_bytes()).is_err(), "{changed}");
    }

    let hash = format!("{}=\n", "A".repeat(43));
    let long = text.replacen("\n\no/words", &format!("\n{}\no/words", hash.repeat(65)), 1);
    assert!(
        Proof::parse(long.as_bytes())
            .unwrap_err()
            .to_string()
            .contains("longer path")
    );
}

#[test]
fn only_certified_keys_append() {
    let owner = key("o", 1);
    let stranger = key("o", 2);
    let first = append(None, 0, &owner).unwrap();
    assert_eq!(
        append(Some(&first), 1, &stranger).unwrap_err().code(),
        "checkpoint_untrusted"
    );

    let witness = of_kind("o", Kind::Cosignature, 1);
    assert_eq!(append(None, 0, &witness).unwrap_err().code(), "malformed");

    let other = Statement {
        database: "numbers".into(),
        ..version(1)
    };
    let error = Log::append(Some(&first), &other, &owner, &[]).unwrap_err();
    assert_eq!(error.code(), "checkpoint_database");

    // A log that was tampered with is not continued: this note is signed by another key.
    let forged = append(None, 0, &stranger).unwrap().encode().unwrap();
    let found = stranger.public().to_string();
    let expected = owner.public().to_string();
    let place = forged
        .windows(found.len())
        .position(|window| window == found.as_bytes())
        .unwrap();
    let forged = [
        &forged[..place],
        expected.as_bytes(),
        &forged[place + found.len()..],
    ]
    .concat();
    let forged = Log::decode(&forged).unwrap();
    assert_eq!(
        append(Some(&forged), 1, &owner).unwrap_err().code(),
        "checkpoint_untrusted"
    );
}

#[test]
fn ended_delegations_are_dropped() {
    let owner = key("o", 1);
    let publisher = key("p", 2);
    let grant =
        Certificate::delegate(&owner, &publisher.public(), None, (START, START + 9000)).unwrap();
    let first = certified(None, 2, &publisher, std::slice::from_ref(&grant)).unwrap();
    assert_eq!(first.owner(), &owner.public());

    let second = append(Some(&first), 2, &publisher).unwrap();
    assert_eq!(second.certificates(), [grant]);
    assert_eq!(
        append(Some(&second), 3, &publisher).unwrap_err().code(),
        "checkpoint_untrusted"
    );

    let third = append(Some(&second), 3, &owner).unwrap();
    assert_eq!(third.certificates(), []);
}

#[test]
fn a_clock_that_is_a_little_late_repeats_a_time_and_a_wrong_one_is_left_behind() {
    let owner = key("o", 1);
    let first = append(None, 2, &owner).unwrap();
    let at = |time| {
        let statement = Statement { time, ..version(3) };
        Log::append(Some(&first), &statement, &owner, &[])
            .unwrap()
            .newest()
            .unwrap()
            .time
    };
    let former = version(2).time;
    assert_eq!(at(former - SKEW), former);
    assert_eq!(at(former - SKEW - 1), former - SKEW - 1);
    assert_eq!(at(former + 1), former + 1);
}

#[test]
fn a_rotation_moves_the_owner_and_keeps_the_origin() {
    let old = key("o", 1);
    let new = key("o", 2);
    let rotation = Certificate::rotate(&old, &new, (version(1).time, version(3).time)).unwrap();
    let first = append(None, 0, &old).unwrap();

    let early = certified(Some(&first), 0, &new, std::slice::from_ref(&rotation));
    assert_eq!(early.unwrap_err().code(), "checkpoint_untrusted");

    let second = certified(Some(&first), 1, &new, std::slice::from_ref(&rotation)).unwrap();
    assert_eq!(
        (second.owner(), checkpoint(&second).origin.as_str()),
        (&new.public(), "o/words")
    );

    // In the time of overlap the old key still signs, afterwards it does not.
    let third = append(Some(&second), 3, &old).unwrap();
    assert_eq!(third.owner(), &new.public());
    assert_eq!(
        append(Some(&third), 4, &old).unwrap_err().code(),
        "checkpoint_untrusted"
    );

    let fourth = append(Some(&third), 4, &new).unwrap();
    assert_eq!(fourth.certificates(), [rotation]);
}

#[test]
fn a_rotation_may_be_attached_long_after_the_newest_version() {
    let old = key("o", 1);
    let new = key("o", 2);
    let times = (version(50).time, version(60).time);
    let rotation = Certificate::rotate(&old, &new, times).unwrap();
    for signed_at in [51, 200] {
        let mut log = log(3, &old);
        log.add_certificates(std::slice::from_ref(&rotation))
            .unwrap();
        log = Log::decode(&log.encode().unwrap()).unwrap();
        log = append(Some(&log), signed_at, &new).unwrap();
        log = append(Some(&log), signed_at + 1, &new).unwrap();
        assert_eq!((log.owner(), log.leaves().len()), (&new.public(), 5));
    }
}

#[test]
fn a_log_outlives_the_delegation_of_its_newest_version() {
    let owner = key("o", 1);
    let publisher = key("p", 2);
    let grant =
        Certificate::delegate(&owner, &publisher.public(), None, (START, START + 100)).unwrap();
    let renewed =
        Certificate::delegate(&owner, &publisher.public(), None, (START, START + 99_999)).unwrap();
    let mut log = certified(None, 0, &publisher, &[grant]).unwrap();
    log.add_certificates(std::slice::from_ref(&renewed))
        .unwrap();
    let next = append(Some(&log), 9, &publisher).unwrap();
    assert_eq!(next.certificates(), [renewed]);
}

#[test]
fn cosignatures_are_carried_until_the_next_version() {
    let owner = key("o", 1);
    let witness = of_kind("w", Kind::Cosignature, 9);
    let mut log = log(3, &owner);

    let line = cosign(log.note(), &witness, START);
    assert_eq!(log.add_cosignatures(&format!("{line}\n")).unwrap(), 1);
    assert_eq!(log.add_cosignatures(&log.note().to_string()).unwrap(), 0);
    let stored = Log::decode(&log.encode().unwrap()).unwrap();
    assert_eq!(stored.note().signatures()[1..], [line]);

    // A new version has another text, which the witness has not signed.
    let next = append(Some(&stored), 3, &owner).unwrap();
    assert_eq!(next.note().signatures().len(), 1);
    let other = next.note().to_string();
    assert_eq!(log.add_cosignatures(&other).unwrap_err().code(), "options");
    assert_eq!(
        log.add_cosignatures("no signature").unwrap_err().code(),
        "malformed"
    );
}

#[test]
fn requests_to_witnesses_have_the_format_of_the_specification() {
    let log = log(5, &key("o", 1));
    assert_eq!(
        log.witness_request(0).unwrap(),
        format!("old 0\n\n{}", log.note())
    );
    let request = log.witness_request(3).unwrap();
    let (head, note) = request.split_once("\n\n").unwrap();
    assert_eq!(Note::parse(note.as_bytes()).unwrap(), *log.note());

    // From three to five leaves: two nodes of the old tree, one beside it, and the fifth leaf.
    assert_eq!(head.lines().next(), Some("old 3"));
    assert_eq!(head.lines().count(), 5);
    assert!(head.lines().skip(1).all(|line| line.len() == 44));
    assert_eq!(log.witness_request(6).unwrap_err().code(), "options");
}

#[test]
fn copies_of_one_log_differ_nowhere_and_two_logs_at_the_fork() {
    let owner = key("o", 1);
    let short = log(3, &owner);
    let long = log(6, &owner);
    assert_eq!(
        (short.first_difference(&long), long.first_difference(&short)),
        (None, None)
    );
    let fork = append(Some(&short), 9, &owner).unwrap();
    assert_eq!(
        (fork.first_difference(&long), long.first_difference(&fork)),
        (Some(3), Some(3))
    );
}

#[test]
fn names_of_databases_with_odd_bytes() {
    let statement = Statement {
        database: "a b/ü".into(),
        ..version(0)
    };
    let log = Log::append(None, &statement, &key("o", 1), &[]).unwrap();
    assert_eq!(checkpoint(&log).origin.as_str(), "o/a%20b%2F%C3%BC");
    assert_eq!(Log::decode(&log.encode().unwrap()).unwrap(), log);

    // The name is not too long for a leaf, but its origin is.
    let long = Statement {
        database: "x".repeat(255),
        ..version(0)
    };
    assert_eq!(
        Log::append(None, &long, &key("o", 1), &[])
            .unwrap_err()
            .code(),
        "malformed"
    );

    let leaf = Leaf {
        database: DATABASE.into(),
        ..log.newest().unwrap().clone()
    };
    assert_ne!(leaf.hash().unwrap(), log.newest().unwrap().hash().unwrap());
}
