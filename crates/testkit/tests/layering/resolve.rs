//! Name resolution within one crate.

use std::collections::BTreeSet;

use crate::modules::Modules;

/// The target of a path.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Target {
    Module(usize),
    /// An item, by the module that defines it.
    Item(usize),
}

/// State of one resolution.
#[derive(Default)]
struct Trail {
    /// Names being looked up; a name that imports itself comes from another crate.
    open: BTreeSet<(usize, String)>,
    /// Modules that the path and the imports behind it pass.
    passed: BTreeSet<usize>,
}

/// The targets of a path, and the modules that it passes.
pub(crate) struct Resolved {
    /// Two if one name is a module and a function; none for paths into other crates.
    pub(crate) targets: BTreeSet<Target>,
    pub(crate) passed: BTreeSet<usize>,
}

/// Resolves `path` as written in `module`, through all imports and re-exports.
///
/// A name that the last module does not define, such as one made by a macro or re-exported from
/// another crate, counts as defined by that module.
pub(crate) fn resolve(modules: &Modules, module: usize, path: &[String]) -> Resolved {
    let mut trail = Trail::default();
    let targets = resolve_from(modules, module, path, &mut trail);
    Resolved {
        targets,
        passed: trail.passed,
    }
}

fn resolve_from(
    modules: &Modules,
    module: usize,
    path: &[String],
    trail: &mut Trail,
) -> BTreeSet<Target> {
    let Some((first, rest)) = path.split_first() else {
        return BTreeSet::new();
    };
    let start = match first.as_str() {
        "crate" => Some(0),
        "self" => Some(module),
        "super" => modules.all[module].parent,
        "Self" => return BTreeSet::new(),
        _ => {
            let found = look_up(modules, module, first, trail).unwrap_or_default();
            return descend(modules, found, rest, trail);
        }
    };
    let Some(mut here) = start else {
        return BTreeSet::new();
    };
    let mut rest = rest;
    while let Some((_, after)) = rest.split_first().filter(|(name, _)| *name == "super") {
        let Some(parent) = modules.all[here].parent else {
            return BTreeSet::new();
        };
        (here, rest) = (parent, after);
    }
    descend(modules, BTreeSet::from([Target::Module(here)]), rest, trail)
}

/// Follows the segments `rest` from `found`.
fn descend(
    modules: &Modules,
    found: BTreeSet<Target>,
    rest: &[String],
    trail: &mut Trail,
) -> BTreeSet<Target> {
    trail.passed.extend(found.iter().map(|target| match target {
        Target::Module(id) | Target::Item(id) => *id,
    }));
    let Some((name, rest)) = rest.split_first() else {
        return found;
    };
    let is_module = |target: &Target| matches!(target, Target::Module(_));
    if !found.iter().any(is_module) {
        // A variant or an associated item.
        return found;
    }
    let mut reached = BTreeSet::new();
    for target in found {
        let Target::Module(module) = target else {
            continue;
        };
        let next = look_up(modules, module, name, trail).unwrap_or_default();
        let next = if next.is_empty() {
            BTreeSet::from([Target::Item(module)])
        } else {
            next
        };
        reached.extend(descend(modules, next, rest, trail));
    }
    reached
}

/// The targets of `name` in `module`: `None` if the module has no such name, an empty set if the
/// name comes from another crate.
fn look_up(
    modules: &Modules,
    module: usize,
    name: &str,
    trail: &mut Trail,
) -> Option<BTreeSet<Target>> {
    let here = &modules.all[module];
    let mut found = BTreeSet::new();
    if here.defined.contains(name) {
        found.insert(Target::Item(module));
    }
    found.extend(here.children.get(name).map(|child| Target::Module(*child)));
    if !trail.open.insert((module, name.to_owned())) {
        return (!found.is_empty()).then_some(found);
    }
    let mut known = !found.is_empty();
    for import in here.imports.iter().filter(|import| import.name == name) {
        known = true;
        found.extend(resolve_from(modules, module, &import.path, trail));
    }
    if !known {
        for glob in &here.globs {
            for target in resolve_from(modules, module, &glob.path, trail) {
                let Target::Module(globbed) = target else {
                    continue;
                };
                let behind = look_up(modules, globbed, name, trail);
                known |= behind.is_some();
                found.extend(behind.unwrap_or_default());
            }
        }
    }
    trail.open.remove(&(module, name.to_owned()));
    known.then_some(found)
}
