//! Hash of a prepared database's content.
//!
//! Checkpoints state it for databases without a root.

use crate::file::{
    CHECKPOINT, CHUNKS, DELTA, DELTA_CHANGES, METADATA, OWNER_KEYS, SEALED_OWNER_KEYS, Section,
};

/// BLAKE3 context of the hash.
const CONTEXT: &str = "papir 2026 database content v1";

/// Hashes name, length and BLAKE3 of every section that is served, in the order of the file. Left
/// out are the metadata, the owner's sections, the checkpoint itself, and the values of chunks,
/// which follow from the other sections.
pub(crate) fn content_hash(sections: &[Section]) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new_derive_key(CONTEXT);
    let left_out = [
        METADATA,
        DELTA,
        OWNER_KEYS,
        SEALED_OWNER_KEYS,
        DELTA_CHANGES,
        CHECKPOINT,
        CHUNKS,
    ];

    for section in sections {
        if left_out.contains(&section.name.as_str()) {
            continue;
        }
        // Names are at most 255 bytes long: their length fits one byte.
        hasher
            .update(&[section.name.len() as u8])
            .update(section.name.as_bytes());
        hasher
            .update(&section.bytes.to_le_bytes())
            .update(&section.hash);
    }
    *hasher.finalize().as_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(name: &str, byte: u8) -> Section {
        Section {
            name: name.to_owned(),
            offset: 4096,
            bytes: 7,
            hash: [byte; 32],
        }
    }

    #[test]
    fn only_what_is_served_counts() {
        let served = [section("keyword", 1), section("scheme.simple/database", 2)];
        let expected = content_hash(&served);
        let [keyword, database] = &served;

        let more = [
            section(METADATA, 3),
            keyword.clone(),
            section(OWNER_KEYS, 4),
            section(SEALED_OWNER_KEYS, 5),
            Section {
                offset: 8192,
                ..database.clone()
            },
            section(CHECKPOINT, 6),
            section(CHUNKS, 7),
            section(DELTA, 8),
            section(DELTA_CHANGES, 9),
        ];
        assert_eq!(content_hash(&more), expected);

        for other in [
            section("scheme.simple/database", 3),
            section("scheme.simple/database2", 2),
        ] {
            assert_ne!(content_hash(&[keyword.clone(), other]), expected);
        }

        assert_ne!(content_hash(&[database.clone(), keyword.clone()]), expected);
        let longer = Section {
            bytes: 8,
            ..database.clone()
        };
        assert_ne!(content_hash(&[keyword.clone(), longer]), expected);
    }
}
