//! Records chosen against what traces leave in annulled coefficients.

use papir_core::scheme::{Client, Server, Session};
use papir_core::{RecordBuffer, Shape};

use super::super::chain::{DEGREE, LOG2_DEGREE, LOG2_DIGIT};
use super::super::client::decrypt;
use super::super::common::{Form, RetrievalParams};
use super::super::noise::{DECODING_PART, Retrieved};
use super::super::params::{Literal, PirouetteParams};
use super::super::respire::{self, Respire, RespireParams};
use super::super::server::Selecting;
use super::super::{Pirouette, Standard};
use super::linear::signs;
use super::{Case, check, noise_of};

/// Records of ±127 whose product with the errors adds them all up in coefficient 0. `output` gives
/// the output of the expansion that selects a row.
fn records<P: RetrievalParams>(
    params: &P,
    traced: usize,
    output: impl Fn(usize) -> usize,
) -> RecordBuffer {
    let layout = params.layout();
    let signs = signs(traced);

    let polys = (0..layout.rows).flat_map(|row| {
        let signs = &signs[output(row)];
        // Coefficient 0 of D·e is D[0]·e[0] − Σ D[d − k]·e[k].
        let byte = |k: usize| {
            if k == 0 {
                127 * signs[0]
            } else {
                -127 * signs[DEGREE - k]
            }
        };
        (0..DEGREE)
            .map(byte)
            .map(|byte| byte as u8)
            .collect::<Vec<_>>()
    });
    let polys: Vec<u8> = polys.collect();

    let items = (layout.rows * layout.slots()) as u64;
    let packed = (0..items)
        .flat_map(|item| layout.item(&polys, item))
        .collect();
    RecordBuffer::from_packed(params.shape(), packed).unwrap()
}

/// A database of chosen records and its noise.
struct Chosen<S: Selecting> {
    case: Case<S>,
    noise: Retrieved,
}

fn of_pirouette() -> Chosen<Pirouette> {
    let shape = Shape::of_bytes(128, 1024).unwrap();
    let literal = Literal {
        span: 1024,
        tau: 2,
        gate: (4, 5),
        seed_bytes: 32,
        form: Form::Compact,
    };

    let params = PirouetteParams::<Standard>::new(shape, literal).unwrap();
    let noise = noise_of(&params);

    let records = records(&params, (LOG2_DEGREE - LOG2_DIGIT) as usize, |row| row >> 2);

    Chosen {
        case: Case::of(params, records),
        noise,
    }
}

fn of_respire() -> Chosen<Respire> {
    let shape = Shape::of_bytes(128, 1024).unwrap();
    let literal = respire::Literal {
        span: 1024,
        log2_rows: 6,
        gate: (4, 6),
        query_bits: 48,
    };

    let params = RespireParams::new(shape, literal).unwrap();
    let noise = respire::noise(
        params.chain(),
        params.layout(),
        params.gate(),
        literal.query_bits,
    )
    .retrieved;

    let records = records(&params, params.log2_stride() as usize, |row| row);

    Chosen {
        case: Case::of(params, records),
        noise,
    }
}

impl<S: Selecting> Chosen<S> {
    /// Compares the variance over queries for all rows with the computed one: of coefficient 0, and
    /// of all coefficients.
    fn measure(mut self, queries: usize) {
        let rows = self.case.layout().rows;
        let slots = self.case.layout().slots();
        let squares = |i: usize| -> Vec<f64> {
            let errors = self.case.item_errors((i % rows * slots) as u64);
            errors.into_iter().map(|error| error * error).collect()
        };

        let all: Vec<Vec<f64>> = (0..queries).map(squares).collect();

        let computed = self.noise.first + self.noise.gates;
        check(
            "coefficient 0 of chosen records",
            &all.iter().map(|of| of[0]).collect::<Vec<_>>(),
            computed,
        );
        check(
            "all coefficients of chosen records",
            &all.concat(),
            computed,
        );
    }

    /// Counts answers with an error above the limit that one in 2¹² exceeds by the computed noise.
    fn failures(mut self, queries: usize) -> usize {
        let common = self.case.client.params().common();
        let bits = common.answer_bits;
        let layout = common.layout.clone();

        let beyond = |limit: f64| {
            self.noise
                .beyond_log2(limit, &common.chain, layout.span, bits)
        };

        let mut low = 0.0;
        let mut high = 1.0 / 512.0;
        for _ in 0..60 {
            let limit = (low + high) / 2.0;
            if beyond(limit) > -12.0 {
                low = limit
            } else {
                high = limit
            }
        }

        let limit = high * 2f64.powi(bits.a as i32);
        assert!(
            limit < DECODING_PART * 2f64.powi(bits.a as i32 - 9),
            "{limit}"
        );

        let mut largest = Vec::new();
        for i in 0..queries {
            let index = (i % layout.rows * layout.slots()) as u64;
            let Case {
                server,
                client,
                state,
                keys,
                rng,
                ..
            } = &mut self.case;

            let (secret, query) = client.query(Some(state), &[index], rng).unwrap();
            let answer = server
                .answer(
                    Session {
                        keys: Some(keys),
                        ticket: None,
                    },
                    &query,
                )
                .unwrap();

            largest.push(decrypt(client.params(), &secret, &answer).1 as f64);
            assert_eq!(
                client.extract(secret, answer).unwrap(),
                [self.case.records.get(index).unwrap()]
            );
        }

        let failed = largest.iter().filter(|error| **error > limit).count();
        let worst = largest
            .iter()
            .fold(0.0f64, |worst, error| worst.max(*error))
            / limit;

        eprintln!(
            "Measured {failed} of {queries} answers above the limit, the worst {worst:.2} times it"
        );
        failed
    }
}

#[test]
fn chosen_records_of_pirouette_are_within_the_bound() {
    of_pirouette().measure(30);
}

#[test]
fn chosen_records_of_respire_are_within_the_bound() {
    of_respire().measure(30);
}

/// By the computed noise 0.12 of 500 answers are expected to fail.
#[test]
#[ignore = "minutes"]
fn answers_with_chosen_records_fail_as_seldom_as_computed_long() {
    assert!(of_pirouette().failures(500) <= 2);
    assert!(of_respire().failures(500) <= 2);
}
