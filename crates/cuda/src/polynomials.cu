// Packs and polynomials at encrypted points: InsPIRe, Algorithm 9, lines 8 to 12 and EVALPOLY.
//
// Ring elements have d coefficients modulo two primes below 2^28, all residues reduced: first those
// modulo the first prime, then those modulo the second.

// A prime and the constants of its reductions.
struct Prime {
    u32 value;
    // 1/d and its Shoup quotient.
    u32 scale, scale_quotient;
    u32 unused;
    // floor(2^64 / value).
    u64 ratio;
};

struct Ring {
    u32 degree, log_degree;
    Prime primes[2];
    // q = q1·q2, and 1/q1 modulo q2 with its Shoup quotient.
    u64 modulus;
    u32 inverse, inverse_quotient;
    // The least multiple of q2 that is at least q1.
    u32 lift, unused;
};

// Balanced digits of the centred integer: see papir_kernels::gadget.
struct Gadget {
    u32 log_base, drop, levels, unused;
    u64 offset;
};

static __device__ __forceinline__ u32 once(u32 x, u32 q) { return min(x, x - q); }
static __device__ __forceinline__ u32 add(u32 a, u32 b, u32 q) { return once(a + b, q); }
static __device__ __forceinline__ u32 sub(u32 a, u32 b, u32 q)
{
    u32 difference = a - b;
    return min(difference, difference + q);
}

// v·w modulo q for any v and a constant w with its Shoup quotient.
static __device__ __forceinline__ u32 scaled(u32 v, u32 w, u32 quotient, u32 q)
{
    return once(v * w - __umulhi(v, quotient) * q, q);
}

// x modulo a prime.
static __device__ __forceinline__ u32 reduced(u64 x, const Prime& prime)
{
    u64 rest = x - __umul64hi(x, prime.ratio) * prime.value;
    return once((u32)rest, prime.value);
}

// Place of residue i of a polynomial in shared memory: four words are left free after each 32, so that
// neighbouring threads of no pass below meet in a bank.
static __device__ __forceinline__ u32 place(u32 i) { return i + (i >> 5 << 2); }

// 2^R residues, a distance of 2^log_s apart, and their group of butterflies.
template <int R>
struct Span {
    u32* first;
    u32 log_s, group;

    // Span `at` of the polynomials; the groups of its widest butterflies are 2^(log_s + R) long.
    __device__ __forceinline__ Span(u32* polys, u32 at, u32 log_s, const Ring& ring) : log_s(log_s)
    {
        u32 log_spans = ring.log_degree - R, poly = at >> log_spans, j = at & ((1u << log_spans) - 1);
        group = j >> log_s;
        first = polys + poly * place(ring.degree);
        base = (group << (log_s + R)) + (j & ((1u << log_s) - 1));
    }
    __device__ __forceinline__ u32& operator[](u32 k) { return first[place(base + (k << log_s))]; }

private:
    u32 base;
};

// R stages of the forward transform: butterflies 2^(log_s + R − 1) to 2^log_s wide.
template <int R>
static __device__ __forceinline__ void forward_stages(
    u32* polys, u32 each, u32 log_s, const Ring& ring, const uint2* roots)
{
    u32 of_prime = each << (ring.log_degree - R);
    for (u32 at = threadIdx.x; at < 2 * of_prime; at += blockDim.x) {
        Span<R> span(polys, at, log_s, ring);
        u32 prime = at >= of_prime, q = ring.primes[prime].value, x[1 << R];
#pragma unroll
        for (int k = 0; k < 1 << R; k++) x[k] = span[k];
        u32 root = (ring.degree >> (log_s + R)) + span.group;
#pragma unroll
        for (int r = 0; r < R; r++) {
#pragma unroll
            for (int k = 0; k < 1 << R; k++) {
                const int apart = 1 << (R - 1 - r);
                if (k & apart) continue;
                uint2 w = __ldg(roots + (prime << ring.log_degree) + (root << r) + (k >> (R - r)));
                u32 u = x[k], v = scaled(x[k + apart], w.x, w.y, q);
                x[k] = add(u, v, q);
                x[k + apart] = sub(u, v, q);
            }
        }
#pragma unroll
        for (int k = 0; k < 1 << R; k++) span[k] = x[k];
    }
    __syncthreads();
}

