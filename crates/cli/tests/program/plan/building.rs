//! Builds by a printed plan, and builds that plan themselves.

use serde_json::Value;

use super::{number, offers, planned, planned_with_own_rates, rates};
use crate::support::{Folder, Service, fails_with, papir, succeeds};

#[test]
fn a_source_is_planned_as_it_would_be_built() {
    let folder = Folder::new();
    let long = "x".repeat(500);
    let rows: String = (0..300)
        .map(|i| format!("word {i},{},{i}\n", &long[..i]))
        .collect();
    let source = folder.write("words.csv", format!("word,meaning,number\n{rows}"));
    let plan = planned(&[&source]);
    assert_eq!((&plan["keys"], &plan["keyed"]), (&300.into(), &true.into()));
    let out = folder.path("words.papir");
    let keyed = ["--key", "word", "--value", "meaning,number"];
    let build = [
        "build",
        &source,
        "--out",
        &out,
        "--scheme",
        "simple",
        "--bucket-bytes",
        "4096",
    ];
    let built = succeeds(&[&build, &keyed[..]].concat());
    let records = built
        .lines()
        .find(|line| line.starts_with("records"))
        .unwrap()
        .to_owned();
    let buckets: f64 = records.split_whitespace().nth(1).unwrap().parse().unwrap();
    // Keys are arranged by a random seed, so that the number of buckets varies a little.
    assert!(
        (number(&plan, "records") - buckets).abs() <= 3.0,
        "{records} {plan}"
    );

    let rates = rates(&folder, "1e-9");
    let batch = [
        "plan",
        &source,
        "--rates",
        &rates,
        "--key",
        "word",
        "--batch",
        "8",
        "--clients",
        "1000",
    ];
    let text = succeeds(&batch);
    for part in [
        "300 entries, key `word`",
        "a batch of 8 lookups",
        "inspire-batch",
        "simple-batch",
        "full batch of 8",
    ] {
        assert!(text.contains(part), "no {part} in {text}");
    }
    assert!(
        text.contains("the server receives ") && text.contains(" and sends "),
        "{text}"
    );
    let raw = folder.write("raw.bin", [7; 12]);
    assert_eq!(planned(&[&raw, "--record-bytes", "4"])["records"], 3);
    fails_with(&["plan", &raw], &["raw.bin", "--record-bytes"]);
    fails_with(&["plan", &folder.path("none.csv")], &["none.csv"]);
    fails_with(
        &[
            "plan",
            "--records",
            "9",
            "--record-bytes",
            "9",
            "--key",
            "word",
        ],
        &["--key", "SOURCE"],
    );
}

#[test]
fn a_build_takes_the_parameters_that_a_plan_prints() {
    let folder = Folder::new();
    let source = folder.write("a.bin", vec![7; 64 << 10]);
    let out = folder.path("a.papir");
    let plan = planned(&[&source, "--record-bytes", "16", "--all"]);
    for scheme in ["inspire", "inspire2", "simple"] {
        let offer = offers(&plan)
            .iter()
            .rfind(|offer| offer["scheme"] == scheme)
            .unwrap();
        let label = offer["parameters"].as_str().unwrap();
        let raw = [
            "build",
            &source,
            "--format",
            "raw",
            "--record-bytes",
            "16",
            "--out",
            &out,
        ];
        succeeds(&[&raw[..], &["--scheme", scheme, "--params", label]].concat());
        let inspected: Value =
            serde_json::from_str(&succeeds(&["inspect", &out, "--json"])).unwrap();
        let query = number(&inspected["sizes"], "query");
        assert!(
            (query - number(offer, "upload_bytes")).abs() < 0.5,
            "{scheme}, {label}: {inspected}"
        );
        let none = [&raw[..], &["--scheme", scheme, "--params", "7 columns"]].concat();
        fails_with(&none, &["`7 columns`", &format!("`{label}`")]);
    }
    let both = [
        "build", &source, "--out", &out, "--params", "a", "--goal", "balanced",
    ];
    fails_with(&both, &["--goal", "--params"]);
}

