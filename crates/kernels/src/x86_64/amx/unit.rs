//! The unit of tiles: eight registers and the few instructions that [`super::product`] needs.

use std::arch::asm;
use std::arch::x86_64::__cpuid_count;
use std::sync::OnceLock;

/// Rows of a tile.
pub(super) const SIDE: usize = 16;
/// Bytes of a row of a tile: columns that one product sums.
pub(super) const WIDTH: usize = 64;
/// Bytes from one quad of columns to the next in a row group, whose 64 rows fill four tiles.
pub(super) const QUAD_BYTES: usize = 4 * WIDTH;

/// Digits of 16 rows in 64 columns.
pub(crate) type Digits = [[i8; WIDTH]; SIDE];
/// 64 columns of a row group: 16 quads of 64 rows.
pub(crate) type Block = [[u8; QUAD_BYTES]; SIDE];
/// Sums of 16 rows of digits for 16 rows of a matrix.
pub(crate) type Sums = [[i32; SIDE]; SIDE];

/// Four tiles of sums: two tiles of digits times two of the four parts of a row group.
///
/// Sums wrap modulo 2^32.
pub(crate) trait Unit {
    /// Sets the sums to zero.
    fn clear(&mut self);

    /// Adds the products of a block's columns, for rows `32·half` to `32·half + 31` of the group.
    /// `SIGNED` reads the block's bytes as signed ones.
    fn add<const SIGNED: bool>(&mut self, digits: [&Digits; 2], block: &Block, half: usize);

    /// Returns the sums: of the first digits for both parts, then of the second ones.
    fn sums(&self) -> [Sums; 4];
}

/// Proof that the CPU has tiles of bytes, that the system saves them, and that they compute what
/// the definition says.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Amx(());

impl Amx {
    /// Asks the CPU and the system, and checks a product. The answer is found once.
    pub(crate) fn detect() -> Option<Self> {
        static FOUND: OnceLock<bool> = OnceLock::new();
        // Each check permits the next one: `xgetbv` needs a CPU and system with AVX-512, and tiles
        // fault until the system has permitted them.
        let found = FOUND.get_or_init(|| {
            in_cpu() && saved_by_system() && permitted() && agrees(&mut Loaded::new(Self(())))
        });
        found.then_some(Self(()))
    }
}

/// Leaf 7 of CPUID: bit 24 of EDX announces tiles, bit 25 products of bytes.
fn in_cpu() -> bool {
    if !is_x86_feature_detected!("avx512f") {
        return false;
    }
    // SAFETY: every CPU with AVX-512 has this leaf. Newer compilers know that asking is safe.
    #[allow(unused_unsafe)]
    let announced = unsafe { __cpuid_count(7, 0) }.edx;
    announced >> 24 & 3 == 3
}

/// XCR0: bit 17 is the configuration of tiles, bit 18 their contents.
fn saved_by_system() -> bool {
    let low: u32;
    // SAFETY: the system lets programs read XCR0, since AVX-512 was detected by it.
    unsafe { asm!("xgetbv", in("ecx") 0, out("eax") low, out("edx") _, options(nomem, nostack)) };
    low >> 17 & 3 == 3
}

/// Asks Linux to save the contents of tiles for this process, which it does only on request.
#[cfg(target_os = "linux")]
fn permitted() -> bool {
    /// `arch_prctl`, its request for an extended state, and the state of tiles.
    const CALL: [usize; 3] = [158, 0x1023, 18];
    let result: isize;
    // SAFETY: the call changes nothing but which state the system saves for this process.
    unsafe {
        asm!("syscall", inlateout("rax") CALL[0] => result, in("rdi") CALL[1], in("rsi") CALL[2],
            lateout("rcx") _, lateout("r11") _, options(nostack));
    }
    result == 0
}

/// Other systems have no such request that papir knows.
#[cfg(not(target_os = "linux"))]
fn permitted() -> bool {
    false
}

/// The operand of `ldtilecfg`.
#[repr(C, align(64))]
struct Configuration {
    palette: u8,
    start_row: u8,
    reserved: [u8; 14],
    row_bytes: [u16; 16],
    rows: [u8; 16],
}

impl Configuration {
    /// All eight tiles in full.
    const FULL: Self = {
        let mut row_bytes = [0; 16];
        let mut rows = [0; 16];
        let mut tile = 0;
        while tile < 8 {
            row_bytes[tile] = WIDTH as u16;
            rows[tile] = SIDE as u8;
            tile += 1;
        }
        Self {
            palette: 1,
            start_row: 0,
            reserved: [0; 14],
            row_bytes,
            rows,
        }
    };
}

/// The tiles of this thread, configured until this is dropped. Compilers use no tiles of their own.
pub(crate) struct Loaded {
    amx: Amx,
    /// Tiles belong to a thread.
    _own: std::marker::PhantomData<*const ()>,
}

impl Loaded {
    pub(crate) fn new(amx: Amx) -> Self {
        // SAFETY: `amx` proves that the CPU and the system support tiles.
        unsafe { asm!("ldtilecfg [{}]", in(reg) &Configuration::FULL, options(nostack, readonly)) };
        Self {
            amx,
            _own: std::marker::PhantomData,
        }
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let Amx(()) = self.amx;
        // SAFETY: as in `new`. Without contents, the system has less to save.
        unsafe { asm!("tilerelease", options(nomem, nostack)) };
    }
}

