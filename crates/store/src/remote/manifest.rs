//! Manifest of a pushed snapshot, stored as JSON.

use blake3::Hash;
use papir_core::{Error as CoreError, Result as CoreResult, Version};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::file::formats::MANIFEST;

/// Maximum length of a manifest in bytes.
pub(super) const MAX_BYTES: u64 = 16 << 20;
/// Maximum number of parts, enough for 2 TiB at the default part length. Their names fit in
/// [`MAX_BYTES`].
const MAX_PARTS: usize = 1 << 17;
/// Default length of a part: 16 MiB.
pub(super) const PART_BYTES: u64 = 16 << 20;
/// Bounds of the part length. A few parts are held in memory at a time.
pub(super) const PART_BOUNDS: std::ops::RangeInclusive<u64> = 1 << 12..=64 << 20;
const WHAT: &str = "a manifest";

/// A snapshot as a list of parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The database's version.
    pub version: Version,
    /// The version of papir that pushed it.
    pub papir: String,
    /// The snapshot's length in bytes.
    pub bytes: u64,
    /// BLAKE3 of the whole snapshot.
    pub blake3: Hash,
    /// Length of each part except the last, in bytes.
    pub part_bytes: u64,
    /// BLAKE3 of each part, in order.
    pub parts: Vec<Hash>,
}

/// The manifest's JSON text and its BLAKE3.
#[derive(Deserialize, Serialize)]
struct Checksummed<'a> {
    #[serde(borrow)]
    manifest: &'a RawValue,
    blake3: String,
}

/// The only field that every format has.
#[derive(Deserialize)]
struct Numbered {
    format_version: u32,
}

#[derive(Deserialize, Serialize)]
struct Body {
    format_version: u32,
    version: String,
    papir: String,
    bytes: u64,
    blake3: String,
    part_bytes: u64,
    parts: Vec<String>,
}

impl Manifest {
    /// The byte range of part `index`.
    pub(super) fn range(&self, index: usize) -> std::ops::Range<u64> {
        let start = self.part_bytes * index as u64;
        start..(start + self.part_bytes).min(self.bytes)
    }

    /// Length of part `index` in bytes.
    pub(super) fn part_length(&self, index: usize) -> u64 {
        let range = self.range(index);
        range.end - range.start
    }

    /// Encodes the manifest as JSON, which can represent every field.
    pub(super) fn encode(&self) -> CoreResult<Vec<u8>> {
        let failed = malformed("values that JSON can represent");
        let body = Body {
            format_version: MANIFEST.written,
            version: self.version.to_string(),
            papir: self.papir.clone(),
            bytes: self.bytes,
            blake3: hex(&self.blake3),
            part_bytes: self.part_bytes,
            parts: self.parts.iter().map(hex).collect(),
        };

        // The checksum is of the text as written: a reader need not encode the fields again.
        let manifest = serde_json::value::to_raw_value(&body).map_err(&failed)?;
        let blake3 = hex(&blake3::hash(manifest.get().as_bytes()));
        serde_json::to_vec(&Checksummed {
            manifest: &manifest,
            blake3,
        })
        .map_err(failed)
    }

    /// Parses and checks a manifest.
    ///
    /// # Errors
    /// [`CoreError::Malformed`], [`CoreError::Format`], [`CoreError::Checksum`],
    /// [`CoreError::OutOfBounds`] or [`CoreError::Length`].
    pub fn decode(json: &[u8]) -> CoreResult<Self> {
        let failed = malformed("a manifest's JSON");
        let checked: Checksummed<'_> = serde_json::from_slice(json).map_err(&failed)?;
        if blake3::hash(checked.manifest.get().as_bytes()) != hash(&checked.blake3)? {
            return Err(CoreError::Checksum {
                what: WHAT.to_owned(),
            });
        }

        // Checked before the other fields are parsed: another format may have other fields.
        let numbered: Numbered = serde_json::from_str(checked.manifest.get()).map_err(&failed)?;
        MANIFEST.check(numbered.format_version)?;
        let body: Body = serde_json::from_str(checked.manifest.get()).map_err(&failed)?;

        let manifest = Self {
            version: body.version.parse()?,
            papir: body.papir,
            bytes: body.bytes,
            blake3: hash(&body.blake3)?,
            part_bytes: body.part_bytes,
            parts: body
                .parts
                .iter()
                .map(|part| hash(part))
                .collect::<CoreResult<_>>()?,
        };
        manifest.check()?;
        Ok(manifest)
    }

    /// Checks that the lengths agree with the number of parts and stay within the bounds.
    fn check(&self) -> CoreResult<()> {
        check_part_bytes(self.part_bytes)?;
        if self.parts.len() > MAX_PARTS {
            let found = self.parts.len() as u64;
            let expected = format!("at most {MAX_PARTS}");
            return Err(CoreError::out_of_bounds(
                "the number of parts",
                found,
                expected,
            ));
        }

        // Ranges of parts follow from the lengths, and index the file that is written.
        let expected = self.bytes.div_ceil(self.part_bytes);
        let found = self.parts.len() as u64;
        if found != expected || found == 0 {
            return Err(CoreError::Length {
                what: "the list of parts",
                found,
                expected: expected.max(1),
            });
        }
        Ok(())
    }
}

/// Checks the length of a part against [`PART_BOUNDS`].
pub(super) fn check_part_bytes(found: u64) -> CoreResult<()> {
    if PART_BOUNDS.contains(&found) {
        return Ok(());
    }

    let expected = format!("{} to {}", PART_BOUNDS.start(), PART_BOUNDS.end());
    Err(CoreError::out_of_bounds(
        "the length of a part in bytes",
        found,
        expected,
    ))
}

