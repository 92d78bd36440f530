//! Dependencies between the files of a crate, and their cycles.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write;

use crate::modules::{Modules, Path, Trees};
use crate::resolve::{Resolved, Target, resolve};

/// The dependencies that a graph contains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reading {
    /// Arrows of code outside tests, to the files that define what is used.
    Definitions,
    /// Arrows of all code, also to the modules that a path only passes.
    Everything,
}

/// The files of a crate; for each, the files that it uses and the paths by which it uses them.
#[derive(Default)]
pub(crate) struct Graph {
    pub(crate) files: BTreeSet<String>,
    arrows: BTreeMap<String, BTreeMap<String, BTreeSet<String>>>,
}

/// Maximum number of names shown for one arrow.
const NAMES_SHOWN: usize = 6;

impl Graph {
    /// Reads the library and the programs among `files`.
    pub(crate) fn read(files: &Trees, reading: Reading) -> Self {
        let mut graph = Self::default();
        let is_root = |file: &&String| {
            ["lib.rs", "main.rs"].contains(&file.as_str()) || file.starts_with("bin/")
        };
        for root in files.keys().filter(is_root) {
            let modules = Modules::read(files, root, reading == Reading::Everything);
            graph
                .files
                .extend(modules.all.iter().map(|module| module.file.clone()));
            (0..modules.all.len()).for_each(|module| graph.add_module(&modules, module, reading));
        }
        graph
    }

    /// All arrows as (from, to).
    pub(crate) fn arrows(&self) -> impl Iterator<Item = (&str, &str)> {
        let arrows = self.arrows.iter();
        arrows.flat_map(|(from, to)| to.keys().map(|to| (from.as_str(), to.as_str())))
    }

    fn add_module(&mut self, modules: &Modules, module: usize, reading: Reading) {
        let here = &modules.all[module];
        for import in &here.imports {
            if !(import.reexport && comes_from_below(modules, module, &import.path)) {
                let resolved = resolve(modules, module, &import.path);
                self.add(modules, module, &import.path, &items(&resolved, reading));
            }
        }
        for glob in &here.globs {
            let resolved = resolve(modules, module, &glob.path);
            let everything = reading == Reading::Everything;
            let mut ends = if everything {
                resolved.passed
            } else {
                ends(&resolved.targets)
            };
            ends.retain(|end| !(glob.reexport && modules.is_within(*end, module)));
            self.add(
                modules,
                module,
                &[glob.path.as_slice(), &["*".to_owned()]].concat(),
                &ends,
            );
        }
        for path in &here.mentions {
            let resolved = resolve(modules, module, path);
            self.add(modules, module, path, &items(&resolved, reading));
        }
        for name in &here.invoked {
            let path = vec![name.clone()];
            let resolved = resolve(modules, module, &path);
            let mut ends = items(&resolved, reading);
            if ends.is_empty() {
                // A macro in textual scope.
                ends.extend(modules.macros.get(name));
            }
            self.add(modules, module, &path, &ends);
        }
    }

    fn add(&mut self, modules: &Modules, module: usize, path: &[String], ends: &BTreeSet<usize>) {
        let from = &modules.all[module].file;
        for to in ends
            .iter()
            .map(|end| &modules.all[*end].file)
            .filter(|to| *to != from)
        {
            let arrows = self.arrows.entry(from.clone()).or_default();
            arrows
                .entry(to.clone())
                .or_default()
                .insert(path.join("::"));
        }
    }

    /// The files that `file` uses directly.
    fn used_by(&self, file: &str) -> impl Iterator<Item = &str> {
        self.arrows
            .get(file)
            .into_iter()
            .flat_map(BTreeMap::keys)
            .map(String::as_str)
    }

