//! Noise of every stage against its bound; distinct masks.
#![allow(clippy::unwrap_used, clippy::panic)]

mod chosen;
mod linear;
mod trial;

use std::collections::BTreeSet;
use std::sync::{Arc, Weak};

use chacha20::ChaCha20Rng;
use papir_core::scheme::{Client, Goal, Parameters, RegisteredClient, Server, Session, Wire};
use papir_core::{NoProgress, RecordBuffer, Shape};
use papir_lattice::gadget::GadgetParams;
use papir_lattice::response::ResponseBits;
use papir_lattice::wide::{Rlwe, Rows};
use papir_ring::CyclotomicRing;
use papir_ring::prg::Seed;
use papir_ring::wide::Poly;
use rand_core::SeedableRng;

use super::chain::{Chain, DEGREE, LOG2_P, LOG2_Q};
use super::client::RetrievalClient;
use super::common::{COMPACT, Form, GATES, RetrievalParams, gate_params};
use super::keys::{KeyPart, Keys, State};
use super::layout::Layout;
use super::noise::{Gadgets, Noise, NoiseInput, Retrieved, gadgets_of, input};
use super::params::{Literal, PirouetteParams};
use super::polynomials::Plane;
use super::retrieval::Selection;
use super::server::{RetrievalServer, Selecting};
use super::{Pirouette, Standard};
use crate::shared::messages::PublicSeed;

/// A database, its client, and the client's keys.
struct Case<S: Selecting> {
    records: RecordBuffer,
    server: RetrievalServer<S>,
    client: RetrievalClient<S>,
    state: State,
    keys: Keys,
    rng: ChaCha20Rng,
}

fn records(shape: Shape) -> RecordBuffer {
    let packed =
        (0..shape.total_bytes()).map(|i| (i.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 33) as u8);
    RecordBuffer::from_packed(shape, packed.collect()).unwrap()
}

impl<S: Selecting> Case<S> {
    fn new(params: S::Params) -> Self {
        let records = records(params.shape());
        Self::of(params, records)
    }

    fn of(params: S::Params, records: RecordBuffer) -> Self {
        let mut rng = ChaCha20Rng::from_seed([3; 32]);
        let server =
            RetrievalServer::<S>::setup(params.clone(), &records, &mut rng, &NoProgress).unwrap();
        let client = RetrievalClient::<S>::new(params, *server.public()).unwrap();
        let (state, keys) = client.register(None, &mut rng).unwrap();

        Self {
            records,
            server,
            client,
            state,
            keys,
            rng,
        }
    }

    fn select(&mut self, index: u64) -> Selection {
        let (_, query) = self
            .client
            .query(Some(&mut self.state), &[index], &mut self.rng)
            .unwrap();

        let params = self.client.params();
        let keys = self.keys.expanded(params).unwrap();
        let batch = [(&*keys, &query)];
        S::select(params, &batch, &NoProgress).swap_remove(0)
    }

    fn layout(&self) -> &Layout {
        self.client.params().layout()
    }

    /// Returns the errors of an item's first plane after all gates, one for each byte, relative to
    /// q.
    fn item_errors(&mut self, item: u64) -> Vec<f64> {
        let selection = self.select(item * self.layout().unit_layout.per_unit);
        let found = self
            .server
            .retrieval()
            .run(&[selection], &NoProgress)
            .swap_remove(0)
            .swap_remove(0);

        let phase = self.errors(&found, &vec![0; DEGREE]);

        let layout = self.layout();
        let retrieval = self.server.retrieval();
        let Plane::Bytes(stored) = retrieval.polynomials.plane(0, layout.polys()) else {
            panic!("the compact form")
        };

        let stored = layout.of_one_plane().item(stored, item);
        let errors = phase
            .iter()
            .step_by(layout.slots())
            .zip(&stored)
            .map(|(phase, &byte)| {
                let turns = phase - f64::from(byte as i8) / 256.0;
                turns - turns.round()
            });

        errors.collect()
    }