/// Checks that a snapshot of `bytes` bytes has at most [`MAX_PARTS`] parts.
pub(super) fn check_bytes(bytes: u64, part_bytes: u64) -> CoreResult<()> {
    check_part_bytes(part_bytes)?;
    let found = bytes.div_ceil(part_bytes);
    if found <= MAX_PARTS as u64 {
        return Ok(());
    }

    Err(CoreError::out_of_bounds(
        "the number of parts",
        found,
        format!("at most {MAX_PARTS}"),
    ))
}

/// The error for JSON that cannot be written or read.
fn malformed(expected: &'static str) -> impl Fn(serde_json::Error) -> CoreError {
    move |error| CoreError::malformed(WHAT, error, expected)
}

fn hex(hash: &Hash) -> String {
    hash.to_hex().to_string()
}

/// Parses 64 hexadecimal digits. Other text is refused, since hashes become names of objects.
fn hash(text: &str) -> CoreResult<Hash> {
    Hash::from_hex(text)
        .map_err(|_| CoreError::malformed("a BLAKE3", text, "64 hexadecimal digits"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn sample() -> Manifest {
        Manifest {
            version: Version([1, 2, 3, 4, 5, 6, 7, 8]),
            papir: "0.1.0".to_owned(),
            bytes: 10_000,
            blake3: blake3::hash(b"whole"),
            part_bytes: 4096,
            parts: [&b"a"[..], b"b", b"c"].map(blake3::hash).to_vec(),
        }
    }

    /// A manifest with any body and a correct checksum.
    fn with_checksum(body: &str) -> Vec<u8> {
        let sum = blake3::hash(body.as_bytes()).to_hex();
        format!(r#"{{"manifest":{body},"blake3":"{sum}"}}"#).into_bytes()
    }

    fn body_of(manifest: &Manifest) -> String {
        let bytes = manifest.encode().unwrap();
        serde_json::from_slice::<Checksummed<'_>>(&bytes)
            .unwrap()
            .manifest
            .get()
            .to_owned()
    }

    #[test]
    fn golden_bytes() {
        let bytes = sample().encode().unwrap();
        let text = std::str::from_utf8(&bytes).unwrap();
        let start = r#"{"manifest":{"format_version":1,"version":"0102030405060708","papir":"0.1.0","bytes":10000,"blake3":"#;
        assert!(text.starts_with(start), "{text}");
        assert!(
            text.contains(r#","part_bytes":4096,"parts":["17762fddd969a453925d65717ac3eea2"#),
            "{text}"
        );

        assert_eq!(Manifest::decode(&bytes).unwrap(), sample());
        assert_eq!(sample().range(2), 8192..10_000);
    }

    #[test]
    fn every_truncation_and_every_flipped_bit_is_refused() {
        let bytes = sample().encode().unwrap();
        for length in 0..bytes.len() {
            assert!(
                Manifest::decode(&bytes[..length]).is_err(),
                "length {length}"
            );
        }

        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);

            // Bit 5 switches a hexadecimal digit to upper case, with the same meaning.
            let same = Manifest::decode(&damaged).is_ok_and(|manifest| manifest == sample());
            let case = bytes[bit / 8].is_ascii_alphabetic() && bit % 8 == 5;
            assert!(
                Manifest::decode(&damaged).is_err() || (same && case),
                "bit {bit}"
            );
        }
    }

    #[test]
    fn inconsistent_lengths_are_refused() {
        for (wrong, words) in [
            (
                Manifest {
                    bytes: 8192,
                    ..sample()
                },
                "the list of parts has 3",
            ),
            (
                Manifest {
                    bytes: 12_289,
                    ..sample()
                },
                "the list of parts has 3",
            ),
            (
                Manifest {
                    bytes: u64::MAX,
                    ..sample()
                },
                "the list of parts has 3",
            ),
            (
                Manifest {
                    bytes: 0,
                    parts: Vec::new(),
                    ..sample()
                },
                "the list of parts has 0",
            ),
            (
                Manifest {
                    part_bytes: 0,
                    ..sample()
                },
                "4096 to 67108864",
            ),
            (
                Manifest {
                    part_bytes: 1 << 40,
                    ..sample()
                },
                "4096 to 67108864",
            ),
        ] {
            let message = Manifest::decode(&wrong.encode().unwrap())
                .unwrap_err()
                .to_string();
            assert!(message.contains(words), "{message}");
        }

        assert!(check_bytes(MAX_PARTS as u64 * 4096, 4096).is_ok());
        assert!(check_bytes(MAX_PARTS as u64 * 4096 + 1, 4096).is_err());
    }

    #[test]
    fn part_names_other_than_hashes_are_refused() {
        let body = body_of(&sample());
        let first = blake3::hash(b"a").to_hex().to_string();
        for bad in [
            "../../../etc/passwd",
            "",
            &format!("{first}/x"),
            &first[1..],
        ] {
            let error = Manifest::decode(&with_checksum(&body.replace(&first, bad))).unwrap_err();
            assert!(
                error.to_string().contains("64 hexadecimal digits"),
                "{error}"
            );
        }

        let newer = with_checksum(&body.replace(r#""format_version":1"#, r#""format_version":2"#));
        assert!(
            Manifest::decode(&newer)
                .unwrap_err()
                .to_string()
                .contains("reads version 1; update papir")
        );
    }
}
