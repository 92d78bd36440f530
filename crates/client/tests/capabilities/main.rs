//! Checks that the options and calls of the clients in each language are the options and calls in
//! the tables of the manual.
//!
//! An option that one client gains is then added to the others, or its absence is written down.
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Page with the tables.
const PAGE: &str = "docs/operate.md";
const OPTIONS: &str = "### Options of the clients\n";
const CALLS: &str = "### Calls of the clients\n";

type Names = BTreeSet<String>;

/// Returns the text of a file of the repository.
fn read(path: &str) -> String {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    fs::read_to_string(root.join(path)).expect(path)
}

/// Returns the text of `file` from the line that contains `start` to the next line that is `end`.
fn block(file: &str, start: &str, end: &str) -> String {
    let text = read(file);
    let lines = text.lines().skip_while(|line| !line.contains(start));
    let inside = lines.skip(1).take_while(|line| line.trim_end() != end);
    let inside: Vec<&str> = inside.collect();
    assert!(!inside.is_empty(), "{file}: nothing after `{start}`");
    inside.join("\n")
}

/// Returns the words that follow `before` in a line and end before one of `ends`.
fn words(text: &str, before: &str, ends: &[char]) -> Names {
    let found = text.lines().filter_map(|line| {
        let rest = line.trim_start().strip_prefix(before)?;
        Some(rest.split(ends).next()?.to_owned())
    });
    found.filter(|name| is_name(name)).collect()
}

fn is_name(text: &str) -> bool {
    text.starts_with(char::is_alphabetic)
        && text
            .chars()
            .all(|one| one.is_ascii_alphanumeric() || one == '_')
}

/// Returns the names in backticks in a column, from 0, of the table below a heading.
fn column(heading: &str, number: usize) -> Names {
    let text = read(PAGE);
    let (_, after) = text.split_once(heading).expect(heading);
    let rows = after
        .lines()
        .skip_while(|line| !line.starts_with('|'))
        .take_while(|line| line.starts_with('|'));

    let cells = rows
        .skip(2)
        .filter_map(|row| row.split('|').nth(number + 1));
    cells
        .flat_map(|cell| cell.split('`').skip(1).step_by(2))
        .map(str::to_owned)
        .collect()
}

fn assert_same(what: &str, heading: &str, number: usize, found: &Names) {
    let listed = column(heading, number);
    let unlisted: Vec<_> = found.difference(&listed).collect();
    let absent: Vec<_> = listed.difference(found).collect();
    assert!(
        unlisted.is_empty() && absent.is_empty(),
        "{what}: not in {PAGE}: {unlisted:?}; only in {PAGE}: {absent:?}"
    );
}

fn rust_options() -> Names {
    let file = "crates/client/src/transport/options.rs";
    let mut names = words(&block(file, "pub struct Options {", "}"), "pub ", &[':']);

    // Its fields are options of their own in the other languages.
    assert!(names.remove("checkpoint"));
    let settings = "crates/client/src/core/settings.rs";
    let fields = words(
        &block(settings, "pub struct CheckpointSettings {", "}"),
        "pub ",
        &[':'],
    );
    names.extend(fields.iter().map(|field| format!("checkpoint.{field}")));
    names
}

#[test]
fn the_options_of_all_clients_are_in_the_manual() {
    assert_same("Rust", OPTIONS, 0, &rust_options());

    let text = read("python/pypapir/_options.py");
    let (_, class) = text.split_once("class ConnectOptions").unwrap();
    let (class, _) = class.split_once("\nclass ").unwrap();
    let (_, fields) = class.rsplit_once("\"\"\"").unwrap();
    assert_same("Python", OPTIONS, 1, &words(fields, "", &[':']));

    let javascript = block("js/lib/index.d.ts", "interface ConnectOptions {", "}");
    let names = words(&javascript, "", &['?']);
    assert_same("JavaScript", OPTIONS, 2, &names);

    let kotlin = block("crates/ffi/src/options.rs", "pub struct Options {", "}");
    let names = words(&kotlin, "pub ", &[':']);
    let names = names.iter().map(|name| camel_case(name)).collect();
    assert_same("Kotlin", OPTIONS, 3, &names);
}

#[test]
fn the_calls_of_all_clients_are_in_the_manual() {
    let shared = "crates/client/src/transport/operations/connection.rs";
    // Indented, since it is in a macro.
    let shared = block(shared, "impl Connection {", "        }");
    let shared = shared.replace("pub $($async)? fn", "pub fn");
    for folder in ["blocking", "aio"] {
        let mut names = words(&shared, "pub fn ", &['(', '<']);
        for file in ["connection", "scheduled"] {
            let file = format!("crates/client/src/{folder}/{file}.rs");
            let own = block(&file, "impl Connection {", "}").replace("pub async fn", "pub fn");
            names.extend(words(&own, "pub fn ", &['(', '<']));
        }
        assert_same(folder, CALLS, 0, &names);
    }

    let described = read("python/pypapir/_description.py");
    let (_, described) = described.split_once("class Described").unwrap();
    let schedules = read("python/pypapir/_scheduled.py");
    // Methods of schedules are not calls of clients.
    let functions = schedules.lines().filter(|line| line.starts_with("def "));
    let functions: Vec<&str> = functions.collect();
    for file in ["python/pypapir/_client.py", "python/pypapir/aio.py"] {
        let client = read(file).replace("async def", "def") + described;
        let mut names = words(&client, "def ", &['(']);
        names.extend(words(&functions.join("\n"), "def ", &['(']));
        names.retain(|name| !name.starts_with('_'));
        assert_same(file, CALLS, 1, &names);
    }

    let database = block("js/lib/index.d.ts", "interface Database {", "}");
    let mut names = words(&database, "", &['(']);
    names.extend(words(&database, "readonly ", &[':']));
    names.insert("connect".to_owned());
    assert_same("JavaScript", CALLS, 2, &names);

    let kotlin = block("crates/ffi/src/database.rs", "impl Database {", "}");
    let names = words(&kotlin, "pub async fn ", &['(']);
    let names = names.iter().map(|name| camel_case(name)).collect();
    assert_same("Kotlin", CALLS, 3, &names);
}

/// Returns a name as Kotlin and Swift write it.
fn camel_case(name: &str) -> String {
    let mut parts = name.split('_');
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |name, part| {
        let (head, rest) = part.split_at(1);
        name + &head.to_uppercase() + rest
    })
}
