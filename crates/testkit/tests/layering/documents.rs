//! Documents that name files of the repository.

use std::collections::BTreeSet;
use std::fs;

use super::{members, root, sources, under};

/// The list of the decisions, by subject.
const DECISIONS: &str = "docs/decisions/README.md";
/// The specification of all formats.
const FORMATS: &str = "docs/formats.md";
/// Crates for development, which the picture of the layers leaves out.
const UNDRAWN: &[&str] = &["features", "fuzz", "house", "reference", "testkit"];

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

/// The crates in a line of the picture: its words, without the caption at the left and without
/// what stands in parentheses.
fn drawn(line: &str) -> Vec<&str> {
    let drawing = if line.starts_with("  ") {
        line
    } else {
        let gap = line.trim_start().split_once("  ");
        gap.unwrap_or_else(|| panic!("no caption: {line}")).1
    };

    let mut words = Vec::new();
    for part in drawing.split('(') {
        let outside = part.rsplit(')').next().unwrap();
        words.extend(outside.split(|letter: char| !letter.is_ascii_alphabetic() && letter != '-'));
    }
    words.retain(|word| !word.is_empty());
    words
}

#[test]
fn the_picture_of_the_layers_has_every_crate_and_no_other() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, layers) = text.split_once("\n## Layers\n").unwrap();
    let (_, picture) = layers.split_once("\n```\n").unwrap();
    let (picture, _) = picture.split_once("\n```\n").unwrap();
    let found: BTreeSet<&str> = picture.lines().flat_map(drawn).collect();

    let members = members();
    let mut expected = BTreeSet::new();
    for package in &members {
        let name = package.name.as_str();
        let name = name.strip_prefix("papir-").unwrap_or(name);
        if !UNDRAWN.contains(&name) {
            expected.insert(name);
        }
    }
    assert_eq!(found, expected);
}

/// The literals in a source file that name a part of a database or a stream of a seed, as in
/// `inspire/packs`. Numbered names, as in `inspire/rgsw/1`, are described together.
fn part_names(source: &str) -> BTreeSet<&str> {
    let code = source
        .lines()
        .filter(|line| !line.trim_start().starts_with("//"));
    let literals = code.flat_map(|line| line.split('"').skip(1).step_by(2));

    let mut names = BTreeSet::new();
    for literal in literals {
        let Some((scheme, part)) = literal.split_once('/') else {
            continue;
        };
        let is_name = |word: &str| {
            word.starts_with(|first: char| first.is_ascii_lowercase())
                && word
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
        };
        if is_name(scheme) && is_name(part) {
            names.insert(literal);
        }
    }
    names
}

#[test]
fn the_formats_name_every_part_and_stream_of_a_scheme() {
    let formats = fs::read_to_string(root().join(FORMATS)).unwrap();

    let mut count = 0;
    for folder in ["crates/schemes/src", "crates/research/src"] {
        for path in sources(&root().join(folder)) {
            let file = path.strip_prefix(root()).unwrap();
            if file.to_string_lossy().contains("tests") {
                continue;
            }

            let source = fs::read_to_string(&path).unwrap();
            for name in part_names(&source) {
                let is_there = formats.contains(&format!("`{name}`"));
                assert!(is_there, "{FORMATS} lacks `{name}` of {}", file.display());
                count += 1;
            }
        }
    }
    assert!(count >= 60, "{count} names");
}

#[test]
fn names_of_parts_are_found_in_code_and_not_in_comments() {
    let source = r#"
        // "a/comment"
        const A: &str = "inspire/packs"; f("zip/lwe-matrix", "a text", "x/y z", "inspire/rgsw/1");
        format!("depir/tables/{chunk}")
    "#;
    let found = part_names(source);
    assert_eq!(found, BTreeSet::from(["inspire/packs", "zip/lwe-matrix"]));
}

/// The text of a section of ARCHITECTURE, from its first words to the next heading.
fn section(begin: &str) -> String {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, section) = text
        .split_once(begin)
        .unwrap_or_else(|| panic!("no {begin}"));
    let section = section.split("\n## ").next().unwrap();
    section.to_owned()
}

