//! Offers of a plan: costs, order, what is left out.

use serde_json::Value;

use super::{MEBIBYTES_64, number, of_inspire, offers, planned, rates};
use crate::support::{Folder, fails_with, succeeds};

#[test]
fn the_table_names_every_private_scheme_and_recommends_the_first() {
    let folder = Folder::new();
    let rates = rates(&folder, "1e-11");
    let arguments = [
        &["plan", "--rates", &rates, "--clients", "50"],
        &MEBIBYTES_64[..],
    ]
    .concat();
    let table = succeeds(&arguments);
    for part in [
        "1048576 records of 64 B, 64.0 MiB",
        "10 Mbit/s up",
        "rates.json",
        "131.5 bits",
        "128.4 bits",
    ] {
        assert!(table.contains(part), "no `{part}` in {table}");
    }
    let lines: Vec<&str> = table.lines().collect();
    let first = lines
        .iter()
        .position(|line| line.starts_with("scheme "))
        .unwrap()
        + 1;
    let mut cells = lines[first]
        .split("  ")
        .filter(|cell| !cell.is_empty())
        .map(str::trim);
    let scheme = cells.next().unwrap();
    let best = cells.next().unwrap();
    assert!(
        scheme.starts_with("inspire") && table.contains("\nsimple "),
        "{table}"
    );
    assert!(
        table.contains(&format!("Recommended: {scheme} with {best}: ")),
        "{table}"
    );
    let shown = |scheme: &str| {
        lines
            .iter()
            .filter(|line| line.starts_with(&format!("{scheme} ")))
            .count()
    };
    assert!(
        (1..=4).contains(&shown("inspire")) && table.contains(" more with --all"),
        "{table}"
    );
    let all = succeeds(&[&arguments[..], &["--all"]].concat());
    assert!(
        all.lines().count() > lines.len() && !all.contains("with --all"),
        "{all}"
    );
    assert!(table.contains(" and sends "), "{table}");
    assert!(
        table.contains("\nlargest request ") && table.contains("\nlargest response "),
        "{table}"
    );
    assert!(
        table.contains("50 lookups per second keep ") && !table.contains("plain"),
        "{table}"
    );
}

#[test]
fn sizes_match_the_schemes_and_the_best_comes_first() {
    let plan = planned(&MEBIBYTES_64);
    let lookups: Vec<f64> = offers(&plan)
        .iter()
        .map(|offer| number(offer, "lookup_s"))
        .collect();
    assert!(lookups.is_sorted() && lookups.len() >= 10, "{lookups:?}");
    let best = &offers(&plan)[0];
    let sealed = number(&plan["sealed"], "request");
    assert!(sealed > number(best, "upload_bytes"), "{}", plan["sealed"]);
    let t1 = of_inspire(&plan)
        .find(|offer| offer["parameters"] == "t = 1, 16384 columns")
        .unwrap();
    let sizes = [
        "upload_bytes",
        "download_bytes",
        "memory_bytes",
        "hint_bytes",
    ]
    .map(|field| number(t1, field));
    // The values that `papir bench inspire --size 64MiB --dim0 16384` measures.
    assert!(
        (sizes[0] - 127_008.0).abs() < 1.0 && (sizes[1] - 12_576.0).abs() < 1.0,
        "{sizes:?}"
    );
    assert!(
        (sizes[2] - 67_108_864.0 - 33_603_584.0).abs() < 1.0 && sizes[3] < 0.5,
        "{sizes:?}"
    );
    // 64 MiB at a nanosecond per byte, 32 MiB at a tenth of that, and 144 kB at 10 Mbit/s.
    assert!((number(t1, "answer_s") - 0.0705).abs() < 1e-3, "{t1}");
    assert!(
        (number(t1, "transfer_s") - 8.0 * 139_584.0 / 1e7).abs() < 1e-6,
        "{t1}"
    );
    assert!((number(t1, "lookup_s") - 0.1820).abs() < 1e-3, "{t1}");
}

#[test]
fn connection_lookups_and_threads_change_the_choice() {
    let slow = planned(&[&MEBIBYTES_64[..], &["--uplink", "100kbit"]].concat());
    let fast = planned(
        &[
            &MEBIBYTES_64[..],
            &["--uplink", "10Gbit", "--downlink", "10Gbit"],
        ]
        .concat(),
    );
    let best = |plan: &Value, field: &str| number(of_inspire(plan).next().unwrap(), field);
    assert!(
        best(&slow, "upload_bytes") < best(&fast, "upload_bytes"),
        "{slow} {fast}"
    );
    assert!(
        best(&slow, "answer_s") > best(&fast, "answer_s"),
        "{slow} {fast}"
    );
    // With these rates, reading words is slow and reading bytes is fast: with enough lookups,
    // SimplePIR's hint pays off.
    let once = planned(&MEBIBYTES_64);
    assert!(
        once["recommended"].as_str().unwrap().starts_with("inspire"),
        "{once}"
    );
    let of_lookups = |count| planned(&[&MEBIBYTES_64[..], &["--lookups", count]].concat());
    let often = of_lookups("200");
    assert_eq!(often["recommended"], "simple");
    assert!(number(&offers(&often)[0], "hint_bytes") > 1e7, "{often}");
    // In the end all records are fewer bytes than what each lookup sends.
    let always = of_lookups("1000000");
    assert_eq!(always["recommended"], "download");
    assert!(
        always["reason"]
            .as_str()
            .unwrap()
            .ends_with("Every client has all records."),
        "{always}"
    );
    let cores = |clients| {
        number(
            &planned(&[&MEBIBYTES_64[..], &["--clients", clients]].concat()),
            "cores",
        )
    };
    assert!((cores("1") - 1.0).abs() < 0.5 && (cores("10000") / cores("1000") - 10.0).abs() < 0.1);
}