    /// Returns the phase of an encryption less a message of words, centred, relative to q.
    fn errors(&self, rlwe: &Rlwe, message: &[u64]) -> Vec<f64> {
        let ring = self.client.params().chain().ring();
        let mut phase = rlwe.phase(ring, &self.state.0.ring);
        ring.sub_assign(&mut phase, &ring.from_words(message));
        let q = ring.modulus() as f64;
        ring.to_centred(&phase)
            .into_iter()
            .map(|error| error as f64 / q)
            .collect()
    }

    /// Returns s·m.
    fn times_key(&self, message: &[u64]) -> Vec<u64> {
        let ring = self.client.params().chain().ring();
        let message = ring.forward(ring.from_words(message));
        ring.to_words(&ring.inverse(ring.mul(&message, self.state.0.ring.values())))
    }

    /// Returns row `row` of the encryptions, in coefficients.
    fn row(&self, rows: &Rows, row: usize) -> Rlwe {
        let ring = self.client.params().chain().ring();
        let [a, b] = rows
            .residues(ring, 0)
            .map(|part| ring.inverse(Poly::from_residues(&part[row * DEGREE..][..DEGREE])));
        Rlwe { a, b }
    }
}

fn energy(errors: &[f64]) -> f64 {
    errors.iter().map(|error| error * error).sum()
}

/// Checks that the mean of squares is at most 1.2 times the computed one, because samples are few,
/// and not absurdly less.
#[track_caller]
fn check(what: &str, squares: &[f64], computed: f64) {
    let measured = squares.iter().sum::<f64>() / squares.len() as f64;
    let found = measured.log2() / 2.0;
    let bound = computed.log2() / 2.0;
    eprintln!("Measured {what} 2^{found:.2}, computed 2^{bound:.2}");
    assert!(
        measured < 1.2 * computed && measured > computed / 16.0,
        "{what}: 2^{found:.2}, 2^{bound:.2}"
    );
}

/// Returns the noise of retrieved records.
fn noise_of(params: &PirouetteParams<Standard>) -> Retrieved {
    Noise::compute(&input(
        params.chain(),
        params.layout(),
        params.gate().params(),
    ))
    .retrieved
}

/// Returns the parameters of a hundred records.
fn params_of_hundred() -> PirouetteParams<Standard> {
    let shape = Shape::of_bytes(100, 32).unwrap();
    PirouetteParams::choose(shape, Goal::Balanced).unwrap()
}

/// Returns a client of a hundred records.
fn client_of_hundred() -> RetrievalClient<Pirouette> {
    let params = params_of_hundred();
    let public = PublicSeed {
        seed: Seed([9; 32]),
    };
    RetrievalClient::<Pirouette>::new(params, public).unwrap()
}

fn constant(value: u64) -> Vec<u64> {
    (0..DEGREE)
        .map(|i| if i == 0 { value } else { 0 })
        .collect()
}

#[test]
fn noise_of_every_stage_is_within_its_bound() {
    let shape = Shape::of_bytes(9000, 64).unwrap();
    let literal = Literal {
        span: 64,
        tau: 3,
        gate: (5, 4),
        seed_bytes: 32,
        form: Form::Compact,
    };

    let params = PirouetteParams::<Standard>::new(shape, literal).unwrap();
    let noise = noise_of(&params);

    let layout = params.layout().clone();
    let mut case = Case::<Pirouette>::new(params.clone());
    assert_eq!(
        (
            layout.rows,
            layout.log2_rows,
            layout.log2_columns,
            layout.log2_slots
        ),
        (71, 7, 2, 5)
    );

    let q = params.chain().ring().modulus();
    let mut selectors = Vec::new();
    let mut rows = [Vec::new(), Vec::new()];
    let mut items = Vec::new();

    for index in [5555, 0, 8999, 3210] {
        let selection = case.select(index);
        let row = (index >> (layout.log2_columns + layout.log2_slots)) as usize;

        for r in 0..layout.rows {
            let value = if r == row { (q + 128) >> LOG2_P } else { 0 };
            selectors.push(energy(
                &case.errors(&case.row(&selection.selectors, r), &constant(value)),
            ));
        }

        for (i, gate) in selection.gates.iter().enumerate() {
            let levels = params.gate().levels();
            for level in 0..levels {
                let message = constant((index >> i & 1) * params.gate().factor(level));
                rows[1].push(energy(
                    &case.errors(&case.row(gate, levels + level), &message),
                ));
                let keyed = case.times_key(&message);
                rows[0].push(energy(&case.errors(&case.row(gate, level), &keyed)));
            }
        }

        items.extend(
            case.item_errors(index)
                .into_iter()
                .map(|error| error * error),
        );
    }

    check("selectors", &selectors, noise.selector);
    check("rows of s·m", &rows[0], noise.rows.keyed);
    check("rows of m", &rows[1], noise.rows.plain);
    check("items", &items, noise.first + noise.gates);
}

