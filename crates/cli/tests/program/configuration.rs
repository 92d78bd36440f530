//! `papir serve --config`, variables, `--check-config`, and the examples in deploy/.

use std::fs;
use std::process::Output;

use crate::support::{Folder, fails_with, program, root, succeeds};

/// Runs papir with environment variables.
fn with(variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    program()
        .args(arguments)
        .envs(variables.iter().copied())
        .output()
        .unwrap()
}

fn printed(output: &Output) -> toml::Table {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    text(&output.stdout).parse().unwrap()
}

#[test]
fn flags_override_variables_and_variables_the_file() {
    let folder = Folder::new();
    folder.words(10, "plain");
    let text = "threads = 1\nmax-queued = 2\nmax-concurrent = 3\nallow-not-private = true\n\
                [[database]]\nname = \"terms\"\npath = \"words.papir\"\n";
    let file = folder.write("papir.toml", text);
    let variables = [
        ("PAPIR_SERVE_MAX_QUEUED", "20"),
        ("PAPIR_SERVE_MAX_CONCURRENT", "30"),
    ];
    let arguments = [
        "serve",
        "--config",
        &file,
        "--check-config",
        "--max-concurrent",
        "300",
    ];
    let table = printed(&with(&variables, &arguments));
    for (key, value) in [
        ("threads", 1),
        ("max-queued", 20),
        ("max-concurrent", 300),
        ("burst", 20),
    ] {
        assert_eq!(table[key].as_integer(), Some(value), "{key}");
    }
    assert_eq!(table["header-timeout"].as_str(), Some("20s"));
    let database = &table["database"][0];
    assert_eq!(database["name"].as_str(), Some("terms"));
    assert_eq!(
        database["path"].as_str(),
        Some(folder.path("words.papir").as_str()),
        "relative to the file"
    );
}

#[test]
fn empty_variables_count_as_unset() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let variables = [
        ("PAPIR_SERVE_TLS_CERT", ""),
        ("PAPIR_SERVE_THREADS", ""),
        ("PAPIR_SERVE_MAPPED", ""),
        ("PAPIR_SERVE_FILES", ""),
    ];
    let arguments = ["serve", "--check-config", "--allow-not-private", &words];

    let table = printed(&with(&variables, &arguments));

    assert_eq!(table["database"].as_array().unwrap().len(), 1);
    assert!(!table.contains_key("tls-cert"), "{table}");
    let token = with(&[("PAPIR_TOKEN", "")], &["get", &folder.path("none"), "a"]);
    let text = String::from_utf8(token.stderr).unwrap();
    assert!(!text.contains("token"), "{text}");
}

#[test]
fn files_come_from_arguments_then_a_variable_then_the_configuration() {
    let folder = Folder::short();
    let words = folder.words(10, "plain");
    let numbers = folder.numbers(5, "plain");
    let file = folder.write("papir.toml", "[[database]]\npath = \"words.papir\"\n");
    let both = format!("{words}:{numbers}");
    let count = |variables: &[(&str, &str)], arguments: &[&str]| {
        let common = ["serve", "--check-config", "--allow-not-private"];
        printed(&with(variables, &[&common, arguments].concat()))["database"]
            .as_array()
            .unwrap()
            .len()
    };
    assert_eq!(count(&[], &["--config", &file]), 1);
    assert_eq!(
        count(&[("PAPIR_SERVE_FILES", &both)], &["--config", &file]),
        2
    );
    assert_eq!(count(&[("PAPIR_SERVE_FILES", &both)], &[&numbers]), 1);
    fails_with(&["serve", "--check-config"], &["FILE", "--config"]);
}

