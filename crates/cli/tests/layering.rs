//! Holds the arrows between the crates, and the rules about where things may stand.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

/// Which crates of the workspace each crate may use (its normal and build dependencies).
/// Everything lower on a road that starts at a crate may be used by it directly.
const ARROWS: &[(&str, &[&str])] = &[
    ("papir-kernels", &[]),
    ("papir-ring", &["papir-kernels"]),
    ("papir-lattice", &["papir-kernels", "papir-ring"]),
    ("papir-paillier", &["papir-kernels", "papir-ring"]),
    ("papir-core", &[]),
    // kernels: a scheme calls the passes over the database itself.
    ("papir-oprf", &["papir-core"]),
    (
        "papir-schemes",
        &["papir-core", "papir-kernels", "papir-ring", "papir-lattice", "papir-paillier", "papir-oprf"],
    ),
    ("papir-lookup", &["papir-core", "papir-oprf"]),
    ("papir-store", &["papir-core", "papir-schemes", "papir-lookup", "papir-oprf"]),
    ("papir-protocol", &[]),
    ("papir-client", &["papir-core", "papir-schemes", "papir-lookup", "papir-oprf", "papir-protocol"]),
    (
        "papir-server",
        &["papir-core", "papir-schemes", "papir-lookup", "papir-store", "papir-oprf", "papir-protocol"],
    ),
    ("papir", &["papir-core", "papir-schemes", "papir-lookup", "papir-client"]),
    (
        // Besides the whole, the parts that it measures.
        "papir-bench",
        &[
            "papir",
            "papir-store",
            "papir-server",
            "papir-kernels",
            "papir-ring",
            "papir-lattice",
            "papir-paillier",
            "papir-oprf",
            "papir-core",
            "papir-schemes",
            "papir-lookup",
        ],
    ),
    (
        "papir-cli",
        &[
            "papir",
            "papir-core",
            "papir-schemes",
            "papir-lookup",
            "papir-store",
            "papir-server",
            "papir-client",
            "papir-protocol",
            "papir-bench",
        ],
    ),
    ("papir-testkit", &["papir-core"]),
    ("papir-reference", &[]),
    (
        // Feeds bytes to the parsers of all of them.
        "papir-fuzz",
        &[
            "papir-core",
            "papir-oprf",
            "papir-paillier",
            "papir-schemes",
            "papir-lookup",
            "papir-store",
            "papir-server",
            "papir-client",
        ],
    ),
];

/// What tests and examples may use on top of [`ARROWS`], besides testkit and reference.
const TEST_ARROWS: &[(&str, &[&str])] = &[
    ("papir-lookup", &["papir-schemes"]),
    ("papir-server", &["papir-client", "papir-paillier"]),
    ("papir", &["papir-server", "papir-store"]),
];

/// Crates that only tests may use.
const TEST_ONLY: &[&str] = &["papir-testkit", "papir-reference"];

/// Scheme folders that may import another: (importer, imported).
const COMPOSITIONS: &[(&str, &str)] = &[
    ("batched", "simple"),
    ("batched", "stacked"),
    ("encrypted", "pirouette"),
    ("inspire0", "double"),
    ("ypir", "double"),
    ("respire", "pirouette"),
    ("stacked", "inspire"),
    ("zip", "simple"),
    ("zipdouble", "double"),
];

/// Folders beside the schemes that are none, which every scheme may import.
const SHARED: &[&str] = &["compression", "selection"];

/// The most lines of one source file.
const MAX_LINES: usize = 700;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn members() -> Vec<Package> {
    let manifest = root().join("Cargo.toml");
    MetadataCommand::new().manifest_path(manifest).no_deps().exec().unwrap().packages
}

fn table(rows: &[(&'static str, &[&'static str])]) -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    rows.iter().map(|(from, to)| (*from, to.iter().copied().collect())).collect()
}

/// The arrows of `package` that no table allows.
fn forbidden_arrows(package: &Package, names: &BTreeSet<String>) -> Vec<String> {
    let (arrows, tests) = (table(ARROWS), table(TEST_ARROWS));
    let from = package.name.as_str();
    let allowed = |kind: DependencyKind, to: &str| {
        let declared = arrows.get(from).is_some_and(|row| row.contains(to));
        let in_tests = TEST_ONLY.contains(&to) || tests.get(from).is_some_and(|row| row.contains(to));
        declared || kind == DependencyKind::Development && in_tests
    };
    let inner = package.dependencies.iter().filter(|dependency| names.contains(&dependency.name));
    inner
        .filter(|dependency| !allowed(dependency.kind, &dependency.name))
        .map(|dependency| format!("{from} → {} ({:?})", dependency.name, dependency.kind))
        .collect()
}

