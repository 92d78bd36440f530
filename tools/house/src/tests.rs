//! Each metric on small files.
#![allow(clippy::panic, clippy::unwrap_used)]

use std::fs;
use std::path::Path;

use crate::{SourceFile, Spread, StyleMetric, StyleSurvey, Unmeasured, report};

fn source(path: &str, text: &str) -> SourceFile {
    let package = path.split('/').nth(1).unwrap();
    SourceFile {
        package: package.to_owned(),
        path: path.to_owned(),
        text: text.to_owned(),
    }
}

/// The survey of one file.
fn survey(text: &str) -> StyleSurvey {
    StyleSurvey::read(&[source("crates/a/src/lib.rs", text)]).unwrap()
}

/// The lines and names of what a metric counts in one file.
fn found(metric: StyleMetric, text: &str) -> Vec<(usize, String)> {
    let survey = survey(text);
    let offences = survey.offences(metric).into_iter();
    let found: Vec<_> = offences
        .map(|offence| (offence.line, offence.name.clone()))
        .collect();
    assert_eq!(found.len(), survey.summary().count(metric), "{metric:?}");
    found
}

fn named(line: usize, name: &str) -> Vec<(usize, String)> {
    vec![(line, name.to_owned())]
}

/// A function with this many lines in its body.
fn function(name: &str, lines: usize) -> String {
    format!("fn {name}() {{\n{}}}\n", "    work();\n".repeat(lines))
}

#[test]
fn functions_have_lines_and_tokens() {
    let summary =
        survey("/// Adds.\npub fn f(a: u8) -> u8 {\n    // Why.\n    a + 1\n}\n").summary();
    assert_eq!(summary.functions, 1);
    assert_eq!(summary.function_lines.max, 4);
    // fn f ( a : u8 ) -> u8 { a + 1 }, where an arrow is two tokens.
    assert_eq!(summary.function_tokens.max, 15);
    assert_eq!(summary.tokens, 16);
}

#[test]
fn functions_of_every_kind_count() {
    let text = "fn free() { fn inner() {} }
        struct S;
        impl S { fn method(&self) {} }
        trait T { fn provided() {} fn required(); }
        mod m { pub fn nested() {} }";
    assert_eq!(survey(text).summary().functions, 5);
}

#[test]
fn percentiles_are_sizes_that_occur() {
    let spread = Spread::of((1..=10).rev().collect());
    assert_eq!((spread.median, spread.p90, spread.max), (5, 9, 10));
    assert_eq!(Spread::of(Vec::new()), Spread::default());
    assert_eq!(Spread::of(vec![7]).median, 7);
}

#[test]
fn long_bodies_need_a_blank_line() {
    let airless = |text: &str| found(StyleMetric::Airless, text);
    assert_eq!(airless(&function("f", 16)), named(1, "f"));
    assert!(airless(&function("f", 15)).is_empty());

    let aired = function("f", 16).replacen("work();\n", "work();\n\n", 1);
    assert!(airless(&aired).is_empty());
}

#[test]
fn long_functions_need_a_blank_line() {
    let text = [function("f", 18), function("g", 17), function("h", 30)].concat();
    let text = text.replace("fn h() {\n", "fn h() {\n\n");
    assert_eq!(found(StyleMetric::AirlessFunctions, &text), named(1, "f"));
    assert_eq!(survey(&text).summary().long_functions, 2);
}

#[test]
fn blank_lines_of_literals_are_code() {
    let text = function("f", 16).replacen("work()", "work(\"a\n\nb\")", 1);
    assert_eq!(found(StyleMetric::Airless, &text), named(1, "f"));
}

#[test]
fn lets_of_two_things_count() {
    let lets = |text: &str| found(StyleMetric::TupleLets, &format!("fn f() {{\n{text}\n}}"));
    assert_eq!(lets("let (a, b) = (1, 2);"), named(2, "a, b"));
    assert_eq!(lets("let (a, _): (u8, u8) = (1, 2);"), named(2, "a, _"));
    assert_eq!(lets("if x { let (a, b) = (1, 2); }"), named(2, "a, b"));

    assert!(lets("let (a, b) = pair();").is_empty());
    assert!(lets("let pair = (1, 2);").is_empty());
    assert!(lets("let (Some(a), Some(b)) = (x, y) else { return };").is_empty());
}