#[test]
fn invalid_configurations_are_refused() {
    let folder = Folder::new();
    folder.words(10, "plain");
    let check = |text: &str, parts: &[&str]| {
        let file = folder.write("bad.toml", text);
        let serve = ["serve", "--check-config", "--allow-not-private"];
        fails_with(&[&serve[..], &["--config", &file]].concat(), parts);
    };
    check("threads = 1\nthread = 2\n", &["bad.toml:2:", "`thread`"]);
    check("threads = \"many\"\n", &["bad.toml:1:", "many"]);
    check(
        "[[database]]\npath = \"words.papir\"\nfile = \"x\"\n",
        &["bad.toml:3:", "`file`"],
    );
    check("[[database]]\npath = \"none.papir\"\n", &["none.papir"]);
    check(
        "tokens = \"none.toml\"\n[[database]]\npath = \"words.papir\"\n",
        &["none.toml"],
    );
    check(
        "header-timeout = \"0\"\n[[database]]\npath = \"words.papir\"\n",
        &["header-timeout"],
    );
    fails_with(
        &["serve", "--config", &folder.path("none.toml")],
        &["none.toml"],
    );
    // No machine has this many.
    check(
        "device = \"cuda:1000\"\n[[database]]\npath = \"words.papir\"\n",
        &["cuda:1000: "],
    );
    check(
        "device = \"gpu\"\n[[database]]\npath = \"words.papir\"\n",
        &["gpu: no such device", "cuda:0"],
    );
    check(
        "page = \"site\"\n[[database]]\npath = \"words.papir\"\n",
        &[&folder.path("site"), "no index.html"],
    );
    check(
        "page = \"auto\"\n[[database]]\npath = \"words.papir\"\n",
        &["share/papir/page", "no index.html"],
    );
    check(
        "header-timeout = \"0\"\n[[database]]\npath = \"words.papir\"\n",
        &["header-timeout"],
    );
    // The same errors prevent a start without --check-config.
    fails_with(
        &["serve", "--config", &folder.path("bad.toml")],
        &["header-timeout"],
    );
}

#[test]
fn invalid_variables_are_refused() {
    let folder = Folder::new();
    let words = folder.words(10, "plain");
    let unknown = with(
        &[("PAPIR_SERVE_THREAD", "1")],
        &["serve", "--check-config", &words],
    );
    assert_eq!(unknown.status.code(), Some(2));
    assert!(
        String::from_utf8(unknown.stderr)
            .unwrap()
            .contains("PAPIR_SERVE_THREAD")
    );
    for level in ["warning", "papir_server=debug", "7"] {
        let unknown = with(
            &[("PAPIR_LOG", level)],
            &["serve", "--check-config", &words],
        );
        assert_eq!(unknown.status.code(), Some(2));
        let text = String::from_utf8(unknown.stderr).unwrap();
        assert!(
            text.contains(&format!(
                "PAPIR_LOG is `{level}`: expected off, error, warn, info, debug or trace"
            )),
            "{text}"
        );
    }
    let malformed = with(
        &[("PAPIR_SERVE_THREADS", "many")],
        &["serve", "--check-config", &words],
    );
    assert_eq!(malformed.status.code(), Some(2));
}

#[test]
fn the_example_configuration_is_valid() {
    let folder = Folder::new();
    let example = fs::read_to_string(root().join("deploy/papir.toml")).unwrap();
    // The files that the example refers to.
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    folder.write("cert.pem", own.cert.pem());
    folder.write("key.pem", own.signing_key.serialize_pem());
    succeeds(&["tokens", &folder.path("tokens.toml"), "add", "--name", "a"]);
    fs::copy(folder.words(10, "plain"), folder.path("names.papir")).unwrap();
    let local = example
        .replace("/etc/papir/", "")
        .replace("/var/lib/papir/", "");
    let file = folder.write("papir.toml", local);
    let text = succeeds(&[
        "serve",
        "--config",
        &file,
        "--check-config",
        "--allow-not-private",
    ]);
    let printed: toml::Table = text.parse().unwrap();
    let example: toml::Table = example.parse().unwrap();
    // The example shows every printed key, except the ones that only tests need.
    let missing: Vec<_> = printed
        .keys()
        .filter(|key| !example.contains_key(*key))
        .collect();
    assert_eq!(
        missing,
        ["allow-not-private", "mapped", "no-metrics", "verify"]
    );
    assert_eq!(printed["rate"], example["rate"]);
}
