//! Layering rules of the workspace: crates, modules and files.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod dependencies;
mod documents;
mod graph;
mod graph_tests;
mod lists;
mod modules;
mod ratchets;
mod resolve;
mod tokens;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::panic::resume_unwind;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;
use std::thread;

use cargo_metadata::{DependencyKind, MetadataCommand, Package};

use crate::graph::{Graph, Reading, folder};
use crate::modules::{Files, parse};

/// Crates of the workspace that each crate may use in its normal and build dependencies.
const ARROWS: &[(&str, &[&str])] = &[
    ("papir-kernels", &[]),
    ("papir-ring", &["papir-kernels"]),
    ("papir-lattice", &["papir-kernels", "papir-ring"]),
    ("papir-paillier", &["papir-kernels", "papir-ring"]),
    ("papir-core", &[]),
    ("papir-cuda", &["papir-core"]),
    ("papir-checkpoint", &["papir-core"]),
    ("papir-tls", &[]),
    ("papir-ohttp", &[]),
    ("papir-privacy-pass", &[]),
    (
        // kernels: a scheme scans its database itself.
        "papir-schemes",
        &[
            "papir-core",
            "papir-kernels",
            "papir-ring",
            "papir-lattice",
            "papir-paillier",
        ],
    ),
    (
        "papir-plan",
        &[
            "papir-core",
            "papir-kernels",
            "papir-lookup",
            "papir-schemes",
        ],
    ),
    ("papir-lookup", &["papir-core"]),
    (
        "papir-store",
        &[
            "papir-core",
            "papir-checkpoint",
            "papir-schemes",
            "papir-lookup",
            "papir-tls",
        ],
    ),
    ("papir-protocol", &[]),
    (
        "papir-client",
        &[
            "papir-core",
            "papir-checkpoint",
            "papir-schemes",
            "papir-lookup",
            "papir-ohttp",
            "papir-privacy-pass",
            "papir-protocol",
            "papir-tls",
        ],
    ),
    (
        "papir-server",
        &[
            "papir-core",
            "papir-checkpoint",
            "papir-schemes",
            "papir-lookup",
            "papir-ohttp",
            "papir-privacy-pass",
            "papir-store",
            "papir-protocol",
        ],
    ),
    (
        "papir",
        &[
            "papir-core",
            "papir-paillier",
            "papir-schemes",
            "papir-lookup",
            "papir-client",
        ],
    ),
    (
        "papir-measure",
        &[
            "papir-plan",
            "papir-research",
            "papir-store",
            "papir-cuda",
            "papir-kernels",
            "papir-ring",
            "papir-core",
            "papir-schemes",
            "papir-lookup",
        ],
    ),
    (
        // Papers report parts of schemes as well as the whole.
        "papir-papers",
        &[
            "papir-plan",
            "papir-research",
            "papir-store",
            "papir-kernels",
            "papir-ring",
            "papir-lattice",
            "papir-paillier",
            "papir-core",
            "papir-schemes",
            "papir-measure",
        ],
    ),
    (
        "papir-cli",
        &[
            "papir",
            "papir-kernels",
            "papir-core",
            "papir-cuda",
            "papir-checkpoint",
            "papir-schemes",
            "papir-lookup",
            "papir-ohttp",
            "papir-store",
            "papir-server",
            "papir-client",
            "papir-plan",
            "papir-protocol",
            "papir-research",
            "papir-measure",
        ],
    ),
    (
        "papir-python",
        &[
            "papir-core",
            "papir-schemes",
            "papir-lookup",
            "papir-plan",
            "papir-store",
            "papir-server",
            "papir-client",
            "papir-measure",
        ],
    ),
    (
        "papir-js",
        &[
            "papir-core",
            "papir-checkpoint",
            "papir-schemes",
            "papir-client",
            "papir-ohttp",
        ],
    ),
    (
        "papir-ffi",
        &["papir-core", "papir-checkpoint", "papir-client"],
    ),
    // Schemes that are not private. Only programs and measurements may use them.
    (
        "papir-research",
        &[
            "papir-core",
            "papir-kernels",
            "papir-ring",
            "papir-lookup",
            "papir-paillier",
            "papir-schemes",
        ],
    ),
    ("papir-testkit", &["papir-core"]),
    ("papir-reference", &[]),
    // Names dependencies only.
    ("papir-features", &[]),
    ("papir-house", &[]),
    (
        // Fuzzes the parsers of every crate.
        "papir-fuzz",
        &[
            "papir-core",
            "papir-checkpoint",
            "papir-ohttp",
            "papir-privacy-pass",
            "papir-paillier",
            "papir-schemes",
            "papir-lookup",
            "papir-store",
            "papir-server",
            "papir-client",
        ],
    ),
];