#[test]
fn rows_columns_planes_and_both_forms_give_the_record() {
    for (records, bytes, span, tau, form) in [
        (300, 256, 256, 2, Form::Fast),
        (40, 2500, 1024, 0, Form::Compact),
        (700, 20, 32, 1, Form::Fast),
    ] {
        let shape = Shape::of_bytes(records, bytes).unwrap();
        let literal = Literal {
            span,
            tau,
            gate: (5, 4),
            seed_bytes: 16,
            form,
        };
        let mut case =
            Case::<Pirouette>::new(PirouetteParams::<Standard>::new(shape, literal).unwrap());

        for index in [0, records - 1] {
            let (secret, query) = case
                .client
                .query(Some(&mut case.state), &[index], &mut case.rng)
                .unwrap();
            assert_eq!(query.encode(case.client.params()).len(), 20);

            let session = Session {
                keys: Some(&case.keys),
                ticket: None,
            };
            let answer = case.server.answer(session, &query).unwrap();

            let found = case.client.extract(secret, answer).unwrap();
            assert_eq!(
                found,
                [case.records.get(index).unwrap()],
                "{literal:?}, record {index}"
            );
        }
    }
}

#[test]
fn queries_never_share_a_mask_even_after_a_restart() {
    let client = client_of_hundred();
    let params = client.params().clone();
    let mut rng = ChaCha20Rng::from_seed([4; 32]);
    let mut state = State::generate(&params, None, &mut rng).unwrap();
    let mut seeds = BTreeSet::new();

    for _ in 0..50 {
        for _ in 0..4 {
            let (_, query) = client.query(Some(&mut state), &[7], &mut rng).unwrap();
            assert!(seeds.insert(query.seed.0), "a mask twice");
        }

        let bytes = state.encode(&params);
        state = State::decode(&params, &bytes).unwrap();
        assert_eq!(*state.encode(&params), bytes);
    }
}

#[test]
fn no_two_masks_of_the_keys_are_equal() {
    let chain =
        PirouetteParams::<Standard>::choose(Shape::of_bytes(100, 32).unwrap(), Goal::Balanced)
            .unwrap()
            .common
            .chain;
    let seed = Seed([5; 32]);
    let mut seen = BTreeSet::new();

    let parts = KeyPart::all(&chain, 2);
    for mask in parts.iter().flat_map(|part| part.masks(&chain, &seed)) {
        assert!(seen.insert(mask.residues()[..8].to_vec()), "a mask twice");
    }

    assert_eq!(
        seen.len(),
        parts.iter().map(|part| part.rows(&chain)).sum::<usize>()
    );
}

#[test]
fn keys_and_states_of_other_lengths_are_refused() {
    let params = params_of_hundred();

    let error = <Keys as Wire<PirouetteParams<Standard>>>::decode(&params, &[0; 100])
        .err()
        .unwrap()
        .to_string();
    assert!(
        error.starts_with("evaluation keys has 100 bytes"),
        "{error}"
    );

    let state = State::generate(&params, None, &mut ChaCha20Rng::from_seed([6; 32])).unwrap();
    let mut state = state.encode(&params);
    assert!(<State as Wire<PirouetteParams<Standard>>>::decode(&params, &state[1..]).is_err());

    state[0] = 2;
    let error = <State as Wire<PirouetteParams<Standard>>>::decode(&params, &state)
        .err()
        .unwrap()
        .to_string();
    assert!(error.contains("expected a ternary key"), "{error}");

    state[0] = 1;
    state[DEGREE] = 127;
    assert!(<State as Wire<PirouetteParams<Standard>>>::decode(&params, &state).is_err());
}

