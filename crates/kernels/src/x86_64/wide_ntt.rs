//! Negacyclic transforms modulo a wide prime: the stages whose halves are whole registers.
//!
//! Two or three stages at a time run over the whole array, in radix 4 or 8, which saves loads and
//! stores. The stages on blocks of [`BLOCK`] registers are in the folders of the instruction sets.
#![expect(
    clippy::needless_range_loop,
    reason = "parts live in registers: their loops must have constant bounds, to unroll"
)]

/// Registers whose last stages (the first of the inverse) are not in this file.
pub(super) const BLOCK: usize = 8;

/// Butterflies on registers, with the roots of one direction.
pub(super) trait Butterflies: Copy {
    /// The words of a register.
    type Words;
    /// The most stages of a pass, 2 or 3: as many as the registers have room for.
    const MOST_STAGES: u32;
    type Vector: Copy;
    /// One root in all lanes.
    type Root: Copy;

    fn load(self, words: &Self::Words) -> Self::Vector;
    fn store(self, words: &mut Self::Words, value: Self::Vector);

    /// The root at an index.
    fn root(self, index: usize) -> Self::Root;

    /// Reduces a value that sums have enlarged, for butterflies that leave this to the passes.
    fn settle(self, value: Self::Vector) -> Self::Vector;
}

/// Butterflies of the forward transform.
pub(super) trait ForwardButterflies: Butterflies {
    /// (u, v) ← (u + w·v, u − w·v) (Cooley–Tukey).
    ///
    /// With `SIGNED_OUT` the new v is in the range of its own that the u of a next butterfly with
    /// `SIGNED_IN` has.
    fn forward<const SIGNED_IN: bool, const SIGNED_OUT: bool>(
        self,
        pair: (Self::Vector, Self::Vector),
        w: Self::Root,
    ) -> (Self::Vector, Self::Vector);
}

/// Butterflies of the inverse transform.
pub(super) trait InverseButterflies: Butterflies {
    /// (u, v) ← (u + v, w·(u − v)) (Gentleman–Sande), where v is given negated.
    ///
    /// Both results are negated with `NEGATE`.
    fn inverse<const NEGATE: bool>(
        self,
        pair: (Self::Vector, Self::Vector),
        w: Self::Root,
    ) -> (Self::Vector, Self::Vector);

    /// The last butterfly, where v is given negated; it also divides by d and reduces.
    fn last(self, u: Self::Vector, v: Self::Vector) -> (Self::Vector, Self::Vector);
}

/// All stages of the forward transform except those on blocks of [`BLOCK`] registers. There is at
/// least one stage; `first_field` loads the inputs.
#[inline(always)]
pub(super) fn forward<F: ForwardButterflies>(
    first_field: impl ForwardButterflies<Words = F::Words, Vector = F::Vector, Root = F::Root>,
    field: F,
    vectors: &mut [F::Words],
) {
    let stages = (vectors.len() / BLOCK).ilog2();
    // Only the first pass reads the inputs, which may be in another form than what passes leave.
    let mut done = next_stages(stages, F::MOST_STAGES);
    forward_pass(first_field, vectors, 1, done);
    while done < stages {
        let taken = next_stages(stages - done, F::MOST_STAGES);
        forward_pass(field, vectors, 1 << done, taken);
        done += taken;
    }
}

/// `taken` stages on each of the given number of blocks.
#[inline(always)]
fn forward_pass<F: ForwardButterflies>(
    field: F,
    vectors: &mut [F::Words],
    blocks: usize,
    taken: u32,
) {
    let size = vectors.len() / blocks;
    for (i, block) in vectors.chunks_exact_mut(size).enumerate() {
        let root = blocks + i;
        // The number of parts is constant within an arm, so that the parts stay in registers.
        match taken {
            1 => on_parts(field, block, &Forward(field, tree::<F, 1>(field, root))),
            2 => on_parts(field, block, &Forward(field, tree::<F, 3>(field, root))),
            _ => on_parts(field, block, &Forward(field, tree::<F, 7>(field, root))),
        }
    }
}

/// Stages that the next pass takes, of the given number that are left: one only if it is the last.
#[inline(always)]
const fn next_stages(left: u32, most: u32) -> u32 {
    match left {
        1 => 1,
        left if most == 3 && left.is_multiple_of(3) => 3,
        _ => 2,
    }
}

