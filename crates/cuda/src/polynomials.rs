//! The packs of a database in the memory of a GPU: selection, packing, evaluation.

use std::ops::Range;
use std::sync::Arc;

use cudarc::driver::{CudaSlice, CudaView, CudaViewMut, DriverError, LaunchConfig, PushKernelArg};
use papir_core::Result;
use papir_core::device::{HeldPacks, PackQuery, Packs};

use crate::check::check_packs;
use crate::gpu::Gpu;
use crate::matrix::{BLOCK_ROWS, Digits, Matrix, one_thread_each};
use crate::ring::{Gadget, Ring, powers};
use crate::spread::spread;
use crate::workspace::Workspace;

/// Threads of a block.
const THREADS: u32 = 1024;
/// Most bits of a digit: half its base is below every such prime.
const MOST_DIGIT_BITS: u32 = 26;
/// Primes that digits are below, and whose products add up to 64 bits.
const PRIMES: Range<u32> = 1 << 26..1 << 28;
/// Most products of residues that a 64-bit sum holds.
const MOST_LEVELS: usize = 256;

/// The packs of a database in the memory of a GPU.
pub(crate) struct GpuPacks {
    gpu: Arc<Gpu>,
    selected: Matrix,
    packing: Matrix,
    exceptions: CudaSlice<u32>,
    masks: CudaSlice<u32>,
    last: CudaSlice<u32>,
    point_masks: CudaSlice<u32>,
    roots: CudaSlice<u32>,
    inverse_roots: CudaSlice<u32>,
    ring: Ring,
    gadget: Gadget,
    sizes: Sizes,
}

/// The parameters of a database.
struct Sizes {
    degree: usize,
    packs: usize,
    selector_bits: u32,
    key_bits: u32,
    last_levels: usize,
    levels: usize,
    variables: Vec<usize>,
}

/// Words of 64 bits for a group of queries: what is copied to the GPU, in this order, and the rest.
struct BufferWords {
    values: usize,
    keys: usize,
    last: usize,
    points: usize,
    added: usize,
    right: usize,
    sums: usize,
    key_right: usize,
    key_sums: usize,
    results: usize,
}

impl GpuPacks {
    /// Copies the packs. Returns `None` if the kernels do not support their parameters.
    ///
    /// # Errors
    /// [`papir_core::Error::Device`], and the errors of [`check_packs`].
    pub(crate) fn copy(gpu: &Arc<Gpu>, packs: &Packs<'_>) -> Result<Option<Self>> {
        check_packs(packs)?;

        let sizes = Sizes {
            degree: packs.ring.degree,
            packs: packs.masks.len() / (2 * packs.ring.degree),
            selector_bits: packs.selector_bits,
            key_bits: packs.key_bits,
            last_levels: packs.last_levels,
            levels: packs.gadget.levels,
            variables: packs.variables.clone(),
        };
        if !sizes.fit(gpu, packs) {
            return Ok(None);
        }

        let selected = Matrix::copy(gpu, packs.selected)?;
        let packing = Matrix::copy(gpu, packs.packing)?;

        let shared = gpu;
        gpu.run(|gpu, workspace| {
            let held = Self {
                exceptions: copy_words(gpu, packs.exceptions.as_flattened())?,
                masks: copy_words(gpu, &packs.masks)?,
                last: copy_words(gpu, &packs.last)?,
                point_masks: copy_words(gpu, &packs.point_masks)?,
                roots: copy_words(gpu, &powers(&packs.ring, false))?,
                inverse_roots: copy_words(gpu, &powers(&packs.ring, true))?,
                ring: Ring::new(&packs.ring),
                gadget: Gadget::new(&packs.gadget),
                gpu: shared.clone(),
                selected,
                packing,
                sizes,
            };

            // Databases of which not even one query fits are refused here, not at the first answer.
            workspace.fitting(1, |count| held.parts(count).words())?;
            gpu.stream.synchronize()?;
            Ok(Some(held))
        })
    }

