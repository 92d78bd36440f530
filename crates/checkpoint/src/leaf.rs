//! Leaves of a log, one for each version.
//!
//! ```text
//! bytes  field
//!     1  format: 2 with keys of gateways, 1 without
//!     1  kind of the base root: 1 the root of a verifiable database, 2 a hash of the content
//!     1  length n of the database's name
//!     n  the database's name
//!     8  sequence: the leaf's index in the log
//!     8  time of signing, seconds since 1970, UTC
//!    32  base root
//!     1  1 with a delta root, 0 without
//!  32/0  delta root
//!    32  BLAKE3 of the public part, the bundle that clients download
//!  32/0  hash of the certificate of gateways' keys, in format 2 only
//! ```
//! All numbers are little-endian.

use std::fmt;

use papir_core::Formats;
use papir_core::codec::{Reader, Writer};

use crate::error::{Error, Result};
use crate::merkle::{HASH_BYTES, Hash, leaf_hash};

/// Format numbers of leaves.
pub const LEAF_FORMATS: Formats = Formats {
    what: "a leaf of a log",
    oldest: 1,
    written: 2,
    renew: "sign the database again: `papir update`",
};
/// The format of a leaf without keys of gateways, which earlier versions of papir read.
const WITHOUT_GATEWAYS: u32 = 1;
/// The format of a leaf with keys of gateways.
const WITH_GATEWAYS: u32 = 2;
/// The name of a leaf in errors.
const WHAT: &str = "a leaf of a log";
/// Longest name of a database in bytes.
const MAX_NAME: usize = 255;

/// The base root: a hash that stands for the records of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The root of a verifiable database: clients check every record against it.
    Root(Hash),
    /// A hash of the prepared database. It identifies the content, but clients cannot check
    /// records against it.
    Content(Hash),
}

impl Base {
    /// The hash.
    pub fn hash(&self) -> &Hash {
        match self {
            Self::Root(hash) | Self::Content(hash) => hash,
        }
    }

    /// The base root with a leaf's byte for its kind.
    fn of(kind: u8, hash: Hash) -> Result<Self> {
        match kind {
            1 => Ok(Self::Root(hash)),
            2 => Ok(Self::Content(hash)),
            other => {
                let found = format!("the kind of root {other}");
                Err(Error::malformed(WHAT, found, "1 or 2"))
            }
        }
    }

    fn kind(&self) -> u8 {
        match self {
            Self::Root(_) => 1,
            Self::Content(_) => 2,
        }
    }
}

impl fmt::Display for Base {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self {
            Self::Root(_) => "root",
            Self::Content(_) => "content",
        };
        write!(f, "{kind} {}", hex(self.hash()))
    }
}

/// A leaf of a log: the owner's statement about one version of a database.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Leaf {
    /// The database's name.
    pub database: String,
    /// The leaf's index in the log.
    pub sequence: u64,
    /// Time of signing, seconds since 1970, UTC.
    pub time: u64,
    /// The base root, which stands for the records.
    pub base: Base,
    /// BLAKE3 hash of the public part of the delta, which commits to the delta's records; `None`
    /// without a delta.
    pub delta_root: Option<Hash>,
    /// BLAKE3 hash of the public part, as clients download it.
    pub public_part: Hash,
    /// The hash of the certificate of gateways' keys ([`crate::Certificate::commitment`]); `None`
    /// if the owner names no keys.
    pub gateways: Option<Hash>,
}

