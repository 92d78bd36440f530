//! Products on a GPU, compared with plain ones. Without a GPU, each test prints that it was skipped.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod answers;
mod products;
mod refusals;

use papir_cuda::Cuda;

/// The first GPU, or `None` after a line that says why there is none.
fn gpu() -> Option<Cuda> {
    match Cuda::open(0, Box::new(|error| panic!("the GPU is lost: {error}"))) {
        Ok(gpu) => Some(gpu),
        Err(error) => {
            println!("skipped: {error}");
            None
        }
    }
}