    /// Words for a group of queries.
    fn parts(&self, queries: usize) -> BufferWords {
        let Sizes {
            degree,
            last_levels,
            levels,
            ref variables,
            ..
        } = self.sizes;
        let selected = self.selected.shape();
        let packing = self.packing.shape();
        let [values, right, sums] = Digits::of(self.sizes.selector_bits).words(selected, queries);
        let [keys, key_right, key_sums] = Digits::of(self.sizes.key_bits).words(packing, queries);
        let of_results: usize = self.sizes.steps().iter().map(|step| step.words).sum();

        BufferWords {
            values,
            keys,
            last: queries * last_levels * degree,
            points: queries * variables.len() * 2 * levels * degree,
            added: 2 * queries,
            right,
            sums,
            key_right,
            key_sums,
            results: queries * of_results,
        }
    }

    /// Evaluates one group of queries.
    fn pass(
        &self,
        workspace: &mut Workspace,
        queries: &[PackQuery<'_>],
    ) -> Result<Vec<Vec<u32>>, DriverError> {
        let count = queries.len();
        let stream = &self.gpu.stream;
        let parts = self.parts(queries.len());
        let answer = self.sizes.steps().last().map_or(0, |step| step.words);

        workspace.lock(stream, parts.copied().max(count * answer))?;
        let (host, device) = workspace.parts()?;
        self.gather(&mut host[..parts.copied()], &parts, queries);

        let (mut copied, mut rest) = device.split_at_mut(parts.copied());
        stream.memcpy_htod(&host[..parts.copied()], &mut copied)?;
        let copied = copied.as_view();
        let [values, keys, last, points, added] = parts.cut(&copied);
        let (mut right, mut rest) = rest.split_at_mut(parts.right);
        let (mut sums, mut rest) = rest.split_at_mut(parts.sums);
        let (mut key_right, mut rest) = rest.split_at_mut(parts.key_right);
        let (mut key_sums, mut rest) = rest.split_at_mut(parts.key_sums);
        let mut results = rest.slice_mut(..parts.results);

        let digits = Digits::of(self.sizes.selector_bits);
        self.selected
            .multiply(count, digits, &values, &mut right, &mut sums)?;
        let digits = Digits::of(self.sizes.key_bits);
        self.packing
            .multiply(count, digits, &keys, &mut key_right, &mut key_sums)?;
        // Before `pack`, which writes the bodies over the sums.
        self.correct(count, &values, &mut sums)?;
        self.pack(count, &added, &last, &mut sums, &key_sums.as_view())?;
        let first = self.evaluate(count, &points, &sums.as_view(), &mut results)?;

        let words = first..first + count * answer;
        stream.memcpy_dtoh(&results.slice(words), &mut host[..count * answer])?;
        stream.synchronize()?;

        let answers = host[..count * answer].chunks_exact(answer);
        Ok(answers
            .map(|words| bytemuck::cast_slice(words).to_vec())
            .collect())
    }

    /// Writes all that is copied to the GPU.
    fn gather(&self, host: &mut [u64], parts: &BufferWords, queries: &[PackQuery<'_>]) {
        let count = queries.len();

        let (values, host) = host.split_at_mut(parts.values);
        let (keys, host) = host.split_at_mut(parts.keys);
        let (last, host) = host.split_at_mut(parts.last);
        let (points, added) = host.split_at_mut(parts.points);
        let (selected_added, packed_added) = added.split_at_mut(count);

        let numbers: Vec<AddedProducts<'_, '_>> = selected_added
            .iter_mut()
            .zip(packed_added)
            .zip(queries)
            .map(|((selected, packed), query)| AddedProducts {
                selected,
                packed,
                query,
            })
            .collect();
        spread(numbers, |numbers| {
            *numbers.selected = self.selected.added(numbers.query.selector);
            *numbers.packed = self.packing.added(numbers.query.key);
        });

        copy_each(values, queries, |query| query.selector);
        copy_each(keys, queries, |query| query.key);
        copy_each(bytemuck::cast_slice_mut(last), queries, |query| query.last);
        copy_each(bytemuck::cast_slice_mut(points), queries, |query| {
            query.points
        });
    }

    /// Adds what stored words lack.
    fn correct(
        &self,
        queries: usize,
        values: &CudaView<'_, u64>,
        sums: &mut CudaViewMut<'_, u64>,
    ) -> Result<(), DriverError> {
        let count = self.exceptions.len() as u64 / 2;
        if count == 0 {
            return Ok(());
        }

        let vectors = queries as u32;
        let rows = self.selected.sum_rows() as u64;
        let columns = self.selected.shape().columns as u32;

        let mut launch = self.gpu.stream.launch_builder(&self.gpu.program.correct);
        launch
            .arg(sums)
            .arg(values)
            .arg(&self.exceptions)
            .arg(&count)
            .arg(&vectors)
            .arg(&rows)
            .arg(&columns);
        // SAFETY: the arguments are those of `correct` in polynomials.cu; exceptions lie in the
        // matrix.
        unsafe { launch.launch(one_thread_each(count as usize * queries)) }.map(drop)
    }

    /// Turns sums into the bodies of packs.
    fn pack(
        &self,
        queries: usize,
        added: &CudaView<'_, u64>,
        last: &CudaView<'_, u64>,
        sums: &mut CudaViewMut<'_, u64>,
        key_sums: &CudaView<'_, u64>,
    ) -> Result<(), DriverError> {
        let Sizes {
            degree,
            packs,
            selector_bits,
            key_bits,
            last_levels,
            ..
        } = self.sizes;
        let selected_added = added.slice(..queries);
        let packed_added = added.slice(queries..);

        let [rows, key_rows] =
            [&self.selected, &self.packing].map(|matrix| matrix.sum_rows() as u64);
        let levels = last_levels as u32;

        let config = LaunchConfig {
            grid_dim: (packs as u32, queries as u32, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: 2 * shared_bytes(degree) as u32,
        };

        let mut launch = self.gpu.stream.launch_builder(&self.gpu.program.pack);
        launch
            .arg(sums)
            .arg(&rows)
            .arg(&selected_added)
            .arg(&selector_bits);
        launch
            .arg(key_sums)
            .arg(&key_rows)
            .arg(&packed_added)
            .arg(&key_bits);
        launch
            .arg(&self.last)
            .arg(last)
            .arg(&levels)
            .arg(&self.ring)
            .arg(&self.inverse_roots);
        // SAFETY: the arguments are those of `pack` in polynomials.cu, of the lengths of
        // `BufferWords`.
        unsafe { launch.launch(config) }.map(drop)
    }

    /// Evaluates the polynomials, variable after variable; returns where the last results begin.
    fn evaluate(
        &self,
        queries: usize,
        points: &CudaView<'_, u64>,
        bodies: &CudaView<'_, u64>,
        results: &mut CudaViewMut<'_, u64>,
    ) -> Result<usize, DriverError> {
        let element = 2 * self.sizes.degree as u64;
        let steps = self.sizes.steps();

        // The packs are the coefficients of the first variable, with the same masks for all
        // queries.
        let of_query = 2 * self.selected.sum_rows() as u64;
        let first = Coefficients {
            masks: &self.masks.as_view(),
            bodies,
            strides: [0, element, of_query, element],
        };
        self.horner(
            queries,
            &steps[0],
            first,
            points,
            &mut results.slice_mut(..queries * steps[0].words),
        )?;

        let mut start = 0;
        for pair in steps.windows(2) {
            // The results of a variable are the coefficients of the next: masks and bodies in turn.
            let [before, step] = pair else { continue };
            let next = start + queries * before.words;
            let (old, mut rest) = results.split_at_mut(next);

            let old = old.as_view();
            let of_query = 2 * before.words as u64;
            let strides = [of_query, 2 * element, of_query, 2 * element];
            let masks = &old.slice(start..);
            let bodies = &old.slice(start + self.sizes.degree..);
            let coefficients = Coefficients {
                masks,
                bodies,
                strides,
            };

            self.horner(
                queries,
                step,
                coefficients,
                points,
                &mut rest.slice_mut(..queries * step.words),
            )?;
            start = next;
        }

        Ok(start)
    }

    /// Evaluates all polynomials in one variable.
    fn horner<T>(
        &self,
        queries: usize,
        step: &VariableStep,
        coefficients: Coefficients<'_, T>,
        points: &CudaView<'_, u64>,
        out: &mut CudaViewMut<'_, u64>,
    ) -> Result<(), DriverError> {
        let Sizes {
            degree,
            levels,
            ref variables,
            ..
        } = self.sizes;

        let of_variable = 2 * levels * 2 * degree;
        let all_points = (variables.len() * of_variable) as u64;
        let point_masks = self.point_masks.slice(step.variable * of_variable..);
        // A word of the points holds two residues.
        let points = points.slice(step.variable * of_variable / 2..);

        let config = LaunchConfig {
            grid_dim: (step.polynomials as u32, queries as u32, 1),
            block_dim: (THREADS, 1, 1),
            shared_mem_bytes: self.sizes.shared_bytes() as u32,
        };
        let size = step.size as u32;

        let Coefficients {
            masks,
            bodies,
            strides,
        } = coefficients;
        let mut launch = self.gpu.stream.launch_builder(&self.gpu.program.evaluate);
        launch
            .arg(masks)
            .arg(&strides[0])
            .arg(&strides[1])
            .arg(bodies)
            .arg(&strides[2])
            .arg(&strides[3]);
        launch
            .arg(&size)
            .arg(&point_masks)
            .arg(&points)
            .arg(&all_points)
            .arg(out);
        launch
            .arg(&self.gadget)
            .arg(&self.ring)
            .arg(&self.roots)
            .arg(&self.inverse_roots);
        // SAFETY: the arguments are those of `evaluate` in polynomials.cu, of the lengths of
        // `BufferWords`.
        unsafe { launch.launch(config) }.map(drop)
    }
}

impl HeldPacks for GpuPacks {
    fn evaluate(&self, queries: &[PackQuery<'_>]) -> Result<Vec<Vec<u32>>> {
        let Sizes {
            degree,
            last_levels,
            levels,
            ref variables,
            ..
        } = self.sizes;

        for query in queries {
            assert_eq!(
                query.selector.len(),
                self.selected.shape().columns,
                "values of the selector"
            );
            assert_eq!(
                query.key.len(),
                self.packing.shape().columns,
                "values of the packing key"
            );
            assert_eq!(
                query.last.len(),
                last_levels * 2 * degree,
                "residues for the last digits"
            );
            assert_eq!(
                query.points.len(),
                variables.len() * 2 * levels * 2 * degree,
                "residues of the points"
            );
        }

        let mut all = Vec::with_capacity(queries.len());

        // Locked for one group at a time, so that answers of other databases take turns.
        while all.len() < queries.len() {
            let rest = &queries[all.len()..];
            all.extend(self.gpu.run(|_, workspace| {
                let count = workspace.fitting(rest.len(), |count| self.parts(count).words())?;
                self.pass(workspace, &rest[..count])
            })?);
        }
        Ok(all)
    }
}

/// Coefficients of polynomials on the GPU. The strides are words of 32 bits: from the masks of one
/// query to those of the next, from one mask to the next, and the same of bodies.
struct Coefficients<'a, T> {
    masks: &'a CudaView<'a, T>,
    bodies: &'a CudaView<'a, u64>,
    strides: [u64; 4],
}

/// The evaluation in one variable.
struct VariableStep {
    variable: usize,
    polynomials: usize,
    /// Coefficients of a polynomial.
    size: usize,
    /// Words of 64 bits of the results for one query.
    words: usize,
}

impl Sizes {
    /// True if the kernels support these parameters.
    fn fit(&self, gpu: &Gpu, packs: &Packs<'_>) -> bool {
        let rows = self.packs * self.degree;
        let shapes = [packs.selected, packs.packing].map(|tiles| tiles.shape());

        // Packs are then whole blocks of rows, so that no padding lies among their sums.
        self.degree.is_multiple_of(BLOCK_ROWS)
            && shapes.iter().all(|shape| shape.rows == rows)
            && packs.ring.primes.iter().all(|prime| PRIMES.contains(prime))
            && packs.gadget.log_base <= MOST_DIGIT_BITS
            && self.last_levels <= MOST_LEVELS
            && 2 * self.levels <= MOST_LEVELS
            && self.shared_bytes() <= gpu.program.shared_bytes
    }

    /// Bytes of shared memory of the evaluation: four elements modulo one prime, and four for each
    /// digit.
    fn shared_bytes(&self) -> usize {
        4 * (1 + self.levels) * shared_bytes(self.degree)
    }

    /// The evaluations, variable after variable. Without variables, constants are evaluated.
    fn steps(&self) -> Vec<VariableStep> {
        let mut polynomials = self.packs;
        let sizes = if self.variables.is_empty() {
            &[1][..]
        } else {
            &self.variables
        };

        let mut steps = Vec::with_capacity(sizes.len());
        for (variable, &size) in sizes.iter().enumerate() {
            polynomials /= size;
            steps.push(VariableStep {
                variable,
                polynomials,
                size,
                words: polynomials * 2 * self.degree,
            });
        }
        steps
    }
}

/// Words for the numbers that are added to the sums of a query.
struct AddedProducts<'a, 'q> {
    selected: &'a mut u64,
    packed: &'a mut u64,
    query: &'a PackQuery<'q>,
}

impl BufferWords {
    /// Words that are copied to the GPU.
    fn copied(&self) -> usize {
        self.values + self.keys + self.last + self.points + self.added
    }

    /// All words on the GPU.
    fn words(&self) -> usize {
        let used = self.right + self.sums + self.key_right + self.key_sums + self.results;
        self.copied() + used
    }

    /// The parts of what is copied.
    fn cut<'a>(&self, copied: &'a CudaView<'a, u64>) -> [CudaView<'a, u64>; 5] {
        let mut start = 0;
        [self.values, self.keys, self.last, self.points, self.added].map(|words| {
            start += words;
            copied.slice(start - words..start)
        })
    }
}

/// Bytes of one element modulo one prime in shared memory: four words are left free after each 32.
fn shared_bytes(degree: usize) -> usize {
    degree / 32 * (32 + 4) * size_of::<u32>()
}

/// Copies words to the GPU. An empty slice becomes one zero: CUDA allocates no empty memory.
fn copy_words(gpu: &Gpu, words: &[u32]) -> Result<CudaSlice<u32>, DriverError> {
    match words {
        [] => gpu.stream.alloc_zeros(1),
        words => gpu.stream.clone_htod(words),
    }
}

/// Copies a part of each query, one after another.
fn copy_each<'a, T: Copy + Send + Sync + 'a>(
    out: &mut [T],
    queries: &[PackQuery<'a>],
    part: impl Fn(&PackQuery<'a>) -> &'a [T] + Sync,
) {
    let Some(each) = out
        .len()
        .checked_div(queries.len())
        .filter(|&each| each > 0)
    else {
        return;
    };

    let parts = out.chunks_exact_mut(each).zip(queries).collect();
    spread(parts, |(out, query): (&mut [T], _)| {
        out.copy_from_slice(part(query))
    });
}
