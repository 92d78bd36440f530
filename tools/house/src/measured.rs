//! Measurements of one file.

use std::collections::BTreeSet;
use std::fmt::Display;
use std::ops::Range;

use proc_macro2::{LexError, Span, TokenStream};

use crate::outline::{FileOutline, FunctionPlace, NamedLine};
use crate::text::{LineKind, Text};
use crate::{Offence, SourceFile, StyleMetric, Unmeasured};

/// Lines of a function that is long enough to need a blank line.
const LONG_FUNCTION: usize = 20;

/// Lines of a body that is long enough to need a blank line.
const LONG_BODY: usize = 16;

/// The columns of prose.
const COLUMNS: usize = 100;

/// The lines of a file that is not long.
const FILE_LINES: usize = 700;

/// The size of a function.
pub(crate) struct Function {
    /// Lines from the word `fn` to the brace that closes the body.
    pub(crate) lines: usize,
    /// Tokens from and to there.
    pub(crate) tokens: usize,
}

impl Function {
    /// Returns true if readers look for a blank line in the function.
    pub(crate) fn is_long(&self) -> bool {
        self.lines >= LONG_FUNCTION
    }
}

/// Measurements of one file.
pub(crate) struct FileMeasures {
    pub(crate) package: String,
    pub(crate) path: String,
    /// All lines, those of tests included.
    pub(crate) lines: usize,
    /// Tokens of code outside tests.
    pub(crate) tokens: usize,
    pub(crate) functions: Vec<Function>,
    /// Lines of comments in bodies.
    pub(crate) comments: usize,
    /// Lines of code in bodies.
    pub(crate) code: usize,
    pub(crate) types: Vec<NamedLine>,
    pub(crate) offences: Vec<Offence>,
    /// Modules of test code that the file declares, as paths without suffix.
    pub(crate) test_modules: Vec<String>,
}

impl FileMeasures {
    /// Measures one file. What other files declare is not known yet.
    pub(crate) fn read(source: &SourceFile) -> Result<Self, Unmeasured> {
        let stream: TokenStream = source
            .text
            .parse()
            .map_err(|error: LexError| not_rust(source, error.span(), &error))?;
        let file =
            syn::parse2(stream.clone()).map_err(|error| not_rust(source, error.span(), &error))?;

        let outline = FileOutline::read(&source.path, &file);
        let mut text = Text::read(&source.text, stream);
        for item in &outline.tests {
            text.hide(item.clone());
        }
        Ok(Self::of(source, &text, outline))
    }

    /// The measures of a file with these lines and parts.
    fn of(source: &SourceFile, text: &Text, outline: FileOutline) -> Self {
        let bodies: BTreeSet<usize> = outline.functions.iter().flat_map(body).collect();
        let mut measured = Self {
            package: source.package.clone(),
            path: source.path.clone(),
            lines: text.len(),
            tokens: text.tokens(),
            functions: Vec::new(),
            comments: text.count(LineKind::Comment, bodies.iter().copied()),
            code: text.count(LineKind::Code, bodies.iter().copied()),
            types: outline.types,
            offences: Vec::new(),
            test_modules: outline.test_modules,
        };

        for place in &outline.functions {
            measured.add_function(place, text);
        }
        for (metric, NamedLine { name, line }) in outline.patterns {
            measured.find(metric, line, name);
        }
        measured.add_prose(text);
        measured
    }

    /// Counts `metric` at `line`.
    pub(crate) fn find(&mut self, metric: StyleMetric, line: usize, name: String) {
        let path = self.path.clone();
        self.offences.push(Offence {
            metric,
            path,
            line,
            name,
        });
    }

    fn add_function(&mut self, place: &FunctionPlace, text: &Text) {
        let function = Function {
            lines: place.close.line + 1 - place.start.line,
            tokens: text.tokens_between(place.start, place.close),
        };
        let body = body(place);

        if text.count(LineKind::Blank, body.clone()) == 0 {
            if function.is_long() {
                self.find(
                    StyleMetric::AirlessFunctions,
                    place.start.line,
                    place.name.clone(),
                );
            }
            if body.len() >= LONG_BODY {
                self.find(StyleMetric::Airless, place.start.line, place.name.clone());
            }
        }
        self.functions.push(function);
    }

    /// Counts wide comments, and the file if it is long.
    fn add_prose(&mut self, text: &Text) {
        for (line, width) in text.wide_comments(COLUMNS) {
            self.find(StyleMetric::WideComments, line, format!("{width} columns"));
        }
        if self.lines > FILE_LINES {
            self.find(StyleMetric::LongFiles, 1, format!("{} lines", self.lines));
        }
    }
}

/// The lines between those of the braces.
fn body(place: &FunctionPlace) -> Range<usize> {
    place.open.line + 1..place.close.line
}

fn not_rust(source: &SourceFile, place: Span, problem: &impl Display) -> Unmeasured {
    Unmeasured::NotRust {
        path: source.path.clone(),
        line: place.start().line,
        problem: problem.to_string(),
    }
}