impl Leaf {
    /// Encodes the leaf in the format of this file.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for an empty name, or one of more than 255 bytes.
    pub fn encode(&self) -> Result<Vec<u8>> {
        // The length of the name is one byte of the leaf.
        let name = self.database.as_bytes();
        if name.is_empty() || name.len() > MAX_NAME {
            let what = "the length of a database's name";
            let found = name.len() as u64;
            let expected = format!("1 to {MAX_NAME}");
            return Err(papir_core::Error::out_of_bounds(what, found, expected).into());
        }

        let format = match self.gateways {
            Some(_) => WITH_GATEWAYS,
            None => WITHOUT_GATEWAYS,
        };
        let mut writer = Writer::new();
        writer
            .u8(format as u8)
            .u8(self.base.kind())
            .u8(name.len() as u8)
            .raw(name);
        writer
            .u64(self.sequence)
            .u64(self.time)
            .raw(self.base.hash());
        writer.u8(self.delta_root.is_some().into());
        writer
            .raw(self.delta_root.as_ref().map_or(&[], |root| &root[..]))
            .raw(&self.public_part)
            .raw(self.gateways.as_ref().map_or(&[], |hash| &hash[..]));
        Ok(writer.finish())
    }

    /// Decodes a leaf.
    ///
    /// # Errors
    /// [`papir_core::Error::Format`], [`papir_core::Error::Malformed`] for an unknown kind or flag
    /// or an empty or non-UTF-8 name, or [`papir_core::Error::Length`] for missing or additional
    /// bytes.
    pub fn decode(bytes: &[u8]) -> Result<Self> {
        let mut reader = Reader::new(WHAT, bytes);
        let format: u32 = reader.u8()?.into();
        LEAF_FORMATS.check(format)?;
        let kind = reader.u8()?;
        let length = reader.u8()?;
        let name = reader.raw(length.into())?;
        let database = match std::str::from_utf8(name) {
            Ok(database) if !database.is_empty() => database,
            _ => {
                let found = format!("the name {}", papir_core::shown_bytes(name));
                return Err(Error::malformed(WHAT, found, "UTF-8"));
            }
        };

        let sequence = reader.u64()?;
        let time = reader.u64()?;
        let base = Base::of(kind, reader.array::<HASH_BYTES>()?)?;
        // A leaf has one encoding, since its hash stands for it: other flags are refused.
        let delta_root = match reader.u8()? {
            0 => None,
            1 => Some(reader.array()?),
            other => {
                let found = format!("the flag {other}");
                return Err(Error::malformed(WHAT, found, "0 or 1"));
            }
        };
        let public_part = reader.array()?;
        let gateways = match format {
            WITH_GATEWAYS => Some(reader.array()?),
            _ => None,
        };
        reader.finish()?;

        Ok(Self {
            database: database.to_owned(),
            sequence,
            time,
            base,
            delta_root,
            public_part,
            gateways,
        })
    }

    /// The hash of the encoded leaf in the log's tree.
    ///
    /// # Errors
    /// The errors of [`Leaf::encode`].
    pub fn hash(&self) -> Result<Hash> {
        Ok(leaf_hash(&self.encode()?))
    }

    /// Checks that the hash of these bytes is the leaf's hash of the public part.
    ///
    /// # Errors
    /// [`Error::PublicPart`] if the hashes differ.
    pub fn check_public_part(&self, bytes: &[u8]) -> Result<()> {
        let found = public_part_hash(bytes);
        if found == self.public_part {
            return Ok(());
        }
        Err(Error::PublicPart {
            found: hex(&found),
            expected: hex(&self.public_part),
        })
    }

    /// Checks that the hash of `bytes`, a delta's public part, is the leaf's delta root. `None`
    /// stands for a version without a delta, whose leaf must not have a delta root.
    ///
    /// # Errors
    /// [`Error::Delta`] if the hashes differ, or only one side has a delta.
    pub fn check_delta(&self, bytes: Option<&[u8]>) -> Result<()> {
        let found = bytes.map(public_part_hash);
        if found == self.delta_root {
            return Ok(());
        }
        Err(Error::Delta {
            found: hex_or_none(found),
            expected: hex_or_none(self.delta_root),
        })
    }
}

/// A delta's hash in hexadecimal, for error messages; `none` without a delta.
fn hex_or_none(hash: Option<Hash>) -> String {
    match hash {
        Some(hash) => hex(&hash),
        None => "none".to_owned(),
    }
}

