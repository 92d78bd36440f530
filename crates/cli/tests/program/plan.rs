//! `papir plan`, and `papir build --scheme auto`.

use std::fmt::Write;

use papir_core::cost::Operation;
use serde_json::Value;

use crate::support::{Folder, Service, fails_with, papir, program, succeeds};

/// Rates of a machine with two threads. Reading words takes `select16` seconds per byte, 4-bit ones more,
/// packing takes a tenth of a nanosecond per byte, an external product ten milliseconds in either ring, and
/// everything else almost no time.
fn rates(folder: &Folder, select16: &str) -> String {
    let mut table = String::new();
    let products = [Operation::ExternalProduct, Operation::WideProduct];
    let given = [Operation::Matrix, Operation::Select16, Operation::Select4];
    let given: Vec<Operation> = given.into_iter().chain(products).collect();
    let others = Operation::ALL.into_iter().filter(|op| !given.contains(op));
    for operation in others {
        write!(table, "\"{}\": 1e-12, ", operation.name()).unwrap();
    }
    for operation in products {
        write!(table, "\"{}\": 1e-2, ", operation.name()).unwrap();
    }
    let table =
        format!("{{{table}\"matrix\": 1e-10, \"select16\": {select16}, \"select4\": 1e-8}}");
    let file = format!(
        "{{\"format\": 1, \"backend\": \"any\", \"threads\": 2, \"one\": {table}, \"all\": {table}}}"
    );
    folder.write("rates.json", file)
}

fn planned(arguments: &[&str]) -> Value {
    let folder = Folder::new();
    let rates = rates(&folder, "1e-9");
    let text = succeeds(&[&["plan", "--json", "--rates", &rates], arguments].concat());
    serde_json::from_str(&text).unwrap()
}

fn offers(plan: &Value) -> &Vec<Value> {
    plan["offers"].as_array().unwrap()
}

fn of_inspire(plan: &Value) -> impl Iterator<Item = &Value> {
    offers(plan)
        .iter()
        .filter(|offer| offer["scheme"] == "inspire")
}

fn number(value: &Value, field: &str) -> f64 {
    value[field]
        .as_f64()
        .unwrap_or_else(|| panic!("no number {field} in {value}"))
}

