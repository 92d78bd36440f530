//! How often code uses a name.

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};
use syn::{ExprPath, Ident, Local, Macro, Pat, Stmt};

/// Counts the uses of the variable `name` in the statements after its declaration, up to the next
/// declaration of that name.
pub(crate) fn uses(name: &Ident, statements: &[Stmt]) -> usize {
    let mut counter = Counter { name, count: 0 };
    for statement in statements {
        counter.visit_stmt(statement);
        if redeclares(statement, name) {
            break;
        }
    }
    counter.count
}

fn redeclares(statement: &Stmt, name: &Ident) -> bool {
    match statement {
        Stmt::Local(Local {
            pat: Pat::Ident(pattern),
            ..
        }) => pattern.ident == *name,
        _ => false,
    }
}

struct Counter<'a> {
    name: &'a Ident,
    count: usize,
}

impl<'ast> Visit<'ast> for Counter<'_> {
    fn visit_expr_path(&mut self, path: &'ast ExprPath) {
        self.count += usize::from(path.path.is_ident(self.name));
        visit::visit_expr_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast Macro) {
        self.count += mentions(self.name, invocation.tokens.clone());
    }
}

/// Counts `name` in the arguments of a macro, without fields and methods of that name.
fn mentions(name: &Ident, stream: TokenStream) -> usize {
    let mut count = 0;
    let mut after_dot = false;
    for tree in stream {
        count += match &tree {
            TokenTree::Group(group) => mentions(name, group.stream()),
            TokenTree::Ident(ident) => usize::from(ident == name && !after_dot),
            _ => 0,
        };
        after_dot = matches!(&tree, TokenTree::Punct(punct) if punct.as_char() == '.');
    }
    count
}
