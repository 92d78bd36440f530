//! The functions, types and patterns of a file.

use std::ops::RangeInclusive;

use proc_macro2::LineColumn;
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{
    Block, Expr, ExprClosure, FnArg, Ident, ImplItem, ImplItemFn, Item, ItemFn, ItemMod, Local,
    Pat, Signature, Stmt, TraitItem, TraitItemFn,
};

use crate::metric::StyleMetric;
use crate::test_code;
use crate::text;
use crate::uses::uses;

/// Place of a function.
pub(crate) struct FunctionPlace {
    pub(crate) name: String,
    /// The word `fn`.
    pub(crate) start: LineColumn,
    /// The brace that opens the body.
    pub(crate) open: LineColumn,
    /// The brace that closes it.
    pub(crate) close: LineColumn,
}

/// A name and its line.
pub(crate) struct NamedLine {
    pub(crate) name: String,
    pub(crate) line: usize,
}

impl NamedLine {
    fn of(ident: &Ident) -> Self {
        Self {
            name: ident.unraw().to_string(),
            line: ident.span().start().line,
        }
    }
}

/// The parts of a file that are measured, without test code.
pub(crate) struct FileOutline {
    pub(crate) functions: Vec<FunctionPlace>,
    /// Structs, enums, traits and aliases.
    pub(crate) types: Vec<NamedLine>,
    pub(crate) patterns: Vec<(StyleMetric, NamedLine)>,
    /// The lines of each item of test code.
    pub(crate) tests: Vec<RangeInclusive<usize>>,
    /// Modules of test code in files of their own, as paths without suffix.
    pub(crate) test_modules: Vec<String>,
    /// The path below which the files of the current module's children are.
    children: String,
}

impl FileOutline {
    /// Reads the file at `path`.
    pub(crate) fn read(path: &str, file: &syn::File) -> Self {
        let children = test_code::children_of(path).to_owned();
        let mut outline = Self {
            functions: Vec::new(),
            types: Vec::new(),
            patterns: Vec::new(),
            tests: Vec::new(),
            test_modules: Vec::new(),
            children,
        };

        if test_code::is_test(&file.attrs) {
            outline.test_modules.push(outline.children.clone());
        } else {
            outline.visit_file(file);
        }
        outline
    }

    /// Notes an item that only tests compile.
    fn leave_out(&mut self, item: &impl Spanned) {
        self.tests.push(text::lines(item.span()));
    }

    fn function(&mut self, signature: &Signature, body: &Block) {
        let braces = body.brace_token.span;
        self.functions.push(FunctionPlace {
            name: signature.ident.unraw().to_string(),
            start: signature.fn_token.span.start(),
            open: braces.open().start(),
            close: braces.close().start(),
        });

        let typed = signature.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(typed) => Some(&*typed.pat),
            FnArg::Receiver(_) => None,
        });
        self.tuples(StyleMetric::FunctionTuples, &signature.ident, typed);
    }

    /// Notes each of `parameters` that is a pattern of a tuple, under the name of its function.
    fn tuples<'a>(
        &mut self,
        metric: StyleMetric,
        owner: &Ident,
        parameters: impl Iterator<Item = &'a Pat>,
    ) {
        for _ in parameters.filter(|pattern| is_tuple(pattern)) {
            self.patterns.push((metric, NamedLine::of(owner)));
        }
    }

    /// Reads a `let`, with the statements of its block that follow.
    fn binding(&mut self, local: &Local, rest: &[Stmt]) {
        let Some(init) = &local.init else { return };

        match (bare(&local.pat), &*init.expr) {
            // With `else` it asks several things at once, which no two statements do.
            (Pat::Tuple(pattern), Expr::Tuple(_)) if init.diverge.is_none() => {
                let name = names(pattern.elems.iter());
                let line = local.let_token.span.start().line;
                self.patterns
                    .push((StyleMetric::TupleLets, NamedLine { name, line }));
            }
            (Pat::Ident(name), Expr::Closure(closure)) => {
                self.closure(&name.ident, closure, rest);
            }
            _ => {}
        }
    }

    fn closure(&mut self, name: &Ident, closure: &ExprClosure, rest: &[Stmt]) {
        self.patterns
            .push((StyleMetric::Closures, NamedLine::of(name)));
        if uses(name, rest) == 1 {
            self.patterns
                .push((StyleMetric::ClosuresOnce, NamedLine::of(name)));
        }
        self.tuples(StyleMetric::ClosureTuples, name, closure.inputs.iter());
    }
}

impl<'ast> Visit<'ast> for FileOutline {
    fn visit_item(&mut self, item: &'ast Item) {
        if test_code::is_test(test_code::attributes(item)) {
            self.leave_out(item);
            if let Item::Mod(module) = item {
                let name = module.ident.unraw();
                self.test_modules.push(format!("{}/{name}", self.children));
            }
            return;
        }

        let declared = match item {
            Item::Enum(item) => Some(&item.ident),
            Item::Struct(item) => Some(&item.ident),
            Item::Trait(item) => Some(&item.ident),
            Item::Type(item) => Some(&item.ident),
            _ => None,
        };
        self.types.extend(declared.map(NamedLine::of));
        visit::visit_item(self, item);
    }

    fn visit_item_mod(&mut self, module: &'ast ItemMod) {
        let length = self.children.len();
        self.children += &format!("/{}", module.ident.unraw());
        visit::visit_item_mod(self, module);
        self.children.truncate(length);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        if test_code::is_test(test_code::impl_attributes(item)) {
            self.leave_out(item);
        } else {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_trait_item(&mut self, item: &'ast TraitItem) {
        if test_code::is_test(test_code::trait_attributes(item)) {
            self.leave_out(item);
        } else {
            visit::visit_trait_item(self, item);
        }
    }

    fn visit_item_fn(&mut self, item: &'ast ItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast ImplItemFn) {
        self.function(&item.sig, &item.block);
        visit::visit_impl_item_fn(self, item);
    }

    fn visit_trait_item_fn(&mut self, item: &'ast TraitItemFn) {
        if let Some(body) = &item.default {
            self.function(&item.sig, body);
        }
        visit::visit_trait_item_fn(self, item);
    }

    fn visit_block(&mut self, block: &'ast Block) {
        for (number, statement) in block.stmts.iter().enumerate() {
            if let Stmt::Local(local) = statement {
                self.binding(local, &block.stmts[number + 1..]);
            }
        }
        visit::visit_block(self, block);
    }
}

/// A pattern without its type and parentheses.
fn bare(pattern: &Pat) -> &Pat {
    match pattern {
        Pat::Type(typed) => bare(&typed.pat),
        Pat::Paren(inner) => bare(&inner.pat),
        _ => pattern,
    }
}

/// Returns true for `(a, b)` and for a reference to it.
fn is_tuple(pattern: &Pat) -> bool {
    match bare(pattern) {
        Pat::Tuple(_) => true,
        Pat::Reference(reference) => is_tuple(&reference.pat),
        _ => false,
    }
}

/// The names that `patterns` bind, with a mark for patterns that are no names.
fn names<'a>(patterns: impl Iterator<Item = &'a Pat>) -> String {
    let names = patterns.map(|pattern| match pattern {
        Pat::Ident(name) => name.ident.unraw().to_string(),
        _ => "_".to_owned(),
    });
    names.collect::<Vec<_>>().join(", ")
}
