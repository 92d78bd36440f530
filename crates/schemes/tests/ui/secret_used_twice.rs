//! `extract` consumes the secret, in every scheme.

use papir_core::scheme::{Client, Scheme};

fn open_two<S: Scheme>(client: &S::Client, secret: S::Secret, first: S::Answer, second: S::Answer) {
    let _ = client.extract(secret, first);
    let _ = client.extract(secret, second);
}

fn main() {}