const MEBIBYTES_64: [&str; 4] = ["--records", "1048576", "--record-bytes", "64"];

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
fn record_bits_and_keyed_databases_are_planned() {
    let bits = planned(&["--records", "1000000", "--record-bits", "1"]);
    assert!((number(&bits, "record_bits") - 1.0).abs() < 0.1);
    let keyed = planned(&["--records", "1000000", "--record-bytes", "32", "--keyed"]);
    // 102 entries of 40 bytes per bucket.
    assert!((number(&keyed, "record_bits") - 32_640.0).abs() < 0.5);
    assert!(
        (9_805.0..13_000.0).contains(&number(&keyed, "records")),
        "{keyed}"
    );
    let folder = Folder::new();
    let rates = rates(&folder, "1e-11");
    let keyed = [
        "plan",
        "--rates",
        &rates,
        "--records",
        "1000000",
        "--record-bytes",
        "32",
        "--keyed",
    ];
    assert!(succeeds(&keyed).contains("1000000 keys: about "));
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
fn impossible_plans_are_refused_in_one_line() {
    let refused =
        |arguments: &[&str], parts: &[&str]| fails_with(&[&["plan"], arguments].concat(), parts);
    refused(
        &["--records", "10", "--record-bytes", "262145"],
        &["256 KiB"],
    );
    refused(&["--records", "0", "--record-bytes", "8"], &["empty"]);
    refused(
        &["--records", "2000000000000", "--record-bytes", "8"],
        &["2000000000000", "2^40"],
    );
    refused(
        &["--records", "1099511627776", "--record-bytes", "262144"],
        &["inspire: ", "simple: "],
    );
    refused(
        &["--records", "10", "--record-bytes", "65537", "--keyed"],
        &["65537", "65536"],
    );
    refused(
        &["--records", "0", "--record-bytes", "8", "--keyed"],
        &["empty"],
    );
    refused(
        &[
            "--records",
            "18446744073709551615",
            "--record-bytes",
            "8",
            "--keyed",
        ],
        &["2^40"],
    );
    refused(&["--records", "10"], &["--record-bytes", "--record-bits"]);
    refused(&["--record-bytes", "10"], &["--records"]);
    refused(
        &[
            "--records",
            "10",
            "--record-bytes",
            "1",
            "--record-bits",
            "1",
        ],
        &["--record-bits"],
    );
    refused(
        &["--records", "10", "--record-bytes", "8", "--uplink", "fast"],
        &["fast", "Mbit"],
    );
    refused(
        &["--records", "10", "--record-bytes", "8", "--memory", "16GB"],
        &["16GB", "GiB"],
    );
    refused(
        &["--records", "10", "--record-bytes", "8", "--lookups", "0"],
        &["--lookups"],
    );
    let missing = [
        "--records",
        "10",
        "--record-bytes",
        "8",
        "--rates",
        "nowhere/rates.json",
    ];
    refused(&missing, &["nowhere/rates.json", "--calibrate"]);
}

/// Without a rates file in the user's data folder (here a temporary one), the built-in rates apply.
#[test]
fn rates_come_from_the_users_file_or_are_built_in() {
    let folder = Folder::new();
    let plan = |home: &str| {
        let output = program()
            .args([&["plan"], &MEBIBYTES_64[..]].concat())
            .env("XDG_DATA_HOME", home)
            .output()
            .unwrap();
        assert_eq!(
            output.status.code(),
            Some(0),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        String::from_utf8(output.stdout).unwrap()
    };
    assert!(plan(&folder.path("")).contains("built in, for a modest machine"));
    std::fs::create_dir(folder.path("papir")).unwrap();
    std::fs::rename(rates(&folder, "1e-11"), folder.path("papir/rates.json")).unwrap();
    assert!(plan(&folder.path("")).contains("measured on this machine"));
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

#[test]
fn a_database_on_several_machines_is_planned_and_built() {
    let folder = Folder::new();
    let source = folder.write(
        "words.csv",
        (0..5000)
            .map(|i| format!("key-{i},{i}\n"))
            .collect::<String>(),
    );
    let plan = planned_with_own_rates(&[&source, "--shards", "4"]);
    let divided = &plan["divided"];
    assert_eq!(divided["predicted"], true);
    let shards = divided["shards"].as_array().unwrap();
    let slices: f64 = shards.iter().map(|shard| number(shard, "slices")).sum();
    assert!(
        shards.len() == 4 && (slices - number(divided, "slices")).abs() < 0.5,
        "{divided}"
    );
    let text = succeeds(&["plan", &source, "--shards", "4"]);
    assert!(
        text.contains("On 4 machines, predicted") && text.contains("shard 3 "),
        "{text}"
    );
    let out = folder.path("words.papir");
    let columns = ["--key", "key-0", "--value", "0"];
    let built = succeeds(
        &[
            &["build", &source, "--out", &out, "--shards", "4"][..],
            &columns,
        ]
        .concat(),
    );
    assert!(built.contains("on 4 machines with "), "{built}");
    fails_with(
        &["plan", &source, "--shards", "100000"],
        &["nothing can serve 100000 shards", "the number of slices"],
    );
    fails_with(
        &[
            "build", &source, "--out", &out, "--shards", "4", "--memory", "1GiB",
        ],
        &["--memory", "name one"],
    );
}

fn planned_with_own_rates(arguments: &[&str]) -> Value {
    serde_json::from_str(&succeeds(&[&["plan", "--json"], arguments].concat())).unwrap()
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

#[test]
fn changes_are_planned_as_deltas() {
    let changing = [&MEBIBYTES_64[..], &["--changes-per-hour", "100000"]].concat();
    let plan = planned(&changing);
    let changes = &plan["changes"];
    let deltas = changes["deltas"].as_array().unwrap();
    assert_eq!(deltas.last().unwrap()["delta_bytes"], 4 << 20);
    let recommended = &deltas[changes["recommended"].as_u64().unwrap() as usize];
    let every = number(recommended, "changes") * 3600.0 / 1e5;
    assert!(
        (number(recommended, "between_merges_s") - every).abs() < 1e-6,
        "{recommended}"
    );
    assert!(
        (number(recommended, "merging") - number(&changes["base"], "setup_s") / every).abs() < 1e-6
    );
    assert!(planned(&MEBIBYTES_64)["changes"].is_null());
    let folder = Folder::new();
    let rates = rates(&folder, "1e-11");
    let text = succeeds(&[&["plan", "--rates", &rates], &changing[..]].concat());
    for part in [
        "100000 changes per hour, beside ",
        "merge every",
        "Recommended: inspire",
        "on the wire",
    ] {
        assert!(text.contains(part), "{part} in {text}");
    }
    // The length of a change is that of a value, not of a bucket.
    let rows: String = (0..40)
        .map(|i| format!("key {i},{}\n", "v".repeat(1000)))
        .collect();
    let source = folder.write("long.csv", format!("k,v\n{rows}"));
    let text = succeeds(&[
        "plan",
        &source,
        "--rates",
        &rates,
        "--json",
        "--changes-per-hour",
        "10",
    ]);
    let plan: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(plan["changes"]["deltas"][0]["changes"], (64 << 10) / 1012);
}

#[test]
fn a_device_answers_what_it_has_room_for() {
    let folder = Folder::new();
    let file = rates(&folder, "1e-9");
    let text = std::fs::read_to_string(&file).unwrap();
    let of_device =
        r#"{"select16": 1e-13, "select8": 1e-13, "matrix": 1e-13, "external_product": 1e-5}"#;
    let with_device = |memory: u64| {
        let device = format!(
            r#"{{"name": "cuda:1 (a GPU)", "memory": {memory}, "one": {of_device}, "group": {of_device}}}"#
        );
        let whole = text.trim_end().strip_suffix('}').unwrap();
        folder.write(
            "with-device.json",
            format!("{whole}, \"device\": {device}}}"),
        )
    };
    let plan = |memory: u64, more: &[&str]| -> Value {
        let rates = with_device(memory);
        let text = succeeds(
            &[
                &["plan", "--json", "--rates", &rates],
                &MEBIBYTES_64[..],
                more,
            ]
            .concat(),
        );
        serde_json::from_str(&text).unwrap()
    };
    let device = ["--device", "cuda:1"];
    let cpu = plan(1 << 37, &[]);
    let gpu = plan(1 << 37, &device);
    let least = |plan: &Value, scheme: &str, field: &str| {
        let of_scheme = offers(plan)
            .iter()
            .filter(|offer| offer["scheme"] == scheme);
        of_scheme
            .map(|offer| number(offer, field))
            .fold(f64::INFINITY, f64::min)
    };
    assert!(least(&gpu, "inspire", "answer_s") < least(&cpu, "inspire", "answer_s") / 10.0);
    assert!(least(&gpu, "inspire", "device_bytes") >= f64::from(1 << 26));
    assert!(
        least(&cpu, "inspire", "device_bytes") == 0.0
            && least(&gpu, "inspire2", "device_bytes") == 0.0
    );
    assert!(
        least(&gpu, "inspire2", "answer_s") == least(&cpu, "inspire2", "answer_s"),
        "the CPU's"
    );
    assert!(
        gpu["reason"]
            .as_str()
            .unwrap()
            .contains("answered by the device"),
        "{}",
        gpu["reason"]
    );
    // Too small for any: as without a device.
    let small = plan(1 << 20, &device);
    assert_eq!(offers(&small), offers(&cpu));
    let arguments = [&["plan", "--rates", &file], &MEBIBYTES_64[..], &device].concat();
    fails_with(
        &arguments,
        &[
            "no rates of cuda:1",
            "papir plan --calibrate --device cuda:1",
        ],
    );
    let other = [
        "plan",
        "--rates",
        &with_device(1 << 37),
        "--records",
        "9",
        "--record-bytes",
        "8",
    ];
    fails_with(
        &[&other[..], &["--device", "cuda:0"]].concat(),
        &["no rates of cuda:0"],
    );
}
