//! The files in deploy/: image, unit and chart. `make deploy-check` checks them with their own tools.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::support::{root, succeeds};

fn deployed(file: &str) -> String {
    fs::read_to_string(root().join("deploy").join(file)).unwrap()
}

/// The variables that set options of `papir serve`.
fn variables() -> BTreeSet<String> {
    let help = succeeds(&["serve", "--help"]);
    // A variable that may hold a password is named without its value.
    let found = help
        .split("[env: ")
        .skip(1)
        .filter_map(|rest| rest.split(['=', ']']).next());
    let variables: BTreeSet<String> = found.map(str::to_owned).collect();
    assert!(variables.len() > 20, "{variables:?}");
    variables
}

/// The instructions of each stage of the Dockerfile, as pairs of name and text.
fn stages() -> Vec<Vec<(String, String)>> {
    let text = deployed("Dockerfile");
    let lines = text
        .lines()
        .filter(|line| !line.trim_start().starts_with('#'));
    let joined = lines.collect::<Vec<_>>().join("\n").replace("\\\n", " ");
    let mut stages: Vec<Vec<(String, String)>> = Vec::new();
    for line in joined.lines().filter(|line| !line.trim().is_empty()) {
        let (name, rest) = line.split_once(' ').unwrap();
        if name == "FROM" {
            stages.push(Vec::new());
        }
        let stage = stages.last_mut().expect("FROM comes first");
        stage.push((name.to_owned(), rest.trim().to_owned()));
    }
    stages
}

/// The texts of all instructions with this name.
fn all<'s>(stage: &'s [(String, String)], name: &str) -> Vec<&'s str> {
    stage
        .iter()
        .filter(|(found, _)| found == name)
        .map(|(_, text)| text.as_str())
        .collect()
}

/// A command as a list, so that it runs without a shell.
fn command(text: &str) -> Vec<String> {
    serde_json::from_str(text).expect(text)
}

#[test]
fn the_image_has_what_the_program_needs() {
    let stages = stages();
    let [build, image] = &stages[..] else {
        panic!("expected two stages")
    };
    assert!(all(build, "FROM")[0].ends_with(" AS build"));
    assert!(
        all(build, "RUN")
            .iter()
            .any(|step| step.contains("cargo build --locked --release -p papir-cli"))
    );

    let steps = all(image, "RUN");
    assert!(
        steps.iter().any(|step| step.contains(" ca-certificates")),
        "TLS to object stores needs roots"
    );
    for step in steps.iter().filter(|step| step.contains("apt-get install")) {
        assert!(
            step.starts_with("apt-get update ") && step.contains("--no-install-recommends"),
            "{step}"
        );
        assert!(step.ends_with("rm -rf /var/lib/apt/lists/*"), "{step}");
    }
    let page = "--from=build /papir/target/page /usr/local/share/papir/page";
    assert_eq!(
        all(image, "COPY"),
        [
            "--from=build /papir/target/release/papir /usr/local/bin/papir",
            page
        ]
    );
    assert!(all(build, "RUN").contains(&"make page"));
    assert_eq!(
        all(image, "USER"),
        ["65532:65532"],
        "a number, as Kubernetes must see that it is not root"
    );

    let settings: BTreeMap<&str, &str> = all(image, "ENV")
        .iter()
        .map(|pair| pair.split_once('=').unwrap())
        .collect();
    let options = variables();
    assert!(
        settings.keys().all(|name| options.contains(*name)),
        "{settings:?}"
    );
    let port = settings["PAPIR_SERVE_LISTEN"]
        .strip_prefix("0.0.0.0:")
        .unwrap();
    assert_eq!(all(image, "EXPOSE"), [port]);
    let owned = format!(
        "install -d -o 65532 -g 65532 {}",
        settings["PAPIR_SERVE_CACHE"]
    );
    assert!(
        steps.contains(&owned.as_str()),
        "the user can write to its cache"
    );

    let entry = [all(image, "ENTRYPOINT")[0], all(image, "CMD")[0]]
        .map(command)
        .concat();
    assert_eq!(entry, ["papir", "serve"]);
    let health = command(all(image, "HEALTHCHECK")[0].split_once("CMD ").unwrap().1);
    let url = format!("http://127.0.0.1:{port}");
    assert_eq!(health, ["papir", "inspect", "--ready", &url]);
    assert_eq!(all(image, "STOPSIGNAL"), ["SIGTERM"]);

    let ignored = deployed("Dockerfile.dockerignore");
    assert!(
        ["target", ".git"]
            .iter()
            .all(|folder| ignored.lines().any(|line| line == *folder))
    );
}