#[test]
fn dependencies_follow_the_arrows() {
    let members = members();
    let names: BTreeSet<String> = members.iter().map(|package| package.name.to_string()).collect();
    let known: BTreeSet<String> = ARROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(names, known, "a crate without a row in ARROWS, or a row without a crate");
    let forbidden: Vec<String> =
        members.iter().flat_map(|package| forbidden_arrows(package, &names)).collect();
    assert!(forbidden.is_empty(), "forbidden arrows: {forbidden:#?}");
}

/// All `.rs` files under `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The `src` folders of all members, by crate name.
fn source_folders() -> Vec<(String, PathBuf)> {
    let folder = |package: &Package| package.manifest_path.parent().unwrap().join("src").into_std_path_buf();
    members().iter().map(|package| (package.name.to_string(), folder(package))).collect()
}

/// The words of the code in `text`, line comments left out.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split("//").next().unwrap_or(""));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|word| !word.is_empty())
}

#[test]
fn unsafe_stands_in_kernels_and_in_one_place_of_store() {
    let mut blocks_in_store = 0;
    for (name, folder) in source_folders() {
        for path in sources(&folder) {
            let text = fs::read_to_string(&path).unwrap();
            let found = words(&text).filter(|word| *word == "unsafe").count();
            match name.as_str() {
                "papir-kernels" => {}
                "papir-store" => blocks_in_store += found,
                _ => assert_eq!(found, 0, "unsafe in {}", path.display()),
            }
        }
    }
    assert!(blocks_in_store <= 1, "{blocks_in_store} times unsafe in store: only the mapping of a file");
}

#[test]
fn no_source_file_is_too_long() {
    for (_, folder) in source_folders() {
        for path in sources(&folder) {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(lines <= MAX_LINES, "{}: {lines} lines, at most {MAX_LINES}", path.display());
        }
    }
}

/// The first names after each way to write the crate's root in `text`: one, or those of a group.
/// In a folder's `mod.rs` one `super::` is the root, below it two are.
fn imported(file: &str, text: &str) -> BTreeSet<String> {
    let code: Vec<&str> = text.lines().map(|line| line.split("//").next().unwrap_or("")).collect();
    let code = code.join("\n");
    let mut found = BTreeSet::new();
    let above = if file == "mod.rs" { "super::" } else { "super::super::" };
    for marker in ["crate::", above] {
        for (position, _) in code.match_indices(marker) {
            let rest = &code[position + marker.len()..];
            let end =
                if rest.starts_with('{') { rest.find(';') } else { rest.find([':', ';', ' ', '(', '<']) };
            found.extend(words(&rest[..end.unwrap_or(rest.len())]).map(str::to_owned));
        }
    }
    found
}

#[test]
fn the_scan_sees_every_form_of_import() {
    for text in [
        "use crate::simple::Params;",
        "use crate::{registry, simple};",
        "use crate::{plain::{A, B},\n    simple::Params};",
        "fn f() { crate::simple::run(3) }",
        "use super::super::simple;",
    ] {
        assert!(imported("client.rs", text).contains("simple"), "{text}");
    }
    assert!(imported("mod.rs", "use super::simple;").contains("simple"));
    assert!(!imported("client.rs", "use super::simple;").contains("simple"));
    assert!(!imported("client.rs", "// as crate::simple does\nuse crate::plain;").contains("simple"));
}

#[test]
fn a_scheme_imports_no_sibling() {
    let schemes = root().join("crates/schemes/src");
    let folders: Vec<String> = fs::read_dir(&schemes)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    assert!(folders.iter().any(|name| name == "plain"), "no scheme folders under {}", schemes.display());
    for folder in &folders {
        for path in sources(&schemes.join(folder)) {
            let file = path.file_name().unwrap().to_str().unwrap();
            let names = imported(file, &fs::read_to_string(&path).unwrap());
            let siblings =
                folders.iter().filter(|other| *other != folder && !SHARED.contains(&other.as_str()));
            for sibling in siblings.filter(|other| names.contains(*other)) {
                let declared = COMPOSITIONS.contains(&(folder.as_str(), sibling.as_str()));
                assert!(declared, "{} imports the scheme {sibling}", path.display());
            }
        }
    }
}
