//! The source files of a workspace, found without git.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::Unmeasured;

/// Folders whose subfolders are crates.
const GROUPS: &[&str] = &["crates", "tools"];

/// Other folders of crates.
const CRATES: &[&str] = &["fuzz", "js", "python", "reference"];

/// Folders that hold no code, or that of tests.
const SKIPPED: &[&str] = &["benches", "examples", "target", "tests"];

/// The file of a module of tests.
const TESTS: &str = "tests.rs";

/// A source file.
#[derive(Clone, Debug)]
pub struct SourceFile {
    /// The name of the crate's folder.
    pub package: String,
    /// The path below the root of the workspace, with slashes.
    pub path: String,
    /// The content.
    pub text: String,
}

impl SourceFile {
    /// Reads the source files of the workspace at `root`, ordered by crate and path.
    ///
    /// # Errors
    ///
    /// [`Unmeasured::Unreadable`] if a file or folder cannot be read.
    pub fn of_workspace(root: &Path) -> Result<Vec<Self>, Unmeasured> {
        let mut crates: Vec<PathBuf> = CRATES.iter().map(|name| root.join(name)).collect();
        for group in GROUPS {
            crates.extend(entries(&root.join(group))?);
        }

        let mut sources = Vec::new();
        for folder in crates {
            let code = folder.join("src");
            if code.is_dir() {
                read_folder(root, &code, &name_of(&folder), &mut sources)?;
            }
        }
        sources.sort_by(|a, b| (&a.package, &a.path).cmp(&(&b.package, &b.path)));
        Ok(sources)
    }
}

/// Adds the source files of `folder` and its subfolders.
fn read_folder(
    root: &Path,
    folder: &Path,
    package: &str,
    sources: &mut Vec<SourceFile>,
) -> Result<(), Unmeasured> {
    for path in entries(folder)? {
        let name = name_of(&path);
        if path.is_dir() {
            if !SKIPPED.contains(&name.as_str()) {
                read_folder(root, &path, package, sources)?;
            }
        } else if path.extension().is_some_and(|extension| extension == "rs") && name != TESTS {
            sources.push(read_file(root, &path, package)?);
        }
    }
    Ok(())
}

fn read_file(root: &Path, path: &Path, package: &str) -> Result<SourceFile, Unmeasured> {
    let below = path.strip_prefix(root).unwrap_or(path);

    Ok(SourceFile {
        package: package.to_owned(),
        path: below.to_string_lossy().replace('\\', "/"),
        text: fs::read_to_string(path).map_err(|source| unreadable(path, source))?,
    })
}

/// The paths of what a folder holds.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, Unmeasured> {
    let entries = fs::read_dir(folder).and_then(|entries| {
        entries
            .map(|entry| entry.map(|entry| entry.path()))
            .collect()
    });
    entries.map_err(|source| unreadable(folder, source))
}

fn unreadable(path: &Path, source: io::Error) -> Unmeasured {
    let path = path.to_owned();
    Unmeasured::Unreadable { path, source }
}

/// The last component of a path.
fn name_of(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().into_owned()
}
