//! Documents that name files of the repository.

use std::fs;

use super::{root, under};

/// The list of the decisions, by subject.
const DECISIONS: &str = "docs/decisions/README.md";

/// A text with one space in place of each gap.
fn on_one_line(text: &str) -> String {
    let words: Vec<&str> = text.split_whitespace().collect();
    words.join(" ")
}

#[test]
fn every_decision_is_in_the_list_with_its_title() {
    let list = on_one_line(&fs::read_to_string(root().join(DECISIONS)).unwrap());

    let mut count = 0;
    for path in under(&root().join("docs/decisions"), "md") {
        let name = path.file_name().unwrap().to_str().unwrap();
        if name == "README.md" {
            continue;
        }

        let text = fs::read_to_string(&path).unwrap();
        let title = text.lines().next().unwrap().trim_start_matches("# ");
        let entry = format!("- [{title}]({name})");
        assert!(list.contains(&entry), "{DECISIONS} lacks: {entry}");
        count += 1;
    }
    assert_eq!(list.matches("- [").count(), count, "each stands once");
}

#[test]
fn the_path_of_a_query_names_files_and_functions_that_exist() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, path) = text.split_once("From a request to the kernel").unwrap();
    let (path, _) = path.split_once("\n## ").unwrap();

    let mut steps = 0;
    for row in path.lines().filter(|line| line.starts_with("| `")) {
        // | `crate/src/file.rs` | `Type::function`: what it does |
        let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let source = root().join("crates").join(names[0]);
        let code = fs::read_to_string(&source).unwrap_or_else(|error| panic!("{row}: {error}"));

        if let Some(function) = names.get(1) {
            let function = function.rsplit("::").next().unwrap();
            let is_there = code.contains(&format!("fn {function}("));
            assert!(is_there, "{}: no {function}", source.display());
        }
        steps += 1;
    }
    assert!(steps >= 9, "{steps} steps");
}
