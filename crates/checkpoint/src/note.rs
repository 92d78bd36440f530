//! Signed notes (C2SP signed-note).
//!
//! ```text
//! text, which ends with a newline
//! (an empty line)
//! — NAME base64(id of the key (4) ‖ signature)
//! …
//! ```

use std::fmt;

use crate::base64;
use crate::error::{Error, Result};
use crate::key::{SigningKey, VerifyingKey};
use crate::name::KeyName;

/// Longest note in bytes: 256 KiB.
pub const MAX_NOTE_BYTES: usize = 1 << 18;
/// Maximum number of signatures of a note.
pub const MAX_SIGNATURES: usize = 64;
/// Start of a signature line: an em dash and a space.
const DASH: &str = "\u{2014} ";

/// A signed note: a text and signature lines, which need not be valid.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Note {
    text: String,
    signatures: Vec<NoteSignature>,
}

/// A signature line of a note.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoteSignature {
    /// The key's name.
    pub name: KeyName,
    /// The key's id.
    pub id: [u8; 4],
    /// The signature, in the format of the key's type.
    pub signature: Vec<u8>,
}

impl Note {
    /// A note without signatures.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`] for a text that is empty, lacks a final newline or contains
    /// other control characters; [`papir_core::Error::OutOfBounds`] for more than
    /// [`MAX_NOTE_BYTES`].
    pub fn new(text: String) -> Result<Self> {
        check_text(&text)?;
        if !text.ends_with('\n') || text == "\n" {
            let found = "a text without a final newline";
            return Err(Error::malformed("a note", found, "lines of text"));
        }
        Ok(Self {
            text,
            signatures: Vec::new(),
        })
    }

    /// Parses a note with at least one signature line. Does not verify signatures. Allocates at
    /// most a few times the length of `bytes`.
    ///
    /// # Errors
    /// [`papir_core::Error::Malformed`], or [`papir_core::Error::OutOfBounds`] for more than
    /// [`MAX_NOTE_BYTES`] bytes or [`MAX_SIGNATURES`] signatures.
    pub fn parse(bytes: &[u8]) -> Result<Self> {
        let Ok(note) = std::str::from_utf8(bytes) else {
            let found = "bytes that are not UTF-8";
            return Err(Error::malformed("a note", found, "text"));
        };
        check_text(note)?;

        // The text may contain empty lines: the last one separates it from the signatures.
        let parts = note
            .rsplit_once("\n\n")
            .filter(|(_, lines)| !lines.is_empty());
        let Some((text, lines)) = parts else {
            let expected = "signatures after an empty line";
            return Err(Error::malformed("a note", "no empty line", expected));
        };
        let Some(lines) = lines.strip_suffix('\n') else {
            return Err(bad_line("a line without its end"));
        };

        let mut parsed = Self::new(format!("{text}\n"))?;
        for line in lines.split('\n') {
            parsed.add(NoteSignature::parse(line)?)?;
        }
        Ok(parsed)
    }

    /// The signed text, with its final newline.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The signature lines.
    pub fn signatures(&self) -> &[NoteSignature] {
        &self.signatures
    }

    /// Adds a signature line, unless the note has it already. Does not verify the signature.
    ///
    /// # Errors
    /// [`papir_core::Error::OutOfBounds`] for more than [`MAX_SIGNATURES`] lines.
    pub fn add(&mut self, signature: NoteSignature) -> Result<()> {
        if self.signatures.contains(&signature) {
            return Ok(());
        }
        if self.signatures.len() == MAX_SIGNATURES {
            let what = "the number of signatures";
            let found = MAX_SIGNATURES as u64 + 1;
            let expected = format!("at most {MAX_SIGNATURES}");
            return Err(papir_core::Error::out_of_bounds(what, found, expected).into());
        }
        self.signatures.push(signature);
        Ok(())
    }

    /// Signs the text under `name`, which may differ from the key's own: a checkpoint is signed
    /// under its origin.
    ///
    /// # Errors
    /// The errors of [`Note::add`].
    pub fn sign(&mut self, key: &SigningKey, name: &KeyName) -> Result<()> {
        // The id covers the name under which a key signs.
        let id = key.public().renamed(name).id();
        let signature = key.sign(self.text.as_bytes()).to_vec();
        self.add(NoteSignature {
            name: name.clone(),
            id,
            signature,
        })
    }

