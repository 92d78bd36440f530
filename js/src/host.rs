//! Clock and randomness of the page.

use std::sync::Once;
use std::time::Duration;

use chacha20::ChaCha20Rng;
use papir_client::core::Platform;
use rand_core::{CryptoRng, SeedableRng};
use zeroize::Zeroizing;

// Functions that JavaScript hands to the module.
#[link(wasm_import_module = "papir")]
unsafe extern "C" {
    /// Writes `length` random bytes from the browser's secure generator.
    fn random(start: *mut u8, length: usize);
    /// Milliseconds since some fixed moment.
    fn now() -> f64;
    /// Seconds since 1970, UTC.
    fn unix_time() -> f64;
    /// Releases a lock of the storage.
    fn unlock(lock: u32);
    /// Throws an error with this text.
    fn panicked(start: *const u8, length: usize);
}

/// Makes panics errors of JavaScript, which name their place instead of `unreachable`.
pub(crate) fn report_panics() {
    static SET: Once = Once::new();
    SET.call_once(|| {
        std::panic::set_hook(Box::new(|panic| {
            let text = panic.to_string();
            // SAFETY: the text is valid for reads of its length.
            unsafe { panicked(text.as_ptr(), text.len()) };
        }));
    });
}

/// The page's clock and randomness.
pub(crate) struct Page;

impl Platform for Page {
    fn now(&self) -> Duration {
        // SAFETY: it has no arguments and only reads a clock.
        Duration::from_secs_f64(unsafe { now() }.max(0.0) / 1000.0)
    }

    fn unix_time(&self) -> u64 {
        // SAFETY: it has no arguments and only reads a clock.
        let seconds = unsafe { unix_time() };
        seconds as u64
    }

    /// A generator under a fresh seed: a call from WebAssembly for each number would be slow.
    fn rng(&self) -> Box<dyn CryptoRng + '_> {
        let mut seed = Zeroizing::new([0; 32]);
        // SAFETY: the seed is valid for writes of its length.
        unsafe { random(seed.as_mut_ptr(), seed.len()) };
        Box::new(ChaCha20Rng::from_seed(*seed))
    }
}

/// Fills memory with random bytes of the page: the backend of `getrandom`, with which other
/// authors' ciphers draw their keys.
///
/// # Safety
/// The memory is valid for writes of `length` bytes.
#[cfg(feature = "relay")]
#[unsafe(no_mangle)]
unsafe extern "Rust" fn __getrandom_v03_custom(
    start: *mut u8,
    length: usize,
) -> Result<(), getrandom::Error> {
    // SAFETY: as the caller promises. JavaScript fills all of it, or throws.
    unsafe { random(start, length) };
    Ok(())
}

/// Releases a lock when dropped.
pub(crate) struct Unlock(pub(crate) u32);

impl Drop for Unlock {
    fn drop(&mut self) {
        // SAFETY: JavaScript ignores numbers of locks that it does not hold.
        unsafe { unlock(self.0) };
    }
}