#[test]
fn closures_with_a_name_count() {
    let closures = |text: &str| found(StyleMetric::Closures, &format!("fn f() {{\n{text}\n}}"));
    assert_eq!(closures("let double = |x| 2 * x;"), named(2, "double"));
    assert_eq!(closures("let mut next = move || 1;"), named(2, "next"));
    assert_eq!(closures("let g: Box<_> = |x| x;"), named(2, "g"));

    assert!(closures("list.iter().map(|x| 2 * x);").is_empty());
    assert!(closures("let sum = list.map(|x| x);").is_empty());
}

#[test]
fn closures_used_once_count() {
    let once = |text: &str| {
        let text = format!("fn f() {{\nlet g = |x| x;\n{text}\n}}");
        !found(StyleMetric::ClosuresOnce, &text).is_empty()
    };
    for used_once in [
        "g(1)",
        "list.map(g)",
        "loop { if a { g(1) } }",
        "S { g }",
        "assert!(g(1), \"{}\", s.g)",
        "let g = g(1); g",
    ] {
        assert!(once(used_once), "{used_once}");
    }
    for other in [
        "",
        "g(1) + g(2)",
        "self.g(); s.g",
        "g::h()",
        "println!(\"{}\", g(g(1)))",
    ] {
        assert!(!once(other), "{other}");
    }
}

#[test]
fn tuple_patterns_of_parameters_count() {
    let text = "fn f((a, b): (u8, u8), &(c, d): &(u8, u8), e: (u8, u8)) {}
        impl S { fn method(&self, (a, b): (u8, u8)) {} }";
    let functions = found(StyleMetric::FunctionTuples, text);
    let names: Vec<&str> = functions.iter().map(|(_, name)| name.as_str()).collect();
    assert_eq!(names, ["f", "f", "method"]);

    let text = "fn f() {\nlet g = |(a, b), c, &(d, e): &(u8, u8)| a;\nlist.map(|(i, x)| x);\n}";
    let closures = found(StyleMetric::ClosureTuples, text);
    assert_eq!(closures, [named(2, "g"), named(2, "g")].concat());
    assert!(found(StyleMetric::FunctionTuples, text).is_empty());
}

#[test]
fn comments_in_bodies_are_no_code() {
    let text = "// Outside.
fn f() {
    //! Documentation.
    // Why.
    work(); // At its end.

    let text = \"
    // no comment\";
    /// More.
    fn inner() {
        // Once, though in two bodies.
        work();
    }
}";
    let summary = survey(text).summary();
    assert_eq!(summary.comments, 2);
    assert_eq!(summary.code, 6);
}

#[test]
fn wide_comments_count() {
    let wide = "ä".repeat(97);
    let comments = |text: &str| found(StyleMetric::WideComments, text);
    assert!(comments(&format!("// {wide}\n///{wide}\nfn f() {{}}")).is_empty());

    for mark in ["// -", "/// ", "//! "] {
        let text = format!("{mark}{wide}\n\nfn f() {{}}");
        assert_eq!(comments(&text), named(1, "101 columns"), "{mark}");
    }
    assert!(comments(&format!("const A: &str = \"{wide}\";")).is_empty());
    assert!(comments(&format!("const A: &str = \"\n// {wide}\";")).is_empty());
}

#[test]
fn files_over_700_lines_count() {
    let lines = |count: usize| "// Line.\n".repeat(count);
    assert!(found(StyleMetric::LongFiles, &lines(700)).is_empty());
    assert_eq!(
        found(StyleMetric::LongFiles, &lines(701)),
        named(1, "701 lines")
    );
}

#[test]
fn names_of_types_count_once() {
    let sources = [
        source(
            "crates/a/src/lib.rs",
            "struct One; enum Two {} trait Three {}",
        ),
        source("crates/a/src/other.rs", "struct One; struct Two;"),
        source("crates/b/src/lib.rs", "struct Two; type Three = u8;"),
        source("crates/c/src/lib.rs", "struct Three; fn One() {}"),
    ];
    let survey = StyleSurvey::read(&sources).unwrap();
    let summary = survey.summary();
    assert_eq!(summary.count(StyleMetric::TwinTypes), 2);
    assert_eq!(summary.count(StyleMetric::TripletTypes), 1);
    assert_eq!(survey.crates()["c"].count(StyleMetric::TwinTypes), 1);

    let listed = report::list(&survey, "triplet-types").unwrap();
    assert_eq!(
        listed,
        "crates/a/src/lib.rs:1 Three\ncrates/b/src/lib.rs:1 Three\ncrates/c/src/lib.rs:1 Three\n"
    );
}

