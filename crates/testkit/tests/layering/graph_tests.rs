//! Tests of the module graph on small sources.

use crate::graph::{Graph, Reading};
use crate::modules::{Files, parse};

fn graph(sources: &[(&str, &str)]) -> Graph {
    let files: Files = sources
        .iter()
        .map(|(name, text)| ((*name).to_owned(), (*text).to_owned()))
        .collect();
    Graph::read(&parse(&files), Reading::Definitions)
}

/// The cycles of a crate, each as its files.
fn cycles(sources: &[(&str, &str)]) -> Vec<String> {
    let graph = graph(sources);
    graph
        .components()
        .iter()
        .map(|component| component.iter().copied().collect::<Vec<_>>().join(" "))
        .collect()
}

/// The arrows of a crate, as `from>to`.
fn arrows(sources: &[(&str, &str)]) -> Vec<String> {
    graph(sources)
        .arrows()
        .map(|(from, to)| format!("{from}>{to}"))
        .collect()
}

const NONE: [&str; 0] = [];

#[test]
fn a_cycle_of_two_files() {
    let sources = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "use crate::b::B; pub struct A;"),
        ("b.rs", "pub struct B; pub fn f(_: crate::a::A) {}"),
        ("c.rs", "use crate::{a::A, b::B};"),
    ];
    assert_eq!(cycles(&sources), ["a.rs b.rs"]);
    let text = graph(&sources).describe_cycles();
    assert!(
        text.contains("a.rs → b.rs: crate::b::B") && text.contains("b.rs → a.rs: crate::a::A"),
        "{text}"
    );
}

#[test]
fn a_longer_cycle() {
    let sources = [
        ("lib.rs", "mod a; mod b; mod c;"),
        ("a.rs", "pub type A = crate::b::B;"),
        ("b.rs", "pub type B = crate::c::C;"),
        ("c.rs", "pub type C = u8; pub type D = crate::a::A;"),
    ];
    assert_eq!(cycles(&sources), ["a.rs b.rs c.rs"]);
    assert_eq!(graph(&sources).describe_cycles().matches('→').count(), 3);
}

#[test]
fn a_cycle_through_a_reexport() {
    let sources = [
        ("lib.rs", "mod f; mod g;"),
        (
            "f/mod.rs",
            "mod a; mod b; pub use a::A; pub use b::B as Renamed;",
        ),
        ("f/a.rs", "use super::Renamed; pub struct A;"),
        ("f/b.rs", "use crate::g::A; pub struct B;"),
        ("g.rs", "pub use crate::f::A;"),
    ];
    assert_eq!(cycles(&sources), ["f/a.rs f/b.rs"]);
}

#[test]
fn a_cycle_through_super() {
    let sources = [
        ("lib.rs", "mod f;"),
        ("f/mod.rs", "mod a; use a::A; pub struct F(A);"),
        (
            "f/a.rs",
            "pub struct A; mod inner { fn f(_: super::super::F) {} }",
        ),
    ];
    assert_eq!(cycles(&sources), ["f/a.rs f/mod.rs"]);
}

#[test]
fn a_cycle_through_a_glob() {
    let sources = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "use crate::b::*; pub struct A; fn f(_: B) {}"),
        ("b.rs", "use super::a::A; pub struct B;"),
    ];
    assert_eq!(cycles(&sources), ["a.rs b.rs"]);
}

#[test]
fn a_name_behind_a_glob_reexport_leads_to_its_definition() {
    let sources = [
        ("lib.rs", "mod f; mod c;"),
        ("f/mod.rs", "mod a; pub use a::*;"),
        ("f/a.rs", "pub struct A; pub use crate::c::C;"),
        ("c.rs", "use crate::f::A; pub struct C;"),
    ];
    assert_eq!(cycles(&sources), ["c.rs f/a.rs"]);
}

#[test]
fn a_cycle_through_the_tokens_of_a_macro() {
    let sources = [
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "use crate::b; pub fn f() { println!(\"{}\", { b::g(1) }) }",
        ),
        ("b.rs", "pub fn g() { assert!(x, crate::a::f()) }"),
    ];
    assert_eq!(cycles(&sources), ["a.rs b.rs"]);
}

#[test]
fn a_cycle_through_a_macro() {
    let sources = [
        ("lib.rs", "#[macro_use] mod a; mod b;"),
        ("a.rs", "macro_rules! m { () => { $crate::b::g() } }"),
        ("b.rs", "pub fn g() {} fn h() { m!() }"),
    ];
    assert_eq!(cycles(&sources), ["a.rs b.rs"]);
}

