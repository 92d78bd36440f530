//! Folder of OSV files → papir database.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::advisory::Advisory;
use crate::arguments::BuildArguments;
use crate::osv::{self, Rows};

/// What a database has.
pub(crate) struct Built {
    pub(crate) packages: usize,
    pub(crate) advisories: usize,
    /// Files that could not be read, and advisories that name commits only.
    pub(crate) left_out: usize,
}

/// Reads all OSV files of a folder, and builds the database by the program papir.
pub(crate) fn build(arguments: &BuildArguments) -> Result<Built> {
    let mut files = Vec::new();
    find_files(&arguments.folder, &mut files)?;
    files.sort();

    let mut table: BTreeMap<String, BTreeSet<Advisory>> = BTreeMap::new();
    let mut bad = 0;
    let mut without_versions = 0;
    for file in &files {
        match rows_of(file) {
            Ok(rows) => {
                without_versions += rows.without_versions;
                for row in rows.all {
                    table.entry(row.key).or_default().insert(row.advisory);
                }
            }
            Err(error) if bad < arguments.skip_bad => {
                eprintln!("papir-deps: left out: {error}");
                bad += 1;
            }
            Err(error) => return Err(error),
        }
    }

    if table.is_empty() {
        let folder = arguments.folder.display();
        return Err(format!("{folder}: expected OSV files of crates.io, npm or PyPI").into());
    }
    write(&table, arguments)?;
    Ok(Built {
        packages: table.len(),
        advisories: table.values().map(BTreeSet::len).sum(),
        left_out: bad + without_versions,
    })
}

/// Adds the JSON files of a folder, and of the folders in it.
fn find_files(folder: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    let failed = |error: std::io::Error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let path = entry.path();
        // A symbolic link may lead to a folder that has this one.
        if entry.file_type().map_err(failed)?.is_dir() {
            find_files(&path, files)?;
        } else if path
            .extension()
            .is_some_and(|extension| extension == "json")
        {
            files.push(path);
        }
    }
    Ok(())
}

fn rows_of(file: &Path) -> Result<Rows> {
    let json = fs::read(file).map_err(|error| format!("{}: {error}", file.display()))?;
    osv::rows(&json).map_err(|error| format!("{}: {error}", file.display()).into())
}

/// Builds the database from a row for each package.
fn write(table: &BTreeMap<String, BTreeSet<Advisory>>, arguments: &BuildArguments) -> Result<()> {
    let program = arguments.papir.display();
    let mut papir = Command::new(&arguments.papir)
        .args(["build", "-", "--format", "jsonl"])
        .args(["--key", "key", "--value", "advisories", "--out"])
        .arg(&arguments.out)
        .args(&arguments.more)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| format!("{program}: {error} (--papir names the program)"))?;

    let written = match papir.stdin.take() {
        Some(mut source) => write_rows(table, &mut source),
        None => Ok(()),
    };
    let status = papir.wait()?;
    if !status.success() {
        return Err(format!("{program} build: {status}").into());
    }
    Ok(written?)
}

/// Writes the rows as JSON Lines. A program that has ended says itself why.
fn write_rows(
    table: &BTreeMap<String, BTreeSet<Advisory>>,
    out: &mut impl Write,
) -> std::io::Result<()> {
    for (key, advisories) in table {
        let lines: Vec<String> = advisories.iter().map(ToString::to_string).collect();
        let row = serde_json::json!({ "key": key, "advisories": lines.join("\n") });
        match writeln!(out, "{row}") {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
            written => written?,
        }
    }
    Ok(())
}
