//! The tables of schemes in docs/schemes.md and docs/security.md agree with the registry.
//!
//! `PAPIR_WRITE_PAGES=1 cargo test -p papir-schemes --test it pages` writes the tables.

use std::fs;
use std::path::Path;

use papir_schemes::registry::{self, Listing};

use crate::short::registered;

/// Compares the table between two comments of a page with the registry's rows.
fn check(page: &str, title: &str, row: impl Fn(&Listing) -> String) {
    registered();
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(page);
    let text = fs::read_to_string(&path).unwrap();
    let begin = "<!-- schemes -->\n";
    let end = "<!-- /schemes -->\n";
    let (before, rest) = text
        .split_once(begin)
        .unwrap_or_else(|| panic!("{page} has no {begin}"));
    let (found, after) = rest
        .split_once(end)
        .unwrap_or_else(|| panic!("{page} has no {end}"));
    let columns = title.matches('|').count() - 1;
    let rows: Vec<String> = registry::listings().iter().map(row).collect();
    let expected = format!(
        "{title}\n{}|\n{}\n",
        "|---".repeat(columns),
        rows.join("\n")
    );
    if std::env::var_os("PAPIR_WRITE_PAGES").is_some() {
        fs::write(&path, [before, begin, &expected, end, after].concat()).unwrap();
        return;
    }
    assert_eq!(found, expected, "{page} differs from the registry");
}

#[test]
fn the_page_of_schemes_lists_the_registry() {
    check("docs/schemes.md", "| name | paper | for |", |one| {
        format!(
            "| `{}` | {} | {} |",
            one.scheme.name(),
            one.paper,
            one.purpose
        )
    });
}

#[test]
fn the_security_page_lists_the_registry() {
    check("docs/security.md", "| scheme | assumption |", |one| {
        format!("| `{}` | {} |", one.scheme.name(), one.assumption)
    });
}