/// Crates that tests and examples may use on top of [`ARROWS`] and [`TEST_ONLY`].
const TEST_ARROWS: &[(&str, &[&str])] = &[
    ("papir-cuda", &["papir-schemes"]),
    ("papir-lookup", &["papir-schemes"]),
    // The conformance suite also covers the schemes that a program may add.
    ("papir-schemes", &["papir-research"]),
    ("papir-client", &["papir-ring", "papir-paillier"]),
    ("papir-server", &["papir-client", "papir-paillier"]),
    ("papir-ffi", &["papir", "papir-server"]),
    // Its tests turn on its own feature `aio`.
    ("papir", &["papir", "papir-server", "papir-store"]),
];

/// Crates that only tests may use.
const TEST_ONLY: &[&str] = &["papir-testkit", "papir-reference", "papir-house"];

/// Scheme families that may import another: (importer, imported).
const COMPOSITIONS: &[(&str, &str)] = &[
    ("batched", "inspire"),
    ("batched", "simple"),
    ("zip", "double"),
    ("zip", "simple"),
];

/// Folders of shared code, which every scheme may import.
const SHARED: &[&str] = &["shared"];

/// Layers of a crate by folder, the highest first. A folder may use those of its own layer and of
/// lower ones.
const LAYERS: &[(&str, &[&[&str]])] = &[
    (
        "papir-client",
        &[
            &["load"],
            &["blocking", "aio"],
            &["transport"],
            &["state"],
            &["core"],
        ],
    ),
    (
        "papir-server",
        &[
            &["relay", "issuer"],
            &["http"],
            &["service"],
            &[
                "catalog",
                "admission",
                "clients",
                "psi",
                "gateway",
                "privacy_pass",
                "access",
                "metrics",
                "listen",
            ],
        ],
    ),
];

/// Maximum number of lines of a source file.
const MAX_LINES: usize = 700;

/// Maximum length of a line of prose, in characters.
const MAX_PROSE: usize = 100;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .canonicalize()
        .unwrap()
}

fn members() -> Vec<Package> {
    let manifest = root().join("Cargo.toml");
    MetadataCommand::new()
        .manifest_path(manifest)
        .no_deps()
        .exec()
        .unwrap()
        .packages
}

fn table(
    rows: &[(&'static str, &[&'static str])],
) -> BTreeMap<&'static str, BTreeSet<&'static str>> {
    rows.iter()
        .map(|(from, to)| (*from, to.iter().copied().collect()))
        .collect()
}

/// Dependencies of `package` that no table allows.
fn forbidden_arrows(package: &Package, names: &BTreeSet<String>) -> Vec<String> {
    let arrows = table(ARROWS);
    let tests = table(TEST_ARROWS);
    let from = package.name.as_str();
    let allowed = |kind: DependencyKind, to: &str| {
        let declared = arrows.get(from).is_some_and(|row| row.contains(to));
        let in_tests =
            TEST_ONLY.contains(&to) || tests.get(from).is_some_and(|row| row.contains(to));
        declared || kind == DependencyKind::Development && in_tests
    };
    let inner = package
        .dependencies
        .iter()
        .filter(|dependency| names.contains(&dependency.name));
    inner
        .filter(|dependency| !allowed(dependency.kind, &dependency.name))
        .map(|dependency| format!("{from} → {} ({:?})", dependency.name, dependency.kind))
        .collect()
}

#[test]
fn dependencies_follow_the_arrows() {
    let members = members();
    let names: BTreeSet<String> = members
        .iter()
        .map(|package| package.name.to_string())
        .collect();
    let known: BTreeSet<String> = ARROWS.iter().map(|(name, _)| (*name).to_owned()).collect();
    assert_eq!(
        names, known,
        "a crate without a row in ARROWS, or a row without a crate"
    );
    let forbidden: Vec<String> = members
        .iter()
        .flat_map(|package| forbidden_arrows(package, &names))
        .collect();
    assert!(forbidden.is_empty(), "forbidden arrows: {forbidden:#?}");
}

/// All `.rs` files under `folder`.
fn sources(folder: &Path) -> Vec<PathBuf> {
    under(folder, "rs")
}

/// All files under `folder` with this extension.
fn under(folder: &Path, extension: &str) -> Vec<PathBuf> {
    let mut found = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|found| found == extension) {
                found.push(path);
            }
        }
    }
    found.sort();
    found
}