#[test]
fn a_cycle_through_a_serde_attribute() {
    let sources = [
        ("lib.rs", "mod a; mod b;"),
        (
            "a.rs",
            "use crate::b; struct A { #[serde(with = \"b\")] field: u8 } pub fn f() {}",
        ),
        ("b.rs", "pub fn serialize() { crate::a::f() }"),
    ];
    assert_eq!(cycles(&sources), ["a.rs b.rs"]);
}

#[test]
fn a_reexport_of_a_child_is_no_arrow() {
    let sources = [
        (
            "lib.rs",
            "mod f; pub use f::{A, F}; pub(crate) use f::b::B;",
        ),
        (
            "f/mod.rs",
            "mod a; pub mod b; pub use self::a::A; pub(super) use a::run; pub use b::*; pub struct F;",
        ),
        ("f/a.rs", "use super::F; pub struct A; pub fn run() {}"),
        ("f/b.rs", "use crate::f::F; use crate::A; pub struct B;"),
    ];
    assert_eq!(cycles(&sources), NONE);
    assert_eq!(
        arrows(&sources),
        ["f/a.rs>f/mod.rs", "f/b.rs>f/a.rs", "f/b.rs>f/mod.rs"]
    );
}

#[test]
fn a_reexported_name_that_is_also_used_is_an_arrow() {
    let sources = [
        ("lib.rs", "mod f;"),
        ("f/mod.rs", "mod a; pub use a::A; pub struct F(A);"),
        ("f/a.rs", "use super::F; pub struct A;"),
    ];
    assert_eq!(cycles(&sources), ["f/a.rs f/mod.rs"]);
}

#[test]
fn test_code_is_ignored() {
    let sources = [
        ("lib.rs", "mod a; mod b; #[cfg(all(test, unix))] mod tests;"),
        (
            "a.rs",
            "pub struct A; #[cfg(test)] mod tests { use crate::b::B; }",
        ),
        (
            "b.rs",
            "use crate::a::A; pub struct B; #[cfg(not(test))] fn f() {} #[cfg(test)] use crate::tests::T;",
        ),
        ("tests.rs", "pub struct T; use crate::b::B;"),
    ];
    assert_eq!(arrows(&sources), ["b.rs>a.rs"]);
}

#[test]
fn names_of_other_crates_are_no_arrows() {
    let sources = [
        ("lib.rs", "mod metrics; mod a;"),
        (
            "metrics.rs",
            "use ::metrics::counter; use other::{self, a::X}; fn f(_: other::a::Y) { counter!(X) }",
        ),
        (
            "a.rs",
            "use log::log; pub struct X; fn f() { log::info!(\"\"); log!() }",
        ),
    ];
    assert_eq!(arrows(&sources), NONE);
}

#[test]
fn an_item_of_another_crate_belongs_to_the_file_that_reexports_it() {
    let sources = [
        ("lib.rs", "mod a; mod b;"),
        ("a.rs", "pub use other::Error; use crate::b::B;"),
        ("b.rs", "use crate::a::Error; pub struct B;"),
    ];
    assert_eq!(cycles(&sources), ["a.rs b.rs"]);
}

#[test]
fn a_module_and_a_function_of_one_name_are_told_apart() {
    let sources = [
        ("lib.rs", "mod f; mod g;"),
        ("f/mod.rs", "mod set; mod up; pub use set::set;"),
        ("f/set.rs", "pub fn set() {} pub fn other() {}"),
        ("f/up.rs", "use super::set; fn f() { set::other(); set() }"),
        ("g.rs", "fn f() { crate::f::set() }"),
    ];
    assert_eq!(arrows(&sources), ["f/up.rs>f/set.rs", "g.rs>f/set.rs"]);
}

#[test]
fn arrows_to_a_higher_layer() {
    let sources = [
        ("lib.rs", "mod http; mod low; mod free;"),
        ("http/mod.rs", "use crate::low::Low; pub struct Http;"),
        (
            "low/mod.rs",
            "mod part; use crate::free::Free; pub struct Low;",
        ),
        ("low/part.rs", "use crate::http::Http;"),
        ("free.rs", "use crate::http::Http; pub struct Free;"),
    ];
    let expected = ["low/mod.rs → http/mod.rs", "low/part.rs → http/mod.rs"];
    assert_eq!(graph(&sources).upward(&[&["http"], &["low"]]), expected);
    assert_eq!(
        graph(&sources).upward(&[&["low"], &["http"]]),
        ["http/mod.rs → low/mod.rs"]
    );
}
