//! Text files read line by line.

use std::io::Read;
use std::path::Path;

use crate::failure::Failure;

/// Reads a file, or standard input for `-`. An error names the file.
pub(crate) fn read(file: &Path) -> Result<Vec<u8>, Failure> {
    let read = if file.as_os_str() == "-" {
        let mut bytes = Vec::new();
        let read = std::io::stdin().lock().read_to_end(&mut bytes);
        read.map(|_| bytes)
    } else {
        std::fs::read(file)
    };

    read.map_err(|error| Failure::at(file, error))
}

/// Splits bytes into lines, without their terminators.
pub(crate) fn of(bytes: &[u8]) -> Vec<&[u8]> {
    let mut lines: Vec<&[u8]> = bytes
        .split(|&byte| byte == b'\n')
        .map(|line| line.strip_suffix(b"\r").unwrap_or(line))
        .collect();

    // Empty if the text ends with a line feed.
    lines.pop_if(|last| last.is_empty());
    lines
}
