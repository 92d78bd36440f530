//! Checkpoints, the heads of logs (C2SP tlog-checkpoint).
//!
//! ```text
//! origin
//! size, decimal
//! root in base64
//! ```

use papir_core::decimal;

use crate::base64;
use crate::error::{Error, Result};
use crate::merkle::Hash;
use crate::name::KeyName;
use crate::note::Note;

/// A checkpoint: the size and root of a log's Merkle tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Checkpoint {
    /// The log's name, `NAME/DATABASE`: the owner's key name and the encoded database name.
    pub origin: KeyName,
    /// The number of leaves.
    pub size: u64,
    /// The root of the Merkle tree over all leaves.
    pub root: Hash,
}

impl Checkpoint {
    /// The checkpoint as an unsigned note.
    ///
    /// # Errors
    /// None in practice: a name has no control characters.
    pub fn to_note(&self) -> Result<Note> {
        let root = base64::encode(&self.root);
        Note::new(format!("{}\n{}\n{root}\n", self.origin, self.size))
    }

    /// Reads a checkpoint from the text of a note. Ignores extension lines after the first three,
    /// as the specification requires.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for a text without a final newline, fewer than three lines,
    /// an empty extension line, a size that is not decimal, or an invalid origin or root.
    pub fn of_text(text: &str) -> Result<Self> {
        let Some(lines) = text.strip_suffix('\n') else {
            return Err(bad("a text without its end"));
        };
        let mut lines = lines.split('\n');
        let (Some(origin), Some(size), Some(root)) = (lines.next(), lines.next(), lines.next())
        else {
            return Err(bad("fewer than three lines"));
        };
        // Extension lines are not empty (tlog-checkpoint).
        if lines.any(str::is_empty) {
            return Err(bad("an empty line"));
        }
        let Some(size) = decimal(size) else {
            return Err(bad("another size"));
        };

        Ok(Self {
            origin: origin.parse()?,
            size,
            root: base64::decode_array("the root of a checkpoint", root)?,
        })
    }
}

fn bad(found: &str) -> Error {
    Error::malformed("a checkpoint", found, "lines of origin, size and root")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    /// The example of the specification.
    const TEXT: &str =
        "example.com/behind-the-sofa\n20852163\nCsUYapGGPo4dkMgIAUqom/Xajj7h2fB2MPA3j2jxq2I=\n";

    #[test]
    fn the_example_is_read_and_written() {
        let checkpoint = Checkpoint::of_text(TEXT).unwrap();
        assert_eq!(
            (checkpoint.origin.as_str(), checkpoint.size),
            ("example.com/behind-the-sofa", 20_852_163)
        );
        assert_eq!(checkpoint.root[..4], [0x0a, 0xc5, 0x18, 0x6a]);
        assert_eq!(checkpoint.to_note().unwrap().text(), TEXT);
        assert_eq!(
            Checkpoint::of_text(&format!("{TEXT}extension\n")).unwrap(),
            checkpoint
        );

        let empty = Checkpoint {
            size: 0,
            ..checkpoint
        };
        assert_eq!(
            Checkpoint::of_text(empty.to_note().unwrap().text()).unwrap(),
            empty
        );
    }

    #[test]
    fn other_texts_are_refused() {
        for bad in [
            "",
            "o\n1\n",
            TEXT.trim_end(),
            &TEXT.replace("208", "0208"),
            &TEXT.replace("208", "+208"),
            &TEXT.replace("20852163", "18446744073709551616"),
            &TEXT.replace("20852163", ""),
            &TEXT.replace("q2I=", "q2I"),
            &TEXT.replace("q2I=", "q2J="),
            &TEXT.replace("example.com/", ""),
            &format!("{TEXT}\nextension\n"),
        ] {
            let parsed = Checkpoint::of_text(bad);
            assert!(parsed.is_err() || bad.starts_with("behind"), "{bad:?}");
        }
    }
}
