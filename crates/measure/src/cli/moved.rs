//! Commands that moved to papir-papers.

/// Named benchmarks of papir-papers.
pub const NAMES: [&str; 7] = [
    "packing",
    "compress",
    "pirouette-phase0",
    "depir-tiny",
    "depir-small",
    "depir-medium",
    "newton-tables",
];

/// Options of papir-papers, which are accepted only to name the new command.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct Moved {
    #[arg(long, hide = true)]
    table: Option<String>,
    #[arg(long, hide = true)]
    figure: Option<String>,
    #[arg(long, hide = true)]
    svg: Option<String>,
    #[arg(long, hide = true)]
    set: Option<String>,
    #[arg(long, hide = true)]
    tabulated: Option<String>,
    #[arg(long, hide = true)]
    steps: Option<String>,
    #[arg(long, hide = true)]
    paper_points: bool,
    #[arg(long, hide = true)]
    tables: Option<String>,
}

impl Moved {
    /// Returns the arguments of papir-papers for a named benchmark, or for options that moved.
    /// Returns `None` if nothing moved.
    pub(super) fn arguments(&self, name: Option<&str>, all: bool) -> Option<String> {
        let drawn = given(&[
            ("table", &self.table),
            ("figure", &self.figure),
            ("svg", &self.svg),
        ]);
        let mut depir = given(&[
            ("set", &self.set),
            ("tabulated", &self.tabulated),
            ("steps", &self.steps),
            ("tables", &self.tables),
        ]);
        if self.paper_points {
            depir.push_str(" --paper-points");
        }

        match name.filter(|name| NAMES.contains(name)) {
            Some(name) => Some(name.to_owned()),
            None if !depir.is_empty() => Some(format!("depir{depir}")),
            None if !drawn.is_empty() && all => Some(format!("--all{drawn}")),
            None if !drawn.is_empty() => Some(drawn.trim_start().to_owned()),
            None => None,
        }
    }
}

/// Returns the options that have a value, with a space before each.
fn given(options: &[(&str, &Option<String>)]) -> String {
    let mut words = String::new();
    for (option, value) in options {
        if let Some(value) = value {
            words.push_str(&format!(" --{option} {value}"));
        }
    }
    words
}