/// The hash of a public part in leaves: BLAKE3 of the bytes that clients download.
pub fn public_part_hash(bytes: &[u8]) -> Hash {
    *blake3::hash(bytes).as_bytes()
}

/// A hash as 64 hexadecimal digits.
pub fn hex(hash: &Hash) -> String {
    hash.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn leaf() -> Leaf {
        Leaf {
            database: "words".into(),
            sequence: 3,
            time: 258,
            base: Base::Content([7; 32]),
            delta_root: None,
            public_part: [9; 32],
            gateways: None,
        }
    }

    #[test]
    fn golden_bytes() {
        let golden = [
            &b"\x01\x02\x05words\x03\0\0\0\0\0\0\0\x02\x01\0\0\0\0\0\0"[..],
            &[7; 32],
            &[0],
            &[9; 32],
        ];
        assert_eq!(leaf().encode().unwrap(), golden.concat());

        let delta = Leaf {
            base: Base::Root([7; 32]),
            delta_root: Some([8; 32]),
            ..leaf()
        };
        let bytes = delta.encode().unwrap();
        assert_eq!((bytes[1], bytes[56], &bytes[57..89]), (1, 1, &[8; 32][..]));

        let gateways = Leaf {
            gateways: Some([6; 32]),
            ..leaf()
        };
        let golden = [&[2][..], &golden.concat()[1..], &[6; 32]].concat();
        assert_eq!(gateways.encode().unwrap(), golden);
        assert_ne!(gateways.hash().unwrap(), leaf().hash().unwrap());

        for leaf in [leaf(), delta, gateways] {
            let bytes = leaf.encode().unwrap();
            assert_eq!(Leaf::decode(&bytes).unwrap(), leaf);
            for length in 0..bytes.len() {
                assert!(Leaf::decode(&bytes[..length]).is_err(), "{length}");
            }
            assert!(Leaf::decode(&[&bytes[..], &[0]].concat()).is_err());
        }

        assert_eq!(
            hex(&leaf().hash().unwrap()),
            "a3ad086bc4e8c128b3826733f798173e3c999b460c93e830c8e7b2aee0489df6"
        );
    }

    #[test]
    fn malformed_leaves_are_refused() {
        let bytes = leaf().encode().unwrap();

        for (place, value) in [
            (0, 2),
            (0, 3),
            (0, 0),
            (1, 0),
            (1, 3),
            (2, 0),
            (3, 0xff),
            (56, 2),
        ] {
            let mut bad = bytes.clone();
            bad[place] = value;
            assert!(Leaf::decode(&bad).is_err(), "{place} {value}");
        }

        for name in ["", &"x".repeat(256)] {
            assert_eq!(
                Leaf {
                    database: name.into(),
                    ..leaf()
                }
                .encode()
                .unwrap_err()
                .code(),
                "out_of_bounds"
            );
        }
    }

    #[test]
    fn another_public_part_is_refused() {
        let named = Leaf {
            public_part: public_part_hash(b"public"),
            ..leaf()
        };
        named.check_public_part(b"public").unwrap();
        let error = named.check_public_part(b"Public").unwrap_err();
        assert_eq!(error.code(), "checkpoint_public_part");
    }

    #[test]
    fn another_delta_is_refused() {
        let changed = Leaf {
            delta_root: Some(public_part_hash(b"delta")),
            ..leaf()
        };

        changed.check_delta(Some(b"delta")).unwrap();
        leaf().check_delta(None).unwrap();

        // A leaf without a delta must refuse one: nothing in the log would vouch for its bytes.
        for (leaf, delta) in [
            (&changed, None),
            (&changed, Some(&b"Delta"[..])),
            (&leaf(), Some(b"delta")),
        ] {
            assert_eq!(
                leaf.check_delta(delta).unwrap_err().code(),
                "checkpoint_delta"
            );
        }
    }
}