/// All stages of the inverse transform except those on blocks of [`BLOCK`] registers, of which the
/// odd ones are given negated. There is at least one stage.
#[inline(always)]
pub(super) fn inverse<F: InverseButterflies>(field: F, vectors: &mut [F::Words]) {
    let mut stages = (vectors.len() / BLOCK).ilog2();
    let mut size = BLOCK;

    while stages > F::MOST_STAGES {
        let taken = next_stages(stages, F::MOST_STAGES);
        size <<= taken;
        let first = vectors.len() / size;
        for (i, block) in vectors.chunks_exact_mut(size).enumerate() {
            // An odd block is the v of the next pass, whose butterflies expect v negated.
            if i % 2 == 0 {
                inverse_stages::<F, false>(field, block, first + i, taken);
            } else {
                inverse_stages::<F, true>(field, block, first + i, taken);
            }
        }
        stages -= taken;
    }

    // The last pass also divides by d and reduces, so it is one of its own.
    match stages {
        1 => on_parts(field, vectors, &Last(field, tree::<F, 1>(field, 1))),
        2 => on_parts(field, vectors, &Last(field, tree::<F, 3>(field, 1))),
        _ => on_parts(field, vectors, &Last(field, tree::<F, 7>(field, 1))),
    }
}

/// Two or three stages on a block, up to the root at `index`.
#[inline(always)]
fn inverse_stages<F: InverseButterflies, const NEGATE: bool>(
    field: F,
    block: &mut [F::Words],
    index: usize,
    taken: u32,
) {
    if taken == 2 {
        on_parts(
            field,
            block,
            &Inverse::<_, _, NEGATE>(field, tree::<F, 3>(field, index)),
        );
    } else {
        on_parts(
            field,
            block,
            &Inverse::<_, _, NEGATE>(field, tree::<F, 7>(field, index)),
        );
    }
}

/// Stages on one register of each part of a block.
///
/// A trait instead of a closure, which would not be compiled for the instruction set.
pub(super) trait Stages<V, const R: usize> {
    /// The registers after the stages.
    fn apply(&self, x: [V; R]) -> [V; R];
}

/// Replaces the registers of the `R` parts of a block.
#[inline(always)]
fn on_parts<F: Butterflies, const R: usize>(
    field: F,
    block: &mut [F::Words],
    stages: &impl Stages<F::Vector, R>,
) {
    let part = block.len() / R;
    for i in 0..part {
        let mut x = [field.load(&block[i]); R];
        for r in 1..R {
            x[r] = field.load(&block[i + r * part]);
        }
        let x = stages.apply(x);
        for r in 0..R {
            field.store(&mut block[i + r * part], x[r]);
        }
    }
}

/// The roots of one, two or three stages from the root at `index` on: 1, 3 or 7 of them, as a heap.
#[inline(always)]
pub(super) fn tree<F: Butterflies, const P: usize>(field: F, index: usize) -> [F::Root; P] {
    let mut roots = [field.root(index); P];
    for k in 1..P {
        // The roots of a level are neighbours, and start at `index` times the number of them.
        let depth = (k + 1).ilog2();
        roots[k] = field.root((index << depth) + (k + 1 - (1 << depth)));
    }
    roots
}

/// The forward stages of a tree of roots.
pub(super) struct Forward<F, T>(pub(super) F, pub(super) T);

impl<F: ForwardButterflies> Stages<F::Vector, 2> for Forward<F, [F::Root; 1]> {
    #[inline(always)]
    fn apply(&self, [a, b]: [F::Vector; 2]) -> [F::Vector; 2] {
        let (a, b) = self
            .0
            .forward::<false, false>((self.0.settle(a), b), self.1[0]);
        [a, b]
    }
}

impl<F: ForwardButterflies> Stages<F::Vector, 4> for Forward<F, [F::Root; 3]> {
    #[inline(always)]
    fn apply(&self, [a, b, c, e]: [F::Vector; 4]) -> [F::Vector; 4] {
        let &Self(field, [root, left, right]) = self;
        let a = field.settle(a);
        let b = field.settle(b);
        // c is the u of the right butterfly, which takes the signed range; e is its v.
        let (a, c) = field.forward::<false, true>((a, c), root);
        let (b, e) = field.forward::<false, false>((b, e), root);
        let (a, b) = field.forward::<false, false>((a, b), left);
        let (c, e) = field.forward::<true, false>((c, e), right);
        [a, b, c, e]
    }
}

impl<F: ForwardButterflies> Stages<F::Vector, 8> for Forward<F, [F::Root; 7]> {
    #[inline(always)]
    fn apply(&self, [a, b, c, e, f, g, h, i]: [F::Vector; 8]) -> [F::Vector; 8] {
        let &Self(field, [root, left, right, w0, w1, w2, w3]) = self;
        // Every u, but no v: a v becomes a product, which accepts all that a pass leaves.
        let [a, b, c, e] = [
            field.settle(a),
            field.settle(b),
            field.settle(c),
            field.settle(e),
        ];

        let (a, f) = field.forward::<false, true>((a, f), root);
        let (b, g) = field.forward::<false, true>((b, g), root);
        let (c, h) = field.forward::<false, false>((c, h), root);
        let (e, i) = field.forward::<false, false>((e, i), root);

        let (a, c) = field.forward::<false, true>((a, c), left);
        let (b, e) = field.forward::<false, false>((b, e), left);
        let (f, h) = field.forward::<true, true>((f, h), right);
        let (g, i) = field.forward::<true, false>((g, i), right);

        let (a, b) = field.forward::<false, false>((a, b), w0);
        let (c, e) = field.forward::<true, false>((c, e), w1);
        let (f, g) = field.forward::<false, false>((f, g), w2);
        let (h, i) = field.forward::<true, false>((h, i), w3);
        [a, b, c, e, f, g, h, i]
    }
}