#[test]
fn plans_of_batches_weigh_schemes_whose_queries_hold_many_lookups() {
    let plan = planned(&["--records", "3000", "--record-bytes", "2", "--batch", "500"]);
    let schemes: Vec<&str> = offers(&plan)
        .iter()
        .map(|offer| offer["scheme"].as_str().unwrap())
        .collect();
    assert!(
        ["inspire-batch", "depir"]
            .iter()
            .all(|name| schemes.contains(name)),
        "{plan}"
    );
    let single = planned(&[
        "--records",
        "3000",
        "--record-bytes",
        "2",
        "--lookups",
        "100000",
    ]);
    let pirouette = offers(&single)
        .iter()
        .find(|offer| offer["scheme"] == "pirouette")
        .unwrap();
    assert!(number(pirouette, "keys_bytes") > 5e7, "{pirouette}");
    let left_out = single["left_out"].as_array().unwrap();
    let reason = |scheme: &str| {
        left_out.iter().find(|one| one["scheme"] == scheme).unwrap()["reason"].clone()
    };
    assert!(
        reason("depir").as_str().unwrap().contains("--batch"),
        "{single}"
    );
    assert!(
        reason("zip").as_str().unwrap().contains("ticket"),
        "{single}"
    );
    assert!(
        reason("pirouette-encrypted")
            .as_str()
            .unwrap()
            .contains("--encrypt"),
        "{single}"
    );
}

/// A client with one batch fetches the whole public part for it.
#[test]
fn the_download_is_divided_by_the_number_of_batches() {
    let shape = [
        "--records",
        "3000",
        "--record-bytes",
        "2",
        "--batch",
        "500",
        "--lookups",
    ];
    for (lookups, batches) in [("1", 1.0), ("500", 1.0), ("501", 2.0), ("5000", 10.0)] {
        let plan = planned(&[&shape[..], &[lookups]].concat());
        for offer in offers(&plan) {
            let bytes = number(offer, "public_bytes") + number(offer, "keys_bytes");
            let expected = 8.0 * bytes / 1e7 / batches;
            assert!(
                (number(offer, "public_s") - expected).abs() < 1e-9 + 1e-6 * expected,
                "{offer}"
            );
        }
    }
}

#[test]
fn a_memory_limit_excludes_candidates_with_a_reason() {
    let plan = planned(&[&MEBIBYTES_64[..], &["--memory", "100MiB"]].concat());
    let most = 100.0 * 1048576.0;
    assert!(
        offers(&plan)
            .iter()
            .all(|offer| number(offer, "memory_bytes") <= most),
        "{plan}"
    );
    // A scheme that does not support the shape at all is listed without parameters.
    let left_out = plan["left_out"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|one| one["parameters"] != "");
    let reasons: Vec<&str> = left_out
        .map(|one| one["reason"].as_str().unwrap())
        .collect();
    assert!(
        reasons.len() >= 5
            && reasons
                .iter()
                .all(|reason| reason.ends_with("above 100 MiB")),
        "{plan}"
    );
    let arguments = [&["plan", "--memory", "1MiB"], &MEBIBYTES_64[..]].concat();
    fails_with(
        &arguments,
        &[
            "nothing can serve",
            "1048576 records of 64 B",
            "of memory at least",
            "1.00 MiB",
        ],
    );
}

#[test]
fn offers_keep_the_failure_probability() {
    let all = |more: &[&str]| planned(&[&MEBIBYTES_64[..], &["--all"], more].concat());
    let default = all(&[]);
    let least = all(&["--failure", "2^-128"]);
    assert_eq!(
        (default["failure"].as_str(), least["failure"].as_str()),
        (Some("2^-40"), Some("2^-128"))
    );
    // Null where every answer decodes.
    let most = |offer: &Value| offer["failure_log2"].as_f64().unwrap_or(f64::NEG_INFINITY);
    assert!(offers(&default).iter().all(|offer| most(offer) <= -40.0));
    assert!(offers(&least).iter().all(|offer| most(offer) <= -128.0));
    let smallest = |plan: &Value| {
        let bytes = |offer: &Value| number(offer, "upload_bytes") + number(offer, "download_bytes");
        of_inspire(plan).map(bytes).fold(f64::INFINITY, f64::min)
    };
    // A little longer messages, not twice as long.
    let growth = smallest(&least) / smallest(&default);
    assert!((1.0..1.25).contains(&growth), "{growth}");
    let reasons = least["left_out"].as_array().unwrap();
    let respire = reasons
        .iter()
        .find(|one| one["scheme"] == "respire")
        .unwrap()["reason"]
        .as_str()
        .unwrap();
    assert!(
        respire.contains("2^-128") && respire.contains("2^-40"),
        "{respire}"
    );
}
