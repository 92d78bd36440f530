//! Answers of every scheme that has work for a device: the same bit for bit.

use papir_core::FailureBound;
use papir_schemes::registry;
use papir_testkit::conformance::{ConformanceConfig, run_on_device, shapes};

use crate::gpu;

fn check(scheme: &str, records: &[(u64, u64)]) {
    let Some(gpu) = gpu() else { return };
    let config = ConformanceConfig {
        shapes: shapes(records),
        failure: FailureBound::DEFAULT,
        ..ConformanceConfig::quick()
    };
    run_on_device(
        registry::by_name(scheme).unwrap(),
        &ConformanceConfig {
            thorough: Vec::new(),
            ..config
        },
        &*gpu,
    );
}

#[test]
fn simple() {
    check("simple", &[(1, 8), (3000, 100), (70_000, 512)]);
}

#[test]
fn inspire() {
    check(
        "inspire",
        &[(1, 8), (3000, 100), (70_000, 512), (50, 40_000)],
    );
}

#[test]
fn inspire2() {
    check("inspire2", &[(3000, 128), (70_000, 512)]);
}

#[test]
fn inspire_batch() {
    check("inspire-batch", &[(5000, 64)]);
}

#[test]
fn simple_batch() {
    check("simple-batch", &[(5000, 64)]);
}
