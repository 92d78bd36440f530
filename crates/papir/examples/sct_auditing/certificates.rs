//! Certificates, timestamps of logs, and hashes of Merkle tree leaves (RFC 6962).

use sha2::{Digest, Sha256};
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// Hash of a leaf of a log's Merkle tree.
pub(crate) type LeafHash = [u8; 32];

/// Prefix of the hash of a leaf, which separates leaves from inner nodes (section 2.1).
const LEAF_PREFIX: u8 = 0;
const VERSION_1: u8 = 0;
const TIMESTAMPED_ENTRY: u8 = 0;
const X509_ENTRY: u16 = 0;
/// Time of the first entry of the example's log, in milliseconds since 1970.
const FIRST_TIMESTAMP: u64 = 1_735_689_600_000;
const MINUTE: u64 = 60_000;

/// A certificate and the time from its signed certificate timestamp, at which the log promised to
/// include the certificate.
///
/// The signature is not part of an entry: a browser verifies it when it sees the certificate.
#[derive(Clone, Copy)]
pub(crate) struct TimestampedCertificate {
    /// The certificate in DER.
    certificate: &'static [u8],
    /// Milliseconds since 1970.
    timestamp: u64,
}

impl TimestampedCertificate {
    /// The certificate of the log's entry `number`. The certificates are the root certificates that
    /// Mozilla trusts. After the last one they are submitted again and get a later timestamp, which is
    /// another entry.
    pub(crate) fn of_entry(number: u64) -> Self {
        let position = number % TLS_SERVER_ROOT_CERTS.len() as u64;
        let certificate = &TLS_SERVER_ROOT_CERTS[position as usize];
        Self {
            certificate,
            timestamp: FIRST_TIMESTAMP + number * MINUTE,
        }
    }

    /// A certificate with a timestamp that no entry has: the log promised it, and did not keep the promise.
    pub(crate) fn never_included(number: u64) -> Self {
        let promised = Self::of_entry(number);
        Self {
            timestamp: promised.timestamp + 1,
            ..promised
        }
    }

    /// The hash by which a log finds the entry: SHA-256 of the prefix and the `MerkleTreeLeaf` (sections
    /// 2.1 and 3.4).
    pub(crate) fn leaf_hash(&self) -> LeafHash {
        Sha256::new()
            .chain_update([LEAF_PREFIX])
            .chain_update(self.merkle_tree_leaf())
            .finalize()
            .into()
    }

    /// The `MerkleTreeLeaf` of an entry with a certificate and no extensions. For a timestamp within the
    /// certificate itself it would hold the precertificate.
    fn merkle_tree_leaf(&self) -> Vec<u8> {
        let mut leaf = vec![VERSION_1, TIMESTAMPED_ENTRY];
        leaf.extend(self.timestamp.to_be_bytes());
        leaf.extend(X509_ENTRY.to_be_bytes());
        leaf.extend(&(self.certificate.len() as u32).to_be_bytes()[1..]);
        leaf.extend(self.certificate);
        leaf.extend(0u16.to_be_bytes());
        leaf
    }
}

/// Returns the key of an entry in the log's table: its hash in hexadecimal digits.
pub(crate) fn key(hash: &LeafHash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    /// SHA-256 of ISRG Root X1, as its owner publishes it.
    const FINGERPRINT: &str = "96bcec06264976f37460779acf28c5a7cfe8a3c0aae11a8ffcee05c0bddf08c6";
    /// Its leaf hash with the first timestamp, computed by another program from the RFC's definition.
    const EXPECTED: &str = "ac03c9d2679bc85c2d20a2268f297bb5e99c6c731dd0b29fb2371dc1d6ca50e4";

    #[test]
    fn leaf_hashes_of_real_certificates_are_as_defined() {
        let fingerprint =
            |certificate: &&[u8]| key(&Sha256::digest(certificate).into()) == FINGERPRINT;
        let found = TLS_SERVER_ROOT_CERTS
            .iter()
            .map(|one| one.as_ref())
            .find(fingerprint);
        let entry = |certificate| TimestampedCertificate {
            certificate,
            timestamp: FIRST_TIMESTAMP,
        };
        assert_eq!(
            found
                .map(|certificate| key(&entry(certificate).leaf_hash()))
                .as_deref(),
            Some(EXPECTED)
        );
    }

    #[test]
    fn entries_have_different_hashes() {
        let count = 3 * TLS_SERVER_ROOT_CERTS.len() as u64;
        let numbered = (0..count).map(TimestampedCertificate::of_entry);
        let missing = (0..count).map(TimestampedCertificate::never_included);
        let hashes: BTreeSet<LeafHash> =
            numbered.chain(missing).map(|one| one.leaf_hash()).collect();
        assert_eq!(hashes.len() as u64, 2 * count);
    }
}