#[test]
fn the_packages_make_the_group_of_the_unit() {
    let unit = deployed("papir.service");
    let named = unit
        .lines()
        .filter_map(|line| line.strip_prefix("SupplementaryGroups="));
    let groups: Vec<&str> = named.collect();
    let [group] = groups[..] else {
        panic!("expected one group: {groups:?}")
    };

    let made = format!("groupadd --system {group}");
    for file in ["packages/postinst", "packages/papir.spec"] {
        assert!(deployed(file).contains(&made), "{file} lacks: {made}");
    }
    let line = format!("\ng {group} -\n");
    let users = deployed("packages/papir.sysusers");
    assert!(users.contains(&line), "{users}");
}

#[test]
fn the_unit_waits_for_notifications_and_sets_options_only() {
    let unit = deployed("papir.service");
    let settings: Vec<(&str, &str)> = unit
        .lines()
        .filter_map(|line| line.split_once('='))
        .collect();
    let value = |key: &str| {
        settings
            .iter()
            .find(|(found, _)| *found == key)
            .map(|(_, value)| *value)
    };
    assert_eq!(value("Type"), Some("notify"));
    assert!(value("WatchdogSec").is_some_and(|seconds| seconds.parse::<u32>().unwrap() >= 10));
    assert_eq!(value("ExecReload"), Some("/bin/kill -HUP $MAINPID"));
    assert_eq!(value("CacheDirectory"), Some("papir"));
    let options = variables();
    for (_, variable) in settings.iter().filter(|(key, _)| *key == "Environment") {
        let (name, _) = variable.split_once('=').unwrap();
        assert!(options.contains(name), "{name}");
    }
}

/// The keys of a JSON object.
fn keys(object: &Value) -> BTreeSet<String> {
    object.as_object().unwrap().keys().cloned().collect()
}

#[test]
fn the_chart_knows_every_option() {
    let schema: Value = serde_json::from_str(&deployed("helm/papir/values.schema.json")).unwrap();
    let known = keys(&schema["properties"]["config"]["properties"]);
    // These follow from other values of the chart.
    let derived = [
        "cache", "config", "listen", "registry", "tls-cert", "tls-key", "tokens",
    ];
    // Not offered: the cluster presents no certificate when it probes a replica, and the replicas
    // have no volume that they share and write, for keys or for spent tokens. Without keys no
    // relay has anything to send.
    let absent = [
        "client-ca",
        "client-crl",
        "ohttp",
        "privacy-pass",
        "privacy-pass-not-before",
        "privacy-pass-origin",
        "relays",
    ];
    let options = variables().into_iter().map(|variable| {
        let option = variable.strip_prefix("PAPIR_SERVE_").unwrap();
        option.to_lowercase().replace('_', "-")
    });
    let expected: BTreeSet<String> = options
        .filter(|option| ![&derived[..], &absent].concat().contains(&option.as_str()))
        .collect();
    assert_eq!(known, expected);

    // values.yaml documents every value, and the chart's check sets every option.
    let values = deployed("helm/papir/values.yaml");
    let documented: BTreeSet<String> = values
        .lines()
        .filter(|line| line.starts_with(|c: char| c.is_ascii_alphabetic()))
        .map(|line| line.split_once(':').unwrap().0.to_owned())
        .collect();
    let mut values_of_schema = keys(&schema["properties"]);
    values_of_schema.remove("global");
    assert_eq!(documented, values_of_schema);
    let full = deployed("helm/papir/ci/full-values.yaml");
    for option in &known {
        assert!(full.contains(&format!("\n  {option}: ")), "{option}");
    }
}

#[test]
fn the_chart_is_of_this_version() {
    let chart = deployed("helm/papir/Chart.yaml");
    let version = format!("appVersion: \"{}\"", env!("CARGO_PKG_VERSION"));
    assert!(chart.lines().any(|line| line == version), "{chart}");
}

#[test]
fn the_chart_has_the_alerts_and_the_dashboard() {
    for (own, original) in [
        ("alerts.yml", "prometheus/alerts.yml"),
        ("dashboard.json", "grafana/papir.json"),
    ] {
        assert_eq!(
            deployed(&format!("helm/papir/files/{own}")),
            deployed(original)
        );
    }
}

/// The operator's manual shows the configurations of proxies that `make proxy-check` runs.
#[test]
fn the_manual_shows_the_configurations_of_proxies() {
    let manual = fs::read_to_string(root().join("docs/operate.md")).unwrap();
    let shown = [
        ("nginx.conf", "nginx"),
        ("haproxy.cfg", "haproxy"),
        ("Caddyfile", "caddyfile"),
    ];
    for (file, language) in shown {
        let text = deployed(&format!("proxies/{file}"));
        let block = format!("```{language}\n{text}```\n");
        assert_eq!(manual.matches(&block).count(), 1, "{file}");
    }

    let files = fs::read_dir(root().join("deploy/proxies")).unwrap();
    assert_eq!(files.count(), shown.len(), "a configuration is not shown");
}
