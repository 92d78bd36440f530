//! Requests do not depend on the looked-up index or key, even if the server lies.
//!
//! A lying server stands between the client and the service. For each of its scripts, the client
//! makes the same lookups with different indices, with different keys, and with a present and an
//! absent key. Its requests must be the same: their number, order, addresses, headers and lengths.
//! Some scripts are also played with short messages, with a kept version and with patches of public
//! parts.
//!
//! | file | contents |
//! |---|---|
//! | `liar` | the server that lies, and its faults |
//! | `scripts` | the scripts: which faults, where, when |
//! | `signed` | the checkpoints of a signed database |
//! | `schemes` | the schemes, some of them with short keys |
//! | `world` | the databases of a scheme, and other databases that a lying server may offer |
//! | `runs` | lookups under a script, and what the server sees of them |
//! | `socket` | the same over HTTP |

#![allow(unreachable_pub)]

mod liar;
mod runs;
pub mod schemes;
mod scripts;
mod signed;
pub mod socket;
pub mod world;

use std::thread;

use scripts::{Script, Variant};
use socket::Transport;
use world::World;

/// Inverse share of the played scripts that are also played over HTTP, against most schemes.
const SOME: usize = 9;
/// Inverse share of the played scripts that are also played over the asynchronous transport.
#[cfg(feature = "aio")]
const FEW: usize = 45;

/// Makes a test for each private scheme, so that a failure names it, and one test with every
/// script.
macro_rules! traces {
    ($($name:ident: $scheme:ty { $privacy:ident, $($word:ident),* })*) => {
        $(traces_of! { $privacy $name some_of_the_scripts })*

        mod every_script {
            $(traces_of! { $privacy $name every_script long })*
        }

        #[test]
        fn every_private_scheme_is_tested() {
            let listed = [$((stringify!($name), stringify!($privacy))),*].into_iter();
            let tested: Vec<_> = listed
                .filter(|(_, privacy)| *privacy == "private")
                .map(|(name, _)| name.replace('_', "-"))
                .collect();
            assert_eq!(schemes::private_schemes(), tested);
        }
    };
}

macro_rules! traces_of {
    (private $name:ident $play:ident) => {
        #[test]
        fn $name() {
            $play(stringify!($name));
        }
    };
    (private $name:ident $play:ident long) => {
        #[test]
        #[ignore = "long"]
        fn $name() {
            super::$play(stringify!($name));
        }
    };
    ($privacy:ident $($rest:ident)*) => {};
}

papir_schemes::for_each_scheme!(traces);

/// Plays every script against a scheme.
fn every_script(name: &str) {
    play(name, &scripts::all());
}

/// Plays a twelfth of the scripts against a scheme, and other twelfths against the next ones in the
/// list. Against `simple`, the quickest, half of them are played; against slow ones fewer. Long tests
/// play every script.
fn some_of_the_scripts(name: &str) {
    let listed = schemes::private_schemes()
        .iter()
        .position(|listed| *listed == name.replace('_', "-"));
    let listed = listed.expect("a private scheme");
    let all = scripts::all().into_iter().enumerate();
    // A session with zipdouble is one with zip whose tickets take much longer.
    let one_in = match name {
        "simple" => 2,
        "inspire2" | "simpleypir" | "zip" | "pirouette_encrypted" | "respire" => 20,
        "pirouette" => 24,
        "zipdouble" => 32,
        _ => 12,
    };
    let some = all.filter(|(index, _)| index % one_in == listed % one_in);
    let some: Vec<Script> = some.map(|(_, script)| script).collect();
    assert!(some.len() >= 80 / one_in, "{}", some.len());
    play(name, &some);
}

/// Plays scripts against a scheme, and some of them over HTTP.
fn play(name: &str, scripts: &[Script]) {
    let world = World::of(&name.replace('_', "-"));
    let over_http = if name == "simple" { 1 } else { SOME };
    assert!(
        name != "simple" || world.sides.iter().all(|side| side.keeps_copies()),
        "no script has a copy"
    );
    for side in &world.sides {
        // On two threads: the slowest scheme is the last to be tested, and would need one alone.
        thread::scope(|scope| {
            for half in scripts.chunks(scripts.len().div_ceil(2)) {
                scope.spawn(|| {
                    half.iter()
                        .for_each(|script| runs::compare(&world, side, script))
                });
            }
        });
        scripts
            .iter()
            .step_by(over_http)
            .for_each(|script| socket::compare(&world, side, script, Transport::Blocking));
        // The core decides on requests, so a few scripts show that this transport adds none.
        #[cfg(feature = "aio")]
        scripts
            .iter()
            .step_by(if name == "simple" { SOME } else { FEW })
            .for_each(|script| socket::compare(&world, side, script, Transport::Async));
    }
}

#[test]
fn there_are_enough_scripts_and_their_names_differ() {
    let mut names: Vec<_> = scripts::all()
        .iter()
        .map(|script| script.name.clone())
        .collect();
    assert!(names.len() >= 134, "{}", names.len());
    for (variant, fewest) in [
        (Variant::Short, 27),
        (Variant::Known, 31),
        (Variant::Patched, 19),
    ] {
        let all = scripts::all().into_iter();
        let count = all.filter(|script| script.variant == variant).count();
        assert!(count >= fewest, "{variant:?}: {count}");
    }
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), scripts::all().len());
}