// R stages of the inverse transform: butterflies 2^log_s to 2^(log_s + R − 1) wide.
template <int R>
static __device__ __forceinline__ void inverse_stages(
    u32* polys, u32 count, u32 log_s, const Ring& ring, const uint2* roots)
{
    u32 log_spans = ring.log_degree - R;
    for (u32 at = threadIdx.x; at < count << log_spans; at += blockDim.x) {
        Span<R> span(polys, at, log_s, ring);
        u32 prime = at >> log_spans & 1, x[1 << R];
        const Prime& p = ring.primes[prime];
#pragma unroll
        for (int k = 0; k < 1 << R; k++) x[k] = span[k];
        u32 root = (ring.degree >> (log_s + R)) + span.group;
#pragma unroll
        for (int r = 0; r < R; r++) {
#pragma unroll
            for (int k = 0; k < 1 << R; k++) {
                const int apart = 1 << r;
                if (k & apart) continue;
                u32 index = (root << (R - 1 - r)) + (k >> (r + 1));
                uint2 w = __ldg(roots + (prime << ring.log_degree) + index);
                u32 u = x[k], v = x[k + apart];
                x[k] = add(u, v, p.value);
                x[k + apart] = scaled(sub(u, v, p.value), w.x, w.y, p.value);
            }
        }
        bool last = log_s + R == ring.log_degree;
#pragma unroll
        for (int k = 0; k < 1 << R; k++)
            span[k] = last ? scaled(x[k], p.scale, p.scale_quotient, p.value) : x[k];
    }
    __syncthreads();
}

// Transforms polynomials in shared memory: `each` modulo the first prime, then as many modulo the
// second. roots has the powers of each root in bit-reversed order and their Shoup quotients.
static __device__ void forward(u32* polys, u32 each, const Ring& ring, const uint2* roots)
{
    u32 left = ring.log_degree;
    for (; left >= 3; left -= 3) forward_stages<3>(polys, each, left - 3, ring, roots);
    if (left == 2) forward_stages<2>(polys, each, 0, ring, roots);
    if (left == 1) forward_stages<1>(polys, each, 0, ring, roots);
}

// The inverse, with the factor 1/d, of `count` polynomials that are modulo both primes in turn.
static __device__ void inverse(u32* polys, u32 count, const Ring& ring, const uint2* roots)
{
    u32 done = ring.log_degree % 3;
    if (done == 2) inverse_stages<2>(polys, count, 0, ring, roots);
    if (done == 1) inverse_stages<1>(polys, count, 0, ring, roots);
    for (; done < ring.log_degree; done += 3) inverse_stages<3>(polys, count, done, ring, roots);
}

// Adds 2·32768 times the selector's value for each word that stands for +32768 and is stored as
// −32768. One thread per exception and vector.
extern "C" __global__ void correct(
    u64* sums, const u64* values, const uint2* exceptions, u64 count, u32 vectors, u64 rows, u32 columns)
{
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count * vectors) return;
    uint2 at = exceptions[i % count];
    u64 vector = i / count;
    atomicAdd(sums + vector * rows + at.x, values[vector * columns + at.y] << 16);
}

// round(y·q / 2^bits) for y modulo 2^bits.
static __device__ __forceinline__ u64 lifted(u64 y, u32 bits, u64 q)
{
    y &= (1ull << bits) - 1;
    u64 low = y * q, high = __umul64hi(y, q), half = 1ull << (bits - 1);
    u64 sum = low + half;
    high += sum < low;
    return high << (64 - bits) | sum >> bits;
}

// The packed bodies of pack blockIdx.x for query blockIdx.y, in the place of the selected sums:
// b + M·y_g + digits·y_h. Shared memory: two polynomials.
extern "C" __global__ void __launch_bounds__(1024) pack(
    u64* selected, u64 selected_rows, const u64* selected_added, u32 selected_bits,
    const u64* packed, u64 packed_rows, const u64* packed_added, u32 packed_bits,
    const u32* last, const u32* keys, u32 levels, const __grid_constant__ Ring ring,
    const uint2* inverse_roots)
{
    extern __shared__ u32 shared[];
    u32 d = ring.degree, query = blockIdx.y;
    const u32* digits = last + (u64)blockIdx.x * levels * 2 * d;
    const u32* key = keys + (u64)query * levels * 2 * d;
    for (u32 at = threadIdx.x; at < 2 * d; at += blockDim.x) {
        u64 sum = 0;
        for (u32 level = 0; level < levels; level++)
            sum += (u64)digits[level * 2 * d + at] * key[level * 2 * d + at];
        u32 i = at >> ring.log_degree;
        shared[i * place(d) + place(at & (d - 1))] = reduced(sum, ring.primes[i]);
    }
    __syncthreads();
    inverse(shared, 2, ring, inverse_roots);
    u64* in = selected + query * selected_rows + (u64)blockIdx.x * d;
    const u64* added = packed + query * packed_rows + (u64)blockIdx.x * d;
    for (u32 at = threadIdx.x; at < d; at += blockDim.x) {
        u64 words[2] = {
            lifted(in[at] + selected_added[query], selected_bits, ring.modulus),
            lifted(added[at] + packed_added[query], packed_bits, ring.modulus),
        };
        for (u32 i = 0; i < 2; i++) {
            const Prime& prime = ring.primes[i];
            u32 term = add(reduced(words[0], prime), reduced(words[1], prime), prime.value);
            u32& body = shared[i * place(d) + place(at)];
            body = add(body, term, prime.value);
        }
    }
    // All sums are read before the bodies take their place.
    __syncthreads();
    u32* out = (u32*)in;
    for (u32 at = threadIdx.x; at < 2 * d; at += blockDim.x)
        out[at] = shared[(at >> ring.log_degree) * place(d) + place(at & (d - 1))];
}