/// Keys fall a little differently in each build, so that the numbers of a label may not be exact.
#[test]
fn a_keyed_build_takes_the_parameters_of_a_plan() {
    let folder = Folder::new();
    let rows: String = (0..20_000)
        .map(|i| format!("key {i},value {}\n", i % 97))
        .collect();
    let source = folder.write("a.csv", format!("key,value\n{rows}"));
    let out = folder.path("a.papir");
    let plan = planned(&[&source, "--all"]);
    for scheme in ["inspire", "simple"] {
        let offer = offers(&plan)
            .iter()
            .rfind(|offer| offer["scheme"] == scheme)
            .unwrap();
        let label = offer["parameters"].as_str().unwrap();
        let bucket = offer["bucket_bytes"].as_u64();
        let bucket = bucket.unwrap_or(4096).to_string();
        let keyed = [
            "build", &source, "--key", "key", "--value", "value", "--out", &out,
        ];
        let more = [
            "--scheme",
            scheme,
            "--params",
            label,
            "--bucket-bytes",
            &bucket,
        ];
        succeeds(&[&keyed[..], &more].concat());
        let inspected: Value =
            serde_json::from_str(&succeeds(&["inspect", &out, "--json"])).unwrap();
        let query = number(&inspected["sizes"], "query");
        let planned = number(offer, "upload_bytes");
        assert!(
            (query - planned).abs() < 0.2 * planned,
            "{scheme}, {label}: {query} for {planned}"
        );
    }
}

/// Each scheme of a keyed plan has buckets of its own, which the plan prints and a build chooses.
#[test]
fn keyed_plans_and_builds_choose_buckets_for_each_scheme() {
    let folder = Folder::new();
    let rows: String = (0..3000)
        .map(|i| format!("key {i},{}\n", 1000 + i))
        .collect();
    let source = folder.write("a.csv", format!("key,value\n{rows}"));
    let plan = planned(&[&source]);
    let bucket = |scheme: &str| {
        let offer = offers(&plan).iter().find(|offer| offer["scheme"] == scheme);
        offer.unwrap_or_else(|| panic!("no {scheme} in {plan}"))["bucket_bytes"].as_u64()
    };
    // Values of four bytes beside tags of four.
    assert_eq!(["inspire0", "double", "ypir"].map(bucket), [Some(8); 3]);
    assert!(
        bucket("inspire2").is_some_and(|bytes| bytes < 4000),
        "{plan}"
    );
    let out = folder.path("a.papir");
    // The plan's rates are not those of a build, so that only the shortest buckets are the same.
    for (scheme, bytes) in [("double", "8 B"), ("inspire2", "")] {
        let keyed = [
            "build", &source, "--out", &out, "--key", "key", "--value", "value",
        ];
        let built = succeeds(&[&keyed[..], &["--scheme", scheme]].concat());
        let records = built
            .lines()
            .find(|line| line.starts_with("records"))
            .unwrap();
        assert!(
            records.contains(&format!(" of {bytes}")) && !records.contains("KiB, "),
            "{records}"
        );
        let service = Service::start(&[&out], &[]);
        assert_eq!(
            succeeds(&["get", &service.url, "key 2999"]),
            "3999",
            "{scheme}"
        );
        assert_eq!(
            papir(&["get", &service.url, "key 3000"]).status.code(),
            Some(1),
            "{scheme}: absent"
        );
        let given =
            succeeds(&[&keyed[..], &["--scheme", "simple", "--bucket-bytes", "100"]].concat());
        assert!(given.contains(" of 96 B, "), "{given}");
    }
}

#[test]
fn an_automatic_build_reports_its_choice_and_answers() {
    let folder = Folder::new();
    let bytes: Vec<u8> = (0..40_000u32).flat_map(u32::to_le_bytes).collect();
    let source = folder.write("a.bin", bytes);
    let out = folder.path("a.papir");
    let raw = [
        "build",
        &source,
        "--out",
        &out,
        "--format",
        "raw",
        "--record-bytes",
        "4",
        "--scheme",
        "auto",
    ];
    let output = succeeds(&raw);
    let chosen = output
        .lines()
        .find(|line| line.starts_with("chosen "))
        .unwrap();
    let recommended = planned_with_own_rates(&["--records", "40000", "--record-bytes", "4"]);
    let best = offers(&recommended)[0]["parameters"].as_str().unwrap();
    assert!(
        chosen.contains(best) && chosen.contains("the least time of a lookup"),
        "{chosen}, not {best}"
    );
    let predicted = number(&offers(&recommended)[0], "snapshot_bytes");
    let written = std::fs::metadata(&out).unwrap().len() as f64;
    assert!(
        (0.98..1.02).contains(&(predicted / written)),
        "{predicted} for {written}"
    );
    let service = Service::start(&[&out], &[]);
    let record = papir(&["get", &service.url, "--index", "31234"]).stdout;
    assert_eq!(record, 31_234u32.to_le_bytes());
    fails_with(
        &[&raw[..], &["--goal", "balanced"]].concat(),
        &["--goal", "auto"],
    );
}