    /// Returns true if the note has a valid signature of this key over its text.
    ///
    /// # Errors
    /// [`Error::BadSignature`] if a line has the key's name and id, but an invalid signature.
    pub fn is_signed_by(&self, key: &VerifyingKey) -> Result<bool> {
        // To the last line: one valid signature does not excuse an invalid one of the same key.
        let mut signed = false;
        for line in self.lines_of(key) {
            if !key.verifies(self.text.as_bytes(), &line.signature) {
                return Err(Error::BadSignature {
                    key: key.to_string(),
                });
            }
            signed = true;
        }
        Ok(signed)
    }

    /// The signature lines with the name and id of a key.
    pub(crate) fn lines_of(&self, key: &VerifyingKey) -> impl Iterator<Item = &NoteSignature> {
        let id = key.id();
        self.signatures
            .iter()
            .filter(move |line| line.id == id && line.name == *key.name())
    }

    /// Names and ids of the first eight signature lines, for messages; `no key` without lines.
    pub fn signers(&self) -> String {
        let names: Vec<String> = self
            .signatures
            .iter()
            .take(8)
            .map(NoteSignature::key)
            .collect();
        if names.is_empty() {
            "no key".to_owned()
        } else {
            names.join(", ")
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The text ends with a newline, so this one makes the empty line.
        writeln!(f, "{}", self.text)?;
        for line in &self.signatures {
            writeln!(f, "{line}")?;
        }
        Ok(())
    }
}

impl NoteSignature {
    /// Parses a signature line without its newline.
    fn parse(line: &str) -> Result<Self> {
        let Some(rest) = line.strip_prefix(DASH) else {
            return Err(bad_line("another beginning"));
        };
        let Some((name, signature)) = rest.split_once(' ') else {
            return Err(bad_line("one word"));
        };

        let bytes = base64::decode("a signature line", signature)?;
        let Some((id, signature)) = bytes.split_first_chunk::<4>() else {
            return Err(bad_line("a short signature"));
        };
        if signature.is_empty() {
            return Err(bad_line("an empty signature"));
        }

        Ok(Self {
            name: name.parse()?,
            id: *id,
            signature: signature.to_vec(),
        })
    }

    /// The key's name and id, `NAME+ID`.
    pub fn key(&self) -> String {
        let id: String = self.id.iter().map(|byte| format!("{byte:02x}")).collect();
        format!("{}+{id}", self.name)
    }
}

impl fmt::Display for NoteSignature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = [&self.id[..], &self.signature].concat();
        write!(f, "{DASH}{} {}", self.name, base64::encode(&bytes))
    }
}

/// Checks the length of a text, and that it has no ASCII control characters except newlines.
fn check_text(text: &str) -> Result<()> {
    if text.len() > MAX_NOTE_BYTES {
        let what = "the length of a note";
        let found = text.len() as u64;
        let expected = format!("at most {MAX_NOTE_BYTES}");
        return Err(papir_core::Error::out_of_bounds(what, found, expected).into());
    }

    let control = text.bytes().find(|&byte| byte < b' ' && byte != b'\n');
    if let Some(byte) = control {
        let found = format!("the byte 0x{byte:02x}");
        return Err(Error::malformed("a note", found, "text"));
    }
    Ok(())
}

