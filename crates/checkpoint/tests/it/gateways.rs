//! Keys of gateways, to which the leaves of a log commit.

use papir_checkpoint::{
    Certificate, Error, GatewayKeys, Log, MAX_CERTIFICATES, Policy, Proof, Result, SKEW,
    SigningKey, VerifyingKey,
};

use crate::support::{DATABASE, START, append, certified, key, log};

/// Time of the first version with keys of gateways: the second one of a log.
const BEGIN: u64 = START + 3600;
/// The last second of the keys of gateways.
const END: u64 = BEGIN + 10 * 3600;

/// Returns a certificate of one key of a gateway.
fn gateways(signer: &SigningKey, hash: u8) -> Certificate {
    of_database(signer, hash, None)
}

fn of_database(signer: &SigningKey, hash: u8, database: Option<&str>) -> Certificate {
    let keys = GatewayKeys::new(database, &[[hash; 32]]).unwrap();
    Certificate::gateways(signer, &keys, (BEGIN, END)).unwrap()
}

/// Returns a log of two versions, of which the second commits to a key of a gateway.
fn committed(owner: &SigningKey, hash: u8) -> Log {
    let first = log(1, owner);
    certified(Some(&first), 1, owner, &[gateways(owner, hash)]).unwrap()
}

/// Returns the first byte of the only key of gateways that a client of this owner accepts.
fn accepted(proof: &Proof, owner: &VerifyingKey, now: u64) -> Result<u8> {
    let keys = Policy::new(owner, DATABASE, now).gateway_keys(proof)?;
    assert_eq!(keys.keys().len(), 1);
    Ok(keys.keys()[0][0])
}

fn refusal(proof: &Proof, owner: &VerifyingKey, now: u64) -> String {
    let error = accepted(proof, owner, now).unwrap_err();
    assert_eq!(error.code(), "checkpoint_gateway_keys", "{error}");
    error.to_string()
}

#[test]
fn a_leaf_commits_to_keys_until_they_are_replaced_or_end() {
    let owner = key("o", 1);
    let public = owner.public();
    let without = log(1, &owner);
    let error = accepted(&without.proof().unwrap(), &public, START).unwrap_err();
    assert_eq!(error.code(), "checkpoint_no_gateway_keys", "{error}");

    let first = committed(&owner, 7);
    assert_eq!(Log::decode(&first.encode().unwrap()).unwrap(), first);
    let proof = first.proof().unwrap();
    let again = Proof::parse(proof.encode().unwrap().as_bytes()).unwrap();
    assert_eq!(again, proof);
    assert_eq!(accepted(&again, &public, BEGIN).unwrap(), 7);

    // A version of new data keeps the keys, and one signing replaces them.
    let kept = append(Some(&first), 2, &owner).unwrap();
    let commitment = first.newest().unwrap().gateways;
    assert_eq!(kept.newest().unwrap().gateways, commitment);
    let replaced = certified(Some(&kept), 3, &owner, &[gateways(&owner, 8)]).unwrap();
    let proof = replaced.proof().unwrap();
    assert_eq!(accepted(&proof, &public, BEGIN).unwrap(), 8);
    assert_eq!(proof.certificates.len(), 1, "the former one is dropped");

    // Data does not wait for new keys: without them, the leaf commits to none.
    let ended = append(Some(&replaced), 12, &owner).unwrap();
    assert_eq!(ended.newest().unwrap().gateways, None);
    assert!(ended.certificates().is_empty());
}

#[test]
fn a_service_that_shows_other_keys_is_noticed() {
    let owner = key("o", 1);
    let public = owner.public();
    let one = committed(&owner, 7);
    let other = committed(&owner, 8);
    assert_eq!(one.first_difference(&other), Some(1));

    // The owner has signed the other certificate, too, but the leaf does not commit to it.
    let mut swapped = one.proof().unwrap();
    swapped.certificates = other.certificates().to_vec();
    let text = refusal(&swapped, &public, BEGIN);
    assert!(text.contains("not shown"), "{text}");

    let mut both = one.proof().unwrap();
    both.certificates = [other.certificates(), one.certificates()].concat();
    assert_eq!(accepted(&both, &public, BEGIN).unwrap(), 7);

    // Without the commitment it is another leaf, which the owner has not signed.
    let mut bare = one.proof().unwrap();
    bare.leaf.gateways = None;
    let error = accepted(&bare, &public, BEGIN).unwrap_err();
    assert_eq!(error.code(), "checkpoint_proof", "{error}");
}

