//! Text files read line by line.

use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// Reads a file, or standard input for `-`. An error names the file. UTF-16 is an error.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map(|_| bytes)
    } else {
        std::fs::read(file)
    };

    let bytes = read.map_err(|error| Failure::at(file, error))?;
    if papir_store::has_utf_16_mark(&bytes) {
        return Err(Failure::at(file, "line 1: UTF-16: expected UTF-8"));
    }
    Ok(bytes)
}

/// Splits bytes into lines, without their terminators and a byte order mark.
pub(crate) fn of(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = papir_store::without_mark(bytes)
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect();

    // Empty if the text ends with a line feed.
    lines.pop_if(|last| last.is_empty());
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_have_no_terminators_and_no_mark() {
        let lines = of(b"\xef\xbb\xbfa\r\n\nb");
        assert_eq!(lines, [&b"a"[..], b"", b"b"]);
        assert_eq!(of(b"a\n"), [b"a"]);
        assert!(of(b"").is_empty() && of(b"\xef\xbb\xbf").is_empty());
    }
}