/// The `src` folders of all members, by crate name.
fn source_folders() -> Vec<(String, PathBuf)> {
    let folder = |package: &Package| {
        package
            .manifest_path
            .parent()
            .unwrap()
            .join("src")
            .into_std_path_buf()
    };
    members()
        .iter()
        .map(|package| (package.name.to_string(), folder(package)))
        .collect()
}

/// The files of a `src` folder with their text.
fn files(folder: &Path) -> Files {
    let name = |path: &Path| {
        path.strip_prefix(folder)
            .unwrap()
            .to_str()
            .unwrap()
            .replace('\\', "/")
    };
    sources(folder)
        .iter()
        .map(|path| (name(path), fs::read_to_string(path).unwrap()))
        .collect()
}

/// The modules of one crate of the workspace.
struct Crate {
    name: String,
    files: Files,
    /// Arrows of the code outside tests.
    definitions: Graph,
    /// Arrows of all code.
    everything: Graph,
}

/// All crates, parsed once, as parsing takes most of the time of this test.
static CRATES: LazyLock<Vec<Crate>> = LazyLock::new(|| {
    let folders = source_folders();
    thread::scope(|scope| {
        let mut readers = Vec::new();
        for (name, folder) in &folders {
            // The thread has a name because panic messages show it.
            let thread = thread::Builder::new().name(name.clone());
            readers.push(thread.spawn_scoped(scope, || read(name, folder)).unwrap());
        }
        let read = readers
            .into_iter()
            .map(|reader| reader.join().unwrap_or_else(|panic| resume_unwind(panic)));
        read.collect()
    })
});

fn read(name: &str, folder: &Path) -> Crate {
    let files = files(folder);
    let trees = parse(&files);
    let definitions = Graph::read(&trees, Reading::Definitions);
    let everything = Graph::read(&trees, Reading::Everything);
    Crate {
        name: name.to_owned(),
        files,
        definitions,
        everything,
    }
}

fn crate_named(name: &str) -> &'static Crate {
    CRATES.iter().find(|found| found.name == name).unwrap()
}

/// The words of the code in `text`, without line comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text
        .lines()
        .map(|line| line.split("//").next().unwrap_or(""));
    code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'))
        .filter(|word| !word.is_empty())
}

#[test]
fn only_kernels_launches_memory_maps_and_calls_of_javascript_use_unsafe() {
    let mut maps = 0;
    for (name, folder) in source_folders() {
        for path in sources(&folder) {
            // A word of content security policies.
            let text = fs::read_to_string(&path)
                .unwrap()
                .replace("'wasm-unsafe-eval'", "");
            let found = words(&text).filter(|word| *word == "unsafe").count();
            match name.as_str() {
                "papir-kernels" | "papir-cuda" | "papir-js" => {}
                "papir-store" if path.ends_with("src/file/map.rs") => maps += found,
                _ => assert_eq!(found, 0, "unsafe in {}", path.display()),
            }
        }
    }
    assert_eq!(
        maps, 2,
        "uses of unsafe in the memory maps of store: one to read and one to write"
    );
}

#[test]
fn no_source_file_is_too_long() {
    for (_, folder) in source_folders() {
        for path in sources(&folder) {
            let lines = fs::read_to_string(&path).unwrap().lines().count();
            assert!(
                lines <= MAX_LINES,
                "{}: {lines} lines, at most {MAX_LINES}",
                path.display()
            );
        }
    }
}

/// The text of a page without blocks of code, tables, figures and definitions of links, by line number.
fn prose(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut code = false;
    (1..).zip(text.lines()).filter(move |(_, line)| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence && !line.starts_with(['|', '<', '!']) && !line.contains("]: http")
    })
}

/// A registry keeps the page of a version forever.
#[test]
fn published_crates_have_what_registries_show() {
    let published = members()
        .into_iter()
        .filter(|package| package.publish.is_none());
    for Package {
        name,
        manifest_path,
        description,
        keywords,
        categories,
        ..
    } in published
    {
        let described = description.is_some() && !keywords.is_empty() && !categories.is_empty();
        assert!(
            described,
            "{name}: a description, keywords or categories are missing"
        );
        let folder = manifest_path.parent().unwrap();
        for text in ["README.md", "LICENSE-APACHE", "LICENSE-MIT"] {
            assert!(folder.join(text).is_file(), "{name}: {text} is missing");
        }
    }
}

