//! Clients of all private schemes under memcheck, with their secrets marked undefined.
//!
//! `make constant-time` runs these tests in valgrind, whose memcheck reports each branch and each
//! address that depends on undefined bytes. Indices, keys, errors and the records of answers count
//! as undefined; what is sent counts as defined. `exceptions.supp` lists the reports that
//! docs/security.md allows.
//!
//! | module | contents |
//! |---|---|
//! | `memcheck` | requests to memcheck |
//! | `hidden_rng` | a generator of undefined bytes |
//! | `lookup` | one lookup in a scheme |
//! | `powers` | powers of integers with hidden bases and exponents |
//! | `leaks` | functions that leak, which memcheck must report |
//!
//! Without valgrind, as in `make test`, the tests check records only.
#![allow(clippy::unwrap_used, unsafe_code)]

mod hidden_rng;
mod leaks;
mod lookup;
mod memcheck;
#[path = "../it/peer.rs"]
mod peer;
mod powers;
#[path = "../it/short/mod.rs"]
mod short;

use std::env;

use papir_core::Privacy;
use papir_kernels::Backend;
use papir_schemes::for_each_scheme;

use crate::lookup::check_lookup;

/// Makes a test for each private scheme of the registry.
macro_rules! lookups {
    ($($name:ident: $scheme:ty {
        $privacy:ident, $clients:ident, $bound:ident, $weight:ident
    })*) => {
        $(lookup_of! { $privacy $name })*
    };
}

macro_rules! lookup_of {
    (open $name:ident) => {};
    (private $name:ident) => {
        #[test]
        fn $name() {
            check_lookup(&stringify!($name).replace('_', "-"));
        }
    };
}

/// Names of the private schemes of the list.
macro_rules! private_names {
    ($($name:ident: $scheme:ty { $privacy:ident, $($word:ident),* })*) => {
        [$((stringify!($privacy), stringify!($name).replace('_', "-"))),*]
    };
}

for_each_scheme!(lookups);

#[test]
fn every_private_scheme_is_checked() {
    let listed = for_each_scheme!(private_names).into_iter();
    let mut checked: Vec<String> = listed
        .filter(|(privacy, _)| *privacy == "private")
        .map(|(_, name)| name)
        .collect();
    checked.sort();

    let mut private: Vec<&str> = short::registered()
        .iter()
        .filter(|scheme| scheme.properties().privacy == Privacy::Private)
        .map(|scheme| scheme.name())
        .collect();
    private.sort();
    assert_eq!(checked, private);
}

/// `make constant-time` sets the variable: it must not pass without memcheck.
#[test]
fn memcheck_runs_where_it_is_required() {
    let required = env::var_os("PAPIR_MEMCHECK").is_some_and(|value| value == "required");
    assert!(
        memcheck::is_running() || !required,
        "PAPIR_MEMCHECK=required, and the tests run outside valgrind"
    );
}

/// Valgrind's processor has fewer instructions than this one, and kernels fall back silently.
#[test]
fn the_wanted_backend_runs() {
    let wanted = Backend::try_from_env().unwrap();
    assert_eq!(Backend::current(), wanted);
}
