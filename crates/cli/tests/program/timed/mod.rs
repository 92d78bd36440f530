//! Tests that limit waiting times under load. `make test-long` runs them one by one, after all others.

mod crowd;
mod strangers;
