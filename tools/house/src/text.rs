//! The lines and tokens of a file.

use std::ops::RangeInclusive;

use proc_macro2::{LineColumn, Span, TokenStream, TokenTree};

/// Content of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LineKind {
    Blank,
    /// Code, also with a comment after it, or the inside of a literal.
    Code,
    Comment,
    Doc,
    /// Anything that only tests compile.
    Test,
}

/// The lines and tokens of a file.
pub(crate) struct Text {
    /// Content of each line; the first is line 1.
    lines: Vec<LineKind>,
    /// The columns of each line.
    widths: Vec<usize>,
    /// The position of each token, in order. A delimiter is a token, a doc comment is none.
    tokens: Vec<LineColumn>,
}

impl Text {
    /// Reads a file with this content and these tokens.
    pub(crate) fn read(content: &str, stream: TokenStream) -> Self {
        let lines = content.lines();
        let mut text = Self {
            lines: lines.clone().map(without_tokens).collect(),
            widths: lines.map(|line| line.chars().count()).collect(),
            tokens: Vec::new(),
        };

        text.add_stream(stream);
        text
    }

    /// The number of lines, those of tests included.
    pub(crate) fn len(&self) -> usize {
        self.lines.len()
    }

    /// Marks the lines of `item` as test code.
    pub(crate) fn hide(&mut self, item: RangeInclusive<usize>) {
        self.mark(item, LineKind::Test);
    }

    /// The tokens outside test code.
    pub(crate) fn tokens(&self) -> usize {
        self.count(LineKind::Code, self.tokens.iter().map(|token| token.line))
    }

    /// The tokens from `start` up to and including the one at `end`.
    pub(crate) fn tokens_between(&self, start: LineColumn, end: LineColumn) -> usize {
        let before = self.tokens.partition_point(|token| *token < start);
        let until = self.tokens.partition_point(|token| *token <= end);
        until - before
    }

    /// Content of a line, counted from 1.
    pub(crate) fn line(&self, number: usize) -> Option<LineKind> {
        self.lines.get(number.checked_sub(1)?).copied()
    }

    /// Number of lines in this range that are `kind`.
    pub(crate) fn count(&self, kind: LineKind, numbers: impl Iterator<Item = usize>) -> usize {
        let lines = numbers.filter_map(|number| self.line(number));
        lines.filter(|line| *line == kind).count()
    }

    /// The lines of comments and documentation of more than `columns` columns, each with its width.
    pub(crate) fn wide_comments(&self, columns: usize) -> impl Iterator<Item = (usize, usize)> {
        let lines = (1..).zip(self.widths.iter().copied());
        lines.filter(move |(number, width)| {
            let prose = matches!(self.line(*number), Some(LineKind::Comment | LineKind::Doc));
            prose && *width > columns
        })
    }

    fn add_stream(&mut self, stream: TokenStream) {
        let mut after_doc_mark = false;

        for tree in stream {
            match tree {
                // A doc comment is lexed as an attribute whose tokens are as wide as the comment.
                TokenTree::Punct(mark) if is_wide(mark.span()) => {
                    self.mark(lines(mark.span()), LineKind::Doc);
                    after_doc_mark = true;
                }
                TokenTree::Group(_) if after_doc_mark => after_doc_mark = false,
                TokenTree::Group(group) => {
                    self.add(group.span_open());
                    self.add_stream(group.stream());
                    self.add(group.span_close());
                }
                tree => self.add(tree.span()),
            }
        }
    }

    /// Adds a token.
    fn add(&mut self, token: Span) {
        self.tokens.push(token.start());
        self.mark(lines(token), LineKind::Code);
    }

    fn mark(&mut self, range: RangeInclusive<usize>, kind: LineKind) {
        let first = range.start().saturating_sub(1);
        let count = (range.end() + 1).saturating_sub(*range.start());
        for line in self.lines.iter_mut().skip(first).take(count) {
            *line = kind;
        }
    }
}

/// Content of a line without tokens.
fn without_tokens(line: &str) -> LineKind {
    if line.trim().is_empty() {
        LineKind::Blank
    } else {
        LineKind::Comment
    }
}

/// The lines from the first to the last of `span`.
pub(crate) fn lines(span: Span) -> RangeInclusive<usize> {
    span.start().line..=span.end().line
}

/// Returns true if `span` is longer than one character.
fn is_wide(span: Span) -> bool {
    let start = span.start();
    let end = span.end();
    start.line != end.line || start.column + 1 != end.column
}
