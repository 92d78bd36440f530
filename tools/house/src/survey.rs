//! All files of a workspace, and names that several crates declare.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::resume_unwind;
use std::thread;

use crate::measured::FileMeasures;
use crate::{Offence, SourceFile, StyleMetric, StyleSummary, Unmeasured, test_code};

/// The measures of a workspace.
pub struct StyleSurvey {
    files: Vec<FileMeasures>,
}

impl StyleSurvey {
    /// Measures `sources`, of which those of a crate follow each other.
    ///
    /// # Errors
    ///
    /// [`crate::Unmeasured::NotRust`] if a file does not parse.
    pub fn read(sources: &[SourceFile]) -> Result<Self, Unmeasured> {
        let mut files = measure(sources)?;
        leave_tests_out(&mut files);
        find_shared_names(&mut files);
        Ok(Self { files })
    }

    /// The figures of the whole.
    #[must_use]
    pub fn summary(&self) -> StyleSummary {
        StyleSummary::of(&self.files.iter().collect::<Vec<_>>())
    }

    /// The figures of each crate, by its folder's name.
    #[must_use]
    pub fn crates(&self) -> BTreeMap<&str, StyleSummary> {
        let mut crates: BTreeMap<&str, Vec<&FileMeasures>> = BTreeMap::new();
        for file in &self.files {
            crates.entry(&file.package).or_default().push(file);
        }
        crates
            .into_iter()
            .map(|(name, files)| (name, StyleSummary::of(&files)))
            .collect()
    }

    /// Everything that a metric counts, by path and line; names that crates share by name.
    #[must_use]
    pub fn offences(&self, metric: StyleMetric) -> Vec<&Offence> {
        let all = self.files.iter().flat_map(|file| &file.offences);
        let mut found: Vec<&Offence> = all.filter(|offence| offence.metric == metric).collect();

        found.sort();
        if metric.counts_names() {
            found.sort_by(|a, b| a.name.cmp(&b.name));
        }
        found
    }
}

/// Measures each file, the crates in parallel.
fn measure(sources: &[SourceFile]) -> Result<Vec<FileMeasures>, Unmeasured> {
    thread::scope(|scope| {
        let crates = sources.chunk_by(|a, b| a.package == b.package);
        let readers: Vec<_> = crates
            .map(|sources| scope.spawn(|| sources.iter().map(FileMeasures::read).collect()))
            .collect();

        let mut files = Vec::new();
        for reader in readers {
            let read: Result<Vec<FileMeasures>, Unmeasured> =
                reader.join().unwrap_or_else(|panic| resume_unwind(panic));
            files.extend(read?);
        }
        Ok(files)
    })
}

/// Removes the files of modules that only tests compile.
fn leave_tests_out(files: &mut Vec<FileMeasures>) {
    let modules: Vec<String> = files
        .iter()
        .flat_map(|file| file.test_modules.clone())
        .collect();
    files.retain(|file| {
        !modules
            .iter()
            .any(|module| test_code::is_within(&file.path, module))
    });
}

/// Finds the types whose names several crates declare.
fn find_shared_names(files: &mut [FileMeasures]) {
    let mut owners: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for file in &*files {
        for declared in &file.types {
            let owners = owners.entry(declared.name.clone()).or_default();
            owners.insert(file.package.clone());
        }
    }

    for file in files {
        let declared: Vec<(usize, String)> = file
            .types
            .iter()
            .map(|declared| (declared.line, declared.name.clone()))
            .collect();
        for (line, name) in declared {
            let crates = owners.get(&name).map_or(0, BTreeSet::len);
            if crates > 1 {
                file.find(StyleMetric::TwinTypes, line, name.clone());
            }
            if crates > 2 {
                file.find(StyleMetric::TripletTypes, line, name);
            }
        }
    }
}
