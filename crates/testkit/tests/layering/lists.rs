//! The registry has the only list of all schemes.

use std::collections::BTreeSet;
use std::fs;

use super::{root, sources};

/// The file of the list.
const REGISTRY: &str = "crates/schemes/src/registry.rs";

/// Folders of code that could list the schemes again.
const FOLDERS: &[&str] = &["crates", "fuzz", "js", "python/src"];

/// Schemes that a file may name. Tests name some to choose from; a list of all names more.
const MOST: usize = 11;

/// A scheme of the list.
struct Entry {
    /// Its name with underscores.
    name: String,
    /// Last segment of its type.
    ty: String,
}

/// The schemes of `for_each_scheme!`.
fn entries(registry: &str) -> Vec<Entry> {
    let (_, list) = registry
        .split_once("macro_rules! for_each_scheme {")
        .unwrap();
    let (list, _) = list.split_once("\n}\n").unwrap();

    let mut entries = Vec::new();
    for line in list.lines() {
        // name: $crate::path::Type { … }
        let Some((name, rest)) = line.split_once(": $crate::") else {
            continue;
        };
        let path = rest.split(" {").next().unwrap().trim_end_matches('>');
        entries.push(Entry {
            name: name.trim().to_owned(),
            ty: path.rsplit("::").next().unwrap().to_owned(),
        });
    }
    entries
}

/// The most schemes that a text names in one way: by quoted names, by types, or by names at the
/// beginnings of lines.
fn named(text: &str, entries: &[Entry]) -> usize {
    let words: BTreeSet<&str> = text
        .split(|letter: char| !letter.is_alphanumeric() && letter != '_')
        .collect();
    let starts: BTreeSet<&str> = text
        .lines()
        .filter_map(|line| line.trim_start().split([':', ',', ';', '=']).next())
        .map(str::trim_end)
        .collect();

    let types: BTreeSet<&str> = entries
        .iter()
        .map(|entry| entry.ty.as_str())
        .filter(|ty| words.contains(ty))
        .collect();
    let quoted = entries
        .iter()
        .filter(|entry| text.contains(&format!("\"{}\"", entry.name.replace('_', "-"))))
        .count();
    let leading = entries
        .iter()
        .filter(|entry| starts.contains(entry.name.as_str()))
        .count();
    types.len().max(quoted).max(leading)
}

#[test]
fn only_the_registry_lists_all_schemes() {
    let registry = root().join(REGISTRY);
    let entries = entries(&fs::read_to_string(&registry).unwrap());
    assert!(entries.len() > MOST, "{} schemes found", entries.len());

    let registry = registry.canonicalize().unwrap();
    let mut lists = Vec::new();
    for path in FOLDERS
        .iter()
        .flat_map(|folder| sources(&root().join(folder)))
    {
        let count = named(&fs::read_to_string(&path).unwrap(), &entries);
        if count > MOST && path.canonicalize().unwrap() != registry {
            lists.push(format!("{} names {count} schemes", path.display()));
        }
    }
    assert!(
        lists.is_empty(),
        "lists of schemes: expected for_each_scheme! of {REGISTRY} in their place: {lists:#?}"
    );
}

#[test]
fn a_second_list_is_found_in_every_form() {
    let entries = entries(&fs::read_to_string(root().join(REGISTRY)).unwrap());
    let listed = |form: &dyn Fn(&Entry) -> String| {
        let text: Vec<String> = entries.iter().map(form).collect();
        named(&text.join("\n"), &entries)
    };
    assert!(listed(&|entry| format!("(\"{}\", 1),", entry.name.replace('_', "-"))) > MOST);
    assert!(listed(&|entry| format!("&Erased::<{}>::new(),", entry.ty)) > MOST);
    assert!(listed(&|entry| format!("    {}: 300, 100;", entry.name)) > MOST);
    assert!(listed(&|entry| format!("// as {} does", entry.name)) <= MOST);
}