/// Loads digits into tiles 4 and 5 and parts of a block into 6 and 7, and adds their products to
/// tiles 0 to 3 by the given instruction.
macro_rules! add_products {
    ($product:literal, $digits:expr, $parts:expr) => {
        asm!(
            "tileloadd tmm4, [{first} + {width}]",
            "tileloadd tmm6, [{left} + {quad}]",
            "tileloadd tmm7, [{right} + {quad}]",
            concat!($product, " tmm0, tmm4, tmm6"),
            "tileloadd tmm5, [{second} + {width}]",
            concat!($product, " tmm1, tmm4, tmm7"),
            concat!($product, " tmm2, tmm5, tmm6"),
            concat!($product, " tmm3, tmm5, tmm7"),
            first = in(reg) $digits[0],
            second = in(reg) $digits[1],
            left = in(reg) $parts[0],
            right = in(reg) $parts[1],
            width = in(reg) WIDTH,
            quad = in(reg) QUAD_BYTES,
            options(nostack, readonly, preserves_flags),
        )
    };
}

impl Unit for Loaded {
    fn clear(&mut self) {
        // SAFETY: the tiles are configured.
        unsafe {
            asm!(
                "tilezero tmm0",
                "tilezero tmm1",
                "tilezero tmm2",
                "tilezero tmm3",
                options(nomem, nostack, preserves_flags)
            );
        }
    }

    #[inline(always)]
    fn add<const SIGNED: bool>(&mut self, digits: [&Digits; 2], block: &Block, half: usize) {
        assert!(half < 2, "half {half} of a row group");
        let digits = digits.map(|digits| digits.as_ptr());
        let parts = [0, 1].map(|part| {
            block
                .as_ptr()
                .cast::<u8>()
                .wrapping_add((2 * half + part) * WIDTH)
        });

        // SAFETY: the tiles are configured. Each load reads 16 rows of 64 bytes, which lie in the
        // digits and in the block.
        unsafe {
            if SIGNED {
                add_products!("tdpbssd", digits, parts);
            } else {
                add_products!("tdpbsud", digits, parts);
            }
        }
    }

    fn sums(&self) -> [Sums; 4] {
        let mut sums = [[[0; SIDE]; SIDE]; 4];

        // SAFETY: the tiles are configured. Each store writes 16 rows of 64 bytes, one of the sums.
        unsafe {
            asm!(
                "tilestored [{0} + {stride}], tmm0",
                "tilestored [{1} + {stride}], tmm1",
                "tilestored [{2} + {stride}], tmm2",
                "tilestored [{3} + {stride}], tmm3",
                in(reg) sums[0].as_mut_ptr(),
                in(reg) sums[1].as_mut_ptr(),
                in(reg) sums[2].as_mut_ptr(),
                in(reg) sums[3].as_mut_ptr(),
                stride = in(reg) 4 * SIDE,
                options(nostack, preserves_flags),
            );
        }

        sums
    }
}

/// Adds the products of a block's columns to the four sums, as the CPU's manual defines them.
fn add_by_definition<const SIGNED: bool>(
    all: &mut [Sums; 4],
    digits: [&Digits; 2],
    block: &Block,
    half: usize,
) {
    for (i, sums) in all.iter_mut().enumerate() {
        for (row, sums) in sums.iter_mut().enumerate() {
            for (l, sum) in sums.iter_mut().enumerate() {
                for (c, &digit) in digits[i / 2][row].iter().enumerate() {
                    let byte = block[c / 4][((2 * half + i % 2) * SIDE + l) * 4 + c % 4];
                    let word = if SIGNED {
                        i32::from(byte as i8)
                    } else {
                        i32::from(byte)
                    };
                    *sum = sum.wrapping_add(word * i32::from(digit));
                }
            }
        }
    }
}

/// Returns true if a unit adds products of both signs, for both halves of a row group, as defined.
fn agrees<U: Unit>(unit: &mut U) -> bool {
    let digits = [0, 5000].map(|first| -> Digits {
        std::array::from_fn(|row| std::array::from_fn(|c| number(first + row * WIDTH + c) as i8))
    });
    let block: Block = std::array::from_fn(|quad| {
        std::array::from_fn(|i| number(9000 + quad * QUAD_BYTES + i) as u8)
    });

    let digits = digits.each_ref();
    (0..2).all(|half| {
        let mut expected = Default::default();
        unit.clear();
        add_by_definition::<false>(&mut expected, digits, &block, half);
        unit.add::<false>(digits, &block, half);
        add_by_definition::<true>(&mut expected, digits, &block, half);
        unit.add::<true>(digits, &block, half);
        unit.sums() == expected
    })
}

/// Returns a pseudo-random byte for a check.
fn number(i: usize) -> u32 {
    (i as u32 + 1).wrapping_mul(0x9e37_79b9) >> 24
}

/// The unit in software.
#[cfg(test)]
pub(super) struct Software([Sums; 4]);

#[cfg(test)]
impl Software {
    pub(super) fn new() -> Self {
        Self([[[77; SIDE]; SIDE]; 4])
    }
}

#[cfg(test)]
impl Unit for Software {
    fn clear(&mut self) {
        self.0 = Default::default();
    }

    fn add<const SIGNED: bool>(&mut self, digits: [&Digits; 2], block: &Block, half: usize) {
        add_by_definition::<SIGNED>(&mut self.0, digits, block, half);
    }

    fn sums(&self) -> [Sums; 4] {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A unit that reads signed bytes as unsigned ones.
    struct Wrong(Software);

    impl Unit for Wrong {
        fn clear(&mut self) {
            self.0.clear();
        }

        fn add<const SIGNED: bool>(&mut self, digits: [&Digits; 2], block: &Block, half: usize) {
            self.0.add::<false>(digits, block, half);
        }

        fn sums(&self) -> [Sums; 4] {
            self.0.sums()
        }
    }

    #[test]
    fn a_unit_that_errs_is_not_used() {
        assert!(agrees(&mut Software::new()));
        assert!(!agrees(&mut Wrong(Software::new())));
    }
}
