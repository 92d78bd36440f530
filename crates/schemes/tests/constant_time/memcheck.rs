//! Requests to valgrind's memcheck. They do nothing outside valgrind.
//!
//! A request is a sequence of instructions without effect, which valgrind recognises in the code
//! that it translates: the client requests of `valgrind.h` and `memcheck.h`.

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytemuck::Pod;

/// Number of valgrinds that the program runs in.
const RUNNING_ON_VALGRIND: u64 = 0x1001;
/// Number of reports so far, without those of the suppression file.
const COUNT_ERRORS: u64 = 0x1201;
/// Memcheck's own requests begin at the letters M and C.
const MAKE_MEM_UNDEFINED: u64 = 0x4d43_0001;
const MAKE_MEM_DEFINED: u64 = 0x4d43_0002;
const GET_VBITS: u64 = 0x4d43_0008;

static TURN: Mutex<()> = Mutex::new(());

/// Serializes the tests, as they share memcheck's count of reports.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Returns true if the program runs in valgrind.
pub(crate) fn is_running() -> bool {
    request(RUNNING_ON_VALGRIND, [0; 3]) > 0
}

/// Returns the result of `work`, and the number of reports meanwhile.
pub(crate) fn reported<T>(work: impl FnOnce() -> T) -> (T, u64) {
    let before = request(COUNT_ERRORS, [0; 3]);
    let result = work();
    (result, request(COUNT_ERRORS, [0; 3]) - before)
}

/// Marks values as undefined. They stay as they are.
pub(crate) fn hide<T: Pod>(values: &mut [T]) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
    request(MAKE_MEM_UNDEFINED, span(bytes));
}

/// Marks values as defined. They stay as they are.
pub(crate) fn reveal<T: Pod>(values: &mut [T]) {
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(values);
    request(MAKE_MEM_DEFINED, span(bytes));
}

/// Returns the number of undefined bits; 0 outside valgrind.
pub(crate) fn hidden_bits(bytes: &mut [u8]) -> u32 {
    let mut undefined = vec![0u8; bytes.len()];
    let [source, length, _] = span(bytes);
    let [target, _, _] = span(&mut undefined);
    request(GET_VBITS, [source, target, length]);
    undefined.iter().map(|byte| byte.count_ones()).sum()
}

/// The address and the length of bytes, as arguments of a request.
fn span(bytes: &mut [u8]) -> [u64; 3] {
    // Mutable, so that the compiler reads the bytes again after a request.
    [
        bytes.as_mut_ptr().expose_provenance() as u64,
        bytes.len() as u64,
        0,
    ]
}

/// Makes a request, and returns its result; 0 outside valgrind.
#[cfg(target_arch = "x86_64")]
fn request(code: u64, [first, second, third]: [u64; 3]) -> u64 {
    let arguments = [code, first, second, third, 0, 0];
    let result: u64;
    // SAFETY: the rotations of rdi add up to 128 bits, and the exchange is of a register with
    // itself, so that a processor changes the flags only. Valgrind reads the arguments, and of the
    // memory that they name it writes the target of GET_VBITS only, which has the length.
    unsafe {
        std::arch::asm!(
            "rol rdi, 3",
            "rol rdi, 13",
            "rol rdi, 61",
            "rol rdi, 51",
            "xchg rbx, rbx",
            in("rax") arguments.as_ptr(),
            inout("rdx") 0u64 => result,
            options(nostack),
        );
    }
    result
}

/// Other processors have other sequences: memcheck counts as absent.
#[cfg(not(target_arch = "x86_64"))]
fn request(_code: u64, _arguments: [u64; 3]) -> u64 {
    0
}
