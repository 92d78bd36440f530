// Products of matrices and vectors on tensor cores: see lib.rs for the layouts.
//
// A matrix product D·x modulo 2^bits is a sum over the bytes j of a word and the digits p of a
// vector: Σ 2^(8(j + p))·Dⱼ·xₚ. Column w = j + p of the right side takes digit w − j where the left
// side has byte j, so one product of signed bytes has the sums of weight 2^(8w) in column w.

typedef unsigned char u8;
typedef unsigned int u32;
typedef unsigned long long u64;

// A balanced digit is a byte of value + OFFSET, minus 128.
#define OFFSET 0x8080808080808080ull
#define ROWS 64
#define LANES 32

// Rewrites tiles of row groups as fragments: for each 16 rows and 32 columns of byte j, the four
// registers of each lane, in the order in which `mma.m16n8k32` takes them. One thread per register.
extern "C" __global__ void fragment(
    const u8* tiles, u32* fragments, u64 registers, u32 steps, u32 word_bytes, u32 k_tiles, u32 biased)
{
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= registers) return;
    u32 reg = i & 3, lane = (i >> 2) & 31;
    u64 tile = i >> 7;
    u32 k = tile % k_tiles, m = (u32)(tile / k_tiles);
    u32 byte = k % word_bytes, each = 4 / word_bytes;
    u32 row = (m & 3) * 16 + (lane >> 2) + 8 * (reg & 1);
    u32 column = k / word_bytes * 32 + (lane & 3) * 4 + 16 * (reg >> 1);
    const u8* group = tiles + (u64)(m >> 2) * steps * ROWS * 4;
    u32 word = 0;
    for (u32 c = 0; c < 4; c++) {
        u32 step = (column + c) / each, at = (column + c) % each * word_bytes + byte;
        if (step < steps) {
            u32 value = group[((u64)step * ROWS + row) * 4 + at];
            word |= (byte < biased ? value ^ 0x80 : value) << (8 * c);
        }
    }
    fragments[i] = word;
}

// Splits vectors into digits, as fragments of the right side. One thread per register.
extern "C" __global__ void digits(
    const u64* values, u32* fragments, u64 registers, u32 columns, u32 vectors, u32 word_bytes,
    u32 planes, u32 each, u32 n_tiles)
{
    u64 i = (u64)blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= registers) return;
    u32 reg = i & 1, lane = (i >> 1) & 31;
    u64 tile = i >> 6;
    u32 n = (u32)(tile % n_tiles) * 8 + (lane >> 2), k = (u32)(tile / n_tiles);
    u32 vector = n / each, weight = n % each, byte = k % word_bytes;
    u32 column = k / word_bytes * 32 + (lane & 3) * 4 + 16 * reg;
    u32 word = 0;
    if (vector < vectors && weight < planes && weight >= byte) {
        for (u32 c = 0; c < 4; c++) {
            if (column + c < columns) {
                u64 value = values[(u64)vector * columns + column + c] + OFFSET;
                word |= (u32)((value >> (8 * (weight - byte)) & 0xff) ^ 0x80) << (8 * c);
            }
        }
    }
    fragments[i] = word;
}

static __device__ __forceinline__ void mma(int (&sum)[4], const uint4& a, const uint2& b)
{
    asm("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
        : "+r"(sum[0]), "+r"(sum[1]), "+r"(sum[2]), "+r"(sum[3])
        : "r"(a.x), "r"(a.y), "r"(a.z), "r"(a.w), "r"(b.x), "r"(b.y));
}

// The matrix is read once for each block of vectors: it need not stay in the first-level cache
// where no other warp of the block reads it.
template <bool SHARED>
static __device__ __forceinline__ uint4 read(const uint4* at)
{
    if (SHARED) return __ldg(at);
    uint4 v;
    asm volatile("ld.global.nc.L1::no_allocate.L2::128B.v4.u32 {%0,%1,%2,%3}, [%4];"
                 : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(at));
    return v;
}

