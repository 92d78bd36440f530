//! The search against all widths there are, and what appendix G.1 promises.

use papir_lattice::gadget::GadgetParams;
use papir_lattice::noise::Setting;

use super::super::widths::{BODY, LEAST, MASK, QUERY, RGSW, Y_G, Y_H};
use super::*;

/// Records and their bytes: 64 MiB to 32 GiB.
const SHAPES: [(u64, u64); 6] = [
    (1 << 20, 64),
    (1 << 24, 64),
    (1 << 29, 64),
    (1 << 15, 1 << 15),
    (1 << 12, 1 << 18),
    (20_000_000, 64),
];

fn layout((records, bytes): (u64, u64), points: usize) -> Layout {
    let interpolation = Interpolation::of_points(points, 2048).unwrap();
    Layout::new(
        Shape::of_bytes(records, bytes).unwrap(),
        2048,
        interpolation,
    )
    .unwrap()
}

/// A variance takes some 20 ns: all of a shape's take a few milliseconds.
#[test]
fn a_search_tries_few_variances() {
    for (records, bytes) in SHAPES {
        let search = Search::new(FailureBound::DEFAULT, 0.0).unwrap();
        let found = search
            .candidates(Shape::of_bytes(records, bytes).unwrap())
            .unwrap();
        let tried = search.tried.get();
        assert!(
            tried < 400_000,
            "{records} x {bytes}: {tried} for {} candidates",
            found.len()
        );
    }
}

/// Bits, and the variance that goes with them.
type Cost = (u64, f64);

/// Returns the Pareto front: the costs for which no other cost has both fewer bits and less
/// variance.
fn front(mut all: Vec<Cost>) -> Vec<Cost> {
    // By bits, then by variance: a cost is on the front if its variance is below that of all before
    // it.
    all.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let mut least = f64::INFINITY;
    all.retain(|one| {
        let better = one.1 < least;
        least = least.min(one.1);
        better
    });
    all
}

/// Returns the costs of one part over all of its widths, which are two or twice the same.
fn of_part(frame: &Frame<'_>, part: usize, [x, y]: [usize; 2]) -> Vec<Cost> {
    // A part depends on its own widths alone: all others stay the widest.
    let most = frame.widest();
    let cost = |first: u32, second: u32| {
        let mut widths = most;
        (widths[x], widths[y]) = (first, second);
        let bits = |place: usize| frame.coefficients[place] * u64::from(widths[place]);
        let twice = x == y;
        let valid = frame.in_range(&widths) && (!twice || first == second);
        valid.then(|| {
            (
                bits(x) + if twice { 0 } else { bits(y) },
                frame.part(part, &widths),
            )
        })
    };

    let firsts = LEAST[x]..=most[x];
    front(
        firsts
            .flat_map(|first| (LEAST[y]..=most[y]).filter_map(move |second| cost(first, second)))
            .collect(),
    )
}

/// Returns the fewest bits of all messages, by trying all widths.
fn exhaustive(frame: &Frame<'_>) -> u64 {
    let parts = [
        (0, [QUERY, QUERY]),
        (1, [Y_G, Y_H]),
        (2, [RGSW, RGSW]),
        (3, [MASK, BODY]),
    ];
    let sum = |a: Vec<Cost>, b: Vec<Cost>| {
        let sums = a
            .iter()
            .flat_map(|x| b.iter().map(move |y| (x.0 + y.0, x.1 + y.1)));
        front(sums.filter(|sum| sum.1 <= frame.allowed).collect())
    };

    let all = parts
        .map(|(part, places)| of_part(frame, part, places))
        .into_iter()
        .reduce(sum)
        .unwrap();
    // A front is sorted by bits, so its first cost has the fewest.
    all[0].0
}

#[test]
fn what_is_found_is_within_a_200th_of_the_best_of_all() {
    let search = Search::new(FailureBound::DEFAULT, 0.0).unwrap();
    for (shape, points) in SHAPES
        .into_iter()
        .flat_map(|shape| [1, 3, 8, 64].map(|points| (shape, points)))
    {
        let layout = layout(shape, points);
        let frames = search.frames(&layout);
        for frame in &frames {
            let Some(found) = frame.cut().map(|widths| frame.polish(widths)) else {
                continue;
            };

            assert!(frame.holds(&found) && frame.in_range(&found), "{found:?}");
            let bits = frame.bits(&found);
            let best = exhaustive(frame);
            assert!(
                best <= bits && bits - best <= best / 200,
                "{shape:?}, t = {points}: {found:?}, {bits}, {best}"
            );
        }

        let best = frames
            .iter()
            .filter(|frame| frame.cut().is_some())
            .map(exhaustive)
            .min()
            .unwrap();
        let found = 8 * search
            .smallest(layout.shape, layout.interpolation)
            .unwrap()
            .message_bytes();

        assert!(
            found <= best + best / 200 + 1024,
            "{shape:?}, t = {points}: {found}, {best}"
        );
    }
}