/// Batches are split by clients, not by queries, and keep their order.
#[test]
fn parts_of_a_batch_have_as_many_clients_as_there_is_room() {
    let keys: Vec<Keys> = (0..3).map(|i| Keys::of(vec![i])).collect();
    let batch: Vec<(&Keys, usize)> = [0, 0, 1, 0, 2, 2, 1, 0]
        .into_iter()
        .map(|i| &keys[i])
        .zip(0..)
        .collect();

    let numbers = |clients| {
        let parts = Keys::parts(&batch, clients).into_iter();
        parts
            .map(|part| part.iter().map(|(_, number)| *number).collect())
            .collect::<Vec<Vec<usize>>>()
    };

    assert_eq!(numbers(3), [[0, 1, 2, 3, 4, 5, 6, 7]]);
    assert_eq!(numbers(2), [vec![0, 1, 2, 3], vec![4, 5, 6], vec![7]]);
    assert_eq!(
        numbers(1),
        [vec![0, 1], vec![2], vec![3], vec![4, 5], vec![6], vec![7]]
    );
    assert!(Keys::parts::<usize>(&[], 2).is_empty());
}

/// Expanded keys that are no longer kept are expanded again.
#[test]
fn dropped_expansions_are_made_again() {
    let params = params_of_hundred();
    let mut case = Case::<Pirouette>::new(params.clone());

    let first = case.keys.expanded(&params).unwrap();
    assert!(Arc::ptr_eq(&first, &case.keys.expanded(&params).unwrap()));

    *case.keys.place() = Weak::new();

    assert!(!Arc::ptr_eq(&first, &case.keys.expanded(&params).unwrap()));
    assert!(
        case.item_errors(2)
            .iter()
            .all(|error| error.abs() < 1.0 / 512.0)
    );
}

/// Keys heavier than the noise assumes are never drawn, and clients that have one register again.
#[test]
fn clients_with_heavy_keys_register_again() {
    let client = client_of_hundred();
    let params = client.params().clone();
    let state = State::generate(&params, None, &mut ChaCha20Rng::from_seed([6; 32])).unwrap();
    assert!(client.state_fits(&state));
    let bytes = state.encode(&params);

    let fits = |place: std::ops::Range<usize>, coefficient: u8| {
        let mut bytes = bytes.clone();
        bytes[place].fill(coefficient);
        let state = <State as Wire<PirouetteParams<Standard>>>::decode(&params, &bytes).unwrap();
        client.state_fits(&state)
    };

    assert!(fits(0..2, 1) && !fits(0..DEGREE, 1));
    assert!(fits(DEGREE..DEGREE + 2, 6) && !fits(DEGREE..DEGREE + 200, 20));
}

#[test]
fn the_noise_closes_for_databases_up_to_eight_gibibytes() {
    for (log2_records, bytes) in [
        (10, 256),
        (20, 256),
        (22, 256),
        (25, 256),
        (25, 8),
        (13, 1 << 18),
    ] {
        for goal in Goal::ALL {
            let shape = Shape::of_bytes(1 << log2_records, bytes).unwrap();
            let params = PirouetteParams::<Standard>::choose(shape, goal).unwrap();

            let description = params.describe();
            assert!(
                description.failure_log2 <= -40.0
                    && description.security.as_ref().unwrap().bits >= 128.0
            );
            assert!(
                description.sizes.answer < (6 << 10) * params.layout().planes as u64,
                "{description:?}"
            );

            let again = PirouetteParams::<Standard>::decode(&params.encode()).unwrap();
            assert_eq!(again.describe(), description);
        }
    }

    let huge =
        PirouetteParams::<Standard>::choose(Shape::of_bytes(1 << 28, 256).unwrap(), Goal::Balanced);
    let error = huge.err().unwrap().to_string();
    assert!(
        error.contains("bits of an item's number: expected at most 24"),
        "{error}"
    );
}

/// Returns the gadgets of `levels` digits that cover q.
fn grid(levels: std::ops::RangeInclusive<usize>) -> Vec<GadgetParams> {
    let cover = |levels: usize| {
        // Noise of digits above 17 bits would exceed their messages.
        let most = (LOG2_Q / levels as u32).min(17);
        (most - 4..=most).filter_map(move |log_base| gate_params(levels, log_base))
    };
    levels.flat_map(cover).collect()
}

