//! Names the encoding of text that is not UTF-8.

use super::row::Fault;

/// Refuses text that is not UTF-8, or has NUL bytes, as UTF-16 has. `what` names the text.
pub(super) fn check_text(what: &str, bytes: &[u8]) -> Result<(), Fault> {
    match other_encoding(bytes) {
        None => Ok(()),
        Some(found) => Err(Fault::Reason(format!(
            "{what} is {found}: expected UTF-8 (`iconv` converts text)"
        ))),
    }
}

/// Returns whether a text begins with a byte order mark of UTF-16. No text in UTF-8 does.
pub fn has_utf_16_mark(text: &[u8]) -> bool {
    text.starts_with(&[0xff, 0xfe]) || text.starts_with(&[0xfe, 0xff])
}

/// The encoding of text in words; `None` for UTF-8 without NUL bytes.
pub(super) fn other_encoding(bytes: &[u8]) -> Option<String> {
    if has_utf_16_mark(bytes) {
        return Some("UTF-16".to_owned());
    }
    // Without a byte order mark, a letter of ASCII in UTF-16 has a NUL byte beside it.
    if bytes.contains(&0) {
        return Some("text with NUL bytes, perhaps UTF-16".to_owned());
    }

    let error = std::str::from_utf8(bytes).err()?;
    let first = error.valid_up_to() + 1;
    Some(format!("not UTF-8 from byte {first} on, perhaps Latin-1"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn encodings_are_told_by_their_bytes() {
        for (bytes, expected) in [
            (&b"\xff\xfek\0"[..], "UTF-16"),
            (b"\xfe\xff\0k", "UTF-16"),
            (b"k\0e\0", "text with NUL bytes, perhaps UTF-16"),
            (b"K\xf6ln", "not UTF-8 from byte 2 on, perhaps Latin-1"),
        ] {
            assert_eq!(other_encoding(bytes).unwrap(), expected);
            let fault = check_text("the key", bytes).err().unwrap().to_string();
            assert!(
                fault.starts_with(&format!("the key is {expected}")),
                "{fault}"
            );
        }
        for text in ["", "Köln", "\u{feff}k"] {
            assert_eq!(other_encoding(text.as_bytes()), None, "{text}");
        }
    }
}
