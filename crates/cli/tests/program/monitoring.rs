//! The alerts and the dashboard in deploy/ use metrics and labels that exist.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use serde_json::Value;

use crate::support::{Folder, Service, metrics, root, succeeds};

const OPEN: &str = "--allow-not-private";

/// The rows of a file that describe metrics, without the prefix of a comment.
fn rows(file: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join(file)).unwrap();
    let rows = text.lines().map(|line| line.trim_start_matches("//! "));
    rows.filter(|line| line.starts_with("| `papir_") || line.starts_with("| `process_"))
        .map(str::to_owned)
        .collect()
}

/// The labels of all metrics by name, as the manual lists them.
fn documented() -> BTreeMap<String, BTreeSet<String>> {
    let quoted = |cell: &str| {
        cell.split('`')
            .skip(1)
            .step_by(2)
            .map(str::to_owned)
            .collect::<Vec<_>>()
    };
    let metrics = rows("docs/operate.md").into_iter().map(|row| {
        let cells: Vec<&str> = row.split('|').collect();
        (
            quoted(cells[1]).remove(0),
            quoted(cells[3]).into_iter().collect(),
        )
    });
    metrics.collect()
}

/// The name of the metric that has this sample.
fn metric<'s>(known: &BTreeMap<String, BTreeSet<String>>, sample: &'s str) -> &'s str {
    let parts = ["_bucket", "_sum", "_count"];
    let whole = parts.iter().find_map(|part| {
        sample
            .strip_suffix(part)
            .filter(|name| known.contains_key(*name))
    });
    whole.unwrap_or(sample)
}

/// The labels of `{a="b",c=~"d"}` at the start of the text; none without braces.
fn labels(text: &str) -> BTreeSet<String> {
    let Some(inner) = text.strip_prefix('{') else {
        return BTreeSet::new();
    };
    // Values are quoted, so that every other piece holds a label and its operator. The brace that
    // ends the list is in no value.
    let mut labels = BTreeSet::new();
    for piece in inner.split('"').step_by(2) {
        if piece.contains('}') {
            break;
        }
        labels.insert(piece.trim_matches([',', ' ', '=', '~', '!']).to_owned());
    }
    labels
}

/// The metrics that an expression names, each with the labels that it selects.
fn selections(expression: &str) -> Vec<(&str, BTreeSet<String>)> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut found = Vec::new();
    let mut rest = expression;
    while let Some(start) = rest.find(is_part) {
        let word = &rest[start..];
        let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
        let (name, after) = word.split_at(end);
        if name.starts_with("papir_") || name.starts_with("process_") {
            found.push((name, labels(after)));
        }
        rest = after;
    }
    found
}

/// The labels by which an expression groups.
fn groups(expression: &str) -> BTreeSet<String> {
    let lists = expression
        .split(" by (")
        .skip(1)
        .filter_map(|rest| rest.split_once(')'));
    lists
        .flat_map(|(list, _)| list.split(',').map(|label| label.trim().to_owned()))
        .collect()
}

/// Checks that every metric and label of an expression exists.
fn check(known: &BTreeMap<String, BTreeSet<String>>, expression: &str) {
    // Prometheus adds these to every metric, and `le` to histograms.
    let added = BTreeSet::from(["job", "instance", "le"].map(str::to_owned));
    let mut usable = added.clone();
    for (sample, labels) in selections(expression) {
        let own = known
            .get(metric(known, sample))
            .unwrap_or_else(|| panic!("no metric {sample}"));
        let unknown: Vec<_> = labels
            .iter()
            .filter(|label| !own.contains(*label) && !added.contains(*label))
            .collect();
        assert!(
            unknown.is_empty(),
            "{sample} has no labels {unknown:?}: {expression}"
        );
        usable.extend(own.clone());
    }
    let unknown: Vec<_> = groups(expression).difference(&usable).cloned().collect();
    assert!(unknown.is_empty(), "no labels {unknown:?}: {expression}");
}

#[test]
fn the_manual_lists_the_metrics_of_the_server() {
    assert_eq!(
        rows("docs/operate.md"),
        rows("crates/server/src/metrics/table.rs")
    );
}

#[test]
fn a_server_has_the_documented_labels() {
    let known = documented();
    let folder = Folder::new();
    let service = Service::start(&[&folder.words(10, "plain")], &[OPEN]);
    assert_eq!(succeeds(&["get", &service.url, OPEN, "key-3"]), "value-3");
    let text = metrics(&service.url);
    let samples: Vec<&str> = text
        .lines()
        .filter(|line| !line.starts_with('#') && !line.is_empty())
        .collect();
    assert!(samples.len() > 20, "{text}");
    for sample in samples {
        let (name, mut labels) = selections(sample).remove(0);
        labels.remove("le");
        assert_eq!(Some(&labels), known.get(metric(&known, name)), "{sample}");
    }
}

#[test]
fn alerts_use_existing_metrics() {
    let text = fs::read_to_string(root().join("deploy/prometheus/alerts.yml")).unwrap();
    let alerts: Vec<&str> = text.split("- alert: ").skip(1).collect();
    let tests = fs::read_to_string(root().join("deploy/prometheus/alerts_test.yml")).unwrap();
    for alert in &alerts {
        let (name, rest) = alert.split_once('\n').unwrap();
        assert!(!selections(rest).is_empty(), "{name} uses a metric");
        assert!(
            tests.contains(&format!("alertname: {name}\n")),
            "{name} has a test"
        );
    }
    let names: Vec<&str> = alerts
        .iter()
        .map(|alert| alert.lines().next().unwrap())
        .collect();
    for wanted in [
        "PapirErrors",
        "PapirSlow",
        "PapirVersionsApart",
        "PapirLoadFailing",
        "PapirStoreFailing",
        "PapirRegistryFailing",
        "PapirStaleData",
    ] {
        assert!(names.contains(&wanted), "{wanted} is not in {names:?}");
    }
    let known = documented();
    alerts.iter().for_each(|alert| check(&known, alert));
}

/// All texts under the key `expr`, and the queries of variables.
fn expressions(value: &Value, found: &mut Vec<String>) {
    match value {
        Value::Object(fields) => {
            for (key, value) in fields {
                match value {
                    Value::String(text) if ["expr", "query"].contains(&key.as_str()) => {
                        found.push(text.clone())
                    }
                    other => expressions(other, found),
                }
            }
        }
        Value::Array(values) => values.iter().for_each(|value| expressions(value, found)),
        _ => {}
    }
}

#[test]
fn the_dashboard_uses_existing_metrics() {
    let text = fs::read_to_string(root().join("deploy/grafana/papir.json")).unwrap();
    let dashboard: Value = serde_json::from_str(&text).unwrap();
    let known = documented();
    let mut found = Vec::new();
    expressions(&dashboard, &mut found);
    assert!(found.len() > 20, "{found:?}");
    found
        .iter()
        .for_each(|expression| check(&known, expression));
    let panels = dashboard["panels"].as_array().unwrap();
    let ids: BTreeSet<u64> = panels
        .iter()
        .map(|panel| panel["id"].as_u64().unwrap())
        .collect();
    assert_eq!(ids.len(), panels.len(), "each panel has its own id");
}
