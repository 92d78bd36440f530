//! Lies to clients with short messages, with kept versions, and with patches of public parts.

use super::databases::{other_databases, signing};
use super::queries::{answers, refusals, waiting};
use super::{ALL, Copied, FIRST, SECOND, Script, Variant, script};
use crate::traces::liar::{Endpoint, Lie};
use crate::traces::world::Other;

/// Returns lies to registered clients that send short messages.
pub(super) fn short_messages() -> Vec<Script> {
    let scripts = [answers(), refusals(), waiting()].concat();
    varied("short messages", Variant::Short, scripts)
}

/// Returns lies to clients that begin with a kept version. All of them are about queries, since
/// nothing else is sent before the first one is refused.
pub(super) fn known_versions() -> Vec<Script> {
    let mut scripts = [other_databases(), refusals(), signing()].concat();
    scripts.retain(|script| {
        let mut faults = script.faults.iter();
        faults.all(|fault| fault.endpoint == Endpoint::Query)
    });
    varied("known version", Variant::Known, scripts)
}

/// Returns the same scripts in another variant.
fn varied(name: &str, variant: Variant, scripts: Vec<Script>) -> Vec<Script> {
    let varied = scripts.into_iter().map(|script| Script {
        name: format!("{name}: {}", script.name),
        variant,
        ..script
    });
    varied.collect()
}

/// Returns lies about the list of the blocks of a public part, and about the blocks that the
/// client's copy lacks.
pub(super) fn patches() -> Vec<Script> {
    let lies = [
        ("no lie", Lie::Late(0)),
        ("a byte shorter", Lie::Shorter),
        ("a byte longer", Lie::Longer),
        ("noise", Lie::Noise),
        ("another last bit", Lie::LastBit),
        ("cut", Lie::Cut),
        ("refused", Lie::Refuse(404, "unknown_route")),
        ("of no version", Lie::Version(None)),
        ("of another version from then on", Lie::Swap(Other::Newer)),
    ];

    let mut scripts = Vec::new();
    for (part, endpoint) in [("list", Endpoint::Hashes), ("blocks", Endpoint::Blocks)] {
        for (name, lie) in &lies {
            let name = format!("patches: {part}: {name}");
            scripts.push(Script {
                copy: Copied::Renamed,
                ..patched(script(name, &[(endpoint, FIRST, lie.clone())]))
            });
        }
    }

    let replaced = [
        (Endpoint::Query, SECOND, Lie::Swap(Other::Newer)),
        (Endpoint::Hashes, ALL, Lie::Late(0)),
    ];
    scripts.push(patched(script(
        "patches: at the second query, the same records prepared again",
        &replaced,
    )));
    scripts
}

/// Returns a script whose client patches each copy.
fn patched(script: Script) -> Script {
    Script {
        variant: Variant::Patched,
        ..script
    }
}
