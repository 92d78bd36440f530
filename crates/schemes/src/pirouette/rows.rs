//! Rows of Pirouette and Respire in the list of schemes.

use super::respire::Respire;
use super::{Pirouette, Standard};
use crate::rows::{FailureRow, GoldenRow, ListedScheme, SchemeRows, SuiteRow, SuiteShapes};

impl ListedScheme for Pirouette<Standard> {
    const ROWS: SchemeRows = SchemeRows {
        paper: "Pirouette (Kang, Schild)",
        purpose: "Queries of 36 bytes, and 4 around them, for radios, sensors and satellites: \
            clients register 108 MiB of keys once, and a lookup in 256 MiB takes the server one to \
            two seconds of a core",
        assumption: "ring-LWE over R_q with a ternary secret, and over the response ring with a secret \
            like the error; LWE with binary secrets; and circular security: rotation keys encrypt \
            the short keys' bits under the ring's key, switching keys the ring's key under the \
            short keys and under the response key, automorphism keys τ(s) and s² under s",
        quick: SuiteRow::QUICK.only(SuiteShapes::ONE_SMALL),
        long: SuiteRow::LONG.only(SuiteShapes::FEW_COLUMNS),
        failure: Some(FailureRow::DefaultOnly("expected variances")),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "b4ebb12d74a4adf2",
                "63a236596374755f",
                "d88b81bf84c7c20d",
                "8e2701af960b1700",
                "c64f2eef13f4120e",
                "4fddd64f6fe69a4c",
            ],
        },
    };
}

impl ListedScheme for Respire {
    const ROWS: SchemeRows = SchemeRows {
        paper: "Respire (Burton, Menon, Wu): its query path over `pirouette`'s database and \
            parameters",
        purpose: "A baseline: queries of 1 to 5 KB, 1.1 MB of keys",
        assumption: "ring-LWE over R_q with a ternary secret, and over the response ring with a secret \
            like the error, which encrypts the ternary one; circular security of automorphism keys \
            and s²",
        quick: SuiteRow::SLOW,
        long: SuiteRow::LONG,
        failure: Some(FailureRow::DefaultOnly("expected variances")),
        golden: GoldenRow {
            records: 300,
            record_bytes: 100,
            hashes: &[
                "8d115de27d01c5e0",
                "d8fe72fc38072bfb",
                "89e7fdbf3068a6a3",
                "4da4db9c8c516778",
                "b282fa45529aa74a",
                "b6b4a4a8a62bd97b",
            ],
        },
    };
}