/// The inverse stages of a tree of roots; the results are negated with `NEGATE`.
pub(super) struct Inverse<F, T, const NEGATE: bool>(pub(super) F, pub(super) T);

impl<F: InverseButterflies, const NEGATE: bool> Stages<F::Vector, 4>
    for Inverse<F, [F::Root; 3], NEGATE>
{
    #[inline(always)]
    fn apply(&self, [a, b, c, e]: [F::Vector; 4]) -> [F::Vector; 4] {
        let &Self(field, [root, left, right]) = self;
        let (a, b) = field.inverse::<false>((a, b), left);
        let (c, e) = field.inverse::<true>((c, e), right);
        let a = field.settle(a);
        let c = field.settle(c);
        let (a, c) = field.inverse::<NEGATE>((a, c), root);
        let (b, e) = field.inverse::<NEGATE>((b, e), root);
        [a, b, c, e]
    }
}

impl<F: InverseButterflies, const NEGATE: bool> Stages<F::Vector, 8>
    for Inverse<F, [F::Root; 7], NEGATE>
{
    #[inline(always)]
    fn apply(&self, x: [F::Vector; 8]) -> [F::Vector; 8] {
        let [a, b, c, e, f, g, h, i] = inner_stages(self.0, x, self.1);
        let field = self.0;
        let root = self.1[0];
        let (a, f) = field.inverse::<NEGATE>((a, f), root);
        let (b, g) = field.inverse::<NEGATE>((b, g), root);
        let (c, h) = field.inverse::<NEGATE>((c, h), root);
        let (e, i) = field.inverse::<NEGATE>((e, i), root);
        // Only a and b are sums of sums. The others have passed a product in one of the last two
        // stages.
        [field.settle(a), field.settle(b), c, e, f, g, h, i]
    }
}

/// The first two of three stages of the inverse.
#[inline(always)]
fn inner_stages<F: InverseButterflies>(
    field: F,
    [a, b, c, e, f, g, h, i]: [F::Vector; 8],
    [_, left, right, w0, w1, w2, w3]: [F::Root; 7],
) -> [F::Vector; 8] {
    let (a, b) = field.inverse::<false>((a, b), w0);
    let (c, e) = field.inverse::<true>((c, e), w1);
    let (f, g) = field.inverse::<false>((f, g), w2);
    let (h, i) = field.inverse::<true>((h, i), w3);

    // Sums grow from stage to stage, while products are reduced.
    let [a, c, f, h] = [
        field.settle(a),
        field.settle(c),
        field.settle(f),
        field.settle(h),
    ];
    let (a, c) = field.inverse::<false>((a, c), left);
    let (b, e) = field.inverse::<false>((b, e), left);
    let (f, h) = field.inverse::<true>((f, h), right);
    let (g, i) = field.inverse::<true>((g, i), right);
    [a, b, c, e, f, g, h, i]
}

/// [`Inverse`] at the end of the transform.
struct Last<F, T>(F, T);

impl<F: InverseButterflies> Stages<F::Vector, 2> for Last<F, [F::Root; 1]> {
    #[inline(always)]
    fn apply(&self, [a, b]: [F::Vector; 2]) -> [F::Vector; 2] {
        let (a, b) = self.0.last(a, b);
        [a, b]
    }
}

impl<F: InverseButterflies> Stages<F::Vector, 4> for Last<F, [F::Root; 3]> {
    #[inline(always)]
    fn apply(&self, [a, b, c, e]: [F::Vector; 4]) -> [F::Vector; 4] {
        // The last stage has factors of its own, which include 1/d, in place of the root.
        let &Self(field, [_, left, right]) = self;
        let (a, b) = field.inverse::<false>((a, b), left);
        let (c, e) = field.inverse::<true>((c, e), right);
        let a = field.settle(a);
        let c = field.settle(c);
        let (a, c) = field.last(a, c);
        let (b, e) = field.last(b, e);
        [a, b, c, e]
    }
}

impl<F: InverseButterflies> Stages<F::Vector, 8> for Last<F, [F::Root; 7]> {
    #[inline(always)]
    fn apply(&self, x: [F::Vector; 8]) -> [F::Vector; 8] {
        let [a, b, c, e, f, g, h, i] = inner_stages(self.0, x, self.1);
        let (a, f) = self.0.last(a, f);
        let (b, g) = self.0.last(b, g);
        let (c, h) = self.0.last(c, h);
        let (e, i) = self.0.last(e, i);
        [a, b, c, e, f, g, h, i]
    }
}
