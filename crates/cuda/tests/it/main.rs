//! Products on a GPU, compared with plain ones. Without a GPU, each test prints that it was skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod products;
mod refusals;

use std::ops::Deref;
use std::sync::{Mutex, MutexGuard, PoisonError};

use papir_cuda::Cuda;

/// The first GPU, which tests use in turn: some of them count its memory.
struct Gpu(Cuda, #[allow(dead_code)] MutexGuard<'static, ()>);

impl Deref for Gpu {
    type Target = Cuda;

    fn deref(&self) -> &Cuda {
        &self.0
    }
}

/// The first GPU, or `None` after a line that says why there is none.
fn gpu() -> Option<Gpu> {
    static TURN: Mutex<()> = Mutex::new(());
    let turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
    match Cuda::open(0, Box::new(|failure| println!("{}", failure.error))) {
        Ok(gpu) => Some(Gpu(gpu, turn)),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}
