//! Metrics, and the places that they count.

/// Something that the code should have less of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum StyleMetric {
    /// A function of 20 lines or more without a blank line in its body.
    AirlessFunctions,
    /// A body of 16 lines or more without a blank line.
    Airless,
    /// A statement `let (a, b) = (x, y)`.
    TupleLets,
    /// A closure bound to a name.
    Closures,
    /// A closure bound to a name that is used once in the rest of the block.
    ClosuresOnce,
    /// A parameter of a function that is a pattern of a tuple.
    FunctionTuples,
    /// A parameter of a closure bound to a name that is a pattern of a tuple.
    ClosureTuples,
    /// A line of a comment or of documentation of more than 100 columns.
    WideComments,
    /// The name of a type that two crates or more declare.
    TwinTypes,
    /// The name of a type that three crates or more declare.
    TripletTypes,
    /// A file of more than 700 lines.
    LongFiles,
}

impl StyleMetric {
    /// All metrics, in the order of reports.
    pub const ALL: &[Self] = &[
        Self::AirlessFunctions,
        Self::Airless,
        Self::TupleLets,
        Self::Closures,
        Self::ClosuresOnce,
        Self::FunctionTuples,
        Self::ClosureTuples,
        Self::WideComments,
        Self::TwinTypes,
        Self::TripletTypes,
        Self::LongFiles,
    ];

    /// The metric in words.
    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::AirlessFunctions => "functions of 20 lines or more without a blank line",
            Self::Airless => "bodies of 16 lines or more without a blank line",
            Self::TupleLets => "let (a, b) = (x, y)",
            Self::Closures => "named closures",
            Self::ClosuresOnce => "named closures used once",
            Self::FunctionTuples => "tuple patterns as parameters of functions",
            Self::ClosureTuples => "tuple patterns as parameters of named closures",
            Self::WideComments => "comment lines over 100 columns",
            Self::TwinTypes => "type names in more than one crate",
            Self::TripletTypes => "type names in more than two crates",
            Self::LongFiles => "files over 700 lines",
        }
    }

    /// The name by which `--list` knows the metric. Tuple patterns as parameters share one.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AirlessFunctions => "airless-functions",
            Self::Airless => "airless",
            Self::TupleLets => "tuple-lets",
            Self::Closures => "closures",
            Self::ClosuresOnce => "closures-once",
            Self::FunctionTuples | Self::ClosureTuples => "tuple-parameters",
            Self::WideComments => "wide-comments",
            Self::TwinTypes => "twin-types",
            Self::TripletTypes => "triplet-types",
            Self::LongFiles => "long-files",
        }
    }

    /// Returns true if a name counts once, however often it is found.
    pub(crate) fn counts_names(self) -> bool {
        matches!(self, Self::TwinTypes | Self::TripletTypes)
    }

    /// The title of the metric's column in a table of crates.
    #[must_use]
    pub fn column(self) -> &'static str {
        match self {
            Self::AirlessFunctions => "airless 20+",
            Self::Airless => "airless 16+",
            Self::TupleLets => "tuple lets",
            Self::Closures => "closures",
            Self::ClosuresOnce => "once",
            Self::FunctionTuples => "fn tuples",
            Self::ClosureTuples => "closure tuples",
            Self::WideComments => "wide",
            Self::TwinTypes => "twins",
            Self::TripletTypes => "triplets",
            Self::LongFiles => "long files",
        }
    }
}

/// One place that a metric counts.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Offence {
    /// The metric that counts it.
    pub metric: StyleMetric,
    /// The file, below the root of the workspace.
    pub path: String,
    /// The line, from 1.
    pub line: usize,
    /// The function, variable or type; else the length or width.
    pub name: String,
}