#[test]
fn test_code_does_not_count() {
    let long = function("long", 20);
    for left_out in [
        format!("#[cfg(test)]\nmod tests {{\n{long}}}"),
        format!("/// Why.\n#[cfg(test)]\n{long}"),
        format!("#[cfg(all(test, unix))]\nimpl S {{\n{long}}}"),
        format!("#[test]\n{long}"),
        format!("impl S {{\n#[cfg(test)]\n{long}}}"),
        format!("trait T {{\n#[cfg(any(test, test))]\n{long}}}"),
        format!("#![cfg(test)]\n{long}"),
    ] {
        let summary = survey(&left_out).summary();
        assert_eq!(summary.functions, 0, "{left_out}");
        assert!(summary.tokens < 8, "{left_out}");
    }
    for counted in [
        "#[cfg(unix)]",
        "#[cfg(not(test))]",
        "#[cfg(any(test, unix))]",
    ] {
        assert_eq!(survey(&format!("{counted}\n{long}")).summary().functions, 1);
    }
}

#[test]
fn files_of_test_modules_do_not_count() {
    let sources = [
        source(
            "crates/a/src/lib.rs",
            "mod b; #[cfg(test)] mod helpers; mod inline { #[cfg(test)] mod c; }",
        ),
        source("crates/a/src/b/mod.rs", "#[cfg(test)] mod checks;"),
        source("crates/a/src/b/checks.rs", "mod more;"),
        source("crates/a/src/b/checks/more.rs", ""),
        source("crates/a/src/helpers/mod.rs", ""),
        source("crates/a/src/helpers_of_others.rs", "#![cfg(unix)]"),
        source("crates/a/src/inline/c.rs", ""),
        source("crates/a/src/whole.rs", "#![cfg(test)]"),
    ];
    assert_eq!(StyleSurvey::read(&sources).unwrap().summary().files, 3);
}

#[test]
fn files_that_are_not_rust_have_their_place() {
    for text in ["fn f() {}\nfn g( {}", "fn f() {}\nfn fn"] {
        let Err(error) = StyleSurvey::read(&[source("crates/a/src/lib.rs", text)]) else {
            panic!("{text}");
        };
        assert!(
            matches!(error, Unmeasured::NotRust { line: 2, .. }),
            "{error}"
        );
        assert!(error.to_string().starts_with("crates/a/src/lib.rs:2: "));
    }
}

#[test]
fn a_workspace_is_found_without_git() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let sources = SourceFile::of_workspace(&root).unwrap();
    let paths: Vec<&str> = sources.iter().map(|source| source.path.as_str()).collect();
    assert!(paths.contains(&"tools/house/src/lib.rs"));
    assert!(paths.contains(&"reference/src/lib.rs"));
    assert!(!paths.contains(&"tools/house/src/tests.rs"));
    assert!(!paths.iter().any(|path| path.contains("/tests/")));

    let here = sources
        .iter()
        .find(|source| source.path == "tools/house/src/lib.rs");
    let here = here.unwrap();
    assert_eq!(here.package, "house");
    assert_eq!(
        here.text,
        fs::read_to_string(root.join(&here.path)).unwrap()
    );
}

#[test]
fn tables_are_aligned() {
    let survey = survey("fn f() {\n    let g = |x| x;\n}\n");
    let whole = report::whole(&survey);
    let columns: Vec<usize> = whole
        .lines()
        .map(|line| line.rfind("  ").map_or(0, |gap| gap + 2))
        .collect();
    assert!(
        columns.iter().all(|column| *column == columns[0]),
        "{whole}"
    );
    assert!(
        whole
            .lines()
            .any(|line| line.split_whitespace().eq(["named", "closures", "1"]))
    );

    let crates = report::crates(&survey);
    let rows: Vec<&str> = crates
        .lines()
        .filter_map(|line| line.split(' ').next())
        .collect();
    assert_eq!(rows, ["crate", "a", "all"]);
}

#[test]
fn every_metric_is_listed_by_name() {
    let survey = survey("fn f((a, b): (u8, u8)) {\n    let g = |(x, y)| x;\n}\n");
    for metric in StyleMetric::ALL {
        assert!(report::names().contains(&metric.name()));
        assert!(report::list(&survey, metric.name()).is_some());
    }
    assert_eq!(
        report::list(&survey, "tuple-parameters").unwrap(),
        "crates/a/src/lib.rs:1 f\ncrates/a/src/lib.rs:2 g\n"
    );
    assert_eq!(report::list(&survey, "nothing"), None);
}