// Adds the products of MT·WM tiles of rows and NT·WN tiles of columns, in a range of k tiles, to the
// sums: 64-bit sums wrap, so the order of the additions does not matter.
template <int MT, int NT, int WM, int WN, int DEPTH>
static __device__ __forceinline__ void product(
    const uint4* matrix, const uint2* right, u64* sums, u32 k_tiles, u32 chunk, u32 n_tiles,
    u32 n_blocks, u32 each, u32 vectors, u64 rows)
{
    u32 warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    u64 m = ((u64)(blockIdx.x / n_blocks) * WM + warp % WM) * MT;
    u32 n = (blockIdx.x % n_blocks * WN + warp / WM) * NT;
    u32 first = blockIdx.y * chunk, end = min(first + chunk, k_tiles);
    const uint4* left = matrix + m * k_tiles * LANES + lane;
    right += (u64)n * LANES + lane;

    int sum[MT][NT][4] = {};
    u32 k = first;
    for (; k + DEPTH <= end; k += DEPTH) {
        uint4 a[DEPTH][MT];
        uint2 b[DEPTH][NT];
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
#pragma unroll
            for (int i = 0; i < MT; i++)
                a[d][i] = read<(WN > 1)>(left + ((u64)i * k_tiles + k + d) * LANES);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; d++) {
#pragma unroll
            for (int i = 0; i < NT; i++) b[d][i] = __ldg(right + ((u64)(k + d) * n_tiles + i) * LANES);
        }
#pragma unroll
        for (int d = 0; d < DEPTH; d++)
#pragma unroll
            for (int i = 0; i < MT; i++)
#pragma unroll
                for (int l = 0; l < NT; l++) mma(sum[i][l], a[d][i], b[d][l]);
    }
    for (; k < end; k++) {
#pragma unroll
        for (int i = 0; i < MT; i++) {
            uint4 a = read<(WN > 1)>(left + ((u64)i * k_tiles + k) * LANES);
#pragma unroll
            for (int l = 0; l < NT; l++)
                mma(sum[i][l], a, __ldg(right + ((u64)k * n_tiles + l) * LANES));
        }
    }

    // Columns 2t and 2t + 1 of a tile belong to one vector, since `each` is even.
#pragma unroll
    for (int l = 0; l < NT; l++) {
        u32 column = (n + l) * 8 + lane % 4 * 2, vector = column / each, shift = column % each * 8;
        if (vector >= vectors) continue;
#pragma unroll
        for (int i = 0; i < MT; i++) {
            u64* out = sums + vector * rows + (m + i) * 16 + lane / 4;
            const int* of = sum[i][l];
            atomicAdd(out, ((u64)(long long)of[0] << shift) + ((u64)(long long)of[1] << shift << 8));
            atomicAdd(out + 8, ((u64)(long long)of[2] << shift) + ((u64)(long long)of[3] << shift << 8));
        }
    }
}

#define PRODUCT(NAME, THREADS, BLOCKS, MT, NT, WM, WN, DEPTH)                                             \
    extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS) NAME(                                 \
        const uint4* matrix, const uint2* right, u64* sums, u32 k_tiles, u32 chunk, u32 n_tiles,        \
        u32 n_blocks, u32 each, u32 vectors, u64 rows)                                                  \
    {                                                                                                   \
        product<MT, NT, WM, WN, DEPTH>(                                                                 \
            matrix, right, sums, k_tiles, chunk, n_tiles, n_blocks, each, vectors, rows);               \
    }

// 128 rows by 8, 64 and 128 columns.
PRODUCT(product_8, 256, 3, 1, 1, 8, 1, 8)
PRODUCT(product_64, 256, 2, 1, 8, 8, 1, 4)
PRODUCT(product_128, 256, 2, 2, 8, 4, 2, 2)