#[test]
fn what_is_found_is_what_parameters_compute() {
    let search = Search::new(FailureBound::DEFAULT, 0.0).unwrap();
    for (records, bytes) in SHAPES {
        for params in search
            .candidates(Shape::of_bytes(records, bytes).unwrap())
            .unwrap()
        {
            let frames = search.frames(params.layout());
            let same = |frame: &&Frame<'_>| {
                let literal = params.literal();
                frame.modulus.literal == literal.rlwe
                    && frame.packing[0].gadget.levels == literal.key_switch.levels
                    && frame.rgsw[0].gadget.levels == literal.rgsw.levels
            };
            let frame = frames.iter().find(same).unwrap();

            let key_bits = params.literal().key_bits;
            let (a, b) = params.literal().answer_bits;
            let widths = [
                params.literal().query_bits,
                key_bits.y_g,
                key_bits.y_h,
                key_bits.rgsw,
                a,
                b,
            ];
            let noise = params.noise();
            let computed = [
                noise.selection,
                noise.packing,
                noise.evaluation,
                noise.response,
            ];

            for (part, computed) in frame.parts(&widths).into_iter().zip(computed) {
                assert!(
                    (part - computed).abs() <= 1e-9 * computed,
                    "{}: {part}, {computed}",
                    params.label()
                );
            }

            let sizes = params.sizes();
            let bits = frame.bits(&widths).div_ceil(8) + 2 * papir_core::envelope::OVERHEAD as u64;
            assert!(
                (sizes.query + sizes.answer).abs_diff(bits) <= 1,
                "{sizes:?}, {bits}"
            );
        }
    }
}

#[test]
fn equal_answers_are_not_both_worth_comparing() {
    let search = Search::new(FailureBound::DEFAULT, 0.0).unwrap();
    let of = |points| {
        search
            .smallest(Shape::of_bytes(1 << 20, 64).unwrap(), points)
            .unwrap()
    };
    let four = of(Interpolation::of_points(4, 2048).unwrap());
    assert_eq!(undominated(vec![four.clone(), four.clone()]).len(), 1);
    let two_variables = of(Interpolation::of_variables(&[2, 2]).unwrap());
    let kept = undominated(vec![two_variables, four.clone()]);
    assert_eq!((kept.len(), kept[0].literal()), (1, four.literal()));
}

/// Appendix G.1: about a third less of packing keys, RGSW encryptions and packing matrices.
#[test]
fn approximate_gadgets_against_exact_ones() {
    let exact = GadgetParams {
        levels: 3,
        log_base: 19,
        drop: 0,
    };
    let search = Search::new(FailureBound::DEFAULT, 0.0).unwrap();
    let modulus = &search.moduli[2];
    let packing = [modulus.rounded(exact, Setting::key_switch)];
    let rgsw = [modulus.rounded(exact, Setting::external_product)];

    for (shape, points) in SHAPES
        .into_iter()
        .flat_map(|shape| [4, 16, 32].map(|points| (shape, points)))
    {
        let layout = layout(shape, points);
        let mut frame = search.frame(modulus, &layout, 1, 2).unwrap();
        (frame.packing, frame.rgsw) = (&packing, &rgsw);
        let widths = frame.polish(frame.cut().unwrap());
        let exact = Params::of_ring(frame.literal(&widths).unwrap(), modulus.rlwe.clone()).unwrap();
        let approximate = search.smallest(layout.shape, layout.interpolation).unwrap();

        let material = approximate.sizes().material as f64 / exact.sizes().material as f64;
        let keys = approximate.query_parts().1 as f64 / exact.query_parts().1 as f64;
        assert!((0.66..0.67).contains(&material), "{material}");
        assert!(
            (0.62..0.80).contains(&keys),
            "{shape:?}, t = {points}: {keys}"
        );
        assert!(approximate.message_bytes() < exact.message_bytes());
    }
}

/// A t that is no power of two is chosen where it is better and its setup not much longer, and only
/// there.
#[test]
fn other_numbers_of_points_must_be_worth_it() {
    let mut chosen = 0;
    for (records, bytes) in SHAPES
        .into_iter()
        .chain([(1000, 64), (1 << 16, 256), (300, 4096)])
    {
        let shape = Shape::of_bytes(records, bytes).unwrap();
        for goal in papir_core::Goal::ALL {
            let one = Params::choose(shape, goal).unwrap();
            let powers = Params::candidates(shape, FailureBound::DEFAULT)
                .unwrap()
                .into_iter()
                .filter(|one| is_power(one) && one.affordable(goal));
            let power = powers
                .min_by(|a, b| a.score(goal).total_cmp(&b.score(goal)))
                .unwrap();

            if is_power(&one) {
                assert_eq!(one.literal(), power.literal(), "{shape:?}, {goal:?}");
                continue;
            }
            chosen += 1;
            assert!(
                one.score(goal) < 0.99 * power.score(goal),
                "{shape:?}, {goal:?}: {}",
                one.label()
            );
            let setup = one.rough_setup_seconds() / power.rough_setup_seconds();
            assert!(
                setup <= 2.0,
                "{shape:?}, {goal:?}: {} takes {setup} times as long",
                one.label()
            );
        }
    }
    assert!(chosen > 0);
}