/// Returns the number of bodies of the ring's keys.
fn bodies(chain: &Chain, gadgets: Gadgets) -> usize {
    let [bits, digits] = [&chain.bits, &chain.digits].map(|short| 2 * short.switch.dimension);
    bits * gadgets.bits.levels + digits * gadgets.digits.levels + 12 * gadgets.conversion.levels
}

/// Returns the cost of an answer from a database of 2^k items of a kilobyte, in external products
/// of two digits, with the best rows and gates. Returns `None` if the noise does not close.
fn work(chain: &Chain, gadgets: Gadgets, k: u32) -> Option<f64> {
    let input = |(rows, gate)| NoiseInput {
        ring: chain.setting(),
        short: [chain.bits.switch, chain.digits.switch],
        gadgets,
        gate,
        dimensions: [rows, k - rows - 1, 1],
    };
    let external = |gadget: GadgetParams| (gadget.levels + 1) as f64 / 3.0;
    let switch = |gadget: GadgetParams| (gadget.levels + 2) as f64 / 6.0;

    let choices = (4..=8).flat_map(|rows| {
        GATES
            .iter()
            .filter_map(move |&gate| Some((rows, gate_params(gate.0, gate.1)?)))
    });
    let closing = choices.filter(|&choice| {
        let noise = Noise::compute(&input(choice));
        let bits = ResponseBits { a: 21, b: 13 };
        noise.index_failure_log2 < -41.0 && noise.retrieved.failure_log2(chain, 1024, bits) < -41.0
    });

    let cost = |(rows, gate): (u32, GadgetParams)| {
        let [bits, digits] =
            [&chain.bits, &chain.digits].map(|short| short.switch.dimension as f64);
        let traces = 12.0 * switch(gadgets.conversion);
        f64::from(k - 4) * bits * external(gadgets.bits)
            + 2f64.powi(rows as i32 - 4) * digits * external(gadgets.digits)
            + f64::from(k - rows) * gate.levels as f64 * traces
            + 2f64.powi((k - rows - 1) as i32) * external(gate)
            + 2f64.powi(k as i32 - 1) * COMPACT
    };

    closing.map(cost).min_by(f64::total_cmp)
}

/// Keys are uploaded by every client and kept by the server, so a little work is given for them.
#[test]
fn the_chain_has_the_smallest_keys_near_the_least_work() {
    let params = params_of_hundred();
    let chain = params.common.chain.clone();
    let sizes = [18, 20, 23];

    let total = |gadgets| {
        sizes
            .into_iter()
            .map(|k| work(&chain, gadgets, k))
            .sum::<Option<f64>>()
    };

    let rotations = grid(2..=4);
    let switches = grid(3..=7);
    let mut closing: Vec<(f64, Gadgets)> = Vec::new();
    for (&bits, &digits) in rotations
        .iter()
        .flat_map(|bits| rotations.iter().map(move |digits| (bits, digits)))
    {
        for &conversion in &switches {
            let gadgets = Gadgets {
                bits,
                digits,
                conversion,
            };
            closing.extend(total(gadgets).map(|cost| (cost, gadgets)));
        }
    }

    let least = closing
        .iter()
        .map(|(cost, _)| *cost)
        .fold(f64::INFINITY, f64::min);
    closing.retain(|(cost, _)| *cost <= 1.05 * least);

    let smallest = closing
        .iter()
        .map(|(_, gadgets)| bodies(&chain, *gadgets))
        .min()
        .unwrap();

    let own = (
        total(gadgets_of(&chain)).unwrap(),
        bodies(&chain, gadgets_of(&chain)),
    );
    eprintln!(
        "Measured {:.0} products of two digits and {} bodies; least {least:.0}, {smallest}",
        own.0, own.1
    );

    assert!(own.0 <= 1.05 * least, "{own:?}, least {least}");
    assert!(
        own.1 as f64 <= 1.01 * smallest as f64,
        "{own:?}, smallest {smallest}"
    );
}
