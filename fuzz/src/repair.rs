//! Repairs checksums and lengths so that mutated inputs reach the parser.

use papir_core::envelope::{self, Header};

/// Bytes of the checksum at the end of envelopes and bundles.
const CHECKSUM: usize = 8;

/// Replaces the last 8 bytes by the checksum of those before, as in envelopes and bundles.
pub fn tail_sum(bytes: &[u8]) -> Vec<u8> {
    let body = &bytes[..bytes.len().saturating_sub(CHECKSUM)];
    [body, &blake3::hash(body).as_bytes()[..CHECKSUM]].concat()
}

/// A payload in a valid envelope.
pub fn seal(header: Header, payload: &[u8]) -> Vec<u8> {
    envelope::seal(&header, payload)
}

/// The payload of a valid envelope.
pub fn payload(sealed: &[u8]) -> Vec<u8> {
    let end = sealed.len() - CHECKSUM;
    sealed[envelope::OVERHEAD - CHECKSUM..end].to_vec()
}

/// A snapshot file with repaired lengths and checksums of table and header.
pub fn snapshot(bytes: &[u8]) -> Vec<u8> {
    let mut file = bytes.to_vec();
    if file.len() < 64 {
        return file;
    }

    // The table is within the file, so that its hash can be taken.
    let length = file.len() as u64;
    let mut offset = [0; 8];
    offset.copy_from_slice(&file[16..24]);
    let offset = u64::from_le_bytes(offset).min(length);

    file[16..24].copy_from_slice(&offset.to_le_bytes());
    file[24..32].copy_from_slice(&(length - offset).to_le_bytes());
    file[32..40].copy_from_slice(&length.to_le_bytes());

    // The table first: the header, which is hashed last, has its hash.
    let table = *blake3::hash(&file[offset as usize..]).as_bytes();
    file[40..56].copy_from_slice(&table[..16]);

    let header = *blake3::hash(&file[..56]).as_bytes();
    file[56..64].copy_from_slice(&header[..8]);
    file
}

/// A manifest with this body and its hash.
pub fn manifest(body: &str) -> Vec<u8> {
    format!(
        r#"{{"manifest":{body},"blake3":"{}"}}"#,
        blake3::hash(body.as_bytes()).to_hex()
    )
    .into_bytes()
}