fn bad_line(found: &str) -> Error {
    Error::malformed("a signature line", found, "an em dash, a name and base64")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::testing::key;

    // Keys, text and signatures are those in the documentation and tests of
    // golang.org/x/mod/sumdb/note.
    const PETER: &str = "PeterNeumann+c74f20a3+ARpc2QcUPDhMQegwxbzhKqiBfsVkmqq/LDE4izWy10TW";
    const PETER_SECRET: &str =
        "PRIVATE+KEY+PeterNeumann+c74f20a3+AYEKFALVFGyNhPJEMzD1QIDr+Y7hfZx09iUvxdXHKDFz";
    const ENOCH: &str = "EnochRoot+af0cfe78+ATtqJ7zOtqQtYqOo0CpvDXNlMhV3HeJDpjrASKGLWdop";
    const TEXT: &str = "If you think cryptography is the answer to your problem,\nthen you don't know what your problem is.\n";
    const PETER_LINE: &str = "— PeterNeumann x08go/ZJkuBS9UG/SffcvIAQxVBtiFupLLr8pAcElZInNIuGUgYN1FFYC2pZSNXgKvqfqdngotpRZb6KE6RyyBwJnAM=\n";
    const ENOCH_LINE: &str = "— EnochRoot rwz+eBzmZa0SO3NbfRGzPCpDckykFXSdeX+MNtCOXm2/5n2tiOHp+vAF1aGrQ5ovTG01oOTGwnWLox33WWd1RvMc+QQ=\n";

    fn known() -> String {
        format!("{TEXT}\n{PETER_LINE}{ENOCH_LINE}")
    }

    #[test]
    fn known_notes_verify_and_are_signed_byte_for_byte() {
        let note = Note::parse(known().as_bytes()).unwrap();
        assert_eq!((note.text(), note.to_string()), (TEXT, known()));
        for key in [PETER, ENOCH] {
            assert!(note.is_signed_by(&key.parse().unwrap()).unwrap());
        }
        assert!(!note.is_signed_by(&key("PeterNeumann", 1).public()).unwrap());

        let secret: SigningKey = PETER_SECRET.parse().unwrap();
        let mut signed = Note::new(TEXT.to_owned()).unwrap();
        signed.sign(&secret, secret.public().name()).unwrap();
        assert_eq!(signed.to_string(), format!("{TEXT}\n{PETER_LINE}"));

        // The example of the specification.
        let key = "example.com/foo+530d903a+AekyeRrm56hApGFkyQR4ZCbV54Id2LKaANYcrnKv3U2k";
        let note = "This is an example message.\n\n— example.com/foo Uw2QOkn8srV1yJGh2VYRlL1Tnagv1YEq6TfXppzi2ONncAlTgK7Ztg1ERYNZXsYjOBH3mFXmRKuwHjG1Yu72IneyaQM=\n";
        assert!(
            Note::parse(note.as_bytes())
                .unwrap()
                .is_signed_by(&key.parse().unwrap())
                .unwrap()
        );
    }

    #[test]
    fn changed_texts_and_signatures_are_refused() {
        let other = known().replacen("answer", "Answer", 1);
        let note = Note::parse(other.as_bytes()).unwrap();
        let error = note.is_signed_by(&PETER.parse().unwrap()).unwrap_err();
        assert_eq!(error.code(), "checkpoint_signature");

        // One valid signature does not excuse an invalid one of the same key.
        let mut twice = Note::parse(known().as_bytes()).unwrap();
        let mut line = twice.signatures()[0].clone();
        line.signature[0] ^= 1;
        twice.add(line).unwrap();
        assert!(twice.is_signed_by(&PETER.parse().unwrap()).is_err());
        assert!(twice.is_signed_by(&ENOCH.parse().unwrap()).unwrap());
    }

    #[test]
    fn malformed_notes_are_refused() {
        for bad in [
            String::new(),
            TEXT.to_owned(),
            format!("{TEXT}{PETER_LINE}"),
            format!("{TEXT}\n"),
            format!("\n\n{PETER_LINE}"),
            format!("{TEXT}\n{}", PETER_LINE.trim_end()),
            format!("{TEXT}\n{PETER_LINE}\n"),
            known().replace("know", "kn\tow"),
            known().replace("know", "kn\row"),
            known().replace("— P", "- P"),
            known().replace("PeterNeumann ", "Peter+Neumann "),
            known().replace("Peter", "Peter "),
            known().replace("x08g", "x08"),
            format!("{TEXT}\n— a AAAA\n"),
            format!("{TEXT}\n— a AAAAAA==\n"),
            format!("{}\n{PETER_LINE}", "x\n".repeat(MAX_NOTE_BYTES / 2)),
        ] {
            let error = Note::parse(bad.as_bytes()).unwrap_err();
            assert!(
                ["malformed", "out_of_bounds"].contains(&error.code()),
                "{error}: {bad:.80}"
            );
        }

        assert!(Note::parse(b"\xff\n\n").is_err());
    }

    #[test]
    fn the_last_empty_line_ends_the_text_and_signatures_are_limited() {
        let note = Note::parse(format!("a\n\nb\n\n{PETER_LINE}").as_bytes()).unwrap();
        assert_eq!(note.text(), "a\n\nb\n");

        let mut note = Note::new("a\n".to_owned()).unwrap();
        for seed in 0..MAX_SIGNATURES as u8 {
            let key = key("k", seed);
            note.sign(&key, key.public().name()).unwrap();
        }
        assert_eq!(Note::parse(note.to_string().as_bytes()).unwrap(), note);

        let first = key("k", 0);
        let more = key("k", 200);
        note.sign(&first, first.public().name()).unwrap();
        assert_eq!(
            note.sign(&more, more.public().name()).unwrap_err().code(),
            "out_of_bounds"
        );
    }
}
