//! Bytes in JSON: as text, or in base64 if not UTF-8.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// A field with text, or a field named `…_base64`.
pub(crate) fn field(name: &str, bytes: &[u8]) -> (String, Value) {
    match std::str::from_utf8(bytes) {
        Ok(text) => (name.to_owned(), json!(text)),
        Err(_) => (format!("{name}_base64"), json!(STANDARD.encode(bytes))),
    }
}