    /// All files that `file` uses, directly or indirectly, through files that satisfy `passable`.
    fn reach(&self, file: &str, passable: impl Fn(&str) -> bool) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open: Vec<&str> = self.used_by(file).collect();
        while let Some(next) = open.pop() {
            if reached.insert(next) && passable(next) {
                open.extend(self.used_by(next));
            }
        }
        reached
    }

    /// Strongly connected components of two files or more: sets of files that all use each other.
    pub(crate) fn components(&self) -> Vec<BTreeSet<&str>> {
        let reach: BTreeMap<&str, BTreeSet<&str>> = self
            .arrows
            .keys()
            .map(|file| (file.as_str(), self.reach(file, |_| true)))
            .collect();
        let mut components = BTreeSet::new();
        for (file, reached) in reach
            .iter()
            .filter(|(file, reached)| reached.contains(*file))
        {
            let returns =
                |other: &&&str| reach.get(**other).is_some_and(|back| back.contains(file));
            components.insert(
                reached
                    .iter()
                    .filter(returns)
                    .copied()
                    .collect::<BTreeSet<&str>>(),
            );
        }
        components.into_iter().collect()
    }

    /// The shortest cycle within `component`, its first file repeated at the end.
    pub(crate) fn shortest_cycle<'a>(&'a self, component: &BTreeSet<&'a str>) -> Vec<&'a str> {
        let cycles = component
            .iter()
            .filter_map(|start| self.cycle_through(start));
        cycles.min_by_key(Vec::len).unwrap_or_default()
    }

    /// A shortest cycle through `start`, by breadth-first search.
    fn cycle_through<'a>(&'a self, start: &'a str) -> Option<Vec<&'a str>> {
        let mut before: BTreeMap<&str, &str> = BTreeMap::new();
        let mut open = VecDeque::from([start]);
        while let Some(file) = open.pop_front() {
            for next in self.used_by(file) {
                if next == start {
                    let mut cycle = vec![start, file];
                    while let Some(previous) = before.get(cycle[cycle.len() - 1]) {
                        cycle.push(previous);
                    }
                    cycle.reverse();
                    return Some(cycle);
                }
                if let std::collections::btree_map::Entry::Vacant(entry) = before.entry(next) {
                    entry.insert(file);
                    open.push_back(next);
                }
            }
        }
        None
    }

    /// Describes each component: its files, and a shortest cycle with the names used.
    pub(crate) fn describe_cycles(&self) -> String {
        let mut text = String::new();
        for component in self.components() {
            let files: Vec<&str> = component.iter().copied().collect();
            let _ = writeln!(
                text,
                "  cycle of {} files: {}",
                files.len(),
                files.join(", ")
            );
            for ends in self.shortest_cycle(&component).windows(2) {
                let names = self.names(ends[0], ends[1]);
                let more = if names.len() > NAMES_SHOWN {
                    ", …"
                } else {
                    ""
                };
                let shown = &names[..names.len().min(NAMES_SHOWN)];
                let _ = writeln!(
                    text,
                    "    {} → {}: {}{more}",
                    ends[0],
                    ends[1],
                    shown.join(", ")
                );
            }
        }
        text
    }

    /// The paths by which `from` uses `to`; those through an imported name are left out.
    fn names(&self, from: &str, to: &str) -> Vec<&str> {
        let names = &self.arrows[from][to];
        let imported = |name: &str| {
            let first = name.split("::").next();
            names
                .iter()
                .any(|other| other != name && other.rsplit("::").next() == first)
        };
        names
            .iter()
            .map(String::as_str)
            .filter(|name| !imported(name))
            .collect()
    }

    /// Arrows from a lower layer to a higher one, directly or through files of no layer.
    ///
    /// `order` lists the folders of each layer, the highest first.
    pub(crate) fn upward(&self, order: &[&[&str]]) -> Vec<String> {
        let mut found = Vec::new();
        for from in &self.files {
            let Some(layer) = layer(order, from) else {
                continue;
            };
            for to in self.reach(from, |file| self::layer(order, file).is_none()) {
                if self::layer(order, to).is_some_and(|above| above < layer) {
                    found.push(format!("{from} → {to}"));
                }
            }
        }
        found
    }
}

/// The folder below `src` that holds `file`.
pub(crate) fn folder(file: &str) -> Option<&str> {
    file.split_once('/').map(|(folder, _)| folder)
}

fn layer(order: &[&[&str]], file: &str) -> Option<usize> {
    let folder = folder(file)?;
    order.iter().position(|folders| folders.contains(&folder))
}

fn ends(targets: &BTreeSet<Target>) -> BTreeSet<usize> {
    let id = |target: &Target| match target {
        Target::Module(id) | Target::Item(id) => *id,
    };
    targets.iter().map(id).collect()
}

/// The modules that a path outside globs uses: those that define its items.
fn items(resolved: &Resolved, reading: Reading) -> BTreeSet<usize> {
    if reading == Reading::Everything {
        return resolved.passed.clone();
    }
    let items = resolved
        .targets
        .iter()
        .filter(|target| matches!(target, Target::Item(_)));
    ends(&items.copied().collect())
}

/// Returns true if `path` as written leads to a module below `module`.
fn comes_from_below(modules: &Modules, module: usize, path: &Path) -> bool {
    let Some((_, above)) = path.split_last() else {
        return false;
    };
    let written = resolve(modules, module, above).targets;
    ends(&written)
        .iter()
        .any(|end| *end != module && modules.is_within(*end, module))
}
