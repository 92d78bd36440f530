//! Rows of products of 64-bit words with two chains of carries (MULX, ADCX, ADOX).

use std::arch::asm;

use crate::portable::bigint_rows::Rows;

/// Words of a step of the loop.
const STEP: usize = 8;

/// Proof that the CPU has BMI2 and ADX.
#[derive(Clone, Copy)]
pub(crate) struct Adx(());

impl Adx {
    /// The proof, if the CPU has the instructions.
    pub(crate) fn detect() -> Option<Self> {
        let found = is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("adx");
        found.then_some(Self(()))
    }
}

impl Rows for Adx {
    #[inline(always)]
    fn add_row(self, row: &mut [u64], x: &[u64], w: u64) -> u64 {
        let (rows, rest) = row.as_chunks_mut::<STEP>();
        let (xs, rest_of_x) = x.as_chunks::<STEP>();
        let mut carry = add_steps(rows, xs, w);
        for (row, &x) in rest.iter_mut().zip(rest_of_x) {
            let sum = u128::from(x) * u128::from(w) + u128::from(*row) + u128::from(carry);
            (*row, carry) = (sum as u64, (sum >> 64) as u64);
        }
        carry
    }

    /// Two rows one after the other: each has two chains of carries already.
    #[inline(always)]
    fn add_two_rows(self, row: &mut [u64], x: &[u64], w: [u64; 2], carry: u64) -> u64 {
        let n = x.len();
        let first = self.add_row(&mut row[..n], x, w[0]);
        let sum = u128::from(row[n]) + u128::from(first) + u128::from(carry);
        row[n] = sum as u64;
        let second = self.add_row(&mut row[1..=n], x, w[1]);
        let sum = u128::from(row[n + 1]) + u128::from(second) + (sum >> 64);
        row[n + 1] = sum as u64;
        (sum >> 64) as u64
    }
}

/// `row += x·w` for whole steps; returns the carry.
///
/// One chain of carries adds the high halves of products to the low ones of the next, the other
/// adds the row.
#[inline(always)]
fn add_steps(row: &mut [[u64; STEP]], x: &[[u64; STEP]], w: u64) -> u64 {
    let steps = row.len().min(x.len());
    if steps == 0 {
        return 0;
    }

    let mut carry: u64;
    // SAFETY: `Adx` proves the instructions. Each step reads 64 bytes of both slices and writes
    // the 64 bytes of `row`, `steps` times, which both slices have.
    unsafe {
        asm!(
            // Clears both flags.
            "xor {carry:e}, {carry:e}",
            "2:",
            "mulx {high}, {low}, [{x}]",
            "adcx {low}, {carry}",
            "adox {low}, [{row}]",
            "mov [{row}], {low}",
            "mulx {carry}, {low}, [{x} + 8]",
            "adcx {low}, {high}",
            "adox {low}, [{row} + 8]",
            "mov [{row} + 8], {low}",
            "mulx {high}, {low}, [{x} + 16]",
            "adcx {low}, {carry}",
            "adox {low}, [{row} + 16]",
            "mov [{row} + 16], {low}",
            "mulx {carry}, {low}, [{x} + 24]",
            "adcx {low}, {high}",
            "adox {low}, [{row} + 24]",
            "mov [{row} + 24], {low}",
            "mulx {high}, {low}, [{x} + 32]",
            "adcx {low}, {carry}",
            "adox {low}, [{row} + 32]",
            "mov [{row} + 32], {low}",
            "mulx {carry}, {low}, [{x} + 40]",
            "adcx {low}, {high}",
            "adox {low}, [{row} + 40]",
            "mov [{row} + 40], {low}",
            "mulx {high}, {low}, [{x} + 48]",
            "adcx {low}, {carry}",
            "adox {low}, [{row} + 48]",
            "mov [{row} + 48], {low}",
            "mulx {carry}, {low}, [{x} + 56]",
            "adcx {low}, {high}",
            "adox {low}, [{row} + 56]",
            "mov [{row} + 56], {low}",
            // The loop keeps both flags.
            "lea {x}, [{x} + 64]",
            "lea {row}, [{row} + 64]",
            "lea rcx, [rcx - 1]",
            "jrcxz 3f",
            "jmp 2b",
            "3:",
            "mov {low:e}, 0",
            "adcx {carry}, {low}",
            "adox {carry}, {low}",
            carry = out(reg) carry,
            high = out(reg) _,
            low = out(reg) _,
            x = inout(reg) x.as_ptr() => _,
            row = inout(reg) row.as_mut_ptr() => _,
            inout("rcx") steps => _,
            in("rdx") w,
            options(nostack),
        );
    }

    carry
}
