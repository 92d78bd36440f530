//! Requirements of pip whose versions are pinned.

use super::Packages;
use crate::Result;
use crate::ecosystem::Ecosystem;

/// Options that name other requirements, which would be missing.
const FURTHER: [&str; 6] = [
    "-r",
    "--requirement",
    "-c",
    "--constraint",
    "-e",
    "--editable",
];

/// Returns the packages of PyPI.
///
/// # Errors
/// A line that is no requirement of the form `NAME==VERSION`: what it installs is not known.
pub(super) fn parse(text: &str) -> Result<Packages> {
    let mut packages = Packages::default();
    let mut logical = String::new();
    for (number, line) in (1..).zip(text.lines()) {
        // A backslash at the end joins the next line, as before hashes.
        if let Some(begin) = line.strip_suffix('\\') {
            logical.push_str(begin);
            continue;
        }
        logical.push_str(line);
        add(&mut packages, &logical).map_err(|error| format!("line {number}: {error}"))?;
        logical.clear();
    }
    add(&mut packages, &logical)?;
    Ok(packages)
}

fn add(packages: &mut Packages, line: &str) -> Result<()> {
    let requirement = without_comment(line).trim();
    let first = requirement.split([' ', '=', '\t']).next().unwrap_or("");
    if requirement.is_empty() {
        return Ok(());
    }
    if FURTHER.contains(&first) {
        let found = requirement.escape_debug();
        return Err(format!("`{found}`: expected no further requirements").into());
    }
    // Options such as --index-url.
    if first.starts_with('-') {
        return Ok(());
    }

    // Markers say when a requirement counts: it is looked up in any case.
    let pinned = requirement.split(';').next().unwrap_or("");
    let pinned = pinned.split(" --").next().unwrap_or("").trim();
    let Some((name, version)) = pinned_version(pinned) else {
        let found = pinned.escape_debug();
        return Err(format!("`{found}`: expected NAME==VERSION").into());
    };
    Ecosystem::PyPi.version(version)?;
    packages.insert(Ecosystem::PyPi, name, version);
    Ok(())
}

/// Returns name and version of a requirement such as `name[extra] == 1.0`.
fn pinned_version(requirement: &str) -> Option<(&str, &str)> {
    let (name, version) = requirement.split_once("==")?;
    let name = name.split('[').next().unwrap_or("").trim();
    let is_name = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_name.then_some((name, version.trim()))
}

/// Returns a line without its comment, which begins after a space or at the beginning.
fn without_comment(line: &str) -> &str {
    if line.starts_with('#') {
        return "";
    }
    line.split_once(" #").map_or(line, |(before, _)| before)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn pinned_versions_count() {
        let text = "# made by a tool\n\
            --index-url https://pypi.example/simple\n\
            \n\
            Sample_Pkg==1.0.1  # why\n\
            other[extra,more] == 2.0rc1 ; python_version < \"3.12\"\n\
            hashed==3.0 \\\n    --hash=sha256:00 \\\n    --hash=sha256:11\n\
            last==1!4.0";
        let packages = parse(text).unwrap();
        let found: Vec<String> = packages
            .all
            .iter()
            .map(|one| format!("{} {}", one.key(), one.version))
            .collect();
        let expected = [
            "PyPI/sample-pkg 1.0.1",
            "PyPI/hashed 3.0",
            "PyPI/last 1!4.0",
            "PyPI/other 2.0rc1",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn what_is_not_pinned_is_an_error() {
        let bad = [
            "name",
            "name>=1.0",
            "name==1.*",
            "name===1.0",
            "name==1.0,<2",
            "==1.0",
            "name @ https://pypi.example/name.whl",
            "-r more.txt",
            "--requirement=more.txt",
            "-e .",
            "-c limits.txt",
        ];
        for line in bad {
            let error = parse(&format!("first==1.0\n{line}\n")).unwrap_err();
            assert!(error.to_string().starts_with("line 2: "), "{line}: {error}");
        }
    }
}