// The centred integer of two residues, plus the offset that turns plain digits into balanced ones.
static __device__ __forceinline__ u64 shifted(u32 r1, u32 r2, const Ring& ring, const Gadget& gadget)
{
    u32 q1 = ring.primes[0].value, q2 = ring.primes[1].value;
    u32 difference = r2 + ring.lift - r1;
    u64 x = r1 + (u64)q1 * scaled(difference, ring.inverse, ring.inverse_quotient, q2);
    return (x > ring.modulus / 2 ? x - ring.modulus : x) + gadget.offset;
}

// Horner's rule at an encrypted point: polynomial blockIdx.x of query blockIdx.y, with `size`
// coefficients (a, b). Shared memory: four polynomials, and 4ℓ for digits.
extern "C" __global__ void __launch_bounds__(1024) evaluate(
    const u32* masks, u64 masks_query, u64 masks_each, const u32* bodies, u64 bodies_query,
    u64 bodies_each, u32 size, const u32* point_masks, const u32* points, u64 points_query, u32* results,
    const __grid_constant__ Gadget gadget, const __grid_constant__ Ring ring, const uint2* roots,
    const uint2* inverse_roots)
{
    extern __shared__ u32 shared[];
    u32 d = ring.degree, levels = gadget.levels, rows = 2 * levels, poly = place(d);
    // Masks modulo both primes, then bodies modulo both.
    u32 *state = shared, *digits = shared + 4 * poly;
    u64 first = (u64)blockIdx.x * size;
    masks += blockIdx.y * masks_query + first * masks_each;
    bodies += blockIdx.y * bodies_query + first * bodies_each;
    points += blockIdx.y * points_query;

    for (u32 at = threadIdx.x; at < 2 * d; at += blockDim.x) {
        u32 to = (at >> ring.log_degree) * poly + place(at & (d - 1));
        state[to] = masks[(size - 1) * masks_each + at];
        state[2 * poly + to] = bodies[(size - 1) * bodies_each + at];
    }
    __syncthreads();
    for (u32 k = size - 1; k-- > 0;) {
        // Digits of masks, then of bodies, modulo each prime.
        for (u32 at = threadIdx.x; at < 2 * d; at += blockDim.x) {
            u32 part = at >> ring.log_degree, c = at & (d - 1);
            const u32* residues = state + 2 * part * poly + place(c);
            u64 word = shifted(residues[0], residues[poly], ring, gadget);
            for (u32 level = 0; level < levels; level++) {
                u32 shift = gadget.drop + gadget.log_base * level;
                u64 bits = word >> shift;
                int digit = level + 1 < levels
                    ? (int)(bits & ((1u << gadget.log_base) - 1)) - (int)(1u << gadget.log_base >> 1)
                    : (int)(bits - (1ull << 62 >> shift));
                for (u32 i = 0; i < 2; i++) {
                    u32 q = ring.primes[i].value;
                    u32 row = i * rows + part * levels + level;
                    digits[row * poly + place(c)] = digit < 0 ? digit + q : digit;
                }
            }
        }
        __syncthreads();
        forward(digits, rows, ring, roots);
        for (u32 at = threadIdx.x; at < 2 * d; at += blockDim.x) {
            u32 i = at >> ring.log_degree, slot = at & (d - 1);
            u64 a = 0, b = 0;
            for (u32 row = 0; row < rows; row++) {
                u64 digit = digits[(i * rows + row) * poly + place(slot)];
                a += digit * __ldg(point_masks + row * 2 * d + at);
                b += digit * __ldg(points + row * 2 * d + at);
            }
            state[i * poly + place(slot)] = reduced(a, ring.primes[i]);
            state[(2 + i) * poly + place(slot)] = reduced(b, ring.primes[i]);
        }
        __syncthreads();
        inverse(state, 4, ring, inverse_roots);
        for (u32 at = threadIdx.x; at < 2 * d; at += blockDim.x) {
            u32 i = at >> ring.log_degree, q = ring.primes[i].value;
            u32* sum = state + i * poly + place(at & (d - 1));
            sum[0] = add(sum[0], masks[k * masks_each + at], q);
            sum[2 * poly] = add(sum[2 * poly], bodies[k * bodies_each + at], q);
        }
        __syncthreads();
    }
    u64 result = ((u64)blockIdx.y * gridDim.x + blockIdx.x) * 4 * d;
    for (u32 at = threadIdx.x; at < 4 * d; at += blockDim.x)
        results[result + at] = state[(at >> ring.log_degree) * poly + place(at & (d - 1))];
}
