//! The machines of a plan: their rates, devices and number.

use serde_json::Value;

use super::{MEBIBYTES_64, number, offers, planned_with_own_rates, rates};
use crate::support::{Folder, fails_with, program, succeeds};

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

/// Writes these rates with those of a device with this much memory.
fn with_device(folder: &Folder, rates: &str, memory: u64) -> String {
    let of_device =
        r#"{"select16": 1e-13, "select8": 1e-13, "matrix": 1e-13, "external_product": 1e-5}"#;
    let device = format!(
        r#"{{"name": "cuda:1 (a GPU)", "memory": {memory}, "one": {of_device}, "group": {of_device}}}"#
    );
    let whole = rates.trim_end().strip_suffix('}').unwrap();
    folder.write(
        "with-device.json",
        format!("{whole}, \"device\": {device}}}"),
    )
}

/// The least value of a field among the offers of a scheme.
fn least(plan: &Value, scheme: &str, field: &str) -> f64 {
    offers(plan)
        .iter()
        .filter(|offer| offer["scheme"] == scheme)
        .map(|offer| number(offer, field))
        .fold(f64::INFINITY, f64::min)
}

#[test]
fn a_device_answers_what_it_has_room_for() {
    let folder = Folder::new();
    let file = rates(&folder, "1e-9");
    let text = std::fs::read_to_string(&file).unwrap();
    let plan = |memory: u64, more: &[&str]| -> Value {
        let rates = with_device(&folder, &text, memory);
        let start = ["plan", "--json", "--rates", &rates];
        let text = succeeds(&[&start, &MEBIBYTES_64[..], more].concat());
        serde_json::from_str(&text).unwrap()
    };
    let device = ["--device", "cuda:1"];
    let cpu = plan(1 << 37, &[]);
    let gpu = plan(1 << 37, &device);
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
        &with_device(&folder, &text, 1 << 37),
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