#[test]
fn keys_count_between_their_times_only() {
    let owner = key("o", 1);
    let public = owner.public();
    let proof = committed(&owner, 7).proof().unwrap();
    for now in [BEGIN - SKEW, BEGIN, END] {
        assert_eq!(accepted(&proof, &public, now).unwrap(), 7, "{now}");
    }
    for now in [BEGIN - SKEW - 1, END + 1] {
        let text = refusal(&proof, &public, now);
        let expected = format!("expected a certificate for {now}");
        assert!(text.contains(&expected), "{text}");
    }
}

#[test]
fn publishers_name_keys_of_their_databases_only() {
    let owner = key("o", 1);
    let publisher = key("p", 2);
    let first = log(1, &owner);
    let grant = |database| {
        Certificate::delegate(&owner, &publisher.public(), Some(database), (BEGIN, END)).unwrap()
    };

    let certificates = [grant(DATABASE), gateways(&publisher, 7)];
    let signed = certified(Some(&first), 1, &publisher, &certificates).unwrap();
    let proof = signed.proof().unwrap();
    assert_eq!(accepted(&proof, &owner.public(), BEGIN).unwrap(), 7);

    for bad in [
        vec![gateways(&publisher, 7)],
        vec![grant("numbers"), gateways(&publisher, 7)],
        vec![of_database(&owner, 7, Some("numbers"))],
    ] {
        let error = certified(Some(&first), 1, &owner, &bad).unwrap_err();
        assert_eq!(error.code(), "checkpoint_gateway_keys", "{error}");
    }
    let own = [of_database(&owner, 7, Some(DATABASE))];
    certified(Some(&first), 1, &owner, &own).unwrap();
}

#[test]
fn keys_outlive_the_key_that_signed_them_only_in_an_overlap() {
    let owner = key("o", 1);
    let next = key("o", 2);
    let first = committed(&owner, 7);
    let rotation = Certificate::rotate(&owner, &next, (BEGIN, START + 3 * 3600)).unwrap();

    let second = certified(Some(&first), 2, &next, &[rotation]).unwrap();
    let proof = second.proof().unwrap();
    assert_eq!(accepted(&proof, &next.public(), BEGIN).unwrap(), 7);
    let text = refusal(&proof, &next.public(), START + 3 * 3600 + 1);
    assert!(text.contains("expected a signature under"), "{text}");

    // The next version commits to none, since clients would refuse them.
    let third = append(Some(&second), 4, &next).unwrap();
    assert_eq!(third.newest().unwrap().gateways, None);
    let renewed = certified(Some(&third), 5, &next, &[gateways(&next, 8)]).unwrap();
    let proof = renewed.proof().unwrap();
    assert_eq!(accepted(&proof, &owner.public(), BEGIN).unwrap(), 8);
}

#[test]
fn certificates_that_no_leaf_would_commit_to_are_refused() {
    let owner = key("o", 1);
    let mut first = committed(&owner, 7);
    let two = [gateways(&owner, 8), gateways(&owner, 9)];
    let error = certified(Some(&first), 2, &owner, &two).unwrap_err();
    assert!(matches!(error, Error::Options { .. }), "{error}");

    let error = first.add_certificates(&two[..1]).unwrap_err();
    assert!(matches!(error, Error::Options { .. }), "{error}");
    first.add_certificates(&[gateways(&owner, 7)]).unwrap();
    assert_eq!(first.certificates().len(), 1);
}

#[test]
fn keys_are_replaced_also_in_a_log_with_the_most_certificates() {
    let owner = key("o", 1);
    let mut certificates: Vec<Certificate> = (2..=MAX_CERTIFICATES as u8)
        .map(|seed| {
            let publisher = key("p", seed).public();
            Certificate::delegate(&owner, &publisher, None, (BEGIN, END)).unwrap()
        })
        .collect();
    certificates.push(gateways(&owner, 7));

    let first = certified(Some(&log(1, &owner)), 1, &owner, &certificates).unwrap();
    assert_eq!(first.certificates().len(), MAX_CERTIFICATES);
    let second = certified(Some(&first), 2, &owner, &[gateways(&owner, 8)]).unwrap();
    assert_eq!(second.certificates().len(), MAX_CERTIFICATES);
}