/// Checks a table's rows: `crate/src/file.rs`, then `Type::function` and its step. Returns their
/// number.
fn check_steps(begin: &str) -> usize {
    let section = section(begin);
    let rows = section.lines().filter(|line| line.starts_with("| `"));

    let mut steps = 0;
    for row in rows {
        let names: Vec<&str> = row.split('`').skip(1).step_by(2).collect();
        let source = root().join("crates").join(names[0]);
        let code = fs::read_to_string(&source).unwrap_or_else(|error| panic!("{row}: {error}"));

        if let Some(function) = names.get(1).filter(|name| !name.contains('.')) {
            let function = function.rsplit("::").next().unwrap();
            let is_there = code.contains(&format!("fn {function}("))
                || code.contains(&format!("fn {function}<"));
            assert!(is_there, "{}: no {function}", source.display());
        }
        steps += 1;
    }
    steps
}

/// The lines of a file before its module of tests, without blank lines and comments.
fn code_lines(source: &str) -> usize {
    let lines: Vec<&str> = source.lines().map(str::trim).collect();
    let tests = (0..lines.len()).find(|&at| begins_tests(&lines[at..]));

    lines[..tests.unwrap_or(lines.len())]
        .iter()
        .filter(|line| !line.is_empty() && !line.starts_with("//"))
        .count()
}

/// Returns true if lines begin with a module for tests only.
fn begins_tests(lines: &[&str]) -> bool {
    // Single functions and imports may be for tests, too, and stand before code that is not.
    let mut after_attributes = lines.iter().skip_while(|line| line.starts_with("#["));
    let item = after_attributes.next().unwrap_or(&"");
    lines[0] == "#[cfg(test)]" && item.split(' ').any(|word| word == "mod")
}

#[test]
fn the_paths_name_files_and_functions_that_exist() {
    assert!(check_steps("From a request to the kernel") >= 9);
    assert!(check_steps("From a changed row") >= 7);
    assert!(check_steps("## Key material is used once") >= 6);
}

#[test]
fn the_private_part_names_its_files_and_their_length() {
    let section = section("## The code that privacy depends on");
    let rows = section.lines().filter(|line| line.starts_with("| `"));

    let mut lines = 0;
    for row in rows {
        let files = row.split('`').skip(1).step_by(2);
        for file in files {
            let path = root().join("crates").join(file);
            let source =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
            lines += code_lines(&source);
        }
    }

    let words: Vec<&str> = section.split_whitespace().collect();
    let about = words.windows(2).find(|pair| pair[0] == "about").unwrap();
    let stated: usize = about[1].replace(',', "").parse().unwrap();
    let distance = stated.abs_diff(lines);
    assert!(distance * 20 <= lines, "about {stated}: found {lines}");
}

#[test]
fn the_audit_counts_the_lines_of_its_files() {
    let page = fs::read_to_string(root().join("docs/audit.md")).unwrap();

    let mut files_counted = 0;
    let mut total = 0;
    for row in page.lines().filter(|line| line.starts_with("| `")) {
        let cells: Vec<&str> = row.split(" | ").collect();
        let Some(stated) = cells.get(1).and_then(|cell| cell.parse::<usize>().ok()) else {
            continue;
        };

        let mut lines = 0;
        for file in cells[0].split('`').skip(1).step_by(2) {
            let path = root().join("crates").join(file);
            let source =
                fs::read_to_string(&path).unwrap_or_else(|error| panic!("{file}: {error}"));
            lines += code_lines(&source);
            files_counted += 1;
        }

        // Rows may be a little old; the script on the page prints which.
        let distance = stated.abs_diff(lines);
        assert!(distance * 10 <= lines.max(100), "{lines} lines now: {row}");
        total += lines;
    }

    let sentence = page.split("It has ").nth(1).unwrap();
    let words: Vec<&str> = sentence.split_whitespace().take(6).collect();
    let stated: usize = words[0].replace(',', "").parse().unwrap();
    let files: usize = words[5].parse().unwrap();
    assert_eq!(files, files_counted, "files of the core");
    let distance = stated.abs_diff(total);
    assert!(distance * 50 <= total, "{stated} stated, {total} found");
}