#[test]
fn no_line_of_prose_is_too_long() {
    let mut pages = under(&root().join("docs"), "md");
    pages.extend(
        [
            "README",
            "ARCHITECTURE",
            "CHANGELOG",
            "CONTRIBUTING",
            "RELEASING",
            "SECURITY",
        ]
        .map(|name| root().join(name).with_extension("md")),
    );
    for package in members() {
        let readme = package.manifest_path.with_file_name("README.md");
        if readme.is_file() {
            pages.push(readme.into_std_path_buf());
        }
    }

    for path in pages {
        let text = fs::read_to_string(&path).unwrap();
        for (number, line) in prose(&text) {
            let length = line.chars().count();
            assert!(
                length <= MAX_PROSE,
                "{}:{number}: {length} characters, at most {MAX_PROSE}",
                path.display()
            );
        }
    }
}

#[test]
fn every_source_file_is_a_module() {
    for Crate {
        name,
        files,
        everything,
        ..
    } in CRATES.iter()
    {
        let stray: Vec<&String> = files
            .keys()
            .filter(|file| !everything.files.contains(*file))
            .collect();
        assert!(
            stray.is_empty(),
            "{name}: files without a `mod` declaration: {stray:?}"
        );
    }
}

#[test]
fn modules_form_no_cycles() {
    let cycles: Vec<String> = CRATES
        .iter()
        .map(|one| (one, one.definitions.describe_cycles()))
        .filter(|(_, cycles)| !cycles.is_empty())
        .map(|(one, cycles)| format!("{} has cycles of modules:\n{cycles}", one.name))
        .collect();
    assert!(cycles.is_empty(), "{}", cycles.join("\n"));
}

#[test]
fn modules_use_no_higher_layer() {
    for (name, layers) in LAYERS {
        let upward = crate_named(name).definitions.upward(layers);
        assert!(
            upward.is_empty(),
            "{name}: arrows to a higher layer: {upward:#?}"
        );
    }
}

/// Arrows between two scheme folders that no composition declares.
fn undeclared_compositions(everything: &Graph) -> Vec<String> {
    let declared = |from: &str, to: &str| {
        from == to || SHARED.contains(&to) || COMPOSITIONS.contains(&(from, to))
    };
    let between = everything
        .arrows()
        .filter(|(from, to)| match (folder(from), folder(to)) {
            (Some(from), Some(to)) => !declared(from, to),
            _ => false,
        });
    between
        .map(|(from, to)| format!("{from} imports {to}"))
        .collect()
}

#[test]
fn a_scheme_imports_no_sibling() {
    let schemes = crate_named("papir-schemes");
    assert!(
        schemes.files.contains_key("plain/mod.rs"),
        "no scheme folders in crates/schemes/src"
    );
    let undeclared = undeclared_compositions(&schemes.everything);
    assert!(undeclared.is_empty(), "{undeclared:#?}");
}

#[test]
fn the_scan_sees_every_form_of_import() {
    let undeclared = |file: &str, text: &str| {
        let scheme = "pub mod client; pub struct Params; pub fn run(_: u8) {}".to_owned();
        let mut files = Files::from([
            (
                "lib.rs".to_owned(),
                "mod plain; mod simple; mod registry; mod other;".to_owned(),
            ),
            ("registry.rs".to_owned(), String::new()),
            (
                "plain/mod.rs".to_owned(),
                "pub mod simple; pub struct A; pub struct B;".to_owned(),
            ),
            ("plain/simple.rs".to_owned(), String::new()),
            ("simple/mod.rs".to_owned(), scheme),
            ("simple/client.rs".to_owned(), String::new()),
            (
                "other/mod.rs".to_owned(),
                "mod simple; mod client;".to_owned(),
            ),
            (
                "other/simple.rs".to_owned(),
                "pub struct Params;".to_owned(),
            ),
            ("other/client.rs".to_owned(), String::new()),
        ]);
        files.insert(
            format!("other/{file}"),
            format!("{text}{}", files[&format!("other/{file}")]),
        );
        let graph = Graph::read(&parse(&files), Reading::Everything);
        undeclared_compositions(&graph)
            .join("\n")
            .contains("imports simple/mod.rs")
    };
    for text in [
        "use crate::simple::Params;",
        "use crate::simple::client;",
        "use crate::{registry, simple};",
        "use crate::{plain::{A, B},\n    simple::Params};",
        "fn f() { crate::simple::run(3) }",
        "fn f() { assert!(crate::simple::run(3)) }",
        "#[cfg(test)] mod tests { use crate::simple::Params; }",
        "use super::super::simple;",
    ] {
        assert!(undeclared("client.rs", text), "{text}");
    }
    assert!(undeclared("mod.rs", "use super::simple as sibling;"));
    assert!(!undeclared("client.rs", "use super::simple;"));
    assert!(!undeclared(
        "client.rs",
        "// as crate::simple does\nuse crate::plain::simple as nested;"
    ));
}
